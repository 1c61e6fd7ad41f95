"""Copies between strided arrays: the kernel of every operator that only moves data."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass

from edgeconv.ir.choice import Alias, Layer, Param
from edgeconv.ir.element_types import FLOAT32
from edgeconv.ir.graph import Graph, Node
from edgeconv.ir.work import Work
from edgeconv.kernels.lowering.calls import c_type_of, element_bytes, kernel_layer
from edgeconv.kernels.lowering.nest import collapse, require_loops
from edgeconv.kernels.lowering.work import Call
from edgeconv.target.targets import Target

HEADERS = ("ec_lanes.h", "ec_nest.h", "ec_copy.h", "ec_transpose.h", "ec_move.h")


@dataclass(frozen=True, slots=True)
class Move:
    """Loops that copy: sizes, strides in both arrays, and where the first element is read."""

    sizes: tuple[int, ...]
    in_strides: tuple[int, ...]
    out_strides: tuple[int, ...]
    in_start: int = 0

    @property
    def is_block(self) -> bool:
        """Whether the elements follow each other in both arrays."""
        steps = (self.in_strides, self.out_strides)
        return len(self.sizes) == 1 and (self.sizes == (1,) or steps == ((1,), (1,)))


def plan_move(
    sizes: Sequence[int], in_strides: Sequence[int], out_strides: Sequence[int], in_start: int = 0
) -> Move:
    """The loops in the order that writes the output from its first to its last byte, merged."""
    order = sorted(range(len(sizes)), key=lambda d: -out_strides[d])
    nest = collapse(
        [sizes[d] for d in order],
        [in_strides[d] for d in order],
        [out_strides[d] for d in order],
    )
    return Move(nest.sizes, nest.strides[0], nest.strides[1], in_start)


def _inner_loops(move: Move) -> tuple[int | None, int]:
    """Which loop are the rows and which the innermost.

    The innermost writes element after element.  Where it does not read so, but another loop does,
    that one becomes the rows: both are then a matrix to transpose.
    """
    last = len(move.sizes) - 1
    if move.in_strides[last] not in (0, 1):
        for d in range(last - 1, -1, -1):
            if move.in_strides[d] == 1:
                return d, last
    return (last - 1 if last else None), last


def _move_params(node: Node, move: Move) -> dict[str, Param]:
    """The members of ec_move."""
    rows, inner = _inner_loops(move)
    outer = [d for d in range(len(move.sizes)) if d not in (rows, inner)]
    require_loops(node, len(outer))
    return {
        "sizes": tuple(move.sizes[d] for d in outer) or (1,),
        "in_outer": tuple(move.in_strides[d] for d in outer) or (0,),
        "out_outer": tuple(move.out_strides[d] for d in outer) or (0,),
        "rows": 1 if rows is None else move.sizes[rows],
        "in_row": 0 if rows is None else move.in_strides[rows],
        "out_row": 0 if rows is None else move.out_strides[rows],
        "n": move.sizes[inner],
        "in_stride": move.in_strides[inner],
        "out_stride": move.out_strides[inner],
        "in_start": move.in_start,
    }


def move_layer(node: Node, graph: Graph, target: Target, move: Move) -> Layer:
    """The call that performs ``move`` from the node's first input."""
    if move.is_block:
        return flat_copy(node, graph, target, move.sizes[0], move.in_start)
    call = Call(node, graph, target)
    x = graph[node.inputs[0]]
    if x.dtype != FLOAT32:
        return _move_elements(call, move, call.streams())
    runs = move.in_strides[-1] == move.out_strides[-1] == 1
    if runs and x.storage.affine and x.storage == graph[node.output].storage and x.bits == 8:
        return _move_elements(call, move, call.copies())  # runs of bytes, which nobody decodes
    return kernel_layer(
        call,
        "copy",
        "ops/move.c.j2",
        operands={"in": node.inputs[0]},
        params=_move_params(node, move),
        headers=HEADERS,
        work=call.streams(),
        epilogue=False,
    )


def _move_elements(call: Call, move: Move, work: Work) -> Layer:
    """The copy of elements by their bytes."""
    node, graph = call.node, call.graph
    depth = len(move.sizes) - 1
    require_loops(node, depth)
    return kernel_layer(
        call,
        "copy",
        "ops/move_elements.c.j2",
        operands={"in": node.inputs[0]},
        params={
            "sizes": move.sizes[:depth] or (1,),
            "in_outer": move.in_strides[:depth] or (0,),
            "out_outer": move.out_strides[:depth] or (0,),
            "n": move.sizes[-1],
            "in_stride": move.in_strides[-1],
            "out_stride": move.out_strides[-1],
            "in_start": move.in_start,
            "bytes": graph[node.output].element_bytes,
        },
        headers=("ec_nest.h", "ec_move_elements.h"),
        work=work,
        epilogue=False,
    )


def flat_copy(node: Node, graph: Graph, target: Target, elements: int, start: int = 0) -> Layer:
    """The output is ``elements`` of the input's memory, from ``start`` on: a view, if it has its
    format too.

    The call disappears when the planner lays the output there.
    """
    name, call = node.inputs[0], Call(node, graph, target)
    same, kind = graph[name].storage == graph[node.output].storage, graph[name].dtype
    view = same and not graph[name].is_constant
    offset = start * element_bytes(graph, name)
    alias = Alias(name, inner=node.output, outer=name, offset=offset, exact=True)
    return kernel_layer(
        call,
        "view",
        "ops/flat_copy.c.j2" if kind == FLOAT32 else "ops/copy_elements.c.j2",
        operands={"in": name},
        params={
            "elements": elements,
            "start": start,
            **({"c_type": c_type_of(kind)} if kind != FLOAT32 else {}),
        },
        headers=() if same else ("ec_lanes.h", "ec_copy.h"),
        work=call.streams(),
        aliases=(alias,) if view else (),
        free_if_aliased=view,
        epilogue=False,
    )
