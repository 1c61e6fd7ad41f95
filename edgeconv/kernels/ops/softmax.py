"""Softmax and its logarithm over one axis."""

from __future__ import annotations

import math
from collections.abc import Sequence

from edgeconv.ir.choice import Layer
from edgeconv.ir.graph import Graph, Node
from edgeconv.kernels.lowering.calls import FLOAT_BYTES, in_place, kernel_layer
from edgeconv.kernels.lowering.integers import with_integers
from edgeconv.kernels.lowering.options import LayoutOption, Stored, row_major_only
from edgeconv.kernels.lowering.work import Call
from edgeconv.kernels.ops import int8_softmax, int16_softmax
from edgeconv.kernels.ops.base import ImportContext, Importer, Operator, Source
from edgeconv.kernels.ops.formula import Formula
from edgeconv.kernels.ops.importing import axis_of, make_node
from edgeconv.target.targets import Target

SOFTMAX = "Softmax"  # the operator of the IR
# Slots by counting in the kernel: exponential, maximum, sum and product of a vector; of a row, two
# reductions across lanes and a division, each waiting for the one before.
_VECTOR, _ROW = 30, 300


def _importer(log: bool) -> Importer:
    def importer(source: Source, ctx: ImportContext) -> Sequence[Node]:
        shape = ctx.tensor(source.inputs[0]).shape
        axis = axis_of(source, ctx, source.attrs["axis"], len(shape))
        if source.version >= 13:
            return [make_node(source, SOFTMAX, axis=axis, log=log)]
        # Before opset 13 everything from ``axis`` on is normalised together.
        together = [i for i in range(axis, len(shape)) if shape[i] > 1]
        if len(together) == 1 or (not together and axis < len(shape)):
            return [make_node(source, SOFTMAX, axis=[*together, axis][0], log=log)]
        formula = Formula(source, ctx)
        (x,) = formula.inputs()
        flat = x.reshape(math.prod(shape[:axis]), math.prod(shape[axis:]))
        return formula.finish(formula.add(SOFTMAX, (flat,), flat.shape, axis=1, log=log))

    return importer


def layouts(node: Node, graph: Graph, target: Target) -> Sequence[LayoutOption]:
    """Row-major; those of the kernels of int8 and int16 too."""
    whole = (*int8_softmax.layouts(node, graph), *int16_softmax.layouts(node, graph))
    return with_integers(node, row_major_only(node, graph, target), whole)


def lower(node: Node, graph: Graph, target: Target) -> Layer:
    """Vectors along the axis where it is innermost, across it elsewhere."""
    if node.request.integers and (short := int16_softmax.form_of(node, graph)):
        return int16_softmax.lower(short, node, graph, target)
    if node.request.integers:
        return int8_softmax.lower(node, graph, target)
    shape, axis = graph[node.output].shape, int(node.attrs["axis"])
    rows, call = math.prod(shape[:axis]), Call(node, graph, target)
    vectors = rows * -(-math.prod(shape[axis:]) // target.lanes)
    log, n, inner = bool(node.attrs.get("log")), shape[axis], math.prod(shape[axis + 1 :])
    held = target.lanes == 1 and inner == 1 and not log
    held &= n * FLOAT_BYTES <= node.request.workspace.most
    return kernel_layer(
        call,
        "log_softmax" if log else "softmax_held" if held else "softmax",
        "ops/softmax.c.j2",
        operands={"x": node.inputs[0]},
        params={
            "outer": rows,
            "n": n,
            "inner": inner,
            "log": log,
            "held": held,
        },
        headers=("ec_softmax.h",),
        functions=("ec_poly.h", "ec_exp.h", *(("ec_log.h",) if log else ()), "ec_lanes.h"),
        workspace_bytes=n * FLOAT_BYTES if held else 0,
        work=call.streams(_VECTOR * vectors + _ROW * rows, times=2.0),
        aliases=in_place(node, graph, (node.inputs[0], node.epilogue.residual)),
    )


OPERATOR = Operator(
    name=SOFTMAX,
    onnx={"Softmax": _importer(log=False), "LogSoftmax": _importer(log=True)},
    lower=lower,
    layouts=layouts,
    fuses=True,
    stored=Stored.BOTH,
)
