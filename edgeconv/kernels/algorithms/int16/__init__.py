"""Convolution in integers where the input or the result has 16 bits, filters of int8.

Sums are int32, or of 64 bits where they do not fit that, and results what the model says, exactly
(``wide_sums``).  Channels lie last.
"""

from __future__ import annotations

from edgeconv.ir.candidate import INT16
from edgeconv.kernels.algorithms.base import Algorithm
from edgeconv.kernels.algorithms.int16.candidate import candidates
from edgeconv.kernels.algorithms.int16.lower import lower
from edgeconv.kernels.lowering.options import Stored, channels_last_only

ALGORITHM = Algorithm(
    "int16",
    candidates,
    channels_last_only,
    lower,
    Stored.BOTH,
    compute=INT16,
    requires="input or result of int16, the other of that or int8, and filters of int8, of a model "
    "that rounds them so, and with AVX-512 `int8_dot` in the board's file",
)
