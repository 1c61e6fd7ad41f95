"""What elements of a TensorFlow Lite file's tensors are, and which operands an operator has."""

from __future__ import annotations

import numpy as np
from onnx import TensorProto

from edgeconv.model.tflite import DamagedError, Operator, Tensor
from edgeconv.model.tflite.file import ABSENT

QUANTISED = ("int8", "uint8", "int16", "int4", "uint4", "int2")
REALS = ("float16", "bfloat16", "float8_e4m3fn", "float8_e5m2")  # converted to float32
BITS = {"int4": 4, "uint4": 4, "int2": 2, "bfloat16": 16, "float8_e4m3fn": 8, "float8_e5m2": 8}
COMPLEX = "complex64"  # as pairs of float32 along a last dimension more
ELEMENTS: dict[str, int] = {
    **{kind: getattr(TensorProto, kind.upper()) for kind in ("float16", "bool", "bfloat16")},
    **{f"int{bits}": getattr(TensorProto, f"INT{bits}") for bits in (4, 8, 16, 32, 64)},
    **{f"uint{bits}": getattr(TensorProto, f"UINT{bits}") for bits in (8, 16, 32, 64)},
    "uint4": TensorProto.UINT4,
    "int2": TensorProto.INT4,  # repacked: ONNX has these since opset 25
    "float8_e4m3fn": TensorProto.FLOAT8E4M3FN,
    "float8_e5m2": TensorProto.FLOAT8E5M2,
    "float32": TensorProto.FLOAT,
    "float64": TensorProto.DOUBLE,
}


def has(operator: Operator, index: int) -> bool:
    """Whether the operator has an operand ``index``."""
    return index < len(operator.inputs) and operator.inputs[index] != ABSENT


def is_quantised(tensor: Tensor) -> bool:
    """Whether its integers stand for real numbers."""
    return tensor.dtype in QUANTISED and bool(tensor.scale or tensor.blocks)


def is_whole(tensor: Tensor) -> bool:
    """Whether its elements are integers that stand for nothing else."""
    return tensor.dtype in ("int32", "int64") and not tensor.scale


def alike(one: Tensor, other: Tensor) -> bool:
    """Whether equal elements of both are equal numbers."""
    return (one.dtype, one.scale, one.zero) == (other.dtype, other.scale, other.zero)


def zero_points(tensor: Tensor) -> list[int]:
    """The zero points of its integers.  Raises DamagedError for one that its type does not have."""
    bits = BITS.get(tensor.dtype, 0) or 8 * np.dtype(tensor.dtype).itemsize
    low = 0 if tensor.dtype.startswith("u") else -(1 << (bits - 1))
    if not all(low <= zero < low + (1 << bits) for zero in tensor.zero):
        raise DamagedError(f"a zero point of {tensor.name!r} that is no {tensor.dtype}")
    return list(tensor.zero)


def element(tensor: Tensor) -> int:
    """ONNX's number of its element type, 0 where it has none."""
    return ELEMENTS.get(tensor.dtype, 0)
