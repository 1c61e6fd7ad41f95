"""A camera's frame as the input of a network: `ir.preprocessing` in one pass over the result.

Nothing is imported as one: ``model.passes.recognise_preprocessing`` makes it of what a model spells
out, and ``--preprocess`` puts it in front of a network.
"""

from __future__ import annotations

import itertools
from collections.abc import Mapping, Sequence
from dataclasses import replace
from types import MappingProxyType

import numpy as np
import numpy.typing as npt

from edgeconv.ir.choice import Blob, Layer, Param
from edgeconv.ir.encoding import FLOAT32
from edgeconv.ir.graph import Graph, Node, Tensor
from edgeconv.ir.layout import CHANNELS_LAST, ROW_MAJOR, Order
from edgeconv.ir.preprocessing import (
    PACKED,
    PREPROCESS,
    RGB565,
    VALUES,
    YUV420,
    YUV422,
    Neighbours,
    Preprocessing,
)
from edgeconv.ir.step import Divides
from edgeconv.ir.work import Work
from edgeconv.kernels.lowering.activations import evaluate
from edgeconv.kernels.lowering.calls import FLOAT_BYTES, kernel_layer
from edgeconv.kernels.lowering.loops import PerCore
from edgeconv.kernels.lowering.options import LayoutOption, Stored
from edgeconv.kernels.lowering.work import Call
from edgeconv.kernels.ops.base import Operator
from edgeconv.kernels.ops.preprocess_linear import Linear, linear
from edgeconv.target.targets import Target

# Operands of results that are looked up, or linear in whole values.
_TYPES = {"out": "void", "table": "void", "around": "void", "workspace": "int32_t"}
_PERIOD = 192  # values that are made results at a time
_BESIDE = 4  # sums behind a line's last, which the kernel reads with those of its last pixels
# Cycles of cores without vectors, counted in the kernel by `bench/firmware_cycles.py` (those of a
# Cortex-M0 are estimates): of a pixel that is read, by kind; of two channels that are blended, a
# result and its rounding, and a pixel beside.
_READ: Mapping[str, PerCore] = MappingProxyType(
    {
        PACKED: PerCore(12, 6, 5),
        RGB565: PerCore(20, 11, 9),
        YUV422: PerCore(70, 44, 37),
        YUV420: PerCore(72, 45, 38),
    }
)
_BLEND, _RESULT, _PIXEL = PerCore(10, 6, 5), PerCore(9, 4.5, 3.5), PerCore(10, 6, 4)
_WIDE = PerCore(4, 2.5, 2.5)  # of a result of more than a byte
_NUMBER = PerCore(250, 12, 8)  # of a result that no table has
# Slots of vectors: of a byte of a line, of a pixel of the columns, of a result that is looked up.
_LINE_SLOTS, _COLUMN_SLOTS, _TABLE_SLOTS = 0.5, 9.0, 4.0
Floats = npt.NDArray[np.float32]


def layouts(node: Node, graph: Graph, target: Target) -> Sequence[LayoutOption]:
    """Channels side by side, or apart; what has none of them has one order."""
    del graph, target
    return [LayoutOption((ROW_MAJOR,), (layout,)) for layout in (CHANNELS_LAST, ROW_MAJOR)]


def lower(node: Node, graph: Graph, target: Target) -> Layer:
    """Values that are whole numbers are looked up, with all that becomes of them; others are
    computed, and on vectors real numbers of all."""
    made: Preprocessing = node.attrs["preprocessing"]
    out, call = graph[node.output], Call(node, graph, target)
    looked_up = made.is_whole and (target.is_scalar or out.storage.affine)
    by_lines = _by_lines(node, made, out) if looked_up and not target.is_scalar else None
    near = _neighbours(made, 1 if looked_up and not by_lines else made.channels)
    further: tuple[str, ...] = ()
    operands: dict[str, str | Blob] = {
        "in": node.inputs[0],
        "neighbours": Blob("neighbours", near.size, lambda: near, dtype="int16"),
    }
    if by_lines:
        further = ("ec_preprocess_lines.h",)
        words = np.array([by_lines.factor, by_lines.offset], np.int32)
        around = _stored(results(node, made)[-made.channels :], out)
        operands["linear"] = Blob("linear", words.size, lambda: words, dtype="int32")
        operands["around"] = Blob(
            "around", around.size, lambda: around, storage=out.storage.element
        )
    elif looked_up:
        operands["table"] = _table(node, made, out)
    else:
        further = ("ec_preprocess_numbers.h",)
        numbers = _numbers(made)
        operands["numbers"] = Blob("numbers", numbers.size, lambda: numbers)
    layer = kernel_layer(
        call,
        "preprocess",
        "ops/preprocess.c.j2",
        operands=operands,
        params={
            "looked_up": looked_up,
            "by_lines": by_lines is not None,
            "result_shift": by_lines.shift if by_lines else 0,
            "bounds": (by_lines.low, by_lines.high) if by_lines else (0, 0),
            "alike": by_lines.alike if by_lines else (),
            "even": _even(made) if by_lines else (),
            "plain": _is_plain(node, out),
            **_params(made, out),
        },
        headers=("ec_preprocess.h", *further),
        work=_work(call, made, looked_up, by_lines is not None),
        workspace_bytes=0 if looked_up and not by_lines else _workspace(made, by_lines is not None),
        divides=Divides(made.size[0]),
        epilogue=not looked_up,
    )
    types = dict(_TYPES) if looked_up else {}
    args = (replace(arg, c_type=types.get(arg.c_name, arg.c_type)) for arg in layer.args)
    return replace(layer, args=tuple(args))


def _is_plain(node: Node, out: Tensor) -> bool:
    """Nothing becomes of its numbers, which are float32."""
    return node.epilogue.is_empty and out.storage == FLOAT32


def _workspace(made: Preprocessing, by_lines: bool) -> int:
    """Bytes of a line of the frame, of the columns made of it, and of a row of the result; where
    results are made by lines, of whole periods of values."""
    columns = max(made.width if by_lines else 0, len(made.columns.first))
    elements = made.channels * (made.width + columns + made.size[1]) + 2 * _BESIDE
    return FLOAT_BYTES * (elements + (2 * (_BESIDE + _PERIOD) if by_lines else 0))


def _neighbours(made: Preprocessing, apart: int) -> npt.NDArray[np.int16]:
    """Rows, and columns in elements of a line whose pixels are so far ``apart``."""
    return np.concatenate([_along(made.rows, 1), _along(made.columns, apart)]).astype(np.int16)


def _along(axis: Neighbours, apart: int) -> npt.NDArray[np.int64]:
    pixels = np.array([*axis.first, *axis.second], np.int64) * apart
    return np.concatenate([pixels, np.array(axis.weight, np.int64)])


def _even(made: Preprocessing) -> tuple[int, ...]:
    """Where columns lie that are evenly apart and weighed alike, in elements of a line: the first,
    from there to the next, from each to its second neighbour; the second's weight.  () of others,
    and of those whose sums have more than 16 bits."""
    columns = made.columns
    first, near = columns.first, 0
    steps = {b - a for a, b in itertools.pairwise(first)} or {1}
    alike = len(steps) == 1 and len(set(columns.weight)) <= 1
    if columns.is_linear:
        nears = {b - a for a, b in zip(first, columns.second, strict=True)}
        alike, near = alike and len(nears) == 1, min(nears)
    if not alike or VALUES * made.over > 1 << 16:
        return ()
    in_pixels = (first[0], min(steps), near)
    return (*(each * made.channels for each in in_pixels), (*columns.weight, 0)[0])


def _table(node: Node, made: Preprocessing, out: Tensor) -> Blob:
    """Results by channel and value, then those around the frame, as memory has them."""
    numbers = results(node, made)
    storage = out.storage
    if not storage.affine:
        return Blob("table", numbers.size, lambda: numbers, storage=storage)
    whole = _stored(numbers, out)
    return Blob("table", whole.size, lambda: whole, storage=storage.element)


def _stored(numbers: Floats, out: Tensor) -> Floats:
    """The whole numbers that stand for some in an affine result."""
    storage = out.storage
    whole = np.rint(numbers.astype(np.float32) / np.float32(storage.scale[0])) + storage.zero[0]
    held: Floats = np.clip(whole, storage.low, storage.high).astype(np.float32)
    return held


def _by_lines(node: Node, made: Preprocessing, out: Tensor) -> Linear | None:
    """The linear function of results that are whole, where there is one and they have 8 or 16
    bits."""
    if out.element_bytes > 2 or out.storage.element.bits not in (8, 16):
        return None
    table = _stored(results(node, made), out)[: -made.channels].reshape(made.channels, VALUES)
    return linear(table.astype(np.int64), [each / out.storage.scale[0] for each in made.scale])


def results(node: Node, made: Preprocessing) -> Floats:
    """What the node makes of each value of each channel, and of what is around the frame."""
    numbers = np.concatenate([made.table().ravel(), np.array(made.fill, np.float32)])
    for function in (node.epilogue.before, node.epilogue.after):
        numbers = np.asarray(evaluate(function, numbers), np.float32)
    return numbers


def _numbers(made: Preprocessing) -> Floats:
    scale = np.array(made.scale, np.float64) / (1 if made.rounded else made.over)
    return np.concatenate([scale, made.shift, made.fill]).astype(np.float32)


def _params(made: Preprocessing, out: Tensor) -> dict[str, Param]:
    pixels, (rows, columns) = made.pixels, made.box
    order = (*pixels.order, 0, 1, 2)[:3]
    beside = out.layout.order is Order.CHANNELS_LAST
    width, channels = made.size[1], made.channels
    held = (out.ring or made.size[0]) * width
    return {
        "rounded": made.rounded,
        "as_bytes": _as_bytes(made),
        "pixels": pixels.kind,
        "pixel_bytes": pixels.pixel_bytes,
        "at": (*pixels.at, 0, 0)[:3],
        "colours": tuple(order.index(colour) for colour in range(3)),
        "grey": pixels.grey,
        "channels": channels,
        "height": made.height,
        "width": made.width,
        "stride": made.stride,
        "out_size": (1, *made.size),
        "place": (made.top, made.left, rows, columns),
        "linear": (int(made.rows.is_linear), int(made.columns.is_linear)),
        "over": (made.rows.over, made.columns.over),
        "element": out.element_bytes,
        "next": (1, channels, width * channels) if beside else (held, 1, width),
        "out_ring": out.ring,
    }


def _as_bytes(made: Preprocessing) -> bool:
    """Whether a row of the frame is nothing but the network's channels."""
    pixels, each = made.pixels, tuple(range(made.channels))
    packed = pixels.kind == PACKED and not pixels.grey and pixels.pixel_bytes == made.channels
    return packed and tuple(sorted(pixels.at)) == each


def _work(call: Call, made: Preprocessing, looked_up: bool, by_lines: bool) -> Work:
    """Pixels that are read, blends of their channels, and a result for each."""
    target, channels = call.target, made.channels
    pixels = float(made.box[0] * made.box[1])
    taps = (1 + made.rows.is_linear) * (1 + made.columns.is_linear)
    blends = channels * (taps - 1)
    read, blend, result, around = (
        each.on(target, reals=False) for each in (_READ[made.pixels.kind], _BLEND, _RESULT, _PIXEL)
    )
    wide = _WIDE.on(target, reals=False) if call.output.element_bytes > 1 else 0.0
    cycles = around + taps * read + blends * blend + channels * (result + wide)
    if target.is_scalar and not looked_up:
        cycles += channels * _NUMBER.on(target)
    slots = _TABLE_SLOTS * channels if looked_up and not by_lines else 0.0
    slots += _LINE_SLOTS * channels * made.width / max(1, made.box[1]) + _COLUMN_SLOTS
    work = call.in_integers(pixels * cycles, pixels * cycles, pixels * slots)
    return work if looked_up else replace(work, slots=work.slots + call.epilogue)


OPERATOR = Operator(
    name=PREPROCESS,
    lower=lower,
    layouts=layouts,
    fuses=True,
    stored=Stored.WRITES,
)
