"""Reductions, resizing, and products of two tensors."""

from __future__ import annotations

from onnx import TensorProto

from edgeconv.model.frontend.tflite.elements import alike, element, is_quantised
from edgeconv.model.frontend.tflite.writing import (
    NCHW_TO_NHWC,
    NHWC_TO_NCHW,
    Translator,
    UnsupportedError,
    Writing,
)
from edgeconv.model.tflite import Operator, Options


def reduce(kind: str) -> Translator:
    """ONNX's ``kind`` over constant axes: the largest or smallest of integers on one grid is one
    of them."""
    picks = kind in ("ReduceMax", "ReduceMin")

    def write(out: Writing, operator: Operator) -> None:
        axes = out.value(out.whole(operator, 1, "axes"))
        keep = int(operator.options["keep_dims"])
        tensor, result = out.tensor(operator, 0), out.model.tensors[operator.outputs[0]]
        moves = picks and is_quantised(tensor) and alike(tensor, result)
        x = out.stored(operator, 0) if moves else out.operand(operator)
        short = moves and tensor.dtype == "int16"  # which ONNX's operator does not take
        x = out.add("Cast", [x], to=TensorProto.INT32) if short else x
        y = out.add(kind, [x, axes], main=True, keepdims=keep)
        if moves:
            out.move(operator, out.add("Cast", [y], to=element(result)) if short else y)
        else:
            out.result(operator, y)

    return write


def any_or_all(kind: str) -> Translator:
    """REDUCE_ANY and REDUCE_ALL: the largest or the smallest truth."""

    def write(out: Writing, operator: Operator) -> None:
        axes = out.value(out.whole(operator, 1, "axes"))
        number = out.add("Cast", [out.stored(operator, 0)], to=TensorProto.INT32)
        keep = int(operator.options["keep_dims"])
        found = out.add(kind, [number, axes], main=True, keepdims=keep)
        out.move(operator, out.add("Cast", [found], to=TensorProto.BOOL))

    return write


def resize_bilinear(out: Writing, operator: Operator) -> None:
    """RESIZE_BILINEAR to constant sizes."""
    if out.tensor(operator, 0).dtype == "int16":
        out.differs(operator, "LiteRT's kernel of int16 is many steps off")
    out.result(operator, _resized(out, operator, out.real(operator), mode="linear"))


def resize_nearest(out: Writing, operator: Operator) -> None:
    """RESIZE_NEAREST_NEIGHBOR: down, but with aligned corners or half pixels to the nearest, of two
    the upper one; floor((y + 1/2) scale) is (y + 1/2) scale - 1/2 rounded so.  Integers are copied
    as they are, also into a result on another grid, as every kernel of TensorFlow Lite does."""
    options = operator.options
    up = options["align_corners"] or options["half_pixel_centers"]
    how = {"mode": "nearest", "nearest_mode": "round_prefer_ceil" if up else "floor"}
    if is_quantised(out.tensor(operator, 0)):
        out.move(operator, _resized(out, operator, out.stored(operator, 0), **how))
    else:
        out.result(operator, _resized(out, operator, out.real(operator), **how))


def _resized(out: Writing, operator: Operator, x: str, **how: str) -> str:
    sizes = out.whole(operator, 1, "sizes")
    if len(sizes) != 2:
        raise UnsupportedError(f"sizes {sizes}")
    x = out.transposed(x, NHWC_TO_NCHW)
    kept = out.add("Shape", [x], start=0, end=2)
    y = out.add(
        "Resize",
        [x, "", "", out.add("Concat", [kept, out.value(sizes)], axis=0)],
        main=True,
        coordinate_transformation_mode=_places(operator.options),
        **how,
    )
    return out.transposed(y, NCHW_TO_NHWC)


def _places(options: Options) -> str:
    """ONNX's word for where elements lie."""
    if options["align_corners"]:
        return "align_corners"
    return "half_pixel" if options["half_pixel_centers"] else "asymmetric"


def batch_matmul(out: Writing, operator: Operator) -> None:
    """BATCH_MATMUL of matrices in the last two dimensions, each transposed or not."""
    operands = []
    for index, flag in enumerate(("adj_x", "adj_y")):
        name, rank = out.real(operator, index), len(out.tensor(operator, index).shape)
        if operator.options[flag]:
            name = out.transposed(name, (*range(rank - 2), rank - 1, rank - 2))
        operands.append(name)
    out.result(operator, out.add("MatMul", operands, main=True))
