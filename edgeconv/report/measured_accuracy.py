"""What was measured of a network that rounds, for JSON and in words."""

from __future__ import annotations

import math
from typing import Any

from edgeconv.report.numbers import finite
from edgeconv.search.calibration.confidence import CONFIDENCE, FEWEST
from edgeconv.search.calibration.sqnr import Accuracy

POOR_DB = 15.0
FEW = 8  # samples below which accuracy is hardly known


def document(found: Accuracy) -> dict[str, Any]:
    """What JSON has of it besides SQNR."""
    keys = ("top1_drop", "top1", "agreement", "at_risk", "samples")
    measured = {key: getattr(found, key) for key in keys}
    return {"max_abs_error": finite(found.max_abs_error), **measured}


def measured_notes(
    measured: Accuracy,
    source: str,
    *,
    alike: bool = False,
    option: str = "--calibration",
    held_back: int = 2,
) -> tuple[str, ...]:
    """What was ``measured``, and what it is worth.  ``alike``: all samples are the same.
    ``option``: by which they are given.  ``held_back``: every so many are measured on."""
    lines = [f"accuracy: {words(measured)}, on {measured.samples} of {source}"]
    if measured.at_least_db is not None and math.isfinite(measured.at_least_db):
        lines.append(
            f"at least {measured.at_least_db:.1f} dB on other inputs like these samples, with "
            f"{CONFIDENCE:.0%} confidence from {measured.samples} of them"
        )
    if not measured.promised:
        lines.append(
            f"without {option} nothing is promised about accuracy: other inputs than seeded "
            "ones may fare worse"
        )
    elif alike or measured.samples < FEW:
        count = measured.samples
        few = f"{count} sample{'s' * (count > 1)} to measure on"
        few = "all samples are the same" if alike else few
        least = held_back * FEWEST
        lines.append(
            f"{few}: that says little about other inputs, and filters were rounded by as little; "
            f"{option} should have dozens that differ, {least} at least for any promise"
        )
    if measured.sqnr_db < POOR_DB:
        lines.append(
            f"that is little: outputs were off by up to {measured.max_abs_error:.2g}; below "
            f"{POOR_DB:.0f} dB try the program on real inputs before using it; --min-sqnr sets a "
            "floor, and more memory less error"
        )
    return tuple(lines)


def words(measured: Accuracy) -> str:
    """SQNR, and top-1 where it is known."""
    sqnr = measured.sqnr_db
    words = f"SQNR {sqnr:.1f} dB" if math.isfinite(sqnr) else "SQNR infinite"
    if measured.metric is not None and measured.metric_drop is not None:
        plain = measured.metric + measured.metric_drop
        words += f", {measured.metric_name} {measured.metric:.4g} (float32: {plain:.4g})"
    if measured.top1 is not None and measured.top1_drop is not None:
        plain = measured.top1 + measured.top1_drop
        words += f", top-1 {measured.top1:.1%} (float32: {plain:.1%})"
    elif measured.agreement is not None:
        words += f", the same top class as float32 for {measured.agreement:.1%}"
    return words
