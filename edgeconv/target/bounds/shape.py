"""A convolution as the bounds see it: loop counts, and which input positions the loops reach."""

from __future__ import annotations

import math
from collections.abc import Iterable, Sequence
from dataclasses import dataclass
from functools import cached_property

from edgeconv.base.errors import EdgeconvError


@dataclass(frozen=True)
class Axis:
    """One spatial dimension: output ``o`` and kernel tap ``t`` meet at input position
    ``stride * o + dilation * t - pad``; positions outside of ``0 .. size - 1`` are padding, which
    nobody stores or has to read.
    """

    size: int
    out: int
    kernel: int
    stride: int = 1
    dilation: int = 1
    pad: int = 0

    @property
    def period(self) -> int:
        """Taps this far apart read input positions that are whole strides apart.

        The filter split of Section 3.2, tap = period * q + r: the paper's case is dilation 1,
        where the period is the stride.
        """
        return self.stride // math.gcd(self.stride, self.dilation)

    @property
    def reach(self) -> int:
        """By how many strides taps one period apart are apart in the input."""
        return self.dilation // math.gcd(self.stride, self.dilation)

    @property
    def repeats(self) -> int:
        """The number of periods in the kernel, a started one included: the bound of q."""
        return -(-self.kernel // self.period)

    @property
    def phases(self) -> int:
        """The bound of r: residues of the tap modulo the period."""
        return min(self.period, self.kernel)

    def hits(self, tap: int) -> int:
        """The outputs for which ``tap`` meets an input element and not padding."""
        shift = self.pad - self.dilation * tap
        first = max(0, -(-shift // self.stride))
        last = min(self.out - 1, (self.size - 1 + shift) // self.stride)
        return max(0, last - first + 1)

    @cached_property
    def live(self) -> tuple[int, ...]:
        """The taps that meet an input element at all."""
        return tuple(tap for tap in range(self.kernel) if self.hits(tap))

    def start(self, first: int) -> int:
        """The input position that output ``first`` reaches through tap 0; padding if negative."""
        return self.stride * first - self.pad

    def positions(self, first: int, outs: int, taps: Iterable[int]) -> int:
        """The input positions that ``outs`` outputs from ``first`` on reach through ``taps``: a set
        of bits, in which bit i is position ``start(first)`` + i.
        """
        ones = ((1 << self.stride * outs) - 1) // ((1 << self.stride) - 1)
        reached = 0
        for tap in taps:
            reached |= ones << self.dilation * tap
        start = self.start(first)
        padding = max(0, -start)
        return (reached & ((1 << max(0, self.size - start)) - 1)) >> padding << padding

    @cached_property
    def touched(self) -> int:
        """Input positions that the convolution reads."""
        return self.positions(0, self.out, self.live).bit_count()

    @cached_property
    def updates(self) -> int:
        """Pairs of an output and a tap that meet at an input element."""
        return sum(self.hits(tap) for tap in self.live)

    @cached_property
    def weighted_updates(self) -> float:
        """``updates``, each divided by the root of the live taps in its residue class.

        Where the stride s divides the filter size w and nothing is padded, that is
        (s / w)^(1/2) of them, the factor in the third term of Theorem 2.1.
        """
        taps_of: dict[int, int] = {}
        for tap in self.live:
            taps_of[tap % self.period] = taps_of.get(tap % self.period, 0) + 1
        return sum(self.hits(tap) / math.sqrt(taps_of[tap % self.period]) for tap in self.live)


@dataclass(frozen=True)
class ConvShape:
    """A convolution.  ``in_c`` and ``out_c`` are those of all groups; any number of ``axes``."""

    batch: int
    in_c: int
    out_c: int
    axes: tuple[Axis, ...]
    groups: int = 1

    @staticmethod
    def of(
        *,
        batch: int,
        in_c: int,
        out_c: int,
        in_size: Sequence[int],
        out_size: Sequence[int],
        kernel: Sequence[int],
        strides: Sequence[int],
        dilations: Sequence[int],
        pads: Sequence[int],
        groups: int = 1,
    ) -> ConvShape:
        """From one sequence per property, as convolutions are described elsewhere.

        ``pads`` are those before the first element.  Dimensions with one output and one tap are
        dropped: the others lose nothing by that.
        """
        rows = zip(in_size, out_size, kernel, strides, dilations, pads, strict=True)
        axes = tuple(Axis(*row) for row in rows)
        trivial = [axis.out == axis.kernel == axis.touched == 1 for axis in axes]
        kept = tuple(axis for axis, drop in zip(axes, trivial, strict=True) if not drop)
        return ConvShape(batch, in_c, out_c, kept, groups)

    @property
    def group_in_c(self) -> int:
        """Input channels of one group."""
        return self.in_c // self.groups

    @property
    def group_out_c(self) -> int:
        """Output channels of one group."""
        return self.out_c // self.groups

    @property
    def input_elements(self) -> int:
        """Elements of the input array."""
        return self.batch * self.in_c * math.prod(axis.size for axis in self.axes)

    @property
    def input_touched(self) -> int:
        """Elements of the input that the convolution reads.

        At most the paper's N c_I (s_w w_O + w_F)(s_h h_O + h_F), which counts padding, the rest
        of the last stride, and what lies between the windows where the stride exceeds the kernel.
        """
        return self.batch * self.in_c * math.prod(axis.touched for axis in self.axes)

    @property
    def filter_touched(self) -> int:
        """Weights that meet an input element at least once."""
        return self.group_in_c * self.out_c * math.prod(len(axis.live) for axis in self.axes)

    @property
    def output_elements(self) -> int:
        """Elements of the output."""
        return self.batch * self.out_c * math.prod(axis.out for axis in self.axes)

    @property
    def updates(self) -> int:
        """Multiply-accumulates on input elements (G of the paper, without those on padding)."""
        pixels = math.prod(axis.updates for axis in self.axes)
        return self.batch * self.group_in_c * self.out_c * pixels

    @property
    def weighted_updates(self) -> float:
        """``updates`` with the weights of ``Axis.weighted_updates``."""
        pixels = math.prod(axis.weighted_updates for axis in self.axes)
        return self.batch * self.group_in_c * self.out_c * pixels


@dataclass(frozen=True)
class Precision:
    """Words of 32 bit per element: float32 1, flyte16 1/2, int8 1/4.

    ``sums``: of an output that is not finished, which is as wide as the kernel computes; None where
    that is as wide as it is stored.  Lower bounds do without it: they hold for the narrower words.

    Raises EdgeconvError unless all are positive.
    """

    input: float = 1.0
    filter: float = 1.0
    output: float = 1.0
    sums: float | None = None

    def __post_init__(self) -> None:
        if min(self.input, self.filter, self.output, self.partial) <= 0:
            raise EdgeconvError(
                "invalid precision",
                got=f"{self.input}, {self.filter}, {self.output} words",
                rule="elements of the input, the filter and the output take room",
            )

    @property
    def partial(self) -> float:
        """Words of an output that more is to be added to."""
        return self.output if self.sums is None else self.sums

    @property
    def near(self) -> float:
        """Words of fast memory for one element of each, the output being summed."""
        return self.input + self.filter + self.partial

    @property
    def total(self) -> float:
        """Words of one element of each (p_T)."""
        return self.input + self.filter + self.output

    @property
    def product(self) -> float:
        """p_I p_F p_O."""
        return self.input * self.filter * self.output

    @property
    def triangle(self) -> float:
        """C_p of Theorem 2.1, by whether one element takes more than the other two together."""
        largest = max(self.input, self.filter, self.output)
        others = self.total - largest
        return largest * others if largest > others else self.total**2 / 4
