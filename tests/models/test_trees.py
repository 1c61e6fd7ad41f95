"""Trees that vectors of rows go through together: exactly the sums of walks, tree after tree."""

from __future__ import annotations

from collections.abc import Iterator
from pathlib import Path
from typing import Any

import numpy as np
import onnx
import pytest

from edgeconv.app.deciding import decide
from edgeconv.kernels.ops.complete_trees import complete_trees
from edgeconv.kernels.ops.tree_tables import Ensemble, tables_of
from edgeconv.model import frontend
from edgeconv.search.options import CompileOptions
from edgeconv.target.backends import TARGETS
from tests.learned_models import Array, Call, learned_model, random_features, random_forest
from tests.onnx_suite import emulated, programs
from tests.onnx_suite.cases import Case
from tests.onnx_suite.outcomes import PASS, Outcome
from tests.tools import available

_BRANCHES = ("LEQ", "LT", "GTE", "GT")  # those that are no equalities
_KERNEL = "trees in vectors"


def _given(rng: np.random.Generator, depth: int, targets_: int, features: int) -> dict[str, Any]:
    """An ensemble each of whose trees gives one target numbers."""
    nodes, leaves = random_forest(
        rng, trees=5, depth=depth, features=features, comparisons=_BRANCHES
    )
    return {
        **nodes,
        "target_treeids": [tree for tree, _ in leaves],
        "target_nodeids": [node for _, node in leaves],
        "target_ids": [tree % targets_ for tree, _ in leaves],
        "target_weights": [float(n) for n in rng.normal(size=len(leaves)).astype(np.float32)],
        "n_targets": targets_,
        **({"base_values": [0.25] * targets_} if depth % 2 else {}),
    }


def _calls(rng: np.random.Generator) -> Iterator[Call]:
    """Depths on either side of what is unrolled; fewer rows than a vector, as many, and more."""
    for depth, rows, targets_, features in (
        *((1, 33, 1, 4), (2, 16, 2, 3), (3, 70, 1, 20), (3, 11, 3, 2)),
        *((4, 129, 1, 4), (5, 64, 2, 5), (6, 8, 1, 4)),
    ):
        x = random_features(rng, rows, features)
        x[rng.random(x.shape) < 0.05] = np.inf
        x[rng.random(x.shape) < 0.05] = -np.inf
        given = _given(rng, depth, targets_, features)
        yield "TreeEnsembleRegressor", {"X": x}, ["Y"], given


def _goes_on(mode: str, x: Any, split: Any) -> bool:
    ways = {"LEQ": x <= split, "LT": x < split, "GTE": x >= split, "GT": x > split}
    return bool(ways[mode.removeprefix("BRANCH_")])


def _sums(x: Array, given: dict[str, Any]) -> Array:
    """As ONNX defines them, in float32, in the order of the trees."""
    names = (
        *("featureids", "values", "modes", "truenodeids", "falsenodeids"),
        "missing_value_tracks_true",
    )
    keys = list(zip(given["nodes_treeids"], given["nodes_nodeids"], strict=True))
    rows = zip(*(given[f"nodes_{name}"] for name in names), strict=True)
    node = dict(zip(keys, rows, strict=True))
    leaf = dict(
        zip(
            zip(given["target_treeids"], given["target_nodeids"], strict=True),
            zip(given["target_ids"], given["target_weights"], strict=True),
            strict=True,
        )
    )
    out = np.zeros((len(x), given["n_targets"]), np.float32)
    for r, row in enumerate(x):
        for tree in sorted({tree for tree, _ in keys}):
            at = 0
            while node[tree, at][2] != "LEAF":
                feature, split, mode, yes, no, missing = node[tree, at]
                value = row[feature]
                passed = _goes_on(mode, value, np.float32(split))
                at = yes if passed or (missing and np.isnan(value)) else no
            target, weight = leaf[tree, at]
            out[r, target] += np.float32(weight)
    return out + np.asarray(given.get("base_values", 0.0), np.float32)


@pytest.fixture(scope="module")
def case() -> Case:
    calls = [*_calls(np.random.default_rng(3))]
    model, inputs = learned_model(calls)
    wanted = [_sums(x["X"], given) for _, x, _, given in calls]
    return Case("trees", model, [(list(inputs.values()), wanted)], rtol=0.0, atol=0.0)


_NEAR = 0.1  # float32 has none, but two next to it


def _near() -> Array:
    """Numbers of float64 next to `_NEAR`, and next to those of float32 on either side of it."""
    beside = np.float32(_NEAR), np.nextafter(np.float32(_NEAR), np.float32(0))
    found = [_NEAR, *(np.nextafter(n, way) for n in (_NEAR, *map(float, beside)) for way in (0, 1))]
    return np.array([*found, *beside, np.nan, 0.0, 5e-324, -5e-324], np.float64)


def _one_split(mode: str, split: float, missing: int) -> dict[str, Any]:
    return {
        "nodes_treeids": [0, 0, 0],
        "nodes_nodeids": [0, 1, 2],
        "nodes_featureids": [0, 0, 0],
        "nodes_values_as_tensor": onnx.numpy_helper.from_array(np.array([split, 0.0, 0.0])),
        "nodes_modes": [f"BRANCH_{mode}", "LEAF", "LEAF"],
        "nodes_truenodeids": [1, 0, 0],
        "nodes_falsenodeids": [2, 0, 0],
        "nodes_missing_value_tracks_true": [missing, 0, 0],
        "target_treeids": [0, 0],
        "target_nodeids": [1, 2],
        "target_ids": [0, 0],
        "target_weights_as_tensor": onnx.numpy_helper.from_array(np.array([1.0, 0.0])),
        "n_targets": 1,
    }


_EVERY = ("LEQ", "LT", "GTE", "GT", "EQ", "NEQ")


def _passes(mode: str, x: Array, split: float, missing: int) -> Array:
    ways = {"EQ": x == split, "NEQ": x != split}
    found = ways[mode] if mode in ways else np.array([_goes_on(mode, n, split) for n in x])
    return found | (np.isnan(x) & bool(missing))


def test_features_of_float64_are_compared_as_they_are(tmp_path: Path) -> None:
    """As ONNX Runtime does with splits of float64."""
    x = np.append(_near(), [np.inf, -np.inf])
    splits = (_NEAR, 0.0, np.inf, -np.inf)
    nodes = [(mode, split, bit) for mode in _EVERY for split in splits for bit in (0, 1)]
    calls: list[Call] = [
        ("TreeEnsembleRegressor", {"X": x[:, None]}, ["Y"], _one_split(*node)) for node in nodes
    ]
    model, inputs = learned_model(calls)
    wanted = [
        _passes(mode, x, split, bit)[:, None].astype(np.float32) for mode, split, bit in nodes
    ]
    case = Case("doubles", model, [(list(inputs.values()), wanted)], rtol=0.0, atol=0.0)
    (outcome,) = programs.outcomes([case], tmp_path, "generic-c")
    assert not _failed(outcome)


def test_splits_of_float64_part_features_of_float32_exactly() -> None:
    """A number of float32 passes the split of the table where it passes the model's."""
    rng = np.random.default_rng(5)
    x = np.concatenate([_near(), [np.inf, -np.inf, 1e38]]).astype(np.float32)
    for split in (
        _NEAR,
        -_NEAR,
        0.0,
        0.5,
        1e-50,
        -1e-50,
        1e300,
        -1e300,
        np.inf,
        -np.inf,
        *rng.normal(size=20),
    ):
        near = np.float32(min(max(split, -1e38), 1e38))
        own = np.append(x, [near, *(np.nextafter(near, np.float32(n)) for n in (-3e38, 3e38))])
        for mode in _EVERY:
            nodes = _one_split(mode, split, 0)
            names = ("featureids", "modes", "truenodeids", "falsenodeids")
            features, modes, yes, no = (nodes[f"nodes_{name}"] for name in names)
            ensemble = Ensemble(
                keys=[(0, 0), (0, 1), (0, 2)],
                features=features,
                splits=np.array([split, 0.0, 0.0]),
                modes=modes,
                yes=yes,
                no=no,
                missing=[0, 0, 0],
                target_keys=[(0, 1), (0, 2)],
                target_ids=[0, 0],
                target_weights=np.array([1.0, 0.0]),
            )
            tables = tables_of(ensemble, 1, np.float32, lambda got, rule: ValueError(got))
            number, code = tables.split[0], int(tables.feature[0])
            passed = np.where(np.isnan(own), code & 1, own == number if code & 2 else own <= number)
            found = tables.split[tables.next[0] + ~passed.astype(bool)]
            wanted = _passes(mode, own.astype(np.float64), split, 0)
            np.testing.assert_array_equal(found, wanted, f"{mode} {split}")


def test_trees_that_compare_with_infinity_are_walked() -> None:
    """Filled up they would take NaN for it."""
    tables = {
        "split": np.array([0.5, 1.0, 2.0] * 8, np.float32),
        "feature": np.array([0, -1, -1] * 8),
        "next": np.array([[3 * tree + 1, 0, 0] for tree in range(8)]).reshape(-1),
        "root": np.arange(0, 24, 3),
    }
    target = TARGETS["avx2"]
    assert complete_trees(64, 1, 1, tables, target) is not None
    tables["split"][6] = -np.inf
    assert complete_trees(64, 1, 1, tables, target) is not None
    tables["split"][6] = np.inf
    assert complete_trees(64, 1, 1, tables, target) is None


def _failed(outcome: Outcome) -> str:
    return "" if outcome.kind == PASS else f"{outcome.kind}: {outcome.reasons}"


@pytest.mark.parametrize("name", ["host", "x86-64-v3"])
def test_sums_are_those_of_walks(name: str, case: Case, tmp_path: Path) -> None:
    available(name)
    (outcome,) = programs.outcomes([case], tmp_path, name)
    assert not _failed(outcome)


@pytest.mark.slow
@pytest.mark.parametrize("name", ["jetson-tx1", "odroid-xu3", "power10-s1024", "mps2-an500"])
def test_sums_are_those_of_walks_elsewhere(name: str, case: Case, tmp_path: Path) -> None:
    available(name)
    (outcome,) = emulated.outcomes([case], tmp_path, name)
    assert not _failed(outcome)


def test_which_kernel_is_taken(case: Case, tmp_path: Path) -> None:
    """Vectors of rows where there are enough of them; a row alone walks."""
    path = tmp_path / "model.onnx"
    onnx.save(case.model, path)
    taken = {}
    for board in ("zen4", "jetson-tx1", "generic-c"):
        choice = decide(CompileOptions(path, board)).choice
        taken[board] = [layer.algorithm == _KERNEL for layer in choice.layers]
    assert all(taken["zen4"])
    assert any(taken["jetson-tx1"])
    assert not any(taken["generic-c"])
    one = learned_model([next(_calls(np.random.default_rng(3)))])[0]
    one.graph.input[0].type.tensor_type.shape.dim[0].dim_value = 1
    one.graph.output[0].type.tensor_type.shape.dim[0].dim_value = 1
    onnx.save(one, path)
    (layer,) = decide(CompileOptions(path, "zen4")).choice.layers
    assert layer.algorithm == "trees"


def test_lopsided_trees_are_not_filled_up(tmp_path: Path) -> None:
    """Ten splits in a row would become a thousand."""
    depth = 10
    inner, nodes = range(depth), range(2 * depth + 1)
    given = {
        "nodes_treeids": [0 for _ in nodes],
        "nodes_nodeids": [*nodes],
        "nodes_featureids": [0 for _ in nodes],
        "nodes_values": [float(n) for n in nodes],
        "nodes_modes": ["BRANCH_LEQ" if n < depth else "LEAF" for n in nodes],
        "nodes_truenodeids": [depth + n if n < depth else 0 for n in nodes],
        "nodes_falsenodeids": [
            n + 1 if n + 1 in inner else 2 * depth if n in inner else 0 for n in nodes
        ],
        "target_treeids": [0 for _ in range(depth + 1)],
        "target_nodeids": [*range(depth, 2 * depth + 1)],
        "target_ids": [0 for _ in range(depth + 1)],
        "target_weights": [float(n) for n in range(depth + 1)],
        "n_targets": 1,
    }
    x = {"X": np.zeros((64, 1), np.float32)}
    path = tmp_path / "model.onnx"
    onnx.save(learned_model([("TreeEnsembleRegressor", x, ["Y"], given)])[0], path)
    graph = frontend.load(path)
    (node,) = graph.nodes
    names = dict(zip(("in", "split", "feature", "next", "root"), node.inputs, strict=False))
    tables = {name: graph[names[name]].constant() for name in names if name != "in"}
    assert complete_trees(64, depth, 1, tables, TARGETS["avx512"]) is None
