"""How words of a depthwise convolution lie in the input, and which several output rows read."""

from __future__ import annotations

import math
from dataclasses import dataclass

from edgeconv.kernels.algorithms.problem import ConvProblem, Triple
from edgeconv.target.dot_row import DotRow

MOST_SETS = 8  # whose word rows serve further output rows: EC_DEPTHWISE_SETS


@dataclass(frozen=True, slots=True)
class WordShape:
    """A word has ``down`` rows of ``across`` columns of a channel, and a window is covered by
    words: sets of ``down`` kernel rows, slices counting as rows, and ``across`` kernel columns."""

    down: int
    across: int

    def sets(self, kernel: Triple) -> int:
        """The sets of kernel rows."""
        return -(-kernel[0] * kernel[1] // self.down)

    def in_row(self, kernel: Triple) -> int:
        """Words that cover the columns of a set."""
        return -(-kernel[2] // self.across)

    def count(self, kernel: Triple) -> int:
        """Words of a window."""
        return self.sets(kernel) * self.in_row(kernel)

    def columns(self, problem: ConvProblem, pixels: int) -> int:
        """Input columns at which words begin that the windows of ``pixels`` side by side have."""
        reach = (self.in_row(problem.kernel) - 1) * self.across * problem.dilations[2]
        return (pixels - 1) * problem.strides[2] + reach + 1


def shapes(row: DotRow) -> tuple[WordShape, ...]:
    """The shapes of words of ``row``: columns, rows, and what lies between."""
    downs = (2**power for power in range(row.rows.bit_length() - 1, -1, -1))
    return tuple(WordShape(down, row.rows // down) for down in downs)


@dataclass(frozen=True, slots=True)
class Sharing:
    """Output rows ``every`` apart read the same word rows but for ``fresh`` sets, which are packed
    for the next one alone."""

    every: int
    fresh: int


def sharing(problem: ConvProblem, shape: WordShape) -> Sharing:
    """The sharing of the fewest rows apart; 1 and all sets where there is none."""
    sets = shape.sets(problem.kernel)
    unit, stride = shape.down * problem.dilations[1], problem.strides[1]
    apart = math.lcm(unit, stride)
    every, fresh = apart // stride, apart // unit
    shares = fresh < sets <= MOST_SETS and problem.kernel[0] == 1 and every < problem.out_size[1]
    return Sharing(every, fresh) if shares else Sharing(1, sets)
