"""Which rows of its inputs an operator reads for a row of its result: one rule for each operator.

A rule gets the node and, by number, the axes along which its inputs slide.  It answers with a
`Reading`, or None where the result has no such axis, as of an average over it: that is computed of
the whole window in every run.  It raises RefusedError where rows depend on what slides out of
sight.
"""

from __future__ import annotations

import math
from collections.abc import Callable, Mapping
from dataclasses import dataclass
from typing import Any

from edgeconv.ir.graph import Graph, Node
from edgeconv.model.sliding.track import ROW, Window

Attrs = Mapping[str, Any]
Axes = Mapping[int, int]
# Attributes of a node that computes some rows: of the axis of its input, with another window, and
# padding in front of the rows that are there and behind them.
Restrict = Callable[[Attrs, int, Window, int, int], Attrs]


class RefusedError(Exception):
    """Why a layer cannot be computed from new rows."""


@dataclass(frozen=True, slots=True)
class Reading:
    """Rows of a result along ``axis`` read those of its inputs by ``window``."""

    axis: int
    window: Window = ROW
    restrict: Restrict = lambda attrs, axis, window, front, back: attrs
    dilates: bool = False  # it may skip rows of memory at no cost
    rows: int = 0  # of the result, those that slide, in front of the others; 0: all
    carries: bool = False  # from row to row what it has made of all before


Rule = Callable[[Node, Graph, Axes], Reading | None]


def reading(node: Node, graph: Graph, axes: Axes) -> Reading | None:
    """The rows that ``node`` reads, by its operator's rule.  Raises RefusedError."""
    rule = _RULES.get(node.op)
    if rule is None:
        raise RefusedError(f"{node.op} along the axis needs what lies outside of the new rows")
    return rule(node, graph, axes)


def _elementwise(node: Node, graph: Graph, axes: Axes) -> Reading:
    """Row by row; what does not slide must be the same for every row."""
    rank = len(graph[node.output].shape)
    found = {axis + rank - len(graph[node.inputs[i]].shape) for i, axis in axes.items()}
    if len(found) > 1:
        raise RefusedError("its inputs slide along different axes")
    axis = found.pop()
    for number, name in enumerate(node.inputs):
        if not name or number in axes:
            continue
        shape = graph[name].shape
        inner = axis - (rank - len(shape))
        if inner >= 0 and shape[inner] != 1:
            raise RefusedError(f"{name!r} has another value for each row of the window")
    return Reading(axis)


def _by_channel(node: Node, graph: Graph, axes: Axes) -> Reading:
    """Constants of its own for each entry of axis 1; row by row along the other axes."""
    if axes[0] == 1:
        raise RefusedError("it has another value for each row of the window")
    return Reading(axes[0])


def _encoded(node: Node, graph: Graph, axes: Axes) -> Reading:
    encoding = node.attrs["encoding"]
    if not encoding.is_per_tensor and encoding.axis == axes[0]:
        raise RefusedError("it has another scale for each row of the window")
    return Reading(axes[0])


def _softmax(node: Node, graph: Graph, axes: Axes) -> Reading:
    rank = len(graph[node.output].shape)
    if int(node.attrs["axis"]) % rank == axes[0]:
        raise RefusedError("every row depends on all rows of the window")
    return Reading(axes[0])


def _reduce(node: Node, graph: Graph, axes: Axes) -> Reading | None:
    rank = len(graph[node.inputs[0]].shape)
    reduced = {int(axis) % rank for axis in node.attrs["axes"]}
    if axes[0] in reduced:
        return None
    gone = 0 if node.attrs["keepdims"] else sum(axis < axes[0] for axis in reduced)
    return Reading(axes[0] - gone)


def _concat(node: Node, graph: Graph, axes: Axes) -> Reading:
    axis = axes[min(axes)]
    if int(node.attrs["axis"]) == axis:
        raise RefusedError("it puts rows of one window behind those of another")
    if len(axes) < len(node.inputs) or set(axes.values()) != {axis}:
        raise RefusedError("one of its inputs does not slide")
    return Reading(axis)


def _slice(node: Node, graph: Graph, axes: Axes) -> Reading:
    axis = axes[0]
    start, stride = int(node.attrs["starts"][axis]), int(node.attrs["steps"][axis])
    if stride < 0:
        raise RefusedError("it reverses the order of rows")
    return Reading(axis, Window(stride=stride, pad=-start), _sliced)


def _sliced(attrs: Attrs, axis: int, window: Window, front: int, back: int) -> Attrs:
    return {
        "starts": _with(attrs["starts"], axis, 0),
        "steps": _with(attrs["steps"], axis, window.stride),
    }


def _pad(node: Node, graph: Graph, axes: Axes) -> Reading:
    axis, rank = axes[0], len(graph[node.output].shape)
    front, back = node.attrs["pads"][axis], node.attrs["pads"][rank + axis]
    if not (front or back):
        return Reading(axis)
    if node.attrs["mode"] != "constant":
        raise RefusedError(f"its padding repeats rows of the window ({node.attrs['mode']})")
    return Reading(axis, Window(pad=int(front)), _padded)


def _padded(attrs: Attrs, axis: int, window: Window, front: int, back: int) -> Attrs:
    pads = attrs["pads"]
    return {**attrs, "pads": _with(_with(pads, axis, front), len(pads) // 2 + axis, back)}


def _windowed(node: Node, graph: Graph, axes: Axes) -> Reading | None:
    """Conv and Pool.  Along the channels a convolution adds up all; along the batch, and of a pool
    along the channels, each is by itself."""
    if any(number > 0 for number in axes):
        raise RefusedError("its filters slide")
    axis, attrs = axes[0], node.attrs
    if axis < 2:
        return None if axis and node.op == "Conv" else Reading(axis)
    d = axis - 2
    entries = (attrs[name][d] for name in ("kernel", "strides", "dilations", "pads"))
    window = Window(*map(int, entries))
    dilates = node.op == "Pool" or node.attrs["groups"] > 1  # no rows are packed side by side
    return Reading(axis, window, _some_windows, dilates=dilates)


def _some_windows(attrs: Attrs, axis: int, window: Window, front: int, back: int) -> Attrs:
    d, pads = axis - 2, attrs["pads"]
    back = min(back, pads[len(pads) // 2 + d])  # a pool's last window may reach beyond its padding
    return {
        **attrs,
        "strides": _with(attrs["strides"], d, window.stride),
        "dilations": _with(attrs["dilations"], d, window.dilation),
        "pads": _with(_with(pads, d, front), len(pads) // 2 + d, back),
    }


def _dense(node: Node, graph: Graph, axes: Axes) -> Reading | None:
    if any(number > 0 for number in axes):
        raise RefusedError("its filters slide")
    rank = len(graph[node.inputs[0]].shape)
    return None if axes[0] == rank - 1 else Reading(axes[0])


def _matmul(node: Node, graph: Graph, axes: Axes) -> Reading | None:
    if len(axes) > 1:
        raise RefusedError("every row depends on all rows of the window, as in attention")
    (number, axis), rank = next(iter(axes.items())), len(graph[node.output].shape)
    size = len(graph[node.inputs[number]].shape)
    if axis == size - 1 - number:
        return None
    other = graph[node.inputs[1 - number]].shape
    from_end = size - axis
    if from_end > 2 and len(other) >= from_end and other[-from_end] != 1:
        raise RefusedError("it has another matrix for each row of the window")
    return Reading(rank - from_end)


def _transpose(node: Node, graph: Graph, axes: Axes) -> Reading:
    return Reading(tuple(node.attrs["perm"]).index(axes[0]))


def _reshape(node: Node, graph: Graph, axes: Axes) -> Reading | None:
    """The axis stays one where as many elements lie in front of it as before."""
    old, new, axis = graph[node.inputs[0]].shape, graph[node.output].shape, axes[0]
    outer = math.prod(old[:axis])
    for place, size in enumerate(new):
        if size == old[axis] and math.prod(new[:place]) == outer:
            return Reading(place)
    return None


def _gather(node: Node, graph: Graph, axes: Axes) -> Reading | None:
    if 1 in axes:
        raise RefusedError("its indices slide")
    axis, gathered = axes[0], int(node.attrs["axis"])
    if axis == gathered:
        if not graph[node.inputs[1]].is_constant:
            raise RefusedError("which rows it takes is known at run time only")
        return None
    more = len(graph[node.inputs[1]].shape) - 1
    return Reading(axis + more if gathered < axis else axis)


def _resize(node: Node, graph: Graph, axes: Axes) -> Reading:
    axis = axes[0]
    if graph[node.output].shape[axis] != graph[node.inputs[0]].shape[axis]:
        raise RefusedError("it makes another number of rows of the window")
    return Reading(axis)


def _recurrent(node: Node, graph: Graph, axes: Axes) -> Reading:
    """Steps in time are the first axis of the inputs' products."""
    if axes != {0: 0}:
        raise RefusedError("its sequences or weights slide")
    if node.attrs["directions"] != ("forward",):
        raise RefusedError("it reads the window backwards")
    h0, c0, lengths = (name for name in node.inputs[3:6])
    if lengths:
        raise RefusedError("its sequences end within the window")
    if any(name and not graph[name].is_constant for name in (h0, c0)):
        raise RefusedError("it begins from a state that each run is given")
    return Reading(0, rows=graph[node.inputs[0]].shape[0], carries=True)


def _with(entries: tuple[int, ...], place: int, entry: int) -> tuple[int, ...]:
    return (*entries[:place], entry, *entries[place + 1 :])


_RULES: Mapping[str, Rule] = {
    **dict.fromkeys(
        ("Unary", "Binary", "Elementwise", "Identity", "Convert", "Table"), _elementwise
    ),
    **dict.fromkeys(("Affine", "LRN"), _by_channel),
    **dict.fromkeys(("Quantise", "Dequantise"), _encoded),
    **dict.fromkeys(("Conv", "Pool"), _windowed),
    "Concat": _concat,
    "Dense": _dense,
    "Gather": _gather,
    "MatMul": _matmul,
    "Pad": _pad,
    "Recurrent": _recurrent,
    "Reduce": _reduce,
    "Reshape": _reshape,
    "Resize": _resize,
    "Slice": _slice,
    "Softmax": _softmax,
    "Transpose": _transpose,
}
