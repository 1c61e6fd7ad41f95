"""Ensembles of trees as ONNX's TreeEnsembleRegressor."""

from __future__ import annotations

from typing import Any

import numpy as np
from onnx import numpy_helper

from edgeconv.ir.graph import Graph, Node
from edgeconv.model.frontend.saved_nodes import Values, Written

DOMAIN, VERSION = "ai.onnx.ml", 3
_OF_DOMAIN = frozenset({"Coupling", "Trees"})


def versions_of(graph: Graph) -> dict[str, int]:
    """The versions of domains beside ONNX's own that a file of ``graph`` needs."""
    return {DOMAIN: VERSION} if any(node.op in _OF_DOMAIN for node in graph.nodes) else {}


def trees(written: Written, node: Node, inputs: tuple[str, ...], y: str) -> None:
    """Nodes have the numbers of their places in the tables (`kernels/ops/tree_tables.py`)."""
    graph, (tables, sums) = written.graph, (node.inputs[1:5], (*node.inputs[5:], "", "")[:2])
    split, feature, following, root = (graph[name].constant() for name in tables)
    weight, base = (graph[name].constant() if name else None for name in sums)
    targets = written.graph[node.output].shape[-1]
    names = (
        *("treeids", "nodeids", "featureids", "values", "modes", "truenodeids", "falsenodeids"),
        "missing_value_tracks_true",
    )
    rows: list[tuple[int, int, int, float, str, int, int, int]] = []
    given: list[tuple[int, int, int, float]] = []
    for tree, first in enumerate(root.tolist()):
        waiting = [first]
        seen: set[int] = set()
        while waiting:
            place = waiting.pop()
            if place in seen:
                continue
            seen.add(place)
            code, after = int(feature[place]), int(following[place])
            if code < 0:
                rows.append((tree, place, 0, 0.0, "LEAF", 0, 0, 0))
                numbers = _leaf(split[place], None if weight is None else weight[after])
                start = -1 - code
                given += [(tree, place, start + i, number) for i, number in enumerate(numbers)]
                continue
            word = "BRANCH_EQ" if code & 2 else "BRANCH_LEQ"
            number = float(split[place])
            rows.append((tree, place, code >> 2, number, word, after, after + 1, code & 1))
            waiting += [after, after + 1]
    ends = ("treeids", "nodeids", "ids", "weights")
    columns: dict[str, Any] = {
        f"{kind}_{name}": list(column)
        for kind, of, table in (("nodes", names, rows), ("target", ends, given))
        for name, column in zip(of, zip(*table, strict=True), strict=True)
    }
    for name in ("nodes_values", "target_weights") if split.dtype == np.float64 else ():
        doubles = np.asarray(columns.pop(name), np.float64)  # lists are of float32
        columns[f"{name}_as_tensor"] = numpy_helper.from_array(doubles, name)
    written.node(
        "TreeEnsembleRegressor",
        inputs[:1],
        y,
        domain=DOMAIN,
        n_targets=targets,
        aggregate_function=str(node.attrs["combination"]),
        **columns,
        **({} if base is None else {"base_values": np.asarray(base).tolist()}),
    )


def _leaf(number: float, row: Values | None) -> list[float]:
    return [float(number)] if row is None else [float(each) for each in row]
