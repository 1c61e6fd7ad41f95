"""Trees of an ensemble filled up to one depth: what `ec_complete_trees.h` goes through for vectors
of rows at once, where that takes fewer slots than walks through them."""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from dataclasses import dataclass
from typing import Any

import numpy as np
import numpy.typing as npt

from edgeconv.ir.choice import Blob
from edgeconv.kernels.ops.tree_tables import EQUAL, MISSING
from edgeconv.target.targets import Target

Array = npt.NDArray[Any]

_BOTTOM = 3  # depth of the lowest subtrees, EC_TREE_BOTTOM
_DEEPEST = 10  # EC_TREE_DEPTH
_MOST_BYTES = 3  # for one of the walk's tables
_VECTORS = (4, 2, 1)  # of rows at once, at most EC_TREE_VECTORS


@dataclass(frozen=True, slots=True)
class CompleteTrees:
    """How the kernel takes an ensemble.  ``vectors`` of rows at once; ``slots`` of all rows;
    ``columns``: 2 * feature, and 1 more where NaN takes the first branch; ``place`` of each split's
    column among them, ``split`` and ``leaf`` by tree, ``target`` of each tree."""

    vectors: int
    slots: float
    columns: Array
    place: Array
    split: Array
    leaf: Array
    target: Array

    def workspace_floats(self, targets: int, lanes: int) -> int:
        """Columns and sums of the rows that go through the trees at once."""
        return (len(self.columns) + targets) * self.vectors * lanes

    def blobs(self, lanes: int) -> Mapping[str, Blob]:
        """The tables, by the kernel's names of them."""
        at = self.place * (self.vectors * lanes)
        return {
            "column": _blob("column", self.columns),
            "split": _blob("split", self.split),
            "at": _blob("at", at),
            "leaf": _blob("leaf", self.leaf),
            "target": _blob("target", self.target),
        }


def _blob(name: str, values: Array) -> Blob:
    kind = values.dtype if values.dtype == np.float32 else np.dtype(np.int32)
    return Blob(name, values.size, lambda: values.reshape(-1).astype(kind), dtype=kind.name)


def complete_trees(
    rows: int, depth: int, targets: int, tables: Mapping[str, Array], target: Target
) -> CompleteTrees | None:
    """The complete trees of the walk's ``tables`` (`tree_tables`), all of them sums; None where
    leaves have rows of numbers, trees are deeper, give several targets numbers, compare for
    equality, or with infinity, which NaN is taken for, have so few nodes that they would take
    several times as many bytes, or where a target that flushes subnormal numbers would go another
    way than walks do."""
    if target.lanes == 1 or not 1 <= depth <= _DEEPEST:
        return None
    walk = sum(tables[name].nbytes for name in ("split", "feature", "next"))
    if len(tables["root"]) * (12 << depth) > _MOST_BYTES * walk:  # two words a split, one a leaf
        return None
    vectors, slots = _cheapest(rows, depth, len(tables["root"]), target.lanes)
    feature = tables["feature"].astype(np.int64)
    inner = feature >= 0
    if (feature[inner] & EQUAL).any() or not (tables["split"][inner] < np.inf).all():
        return None
    nodes_at = [*_by_depth(feature, tables["next"].astype(np.int64), tables["root"], depth)]
    leaves = nodes_at.pop()
    given = -1 - feature[leaves]
    if (given != given[:, :1]).any():
        return None
    nodes = np.concatenate(nodes_at, axis=1)[:, _order(depth)]
    code = np.where(feature[nodes] >= 0, feature[nodes], feature[inner][0])
    columns, place = np.unique(2 * (code >> 2) + (code & MISSING), return_inverse=True)
    split = np.where(feature[nodes] >= 0, tables["split"][nodes], np.float32(1))
    if target.flushes_subnormals and (np.abs(split) < np.finfo(np.float32).tiny).any():
        return None  # vectors read features next to 0 as 0, of which only such splits see anything
    return CompleteTrees(
        vectors,
        slots + _columns_slots(rows, len(columns), targets, vectors, target.lanes),
        columns,
        place.reshape(-1),
        split.astype(np.float32),
        tables["split"][leaves].astype(np.float32),
        given[:, 0],
    )


def _by_depth(feature: Array, following: Array, root: Array, depth: int) -> Iterator[Array]:
    """The numbers of the nodes of each depth [tree, node]; a leaf goes on with itself."""
    nodes = root.astype(np.int64)[:, None]
    for _ in range(depth):
        yield nodes
        inner = feature[nodes] >= 0
        both = [np.where(inner, following[nodes] + no, nodes) for no in (0, 1)]
        nodes = np.stack(both, axis=-1).reshape(len(root), -1)
    yield nodes


def _order(depth: int) -> list[int]:
    """The nodes of a tree, which are numbered from the root down, as the kernel meets them."""

    def bottom(node: int, height: int) -> Iterator[int]:
        yield node
        if height > 1:
            yield from bottom(2 * node + 1, height - 1)
            yield from bottom(2 * node + 2, height - 1)

    def met(node: int, height: int) -> Iterator[int]:
        if height <= _BOTTOM:
            yield from bottom(node, height)
            return
        yield from met(2 * node + 1, height - 1)
        yield from met(2 * node + 2, height - 1)
        yield node

    return [*met(0, depth)]


def _cheapest(rows: int, depth: int, trees: int, lanes: int) -> tuple[int, float]:
    """Vectors at once, and slots of all trees.  Of a split, 1.25 per vector and 1.75 besides, of a
    leaf half a one, and of a tree its sum: so they come within a tenth of what a Zen 4 takes for
    depths of 3 to 8 (.27 ns a slot)."""
    leaves = 1 << depth

    def slots(vectors: int) -> float:
        tree = (leaves - 1) * (1.25 * vectors + 1.75) + leaves / 2 + 2 * vectors + 2
        return float(-(-rows // (vectors * lanes)) * trees * tree)

    best = min(_VECTORS, key=slots)
    return best, slots(best)


def _columns_slots(rows: int, columns: int, targets: int, vectors: int, lanes: int) -> float:
    """Columns are gathered a number at a time, and results written so."""
    filled = -(-rows // (vectors * lanes)) * vectors * lanes
    return 1.5 * filled * columns + 2.0 * rows * targets
