"""Ratios of powers in decibels."""

from __future__ import annotations

import math


def sqnr_db(signal: float, noise: float) -> float:
    """10 log10(signal / noise) of two sums of squares; infinite without noise."""
    if noise == 0.0:
        return math.inf
    ratio = signal / noise
    return 10.0 * math.log10(ratio) if ratio > 0.0 else -math.inf
