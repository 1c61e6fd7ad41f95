"""How a sparse constant is stored: the order in which its dimensions are walked.

A tensor of n dimensions with blocks in k of them is a tensor of n + k dimensions: those of the
blocks among each other, walked first, and those within a block.  A dimension is dense, every index
of it there, or compressed: of each place that those before it have, only the listed indices.
(SparsityParameters of the schema; after "Format abstraction for sparse tensor algebra compilers",
Chou, Kjolstad, Amarasinghe, 2018.)
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass

from edgeconv.base import limits
from edgeconv.model.tflite.flatbuffer import DamagedError, Place, Table

# Of the schema's tables SparsityParameters and DimensionMetadata; numbers in order of fields.
_ORDER, _BLOCKS, _DIMENSIONS = range(3)
_FORMAT, _SIZE, _BOUND_KIND, _BOUNDS, _INDEX_KIND, _INDICES = range(6)
_DENSE, _COMPRESSED = range(2)
_VALUES = 0  # of Int32Vector, Uint16Vector and Uint8Vector
_WIDTHS = {1: ("i", 4), 2: ("H", 2), 3: ("B", 1)}  # by the number of these in their union


@dataclass(frozen=True, slots=True)
class Numbers:
    """A vector of the file: where its elements begin and how many there are, and their letter of
    `struct`."""

    place: Place
    code: str


@dataclass(frozen=True, slots=True)
class Dimension:
    """A dimension of a sparse tensor.  ``axis``: of the tensor of n + k dimensions.  ``size``: how
    many indices it has.

    Of a compressed one, place p of those before it has the ``indices`` from ``bounds[p]`` to
    ``bounds[p + 1]`` (the schema's segments); both are None of a dense one, where each has all.
    """

    axis: int
    size: int
    bounds: Numbers | None = None
    indices: Numbers | None = None


@dataclass(frozen=True, slots=True)
class Sparsity:
    """``dimensions`` in the order in which elements are stored.  ``blocks``: the dimension of the
    tensor, and the size, of each dimension of a block."""

    dimensions: tuple[Dimension, ...]
    blocks: tuple[tuple[int, int], ...]


def read_sparsity(table: Table, shape: Sequence[int], where: str) -> Sparsity:
    """How the constant of ``shape`` that ``table`` describes is stored; ``where``: its file.

    Raises DamagedError where that is no walk over the dimensions of ``shape``.
    """
    order, mapped = table.numbers(_ORDER, "i"), table.numbers(_BLOCKS, "i")
    rank = len(shape)
    limits.held("tensor-rank", max(len(order), table.length(_DIMENSIONS)), where)
    outer, inner = sorted(order[:rank]), sorted(order[rank:])
    if outer != list(range(rank)) or inner != list(range(rank, rank + len(mapped))):
        raise DamagedError(f"a walk over dimensions {list(order)} of shape {list(shape)}")
    if table.length(_DIMENSIONS) != len(order):
        raise DamagedError(f"{table.length(_DIMENSIONS)} descriptions of {len(order)} dimensions")
    if len(set(mapped)) < len(mapped) or not all(0 <= axis < rank for axis in mapped):
        raise DamagedError(f"blocks of dimensions {list(mapped)} of shape {list(shape)}")
    read = dict(zip(order, table.tables(_DIMENSIONS), strict=True))
    blocks = [(axis, _block_size(read[rank + i])) for i, axis in enumerate(mapped)]
    sizes = list(shape)
    for axis, size in blocks:
        if size < 1 or shape[axis] % size:
            raise DamagedError(f"blocks of {size} along axis {axis} of shape {list(shape)}")
        sizes[axis] //= size
    sizes += [size for _, size in blocks]
    dimensions = tuple(_dimension(axis, sizes[axis], read[axis]) for axis in order)
    return Sparsity(dimensions, tuple(blocks))


def _block_size(table: Table) -> int:
    """The size of a dimension within a block, all of which is stored."""
    if table.scalar(_FORMAT, "b", 0) != _DENSE:
        raise DamagedError("a block that is not dense within")
    return int(table.scalar(_SIZE, "i", 0))


def _dimension(axis: int, size: int, table: Table) -> Dimension:
    kind = table.scalar(_FORMAT, "b", 0)
    if kind == _COMPRESSED:
        bounds = _numbers(table, _BOUND_KIND, _BOUNDS)
        return Dimension(axis, size, bounds, _numbers(table, _INDEX_KIND, _INDICES))
    if kind != _DENSE:
        raise DamagedError(f"a dimension of format {kind}")
    stated = table.scalar(_SIZE, "i", 0)
    if stated != size:
        raise DamagedError(f"a dimension of {stated} indices where there are {size}")
    return Dimension(axis, size)


def _numbers(table: Table, kind: int, field: int) -> Numbers:
    """A vector of 32, 16 or 8 bits; empty where it is absent, as writers may leave it."""
    number, own = table.scalar(kind, "B", 0), table.table(field)
    if own is None:
        return Numbers((0, 0), "B")
    if number not in _WIDTHS:
        raise DamagedError(f"indices of type {number}")
    code, size = _WIDTHS[number]
    return Numbers(own.vector(_VALUES, size) or (0, 0), code)
