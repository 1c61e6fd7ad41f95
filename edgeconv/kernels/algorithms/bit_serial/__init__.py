"""Convolution of few bits by few bits, 32 channels in a word: for cores without vectors.

Signs, which a binary network has for filters and activations, are multiplied by exclusive or; more
bits are as many such products (ec_bit_serial.h).  Sums are int32, and results what the model says,
exactly (``sums``).  Channels lie last.
"""

from __future__ import annotations

from edgeconv.ir.candidate import INTEGERS
from edgeconv.kernels.algorithms.base import Algorithm
from edgeconv.kernels.algorithms.bit_serial.candidate import candidates
from edgeconv.kernels.algorithms.bit_serial.lower import lower
from edgeconv.kernels.lowering.options import Stored, channels_last_only

ALGORITHM = Algorithm(
    "bit_serial",
    candidates,
    channels_last_only,
    lower,
    Stored.BOTH,
    compute=INTEGERS,
    requires="an input of at most four bits and filters of magnitude at most 3, of a model that "
    "rounds them so, one group, no residual, neighbouring columns, and no vectors",
)
