"""Rounding that makes up for itself: what one weight's rounding does wrong, the others undo.

For a row w of filters and columns x of its inputs, what counts is the mean of ((w - q) x)^2, which
is (w - q) H (w - q)^T with H the mean of x x^T.  ``carried`` rounds weight after weight and carries
each error into those not yet rounded as second-order theory says: optimal brain surgery (Hassibi
and Stork 1993), by columns and in blocks as in GPTQ (Frantar et al. 2023), from a factor of H
rather than of its inverse, which gives the same numbers sooner (QuIP, Chee et al. 2023).
``refined`` then goes over the weights again, each to the best number given all others (coordinate
descent), and ``refitted`` takes the best unit for the numbers chosen; neither makes the error
larger.

Rows come as (P, rows, k) with one H (k, k) for each P: see edgeconv.search.calibration.moments.
Sums are float32: what they miss is far below what any format rounds off, and large layers take half
as long.
"""

from __future__ import annotations

import numpy as np

from edgeconv.search.calibration.codebook import Codebook, Doubles
from edgeconv.search.calibration.moments import Floats, Prepared, Rows

BLOCK = 128  # columns whose errors are carried beyond them by one matrix product
SWEEPS = 2  # of refinement, each with new units


def compensated(
    weights: Doubles, units: Doubles, prepared: Prepared, codebook: Codebook, rows: Rows
) -> tuple[Doubles, Doubles]:
    """Rounded ``weights`` (P, rows, k) and the units (P, rows) they are multiples of.

    ``units``: to begin with.
    """
    order = prepared.order[:, None, :]
    wanted = np.take_along_axis(weights, order, axis=2).astype(np.float32)
    scale = units.astype(np.float32)
    found = carried(wanted, scale, prepared, codebook)
    for _ in range(SWEEPS):
        if codebook.has_units:
            found, scale = refitted(wanted, found, scale, prepared.second, codebook, rows)
        found = refined(wanted, found, scale, prepared.second, codebook)
    back = np.argsort(order, axis=2)
    return np.take_along_axis(found, back, axis=2).astype(np.float64), scale.astype(np.float64)


def carried(weights: Floats, units: Floats, prepared: Prepared, codebook: Codebook) -> Floats:
    """Each column rounded in turn, its error carried into the columns behind it.

    With H = U D U^T the error is that of (w - q) U, weighed by D: column j of it is w_j - q_j plus
    what earlier errors times U add, which is all that rounding w_j can still change.
    """
    feedback = prepared.feedback
    errors = np.zeros_like(weights)
    size = weights.shape[2]
    for start in range(0, size, BLOCK):
        end = min(start + BLOCK, size)
        near = weights[:, :, start:end] + errors[:, :, :start] @ feedback[:, :start, start:end]
        for j in range(end - start):
            rounded = units * codebook.nearest(near[:, :, j] / units)
            error = weights[:, :, start + j] - rounded
            errors[:, :, start + j] = error
            row = feedback[:, None, start + j, start + j + 1 : end]
            near[:, :, j + 1 :] += error[:, :, None] * row
    return units[:, :, None] * codebook.nearest((weights - errors) / units[:, :, None])


def refined(
    weights: Floats, found: Floats, units: Floats, second: Floats, codebook: Codebook
) -> Floats:
    """Each column once to the number that is best while all others stay."""
    found = found.copy()
    slope = (weights - found) @ second  # half the error's derivative, negated
    size = weights.shape[2]
    for start in range(0, size, BLOCK):
        end = min(start + BLOCK, size)
        before = found[:, :, start:end].copy()
        near = slope[:, :, start:end].copy()
        for j in range(end - start):
            row = second[:, None, start + j, start:end]
            best = found[:, :, start + j] + near[:, :, j] / row[:, :, j]
            rounded = units * codebook.nearest(best / units)
            change = rounded - found[:, :, start + j]
            found[:, :, start + j] = rounded
            near -= change[:, :, None] * row
        slope -= (found[:, :, start:end] - before) @ second[:, start:end]
    return found


def refitted(
    weights: Floats, found: Floats, units: Floats, second: Floats, codebook: Codebook, rows: Rows
) -> tuple[Floats, Floats]:
    """The numbers with the best unit of each row, the old one where there is none."""
    weighed = found @ second
    # Of all pieces of a row together: they share its unit.
    overlap = rows.sum_per_row(np.einsum("pok,pok->po", weighed, weights))
    power = rows.sum_per_row(np.einsum("pok,pok->po", weighed, found))
    usable = (power > 0) & (overlap > 0)
    factor = np.where(usable, overlap / np.where(usable, power, 1.0), 1.0)
    new = (units * rows.per_row(factor)).astype(np.float32)
    return codebook.nearest(found / units[:, :, None]) * new[:, :, None], new
