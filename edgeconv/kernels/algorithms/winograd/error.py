"""How far a Winograd convolution in float32 is from the same one in float64.

What kernels compute is computed here step by step, on tiles of random numbers and the filters that
are given, and compared with a direct convolution of the same numbers.
"""

from __future__ import annotations

import math
from dataclasses import dataclass, replace
from typing import Any, cast

import numpy as np
import numpy.typing as npt

from edgeconv.ir.straight_line import Routine
from edgeconv.ir.winograd_form import Nested, plain
from edgeconv.kernels.algorithms.winograd.plan import routine_of
from edgeconv.kernels.algorithms.winograd.toom_cook import matrices, nested

Floats = npt.NDArray[np.float32]  # or float16, where kernels compute in that
Number = type[np.float32] | type[np.float16]
TILES, MOST_FILTERS = 8, 16  # what is tried of a layer: some 4,600 outputs of F(6x6, 3x3)


@dataclass(frozen=True, slots=True, eq=False)
class Trial:
    """What forms of a layer are tried on: ``filters`` (out_c, in_c, rows, columns), ``tiles`` of
    random numbers (n, in_c, rows, columns), and their convolution in float64, ``exact``.

    A form takes the first rows and columns of every tile that it has products for."""

    filters: Floats
    tiles: Floats
    exact: npt.NDArray[np.float64]

    @staticmethod
    def of(weights: Floats, outputs: tuple[int, int], seed: int = 0) -> Trial:
        """For forms of as many ``outputs`` down and across at most.  ``weights``: (out_c, in_c,
        rows, columns).  Inputs are normally distributed."""
        some = filters_tried(weights)
        sides = (n + taps - 1 for n, taps in zip(outputs, weights.shape[2:], strict=True))
        random = np.random.default_rng(seed)
        tiles = random.standard_normal((TILES, some.shape[1], *sides), np.float32)
        with np.errstate(over="ignore", invalid="ignore"):
            return Trial(some, tiles, direct(some, tiles))

    def error(self, form: Nested, number: Number = np.float32) -> float:
        """The largest difference of an output, in parts of the largest output, of kernels whose
        vectors hold a ``number``; infinite where that does not hold what is computed on the way."""
        down, across = form.down, form.across
        tiles = self.tiles[:, :, : down.products, : across.products]
        exact = self.exact[:, :, : down.outputs, : across.outputs]
        largest = float(np.abs(exact).max())
        with np.errstate(over="ignore", invalid="ignore"):
            found = winograd(form, self.filters, tiles, number)
            error = float(np.abs(found - exact).max()) / largest if largest else 0.0
        return error if math.isfinite(error) else math.inf


def filters_tried(weights: Floats) -> Floats:
    """The filters of a layer (out_c, in_c, rows, columns) that a trial is made of; of them all."""
    return weights[:: -(-len(weights) // MOST_FILTERS)].astype(np.float32)


def relative_error(form: Nested, weights: Floats, seed: int = 0) -> float:
    """`Trial.error` of a single form; ``weights`` are not all zero."""
    return Trial.of(weights, (form.down.outputs, form.across.outputs), seed).error(form)


def direct(weights: Floats, tiles: Floats) -> npt.NDArray[np.float64]:
    """The convolution of ``tiles`` (n, in_c, rows, columns) in float64: (n, out_c, rows, columns)
    of outputs."""
    wide = tiles.swapaxes(0, 1).astype(np.float64, order="C")
    filters = weights.transpose(2, 3, 0, 1).astype(np.float64, order="C")
    sides = zip(tiles.shape[2:], weights.shape[2:], strict=True)
    rows, columns = (side - taps + 1 for side, taps in sides)
    found = np.zeros((len(weights), len(tiles), rows, columns))
    for i, j in np.ndindex(*weights.shape[2:]):
        part = wide[:, :, i : i + rows, j : j + columns]
        found += np.tensordot(filters[i, j], part, (1, 0))
    return found.transpose(1, 0, 2, 3)


def winograd(
    form: Nested, weights: Floats, tiles: Floats, number: Number = np.float32
) -> npt.NDArray[np.float64]:
    """It as kernels compute it whose vectors hold a ``number``."""
    down, across = matrices(form.down).of_filter, matrices(form.across).of_filter
    rounded = nested(down, across, weights).astype(number)
    filters = cast("Floats", rounded.swapaxes(0, 1).copy())
    inputs = _both(form, "input", tiles.astype(number)).swapaxes(0, 1).copy()
    if form.summed > 1:  # the micro-kernel sums rows as it does channels
        filters, inputs = _rows_as_channels(filters), _rows_as_channels(inputs)
        form = replace(form, down=plain(1))
    sums = np.zeros((len(tiles), *filters.shape[1:]), number)
    exact = np.empty(sums.shape)
    for some, tile in zip(filters, inputs, strict=True):  # channel by channel
        _add_fused(some, tile[:, None], sums, exact)
    return _both(form, "output", sums).astype(np.float64)


def _rows_as_channels(values: Floats) -> Floats:
    """(channel, n, row, column) as (row and channel, n, 1, column)."""
    channels, count, rows, columns = values.shape
    return values.transpose(2, 0, 1, 3).reshape(rows * channels, count, 1, columns)


def _both(form: Nested, side: str, values: Floats) -> Floats:
    """The transformations of both directions in the order of the kernel: an input's rows first, the
    columns of sums first."""
    down, across = routine_of(form.down, side), routine_of(form.across, side)
    if side == "input":
        return _run(down, _run(across, values, 3), 2)
    return _run(across, _run(down, values, 2), 3)


def _add_fused(
    a: Floats | np.floating[Any], b: Floats, sums: Floats, exact: npt.NDArray[np.float64]
) -> None:
    """Add a * b to ``sums``, rounded once; the same bits on every machine, as products of matrices
    are not.  ``exact``: as large, to compute in."""
    np.multiply(a, b, dtype=np.float64, out=exact)
    exact += sums
    sums[...] = exact


def _run(code: Routine, values: Floats, axis: int) -> Floats:
    """``code`` along an axis, multiply-adds rounded once."""
    known = {f"x{i}": np.take(values, i, axis) for i in range(code.inputs)}
    exact = np.empty(known["x0"].shape)
    for each in code.sums:
        total = np.zeros_like(known["x0"])
        for factor, name in each.terms:
            _add_fused(total.dtype.type(factor), known[name], total, exact)
        known[each.name] = total
    return np.stack([known[name] for name in code.outputs], axis)
