"""QuantizeLinear and DequantizeLinear: between real numbers and the integers that stand for them.

Operators compute with float32 throughout.  Where an integer tensor is dequantised with the scale
that it was quantised with, the pass ``quantised_pairs`` makes one activation of the two.
"""

from __future__ import annotations

import math
from collections.abc import Sequence
from dataclasses import replace

import numpy as np

from edgeconv.ir.choice import Alias, Blob, Layer, Number, Param
from edgeconv.ir.encoding import Encoding, integers
from edgeconv.ir.graph import Graph, Node
from edgeconv.ir.quantisation import integers_of
from edgeconv.ir.work import Work
from edgeconv.kernels.lowering.calls import c_type_of, kernel_layer
from edgeconv.kernels.lowering.options import Stored
from edgeconv.kernels.lowering.work import Call
from edgeconv.kernels.ops.base import ImportContext, Operator, Source
from edgeconv.kernels.ops.dynamic_quantisation import (
    dequantised_by,
    quantised_by,
    scaled_at_run_time,
)
from edgeconv.kernels.ops.importing import Values, axis_of, constant_input, make_node
from edgeconv.target.targets import Target

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
    if len({*zip(scales, zeros, strict=True)}) == 1:  # of every channel the same
        scales, zeros, axis = scales[:1], zeros[:1], 0
    return replace(integers(dtype), scale=scales, zero=zeros, axis=axis)


def _import_quantise(source: Source, ctx: ImportContext) -> Sequence[Node]:
    if source.attrs.get("precision", 0) not in (0, _FLOAT):
        raise ctx.reject(source, "precision other than float32", "the division is in float32")
    if scaled_at_run_time(source, ctx, ctx.tensor(source.outputs[0])):
        return quantised_by(source, ctx)
    encoding = _encoding(source, ctx, ctx.tensor(source.outputs[0]).dtype)
    return [make_node(source, "Quantise", source.inputs[:1], encoding=encoding)]


def _import_dequantize(source: Source, ctx: ImportContext) -> Sequence[Node]:
    if scaled_at_run_time(source, ctx, ctx.tensor(source.inputs[0])):
        return dequantised_by(source, ctx)
    encoding = _encoding(source, ctx, ctx.tensor(source.inputs[0]).dtype)
    return [make_node(source, "Dequantise", source.inputs[:1], encoding=encoding)]


def lower(node: Node, graph: Graph, target: Target) -> Layer:
    """The tensor as outer x channels x inner elements, row-major."""
    if _is_view(node, graph):
        return _view(node, graph, target)
    encoding, x, y = integers_of(node), graph[node.inputs[0]], graph[node.output]
    quantises, call = node.op == "Quantise", Call(node, graph, target)
    per_axis = not encoding.is_per_tensor
    outer = math.prod(x.shape[: encoding.axis]) if per_axis else 1
    channels = len(encoding.scale)
    numbers = np.array([encoding.scale, encoding.zero], np.float32)
    scaling = Blob("scaling", 2 * channels, lambda: numbers.reshape(-1))
    return kernel_layer(
        call,
        "quantise" if quantises else "dequantise",
        "ops/quantise.c.j2",
        operands={"x": x.name, **({"scaling": scaling} if per_axis else {})},
        params={
            "quantises": quantises,
            "per_axis": per_axis,
            **({} if per_axis else _scaling(encoding)),
            "low": float(encoding.low),
            "high": float(encoding.high),
            "outer": outer,
            "channels": channels,
            "inner": math.prod(x.shape) // (outer * channels),
            "integer": c_type_of((y if quantises else x).dtype),
        },
        headers=("ec_lanes.h", "ec_quantise.h"),
        work=_work(call, "quantise" if quantises else "dequantise"),
        epilogue=False,
    )


def _work(call: Call, function: str) -> Work:
    """To integers or from them, which is all that these kernels do."""
    work = call.elementwise(function)
    return replace(work, slots=0.0, decoding=0.0) if call.target.is_scalar else work


def _scaling(encoding: Encoding) -> dict[str, Param]:
    """The scaling of a whole tensor."""
    return {
        "tensor_scale": Number(encoding.scale[0]),
        "tensor_zero": Number(float(encoding.zero[0])),
    }


def _is_view(node: Node, graph: Graph) -> bool:
    """The bytes of both are the same ones."""
    real = graph[node.output if node.op == "Dequantise" else node.inputs[0]]
    return integers_of(node) == real.storage


def _view(node: Node, graph: Graph, target: Target) -> Layer:
    """A copy of bytes, and none where the planner lays one into the other."""
    x, y, call = graph[node.inputs[0]], graph[node.output], Call(node, graph, target)
    return kernel_layer(
        call,
        "view",
        "ops/byte_copy.c.j2",
        operands={"in": x.name},
        params={"bytes": y.elements * y.element_bytes},
        headers=(),
        work=call.streams(),
        aliases=(Alias(x.name, inner=y.name, outer=x.name, exact=True),),
        free_if_aliased=True,
        epilogue=False,
    )


OPERATOR = (
    Operator(
        name="Quantise",
        onnx={"QuantizeLinear": _import_quantise},
        lower=lower,
        stored=Stored.BOTH,
    ),
    Operator(
        name="Dequantise",
        onnx={"DequantizeLinear": _import_dequantize},
        lower=lower,
        stored=Stored.BOTH,
    ),
)
