"""Convolutions, pools and dense layers."""

from __future__ import annotations

import math
from collections.abc import Sequence

import numpy as np

from edgeconv.model.frontend.tflite import hybrid
from edgeconv.model.frontend.tflite.elements import alike, has, is_quantised
from edgeconv.model.frontend.tflite.writing import (
    NCHW_TO_NHWC,
    NHWC_TO_NCHW,
    Translator,
    UnsupportedError,
    Writing,
)
from edgeconv.model.tflite import DamagedError, Operator, Options, Tensor

PADDINGS = ("SAME", "VALID")
PADS = "pads"  # option of a convolution: begins, then ends, in place of its padding
_MOST_BIAS = 1 << 31


def conv(out: Writing, operator: Operator) -> None:
    """CONV_2D: filters [out_c, height, width, in_c of a group]."""
    x, w = out.tensor(operator, 0), out.tensor(operator, 1)
    require_rank(4, x, w)
    group = x.shape[3] // max(w.shape[3], 1)
    _convolution(out, operator, (0, 3, 1, 2), group)


def depthwise_conv(out: Writing, operator: Operator) -> None:
    """DEPTHWISE_CONV_2D: filters [1, height, width, out_c], by channel of the input."""
    x, w = out.tensor(operator, 0), out.tensor(operator, 1)
    require_rank(4, x, w)
    _convolution(out, operator, (3, 0, 1, 2), x.shape[3])


def _convolution(out: Writing, operator: Operator, axes: Sequence[int], group: int) -> None:
    """``axes``: of the filters, as ONNX has them: output channels first."""
    options, x, w = operator.options, out.tensor(operator, 0), out.tensor(operator, 1)
    out_c, kernel = w.shape[axes[0]], w.shape[1:3]
    dilations = [options["dilation_h"], options["dilation_w"]]
    window = {
        "group": group,
        "kernel_shape": list(kernel),
        "dilations": dilations,
        **_windows(x, options, kernel, dilations),
    }
    given = out.transposed(out.real(operator), NHWC_TO_NCHW)
    if hybrid.is_hybrid(out, operator, axis=axes[0], rows=x.shape[0]):
        y = hybrid.convolved(out, operator, given, axes, bias(out, operator, out_c), **window)
    else:
        inputs = [given, out.transposed(out.real(operator, 1), axes)]
        y = out.add("Conv", inputs + bias(out, operator, out_c), main=True, **window)
    out.result(operator, out.transposed(out.activated(y, operator), NCHW_TO_NHWC))


def bias(
    out: Writing,
    operator: Operator,
    out_c: int,
    places: tuple[int, int, int] = (0, 1, 2),
) -> list[str]:
    """The bias [out_c], if there is one.  Integers count in units of the product of the scales of
    input and filters, whatever scale they state.  ``places``: of input, filters and bias among the
    operands.  Raises DamagedError where it has not a number per output channel."""
    if not has(operator, places[2]):
        return []
    b = out.tensor(operator, places[2])
    if math.prod(b.shape) != out_c:
        got = f"a bias {list(b.shape)} for {out_c} output channels"
        raise DamagedError(f"{operator.kind} with {got}")
    found = _stored_bias(out, operator, places)
    return [found if len(b.shape) == 1 else out.add("Reshape", [found, out.value([out_c])])]


def _stored_bias(out: Writing, operator: Operator, places: tuple[int, int, int]) -> str:
    """Its numbers, in the shape that it has."""
    x, w, b = (out.tensor(operator, place) for place in places)
    if b.dtype not in ("int32", "int64"):
        return out.real(operator, places[2])
    if not (is_quantised(x) and is_quantised(w)):
        raise UnsupportedError(f"adds a bias of {b.dtype} to real numbers")
    values = out.constant(operator, places[2], "a bias")
    if np.abs(values.astype(np.float64)).max(initial=0) >= _MOST_BIAS:
        raise UnsupportedError("adds a bias beyond 32 bits")
    stored = out.stored(operator, places[2]) if b.dtype == "int32" else out.value(values, np.int32)
    units = np.float32(x.scale[0]) * np.asarray(w.scale, np.float32)
    scale = out.value(units if units.size > 1 else units[0], np.float32)
    return out.add("DequantizeLinear", [stored, scale], axis=max(0, len(b.shape) - 1))


def pool(kind: str) -> Translator:
    """AVERAGE_POOL_2D and MAX_POOL_2D as ``kind``; padding counts in neither."""

    def write(out: Writing, operator: Operator) -> None:
        options, x = operator.options, out.tensor(operator, 0)
        require_rank(4, x)
        kernel = [options["kernel_h"], options["kernel_w"]]
        if is_quantised(x) and not alike(x, out.model.tensors[operator.outputs[0]]):
            out.differs(operator, "its result is on another grid; TensorFlow Lite's kernels copy")
        y = out.add(
            kind,
            [out.transposed(out.real(operator), NHWC_TO_NCHW)],
            main=True,
            kernel_shape=kernel,
            **_windows(x, options, kernel, (1, 1)),
        )
        out.result(operator, out.transposed(out.activated(y, operator), NCHW_TO_NHWC))

    return write


def l2_pool(out: Writing, operator: Operator) -> None:
    """L2_POOL_2D: the root of the mean of squares."""
    x, options = out.tensor(operator, 0), operator.options
    require_rank(4, x)
    given = out.transposed(out.real(operator), NHWC_TO_NCHW)
    kernel = [options["kernel_h"], options["kernel_w"]]
    windows = _windows(x, options, kernel, (1, 1))
    square = out.add("Mul", [given, given])
    mean = out.add("AveragePool", [square], main=True, kernel_shape=kernel, **windows)
    y = out.activated(out.add("Sqrt", [mean]), operator)
    out.result(operator, out.transposed(y, NCHW_TO_NHWC))


def conv_3d(out: Writing, operator: Operator) -> None:
    """CONV_3D: filters [depth, height, width, in_c, out_c]."""
    x, w, options = out.tensor(operator, 0), out.tensor(operator, 1), operator.options
    require_rank(5, x, w)
    if x.shape[4] != w.shape[3] or x.free & {1, 2, 3}:
        raise UnsupportedError(f"input {list(x.shape)}, filters {list(w.shape)}")
    kernel, dilations = w.shape[:3], [options[f"dilation_{axis}"] for axis in "dhw"]
    inputs = [
        out.transposed(out.real(operator), (0, 4, 1, 2, 3)),
        out.transposed(out.real(operator, 1), (4, 3, 0, 1, 2)),
        *bias(out, operator, w.shape[4]),
    ]
    y = out.add(
        "Conv",
        inputs,
        main=True,
        kernel_shape=list(kernel),
        dilations=dilations,
        **_windows(x, options, kernel, dilations, "dhw"),
    )
    y = out.activated(y, operator)
    out.result(operator, out.transposed(y, (0, 2, 3, 4, 1)))


def fully_connected(out: Writing, operator: Operator) -> None:
    """FULLY_CONNECTED: weights [out_c, in_c]."""
    x, w = out.tensor(operator, 0), out.tensor(operator, 1)
    require_rank(2, w)
    if operator.options["weights_format"]:
        raise UnsupportedError("its weights are shuffled for another processor")
    given = out.real(operator)
    if len(x.shape) != 2 and not operator.options["keep_num_dims"]:
        given = out.add("Reshape", [given, out.value([-1, w.shape[1]])])
    rows = math.prod(x.shape) // max(w.shape[1], 1)
    if hybrid.is_hybrid(out, operator, axis=0, rows=rows):
        y = hybrid.multiplied(out, operator, given, bias(out, operator, w.shape[0]))
    elif len(x.shape) != 2 and operator.options["keep_num_dims"]:
        y = out.add("MatMul", [given, out.transposed(out.real(operator, 1), (1, 0))], main=True)
        for addend in bias(out, operator, w.shape[0]):
            y = out.add("Add", [y, addend])
    else:
        operands = [given, out.real(operator, 1), *bias(out, operator, w.shape[0])]
        y = out.add("Gemm", operands, main=True, transB=1)
    out.result(operator, out.activated(y, operator))


def _windows(
    x: Tensor,
    options: Options,
    kernel: Sequence[int],
    dilations: Sequence[int],
    axes: str = "hw",
) -> dict[str, object]:
    """Strides and padding, as attributes: what "same" comes to, where sizes are known.  ``axes``:
    letters of the options of each."""
    number = options["padding"]
    if not 0 <= number < len(PADDINGS):
        raise UnsupportedError(f"padding {number}")
    strides = [options[f"stride_{axis}"] for axis in axes]
    if min(*strides, *dilations, *kernel) < 1:
        raise UnsupportedError(
            f"strides {strides}, dilations {list(dilations)}, kernel {list(kernel)}"
        )
    if PADS in options:
        return {"strides": strides, "pads": list(options[PADS])}
    if PADDINGS[number] == "VALID":
        return {"strides": strides}
    if x.free & {1, 2}:
        return {"strides": strides, "auto_pad": "SAME_UPPER"}
    pads = []
    for size, stride, taps, apart in zip(x.shape[1:-1], strides, kernel, dilations, strict=True):
        pads.append(max(0, (-(-size // stride) - 1) * stride + (taps - 1) * apart + 1 - size))
    return {
        "strides": strides,
        "pads": [*(pad // 2 for pad in pads), *(pad - pad // 2 for pad in pads)],
    }


def require_rank(rank: int, *tensors: Tensor) -> None:
    """Raise UnsupportedError where one of ``tensors`` has another number of dimensions."""
    for tensor in tensors:
        if len(tensor.shape) != rank:
            raise UnsupportedError(f"an operand of shape {list(tensor.shape)}")
