"""Normalisations by statistics of the data itself, as ONNX defines them.

The variance is the mean of the squared deviations, in two passes.  ONNX's own decompositions have
E[x^2] - E[x]^2, whose terms cancel where the mean is large against the deviation.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass

from edgeconv.ir.activation import Activation
from edgeconv.ir.graph import Node
from edgeconv.ir.layout import Shape
from edgeconv.ops.base import ImportContext, Source
from edgeconv.ops.importing import Chain, axes_of, axis_of, ints, optional_input

# What MeanVarianceNormalization adds to the standard deviation.
_DEVIATION_EPSILON = 1e-9


@dataclass(frozen=True, slots=True)
class Deviations:
    """Names of what a chain has computed: ``centred`` is x - mean(x), of the shape of x; ``mean``
    and ``var``, the mean of its squares, are of the shape ``small``: 1 along the reduced axes."""

    mean: str
    centred: str
    var: str
    small: Shape


def deviations(chain: Chain, x: str, axes: Shape) -> Deviations:
    """Append what deviates from the mean over ``axes``, and the mean of its squares."""
    shape = chain.ctx.tensor(x).shape
    small = tuple(1 if axis in axes else size for axis, size in enumerate(shape))
    mean = chain.add("mean", "Reduce", (x,), small, kind="mean", axes=axes, keepdims=True)
    centred = chain.add("centred", "Binary", (x, mean), shape, kind="sub")
    squares = chain.add("squares", "Binary", (centred, centred), shape, kind="mul")
    var = chain.add("var", "Reduce", (squares,), small, kind="mean", axes=axes, keepdims=True)
    return Deviations(mean, centred, var, small)


def standardised(chain: Chain, x: str, axes: Shape) -> tuple[str, Deviations, str]:
    """Append (x - mean) / sqrt(var + epsilon), statistics over ``axes``, epsilon the source's.

    Returns its name, what it was made of, and the name of the divisor.
    """
    shape = chain.ctx.tensor(x).shape
    found = deviations(chain, x, axes)
    epsilon = chain.constant("epsilon", float(chain.source.attrs["epsilon"]))
    safe = chain.add("safe", "Binary", (found.var, epsilon), found.small, kind="add")
    deviation = chain.unary("deviation", Activation("sqrt"), safe)
    unit = chain.add("unit", "Binary", (found.centred, deviation), shape, kind="div")
    return unit, found, deviation


def import_layer_normalization(source: Source, ctx: ImportContext) -> Sequence[Node]:
    """y = standardised(x) * Scale + B from ``axis`` on; Mean and InvStdDev if read."""
    chain, x = Chain(source, ctx), source.inputs[0]
    shape = ctx.tensor(x).shape
    axes = tuple(range(axis_of(source, ctx, source.attrs["axis"], len(shape)), len(shape)))
    unit, found, deviation = standardised(chain, x, axes)
    _, mean, inverse = (*source.outputs, "", "")[:3]
    if mean:
        chain.nodes.append(Node(f"{source.name}/Mean", "Identity", (found.mean,), (mean,)))
    if inverse:
        reciprocal = chain.unary("inverse", Activation("reciprocal"), deviation)
        chain.nodes.append(Node(f"{source.name}/InvStdDev", "Identity", (reciprocal,), (inverse,)))
    bias = optional_input(source, 2)
    if not bias:
        return chain.finish("Binary", (unit, source.inputs[1]), kind="mul")
    scaled = chain.add("scaled", "Binary", (unit, source.inputs[1]), shape, kind="mul")
    return chain.finish("Binary", (scaled, bias), kind="add")


def import_group_normalization(source: Source, ctx: ImportContext) -> Sequence[Node]:
    """y = standardised(x) * scale + bias, statistics per image and group of channels."""
    chain, (x, scale, bias) = Chain(source, ctx), source.inputs
    shape, groups = ctx.tensor(x).shape, int(source.attrs["num_groups"])
    if len(shape) < 2 or groups < 1 or shape[1] % groups:
        got = f"input {list(shape)}, num_groups {groups}"
        raise ctx.reject(source, got, "num_groups divides the channels of an [N, C, ...] input")
    for name in (scale, bias):
        if ctx.tensor(name).shape != shape[1:2]:
            got = f"{name} {list(ctx.tensor(name).shape)}"
            raise ctx.reject(source, got, f"scale and bias are [{shape[1]}]")
    elements = ctx.tensor(x).size // (shape[0] * groups)
    grouped = chain.add("groups", "Reshape", (x,), (shape[0], groups, elements))
    unit, _, _ = standardised(chain, grouped, (2,))
    whole = chain.add("whole", "Reshape", (unit,), shape)
    column = (shape[1], *(1 for _ in shape[2:]))
    factor = chain.add("scale", "Reshape", (scale,), column)
    shift = chain.add("shift", "Reshape", (bias,), column)
    scaled = chain.add("scaled", "Binary", (whole, factor), shape, kind="mul")
    return chain.finish("Binary", (scaled, shift), kind="add")


def import_mean_variance_normalization(source: Source, ctx: ImportContext) -> Sequence[Node]:
    """y = (x - mean) / (sqrt(var) + 1e-9), statistics over ``axes``."""
    chain, x = Chain(source, ctx), source.inputs[0]
    rank = len(ctx.tensor(x).shape)
    axes = tuple(sorted(axes_of(source, ctx, ints(source.attrs["axes"]), rank)))
    found = deviations(chain, x, axes)
    deviation = chain.unary("deviation", Activation("sqrt"), found.var)
    epsilon = chain.constant("epsilon", _DEVIATION_EPSILON)
    safe = chain.add("safe", "Binary", (deviation, epsilon), found.small, kind="add")
    return chain.finish("Binary", (found.centred, safe), kind="div")
