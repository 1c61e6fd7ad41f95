"""How far a signal to noise ratio that was measured on some samples may be promised of others.

The ratio of all noise to all signal is a ratio of means, whose error is that of the mean residual
n - r s of its samples (Cochran, "Sampling Techniques", 3rd edition, 1977, section 6.4).  Noise is
never negative and seldom symmetric, so the interval is Student's of the logarithm (the delta
method), which is the wider one upwards.
"""

from __future__ import annotations

import math
from collections.abc import Sequence

import numpy as np

CONFIDENCE = 0.95  # that what is promised holds of the samples' like
# Choices of formats that are measured on the same samples before one is taken; each may look better
# than it is (Bonferroni).
LOOKS = 5
FEWEST = 2  # samples that say anything of how samples differ
_HALVINGS = 60  # of a right angle: more change no float64
_MOST = 700.0  # of an exponent that a float64 can take


def upper(signals: Sequence[float], noises: Sequence[float]) -> float | None:
    """What the ratio of noise to signal of many such samples is below, by `CONFIDENCE`.

    None where there are too few to say, infinite where the ratio is.  ``signals`` and ``noises``:
    sums of squares of every sample.
    """
    count, signal, noise = len(signals), sum(signals), sum(noises)
    if count < FEWEST:
        return None
    if noise == 0.0:
        return 0.0
    if signal == 0.0 or not math.isfinite(noise / signal):
        return math.inf
    ratio = noise / signal
    residuals = np.array(noises) / noise - np.array(signals) / signal
    error = math.sqrt(count) * float(residuals.std(ddof=1))  # of the logarithm of the ratio
    return ratio * math.exp(min(_quantile(count - 1) * error, _MOST))


def _quantile(freedom: int) -> float:
    """The quantile of Student's distribution, one-sided, for each of `LOOKS` choices."""
    return student(freedom, 1 - (1 - CONFIDENCE) / LOOKS)


def student(freedom: int, share: float) -> float:
    """What a ``share``, at least a half, of Student's distribution is below.

    With t = sqrt(freedom) tan(a) its integral from -t to t is a finite sum (Abramowitz and Stegun,
    "Handbook of Mathematical Functions", 1964, 26.7.3 and 26.7.4), which grows with a.  scipy's
    takes as long to import as small networks to be quantised.
    """
    low, high = 0.0, math.pi / 2
    for _ in range(_HALVINGS):
        middle = (low + high) / 2
        inside = _within(middle, freedom) < 2 * share - 1
        low, high = (middle, high) if inside else (low, middle)
    return math.sqrt(freedom) * math.tan((low + high) / 2)


def _within(angle: float, freedom: int) -> float:
    """The integral of `student`."""
    odd = freedom % 2
    term = math.cos(angle) if odd else 1.0
    total = term if freedom > 1 else 0.0
    for k in range(2 + odd, freedom - 1, 2):
        term *= math.cos(angle) ** 2 * (k - 1) / k
        total += term
    total *= math.sin(angle)
    return (angle + total) * 2 / math.pi if odd else total
