"""Filters of int8 that are joined in pairs, one number of 16 bits for two (ec_int8_joined.h).

f + 256 g of two filters is multiplied as one number, and the first filter by itself: 256 times the
sum of the second is the difference.  With SMLAD that takes half the instructions that widen bytes.
"""

from __future__ import annotations

import numpy as np
import numpy.typing as npt

from edgeconv.kernels.algorithms.integer.packing import K_BLOCK
from edgeconv.kernels.algorithms.problem import ConvProblem
from edgeconv.target.targets import DSP, THUMB_1, Target

Floats = npt.NDArray[np.float32]
PANEL_BYTES_BEYOND = 24  # read beyond a panel, a k-block of three pixels
FILTERS_BEYOND = 2 * K_BLOCK  # numbers beyond the last filters, at least those that are read
_ORDER = [0, 2, 1, 3]  # numbers of a k-block, as a panel has them


def joins(problem: ConvProblem, target: Target) -> bool:
    """Whether filters are multiplied in pairs: loops in assembly do."""
    loops = target.is_scalar and not {DSP, THUMB_1}.isdisjoint(target.features)
    return loops and problem.sum_facts.joins and not problem.asymmetric


def side_by_side(filters: Floats, beyond: int = 0) -> Floats:
    """Filters in k-blocks by two or four (`packing.in_k_blocks`), in the order of numbers that are
    joined: of a pair's k-block the first number of either, the third, the second and the fourth;
    behind them so many zeros as are read ``beyond``."""
    pairs = filters.reshape(-1, 2, K_BLOCK)[:, :, _ORDER]
    found: Floats = np.pad(pairs.transpose(0, 2, 1).reshape(-1), (0, beyond))
    return found


def joined(numbers: Floats) -> Floats:
    """The bytes of f + 256 g, the lower one first, of numbers f and g that lie `side_by_side`."""
    return _with_second(numbers, -1)


def parted(stored: Floats) -> Floats:
    """The numbers that were `joined`."""
    return _with_second(stored, 1)


def _with_second(numbers: Floats, by: int) -> Floats:
    """``numbers``, the second of each pair changed ``by`` so much where the first is negative."""
    pairs = numbers.reshape(-1, 2)
    found: Floats = np.stack([pairs[:, 0], pairs[:, 1] + by * (pairs[:, 0] < 0)], axis=1)
    return found.reshape(-1).astype(np.float32)
