"""Scale and shift per channel (axis 1), and the normalisations that end in it."""

from __future__ import annotations

import math
from collections.abc import Sequence

import numpy as np

from edgeconv.ir.choice import Layer, Param
from edgeconv.ir.graph import Graph, Node
from edgeconv.ir.layout import Layout, Order, Shape
from edgeconv.kernels.lowering.calls import constant_blob, in_place, kernel_layer
from edgeconv.kernels.lowering.images import pixels, same_everywhere
from edgeconv.kernels.lowering.nest import is_blocked
from edgeconv.kernels.lowering.options import Stored
from edgeconv.kernels.lowering.work import Call
from edgeconv.kernels.ops.base import ImportContext, Operator, Source
from edgeconv.kernels.ops.formula import Formula, Term
from edgeconv.kernels.ops.importing import Values, constant_input, with_channels
from edgeconv.kernels.ops.normalising import (
    centred_by,
    import_group_normalization,
    import_layer_normalization,
    import_mean_variance_normalization,
    standardised,
)
from edgeconv.target.targets import Target


def _parameters(source: Source, ctx: ImportContext, names: Sequence[str]) -> list[Values]:
    """The constant inputs after the data in float64, each of one value per channel."""
    shape = with_channels(source, ctx)
    found: list[Values] = []
    for index, name in enumerate(names, start=1):
        value = constant_input(source, ctx, index, name)
        if value is None or value.shape != (shape[1],):
            got = "none" if value is None else str(list(value.shape))
            raise ctx.reject(source, f"{name} {got}", f"{name} must be [{shape[1]}]")
        found.append(value.astype(np.float64))
    return found


def _import_batch_normalization(source: Source, ctx: ImportContext) -> Sequence[Node]:
    """y = (x - mean) / sqrt(var + epsilon) * scale + B with stored statistics.

    With those of the batch only where those that move are outputs: a model exported in training by
    mistake has them, and nothing reads them."""
    if source.attrs.get("training_mode", 0) and any(source.outputs[1:]):
        return _in_training(source, ctx)
    if source.attrs.get("training_mode", 0) or any(source.outputs[1:]):
        got = f"training_mode with outputs {[name for name in source.outputs if name]}"
        raise ctx.reject(source, got, "only inference is compiled", "export the model in eval mode")
    if not source.attrs.get("spatial", 1):
        raise ctx.reject(source, "spatial 0", "statistics must be per channel (spatial 1)")
    if any(ctx.constant(name) is None for name in source.inputs[1:]):
        return _by_run_time(source, ctx)
    scale, bias, mean, var = _parameters(source, ctx, ("scale", "B", "mean", "var"))
    factor = scale / np.sqrt(var + float(source.attrs["epsilon"]))
    return _affine(Formula(source, ctx).inputs()[0], factor, bias - mean * factor)


def _import_instance_normalization(source: Source, ctx: ImportContext) -> Sequence[Node]:
    """y = (x - mean(x)) / sqrt(var(x) + epsilon) * scale + B, statistics per image and channel."""
    formula = Formula(source, ctx)
    x, *given = formula.inputs()
    unit = standardised(x, tuple(range(2, len(x.shape)))).numbers
    if any(ctx.constant(name) is None for name in source.inputs[1:]):
        factor, shift = _columns(x, given)
        return formula.finish(unit * factor + shift)
    scale, bias = _parameters(source, ctx, ("scale", "B"))
    return _affine(unit, scale, bias)


def _by_run_time(source: Source, ctx: ImportContext) -> Sequence[Node]:
    """BatchNormalization by statistics or factors that the model computes."""
    formula = Formula(source, ctx)
    x, *given = formula.inputs()
    scale, bias, mean, var = _columns(x, given)
    deviation = (var + float(source.attrs["epsilon"])).apply("sqrt")
    return formula.finish((x - mean) / deviation * scale + bias)


def _in_training(source: Source, ctx: ImportContext) -> Sequence[Node]:
    """Statistics of the batch; the stored ones, which are outputs, go 1 - momentum towards them."""
    formula = Formula(source, ctx)
    x, *given = formula.inputs()
    scale, bias, *_ = _columns(x, given)
    centred, *statistics = centred_by(x, (0, *range(2, len(x.shape))))
    momentum = float(source.attrs["momentum"])
    for old, new, output in zip(given[2:], statistics, source.outputs[1:], strict=True):
        moved = old * momentum + new.reshape(x.shape[1]) * (1 - momentum)
        if output:
            formula.nodes.append(Node(f"{output}/moved", "Identity", (moved.name,), (output,)))
    if not source.outputs[0]:
        return formula.nodes
    deviation = (statistics[1] + float(source.attrs["epsilon"])).apply("sqrt")
    return formula.finish(centred / deviation * scale + bias)


def _columns(x: Term, given: Sequence[Term]) -> list[Term]:
    """Vectors of one number per channel, to be broadcast."""
    source, ctx = x.formula.source, x.formula.ctx
    with_channels(source, ctx)
    for term in given:
        if term.shape != x.shape[1:2]:
            got = f"{term.name} {list(term.shape)}"
            raise ctx.reject(source, got, f"it is [{x.shape[1]}], one number per channel")
    column = (x.shape[1], *(1 for _ in x.shape[2:]))
    return [term.reshape(*column) for term in given]


def _affine(x: Term, scale: Values, shift: Values) -> list[Node]:
    """The nodes of x * scale + shift, both constants of one value per channel."""
    formula = x.formula
    constants = (formula.constant(scale, "scale"), formula.constant(shift, "shift"))
    return formula.finish(formula.add("Affine", (x, *constants), x.shape))


def _loops(shape: Shape, layout: Layout) -> dict[str, Param]:
    """Which loop nest of ec_affine.h, and its sizes."""
    if layout.order is Order.ROW_MAJOR and pixels(shape) > 1:
        return {"rows": True, "sizes": (shape[0], shape[1], pixels(shape))}
    n, count = shape[0], pixels(shape)
    if is_blocked(layout):
        blocks = math.ceil(shape[1] / layout.block)
        return {"rows": False, "sizes": (n, blocks, count, layout.block)}
    return {"rows": False, "sizes": (1, 1, n * count, shape[1])}


def lower(node: Node, graph: Graph, target: Target) -> Layer:
    """The channel vectors are padded like the tensor's channels."""
    x, out = graph[node.inputs[0]], graph[node.output]
    call = Call(node, graph, target)
    channels = (1, x.shape[1], 1)  # packed like a tensor of one pixel
    scale, shift = (
        constant_blob(c_name, graph[name].constant().reshape(channels), out.layout)
        for c_name, name in zip(("scale", "shift"), node.inputs[1:3], strict=True)
    )
    return kernel_layer(
        call,
        "elementwise",
        "ops/affine.c.j2",
        operands={"x": x.name, "scale": scale, "shift": shift},
        params=_loops(x.shape, out.layout),
        headers=("ec_affine.h",),
        work=call.elementwise("affine"),
        aliases=in_place(node, graph, (x.name, node.epilogue.residual)),
    )


OPERATOR = Operator(
    name="Affine",
    onnx={
        "BatchNormalization": _import_batch_normalization,
        "InstanceNormalization": _import_instance_normalization,
        "LayerNormalization": import_layer_normalization,
        "GroupNormalization": import_group_normalization,
        "MeanVarianceNormalization": import_mean_variance_normalization,
    },
    lower=lower,
    layouts=same_everywhere,
    fuses=True,
    stored=Stored.BOTH,
)
