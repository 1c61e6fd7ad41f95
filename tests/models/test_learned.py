"""ai.onnx.ml: random models against ONNX Runtime, and what is refused."""

from __future__ import annotations

from collections.abc import Callable, Iterator
from pathlib import Path
from typing import Any

import numpy as np
import onnx
import pytest
from onnx import helper

from edgeconv.base.errors import EdgeconvError
from edgeconv.model import frontend
from edgeconv.model.frontend.reference import reference_outputs
from edgeconv.model.frontend.running import prepared
from tests.learned_models import Array, Call, learned_model, random_features, random_forest
from tests.onnx_suite.cases import Case
from tests.onnx_suite.outcomes import PASS
from tests.onnx_suite.programs import outcomes

pytestmark = pytest.mark.usefixtures("unoptimised")

onnxruntime = pytest.importorskip("onnxruntime", reason="the engine that knows these operators")

_TRANSFORMS = ("NONE", "SOFTMAX", "LOGISTIC", "SOFTMAX_ZERO")
Made = Iterator[Call]


def _case(name: str, model: onnx.ModelProto, inputs: dict[str, Array]) -> Case:
    """What ONNX Runtime makes of it."""
    options = onnxruntime.SessionOptions()
    options.log_severity_level = 4
    session = onnxruntime.InferenceSession(model.SerializeToString(), options)
    return Case(name, model, [(list(inputs.values()), session.run(None, inputs))], 1e-5, 1e-6)


def _scaling(rng: np.random.Generator) -> Made:
    x = rng.normal(size=(5, 4)).astype(np.float32)
    whole = rng.integers(-3, 4, (5, 4))
    each = [float(n) for n in rng.normal(size=4)]
    yield "Scaler", {"X": x}, ["Y"], {"offset": each, "scale": each[::-1]}
    yield "Scaler", {"X": whole}, ["Y"], {"offset": [0.5], "scale": [0.25]}
    x = np.where(np.arange(5)[:, None] == 1, 0, x).astype(np.float32)
    for norm in ("MAX", "L1", "L2"):
        yield "Normalizer", {"X": x}, ["Y"], {"norm": norm}
    x = np.where(rng.random(x.shape) < 0.4, np.nan, x).astype(np.float32)
    missing = {"imputed_value_floats": each, "replaced_value_float": float("nan")}
    yield "Imputer", {"X": x}, ["Y"], missing
    numbered = {"imputed_value_int64s": [7], "replaced_value_int64": 2}
    yield "Imputer", {"X": whole}, ["Y"], numbered
    yield "Binarizer", {"X": whole.astype(np.float32)}, ["Y"], {"threshold": 1.0}
    yield "ArrayFeatureExtractor", {"X": x, "Y": np.array([2, 0], np.int64)}, ["Z"], {}
    yield "FeatureVectorizer", {"A": whole, "C": whole[:, :2]}, ["Y"], {"inputdimensions": [3, 4]}


def _encoding(rng: np.random.Generator) -> Made:
    whole = rng.integers(-2, 12, (3, 4))
    real = (whole / 2).astype(np.float32)
    real[0, 0] = np.nan
    run = {"keys_int64s": [3, 4, 5], "values_floats": [0.5, 1.5, 2.5], "default_float": -9.0}
    yield "LabelEncoder", {"X": whole}, ["Y"], run
    apart = {"keys_int64s": [9, -1, 4, 9], "values_int64s": [10, 20, 30, 40]}
    yield "LabelEncoder", {"X": whole}, ["Y"], apart
    reals = {"keys_floats": [0.5, float("nan"), 2.0], "values_int64s": [1, 2, 3]}
    yield "LabelEncoder", {"X": real}, ["Y"], reals
    categories = {"cats_int64s": [4, -1, 0, 9], "zeros": 1}
    for x in (whole, np.nan_to_num(real) * np.float32(1.1), whole[0].astype(np.float64)):
        yield "OneHotEncoder", {"X": x}, ["Y"], categories


def _linear(rng: np.random.Generator) -> Made:
    x = rng.normal(size=(6, 4)).astype(np.float32)
    for transform in _TRANSFORMS:
        for rows in (2, 3):
            weights = {
                "coefficients": [float(n) for n in rng.normal(size=4 * rows)],
                "intercepts": [float(n) for n in rng.normal(size=rows)],
                "post_transform": transform,
            }
            yield "LinearRegressor", {"X": x}, ["Y"], {**weights, "targets": rows}
            named = {**weights, "classlabels_ints": [int(n) for n in rng.permutation(40)[:rows]]}
            yield "LinearClassifier", {"X": x}, ["Y", "Z"], named
        one = {"coefficients": [0.5, -1.0, 0.25, 2.0], "intercepts": [0.1]}
        pair = {**one, "classlabels_ints": [30, 10], "post_transform": transform}
        yield "LinearClassifier", {"X": x}, ["Y", "Z"], pair
    vectors = [float(n) for n in rng.normal(size=12)]
    for kind in ("LINEAR", "POLY", "RBF", "SIGMOID"):
        machine = {
            "kernel_type": kind,
            "kernel_params": [0.5, 0.25, 3.0],
            "support_vectors": vectors,
            "n_supports": 3,
            "coefficients": [0.5, -1.5, 2.0],
            "rho": [0.125],
        }
        yield "SVMRegressor", {"X": x}, ["Y"], machine
    yield "SVMRegressor", {"X": x}, ["Y"], {**machine, "one_class": 1}


def _support_vectors(rng: np.random.Generator) -> Made:
    """Classes of several vectors and of none; scores of pairs, and probabilities next to 1/2, where
    their iteration does not begin, and far from it."""
    x = rng.normal(size=(40, 4)).astype(np.float32)
    for each in ([2, 3], [1, 2, 3], [2, 0, 1, 2], [1, 3, 2, 2, 1], [2, 1, 3, 1, 2, 2]):
        total, pairs = sum(each), len(each) * (len(each) - 1) // 2
        machine = {
            "kernel_type": "LINEAR" if len(each) == 5 else "RBF",
            "kernel_params": [0.25, 0.0, 3.0],
            "vectors_per_class": each,
            "support_vectors": [float(n) for n in rng.normal(size=4 * total)],
            "coefficients": [float(n) for n in rng.normal(size=total * (len(each) - 1))],
            "rho": [float(n) / 4 for n in rng.normal(size=pairs)],
            "classlabels_ints": [7, -3, 5, 20, 1, 9][: len(each)],
        }
        yield "SVMClassifier", {"X": x}, ["Y", "Z"], machine
        if len(each) == 2:
            for a, b in ((-1.5, 0.25), (-0.02, 0.01), (-25.0, 3.0)):
                likely = {**machine, "prob_a": [a], "prob_b": [b]}
                yield "SVMClassifier", {"X": x}, ["Y", "Z"], likely
        else:
            moved = [float(n) for n in rng.normal(size=pairs)]
            for slope, transform in ((0.02, "NONE"), (1, "SOFTMAX"), (25, "LOGISTIC")):
                steep = [float(n) for n in -slope * np.exp(rng.normal(size=pairs))]
                likely = {**machine, "prob_a": steep, "prob_b": moved, "post_transform": transform}
                yield "SVMClassifier", {"X": x}, ["Y", "Z"], likely
            likely = {**machine, "kernel_type": "POLY", "post_transform": "SOFTMAX"}
            yield "SVMClassifier", {"X": x}, ["Y", "Z"], likely


def _forests(rng: np.random.Generator) -> Made:
    """Leaves of one number and of several; sums and others; every comparison."""
    for number, targets in enumerate((1, 1, 1, 1, 3, 3)):
        nodes, leaves = random_forest(rng)
        dense = number > 4 or number < 3
        ids = [
            t for _ in leaves for t in (range(targets) if dense else [int(rng.integers(targets))])
        ]
        each = len(ids) // len(leaves)
        x = random_features(rng)
        given = {
            **nodes,
            "target_treeids": [tree for tree, _ in leaves for _ in range(each)],
            "target_nodeids": [node for _, node in leaves for _ in range(each)],
            "target_ids": ids,
            "target_weights": [float(n) for n in rng.normal(size=len(ids))],
            "n_targets": targets,
            "aggregate_function": ("SUM", "AVERAGE", "MIN", "MAX", "SUM", "MAX")[number],
        }
        if number in (0, 5):
            given["base_values"] = [float(n) for n in rng.normal(size=targets)]
        yield "TreeEnsembleRegressor", {"X": x}, ["Y"], given
    whole = {"X": np.nan_to_num(x).astype(np.float64)}
    yield "TreeEnsembleRegressor", whole, ["Y"], given


def _classifiers(rng: np.random.Generator) -> Made:
    for classes, ids, base in ((3, 3, 0), (3, 3, 3), (2, 1, 0), (2, 1, 1)):
        for transform in _TRANSFORMS:
            for positive in (True, False):
                nodes, leaves = random_forest(rng, trees=4, depth=2)
                weights = rng.random(len(leaves) * ids) - (0.0 if positive else 0.5)
                given = {
                    **nodes,
                    "class_treeids": [tree for tree, _ in leaves for _ in range(ids)],
                    "class_nodeids": [node for _, node in leaves for _ in range(ids)],
                    "class_ids": [i for _ in leaves for i in range(ids)],
                    "class_weights": [float(n) for n in weights],
                    "classlabels_int64s": [7, -3, 5][:classes],
                    "post_transform": transform,
                }
                if base:
                    given["base_values"] = [0.25, -0.5, 0.125][:base]
                outputs = ["Y", "Z"]
                yield "TreeEnsembleClassifier", {"X": random_features(rng)}, outputs, given


@pytest.mark.parametrize(
    ("made", "version"),
    [
        *((_scaling, 1), (_encoding, 4), (_linear, 3), (_support_vectors, 3)),
        *((_forests, 3), (_classifiers, 3)),
    ],
)
def test_as_onnx_runtime(
    made: Callable[[np.random.Generator], Made], version: int, tmp_path: Path
) -> None:
    model, inputs = learned_model(made(np.random.default_rng(5)), version)
    (outcome,) = outcomes([_case(made.__name__, model, inputs)], tmp_path, "host")
    assert outcome.kind == PASS, "; ".join(outcome.reasons)


@pytest.mark.parametrize("made", [_forests, _support_vectors])
def test_they_are_saved_as_they_were(
    made: Callable[[np.random.Generator], Made], tmp_path: Path
) -> None:
    model, inputs = learned_model(made(np.random.default_rng(7)))
    path = tmp_path / "model.onnx"
    onnx.save(model, path)
    graph = frontend.load(path)
    found = prepared(graph)({name: inputs[name] for name in graph.inputs})
    ((_, wanted),) = _case("", model, inputs).data
    for name, want in zip(graph.outputs, wanted, strict=True):
        assert isinstance(want, np.ndarray)
        np.testing.assert_allclose(found[name], want, 1e-5, 1e-6)


def test_two_classes_that_both_add_up_have_the_label_of_the_larger_score(tmp_path: Path) -> None:
    """ONNX Runtime's label is that of the sign of the second score; the scores agree."""
    rng = np.random.default_rng(9)
    nodes, leaves = random_forest(rng)
    given = {
        **nodes,
        "class_treeids": [tree for tree, _ in leaves for _ in range(2)],
        "class_nodeids": [node for _, node in leaves for _ in range(2)],
        "class_ids": [0, 1] * len(leaves),
        "class_weights": [float(n) for n in rng.random(2 * len(leaves))],
        "classlabels_int64s": [40, 30],
    }
    x = {"X": random_features(rng, rows=20)}
    model, inputs = learned_model([("TreeEnsembleClassifier", x, ["Y", "Z"], given)])
    scores = _case("", model, inputs).data[0][1][1]
    assert isinstance(scores, np.ndarray)
    labels = np.where(scores[:, 1] > scores[:, 0], 30, 40)
    case = Case("two", model, [(list(inputs.values()), [labels, scores])], 1e-5, 1e-6)
    (outcome,) = outcomes([case], tmp_path, "host")
    assert outcome.kind == PASS, outcome.reasons


def _refusal(tmp_path: Path, call: Call, *, version: int = 3) -> str:
    path = tmp_path / "model.onnx"
    onnx.save(learned_model([call], version)[0], path)
    with pytest.raises(EdgeconvError) as refused:
        frontend.load(path)
    return "\n".join((str(refused.value), *refused.value.details))


_X = {"X": np.ones((2, 2), np.float32)}
_THREE = {"coefficients": [1.0] * 6, "intercepts": [0.0] * 3}


def test_labels_that_are_strings_are_indices_of_a_table(tmp_path: Path) -> None:
    named = {**_THREE, "classlabels_strings": ["a", "b", "c"]}
    model, feeds = learned_model([("LinearClassifier", _X, ["Y", "Z"], named)])
    found = list(outcomes([_case("labels", model, feeds)], tmp_path, "host"))
    assert [outcome.kind for outcome in found] == [PASS]
    onnx.save(model, tmp_path / "model.onnx")
    graph = frontend.load(tmp_path / "model.onnx")
    assert [(text.name, text.table) for text in graph.texts] == [("0.Y", ("a", "b", "c"))]


@pytest.mark.parametrize("keys", [[3, 1, 2], ["a", "b", "c"]])
def test_a_map_of_classes_is_a_tensor(keys: list[Any], tmp_path: Path) -> None:
    """What converters of classifiers end with, unless they are told not to."""
    named = {**_THREE, "classlabels_ints": [3, 1, 2], "post_transform": "SOFTMAX"}
    model, _ = learned_model([("LinearClassifier", _X, ["Y", "Z"], named)])
    scores = model.graph.output.pop()
    zipped = helper.make_node("ZipMap", [scores.name], ["maps"], domain="ai.onnx.ml")
    attribute = f"classlabels_{'strings' if isinstance(keys[0], str) else 'int64s'}"
    zipped.attribute.append(helper.make_attribute(attribute, keys))
    model.graph.node.append(zipped)
    kind = helper.make_tensor_type_proto(onnx.TensorProto.FLOAT, ())
    key = onnx.TensorProto.STRING if isinstance(keys[0], str) else onnx.TensorProto.INT64
    kind = helper.make_sequence_type_proto(helper.make_map_type_proto(key, kind))
    model.graph.output.append(helper.make_value_info("maps", kind))
    path = tmp_path / "model.onnx"
    onnx.save(model, path)
    graph = frontend.load(path)
    listed = ", ".join(map(str, keys))
    assert f"map 'maps' is a tensor; its columns are those of the keys {listed}" in graph.notes
    feeds = {name: np.ones(graph[name].shape, np.float32) for name in graph.inputs}
    values = reference_outputs(path, feeds).values["maps"]
    found = prepared(graph)(feeds)["maps"]
    assert values.shape == (2, 3)
    np.testing.assert_allclose(found, values, 1e-6)


_STUMP = {
    "nodes_treeids": [0, 0, 0],
    "nodes_nodeids": [0, 1, 2],
    "nodes_featureids": [0, 0, 0],
    "nodes_values": [0.5, 0.0, 0.0],
    "nodes_modes": ["BRANCH_LEQ", "LEAF", "LEAF"],
    "nodes_truenodeids": [1, 0, 0],
    "nodes_falsenodeids": [2, 0, 0],
    "target_treeids": [0, 0],
    "target_nodeids": [1, 2],
    "target_ids": [0, 0],
    "target_weights": [1.0, 2.0],
    "n_targets": 1,
}


@pytest.mark.parametrize(
    ("changed", "said"),
    [
        ({"nodes_featureids": [9, 0, 0]}, "feature 9 at node 0 of tree 0"),
        ({"nodes_truenodeids": [7, 0, 0]}, "node 7 of tree 0; branches go on with nodes"),
        ({"nodes_truenodeids": [0, 0, 0]}, "a cycle in tree 0"),
        ({"nodes_modes": ["BRANCH_ODD", "LEAF", "LEAF"]}, "mode 'BRANCH_ODD'"),
        ({"nodes_values": [float("nan"), 0.0, 0.0]}, "splits are numbers"),
        ({"nodes_nodeids": [0, 1, 1]}, "a node twice"),
        ({"nodes_values": [0.5]}, "attributes of several lengths"),
        ({"target_ids": [0, 3]}, "a target out of range"),
        ({"target_nodeids": [1, 8]}, "a number of node 8"),
        ({"post_transform": "LOGISTIC"}, "engines disagree on it"),
        ({"aggregate_function": "MEDIAN"}, "aggregate_function 'MEDIAN'"),
        ({"base_values": [1.0, 2.0]}, "2 base values"),
    ],
)
def test_trees_that_are_none(changed: dict[str, Any], said: str, tmp_path: Path) -> None:
    assert said in _refusal(tmp_path, ("TreeEnsembleRegressor", _X, ["Y"], _STUMP | changed))


_MACHINE: dict[str, Any] = {
    "classlabels_ints": [0, 1],
    "vectors_per_class": [1, 1],
    "support_vectors": [1.0] * 4,
    "coefficients": [1.0, -1.0],
    "rho": [0.0],
}


@pytest.mark.parametrize(
    ("operator", "attrs", "said"),
    [
        ("Scaler", {"offset": [1.0] * 3}, "3 numbers in offset; there are 2 features"),
        ("Normalizer", {"norm": "L7"}, "norm 'L7'"),
        ("Imputer", {"imputed_value_floats": [1.0] * 5}, "5 numbers for 2 features"),
        ("FeatureVectorizer", {"inputdimensions": [2, 2]}, "2 inputdimensions of 1 inputs"),
        (
            "LabelEncoder",
            {"keys_floats": [1.0], "values_floats": [1.0, 2.0]},
            "each key has a value",
        ),
        ("OneHotEncoder", {"cats_int64s": [1, 2, 1]}, "3 cats_int64s; there are some, each once"),
        ("OneHotEncoder", {"cats_strings": ["a"]}, "cats_strings of numbers"),
        ("LinearRegressor", {"coefficients": [1.0] * 3}, "3 coefficients for 1 rows"),
        ("SVMRegressor", {"coefficients": [1.0], "rho": [0.0]}, "1 coefficients"),
        ("SVMClassifier", {"coefficients": [1.0] * 4}, "no support vectors"),
        ("SVMClassifier", _MACHINE | {"vectors_per_class": [1]}, "1 vectors_per_class of 2 labels"),
        ("SVMClassifier", _MACHINE | {"rho": [0.0, 1.0]}, "2 coefficients, 2 rho"),
        ("SVMClassifier", _MACHINE | {"post_transform": "LOGISTIC"}, "engines disagree on it"),
        ("SVMClassifier", _MACHINE | {"prob_a": [1.0]}, "1 prob_a and 0 prob_b"),
        (
            "SVMClassifier",
            _MACHINE
            | {
                "classlabels_ints": [0, 1, 2],
                "vectors_per_class": [1, 1, 0],
                "coefficients": [1.0] * 4,
                "rho": [0.0] * 3,
                "prob_a": [1.0] * 2,
                "prob_b": [1.0] * 3,
            },
            "2 prob_a and 3 prob_b; each of 3 pairs of classes has one",
        ),
        ("SVMClassifier", _MACHINE | {"kernel_type": "LAPLACE"}, "kernel_type 'LAPLACE'"),
    ],
)
def test_attributes_that_do_not_fit(
    operator: str, attrs: dict[str, Any], said: str, tmp_path: Path
) -> None:
    outputs = ["Y", "Z"] if operator == "SVMClassifier" else ["Y"]
    assert said in _refusal(tmp_path, (operator, _X, outputs, attrs))
