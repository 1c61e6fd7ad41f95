"""One spatial dimension of a convolution: which input positions its outputs read."""

from __future__ import annotations

import math
from dataclasses import dataclass
from functools import lru_cache

from edgeconv.kernels.algorithms.problem import ConvProblem


@dataclass(frozen=True, slots=True)
class Axis:
    """Sizes in positions; ``pad`` before the first."""

    size: int
    out: int
    kernel: int
    stride: int
    dilation: int
    pad: int

    def read(self, first: int, count: int) -> int:
        """Input positions that outputs [first, first + count) read."""
        return _read(self, first, count)

    @property
    def all_read(self) -> int:
        """Input positions that some output reads."""
        return self.read(0, self.out)

    def read_by(self, count: int) -> int:
        """The sum of ``read`` over every ``count`` outputs."""
        return _read_by(self, count)

    @property
    def met(self) -> float:
        """The share of the kernel's positions that lie in the input, the mean over the outputs."""
        return self.read_by(1) / (self.out * self.kernel)

    @property
    def within(self) -> float:
        """The share of the outputs whose whole window lies in the input."""
        reach = (self.kernel - 1) * self.dilation
        first = -(-self.pad // self.stride)
        last = (self.size - 1 - reach + self.pad) // self.stride
        return max(0, min(last, self.out - 1) - first + 1) / self.out

    @property
    def sharing(self) -> int:
        """Outputs from one that reads an input position to the next one that does."""
        return self.dilation // math.gcd(self.dilation, self.stride)


@lru_cache(maxsize=65536)
def _read(axis: Axis, first: int, count: int) -> int:
    reads = {
        y * axis.stride - axis.pad + k * axis.dilation
        for y in range(first, first + count)
        for k in range(axis.kernel)
    }
    return sum(0 <= position < axis.size for position in reads)


@lru_cache(maxsize=4096)
def _read_by(axis: Axis, count: int) -> int:
    starts = range(0, axis.out, count)
    return sum(axis.read(start, min(count, axis.out - start)) for start in starts)


def axes_of(problem: ConvProblem) -> tuple[Axis, Axis, Axis]:
    """Depth, height and width."""
    d, h, w = (
        Axis(
            problem.in_size[i],
            problem.out_size[i],
            problem.kernel[i],
            problem.strides[i],
            problem.dilations[i],
            problem.pads[i],
        )
        for i in range(3)
    )
    return d, h, w
