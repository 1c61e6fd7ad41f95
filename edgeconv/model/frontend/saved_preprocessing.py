"""Pre-processing of a camera's frame in ONNX's operators: the same integers as the kernel's."""

from __future__ import annotations

from typing import Any

import numpy as np
import numpy.typing as npt
import onnx

from edgeconv.ir.graph import Node
from edgeconv.ir.preprocessing import (
    BLACK,
    GREY,
    NEUTRAL,
    PACKED,
    RGB565,
    VALUES,
    YUV422,
    YUV_TO_RGB,
    Neighbours,
    Pixels,
    Preprocessing,
)
from edgeconv.model.frontend.saved_nodes import Written

_CHANNELS = 2  # the axis of them, behind rows and columns


def preprocess(written: Written, node: Node, inputs: tuple[str, ...], y: str) -> None:
    """Nodes for what `model.preprocessing.definition` says, in int32 as far as that is whole."""
    made: Preprocessing = node.attrs["preprocessing"]
    to, written.calling = _Nodes(written, y), f"{node.name}/values"
    rows = to.add("Reshape", inputs[0], np.array([made.lines, made.stride]))
    values = _colours(to, made.pixels, rows, made.height, made.width)
    values = _between(to, _between(to, values, made.rows, 0), made.columns, 1)
    channels = np.arange(made.channels, dtype=np.int32)
    if made.is_whole:
        if made.over > 1:
            values = to.divided(to.add("Add", values, np.int32(made.over // 2)), made.over)
        numbered = to.add("Add", values, channels * np.int32(VALUES))
        box = to.add("Gather", made.table().ravel(), numbered, axis=0)
    else:
        scale = (np.array(made.scale) / made.over).astype(np.float32)
        real = to.add("Cast", values, to=onnx.TensorProto.FLOAT)
        box = to.add("Add", to.add("Mul", real, scale), np.array(made.shift, np.float32))
    (height, width), (left, top) = made.box, (made.left, made.top)
    right, below = made.size[1] - left - width, made.size[0] - top - height
    box = _joined(to, [_fill(to, made, height, left), box, _fill(to, made, height, right)], 1)
    wide = made.size[1]
    box = _joined(to, [_fill(to, made, top, wide), box, _fill(to, made, below, wide)], 0)
    planes = to.add("Transpose", box, perm=[2, 0, 1])
    written.calling = node.name
    written.node("Reshape", (planes, np.array(made.shape)), y)


class _Nodes:
    """Nodes on the way to ``y``."""

    def __init__(self, written: Written, y: str) -> None:
        self._written, self._y = written, y

    def add(self, op_type: str, *inputs: str | npt.NDArray[Any] | np.generic, **attrs: Any) -> str:
        """Add a node; returns the name of its result."""
        return self._written.add(self._y, op_type, *inputs, **attrs)

    def whole(self, x: str) -> str:
        """Bytes as int32."""
        return self.add("Cast", x, to=onnx.TensorProto.INT32)

    def divided(self, x: str, by: int) -> str:
        """Numbers that are not negative, rounded down."""
        return self.add("Div", x, np.int32(by))

    def columns(self, x: str, of: npt.NDArray[np.int64]) -> str:
        """Some of the bytes of each row, as int32."""
        return self.whole(self.add("Gather", x, of, axis=1))


def _colours(to: _Nodes, pixels: Pixels, rows: str, height: int, width: int) -> str:
    """(height, width, C) of int32."""
    x = np.arange(width)
    if pixels.kind == PACKED:
        own = to.add("Slice", rows, np.array([0]), np.array([height]), np.array([0]))
        bytes_of = (x[:, None] * pixels.pixel_bytes + np.array(pixels.at)).ravel()
        shape = np.array([height, width, len(pixels.at)])
        planes = to.add("Reshape", to.columns(own, bytes_of), shape)
        return _grey(to, planes) if pixels.grey else planes
    if pixels.kind == RGB565:
        low, high = (to.columns(rows, x * 2 + at) for at in pixels.at)
        bits = to.add("Add", low, to.add("Mul", high, np.int32(VALUES)))
        middle = to.divided(bits, 1 << 5)
        fields = (
            (to.divided(bits, 1 << 11), 8, 4),
            (to.add("Mod", middle, np.int32(64)), 4, 16),
            (to.add("Mod", bits, np.int32(32)), 8, 4),
        )
        rgb = [
            to.add("Add", to.add("Mul", each, np.int32(times)), to.divided(each, by))
            for each, times, by in fields
        ]
        return _ordered(to, rgb, pixels)
    if pixels.kind == YUV422:
        luma = to.columns(rows, x * 2 + pixels.at[0])
        differences = [to.columns(rows, x // 2 * 4 + at) for at in pixels.at[1:]]
    else:
        luma = to.columns(to.add("Gather", rows, np.arange(height), axis=0), x)
        shared = to.add("Gather", rows, height + np.arange(height) // 2, axis=0)
        differences = [to.columns(shared, x // 2 * 2 + at) for at in pixels.at[1:]]
    apart = [luma, *differences]
    less = (BLACK, NEUTRAL, NEUTRAL)
    apart = [to.add("Sub", each, np.int32(by)) for each, by in zip(apart, less, strict=True)]
    return _ordered(to, [_byte(to, apart, by) for by in YUV_TO_RGB], pixels)


def _byte(to: _Nodes, apart: list[str], by: tuple[int, ...]) -> str:
    """A colour of luma and colour differences."""
    total = to.add("Mul", apart[0], np.int32(by[0]))
    for each, factor in zip(apart[1:], by[1:], strict=True):
        total = to.add("Add", total, to.add("Mul", each, np.int32(factor)))
    positive = to.add("Max", to.add("Add", total, np.int32(128)), np.int32(0))
    return to.add("Min", to.divided(positive, VALUES), np.int32(255))


def _ordered(to: _Nodes, rgb: list[str], pixels: Pixels) -> str:
    planes = rgb if pixels.grey else [rgb[colour] for colour in pixels.order]
    apart = [to.add("Unsqueeze", each, np.array([_CHANNELS])) for each in planes]
    joined = _joined(to, apart, _CHANNELS)
    return _grey(to, joined) if pixels.grey else joined


def _grey(to: _Nodes, rgb: str) -> str:
    weighed = to.add("Mul", rgb, np.array(GREY, np.int32))
    total = to.add("ReduceSum", weighed, np.array([_CHANNELS]), keepdims=1)
    return to.divided(to.add("Add", total, np.int32(128)), VALUES)


def _between(to: _Nodes, values: str, axis: Neighbours, along: int) -> str:
    first = to.add("Gather", values, np.array(axis.first), axis=along)
    if not axis.is_linear:
        return first
    second = to.add("Gather", values, np.array(axis.second), axis=along)
    shape = (-1, 1, 1) if along == 0 else (-1, 1)
    weight = np.array(axis.weight, np.int32).reshape(shape)
    less = to.add("Mul", first, (axis.over - weight).astype(np.int32))
    return to.add("Add", less, to.add("Mul", second, weight))


def _fill(to: _Nodes, made: Preprocessing, height: int, width: int) -> str:
    """So many rows and columns of what is around the frame; "" for none."""
    if not height or not width:
        return ""
    shape = np.array([height, width, made.channels])
    return to.add("Expand", np.array(made.fill, np.float32), shape)


def _joined(to: _Nodes, pieces: list[str], axis: int) -> str:
    there = [each for each in pieces if each]
    return there[0] if len(there) == 1 else to.add("Concat", *there, axis=axis)
