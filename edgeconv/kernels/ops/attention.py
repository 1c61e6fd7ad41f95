"""Attention, softmax(scale q k' + mask) v, of which no more than a block of scores is in memory.

Attention: inputs q, k, v and an additive mask or "".  It is what `search.choose.attention` makes of
two products with a Softmax between them where that is cheaper.  Attributes:

``batch``, ``sizes``: the stack of products and, of each, queries, keys, elements of a key, columns
of v.  ``q``, ``k``, ``v``: where an operand lies in its tensor, which may be of any shape, in
elements: the first one, the steps along ``batch``, from row to row (queries, keys, keys) and from
element to element of these.  ``mask``: the steps along ``batch``, queries and keys; empty without
one.  ``out``: those along ``batch`` and queries; columns are neighbours.  ``scale``, ``cap``:
scores s become cap tanh(s / cap), unless that is 0.  ``behind``: query i meets keys up to
i + behind; None where it meets all.
"""

from __future__ import annotations

import math
from collections.abc import Sequence
from dataclasses import dataclass, replace

from edgeconv.ir.choice import Layer
from edgeconv.ir.graph import Graph, Node
from edgeconv.ir.work import Work
from edgeconv.kernels.lowering.activations import FUNCTIONS
from edgeconv.kernels.lowering.calls import FLOAT_BYTES, kernel_layer, merge_headers
from edgeconv.kernels.lowering.nest import collapse, require_loops
from edgeconv.kernels.lowering.options import Stored
from edgeconv.kernels.lowering.work import Call
from edgeconv.kernels.ops.base import Operator
from edgeconv.target.cache import ASSUMED
from edgeconv.target.micro_kernel import Lies, MicroKernel, Tile
from edgeconv.target.targets import Target

ATTENTION = "Attention"
_HEADERS = ("ec_micro_kernel.h", "ec_attention.h")
# Slots by counting in the kernel, of a vector of scores: the weight, its sum and the largest score;
# a mask that is gathered across rows, by lane; tanh.
_WEIGHT, _MASK_LANE, _CAP = 24, 1.5, 30
_HARDLY = 1.03
_QUERIES = 64  # of a group at most, for which keys and values are packed once


@dataclass(frozen=True, slots=True)
class AttentionPlan:
    """``vectors`` of queries are a panel, ``panels`` a group, for which a block of ``keys`` is
    packed, if the ``kernel`` wants that; its tiles have ``key_rows`` and ``column_rows``.
    ``slots``: multiply-adds, those of lanes without a query included, and of sums that are brought
    to another maximum; ``moves``: what they load."""

    kernel: MicroKernel
    key_rows: int
    column_rows: int
    vectors: int
    keys: int
    panels: int
    slots: float
    moves: float

    @property
    def packed(self) -> bool:
        """Rows of the register tile are."""
        return self.kernel.lies is Lies.PACKED

    @property
    def headers(self) -> tuple[str, ...]:
        """The headers of products, and what they need."""
        own = (self.kernel.header,) if self.kernel.header else ()
        return "ec_nest.h", *own, *_HEADERS

    def workspace_floats(self, d: int, columns: int, lanes: int) -> int:
        """Scores of a panel, what is packed, and of each panel queries, sums, maximum and total."""
        wide = self.vectors * lanes
        held = _up(columns, self.column_rows) if self.packed else columns
        packed = self.keys * (d + held) if self.packed else 0
        return self.keys * wide + packed + self.panels * wide * (d + held + 2)


def plan_of(node: Node, target: Target) -> AttentionPlan:
    """The plan of least workspace among those that take hardly more than the fewest slots, with the
    largest blocks of keys that half of L1 holds scores of and for which there is the workspace that
    is asked; the smallest ones where that is enough for none."""
    _, _, d, columns = node.attrs["sizes"]
    plans = [
        _plan(kernel, tile, node.attrs["sizes"], target)
        for kernel in _kernels(target)
        for tile in kernel.tiles
    ]
    least = min(plan.slots + plan.moves / 2 for plan in plans)
    near = [plan for plan in plans if plan.slots + plan.moves / 2 <= _HARDLY * least]
    best = min(near, key=lambda plan: plan.workspace_floats(d, columns, target.lanes))
    floats, ways = node.request.workspace.most / FLOAT_BYTES, _smaller(best)
    fitting = (plan for plan in ways if plan.workspace_floats(d, columns, target.lanes) <= floats)
    return next(fitting, ways[-1])


def _kernels(target: Target) -> tuple[MicroKernel, ...]:
    """The micro-kernels that take any number of rows, or whole vectors of them side by side."""

    def whole(row: MicroKernel) -> bool:
        if row.lies is Lies.PACKED:
            return row.row_multiple % target.lanes == 0
        return row.row_multiple == 1

    return tuple(filter(whole, target.float_rows))


def _smaller(plan: AttentionPlan) -> list[AttentionPlan]:
    """``plan`` and the same with less and less workspace."""
    ways = [replace(plan, panels=group) for group in range(plan.panels, 0, -1)]
    while ways[-1].keys > plan.key_rows:
        ways.append(replace(ways[-1], keys=_up(ways[-1].keys // 2, plan.key_rows)))
    return ways


def _plan(kernel: MicroKernel, tile: Tile, sizes: Sequence[int], target: Target) -> AttentionPlan:
    m, n, d, columns = sizes
    total = -(-m // target.lanes)
    vectors = min(tile.vectors, total)
    vectors = -(-total // -(-total // vectors))  # as even as they come
    key_rows, column_rows = (_rows(count, tile, kernel) for count in (n, columns))
    slots = moves = 0.0
    for panel in (vectors,) * (total // vectors) + ((total % vectors,) if total % vectors else ()):
        for count, rows, depth in ((n, key_rows, d), (columns, column_rows, n)):
            steps = -(-count // rows) * depth
            slots += steps * target.tile_slots(kernel, rows, panel)
            moves += steps * (rows / kernel.row_multiple + panel)
            slots += kernel.through * count * panel
    caches = target.caches or ASSUMED
    scarce = target.workspace_price or target.lanes == 1
    floats = caches[0].size // 2 // FLOAT_BYTES
    near = 4 * key_rows if scarce else floats // (vectors * target.lanes)
    if kernel.lies is Lies.PACKED:
        near = min(near, floats // (d + columns))
    blocks = -(-n // max(near // key_rows * key_rows, key_rows))
    panels = -(-total // vectors)
    if kernel.lies is not Lies.PACKED:
        panels = 1
    elif panels > 1:
        panels = min(panels, max(1, _QUERIES // (vectors * target.lanes)))
    keys = _up(-(-n // blocks), key_rows)
    again = (blocks - 1) * columns * total  # sums that are brought to another maximum
    entered = 2 * blocks * -(-total // vectors) * kernel.enter
    slots, moves = slots + again + entered, moves + 3 * again
    return AttentionPlan(kernel, key_rows, column_rows, vectors, keys, panels, slots, moves)


def _rows(count: int, tile: Tile, kernel: MicroKernel) -> int:
    """The rows of the register tile, as even as they come."""
    each = -(-count // -(-count // tile.rows))
    return _up(each, kernel.row_multiple)


def _up(count: int, multiple: int) -> int:
    return -(-count // multiple) * multiple


def _macs(node: Node, graph: Graph) -> int:
    del graph
    m, n, d, columns = node.attrs["sizes"]
    macs: int = math.prod(node.attrs["batch"]) * m * n * (d + columns)
    return macs


def _work(node: Node, plan: AttentionPlan, call: Call) -> Work:
    """Products, and the functions of every score.  Keys and values pass once for every panel of
    queries."""
    m, n, d, columns = node.attrs["sizes"]
    count, lanes = math.prod(node.attrs["batch"]), call.target.lanes
    vectors = -(-m // lanes)
    function: float = _WEIGHT + (_CAP if node.attrs["cap"] else 0)
    mask = node.attrs["mask"]
    if mask:
        function += 1.0 if mask[-2] in (0, 1) else _MASK_LANE * lanes
    share = 1.0
    if node.attrs["behind"] is not None and m > 1:  # blocks that no query of a group meets
        share = min(1.0, (m + 1) / 2 / n + plan.keys / n)
    passes = -(-vectors // plan.vectors) * share
    streamed = count * FLOAT_BYTES * (passes * n * (d + columns) + 2 * m * (d + columns))
    return Work(
        slots=count * share * (plan.slots + function * n * vectors),
        moves=count * share * (plan.moves + 4.0 * n * vectors),
        weight_bytes=0.0,
        data_bytes=streamed + (call.in_bytes if mask else 0.0),
    )


def lower(node: Node, graph: Graph, target: Target) -> Layer:
    """Panels of queries one after the other, each with all keys, block by block."""
    attrs, plan, call = node.attrs, plan_of(node, target), Call(node, graph, target)
    m, n, d, columns = attrs["sizes"]
    places = [attrs[name] for name in "qkv"]
    masked = bool(attrs["mask"])
    rank = len(attrs["batch"])
    mask = attrs["mask"] if masked else (0,) * (rank + 2)
    moves = [*(place[1 : 1 + rank] for place in places), mask[:rank], attrs["out"][:rank]]
    batch = collapse(attrs["batch"], *moves)
    require_loops(node, len(batch.sizes))
    operands = dict(zip(("q", "k", "v"), node.inputs, strict=False))
    if masked:
        operands["mask"] = node.inputs[3]
    group = plan.panels * plan.vectors * target.lanes
    return kernel_layer(
        call,
        "attention",
        "ops/attention.c.j2",
        operands=operands,
        params={
            "sizes": batch.sizes,
            **dict(
                zip(
                    ("q_batch", "k_batch", "v_batch", "mask_batch", "out_batch"),
                    batch.strides,
                    strict=True,
                )
            ),
            "first": tuple(place[0] for place in places),
            **{name: attrs[name][-2:] for name in "qkv"},
            "out_row": attrs["out"][-1],
            "masked": masked,
            "mask_strides": mask[-2:],
            "causal": attrs["behind"] is not None,
            "behind": attrs["behind"] or 0,
            **dict(zip(("m", "n", "d", "columns"), (m, n, d, columns), strict=True)),
            "scale": float(attrs["scale"]),
            "cap": float(attrs["cap"]),
            "micro_kernel": plan.kernel.enumerator,
            "packed": plan.packed,
            "key_rows": plan.key_rows,
            "column_rows": plan.column_rows,
            "vectors": plan.vectors,
            "keys": plan.keys,
            "panels": plan.panels,
            "count": math.prod(batch.sizes) * -(-m // group),
        },
        headers=merge_headers(
            (*FUNCTIONS[function].headers, "ec_lanes.h", *plan.headers)
            for function in (("exp", "tanh") if attrs["cap"] else ("exp",))
        ),
        work=_work(node, plan, call),
        workspace_bytes=plan.workspace_floats(d, columns, target.lanes) * FLOAT_BYTES,
        macs=_macs(node, graph),
        epilogue=False,
    )


OPERATOR = Operator(name=ATTENTION, lower=lower, macs=_macs, stored=Stored.NOTHING)
