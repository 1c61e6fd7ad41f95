"""Tree ensembles of ai.onnx.ml, all as the TreeEnsembleRegressor that `kernels/ops/trees.py`
compiles and what becomes of its sums (https://onnx.ai/onnx/operators/index.html#ai-onnx-ml)."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import Any

import numpy as np
import onnx
from onnx import numpy_helper

from edgeconv.model.frontend.definitions.definition import Definition, Row, Values
from edgeconv.model.frontend.definitions.features import labels, real
from edgeconv.model.frontend.definitions.fused import text
from edgeconv.model.frontend.definitions.learned import second_above, transformed, two_of

DOMAIN = "ai.onnx.ml"

_LABELS = ("classlabels_int64s", "classlabels_strings")
_NODES = (
    *("nodes_treeids", "nodes_nodeids", "nodes_featureids", "nodes_modes", "nodes_truenodeids"),
    *("nodes_falsenodeids", "nodes_missing_value_tracks_true", "nodes_values"),
    "nodes_values_as_tensor",
)
_MODES = ("LEQ", "LT", "GTE", "GT", "EQ", "NEQ")  # of TreeEnsemble; the next is membership
_MEMBER = len(_MODES)
_FUNCTIONS = ("AVERAGE", "SUM", "MIN", "MAX")
_TRANSFORMS = ("NONE", "SOFTMAX", "LOGISTIC", "SOFTMAX_ZERO", "PROBIT")


def is_transformed(node: onnx.NodeProto) -> bool:
    """A TreeEnsembleRegressor is more than its sums."""
    kinds = [a.s for a in node.attribute if a.name == "post_transform"]
    return any(kind not in (b"", b"NONE") for kind in kinds)


def _numbers(d: Definition, name: str) -> Values:
    """A list of real numbers, which newer versions may have as a tensor."""
    tensor = d.attr(f"{name}_as_tensor")
    if isinstance(tensor, onnx.TensorProto):
        return numpy_helper.to_array(tensor).reshape(-1)
    return np.asarray(d.numbers(name), np.float32)


def _sums(d: Definition, targets: int, **attrs: Any) -> str:
    """The node that `kernels/ops/trees.py` compiles."""
    found = {name: value for name, value in attrs.items() if not _is_empty(value)}
    return d.add("TreeEnsembleRegressor", [real(d, 0)], domain=DOMAIN, n_targets=targets, **found)


def _is_empty(value: Any) -> bool:
    return value is None or (isinstance(value, Sequence) and not len(value))


def _regressor(d: Definition) -> None:
    targets = d.integer("n_targets", 1)
    names = ("target_treeids", "target_nodeids", "target_ids", "target_weights", "base_values")
    tensors = ("target_weights_as_tensor", "base_values_as_tensor", "aggregate_function")
    sums = _sums(d, targets, **d.attrs(*_NODES, *names, *tensors))
    transformed(d, sums, targets, text(d, "post_transform"), d.node.output[0])


def _classifier(d: Definition) -> None:
    """Several classes: the label of the largest score.  Two of which trees add up the second only,
    whose id is 0: that of a sum above 0, or above 1/2 where no leaf is negative."""
    count = max(len(d.attr(name, ())) for name in _LABELS)
    ids, weights = {*d.numbers("class_ids", int)}, _numbers(d, "class_weights")
    base = len(_numbers(d, "base_values"))
    alone = count == 2 and ids == {0}
    if count < 2 or base not in ((0, 1) if alone else (0, count)) or (count == 2 and ids == {1}):
        got = f"{count} labels, class_ids {sorted(ids)[:4]}, {base} base values"
        raise d.rejected(got, "two classes or more; engines disagree on the scores of others")
    if count == 2 and not alone and base:
        raise d.rejected("base values of two classes", "engines disagree on what they are added to")
    classes = ("class_treeids", "class_nodeids", "class_ids", "class_weights")
    renamed = {name.replace("class", "target", 1): d.attr(name) for name in classes}
    renamed["target_weights_as_tensor"] = d.attr("class_weights_as_tensor")
    attrs = d.attrs(*_NODES, "base_values", "base_values_as_tensor")
    scores = _sums(d, 1 if alone else count, **renamed, **attrs)
    kind = text(d, "post_transform") or "NONE"
    if alone:
        positive = bool((weights >= 0).all())
        second_above(d, scores, 0.5 if positive else 0.0, _LABELS)
        opposite = not positive or kind == "LOGISTIC"
        scores = two_of(d, scores, "opposite" if opposite else "complement")
        if kind in ("SOFTMAX", "SOFTMAX_ZERO"):
            kind = "NONE"
    else:
        best = d.add("ArgMax", [scores], axis=-1, keepdims=0)
        labels(d, best, _LABELS, d.output(0) or d.add("Identity", [best]))
    if d.output(1):
        transformed(d, scores, count, kind, d.output(1))


def _values(d: Definition, name: str) -> Values:
    tensor = d.attr(name)
    if not isinstance(tensor, onnx.TensorProto):
        return np.zeros(0)
    return numpy_helper.to_array(tensor).reshape(-1)


def _ensemble(d: Definition) -> None:
    """TreeEnsemble, whose trees are ways through one list of nodes, which a test of membership
    makes several tests of equality."""
    function, kind = d.integer("aggregate_function", 1), d.integer("post_transform", 0)
    if not 0 <= function < len(_FUNCTIONS) or not 0 <= kind < len(_TRANSFORMS):
        raise d.rejected(f"aggregate_function {function}, post_transform {kind}", "ONNX has none")
    targets = d.integer("n_targets", 1)
    sums = _sums(d, targets, **_Written(d).attrs(), aggregate_function=_FUNCTIONS[function])
    if d.dtype(0) == "float32":
        transformed(d, sums, targets, _TRANSFORMS[kind], d.node.output[0])
        return
    made = transformed(d, sums, targets, _TRANSFORMS[kind])
    d.add("CastLike", [made, d.input(0)], d.node.output[0])


class _Written:
    """The trees of a TreeEnsemble in the form of a TreeEnsembleRegressor."""

    def __init__(self, d: Definition) -> None:
        self.d = d
        self.modes = _values(d, "nodes_modes").astype(int)
        self.splits = _values(d, "nodes_splits").astype(np.float64)
        self.targets = d.numbers("leaf_targetids", int)
        self.weights = _values(d, "leaf_weights").astype(np.float64)
        names = ("nodes_featureids", "nodes_truenodeids", "nodes_falsenodeids")
        self.features, *ends = (d.numbers(name, int) for name in names)
        leaves = [d.numbers(name, int) for name in ("nodes_trueleafs", "nodes_falseleafs")]
        self.ends = [*zip(*ends, strict=False)]
        self.leaves = [*zip(*leaves, strict=False)]
        self.missing = d.numbers("nodes_missing_value_tracks_true", int) or [0] * len(self.modes)
        sizes = {len(self.modes), len(self.splits), len(self.features), len(self.missing)}
        sizes |= {len(self.ends), len(self.leaves)}
        if len(sizes) != 1 or len(self.targets) != len(self.weights):
            raise d.rejected("attributes of several lengths", "each node has one entry in each")
        self.members = self._members()
        self.rows: list[tuple[int, int, int, str, float, int, int, int]] = []
        self.given: list[tuple[int, int, int, float]] = []

    def attrs(self) -> dict[str, Any]:
        """The attributes of the TreeEnsembleRegressor."""
        for tree, root in enumerate(self.d.numbers("tree_roots", int)):
            self._tree(tree, root)
        names = (
            *("nodes_treeids", "nodes_nodeids", "nodes_featureids", "nodes_modes"),
            *("nodes_values", "nodes_truenodeids", "nodes_falsenodeids"),
            "nodes_missing_value_tracks_true",
        )
        found: dict[str, Any] = dict(
            zip(names, map(list, zip(*self.rows, strict=True)), strict=True)
        )
        doubles = np.asarray(found.pop("nodes_values"), np.float64)
        found["nodes_values_as_tensor"] = numpy_helper.from_array(doubles, "splits")
        ends = ("target_treeids", "target_nodeids", "target_ids", "target_weights")
        return found | dict(zip(ends, map(list, zip(*self.given, strict=True)), strict=True))

    def _members(self) -> dict[int, list[float]]:
        """By node the numbers that it tests for, which lie one set after the other, each ended by
        NaN."""
        sets: list[list[float]] = [[]]
        for value in _values(self.d, "membership_values").tolist():
            if value == value:
                sets[-1].append(value)
            else:
                sets.append([])
        nodes = [i for i, mode in enumerate(self.modes) if mode == _MEMBER]
        if len(sets) - 1 != len(nodes) or not all(sets[: len(nodes)]):
            got = f"{len(sets) - 1} sets of {len(nodes)} tests of membership"
            raise self.d.rejected(got, "each has a set, which is not empty")
        return dict(zip(nodes, sets, strict=False))

    def _tree(self, tree: int, root: int) -> None:
        """Nodes in the order in which they are reached: one that is reached twice is there once."""
        ids: dict[tuple[int, int], int] = {}
        waiting: list[tuple[int, int]] = []
        count = 0

        def numbered(leaf: int, index: int) -> int:
            nonlocal count
            if (leaf, index) not in ids:
                if not 0 <= index < len(self.weights if leaf else self.modes):
                    raise self.d.rejected(f"{'leaf' if leaf else 'node'} {index}", "there is none")
                ids[leaf, index] = count
                count += 1
                waiting.append((leaf, index))
            return ids[leaf, index]

        start = self._is_leaf(root)
        numbered(int(start), self.ends[root][0] if start else root)
        while waiting:
            leaf, index = waiting.pop()
            here = ids[leaf, index]
            if leaf:
                self.rows.append((tree, here, 0, "LEAF", 0.0, 0, 0, 0))
                self.given.append((tree, here, self.targets[index], float(self.weights[index])))
                continue
            yes, no = (
                numbered(int(bool(of)), end)
                for of, end in zip(self.leaves[index], self.ends[index], strict=True)
            )
            mode, feature = int(self.modes[index]), self.features[index]
            if not 0 <= mode <= _MEMBER:
                raise self.d.rejected(f"mode {mode}", f"modes are 0 to {_MEMBER}")
            tests = self.members.get(index, [float(self.splits[index])])
            word = "BRANCH_" + ("EQ" if mode == _MEMBER else _MODES[mode])
            for i, split in enumerate(tests):
                last = i == len(tests) - 1
                other = no if last else count
                own = here if i == 0 else count - 1
                count += not last
                row = (tree, own, feature, word, split, yes, other, self.missing[index])
                self.rows.append(row)

    def _is_leaf(self, root: int) -> bool:
        """A tree of one leaf is a node that goes on with that in either case."""
        if not 0 <= root < len(self.modes):
            raise self.d.rejected(f"root {root}", f"there are {len(self.modes)} nodes")
        yes, no = self.ends[root]
        return bool(all(self.leaves[root]) and yes == no)


ROWS: Mapping[str, Row] = {
    "TreeEnsembleRegressor": Row("X", _regressor, integers=False, when=is_transformed),
    "TreeEnsembleClassifier": Row("X", _classifier, integers=False),
    "TreeEnsemble": Row("X", _ensemble, integers=False),
}
