"""Where the elements of a tensor lie in another one that it was made of by moving them only.

A dimension is a nest of factors, each a size and a step in elements, outermost first: so that also
one that a Reshape makes of several, heads of keys of which each is repeated, has steps.
"""

from __future__ import annotations

import math
from collections.abc import Sequence
from dataclasses import dataclass, replace

from edgeconv.ir.layout import Shape

Factor = tuple[int, int]  # how many, and the step from one to the next
Dimension = tuple[Factor, ...]  # without any: of size 1


@dataclass(frozen=True, slots=True)
class Strided:
    """Elements of a tensor as they lie in another one.  ``first``: the number of the first element;
    ``dimensions``: how the others follow."""

    first: int
    dimensions: tuple[Dimension, ...]

    @staticmethod
    def dense(shape: Shape) -> Strided:
        """All elements of a tensor, row-major."""
        steps = (math.prod(shape[d + 1 :]) for d in range(len(shape)))
        return Strided(0, tuple(_merged([pair]) for pair in zip(shape, steps, strict=True)))

    @property
    def shape(self) -> Shape:
        """The shape of what lies so."""
        return tuple(_size(dimension) for dimension in self.dimensions)

    def transposed(self, perm: Sequence[int]) -> Strided:
        """As Transpose has it."""
        return replace(self, dimensions=tuple(self.dimensions[axis] for axis in perm))

    def expanded(self, shape: Shape) -> Strided:
        """As Expand has it: dimensions of size 1, and those in front, are repeated."""
        front = len(shape) - len(self.dimensions)
        whole = ((),) * front + self.dimensions
        pairs = zip(shape, whole, strict=True)
        repeated = (found or _merged([(size, 0)]) for size, found in pairs)
        return replace(self, dimensions=tuple(repeated))

    def sliced(self, starts: Sequence[int], steps: Sequence[int], shape: Shape) -> Strided | None:
        """As Slice has it; None where it cuts a dimension of several factors."""
        first, found = self.first, []
        for dimension, start, step, size in zip(self.dimensions, starts, steps, shape, strict=True):
            if (start, size) == (0, _size(dimension)):
                found.append(dimension)
                continue
            if len(dimension) > 1:
                return None
            stride = dimension[0][1] if dimension else 0
            first += start * stride
            found.append(_merged([(size, step * stride)]))
        return Strided(first, tuple(found))

    def reshaped(self, shape: Shape) -> Strided | None:
        """As Reshape has it; None where a new dimension begins within a step."""
        left = [factor for dimension in reversed(self.dimensions) for factor in reversed(dimension)]
        left.reverse()
        found: list[Dimension] = []
        for size in shape:
            taken: list[Factor] = []
            while size > 1:
                if not left:
                    return None
                count, step = left.pop(0)
                part = min(size, count)
                if size % part or count % part:
                    return None
                taken.append((part, step * (count // part)))
                if count > part:
                    left.insert(0, (count // part, step))
                size //= part
            found.append(_merged(taken))
        return None if left else replace(self, dimensions=tuple(found))

    def split(self, sizes: Sequence[Shape]) -> Strided | None:
        """With each of the dimensions in as many as ``sizes`` says it is to be in; None where steps
        are others."""
        whole = self.expanded(tuple(math.prod(each) for each in sizes))
        return whole.reshaped(tuple(size for each in sizes for size in each))

    @property
    def steps(self) -> tuple[int, ...] | None:
        """By dimension, 0 for those of size 1; None where one has several."""
        if any(len(dimension) > 1 for dimension in self.dimensions):
            return None
        return tuple(dimension[0][1] if dimension else 0 for dimension in self.dimensions)


def common(views: Sequence[Strided], rank: int) -> list[Shape]:
    """For each of the last ``rank`` dimensions, aligned at the right, the sizes in which every one
    of ``views`` has but one step, if any are."""
    found = []
    for axis in range(-rank, 0):
        held = (view.dimensions[axis] for view in views if len(view.dimensions) >= -axis)
        ends: set[int] = {1}
        for dimension in held:
            inner = 1
            for size, _ in reversed(dimension):
                inner *= size
                ends.add(inner)
        inside = sorted(ends)
        pairs = zip(inside[1:], inside, strict=False)
        found.append(tuple(outer // inner for outer, inner in pairs)[::-1])
    return found


def _size(dimension: Dimension) -> int:
    return math.prod(size for size, _ in dimension)


def _merged(factors: Sequence[Factor]) -> Dimension:
    """The dimensions without those of size 1 and with neighbours in one where they are one step."""
    found: list[Factor] = []
    for size, step in factors:
        if size == 1:
            continue
        if found and found[-1][1] == size * step:
            found[-1] = (found[-1][0] * size, step)
        else:
            found.append((size, step))
    return tuple(found)
