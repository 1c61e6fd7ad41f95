"""QuantizeLinear and DequantizeLinear by numbers that a model computes, or has in blocks: they are
arithmetic on real numbers, between integers as they are."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import replace

import numpy as np

from edgeconv.ir.encoding import integers
from edgeconv.ir.graph import Node, Tensor
from edgeconv.kernels.ops.base import ImportContext, Source
from edgeconv.kernels.ops.elementwise import COPY, elementwise
from edgeconv.kernels.ops.formula import Formula, Term
from edgeconv.kernels.ops.importing import axis_of, optional_input

_REAL = Tensor("", ())
_SUFFIX = "numbers"  # of the real numbers that integers stand for
_BYTES = frozenset({"int8", "uint8", "int16", "uint16", "int32"})


def scaled_at_run_time(source: Source, ctx: ImportContext, whole: Tensor) -> bool:
    """Whether scale or zero point is no constant, or there is one per block; or what is quantised
    is no integer of whole bytes, as small floats are none, which are float32 here."""
    names = [source.inputs[1], optional_input(source, 2)]
    computed = any(name and ctx.constant(name) is None for name in names)
    return computed or bool(source.attrs.get("block_size")) or whole.dtype not in _BYTES


def quantised_by(source: Source, ctx: ImportContext) -> Sequence[Node]:
    """saturate(round(x / scale) + zero point)."""
    formula, x = _formula(source, ctx)
    scale, zero = _scaling(source, formula, x)
    steps, dtype = x / scale, ctx.tensor(source.outputs[0]).dtype
    if dtype == _REAL.dtype:  # which becomes a small float
        return formula.finish(steps if zero is None else steps + zero)
    steps = steps.apply("round")
    whole, encoding = steps if zero is None else steps + zero, integers(dtype)
    if dtype in _BYTES:
        return formula.finish(formula.add("Quantise", (whole,), x.shape, encoding=encoding))
    bounded = whole.apply("clip", float(encoding.low), float(encoding.high))
    return formula.finish(elementwise(formula, COPY, (bounded,), dtype))


def dequantised_by(source: Source, ctx: ImportContext) -> Sequence[Node]:
    """(x - zero point) * scale."""
    formula, x = _formula(source, ctx)
    scale, zero = _scaling(source, formula, x)
    steps = x if zero is None else x - zero
    value = ctx.constant(source.inputs[1])
    if value is not None and (value == 1).all():
        return formula.finish(steps)
    return formula.finish(steps * scale)


def _formula(source: Source, ctx: ImportContext) -> tuple[Formula, Term]:
    """The formula of real numbers, the first input as those."""
    name = source.inputs[0]
    formula = Formula(source, ctx)
    x = _real(formula, name)
    formula.source = replace(source, inputs=(x.name, *source.inputs[1:]))
    return formula, x


def _real(formula: Formula, name: str) -> Term:
    """Integers as real numbers of the same value; others as they are."""
    tensor, ctx = formula.ctx.tensor(name), formula.ctx
    if tensor.dtype == _REAL.dtype:
        return Term(formula, name)
    if tensor.data is not None:
        return Term(formula, ctx.add_constant(f"{name}/{_SUFFIX}", tensor.data.astype(np.float32)))
    if tensor.dtype not in _BYTES:
        return elementwise(formula, COPY, (name,), _REAL.dtype)
    output = ctx.add_tensor(f"{name}/{_SUFFIX}", tensor.shape, _REAL)
    node = f"{formula.source.name}/real{len(formula.nodes)}"
    encoding = {"encoding": integers(tensor.dtype)}
    formula.nodes.append(Node(node, "Dequantise", (name,), (output,), encoding))
    return Term(formula, output)


def _scaling(source: Source, formula: Formula, x: Term) -> tuple[Term, Term | None]:
    """Scale and zero point, of shapes that broadcast to that of ``x``."""
    ctx, zero = formula.ctx, optional_input(source, 2)
    alone = all(ctx.tensor(name).size == 1 for name in source.inputs[1:] if name)
    if zero and not alone and ctx.tensor(zero).shape != ctx.tensor(source.inputs[1]).shape:
        got = f"scale {list(ctx.tensor(source.inputs[1]).shape)}"
        got += f", zero point {list(ctx.tensor(zero).shape)}"
        raise ctx.reject(source, got, "both have the same shape")
    return _spread(source, formula, source.inputs[1], x), (
        _spread(source, formula, zero, x) if zero else None
    )


def _spread(source: Source, formula: Formula, name: str, x: Term) -> Term:
    given, block = formula.ctx.tensor(name), int(source.attrs.get("block_size") or 0)
    if block:
        return _blocks(source, formula, name, x, block)
    if given.size == 1:
        return _real(formula, name).reshape() if given.shape else _real(formula, name)
    axis = axis_of(source, formula.ctx, source.attrs.get("axis", 1), len(x.shape))
    if given.shape != (x.shape[axis],):
        got = f"scale {list(given.shape)} of input {list(x.shape)}"
        raise formula.ctx.reject(source, got, "one number, or one per index of the axis")
    along = (given.size if i == axis else 1 for i in range(len(x.shape)))
    return _real(formula, name).reshape(*along)


def _blocks(source: Source, formula: Formula, name: str, x: Term, block: int) -> Term:
    """One number per ``block`` neighbours along the axis."""
    ctx, value = formula.ctx, formula.ctx.constant(name)
    axis = axis_of(source, ctx, source.attrs.get("axis", 1), len(x.shape))
    shape = ctx.tensor(name).shape
    blocks = -(-x.shape[axis] // block) if block > 0 else 0
    wanted = (*x.shape[:axis], blocks, *x.shape[axis + 1 :])
    if shape != wanted:
        got = f"scale {list(shape)}, block_size {block}, input {list(x.shape)}"
        raise ctx.reject(source, got, f"scales of blocks are {list(wanted)} here")
    if value is None:
        return _repeated(_real(formula, name), axis, block, x.shape[axis])
    full = np.repeat(value.astype(np.float32), block, axis)
    return formula.constant(np.take(full, np.arange(x.shape[axis]), axis), name)


def _repeated(blocks: Term, axis: int, times: int, size: int) -> Term:
    """Each entry of the axis so many times, ``size`` in all."""
    before, behind = blocks.shape[:axis], blocks.shape[axis + 1 :]
    apart = blocks.reshape(*before, blocks.shape[axis], 1, *behind)
    spread = (*before, blocks.shape[axis], times, *behind)
    full = blocks.formula.add("Expand", (apart,), spread)
    whole = full.reshape(*before, blocks.shape[axis] * times, *behind)
    shape = (*before, size, *behind)
    if shape == whole.shape:
        return whole
    zeros, ones = (0,) * len(shape), (1,) * len(shape)
    return blocks.formula.add("Slice", (whole,), shape, starts=zeros, steps=ones)
