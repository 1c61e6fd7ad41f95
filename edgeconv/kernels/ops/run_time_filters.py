"""Convolutions whose filters are known at run time, as products of matrices.

With filters W of shape (out_c, in_c / groups, taps) and one column of the input for every output
pixel, holding what the taps of all channels of a group read there, the result is W times these
columns (Chellapilla et al., "High performance convolutional neural networks for document
processing", 2006).  The columns are slices side by side: one for each tap.
"""

from __future__ import annotations

import itertools
import math

from edgeconv.base import limits
from edgeconv.ir.layout import Shape
from edgeconv.kernels.ops.formula import Term
from edgeconv.kernels.ops.importing import Window

_NODES_EACH = 2  # of a tap


def convolved(x: Term, filters: Term, window: Window, groups: int, out: Shape) -> Term:
    """The convolution of ``x``, of shape (N, in_c, ...), by ``filters``, of shape (out_c, in_c /
    groups, kernel ...); ``out``: the shape of the result."""
    formula, rank = x.formula, len(window.kernel)
    n, in_c, *_ = x.shape
    out_c, pixels = out[1], math.prod(out[2:])
    where = f"node {formula.source.name!r} ({formula.source.op_type})"
    count = _NODES_EACH * math.prod(window.kernel)
    limits.held("model-nodes", count, where, "filters of run time have nodes for each tap")
    if any(window.pads):
        begins, ends = window.pads[:rank], window.pads[rank:]
        pads = (0, 0, *begins, 0, 0, *ends)
        sizes = zip(x.shape[2:], begins, ends, strict=True)
        shape = (n, in_c, *(size + b + e for size, b, e in sizes))
        x = formula.add("Pad", (x,), shape, pads=pads, mode="constant", value=0.0)
    taps = []
    for position in itertools.product(*map(range, window.kernel)):
        starts = (0, 0, *(p * d for p, d in zip(position, window.dilations, strict=True)))
        steps = (1, 1, *window.strides)
        tap = formula.add("Slice", (x,), (n, in_c, *out[2:]), "tap", starts=starts, steps=steps)
        taps.append(tap.reshape(n, groups, in_c // groups, 1, pixels))
    shape = (n, groups, in_c // groups, len(taps), pixels)
    columns = taps[0] if len(taps) == 1 else formula.add("Concat", taps, shape, "columns", axis=3)
    depth = in_c // groups * len(taps)
    rows = filters.reshape(1, groups, out_c // groups, depth)
    product = formula.add(
        "MatMul",
        (rows, columns.reshape(n, groups, depth, pixels)),
        (n, groups, out_c // groups, pixels),
    )
    return product.reshape(*out)


def with_bias(y: Term, bias: Term) -> Term:
    """``bias``, one number per channel, added to ``y``."""
    return y + bias.reshape(*bias.shape, *(1,) * (len(y.shape) - 2))
