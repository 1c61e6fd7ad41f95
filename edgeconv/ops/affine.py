"""Scale and shift per channel (axis 1), and the normalisations that end in it."""

from __future__ import annotations

from collections.abc import Sequence

import numpy as np

from edgeconv.ir.graph import Node
from edgeconv.lowering.options import Stored
from edgeconv.ops.base import ImportContext, Operator, Source
from edgeconv.ops.importing import Chain, Values, constant_input
from edgeconv.ops.kernels.affine import layouts, lower
from edgeconv.ops.normalising import (
    import_group_normalization,
    import_layer_normalization,
    import_mean_variance_normalization,
    standardised,
)


def _parameters(source: Source, ctx: ImportContext, names: Sequence[str]) -> list[Values]:
    """The constant inputs after the data in float64, each of one value per channel."""
    shape = ctx.tensor(source.inputs[0]).shape
    if len(shape) < 2:
        raise ctx.reject(source, f"input {list(shape)}", "the data must be [N, C, ...]")
    found: list[Values] = []
    for index, name in enumerate(names, start=1):
        value = constant_input(source, ctx, index, name)
        if value is None or value.shape != (shape[1],):
            got = "none" if value is None else str(list(value.shape))
            raise ctx.reject(source, f"{name} {got}", f"{name} must be [{shape[1]}]")
        found.append(value.astype(np.float64))
    return found


def _import_batch_normalization(source: Source, ctx: ImportContext) -> Sequence[Node]:
    """y = (x - mean) / sqrt(var + epsilon) * scale + B with stored statistics."""
    if source.attrs.get("training_mode", 0) or any(source.outputs[1:]):
        got = f"training_mode with outputs {[name for name in source.outputs if name]}"
        raise ctx.reject(source, got, "only inference is compiled", "export the model in eval mode")
    if not source.attrs.get("spatial", 1):
        raise ctx.reject(source, "spatial 0", "statistics must be per channel (spatial 1)")
    scale, bias, mean, var = _parameters(source, ctx, ("scale", "B", "mean", "var"))
    factor = scale / np.sqrt(var + float(source.attrs["epsilon"]))
    chain = Chain(source, ctx)
    constants = (chain.constant("scale", factor), chain.constant("shift", bias - mean * factor))
    return chain.finish("Affine", (source.inputs[0], *constants))


def _import_instance_normalization(source: Source, ctx: ImportContext) -> Sequence[Node]:
    """y = (x - mean(x)) / sqrt(var(x) + epsilon) * scale + B, statistics per image and channel."""
    scale, bias = _parameters(source, ctx, ("scale", "B"))
    x = source.inputs[0]
    chain = Chain(source, ctx)
    unit, _, _ = standardised(chain, x, tuple(range(2, len(ctx.tensor(x).shape))))
    constants = (chain.constant("scale", scale), chain.constant("shift", bias))
    return chain.finish("Affine", (unit, *constants))


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
    layouts=layouts,
    fuses=True,
    stored=Stored.BOTH,
)
