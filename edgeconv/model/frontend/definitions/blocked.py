"""Weights of few bits in blocks of one scale: MatMulNBits."""

from __future__ import annotations

from collections.abc import Mapping

import numpy as np

from edgeconv.model.frontend.definitions.definition import Definition, Row, Values

_BITS = (2, 4, 8)


def _matmul(d: Definition) -> None:
    """Y = A W^T + bias, W[n, k] = (B[n, k] - zero[n, k / block_size]) scale[n, k / block_size].

    B is [N, blocks, block_size bits / 8], the lowest bits first.  With one block it is stored as
    the integers that it has; with several it becomes float32.
    """
    out, inner, bits, block = (d.integer(a, 0) for a in ("N", "K", "bits", "block_size"))
    if bits not in _BITS or min(out, inner, block) < 1:
        got = f"N {out}, K {inner}, bits {bits}, block_size {block}"
        raise d.rejected(got, f"sizes are positive, and bits one of {_BITS}")
    if d.input(4):
        raise d.rejected("g_idx", "blocks are of neighbours")
    blocks = -(-inner // block)
    whole = _unpacked(d, 1, (out, blocks * block), bits)
    scale = _given(d, 2).astype(np.float32)
    if scale.size != out * blocks:
        raise d.rejected(f"scales {list(scale.shape)}", f"there are {out * blocks}")
    scale = scale.reshape(out, blocks)
    zero = _zeros(d, (out, blocks), bits)
    if blocks == 1 and zero.dtype.kind in "iu":
        steps = (whole - zero)[:, :inner].astype(np.int16)
        stored = d.add_constant("B", steps.astype(np.int8) if np.abs(steps).max() < 128 else steps)
        units = d.add_constant("scales", scale[:, 0])
        weights = d.add("DequantizeLinear", [stored, units], axis=0)
    else:
        steps = whole.reshape(out, blocks, block) - zero[..., None]
        real = (steps.astype(np.float32) * scale[..., None]).reshape(out, -1)[:, :inner]
        weights = d.add_constant("B", np.ascontiguousarray(real, np.float32))
    product = [d.input(0), d.add("Transpose", [weights], perm=[1, 0])]
    y = d.node.output[0]
    if d.input(5):
        d.add("Add", [d.add("MatMul", product), d.input(5)], y)
    else:
        d.add("MatMul", product, y)


def _zeros(d: Definition, shape: tuple[int, int], bits: int) -> Values:
    """Zero points, packed along the blocks like the weights, or of float32."""
    if not d.input(3):
        return np.full(shape, 1 << (bits - 1), np.int64)
    given = _given(d, 3)
    if given.dtype.kind == "f":
        if given.size != shape[0] * shape[1]:
            raise d.rejected(f"zero_points {list(given.shape)}", f"there are {list(shape)}")
        return given.astype(np.float32).reshape(shape)
    return _unpacked(d, 3, shape, bits)


def _unpacked(d: Definition, index: int, shape: tuple[int, int], bits: int) -> Values:
    """Rows of integers of few bits, each row in whole bytes."""
    given, per_byte = _given(d, index), 8 // bits
    row = -(-shape[1] // per_byte)
    if given.dtype != np.uint8 or given.size != shape[0] * row:
        got = f"{d.operands[index]} {list(given.shape)} of {given.dtype}"
        raise d.rejected(got, f"it has {shape[0]} rows of {row} bytes, of uint8")
    packed = given.reshape(shape[0], row, 1).astype(np.int64)
    parts = (packed >> (bits * np.arange(per_byte))) & ((1 << bits) - 1)
    return parts.reshape(shape[0], -1)[:, : shape[1]]


def _given(d: Definition, index: int) -> Values:
    value = d.constant(index)
    if value is None:
        what = d.operands[index]
        raise d.rejected(f"{what} computed at run time", f"{what} must be constant")
    return value


ROWS: Mapping[str, Row] = {
    "MatMulNBits": Row("A B scales zero_points? g_idx? bias?", _matmul, integers=False),
}
