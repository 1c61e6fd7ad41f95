"""Winograd's algorithm of int8, exact: in int16, summed modulo 2^32.

A quarter or a half of the products of a direct convolution, of numbers twice as wide, and the very
integers that it makes: an ordinary candidate.  Channels lie last.
"""

from __future__ import annotations

from edgeconv.ir.candidate import INTEGERS
from edgeconv.kernels.algorithms.base import Algorithm
from edgeconv.kernels.algorithms.int8_winograd.candidate import candidates
from edgeconv.kernels.algorithms.int8_winograd.lower import lower
from edgeconv.kernels.lowering.options import Stored, channels_last_only

ALGORITHM = Algorithm(
    "int8_winograd",
    candidates,
    channels_last_only,
    lower,
    Stored.BOTH,
    compute=INTEGERS,
    requires="a 3x3 kernel with strides and dilations of 1, input, filters and result of int8, of "
    "a model that rounds them so, two input channels in a group, sums that leave six bits of 32 "
    "free (two for F(2x2, 3x3)), and a core with kernels for int16 (`int8_dot` in some boards' "
    "files)",
)
