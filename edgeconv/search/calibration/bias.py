"""Bias correction: rounding must not move a channel's mean.

Rounded filters q in place of w move the mean of output channel o by (q - w) times the mean column
of inputs, which calibration inputs tell.  The bias takes it back.  Every Conv and Dense layer has a
bias in the weight image, zeros where the model has none, so that this costs no bytes.
"""

from __future__ import annotations

import numpy as np

from edgeconv.search.calibration.codebook import Doubles
from edgeconv.search.calibration.inference import Floats
from edgeconv.search.calibration.moments import Averages, Moments, Rows


def corrected(
    bias: Floats, weights: Doubles, found: Doubles, moments: Averages | Moments, rows: Rows
) -> Floats:
    """``bias`` plus what rounding ``weights`` to ``found`` (P, rows, k) takes from the mean."""
    moved = np.einsum("pok,pk->po", weights - found, moments.mean)
    return (bias + rows.sum_per_row(moved)).astype(np.float32)
