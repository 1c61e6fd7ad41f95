"""Models of ai.onnx.ml with random parameters."""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from typing import Any

import numpy as np
import numpy.typing as npt
import onnx
from onnx import helper

Array = npt.NDArray[Any]
DOMAIN = "ai.onnx.ml"
_COMPARISONS = ("LEQ", "LT", "GTE", "GT", "EQ", "NEQ")


Call = tuple[str, dict[str, Array], list[str], dict[str, Any]]  # operator, inputs, outputs, rest


def learned_model(
    calls: Iterable[Call], version: int = 3
) -> tuple[onnx.ModelProto, dict[str, Array]]:
    """A node for each of ``calls``, whose inputs are of the shapes and types of theirs, and values
    of the inputs; of no other domain.  Names have the number of the call in front."""
    nodes, given, made = [], [], []
    feeds: dict[str, Array] = {}
    for number, (op_type, inputs, outputs, attrs) in enumerate(calls):
        named = {f"{number}.{name}": value for name, value in inputs.items()}
        results = [f"{number}.{name}" for name in outputs]
        node = helper.make_node(op_type, [*named], results, f"{number}", domain=DOMAIN, **attrs)
        values = [
            helper.make_tensor_value_info(name, helper.np_dtype_to_tensor_dtype(a.dtype), a.shape)
            for name, a in named.items()
        ]
        schema = onnx.defs.get_schema(op_type, version, DOMAIN)
        kinds = {value.name: value.type for value in values}
        found = onnx.shape_inference.infer_node_outputs(schema, node, kinds)
        nodes.append(node)
        given += values
        made += [helper.make_value_info(name, found[name]) for name in results]
        feeds |= named
    graph = helper.make_graph(nodes, "learned", given, made)
    model = helper.make_model(graph, opset_imports=[helper.make_opsetid(DOMAIN, version)])
    model.ir_version = 9
    return model, feeds


def random_forest(
    rng: np.random.Generator,
    *,
    trees: int = 3,
    depth: int = 3,
    features: int = 4,
    comparisons: Sequence[str] = _COMPARISONS,
) -> tuple[dict[str, Any], list[tuple[int, int]]]:
    """The ``nodes_*`` of trees, and the leaves: tree and node."""
    names = (
        *("treeids", "nodeids", "featureids", "values", "modes", "truenodeids", "falsenodeids"),
        "missing_value_tracks_true",
    )
    rows: list[tuple[Any, ...]] = []
    leaves: list[tuple[int, int]] = []
    for tree in range(trees):
        waiting, count = [(0, 0)], 1
        while waiting:
            node, deep = waiting.pop(0)
            if deep == depth or (deep and rng.random() < 0.3):
                rows.append((tree, node, 0, 0.0, "LEAF", 0, 0, 0))
                leaves.append((tree, node))
                continue
            word = "BRANCH_" + str(rng.choice(list(comparisons)))
            split = float(rng.integers(-2, 3)) / 2
            missing, feature = int(rng.integers(2)), int(rng.integers(features))
            rows.append((tree, node, feature, split, word, count, count + 1, missing))
            waiting += [(count, deep + 1), (count + 1, deep + 1)]
            count += 2
    columns = zip(names, map(list, zip(*rows, strict=True)), strict=True)
    return {f"nodes_{name}": column for name, column in columns}, leaves


def random_features(rng: np.random.Generator, rows: int = 9, count: int = 4) -> Array:
    """Halves, some of them equal to splits, and what is not a number."""
    found = (rng.integers(-4, 5, (rows, count)) / 2).astype(np.float32)
    found[rng.random(found.shape) < 0.1] = np.nan
    return found
