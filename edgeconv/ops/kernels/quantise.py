"""Quantise and Dequantise: one loop over channels of equal scale.

Where the real numbers are stored as the integers that they stand for, both are a view.
"""

from __future__ import annotations

import math

import numpy as np

from edgeconv.ir.choice import Alias, Arg, ArgKind, Blob, Layer, Number, Param
from edgeconv.ir.graph import Graph, Node, Tensor
from edgeconv.ir.grids import stored_grid
from edgeconv.ir.quantisation import Scaling
from edgeconv.ops.lowering import C_TYPES, FLOAT32, storage_of
from edgeconv.ops.work import copying, elementwise
from edgeconv.targets import Target


def lower(node: Node, graph: Graph, target: Target) -> Layer:
    """The tensor as outer x channels x inner elements, row-major."""
    if _is_view(node, graph):
        return _view(node, graph, target)
    scaling, x, y = Scaling.of(node), graph[node.inputs[0]], graph[node.output]
    quantises = node.op == "Quantise"
    axis = scaling.axis
    per_axis = not scaling.is_per_tensor
    outer = math.prod(x.shape[:axis]) if per_axis else 1
    channels = len(scaling.scale)
    blobs: tuple[Blob, ...] = ()
    if per_axis:
        numbers = np.array([scaling.scale, scaling.zero], np.float32)
        blobs = (Blob("scaling", 2 * channels, lambda: numbers.reshape(-1)),)
    return Layer(
        node=node,
        algorithm="quantise" if quantises else "dequantise",
        template="ops/quantise.c.j2",
        params={
            "quantises": quantises,
            "per_axis": per_axis,
            **({} if per_axis else _scaling(scaling)),
            "low": float(scaling.low),
            "high": float(scaling.high),
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


def _scaling(scaling: Scaling) -> dict[str, Param]:
    """That of a whole tensor."""
    return {"scale": Number(scaling.scale[0]), "zero": Number(float(scaling.zero[0]))}


def _c_type(tensor: Tensor) -> str:
    stored = tensor.dtype == FLOAT32 and tensor.storage != FLOAT32
    return "unsigned char" if stored else C_TYPES[tensor.dtype]


def _ends(node: Node, graph: Graph) -> tuple[Tensor, Tensor]:
    """The integers and the real numbers."""
    ends = graph[node.inputs[0]], graph[node.output]
    return (ends[1], ends[0]) if node.op == "Quantise" else ends


def _is_view(node: Node, graph: Graph) -> bool:
    """The bytes of both are the same ones."""
    integers, real = _ends(node, graph)
    scaling = Scaling.of(node)
    if integers.dtype != "int8" or not scaling.is_per_tensor:
        return False
    grid = stored_grid(scaling.grid())
    return grid is not None and grid.name == real.storage


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
