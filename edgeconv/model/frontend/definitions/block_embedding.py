"""GatherBlockQuantized of ``com.microsoft``: rows of a table of few bits in blocks of one scale, as
embeddings of language models are
(https://github.com/microsoft/onnxruntime/blob/main/docs/ContribOperators.md)."""

from __future__ import annotations

from collections.abc import Mapping

import numpy as np
from onnx import TensorProto, helper

from edgeconv.model.frontend.definitions.definition import Definition, Row, Values

_BITS = (2, 4, 8)
_BLOCK = 128  # where none is stated


def _gathered(d: Definition) -> None:
    """Y = (data - zero) scale of the rows that are asked for, which stay packed until then."""
    whole, bits, signed = _whole(d)
    scales, shape = d.constant(2), d.shape(1)
    block = d.integer("block_size", _BLOCK)
    if scales is None or shape is None:
        raise d.rejected("scales or indices that are not known", "scales are constant")
    axes = d.integer("gather_axis", 0), d.integer("quantize_axis", 1)
    if whole.ndim != 2 or axes[0] % 2 != 0 or axes[1] % 2 != 1:
        got = f"data of {whole.ndim} dimensions, gather_axis {axes[0]}, quantize_axis {axes[1]}"
        raise d.rejected(got, "rows of a table are gathered, in blocks of neighbours")
    count, width = whole.shape
    blocks = width // block if block > 0 else 0
    if not blocks or blocks * block != width or scales.shape != (count, blocks):
        got = f"rows of {width}, block_size {block}, scales {list(scales.shape)}"
        raise d.rejected(got, "rows are whole blocks, each with a scale")
    zero = _zeros(d, (count, blocks), bits, signed)
    places = 1 << (bits - 1) if signed else 0  # stored numbers are not negative
    rows = d.add("Gather", [d.add_constant("table", _packed(whole + places, bits)), d.input(1)])
    apart = d.add_constant("blocks", np.array([*shape, blocks, block]))
    numbers = d.add("Reshape", [_unpacked(d, rows, bits), apart])
    last = d.add_constant("last", np.array([-1]))
    if (zero == zero.flat[0]).all():
        origin = d.add_constant("zero", np.float32(zero.flat[0] + places))
    else:
        table = d.add_constant("zeros", (zero + places).astype(np.uint8))
        each = d.add("Cast", [d.add("Gather", [table, d.input(1)])], to=TensorProto.FLOAT)
        origin = d.add("Unsqueeze", [each, last])
    factors = d.add("Gather", [d.add_constant("scales", scales.astype(np.float32)), d.input(1)])
    real = d.add("Mul", [d.add("Sub", [numbers, origin]), d.add("Unsqueeze", [factors, last])])
    if scales.dtype != np.float32:
        real = d.add("Cast", [real], to=helper.np_dtype_to_tensor_dtype(scales.dtype))
    d.add("Reshape", [real, d.add_constant("rows", np.array([*shape, width]))], d.node.output[0])


def _whole(d: Definition) -> tuple[Values, int, bool]:
    """The table as int64, the bits of a number, and whether it may be negative."""
    data, bits = d.constant(0), d.integer("bits", 4)
    if data is None:
        raise d.rejected("data computed at run time", "it is constant")
    if data.dtype.name in ("int4", "uint4"):
        return data.astype(np.int64), 4, data.dtype.name == "int4"
    if data.dtype != np.uint8 or bits not in _BITS:
        raise d.rejected(f"data of {data.dtype}, bits {bits}", f"bytes of {_BITS} bits, or int4")
    return _numbers(data, bits), bits, False


def _numbers(packed: Values, bits: int) -> Values:
    """The numbers in each byte, the lowest bits first."""
    shifts = np.arange(0, 8, bits)
    apart: Values = (packed.astype(np.int64)[..., None] >> shifts) & ((1 << bits) - 1)
    return apart.reshape(*packed.shape[:-1], -1)


def _zeros(d: Definition, shape: tuple[int, int], bits: int, signed: bool) -> Values:
    given = d.constant(3)
    if not d.input(3):
        data = d.constant(0)
        plain = data is not None and data.dtype == np.uint8
        return np.full(shape, 1 << (bits - 1) if plain else 0, np.int64)
    if given is None:
        raise d.rejected("zero_points computed at run time", "they are constant")
    if given.dtype == np.uint8 and bits < 8:
        given = _numbers(given, bits)[..., : shape[1]]
    if given.shape != shape:
        raise d.rejected(f"zero_points {list(given.shape)}", f"there are {list(shape)}")
    return given.astype(np.int64)


def _packed(whole: Values, bits: int) -> Values:
    """Rows of numbers that are not negative in bytes, the lowest bits first; the last one may have
    bits to spare."""
    per_byte = 8 // bits
    spare = -whole.shape[1] % per_byte
    padded = np.pad(whole, ((0, 0), (0, spare))).reshape(whole.shape[0], -1, per_byte)
    bytes_: Values = (padded << (bits * np.arange(per_byte))).sum(-1).astype(np.uint8)
    return bytes_


def _unpacked(d: Definition, rows: str, bits: int) -> str:
    """The numbers in each byte of ``rows``, as float32: behind each other in a dimension more."""
    found = []
    mask = d.add_constant("mask", np.uint8((1 << bits) - 1))
    axis = d.add_constant("axis", np.array([-1]))
    for shift in range(0, 8, bits):
        each = rows
        if shift:
            by = d.add_constant("shift", np.uint8(shift))
            each = d.add("BitShift", [each, by], direction="RIGHT")
        if shift + bits < 8:
            each = d.add("BitwiseAnd", [each, mask])
        found.append(d.add("Unsqueeze", [each, axis]))
    joined = found[0] if len(found) == 1 else d.add("Concat", found, axis=-1)
    return d.add("Cast", [joined], to=TensorProto.FLOAT)


ROWS: Mapping[str, Row] = {
    "GatherBlockQuantized": Row("data indices scales zero_points?", _gathered, integers=False),
}
