"""Padding of any dimension; negative padding crops."""

from __future__ import annotations

from collections.abc import Sequence

from edgeconv.ir.graph import Node
from edgeconv.ir.layout import Shape
from edgeconv.lowering.options import Stored
from edgeconv.ops.base import ImportContext, Operator, Source
from edgeconv.ops.importing import (
    Chain,
    attribute_or_input,
    axes_of,
    constant_input,
    ints,
    single_number,
)
from edgeconv.ops.kernels.pad import layouts, lower


def _pads(source: Source, ctx: ImportContext) -> Shape:
    """All begins, then all ends, for every dimension."""
    rank = len(ctx.tensor(source.inputs[0]).shape)
    given = attribute_or_input(source, ctx, "pads", 1)
    assert given is not None
    chosen = constant_input(source, ctx, 3, "axes")
    axes = axes_of(source, ctx, range(rank) if chosen is None else ints(chosen), rank)
    if given.size != 2 * len(axes):
        rule = f"a begin and an end are needed for each of {len(axes)} axes"
        raise ctx.reject(source, f"pads {list(ints(given))}", rule)
    pads = [0] * (2 * rank)
    for position, axis in enumerate(axes):
        pads[axis], pads[rank + axis] = int(given[position]), int(given[len(axes) + position])
    return tuple(pads)


def _import_pad(source: Source, ctx: ImportContext) -> Sequence[Node]:
    mode = source.attrs["mode"]
    if source.version < 11:
        value = float(source.attrs["value"])
    else:
        constant = constant_input(source, ctx, 2, "constant_value")
        value = 0.0
        if constant is not None and constant.size:
            value = single_number(source, ctx, constant, "constant_value")
    chain, x, pads = Chain(source, ctx), source.inputs[0], _pads(source, ctx)
    shape = ctx.tensor(x).shape
    rank = len(shape)
    grown = tuple(max(0, pad) for pad in pads)
    if min(pads, default=0) < 0:
        starts = tuple(max(0, -pad) for pad in pads[:rank])
        ends = tuple(max(0, -pad) for pad in pads[rank:])
        shape = tuple(size - s - e for size, s, e in zip(shape, starts, ends, strict=True))
        ones = (1,) * rank
        if min(shape) < 1:
            got = f"pads {list(pads)} of input {list(ctx.tensor(x).shape)}"
            raise ctx.reject(source, got, "cropping must leave an element")
        if not any(grown):
            return chain.finish("Slice", (x,), starts=starts, steps=ones)
        x = chain.add("crop", "Slice", (x,), shape, starts=starts, steps=ones)
    if not any(grown):
        return chain.finish("Identity", (x,))
    if mode in ("reflect", "wrap"):
        limits = tuple(size - (mode == "reflect") for size in shape) * 2
        if any(pad > limit for pad, limit in zip(grown, limits, strict=True)):
            got = f"pads {list(pads)} of input {list(shape)}"
            raise ctx.reject(source, got, f"mode {mode} cannot pad by more than the dimension")
    return chain.finish("Pad", (x,), pads=grown, mode=mode, value=value)


OPERATOR = Operator(
    name="Pad",
    onnx={"Pad": _import_pad},
    lower=lower,
    layouts=layouts,
    stored=Stored.BOTH,
)
