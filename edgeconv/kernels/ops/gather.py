"""Selection of slices along one axis by constant indices."""

from __future__ import annotations

import math
from collections.abc import Sequence

import numpy as np
import numpy.typing as npt

from edgeconv.ir.choice import Blob, Layer
from edgeconv.ir.element_types import FLOAT32
from edgeconv.ir.graph import Graph, Node
from edgeconv.kernels.lowering.calls import kernel_layer
from edgeconv.kernels.lowering.moves import Move, move_layer, plan_move
from edgeconv.kernels.lowering.nest import dense_strides
from edgeconv.kernels.lowering.options import Stored
from edgeconv.kernels.lowering.work import Call
from edgeconv.kernels.ops.base import ImportContext, Operator, Source
from edgeconv.kernels.ops.importing import axis_of, make_node
from edgeconv.target.targets import Target


def _import_gather(source: Source, ctx: ImportContext) -> Sequence[Node]:
    data, given = source.inputs
    shape = ctx.tensor(data).shape
    axis = axis_of(source, ctx, source.attrs["axis"], len(shape))
    known = ctx.constant(given)
    if known is None:
        return [make_node(source, "Pick", axis=axis)]
    indices = known.astype(np.int64)
    if indices.size and not -shape[axis] <= indices.min() <= indices.max() < shape[axis]:
        got = f"indices from {indices.min()} to {indices.max()}"
        raise ctx.reject(source, got, f"axis {axis} has {shape[axis]} elements")
    counted = np.where(indices < 0, indices + shape[axis], indices)
    chosen = ctx.add_constant(f"{given}/{source.name}", counted)
    return [make_node(source, "Gather", (data, chosen), axis=axis)]


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
    call = Call(node, graph, target)
    table = Blob("index", index.size, lambda: index, dtype="int32")
    plain = graph[node.output].dtype != FLOAT32
    return kernel_layer(
        call,
        "gather",
        "ops/gather_elements_by_table.c.j2" if plain else "ops/gather.c.j2",
        operands={"in": node.inputs[0], "index": table},
        params={
            "outer": outer,
            "size": size,
            "count": index.size,
            "inner": inner,
            **({"bytes": graph[node.output].element_bytes} if plain else {}),
        },
        headers=("ec_nest.h", "ec_move_elements.h")
        if plain
        else ("ec_lanes.h", "ec_copy.h", "ec_gather.h"),
        work=call.streams(),
        epilogue=False,
    )


OPERATOR = Operator(name="Gather", onnx={"Gather": _import_gather}, lower=lower, stored=Stored.BOTH)
