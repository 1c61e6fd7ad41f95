"""Transposed convolution: one convolution whose filters are the phases of the transposed one.

With stride s, output i = q s + r of a dimension is the sum over j of x[q - j] w[j s + r]: for each
phase r a convolution with every s-th tap of the kernel, in reverse order.  All phases are filters
of one convolution with stride 1, which every algorithm computes; their results are interleaved
behind it, as by DepthToSpace (Shi et al., "Real-time single image and video super-resolution using
an efficient sub-pixel convolutional neural network", 2016).  A bias is that of every phase, and
filters that are integers remain the same integers: whatever a Conv can be fused with or computed
by, a transposed one can.
"""

from __future__ import annotations

import math
from collections.abc import Sequence
from dataclasses import dataclass
from typing import Any

import numpy as np

from edgeconv.base import limits
from edgeconv.ir.graph import Node
from edgeconv.ir.layout import Shape
from edgeconv.kernels.lowering.options import Stored
from edgeconv.kernels.ops.base import ImportContext, Operator, Source
from edgeconv.kernels.ops.conv import convolution
from edgeconv.kernels.ops.formula import Formula, Term
from edgeconv.kernels.ops.importing import Values, Window, ints, optional_input
from edgeconv.kernels.ops.run_time_filters import with_bias


@dataclass(frozen=True, slots=True)
class _Transposed:
    """The sizes of a transposed convolution.  ``kernel``: dilated.  ``taps``: of each phase.
    ``crop``: outputs left out at the begin.  ``out``: the shape of the output."""

    groups: int
    kernel: Shape
    strides: Shape
    dilations: Shape
    crop: Shape
    out: Shape

    @property
    def taps(self) -> Shape:
        return tuple(-(-k // s) for k, s in zip(self.kernel, self.strides, strict=True))


def _pixels(source: Source, ctx: ImportContext, sizes: Shape, full: Shape) -> Shape:
    """The size of the output, of whose ``full`` extent the rest is left out.

    SAME_UPPER and SAME_LOWER: the input's times the strides, or all that there is where that is
    less; what is added by output_padding is left out like the rest (the definition, and ONNX
    Runtime; onnx's shape inference adds it).
    """
    rank, auto_pad = len(full), source.attrs.get("auto_pad", "NOTSET")
    strides = ints(source.attrs.get("strides") or [1] * rank)
    if stated := source.attrs.get("output_shape"):
        if len(stated) != rank or min(stated) < 1:
            rule = f"{rank} positive entries are needed for {rank} spatial dimensions"
            raise ctx.reject(source, f"output_shape {list(stated)}", rule)
        reach = [n + stride - 1 for n, stride in zip(full, strides, strict=True)]
        if any(want > most for want, most in zip(stated, reach, strict=True)):
            got = f"output_shape {list(stated)}, kernels reach {list(full)}"
            raise ctx.reject(source, got, "less than a stride lies beyond them")
        return ints(stated)
    if auto_pad in ("SAME_UPPER", "SAME_LOWER"):
        wanted = (size * stride for size, stride in zip(sizes, strides, strict=True))
        return tuple(min(pair) for pair in zip(wanted, full, strict=True))
    pads = _pads(source, ctx, rank)
    each = zip(full, pads[:rank], pads[rank:], strict=True)
    return tuple(have - begin - end for have, begin, end in each)


def _pads(source: Source, ctx: ImportContext, rank: int) -> Shape:
    """Outputs left out at the begin of every dimension, then those at the end, where they are
    stated."""
    pads = ints(source.attrs.get("pads") or [0] * (2 * rank))
    if len(pads) != 2 * rank or min(pads) < 0:
        rule = f"{2 * rank} entries are needed, none of them negative"
        raise ctx.reject(source, f"pads {list(pads)}", rule)
    return (0,) * (2 * rank) if source.attrs.get("auto_pad") == "VALID" else pads


def _crop(source: Source, ctx: ImportContext, full: Shape, out: Shape) -> Shape:
    """Outputs left out at the begin of each dimension, of ``full`` ones."""
    auto_pad = source.attrs.get("auto_pad", "NOTSET")
    if auto_pad in ("SAME_UPPER", "SAME_LOWER") or source.attrs.get("output_shape"):
        totals = [max(0, have - want) for have, want in zip(full, out, strict=True)]
        upper = auto_pad == "SAME_UPPER"
        return tuple(total // 2 if upper else total - total // 2 for total in totals)
    return _pads(source, ctx, len(out))[: len(out)]


def _geometry(source: Source, ctx: ImportContext) -> _Transposed:
    x, w = (ctx.tensor(name).shape for name in source.inputs[:2])
    rank, groups = len(x) - 2, int(source.attrs["group"])
    if rank < 1 or len(w) != len(x) or w[0] != x[1] or groups < 1 or x[1] % groups:
        got = f"input {list(x)}, weights {list(w)}, group {groups}"
        rule = "weights are [in_c, out_c / group, kernel...] and group divides in_c"
        raise ctx.reject(source, got, rule)
    kernel = ints(source.attrs.get("kernel_shape") or w[2:])
    strides = ints(source.attrs.get("strides") or [1] * rank)
    dilations = ints(source.attrs.get("dilations") or [1] * rank)
    extra = ints(source.attrs.get("output_padding") or [0] * rank)
    if kernel != w[2:] or not len(strides) == len(dilations) == len(extra) == rank:
        got = f"kernel {list(kernel)}, strides {list(strides)}, dilations {list(dilations)}"
        raise ctx.reject(source, got, f"each has {rank} entries, the kernel those of the weights")
    largest = max((*x[2:], *kernel, *strides, *dilations))
    where = f"node {source.name!r} ({source.op_type})"
    limits.held("window-elements", largest, where, "too large to compile")
    if min((*strides, *dilations)) < 1:
        raise ctx.reject(source, f"strides {list(strides)}", "strides and dilations are positive")
    spans = tuple((k - 1) * d + 1 for k, d in zip(kernel, dilations, strict=True))
    each = zip(x[2:], strides, spans, extra, strict=True)
    full = tuple((size - 1) * stride + span + more for size, stride, span, more in each)
    pixels = _pixels(source, ctx, x[2:], full)
    if min(pixels) < 1:
        got = f"{list(pixels)} of {list(full)} pixels"
        raise ctx.reject(source, got, "pads leave a pixel of every dimension")
    crop = _crop(source, ctx, full, pixels)
    return _Transposed(groups, spans, strides, dilations, crop, (x[0], w[1] * groups, *pixels))


def _shape(source: Source, ctx: ImportContext) -> Shape:
    return _geometry(source, ctx).out


def _constant_phases(w: Values, of: _Transposed) -> Values:
    """The phases of constant filters [in_c, out_c / group, kernel...], as filters of a convolution:
    [group phase out_c / group, in_c / group, taps...]."""
    rank = len(of.kernel)
    dilated = np.zeros((*w.shape[:2], *(t * s for t, s in zip(of.taps, of.strides, strict=True))))
    spots = (slice(0, k, d) for k, d in zip(of.kernel, of.dilations, strict=True))
    dilated[(slice(None), slice(None), *spots)] = w
    split = [n for t, s in zip(of.taps, of.strides, strict=True) for n in (t, s)]
    phases = dilated.reshape(of.groups, w.shape[0] // of.groups, w.shape[1], *split)
    steps, taps = range(4, 3 + 2 * rank, 2), range(3, 3 + 2 * rank, 2)
    ordered = phases.transpose(0, *steps, 2, 1, *taps)
    flipped = np.flip(ordered, tuple(range(-rank, 0)))
    return flipped.reshape(-1, w.shape[0] // of.groups, *of.taps).astype(np.float32)


def _phases_stored(source: Source, ctx: ImportContext, of: _Transposed) -> dict[str, Any]:
    """Which integers the phases of constant filters are: a unit for each of their channels."""
    stored = ctx.stored_as(source.inputs[1], 1, source.name)
    if "storage" not in stored:
        return stored
    units = np.tile(stored["storage"].scale, of.groups * math.prod(of.strides))
    return {**stored, "storage": stored["storage"].scaled(units)}


def _phases_bias(bias: str, ctx: ImportContext, of: _Transposed) -> str:
    """The bias of all phases: that of a group's channels again for each of its phases."""
    value = ctx.constant(bias)
    if value is None:
        return ""
    channels = np.reshape(value, (of.groups, 1, -1))
    repeated = np.repeat(channels, math.prod(of.strides), axis=1)
    return ctx.add_constant(f"{bias}/phases", repeated.reshape(-1))


def _phases(w: Term, of: _Transposed) -> Term:
    """The phases of filters that are known at run time."""
    formula, rank = w.formula, len(of.kernel)
    in_c, out_c, *kernel = w.shape
    if any(d > 1 for d in of.dilations):  # zeros behind every tap
        apart = [n for k in kernel for n in (k, 1)]
        padded = [n for k, d in zip(kernel, of.dilations, strict=True) for n in (k, d)]
        ends = [b - a for a, b in zip(apart, padded, strict=True)]
        w = _padded(w.reshape(in_c, out_c, *apart), (0, 0, *ends))
        w = w.reshape(in_c, out_c, *(a * b for a, b in zip(padded[::2], padded[1::2], strict=True)))
        w = _sliced(w, (in_c, out_c, *of.kernel))
    whole = tuple(t * s for t, s in zip(of.taps, of.strides, strict=True))
    w = _padded(w, (0, 0, *(n - k for n, k in zip(whole, of.kernel, strict=True))))
    split = [n for t, s in zip(of.taps, of.strides, strict=True) for n in (t, s)]
    phases = w.reshape(of.groups, in_c // of.groups, out_c, *split)
    steps, taps = range(4, 3 + 2 * rank, 2), range(3, 3 + 2 * rank, 2)
    ordered = phases.transpose(0, *steps, 2, 1, *taps)
    ordered = ordered.reshape(math.prod(ordered.shape[: 2 + rank]), in_c // of.groups, *of.taps)
    starts = (0, 0, *(t - 1 for t in of.taps))
    return formula.add(
        "Slice", (ordered,), ordered.shape, "flipped", starts=starts, steps=(1, 1, *(-1,) * rank)
    )


def _padded(x: Term, ends: Sequence[int]) -> Term:
    """Zeros behind."""
    if not any(ends):
        return x
    shape = tuple(size + end for size, end in zip(x.shape, ends, strict=True))
    pads = (*(0,) * len(ends), *ends)
    return x.formula.add("Pad", (x,), shape, pads=pads, mode="constant", value=0.0)


def _sliced(x: Term, shape: Shape, starts: Shape = ()) -> Term:
    """So many elements from ``starts`` on."""
    if x.shape == shape:
        return x
    starts = starts or (0,) * len(shape)
    return x.formula.add("Slice", (x,), shape, starts=starts, steps=(1,) * len(shape))


def _interleaved(y: Term, of: _Transposed, out_c: int) -> Term:
    """Phases, which are channels, beside each other."""
    rank, n, pixels = len(of.kernel), y.shape[0], y.shape[2:]
    each = y.reshape(n, of.groups, *of.strides, out_c // of.groups, *pixels)
    channels = 2 + rank
    spatial = [axis for d in range(rank) for axis in (channels + 1 + d, 2 + d)]
    ordered = each.transpose(0, 1, channels, *spatial)
    sizes = (size * stride for size, stride in zip(pixels, of.strides, strict=True))
    return ordered.reshape(n, out_c, *sizes)


def _import_conv_transpose(source: Source, ctx: ImportContext) -> Sequence[Node]:
    formula, of = Formula(source, ctx), _geometry(source, ctx)
    w, out, bias = ctx.constant(source.inputs[1]), of.out, optional_input(source, 2)
    if bias and (have := ctx.tensor(bias).shape) != (out[1],):
        raise ctx.reject(source, f"bias {list(have)}", f"bias is [{out[1]}]")
    around = tuple(t - 1 for t in of.taps)
    ones = (1,) * len(of.taps)
    window = Window(of.taps, ones, ones, (*around, *around))
    reached = (
        size + t - 1
        for size, t in zip(ctx.tensor(source.inputs[0]).shape[2:], of.taps, strict=True)
    )
    each = zip(of.crop, out[2:], reached, of.strides, strict=True)
    ends = tuple(max(0, crop + size - count * stride) for crop, size, count, stride in each)
    # What no kernel reaches is the bias alone, which then is added behind.
    inside = _phases_bias(bias, ctx, of) if bias and w is not None and not any(ends) else ""
    if w is not None:
        filters = ctx.add_constant(f"{source.inputs[1]}/phases", _constant_phases(w, of))
        stored = _phases_stored(source, ctx, of)
        y = convolution(formula, (source.inputs[0], filters), inside, window, of.groups, stored)
    else:
        filters = _phases(Term(formula, source.inputs[1]), of).name
        y = convolution(formula, (source.inputs[0], filters), "", window, of.groups)
    y = _padded(_interleaved(y, of, out[1]), (0, 0, *ends))
    y = _sliced(y, out, (0, 0, *of.crop))
    return formula.finish(with_bias(y, Term(formula, bias)) if bias and not inside else y)


OPERATOR = Operator(
    name="ConvTranspose",
    onnx={"ConvTranspose": _import_conv_transpose},
    shapes={"ConvTranspose": _shape},
    stored=Stored.BOTH,
)
