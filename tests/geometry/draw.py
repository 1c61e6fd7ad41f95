"""What random geometries are drawn from, absurd ones among them, with numbers whose sums are exact.

Every number is a small integer: float32 holds all their sums, in whatever order a kernel takes
them, so that a result is right or wrong.
"""

from __future__ import annotations

import math
from dataclasses import dataclass
from typing import Any

import numpy as np
import numpy.typing as npt

from edgeconv.ir.activation import NONE, Activation
from edgeconv.ir.encoding import int8

Array = npt.NDArray[Any]
Sizes = tuple[int, ...]

CHANNELS = (1, 2, 3, 4, 5, 7, 8, 11, 13, 16, 17, 19, 23, 29, 31, 32, 37, 53, 64, 67)
SIZES = (1, 1, 2, 3, 4, 5, 6, 7, 9, 11, 17, 23, 40)
MOST_TAPS = 60
AFTER = (NONE, NONE, Activation("relu"), Activation("clip", -7.0, 9.0))
WHOLE = str(int8(1.0, 3))  # integers from -131 to 124
TENSORS = ("float32", "float32", "float32", "flyte24", "flyte16", WHOLE)
NOT_FINITE = (np.inf, -np.inf, np.nan)


class Draws:
    """The random choices of geometry ``number`` under ``seed``."""

    def __init__(self, seed: int, number: int) -> None:
        self.rng = np.random.default_rng([seed, number])

    def one(self, values: Any) -> Any:
        """One of ``values``."""
        return values[int(self.rng.integers(len(values)))]

    def up_to(self, most: int, least: int = 0) -> int:
        """An integer, ``most`` included."""
        return int(self.rng.integers(least, most + 1))

    def often(self, share: float) -> bool:
        """True in ``share`` of all draws."""
        return bool(self.rng.random() < share)

    def whole(self, *shape: int, most: int = 3) -> Array:
        """Small integers."""
        return self.rng.integers(-most, most + 1, shape).astype(np.float32)

    def not_finite(self, x: Array, share: float) -> Array:
        """``x``; in ``share`` of all draws a few of its elements are infinite or NaN, or all but
        one of them are one infinity."""
        if not x.size or not self.often(share):
            return x
        x = x.copy()
        if self.often(0.3):
            x[...] = self.one(NOT_FINITE[:2])
        for _ in range(self.up_to(3, 1)):
            x.reshape(-1)[self.up_to(x.size - 1)] = self.one((*NOT_FINITE, 1.0))
        return x

    def storage(self, *names: str) -> dict[str, str]:
        """Formats of tensors that are not float32 in memory, of most networks none."""
        chosen = {name: self.one(TENSORS) for name in names} if self.often(0.3) else {}
        return {name: form for name, form in chosen.items() if form != "float32"}


@dataclass(frozen=True, slots=True)
class Window:
    """Sizes and positions of a sliding window, an entry per spatial dimension."""

    size: Sizes
    kernel: Sizes
    strides: Sizes
    dilations: Sizes
    pads: Sizes  # begins, then ends

    @property
    def spans(self) -> Sizes:
        """Elements from the first to the last under a window."""
        return tuple((k - 1) * d + 1 for k, d in zip(self.kernel, self.dilations, strict=True))

    @property
    def out(self) -> Sizes:
        """Windows in each dimension; none where padding and all are too small for one."""
        padded = zip(
            self.size, self.pads[: len(self.size)], self.pads[len(self.size) :], strict=True
        )
        rooms = (sum(sizes) - span for sizes, span in zip(padded, self.spans, strict=True))
        return tuple(
            room // stride + 1 if room >= 0 else 0
            for room, stride in zip(rooms, self.strides, strict=True)
        )

    def attrs(self) -> dict[str, Sizes]:
        """As attributes of a node."""
        return {
            "kernel": self.kernel,
            "strides": self.strides,
            "dilations": self.dilations,
            "pads": self.pads,
        }


def _axis(draws: Draws, pointwise: bool, as_many: bool) -> tuple[int, ...]:
    """Size, kernel, stride, dilation and pads of one dimension.  ``as_many``: windows as there are
    elements, whatever the stride."""
    size = draws.one(SIZES)
    kernel = 1 if pointwise else draws.one((1, 2, 3, 3, 4, 5, 7, 9))
    dilation = draws.one((1, 1, 1, 2, 3, 5))
    span = (kernel - 1) * dilation + 1
    stride = draws.one((1, 1, 1, 2, 2, 3, 4, size, size + 1))
    likely = (0, 0, span // 2, draws.up_to(span), span, draws.up_to(span + 3))
    before, after = draws.one(likely), draws.one(likely)
    if as_many:
        needed = max(0, (size - 1) * stride + span - size)
        before = min(before, needed)
        after = needed - before
    return size, kernel, stride, dilation, before, after


def window(draws: Draws, pointwise: bool) -> Window:
    """Of one to three dimensions, with at least one position."""
    while True:
        as_many = draws.often(0.5 if pointwise else 0.1)
        rank = draws.one((1, 2, 2, 2, 3))
        axes = [_axis(draws, pointwise, as_many) for _ in range(rank)]
        size, kernel, strides, dilations, before, after = (
            tuple(v) for v in zip(*axes, strict=True)
        )
        found = Window(size, kernel, strides, dilations, (*before, *after))
        if min(found.out) >= 1 and math.prod(kernel) <= MOST_TAPS:
            return found
