"""Transposed convolutions: TRANSPOSE_CONV, and MediaPipe's operator of its own."""

from __future__ import annotations

import struct
from collections.abc import Sequence

from edgeconv.model.frontend.tflite.elements import has
from edgeconv.model.frontend.tflite.windows import PADDINGS, bias, require_rank
from edgeconv.model.frontend.tflite.writing import (
    NCHW_TO_NHWC,
    NHWC_TO_NCHW,
    UnsupportedError,
    Writing,
)
from edgeconv.model.tflite import Operator, Tensor

_OPTIONS = "<3i"  # TfLiteTransposeConvParams: padding, and strides along x and y
_SAME, _VALID = 1, 2  # TfLitePadding


def transpose_conv(out: Writing, operator: Operator) -> None:
    """TRANSPOSE_CONV: sizes of the result, filters [out_c, height, width, in_c], input, and a bias
    in newer files."""
    options, target = operator.options, out.model.tensors[operator.outputs[0]]
    number = options["padding"]
    if not 0 <= number < len(PADDINGS):
        raise UnsupportedError(f"padding {number}")
    if has(operator, 0) and out.tensor(operator, 0).data is not None:
        sizes = out.whole(operator, 0, "sizes")
    elif target.free & {1, 2}:
        raise UnsupportedError("the size of its result is computed at run time")
    else:  # a batch that is free makes an operand of what the file knows
        sizes = list(target.shape)
    x, w = out.tensor(operator, 2), out.tensor(operator, 1)
    strides = (options["stride_h"], options["stride_w"])
    _check(x, w, strides)
    if len(sizes) != 4 or w.shape[:1] != tuple(sizes[3:]):
        raise UnsupportedError(f"sizes {sizes}, filters {list(w.shape)}")
    around = []
    for size, given, taps, stride in zip(
        sizes[1:3], x.shape[1:3], w.shape[1:3], strides, strict=True
    ):
        reached = -(-(size if PADDINGS[number] == "SAME" else size - taps + 1) // stride)
        if reached != given:  # what the convolution that is transposed makes of the result
            got = f"{sizes[1:3]} rows and columns of {list(x.shape[1:3])}"
            raise UnsupportedError(f"{got}, strides {list(strides)}, kernel {list(w.shape[1:3])}")
        beyond = (given - 1) * stride + taps - size
        around.append((max(0, beyond), max(0, -beyond)))
    _write(out, operator, (2, 1, 3), strides, around)


def convolution_2d_transpose_bias(out: Writing, operator: Operator) -> None:
    """Convolution2DTransposeBias of MediaPipe: input, filters as above, bias.

    Of "same" padding the result loses as many rows and columns as a convolution over the input
    would be padded by, which need not leave input times stride
    (mediapipe/util/tflite/operations/transpose_conv_bias.cc).
    """
    stored = out.custom_options(operator)
    if len(stored) < struct.calcsize(_OPTIONS):
        raise UnsupportedError(f"{len(stored)} bytes of options")
    number, stride_w, stride_h = struct.unpack_from(_OPTIONS, stored)
    if number not in (_SAME, _VALID):
        raise UnsupportedError(f"padding {number}")
    x, w = out.tensor(operator, 0), out.tensor(operator, 1)
    strides = (stride_h, stride_w)
    _check(x, w, strides)
    cut = [
        max(0, taps - (given - 1) % stride - 1) if number == _SAME else 0
        for given, taps, stride in zip(x.shape[1:3], w.shape[1:3], strides, strict=True)
    ]
    _write(out, operator, (0, 1, 2), strides, [(each, 0) for each in cut])


def _check(x: Tensor, w: Tensor, strides: Sequence[int]) -> None:
    require_rank(4, x, w)
    if x.free & {1, 2}:
        raise UnsupportedError("the size of its input is free")
    if min(*strides, *w.shape[1:3], *x.shape[1:3]) < 1 or w.shape[3] != x.shape[3]:
        got = f"input {list(x.shape)}, filters {list(w.shape)}, strides {list(strides)}"
        raise UnsupportedError(got)


def _write(
    out: Writing,
    operator: Operator,
    places: tuple[int, int, int],
    strides: Sequence[int],
    around: Sequence[tuple[int, int]],
) -> None:
    """``places``: of input, filters and bias among the operands.  ``around``: rows, then columns of
    what the input reaches that are cut off, half of them in front, rounded down; and those behind
    it that it does not reach."""
    begins = [cut // 2 for cut, _ in around]
    w = out.tensor(operator, places[1])
    inputs = [
        out.transposed(out.real(operator, places[0]), NHWC_TO_NCHW),
        out.transposed(out.real(operator, places[1]), (3, 0, 1, 2)),
    ]
    y = out.add(
        "ConvTranspose",
        inputs + bias(out, operator, w.shape[0], places),
        main=True,
        kernel_shape=list(w.shape[1:3]),
        strides=list(strides),
        pads=begins + [cut - begin for (cut, _), begin in zip(around, begins, strict=True)],
        output_padding=[added for _, added in around],
    )
    out.result(operator, out.transposed(out.activated(y, operator), NCHW_TO_NHWC))
