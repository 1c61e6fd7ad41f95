"""Matrix product of two tensors, stacked and broadcast as in numpy (imported in dense.py)."""

from __future__ import annotations

from collections.abc import Sequence

from edgeconv.ir.choice import Layer
from edgeconv.ir.graph import Graph, Node
from edgeconv.kernels.algorithms.int8_packed import product as packed
from edgeconv.kernels.algorithms.int16.product import (
    lower_wide_product,
    wide_product_candidate,
    wide_product_of,
)
from edgeconv.kernels.algorithms.integer import product as scalar
from edgeconv.kernels.algorithms.product_sums import PLACES, depth_of
from edgeconv.kernels.algorithms.products import product_of
from edgeconv.kernels.lowering.calls import kernel_layer, residual_in_place
from edgeconv.kernels.lowering.integers import with_integers
from edgeconv.kernels.lowering.nest import require_loops
from edgeconv.kernels.lowering.options import LayoutOption, Stored, row_major_only
from edgeconv.kernels.lowering.work import Call
from edgeconv.kernels.ops.base import Operator
from edgeconv.target.micro_kernel import Tile
from edgeconv.target.targets import STRIPS, Target

RATE = 0.5  # of multiply-adds, the share that matrices of any size reach


def _macs(node: Node, graph: Graph) -> int:
    return graph[node.output].size * depth_of(node, graph)


def tile_of(m: int, n: int, target: Target) -> Tile:
    """The register tile by which a product takes the least time."""
    lanes, latency = target.lanes, target.kernel(STRIPS).latency

    def slots(tile: Tile) -> float:
        """The slots of a step of all tiles: multiply-adds, or the latency, and what loads take
        alone, half of it where multiply-adds go on beside them; a last vector that is not full
        makes the kernel copy those beside it first."""
        total = -(-n // lanes)
        pieces, stripes = -(-m // tile.rows), -(-total // tile.vectors)
        tail = total - (stripes - 1) * tile.vectors
        each = max(m / pieces * total / stripes, latency) * pieces * stripes
        loads = (target.lone_load_slots or target.load_slots / 2) * (m * stripes + total * pieces)
        return each + loads + (tail * pieces if n % lanes else 0)

    able = (Tile(min(tile.rows, m), tile.vectors) for tile in target.tiles)
    return min(able, key=slots)


def _layouts(node: Node, graph: Graph, target: Target) -> Sequence[LayoutOption]:
    """The logical order, in integers where there is a kernel for that, or in float32."""
    options = row_major_only(node, graph, target)
    able = options if has_kernel(node, graph, target) else ()
    return with_integers(node, () if PLACES in node.attrs else options, able)


def has_kernel(node: Node, graph: Graph, target: Target) -> bool:
    """Whether there is one in integers."""
    if wide_product_candidate(node, graph, target) is not None:
        return True
    if target.lanes == 1:
        return bool(scalar.product_candidates(node, graph, target))
    return bool(packed.product_candidates(node, graph, target))


def lower(node: Node, graph: Graph, target: Target) -> Layer:
    """In integers where the node says so, or in float32."""
    if node.request.integers and wide_product_of(node, graph) is not None:
        return lower_wide_product(node, graph, target)
    if node.request.integers:
        lower_product = scalar.lower_product if target.lanes == 1 else packed.lower_product
        return lower_product(node, graph, target)
    return _lower_real(node, graph, target)


def _lower_real(node: Node, graph: Graph, target: Target) -> Layer:
    product = product_of(node, graph)
    require_loops(node, len(product.sizes))
    m, tile = product.m, tile_of(product.m, product.n, target)
    call, macs = Call(node, graph, target), _macs(node, graph)
    return kernel_layer(
        call,
        "matmul",
        "ops/matmul.c.j2",
        operands=dict(zip("ab", node.inputs, strict=True)),
        params={
            "sizes": product.sizes,
            "a_batch": product.a.batch,
            "b_batch": product.b.batch,
            "m": m,
            "n": product.n,
            "k": product.k,
            "rows": -(-m // -(-m // tile.rows)),  # as even as they come
            "vectors": tile.vectors,
        },
        headers=("ec_nest.h", "ec_matmul.h"),
        work=call.streams(macs / target.lanes / RATE),
        aliases=residual_in_place(node, graph),
        macs=macs,
    )


OPERATOR = Operator(
    name="MatMul", macs=_macs, lower=lower, layouts=_layouts, fuses=True, stored=Stored.BOTH
)
