"""Normalisations by statistics of the data itself, as ONNX defines them.

The variance is the mean of the squared deviations, in two passes.  ONNX's own decompositions have
E[x^2] - E[x]^2, whose terms cancel where the mean is large against the deviation.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass

from edgeconv.ir.graph import Node
from edgeconv.ir.layout import Shape
from edgeconv.kernels.ops.base import ImportContext, Source
from edgeconv.kernels.ops.formula import Formula, Term
from edgeconv.kernels.ops.importing import axes_of, axis_of, broadcast, ints

# What MeanVarianceNormalization adds to the standard deviation.
_DEVIATION_EPSILON = 1e-9


@dataclass(frozen=True, slots=True)
class Standardised:
    """``numbers`` = (x - ``mean``) / ``deviation``; the latter two have size 1 along the axes."""

    mean: Term
    deviation: Term
    numbers: Term


def centred_by(x: Term, axes: Shape) -> tuple[Term, Term, Term]:
    """x - mean, the mean over ``axes`` itself, and the variance."""
    mean = x.reduce("mean", axes)
    centred = x - mean
    return centred, mean, (centred * centred).reduce("mean", axes, suffix="var")


def standardised(x: Term, axes: Shape) -> Standardised:
    """(x - mean) / sqrt(var + epsilon), statistics over ``axes``, epsilon the source's."""
    centred, mean, var = centred_by(x, axes)
    deviation = (var + x.formula.source.attrs["epsilon"]).apply("sqrt")
    return Standardised(mean, deviation, centred / deviation)


def import_layer_normalization(source: Source, ctx: ImportContext) -> Sequence[Node]:
    """y = standardised(x) * Scale + B from ``axis`` on; Mean and InvStdDev if read."""
    formula = Formula(source, ctx)
    x, scale, *bias = formula.inputs()
    axes = tuple(range(axis_of(source, ctx, source.attrs["axis"], len(x.shape)), len(x.shape)))
    for each in (scale, *bias):
        if (found := broadcast(source, ctx, x.shape, each.shape)) != x.shape:
            rule = f"Scale and B broadcast to X: the operator's is {list(x.shape)}"
            raise ctx.reject(source, f"a result {list(found)}", rule)
    made = standardised(x, axes)
    y, mean, inverse = (*source.outputs, "", "")[:3]
    if mean:
        node = Node(f"{source.name}/Mean", "Identity", (made.mean.name,), (mean,))
        formula.nodes.append(node)
    if inverse:
        reciprocal = made.deviation.apply("reciprocal").name
        node = Node(f"{source.name}/InvStdDev", "Identity", (reciprocal,), (inverse,))
        formula.nodes.append(node)
    if not y:
        return formula.nodes
    scaled = made.numbers * scale
    return formula.finish(scaled + bias[0] if bias else scaled)


def import_group_normalization(source: Source, ctx: ImportContext) -> Sequence[Node]:
    """y = standardised(x) * scale + bias, statistics per image and group of channels."""
    formula = Formula(source, ctx)
    x, scale, bias = formula.inputs()
    shape, groups = x.shape, int(source.attrs["num_groups"])
    if len(shape) < 2 or groups < 1 or shape[1] % groups:
        got = f"input {list(shape)}, num_groups {groups}"
        raise ctx.reject(source, got, "num_groups divides the channels of an [N, C, ...] input")
    for term in (scale, bias):
        if term.shape != shape[1:2]:
            got = f"{term.name} {list(term.shape)}"
            raise ctx.reject(source, got, f"scale and bias are [{shape[1]}]")
    elements = ctx.tensor(x.name).size // (shape[0] * groups)
    unit = standardised(x.reshape(shape[0], groups, elements), (2,)).numbers.reshape(*shape)
    column = (shape[1], *(1 for _ in shape[2:]))
    return formula.finish(unit * scale.reshape(*column) + bias.reshape(*column))


def import_mean_variance_normalization(source: Source, ctx: ImportContext) -> Sequence[Node]:
    """y = (x - mean) / (sqrt(var) + 1e-9), statistics over ``axes``."""
    formula = Formula(source, ctx)
    (x,) = formula.inputs()
    axes = axes_of(source, ctx, ints(source.attrs["axes"]), len(x.shape))
    centred, _, var = centred_by(x, tuple(sorted(axes)))
    return formula.finish(centred / (var.apply("sqrt") + _DEVIATION_EPSILON))
