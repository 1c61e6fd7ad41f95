"""The trees of an ensemble as tables: what `ec_trees.h` walks through.

A node and the one that is taken otherwise lie side by side, so that one index says where both are.
"""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass
from typing import Any

import numpy as np
import numpy.typing as npt

Array = npt.NDArray[Any]
Key = tuple[int, int]  # tree and node, as the model numbers them
Reject = Callable[[str, str], Exception]
Real = type[np.float32] | type[np.float64]  # of features, and so of splits

_LEAF = "LEAF"
EQUAL, MISSING = 2, 1  # bits of a feature's code
# Comparison -> whether it is of equality, whether it asks for less than the split rather than at
# most, and whether it is the contrary of that.
_MODES: Mapping[str, tuple[bool, bool, bool]] = {
    "BRANCH_LEQ": (False, False, False),
    "BRANCH_LT": (False, True, False),
    "BRANCH_GT": (False, False, True),
    "BRANCH_GTE": (False, True, True),
    "BRANCH_EQ": (True, False, False),
    "BRANCH_NEQ": (True, False, True),
}


@dataclass(frozen=True, slots=True)
class Tables:
    """``split``, ``feature``, ``next`` of the nodes, ``root`` of the trees; ``weight`` [leaf,
    target], None where a leaf has one number.  ``depth``: comparisons of the longest way."""

    split: Array
    feature: Array
    next: Array
    root: Array
    weight: Array | None
    depth: int


@dataclass(frozen=True, slots=True)
class Ensemble:
    """The attributes of ONNX's TreeEnsembleRegressor: of each node, and of each number of a leaf
    (``target_*``)."""

    keys: Sequence[Key]
    features: Sequence[int]
    splits: Array
    modes: Sequence[str]
    yes: Sequence[int]
    no: Sequence[int]
    missing: Sequence[int]
    target_keys: Sequence[Key]
    target_ids: Sequence[int]
    target_weights: Array

    def check(self, features: int, targets: int, reject: Reject) -> None:
        """Raise what ``reject`` makes of attributes that contradict each other."""
        lists = (self.features, self.splits, self.modes, self.yes, self.no, self.missing)
        given = (self.target_ids, self.target_weights)
        uneven = any(len(each) != len(self.keys) for each in lists)
        if uneven or any(len(each) != len(self.target_keys) for each in given) or not self.keys:
            raise reject("attributes of several lengths", "each node has one entry in every list")
        if len(set(self.keys)) != len(self.keys):
            raise reject("a node twice", "nodes of a tree have numbers of their own")
        if unknown := {*self.modes} - {*_MODES, _LEAF}:
            raise reject(f"mode {min(unknown)!r}", f"modes are {', '.join([*_MODES, _LEAF])}")
        known = {*self.keys}
        for i, (tree, node) in enumerate(self.keys):
            if self.modes[i] == _LEAF:
                continue
            if missing := [n for n in (self.yes[i], self.no[i]) if (tree, n) not in known]:
                raise reject(f"node {missing[0]} of tree {tree}", "branches go on with nodes")
            if not 0 <= self.features[i] < features:
                got = f"feature {self.features[i]} at node {node} of tree {tree}"
                raise reject(got, f"the input has {features} features")
            if np.isnan(self.splits[i]):
                raise reject(f"a split of {self.splits[i]}", "splits are numbers")
        if strange := [key for key in self.target_keys if key not in known]:
            raise reject(f"a number of node {strange[0][1]}, which tree {strange[0][0]} lacks", "")
        if self.target_ids and not 0 <= min(self.target_ids) <= max(self.target_ids) < targets:
            raise reject("a target out of range", f"targets are 0 to {targets - 1}")


def tables_of(ensemble: Ensemble, targets: int, kind: Real, reject: Reject) -> Tables:
    """The tables of an ``ensemble`` that has been checked, for features of ``kind``; raises what
    ``reject`` makes of a cycle."""
    index = {key: i for i, key in enumerate(ensemble.keys)}
    given = _given(ensemble, index)
    alone = all(len(given.get(i, ())) == 1 for i, m in enumerate(ensemble.modes) if m == _LEAF)
    roots = _roots(ensemble, index)
    depth = _depth(ensemble, index, roots, reject)
    order = [*roots]  # the node of the model in every place
    places: dict[int, int] = {}  # of the first of the two that a node goes on with
    for i in order:  # which grows meanwhile
        if ensemble.modes[i] != _LEAF and i not in places:
            places[i] = len(order)
            tree = ensemble.keys[i][0]
            both = [index[tree, ensemble.yes[i]], index[tree, ensemble.no[i]]]
            order += reversed(both) if _MODES[ensemble.modes[i]][2] else both
    rows: list[Array] = []
    split, feature, following = np.zeros(len(order), kind), [0] * len(order), [0] * len(order)
    for place, i in enumerate(order):
        if ensemble.modes[i] != _LEAF:
            split[place], feature[place] = _comparison(ensemble, i, kind)
            following[place] = places[i]
        elif alone:
            ((target, number),) = given[i]
            split[place], feature[place] = number, -1 - target
        else:
            feature[place], following[place] = -1, len(rows)
            rows.append(_row(given.get(i, ()), targets))
    return Tables(
        split,
        _narrow(feature),
        _narrow(following),
        np.arange(len(roots), dtype=np.int32),
        None if alone else np.stack(rows),
        depth,
    )


def _given(ensemble: Ensemble, index: Mapping[Key, int]) -> dict[int, list[tuple[int, float]]]:
    """By node: targets, each once, and what they are given."""
    sums: dict[int, dict[int, float]] = {}
    weights = np.asarray(ensemble.target_weights, np.float64).tolist()
    for key, target, weight in zip(ensemble.target_keys, ensemble.target_ids, weights, strict=True):
        of = sums.setdefault(index[key], {})
        of[target] = of.get(target, 0.0) + weight
    return {node: list(of.items()) for node, of in sums.items()}


def _row(given: Sequence[tuple[int, float]], targets: int) -> Array:
    row = np.zeros(targets, np.float32)
    for target, number in given:
        row[target] = number
    return row


def _roots(ensemble: Ensemble, index: Mapping[Key, int]) -> list[int]:
    """The first node of each tree, as engines have it."""
    first: dict[int, int] = {}
    for tree, node in ensemble.keys:
        first.setdefault(tree, index[tree, node])
    return [first[tree] for tree in sorted(first)]


def _depth(
    ensemble: Ensemble, index: Mapping[Key, int], roots: Sequence[int], reject: Reject
) -> int:
    """Comparisons of the longest way; no recursion, since a model may be as deep as it likes."""
    depths: dict[int, int] = {}
    begun: set[int] = set()
    waiting = [*roots]
    while waiting:
        i = waiting[-1]
        if i in depths:
            waiting.pop()
            continue
        if ensemble.modes[i] == _LEAF:
            depths[i] = 0
            continue
        tree = ensemble.keys[i][0]
        both = [index[tree, ensemble.yes[i]], index[tree, ensemble.no[i]]]
        open_ = [node for node in both if node not in depths]
        if not open_:
            depths[i] = 1 + max(depths[node] for node in both)
        elif i in begun:
            raise reject(f"a cycle in tree {tree}", "no branch leads back to a node before it")
        else:
            begun.add(i)
            waiting += open_
    return max(depths.values())


def _comparison(ensemble: Ensemble, i: int, kind: Real) -> tuple[Any, int]:
    """Split and code of a node.

    A feature of ``kind`` is at most a split of float64 where it is at most the largest number of
    ``kind`` that is, and equal to one that ``kind`` lacks nowhere.  NaN is smaller than nothing and
    equal to nothing, so that it goes where the comparison fails, unless the model says that it
    succeeds.
    """
    equal, less, contrary = _MODES[ensemble.modes[i]]
    number = float(ensemble.splits[i])
    split = _at_most(number, kind)
    if equal and float(split) != number:
        split = kind(np.nan)
    elif less and float(split) == number:  # of which there is none below -infinity
        split = np.nextafter(split, kind(-np.inf)) if number > -np.inf else kind(np.nan)
    succeeds = bool(ensemble.missing[i]) or ensemble.modes[i] == "BRANCH_NEQ"
    code = 4 * int(ensemble.features[i]) + EQUAL * equal + MISSING * (succeeds != contrary)
    return split, code


def _at_most(number: float, kind: Real) -> Any:
    """The largest number of ``kind`` that is not larger."""
    with np.errstate(over="ignore"):
        nearest = kind(number)
    return np.nextafter(nearest, kind(-np.inf)) if float(nearest) > number else nearest


def _narrow(entries: Sequence[int]) -> Array:
    """The numbers as int16 where that holds them."""
    found = np.asarray(entries, np.int64)
    narrow = np.iinfo(np.int16)
    fits = bool((found >= narrow.min).all() and (found <= narrow.max).all())
    return found.astype(np.int16 if fits else np.int32)
