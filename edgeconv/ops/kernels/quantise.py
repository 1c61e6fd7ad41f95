"""Quantise and Dequantise: one loop over channels of equal scale.

Where the real numbers are stored as the integers that they stand for, both are a view.
"""

from __future__ import annotations

import math

import numpy as np

from edgeconv.encoding import FLOAT32, Encoding
from edgeconv.ir.choice import Alias, Arg, ArgKind, Blob, Layer, Number, Param
from edgeconv.ir.graph import Graph, Node, Tensor
from edgeconv.ir.quantisation import integers_of
from edgeconv.lowering.calls import C_TYPES, storage_of
from edgeconv.lowering.work import copying, elementwise
from edgeconv.targets import Target


def lower(node: Node, graph: Graph, target: Target) -> Layer:
    """The tensor as outer x channels x inner elements, row-major."""
    if _is_view(node, graph):
        return _view(node, graph, target)
    encoding, x, y = integers_of(node), graph[node.inputs[0]], graph[node.output]
    quantises = node.op == "Quantise"
    axis = encoding.axis
    per_axis = not encoding.is_per_tensor
    outer = math.prod(x.shape[:axis]) if per_axis else 1
    channels = len(encoding.scale)
    blobs: tuple[Blob, ...] = ()
    if per_axis:
        numbers = np.array([encoding.scale, encoding.zero], np.float32)
        blobs = (Blob("scaling", 2 * channels, lambda: numbers.reshape(-1)),)
    return Layer(
        node=node,
        algorithm="quantise" if quantises else "dequantise",
        template="ops/quantise.c.j2",
        params={
            "quantises": quantises,
            "per_axis": per_axis,
            **({} if per_axis else _scaling(encoding)),
            "low": float(encoding.low),
            "high": float(encoding.high),
            "outer": outer,
            "channels": channels,
            "inner": math.prod(x.shape) // (outer * channels),
            "integer": C_TYPES[(y if quantises else x).dtype],
            **storage_of(graph, x=x.name, out=y.name),
        },
        args=(
            Arg(ArgKind.INPUT, "x", x.name, _c_type(x)),
            *(Arg(ArgKind.WEIGHTS, "scaling", blob.name) for blob in blobs),
            Arg(ArgKind.OUTPUT, "out", y.name, _c_type(y)),
        ),
        headers=("ec_lanes.h", "ec_quantise.h"),
        work=elementwise(node, graph, target, blobs),
        blobs=blobs,
    )


def _scaling(encoding: Encoding) -> dict[str, Param]:
    """That of a whole tensor."""
    return {
        "tensor_scale": Number(encoding.scale[0]),
        "tensor_zero": Number(float(encoding.zero[0])),
    }


def _c_type(tensor: Tensor) -> str:
    stored = tensor.dtype == "float32" and tensor.storage != FLOAT32
    return "unsigned char" if stored else C_TYPES[tensor.dtype]


def _is_view(node: Node, graph: Graph) -> bool:
    """The bytes of both are the same ones."""
    real = graph[node.output if node.op == "Dequantise" else node.inputs[0]]
    return integers_of(node) == real.storage


def _view(node: Node, graph: Graph, target: Target) -> Layer:
    """A copy of bytes, and none where the planner lays one into the other."""
    x, y = graph[node.inputs[0]], graph[node.output]
    return Layer(
        node=node,
        algorithm="view",
        template="ops/byte_copy.c.j2",
        params={"bytes": y.elements},
        args=(
            Arg(ArgKind.INPUT, "in", x.name, _c_type(x)),
            Arg(ArgKind.OUTPUT, "out", y.name, _c_type(y)),
        ),
        headers=(),
        work=copying(node, graph, target),
        aliases=(Alias(x.name, inner=y.name, outer=x.name, exact=True),),
        free_if_aliased=True,
    )
