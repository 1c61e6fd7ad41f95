"""Fourier transforms and what is computed of them: complex numbers as pairs along a last dimension
more, which is how ONNX has them."""

from __future__ import annotations

import numpy as np

from edgeconv.model.frontend.tflite.elements import COMPLEX
from edgeconv.model.frontend.tflite.writing import Translator, UnsupportedError, Writing
from edgeconv.model.tflite import Operator

_REAL, _IMAGINARY = 0, 1


def rfft_2d(out: Writing, operator: Operator) -> None:
    """RFFT2D: the transform over two dimensions of real numbers, of the last one half of it."""
    sizes, shape = out.whole(operator, 1, "sizes"), out.tensor(operator, 0).shape
    if len(sizes) != 2 or len(shape) < 2 or min(sizes) < 1:
        raise UnsupportedError(f"sizes {sizes} of an input {list(shape)}")
    rank = len(shape)
    x = out.add("Unsqueeze", [out.real(operator), out.value([rank])])
    if shape[-2] > sizes[0] == 1:
        x = out.add("Slice", [x, *map(out.value, ([0], [1], [rank - 2]))])
    rows, columns = (out.value(size) for size in sizes)
    last = [x, columns, out.value(rank - 1)]
    if sizes[0] == 1:
        out.move(operator, out.add("DFT", last, main=True, onesided=1))
        return
    half = out.add("DFT", last, onesided=1)
    out.move(operator, out.add("DFT", [half, rows, out.value(rank - 2)], main=True))


def complex_abs(out: Writing, operator: Operator) -> None:
    """COMPLEX_ABS: the magnitude of each."""
    axis = out.value([len(out.tensor(operator, 0).shape)])
    x = _pairs(out, operator)
    out.result(operator, out.add("ReduceL2", [x, axis], main=True, keepdims=0))


def component(index: int) -> Translator:
    """REAL and IMAG."""

    def write(out: Writing, operator: Operator) -> None:
        axis, x = len(out.tensor(operator, 0).shape), _pairs(out, operator)
        out.result(operator, out.add("Gather", [x, out.value(index)], main=True, axis=axis))

    return write


real_numbers, imaginary_numbers = component(_REAL), component(_IMAGINARY)


def same_pairs(out: Writing, operator: Operator) -> None:
    """RESHAPE, SQUEEZE and EXPAND_DIMS of complex numbers."""
    shape = out.model.tensors[operator.outputs[0]].shape
    if out.tensor(operator, 0).free:
        raise UnsupportedError("computes with complex numbers of a free size")
    sizes = out.value(np.array([*shape, 2], np.int64))
    out.move(operator, out.add("Reshape", [_pairs(out, operator), sizes], main=True))


def _pairs(out: Writing, operator: Operator) -> str:
    tensor = out.tensor(operator, 0)
    if tensor.dtype != COMPLEX or tensor.data is not None:
        raise UnsupportedError(f"reads {tensor.dtype} where complex numbers are computed")
    return tensor.name
