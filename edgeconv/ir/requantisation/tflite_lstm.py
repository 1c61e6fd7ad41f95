"""The LSTM of int8 and int16 as TensorFlow Lite Micro computes it, in integers throughout.

Each of the four gates is two dense layers without a function, of the input and of the state of the
step before, each of them rounded to 16 bits with a unit of 2^-12; then

    i, f, o = sigmoid(x + h),   g = tanh(x + h)                      units of 2^-15
    c = clip(f c + i g),        h = o tanh(c)                        the grids of the two states

where sums are cut off to 16 bits, products are rounded as `double_rounding` has them, and both
functions are lines through a table of 256 numbers (`tflite_short`).  Of int16 the dense layers have
sums of 64 bits and one rounding (`tflite_wide`).
"""

from __future__ import annotations

import math
from dataclasses import dataclass
from itertools import chain

import numpy as np
import numpy.typing as npt

from edgeconv.ir.requantisation.double_rounding import multiplied, quantised_multiplier
from edgeconv.ir.requantisation.exact import Integers
from edgeconv.ir.requantisation.tflite_short import logistic, tanh
from edgeconv.ir.requantisation.tflite_wide import short_multiplier, shortly_multiplied

GATES = ("input", "forget", "cell", "output")  # in TensorFlow Lite's order
INPUT, FORGET, CELL, OUTPUT = range(4)
THIRDS = 3  # units of the table's arguments in one of a gate's
_GATE_UNIT, _FUNCTION_UNIT = 2.0**-12, 2.0**-15
_GATE_BITS, _LEAST_POWER, _MOST_POWER = 12, -15, 0
_LOW, _HIGH = -(1 << 15), (1 << 15) - 1
_REACH = 1 << 31  # of the kernels' own integers
_WIDTH = 16  # bits

Factor = tuple[int, int]  # multiplier and shift to the right


@dataclass(frozen=True, slots=True)
class Grid:
    """The grid of the input, or of the state that is the output."""

    scale: float
    zero: int
    bits: int


@dataclass(frozen=True, slots=True)
class ShortLstm:
    """The numbers of a layer.  ``bits``: of inputs and states, 8 or 16.  ``of_x``, ``of_h``:
    factors of the sums of each gate.  ``of_new``: that of the product of input and cell gate;
    ``of_output``: of the result.  ``power``: 2^power is a unit of the cell.  ``clip``: the largest
    cell, 0 for none."""

    bits: int
    of_x: tuple[Factor, ...]
    of_h: tuple[Factor, ...]
    of_new: Factor
    of_output: Factor
    zero_x: int
    zero_h: int
    power: int
    clip: int

    @property
    def low(self) -> int:
        """The smallest integer of the state."""
        return -(1 << (self.bits - 1))

    @property
    def high(self) -> int:
        """The largest."""
        return -self.low - 1

    @property
    def argument(self) -> Factor:
        """What makes a cell an argument of tanh in units of the table: as `cell_argument`."""
        left = self.power + _GATE_BITS
        return (THIRDS << left, 0) if left >= 0 else (THIRDS, -left)


OF_CELL: Factor = quantised_multiplier(_FUNCTION_UNIT)  # of the product of forget gate and cell


def short_lstm(
    x: Grid, h: Grid, cell: float, filters: tuple[tuple[float, ...], ...], clip: float
) -> ShortLstm:
    """The layer of such grids.  ``cell``: the unit of the cell.  ``filters``: the scales of the
    gates' weights for the input, and of those for the state.

    Raises ValueError, which says why, for what Micro's kernel does not compute as it means to."""
    given = (x.scale, h.scale, cell, *chain.from_iterable(filters))
    if any(not math.isfinite(each) or each <= 0.0 for each in given):
        raise ValueError("a scale that is no positive, finite number")
    power = round(math.log2(cell))
    if cell != 2.0**power or not _LEAST_POWER <= power <= _MOST_POWER:
        raise ValueError(f"a cell in units of {cell:g}, no power of two from 2^-15 to 1")
    wide = x.bits == _WIDTH
    real = [
        [float(np.float32(grid.scale) * np.float32(each)) / _GATE_UNIT for each in own]
        for grid, own in zip((x, h), filters, strict=True)
    ]
    as_factor = short_multiplier if wide else quantised_multiplier
    of_x, of_h = (tuple(map(as_factor, own)) for own in real)
    if wide and min(right for _, right in (*of_x, *of_h)) < 1:
        raise ValueError("sums of a gate in units of 4 or more")
    of_new, of_output = (
        quantised_multiplier(_FUNCTION_UNIT * _FUNCTION_UNIT / unit) for unit in (cell, h.scale)
    )
    if min(of_new[1], of_output[1]) < 0:
        raise ValueError(f"a state in units of {h.scale:g}")
    bound = int(min(max(clip / cell, _LOW), _HIGH)) if clip > 0 else 0
    return ShortLstm(x.bits, of_x, of_h, of_new, of_output, x.zero, h.zero, power, bound)


def in_reach(
    form: ShortLstm, weights: Integers, zero: int, bias: Integers | None, factor: Factor
) -> bool:
    """Whether no sum of a gate is beyond the kernels' own integers, nor beyond 32 bits here.

    ``weights``: [units, inputs] of int8.  ``zero``: the zero point of what they are multiplied by.
    """
    products = np.abs(weights).sum(axis=1) * max(zero - form.low, form.high - zero, -form.low)
    reach = products + np.abs(starts(weights, zero, bias))
    if bias is not None:
        reach = np.maximum(reach, products + np.abs(bias))
    largest, (multiplier, right) = int(reach.max(initial=0)), factor
    if form.bits == _WIDTH:
        return max(largest, largest * multiplier >> right) < _REACH
    return largest << max(-right, 0) < _REACH


def starts(weights: Integers, zero: int, bias: Integers | None) -> Integers:
    """What the sum of each unit begins with, so that nothing else is said of a zero point."""
    folded: Integers = -zero * weights.sum(axis=1)
    return folded if bias is None else folded + bias


@dataclass(frozen=True, slots=True, eq=False)
class Weights:
    """int8 of all gates: ``x`` [4, units, inputs], ``h`` [4, units, units]; ``bias`` [4, units] in
    units of the product of both scales."""

    x: npt.NDArray[np.int8]
    h: npt.NDArray[np.int8]
    bias: Integers


def step(
    form: ShortLstm, weights: Weights, x: Integers, h: Integers, c: Integers
) -> tuple[Integers, Integers]:
    """State and cell behind one step of sequences: of ``x`` [sequences, inputs] and what they were,
    both [sequences, units]."""
    sums = [
        _cut(
            _gate(form, weights.x[gate], x, form.zero_x, weights.bias[gate], form.of_x[gate])
            + _gate(form, weights.h[gate], h, form.zero_h, None, form.of_h[gate])
        )
        for gate in range(len(GATES))
    ]
    made = [(tanh if gate == CELL else logistic)(THIRDS * s) for gate, s in enumerate(sums)]
    kept = _cut(multiplied(made[FORGET] * c, *OF_CELL))
    new = _cut(multiplied(made[INPUT] * made[CELL], *form.of_new))
    cell = _cut(kept + new)
    if form.clip:
        cell = np.clip(cell, -form.clip, form.clip)
    bent = tanh(cell_argument(form, cell))
    result = multiplied(bent * made[OUTPUT], *form.of_output) + form.zero_h
    return np.clip(result, form.low, form.high), cell


def cell_argument(form: ShortLstm, cell: Integers) -> Integers:
    """Cells as arguments of tanh, in units of 2^-12 / 3."""
    multiplier, right = form.argument
    found: Integers = (cell * multiplier + ((1 << right) >> 1)) >> right
    return found


def _gate(
    form: ShortLstm,
    weights: npt.NDArray[np.int8],
    x: Integers,
    zero: int,
    bias: Integers | None,
    factor: Factor,
) -> Integers:
    whole = weights.astype(np.int64)
    sums = x.astype(np.int64) @ whole.T + starts(whole, zero, bias)
    return _cut((shortly_multiplied if form.bits == _WIDTH else multiplied)(sums, *factor))


def _cut(x: Integers) -> Integers:
    bounded: Integers = np.clip(x, _LOW, _HIGH)
    return bounded
