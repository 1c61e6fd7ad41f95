"""QuantizeLinear and DequantizeLinear: between real numbers and the integers that stand for them.

Operators compute with float32 throughout.  Where an integer tensor is dequantised with the scale
that it was quantised with, the pass ``quantised_pairs`` makes one activation of the two.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import replace
from typing import Any

import numpy as np

from edgeconv.encoding import Encoding, integers
from edgeconv.ir.graph import Node
from edgeconv.lowering.options import Stored
from edgeconv.ops.base import ImportContext, Importer, Operator, Source
from edgeconv.ops.importing import Values, axis_of, constant_input, make_node
from edgeconv.ops.kernels.quantise import lower

_FLOAT = 1  # onnx.TensorProto.FLOAT


def _per_tensor_or_axis(
    source: Source, ctx: ImportContext, value: Values, what: str
) -> tuple[Values, int]:
    """The numbers of a scale or zero point, and their axis (0 for a single one)."""
    if value.size == 1:
        return value.reshape(-1), 0
    shape = ctx.tensor(source.inputs[0]).shape
    axis = axis_of(source, ctx, source.attrs.get("axis", 1), len(shape))
    if value.ndim != 1 or value.size != shape[axis]:
        got = f"{what} {list(value.shape)} of input {list(shape)}"
        rule = "one number, or one per index of the axis"
        raise ctx.reject(source, got, rule, "quantise per tensor or per channel, not in blocks")
    return value, axis


def _encoding(source: Source, ctx: ImportContext, dtype: str) -> Encoding:
    given = constant_input(source, ctx, 1, "scale")
    assert given is not None
    if source.attrs.get("block_size"):
        got = f"block_size {source.attrs['block_size']}"
        raise ctx.reject(source, got, "activations are quantised per tensor or per channel")
    scale, axis = _per_tensor_or_axis(source, ctx, given.astype(np.float32), "scale")
    if not (np.isfinite(scale) & (scale >= np.finfo(np.float32).tiny)).all():
        got = f"scale {scale.min():g}"
        raise ctx.reject(source, got, "scales are positive, finite and not subnormal")
    origin = constant_input(source, ctx, 2, "zero point")
    zero = np.zeros(scale.shape, np.int64) if origin is None else origin.astype(np.int64)
    zero, _ = _per_tensor_or_axis(source, ctx, zero, "zero point")
    if zero.shape != scale.shape:
        got = f"scale {list(scale.shape)}, zero point {list(zero.shape)}"
        raise ctx.reject(source, got, "both have the same shape")
    scales, zeros = tuple(map(float, scale)), tuple(map(int, zero))
    return replace(integers(dtype), scale=scales, zero=zeros, axis=axis)


def _import_quantize(source: Source, ctx: ImportContext) -> Sequence[Node]:
    if source.attrs.get("precision", 0) not in (0, _FLOAT):
        raise ctx.reject(source, "precision other than float32", "the division is in float32")
    encoding = _encoding(source, ctx, ctx.tensor(source.outputs[0]).dtype)
    return [make_node(source, "Quantise", source.inputs[:1], encoding=encoding)]


def _import_dequantize(source: Source, ctx: ImportContext) -> Sequence[Node]:
    encoding = _encoding(source, ctx, ctx.tensor(source.inputs[0]).dtype)
    return [make_node(source, "Dequantise", source.inputs[:1], encoding=encoding)]


def _refuse(source: Source, ctx: ImportContext) -> Sequence[Node]:
    raise ctx.reject(
        source,
        "an operator on integers",
        "quantised models are read as QuantizeLinear and DequantizeLinear around float operators",
    )


_INTEGER_OPERATORS: Mapping[str, Importer] = dict.fromkeys(
    ("QLinearConv", "QLinearMatMul", "ConvInteger", "MatMulInteger", "DynamicQuantizeLinear"),
    _refuse,
)


def _operator(name: str, onnx: Mapping[str, Any]) -> Operator:
    return Operator(name=name, onnx=onnx, lower=lower, stored=Stored.BOTH)


OPERATOR = (
    _operator("Quantise", {"QuantizeLinear": _import_quantize, **_INTEGER_OPERATORS}),
    _operator("Dequantise", {"DequantizeLinear": _import_dequantize}),
)
