"""Depthwise convolution of int8 in integers: a vector holds neighbouring channels.

Sums are int32, and results what the model says, exactly (``sums``).  Channels lie last.
"""

from __future__ import annotations

from edgeconv.ir.candidate import INTEGERS
from edgeconv.kernels.algorithms.base import Algorithm
from edgeconv.kernels.algorithms.int8_depthwise.candidate import candidates
from edgeconv.kernels.algorithms.int8_depthwise.lower import lower
from edgeconv.kernels.lowering.options import Stored, channels_last_only

ALGORITHM = Algorithm(
    "int8_depthwise",
    candidates,
    channels_last_only,
    lower,
    Stored.BOTH,
    compute=INTEGERS,
    requires="one filter per input channel, input, filters and result of int8, of a model that "
    "rounds them so, and vectors or portable C",
)
