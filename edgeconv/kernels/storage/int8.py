"""Integers of eight bits, -127 ... 127, in units of a scale per output channel."""

from __future__ import annotations

import numpy as np

from edgeconv.ir.encoding import INT8
from edgeconv.kernels.storage.whole import whole

FORMAT = whole(
    INT8,
    lambda values: np.ascontiguousarray(values).tobytes(),
    lambda data: np.frombuffer(data, np.int8),
)
