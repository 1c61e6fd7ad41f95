"""Sums over windows, in float64: exact for whole numbers whose sums are below 2^53."""

from __future__ import annotations

import itertools
from collections.abc import Iterator, Mapping, Sequence
from typing import Any

import numpy as np

from edgeconv.ir.requantisation.exact_reals import Reals

Position = tuple[int, ...]


def taps(
    x: Reals, attrs: Mapping[str, Any], out: Sequence[int], outside: float = 0.0
) -> Iterator[tuple[Position, Reals]]:
    """For every position of the kernel the elements (N, C, *out) that it meets.

    ``attrs``: kernel, strides, dilations and pads of a Conv or Pool; beyond the input is
    ``outside``.
    """
    rank, pads = len(out), attrs["pads"]
    spans = [
        (size - 1) * stride + (kernel - 1) * dilation + 1
        for size, stride, kernel, dilation in zip(
            out, attrs["strides"], attrs["kernel"], attrs["dilations"], strict=True
        )
    ]
    after = [
        max(pads[rank + i], span - pads[i] - have)
        for i, (span, have) in enumerate(zip(spans, x.shape[2:], strict=True))
    ]
    widths = [(0, 0), (0, 0), *zip(pads[:rank], after, strict=True)]
    padded = np.pad(x, widths, constant_values=outside)
    for position in itertools.product(*map(range, attrs["kernel"])):
        window = (
            slice(at * dilation, at * dilation + (size - 1) * stride + 1, stride)
            for at, dilation, size, stride in zip(
                position, attrs["dilations"], out, attrs["strides"], strict=True
            )
        )
        yield position, padded[(slice(None), slice(None), *window)]


def convolved(x: Reals, w: Reals, attrs: Mapping[str, Any], out: Sequence[int]) -> Reals:
    """The convolution of x (N, in_c, ...) with w (out_c, in_c / groups, *kernel)."""
    groups = attrs["groups"]
    own = w.reshape(groups, w.shape[0] // groups, *w.shape[1:])
    total = np.zeros((x.shape[0], groups, own.shape[1], int(np.prod(out))))
    for position, view in taps(x, attrs, out):
        seen = view.reshape(x.shape[0], groups, own.shape[2], -1)
        at: tuple[Any, ...] = (..., *position)
        filters = own[at]
        total += filters * seen if own.shape[1] == own.shape[2] == 1 else filters @ seen
    return total.reshape(x.shape[0], w.shape[0], *out)


def counted(attrs: Mapping[str, Any], size: Sequence[int], out: Sequence[int]) -> Reals:
    """How many elements each window of an average pool counts, (1, 1, *out)."""
    rank, pads = len(size), attrs["pads"]
    ones = np.ones((1, 1, *size))
    if attrs["count_include_pad"]:
        stated = [(pads[i], pads[rank + i]) for i in range(rank)]
        ones = np.pad(ones, [(0, 0), (0, 0), *stated], constant_values=1.0)
        attrs = {**attrs, "pads": (0,) * (2 * rank)}
    found: Reals = sum((view for _, view in taps(ones, attrs, out)), np.zeros((1, 1, *out)))
    return found
