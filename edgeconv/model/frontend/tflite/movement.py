"""Operators that move elements: of integers as they are, their scale being that of the result."""

from __future__ import annotations

from collections.abc import Sequence

import numpy as np
from onnx import TensorProto

from edgeconv.model.frontend.tflite.elements import alike, has, is_quantised, zero_points
from edgeconv.model.frontend.tflite.writing import (
    LAST,
    NCHW_TO_NHWC,
    NHWC_TO_NCHW,
    Translator,
    UnsupportedError,
    Writing,
)
from edgeconv.model.tflite import Operator, Tensor

_NUMBERS = ("float32", "int8", "uint8", "int16", "int32", "int64")
_STRIDED_MASKS = ("begin", "end", "ellipsis", "new_axis", "shrink")


def reshape(out: Writing, operator: Operator) -> None:
    """RESHAPE to sizes that are an operand, or an option in old files."""
    x = out.stored(operator, 0)
    if has(operator, 1) and out.tensor(operator, 1).data is None and operator.inputs[1:]:
        sizes = out.add("Cast", [out.stored(operator, 1)], to=TensorProto.INT64)
    else:
        given = (
            out.whole(operator, 1, "sizes")
            if has(operator, 1)
            else list(operator.options["new_shape"])
        )
        sizes = out.value(given)
    out.move(operator, out.add("Reshape", [x, sizes], main=True))


def densify(out: Writing, operator: Operator) -> None:
    """DENSIFY: a sparse constant, all of whose elements are read."""
    if out.tensor(operator, 0).data is None:
        raise UnsupportedError("what it reads is no constant")
    out.move(operator, out.stored(operator, 0))


def squeeze(out: Writing, operator: Operator) -> None:
    """SQUEEZE of some axes, or of all of size 1."""
    axes = list(operator.options["squeeze_dims"])
    inputs = [out.stored(operator, 0), *([out.value(axes)] if axes else [])]
    out.move(operator, out.add("Squeeze", inputs, main=True))


def expand_dims(out: Writing, operator: Operator) -> None:
    """EXPAND_DIMS: one more axis."""
    axis = out.value([out.number(operator, 1, "an axis")])
    out.move(operator, out.add("Unsqueeze", [out.stored(operator, 0), axis], main=True))


def transpose(out: Writing, operator: Operator) -> None:
    """TRANSPOSE by a constant permutation."""
    perm = out.whole(operator, 1, "a permutation")
    if sorted(perm) != list(range(len(out.tensor(operator, 0).shape))):
        raise UnsupportedError(f"permutation {perm}")
    out.move(operator, out.add("Transpose", [out.stored(operator, 0)], main=True, perm=perm))


def concat(out: Writing, operator: Operator) -> None:
    """CONCATENATION, and the activation that is fused into it."""
    _joined(out, operator, operator.options["axis"], activation=operator.options["activation"])


def pack(out: Writing, operator: Operator) -> None:
    """PACK: operands side by side along a new axis."""
    _joined(out, operator, operator.options["axis"], new=True)


def _joined(
    out: Writing, operator: Operator, axis: int, *, new: bool = False, activation: int = 0
) -> None:
    """Operands one behind the other, along a ``new`` axis or one that they have: integers of
    different scales in real numbers."""
    tensors = [out.tensor(operator, index) for index in range(len(operator.inputs))]
    target = out.model.tensors[operator.outputs[0]]
    moves = not activation and all(alike(tensor, target) for tensor in tensors)
    take = out.stored if moves else out.real
    operands = [take(operator, index) for index in range(len(tensors))]
    if activation and is_quantised(target):
        out.differs(
            operator, "its fused activation is computed; LiteRT's default kernels ignore it"
        )
    if new and not moves:
        out.differs(
            operator, "brought to one grid; TensorFlow Lite Micro copies integers as they are"
        )
    if new:
        place = out.value([axis])
        operands = [out.add("Unsqueeze", [name, place]) for name in operands]
    y = out.add("Concat", operands, main=True, axis=axis)
    if moves:
        out.move(operator, y)
    else:
        out.result(operator, out.activated(y, operator))


def unpack(out: Writing, operator: Operator) -> None:
    """UNPACK: what lies along an axis, each by itself."""
    axis, count = operator.options["axis"], len(operator.outputs)
    x, place = out.stored(operator, 0), out.value([axis])
    parts = out.add_all("Split", [x], count, main=True, axis=axis, num_outputs=count)
    for index, part in enumerate(parts):
        out.move(operator, out.add("Squeeze", [part, place]), index)


def split(out: Writing, operator: Operator) -> None:
    """SPLIT: equal parts along an axis, which is the first operand."""
    axis, count = out.number(operator, 0, "an axis"), len(operator.outputs)
    x = out.stored(operator, 1)
    _pieces(
        out, operator, out.add_all("Split", [x], count, main=True, axis=axis, num_outputs=count)
    )


def split_v(out: Writing, operator: Operator) -> None:
    """SPLIT_V: parts of given sizes, of which -1 is what is left."""
    sizes, axis = out.whole(operator, 1, "sizes"), out.number(operator, 2, "an axis")
    shape = out.tensor(operator, 0).shape
    if not -len(shape) <= axis < len(shape) or len(sizes) != len(operator.outputs):
        raise UnsupportedError(f"sizes {sizes} along axis {axis}")
    left = shape[axis] - sum(size for size in sizes if size >= 0)
    inputs = [out.stored(operator, 0), out.value([left if n < 0 else n for n in sizes])]
    _pieces(out, operator, out.add_all("Split", inputs, len(sizes), main=True, axis=axis))


def _pieces(out: Writing, operator: Operator, names: Sequence[str]) -> None:
    for index, name in enumerate(names):
        out.move(operator, name, index)


def cut(out: Writing, operator: Operator) -> None:
    """SLICE: from where, and how many, of which -1 is all that is left."""
    if any(out.tensor(operator, index).data is None for index in (1, 2)):
        first, count = _numbers(out, operator, 1), _numbers(out, operator, 2)
        all_left = out.add("Less", [count, out.value(0)])
        last = out.add("Where", [all_left, out.value(LAST), out.add("Add", [first, count])])
        axes = out.value(range(len(out.tensor(operator, 0).shape)))
        given = [out.stored(operator, 0), first, last, axes]
        out.move(operator, out.add("Slice", given, main=True))
        return
    begin, size = out.whole(operator, 1, "a begin"), out.whole(operator, 2, "a size")
    if len(begin) != len(size):
        raise UnsupportedError(f"begin {begin}, size {size}")
    ends = [LAST if n < 0 else first + n for first, n in zip(begin, size, strict=True)]
    inputs = [out.stored(operator, 0), *(out.value(each) for each in (begin, ends))]
    out.move(operator, out.add("Slice", [*inputs, out.value(range(len(begin)))], main=True))


def _numbers(out: Writing, operator: Operator, index: int) -> str:
    """Operand ``index``, computed at run time or in a loop, as int64."""
    return out.add("Cast", [out.stored(operator, index)], to=TensorProto.INT64)


def _strided_at_run_time(out: Writing, operator: Operator) -> None:
    """STRIDED_SLICE whose bounds are computed, as in the step of a loop."""
    strides = out.whole(operator, 3, "strides")
    count, masks = len(strides), {name: operator.options[name] for name in _STRIDED_MASKS}
    if masks["ellipsis"] or masks["new_axis"] or not all(strides):
        raise UnsupportedError("bounds computed at run time, with new axes or an ellipsis")

    def masked(name: str, bits: int, forward: int, backward: int) -> str:
        """The bounds but where the mask says that all is taken."""
        wide = [forward if stride > 0 else backward for stride in strides]
        left_out = out.value([bool(bits >> i & 1) for i in range(count)], np.bool_)
        return out.add("Where", [left_out, out.value(wide), name])

    first, last = _numbers(out, operator, 1), _numbers(out, operator, 2)
    if operator.options["offset"]:
        last = out.add("Add", [first, last])
    first = masked(first, masks["begin"], 0, LAST)
    last = masked(last, masks["end"], LAST, -LAST)
    single = out.value([bool(masks["shrink"] >> i & 1) for i in range(count)], np.bool_)
    behind = out.add("Add", [first, out.value(1)])
    final = out.add("Equal", [first, out.value(-1)])
    behind = out.add("Where", [final, out.value(LAST), behind])
    last = out.add("Where", [single, behind, last])
    dropped = [i for i in range(count) if masks["shrink"] >> i & 1]
    inputs = [out.stored(operator, 0), first, last, out.value(range(count)), out.value(strides)]
    y = out.add("Slice", inputs, main=not dropped)
    if dropped:
        y = out.add("Squeeze", [y, out.value(dropped)], main=True)
    out.move(operator, y)


def strided_slice(out: Writing, operator: Operator) -> None:
    """STRIDED_SLICE: NumPy's x[begin:end:stride, ...], with bits for what is left out, for an
    ellipsis, for new axes and for single indices."""
    if any(out.tensor(operator, index).data is None for index in (1, 2)):
        _strided_at_run_time(out, operator)
        return
    given = [out.whole(operator, i, w) for i, w in ((1, "a begin"), (2, "an end"), (3, "strides"))]
    rank, count = len(out.tensor(operator, 0).shape), len(given[0])
    masks = {name: operator.options[name] for name in _STRIDED_MASKS}
    if not len(given[1]) == len(given[2]) == count:
        raise UnsupportedError(f"begin, end and strides of {list(map(len, given))} numbers")
    made = [i for i in range(count) if masks["new_axis"] >> i & 1]
    ellipsis = [i for i in range(count) if masks["ellipsis"] >> i & 1]
    if len(ellipsis) > 1 or len(made) > rank:
        raise UnsupportedError(f"{len(ellipsis)} ellipses, {len(made)} new axes")
    bounds: list[list[int]] = []  # axis, begin, end, stride
    dropped: list[int] = []
    new: list[int] = []  # as they count in the result without those dropped
    axis = 0
    for i in range(count):
        if i in ellipsis:
            axis += max(0, rank - (count - 1 - len(made)))
        elif i in made:
            new.append(axis - len(dropped) + len(new))
        else:
            begin, end, stride = (values[i] for values in given)
            if operator.options["offset"]:  # the end counts from where it begins
                end += begin
            if masks["shrink"] >> i & 1:
                dropped.append(axis)
                end, stride = (LAST if begin == -1 else begin + 1), 1
            else:
                begin = (0 if stride > 0 else LAST) if masks["begin"] >> i & 1 else begin
                end = (LAST if stride > 0 else -LAST) if masks["end"] >> i & 1 else end
            bounds.append([axis, begin, end, stride])
            axis += 1
    columns = [[row[k] for row in bounds] for k in (1, 2, 0, 3)]
    y = out.stored(operator, 0)
    if bounds or not (dropped or new):
        y = out.add("Slice", [y, *map(out.value, columns)], main=True)
    y = out.add("Squeeze", [y, out.value(dropped)]) if dropped else y
    y = out.add("Unsqueeze", [y, out.value(new)]) if new else y
    out.move(operator, y)


def pad(out: Writing, operator: Operator) -> None:
    """PAD with zeros, PADV2 with a number: integers with what stands for it in the result, whose
    grid is the kernels' one: they copy integers also where the operand has another."""
    tensor, result = out.tensor(operator, 0), out.model.tensors[operator.outputs[0]]
    filling = out.stored(operator, 2) if has(operator, 2) else _zero(out, result)
    pads = _pairs(out.whole(operator, 1, "padding"), len(tensor.shape))
    inputs = [out.stored(operator, 0), out.value(pads), filling]
    out.move(operator, out.add("Pad", inputs, main=True))


def _zero(out: Writing, tensor: Tensor) -> str:
    """What stands for 0 among the numbers of ``tensor``."""
    if tensor.dtype not in _NUMBERS:
        raise UnsupportedError(f"pads {tensor.dtype}")
    return out.value(zero_points(tensor)[0] if tensor.scale else 0, np.dtype(tensor.dtype))


def mirror_pad(out: Writing, operator: Operator) -> None:
    """MIRROR_PAD: without the edge, or with it, which by one element is to repeat it."""
    shape = out.tensor(operator, 0).shape
    pads = _pairs(out.whole(operator, 1, "padding"), len(shape))
    if operator.options["mode"] and max(pads, default=0) > 1:
        out.move(operator, _mirrored(out, out.stored(operator, 0), shape, pads))
        return
    mode = "edge" if operator.options["mode"] else "reflect"
    inputs = [out.stored(operator, 0), out.value(pads)]
    out.move(operator, out.add("Pad", inputs, main=True, mode=mode))


def _mirrored(out: Writing, name: str, shape: Sequence[int], pads: Sequence[int]) -> str:
    """The tensor with its edges in the mirror image, as rows that are gathered."""
    for axis, size in enumerate(shape):
        begin, end = pads[axis], pads[axis + len(shape)]
        if max(begin, end) > size:
            raise UnsupportedError(f"mirrors {max(begin, end)} of {size} elements")
        rows = np.pad(np.arange(size), (begin, end), mode="symmetric")
        if begin or end:
            name = out.add("Gather", [name, out.value(rows)], main=True, axis=axis)
    return name


def gather(out: Writing, operator: Operator) -> None:
    """GATHER along an axis; with ``batch_dims`` each index of these dimensions has rows, and
    places, of its own."""
    x, places = out.tensor(operator, 0), out.tensor(operator, 1)
    axis, batch = operator.options["axis"], operator.options["batch_dims"]
    rank, ranked = len(x.shape), len(places.shape)
    axis, batch = axis + rank * (axis < 0), batch + ranked * (batch < 0)
    if not 0 <= batch <= min(axis, ranked) or axis >= rank:
        raise UnsupportedError(f"batch_dims {batch} of {ranked}, along axis {axis} of {rank}")
    name, indices = out.stored(operator, 0), out.stored(operator, 1)
    if not batch:
        out.move(operator, out.add("Gather", [name, indices], main=True, axis=axis))
        return
    if places.dtype != "int64":
        indices = out.add("Cast", [indices], to=TensorProto.INT64)
    before = list(range(batch, axis))
    if before:
        after = range(axis + 1, rank)
        name = out.transposed(name, (*range(batch), axis, *before, *after))
    indices = out.add("Unsqueeze", [indices, out.value([-1])])
    y = out.add("GatherND", [name, indices], main=True, batch_dims=batch)
    if before:  # which lie behind those of the places
        here, moved = ranked - batch, batch + ranked - batch
        middle = range(moved, moved + len(before))
        ends = range(moved + len(before), moved + len(before) + rank - axis - 1)
        y = out.transposed(y, (*range(batch), *middle, *range(batch, batch + here), *ends))
    out.move(operator, y)


def repeat(out: Writing, operator: Operator) -> None:
    """TILE: copies along each axis."""
    inputs = [out.stored(operator, 0), out.value(out.whole(operator, 1, "counts"))]
    out.move(operator, out.add("Tile", inputs, main=True))


def broadcast_to(out: Writing, operator: Operator) -> None:
    """BROADCAST_TO a shape."""
    sizes = out.add("Cast", [out.stored(operator, 1)], to=TensorProto.INT64)
    out.move(operator, out.add("Expand", [out.stored(operator, 0), sizes], main=True))


def shape(out: Writing, operator: Operator) -> None:
    """SHAPE: the sizes, which are known when compiling."""
    kinds = {"int32": TensorProto.INT32, "int64": TensorProto.INT64}
    kind = kinds.get(out.model.tensors[operator.outputs[0]].dtype, TensorProto.INT32)
    sizes = out.add("Shape", [out.stored(operator, 0)])
    out.move(operator, out.add("Cast", [sizes], main=True, to=kind))


def blocks(kind: str) -> Translator:
    """SPACE_TO_DEPTH and DEPTH_TO_SPACE as ``kind``."""

    def write(out: Writing, operator: Operator) -> None:
        x = out.transposed(out.stored(operator, 0), NHWC_TO_NCHW)
        y = out.add(kind, [x], main=True, blocksize=operator.options["block_size"])
        out.move(operator, out.transposed(y, NCHW_TO_NHWC))

    return write


def _pairs(values: Sequence[int], rank: int) -> list[int]:
    """Padding as ONNX has it, all begins and then all ends, of pairs of both."""
    if len(values) != 2 * rank:
        raise UnsupportedError(f"{len(values)} numbers of padding for {rank} dimensions")
    return [*values[0::2], *values[1::2]]
