"""Convolution of int8 in integers, one channel after the other: for cores without vectors.

Sums are int32, and results what the model says, exactly (``sums``).  Channels lie last.
"""

from __future__ import annotations

from edgeconv.algorithms.base import Algorithm
from edgeconv.algorithms.integer.candidate import candidates
from edgeconv.algorithms.integer.lower import lower
from edgeconv.ir.candidate import INTEGERS
from edgeconv.lowering.options import Stored, channels_last_only

ALGORITHM = Algorithm(
    "integer",
    candidates,
    channels_last_only,
    lower,
    Stored.BOTH,
    compute=INTEGERS,
    requires="input, filters and result of int8, of a model that rounds them so, and no vectors",
)
