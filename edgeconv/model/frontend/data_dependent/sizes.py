"""Sizes of dimensions that are data-dependent: sums of multiples of counts."""

from __future__ import annotations

import math
from collections.abc import Iterable, Mapping
from dataclasses import dataclass, field
from typing import Any

import numpy as np
import numpy.typing as npt


@dataclass(frozen=True, order=True, slots=True)
class Count:
    """A number from 0 to ``most`` that the tensor ``name``, int64 of shape [1], has at run time."""

    name: str
    most: int


@dataclass(frozen=True, slots=True)
class Size:
    """``constant`` and so many times each count of ``terms``, none of them zero times."""

    terms: Mapping[Count, int] = field(hash=False)
    constant: int = 0

    @property
    def most(self) -> int:
        """No larger than this."""
        return self.constant + sum(c.most * times for c, times in self.terms.items() if times > 0)

    @property
    def least(self) -> int:
        """No smaller than this."""
        return self.constant + sum(c.most * times for c, times in self.terms.items() if times < 0)

    def __neg__(self) -> Dim:
        return _sum([(self, -1)])

    def __add__(self, other: Dim) -> Dim:
        return _sum([(self, 1), (other, 1)])

    def __radd__(self, other: int) -> Dim:
        return self + other

    def __sub__(self, other: Dim) -> Dim:
        return _sum([(self, 1), (other, -1)])

    def __rsub__(self, other: int) -> Dim:
        return _sum([(other, 1), (self, -1)])

    def __mul__(self, times: int) -> Dim:
        return _sum([(self, int(times))])

    def __rmul__(self, times: int) -> Dim:
        return self * times

    def divided(self, by: int) -> Dim | None:
        """Where that leaves nothing."""
        if not by or any(times % by for times in (self.constant, *self.terms.values())):
            return None
        return Size({c: times // by for c, times in self.terms.items()}, self.constant // by)


Dim = int | Size
Dims = tuple[Dim, ...]
Sizes = npt.NDArray[np.object_]  # of Dim


@dataclass(frozen=True, slots=True)
class Numbers:
    """A value of the model's that is such sizes: ``dtype`` is that of its elements."""

    sizes: Sizes
    dtype: np.dtype[Any]


def of_count(count: Count) -> Size:
    """The size that a count is."""
    return Size({count: 1})


def most(dim: Dim) -> int:
    """The largest that it is."""
    return dim.most if isinstance(dim, Size) else dim


def least(dim: Dim) -> int:
    """The smallest that it is."""
    return dim.least if isinstance(dim, Size) else dim


def times(a: Dim, b: Dim) -> Dim | None:
    """Their product, where that is a sum of counts."""
    if isinstance(a, Size):
        return None if isinstance(b, Size) else a * b
    return b * a


def lowest(dtype: np.dtype[Any]) -> int | float:
    """The smallest number of a type, which is infinite where there is such a one."""
    return -math.inf if dtype.kind == "f" else int(np.iinfo(dtype).min)


def highest(dtype: np.dtype[Any]) -> int | float:
    """The largest one."""
    return math.inf if dtype.kind == "f" else int(np.iinfo(dtype).max)


def largest(dims: Iterable[Dim]) -> tuple[int, ...]:
    """The shape of what holds a tensor of ``dims``."""
    return tuple(map(most, dims))


def sizes_of(values: Any) -> Sizes:
    """An array of them."""
    found = np.empty(np.shape(values), object)
    for at, value in np.ndenumerate(np.asarray(values, object)):
        found[at] = value if isinstance(value, Size) else int(value)
    return found


def _sum(summands: Iterable[tuple[Dim, int]]) -> Dim:
    terms: dict[Count, int] = {}
    constant = 0
    for dim, times in summands:
        if isinstance(dim, Size):
            constant += dim.constant * times
            for count, each in dim.terms.items():
                terms[count] = terms.get(count, 0) + each * times
        else:
            constant += int(dim) * times
    terms = {count: times for count, times in terms.items() if times}
    return Size(terms, constant) if terms else constant
