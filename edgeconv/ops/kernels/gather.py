"""Constant indices along one axis."""

from __future__ import annotations

import math

import numpy as np
import numpy.typing as npt

from edgeconv.ir.choice import Arg, Blob, Layer
from edgeconv.ir.graph import Graph, Node
from edgeconv.lowering.calls import output_arg, read_arg, storage_of
from edgeconv.lowering.options import row_major_only as layouts
from edgeconv.lowering.work import copying
from edgeconv.ops.kernels.moves import Move, move_layer, plan_move, table_arg
from edgeconv.ops.kernels.nest import dense_strides
from edgeconv.targets import Target

__all__ = ["layouts", "lower"]


def _regular(index: npt.NDArray[np.int32], outer: int, size: int, inner: int) -> Move | None:
    """The move, when the indices are an arithmetic progression."""
    steps = np.unique(np.diff(index))
    if index.size == 0 or steps.size > 1:
        return None
    step = int(steps[0]) if steps.size else 0
    return plan_move(
        (outer, index.size, inner),
        (size * inner, step * inner, 1),
        dense_strides((outer, index.size, inner)),
        int(index[0]) * inner,
    )


def lower(node: Node, graph: Graph, target: Target) -> Layer:
    """A strided copy for regular indices, a table of indices otherwise."""
    shape, axis = graph[node.inputs[0]].shape, int(node.attrs["axis"])
    outer, size, inner = math.prod(shape[:axis]), shape[axis], math.prod(shape[axis + 1 :])
    given = graph[node.inputs[1]].constant().reshape(-1).astype(np.int64)
    index = np.where(given < 0, given + size, given).astype(np.int32)
    move = _regular(index, outer, size, inner)
    if move is not None:
        return move_layer(node, graph, target, move)
    blobs: list[Blob] = []
    source: Arg = read_arg(graph, node.inputs[0], "in", blobs)
    blobs.append(Blob("index", index.size, lambda: index, dtype="int32"))
    return Layer(
        node=node,
        algorithm="gather",
        template="ops/gather.c.j2",
        params={
            "outer": outer,
            "size": size,
            "count": index.size,
            "inner": inner,
            **storage_of(graph, **{"in": node.inputs[0]}, out=node.output),
        },
        args=(source, table_arg("index"), output_arg(node, graph)),
        headers=("ec_lanes.h", "ec_copy.h", "ec_gather.h"),
        work=copying(node, graph, target, blobs),
        blobs=tuple(blobs),
    )
