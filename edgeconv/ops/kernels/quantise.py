"""Quantise and Dequantise: one loop over channels of equal scale."""

from __future__ import annotations

import math

import numpy as np

from edgeconv.ir.choice import Arg, ArgKind, Blob, Layer
from edgeconv.ir.graph import Graph, Node
from edgeconv.ir.quantisation import Scaling
from edgeconv.ops.lowering import C_TYPES
from edgeconv.targets import Target


def lower(node: Node, graph: Graph, target: Target) -> Layer:
    """The tensor as outer x channels x inner elements, row-major."""
    del target
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
            "scale": scaling.scale[0],
            "zero": float(scaling.zero[0]),
            "low": float(scaling.low),
            "high": float(scaling.high),
            "outer": outer,
            "channels": channels,
            "inner": math.prod(x.shape) // (outer * channels),
            "integer": C_TYPES[(y if quantises else x).dtype],
        },
        args=(
            Arg(ArgKind.INPUT, "x", x.name, C_TYPES[x.dtype]),
            *(Arg(ArgKind.WEIGHTS, "scaling", blob.name) for blob in blobs),
            Arg(ArgKind.OUTPUT, "out", y.name, C_TYPES[y.dtype]),
        ),
        headers=("ec_lanes.h", "ec_quantise.h"),
        blobs=blobs,
    )
