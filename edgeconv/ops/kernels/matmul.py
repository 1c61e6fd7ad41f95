"""Products of two run-time matrices, stacked and broadcast as in numpy."""

from __future__ import annotations

from edgeconv.ir.choice import Blob, Layer
from edgeconv.ir.graph import Graph, Node
from edgeconv.ir.layout import ROW_MAJOR
from edgeconv.lowering.calls import (
    activation_headers,
    epilogue_of,
    output_arg,
    read_arg,
    residual_args,
    residual_in_place,
    storage_of,
)
from edgeconv.lowering.options import row_major_only as layouts
from edgeconv.lowering.work import Call
from edgeconv.ops.kernels.nest import broadcast_strides, collapse, dense_strides, require_loops
from edgeconv.targets import Target

__all__ = ["layouts", "lower"]

RATE = 0.5  # of multiply-adds, the share that matrices of any size reach


def lower(node: Node, graph: Graph, target: Target) -> Layer:
    """A stack of products; a vector operand is a matrix of one row (a) or one column (b)."""
    a, b = (graph[name].shape for name in node.inputs)
    a_full = a if len(a) > 1 else (1, *a)
    b_full = b if len(b) > 1 else (*b, 1)
    m, k, n = a_full[-2], a_full[-1], b_full[-1]
    out = graph[node.output].shape
    stack = out[: len(out) - (len(a) > 1) - (len(b) > 1)]
    a_moves = broadcast_strides(a_full[:-2], ROW_MAJOR, stack, ROW_MAJOR)
    b_moves = broadcast_strides(b_full[:-2], ROW_MAJOR, stack, ROW_MAJOR)
    batch = collapse(stack, a_moves, b_moves, dense_strides(stack))
    require_loops(node, len(batch.sizes))
    blobs: list[Blob] = []
    macs = graph[node.output].size * k
    return Layer(
        node=node,
        algorithm="matmul",
        template="ops/matmul.c.j2",
        params={
            "sizes": batch.sizes,
            "a_batch": tuple(step * m * k for step in batch.strides[0]),
            "b_batch": tuple(step * k * n for step in batch.strides[1]),
            "m": m,
            "n": n,
            "k": k,
            **storage_of(graph, a=node.inputs[0], b=node.inputs[1]),
            "epilogue": epilogue_of(node, graph),
        },
        args=(
            read_arg(graph, node.inputs[0], "a", blobs),
            read_arg(graph, node.inputs[1], "b", blobs),
            *residual_args(node, graph),
            output_arg(node, graph),
        ),
        headers=(*activation_headers(node.epilogue), "ec_nest.h", "ec_matmul.h"),
        work=Call(node, graph, target).streams(macs / target.lanes / RATE, blobs),
        blobs=tuple(blobs),
        aliases=residual_in_place(node, graph),
        macs=macs,
    )
