"""Looking for the largest size that fits, and cutting into parts of a size."""

from __future__ import annotations

from collections.abc import Callable
from enum import Enum


class Search(Enum):
    """How the largest value that fits is looked for (Section 4.1)."""

    BINARY = "binary"  # the largest
    HALVING = "halving"  # start at the most there can be, halve until it fits
    EVEN = "even"  # as few parts as BINARY, all of nearly the same size

    def largest(self, most: int, fits: Callable[[int], bool]) -> int:
        """The value from 1 to ``most`` to take, 0 when not even 1 fits.

        ``fits`` must hold for every value below one that it holds for.
        """
        if self is Search.HALVING:
            value = most
            while value and not fits(value):
                value //= 2
            return value
        low, high = 0, most
        while low < high:
            middle = (low + high + 1) // 2
            low, high = (middle, high) if fits(middle) else (low, middle - 1)
        return even(most, low) if self is Search.EVEN and low else low


def ceil_div(whole: int, size: int) -> int:
    """How many of ``size`` cover ``whole``."""
    return -(-whole // size)


def even(whole: int, size: int) -> int:
    """The size of as many pieces as ``size`` would make, all but the last of one size."""
    return ceil_div(whole, ceil_div(whole, size))


def last(whole: int, size: int) -> int:
    """The size of the last piece."""
    return whole - (ceil_div(whole, size) - 1) * size
