"""Ensembles of decision trees: ONNX's TreeEnsembleRegressor, to which the frontend brings the other
forms (`model/frontend/definitions/ensembles.py`)."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import Any

import numpy as np

from edgeconv.ir.choice import Layer, Param
from edgeconv.ir.element_types import FLOAT32, FLOAT64
from edgeconv.ir.graph import Epilogue, Graph, Node
from edgeconv.kernels.lowering.calls import FLOAT_BYTES, kernel_layer
from edgeconv.kernels.lowering.options import Stored
from edgeconv.kernels.lowering.work import Call
from edgeconv.kernels.ops.base import ImportContext, Operator, Source
from edgeconv.kernels.ops.complete_trees import CompleteTrees, complete_trees
from edgeconv.kernels.ops.elementwise import COPY, elementwise
from edgeconv.kernels.ops.formula import Formula, Term
from edgeconv.kernels.ops.importing import ints
from edgeconv.kernels.ops.tree_tables import Ensemble, Tables, tables_of
from edgeconv.target.targets import Target

_COMBINATIONS = {"SUM": "SUM", "AVERAGE": "SUM", "MIN": "MIN", "MAX": "MAX"}
# Of a comparison: two loads that wait for each other, a test, a jump that is foreseen half the
# time.  A Zen 4 takes 2.7 ns, 10 slots; a core without vectors, whose slots are longer, jumps for
# less.
_SLOTS, _SCALAR_SLOTS = 10.0, 4.0


def _numbers(source: Source, name: str) -> Any:
    """A list of real numbers, which newer versions may have as a tensor of another type."""
    tensor = source.attrs.get(f"{name}_as_tensor")
    given = source.attrs.get(name, ()) if tensor is None or not np.size(tensor) else tensor
    return np.asarray(given, np.float64).reshape(-1)


def _ensemble(source: Source) -> Ensemble:
    def listed(name: str) -> tuple[int, ...]:
        return ints(source.attrs.get(name, ()))

    keys = tuple(zip(listed("nodes_treeids"), listed("nodes_nodeids"), strict=False))
    return Ensemble(
        keys=keys,
        features=listed("nodes_featureids"),
        splits=_numbers(source, "nodes_values"),
        modes=tuple(source.attrs.get("nodes_modes", ())),
        yes=listed("nodes_truenodeids"),
        no=listed("nodes_falsenodeids"),
        missing=listed("nodes_missing_value_tracks_true") or (0,) * len(keys),
        target_keys=tuple(zip(listed("target_treeids"), listed("target_nodeids"), strict=False)),
        target_ids=listed("target_ids"),
        target_weights=_numbers(source, "target_weights"),
    )


def _import(source: Source, ctx: ImportContext) -> Sequence[Node]:
    """One Trees node; without its transformation, which is the frontend's."""
    formula = Formula(source, ctx)
    x, out = Term(formula, source.inputs[0]), ctx.tensor(source.outputs[0])
    if len(x.shape) not in (1, 2) or len(out.shape) != 2:
        raise ctx.reject(source, f"features of shape {list(x.shape)}", "they are [rows, features]")
    features, targets = x.shape[-1], out.shape[-1]

    def reject(got: str, rule: str) -> Exception:
        return ctx.reject(source, got, rule)

    ensemble = _ensemble(source)
    ensemble.check(features, targets, reject)
    if x.name and ctx.tensor(x.name).dtype not in (FLOAT32, FLOAT64):
        x = elementwise(formula, COPY, (x,), FLOAT32)
    doubles = ctx.tensor(x.name).dtype == FLOAT64
    tables = tables_of(ensemble, targets, np.float64 if doubles else np.float32, reject)
    function = str(source.attrs.get("aggregate_function", "SUM"))
    if function not in _COMBINATIONS:
        raise reject(f"aggregate_function {function!r}", f"it is one of {', '.join(_COMBINATIONS)}")
    whole = tables.weight is None and targets == 1
    if function in ("MIN", "MAX") and not whole and not _gives_all(ensemble, targets):
        got = f"{function} of leaves without a number for every target"
        raise reject(got, "each leaf has one for each")
    if function == "AVERAGE":
        tables = _averaged(tables)
    base = _numbers(source, "base_values").astype(np.float32)
    if base.size not in (0, 1, targets):
        raise reject(f"{base.size} base values", f"there are {targets} targets")
    named: dict[str, Any] = {
        "split": tables.split,
        "feature": tables.feature,
        "next": tables.next,
        "root": tables.root,
        "weight": tables.weight,
        "base": np.broadcast_to(base, (targets,)) if base.any() else None,
    }
    constants = [
        ""
        if value is None
        else ctx.add_constant(f"{source.name}/{name}", np.ascontiguousarray(value))
        for name, value in named.items()
    ]
    attrs = {
        "combination": _COMBINATIONS[function],
        "features": features,
        "depth": tables.depth,
    }
    made = formula.add("Trees", (x, *constants), out.shape, "trees", Epilogue(), FLOAT32, **attrs)
    return formula.finish(made)


def _gives_all(ensemble: Ensemble, targets: int) -> bool:
    """Every leaf has a number for every target."""
    found: dict[tuple[int, int], set[int]] = {}
    for key, target in zip(ensemble.target_keys, ensemble.target_ids, strict=True):
        found.setdefault(key, set()).add(target)
    leaves = (k for k, mode in zip(ensemble.keys, ensemble.modes, strict=True) if mode == "LEAF")
    return all(len(found.get(key, ())) == targets for key in leaves)


def _averaged(tables: Tables) -> Tables:
    """The numbers of leaves divided by that of trees."""
    count = len(tables.root)
    leaf = tables.feature < 0
    split, weight = tables.split, tables.weight
    if weight is None:
        split = np.where(leaf, split / split.dtype.type(count), split)
    else:
        weight = weight / np.float32(count)
    return Tables(split, tables.feature, tables.next, tables.root, weight, tables.depth)


def lower(node: Node, graph: Graph, target: Target) -> Layer:
    """A row after the other, a tree after the other, or vectors of rows where that is cheaper."""
    out, call = graph[node.output], Call(node, graph, target)
    pointers = ("in", "split", "feature", "next", "root", "weight", "base")
    operands = {pointer: name for pointer, name in zip(pointers, node.inputs, strict=False) if name}
    trees = graph[operands["root"]].size
    slots = _SLOTS if target.lanes > 1 else _SCALAR_SLOTS
    walks = out.shape[0] * trees * slots * int(node.attrs["depth"])
    if (found := _complete(node, graph, target, operands)) and found.slots < walks:
        return _in_vectors(call, found, operands)
    params: dict[str, Param] = {
        "rows": out.shape[0],
        "features": int(node.attrs["features"]),
        "targets": out.shape[1],
        "trees": trees,
        "combination": f"EC_TREES_{node.attrs['combination']}",
        "feature_bytes": graph[operands["feature"]].element_bytes,
        "next_bytes": graph[operands["next"]].element_bytes,
        "doubles": int(graph[operands["in"]].dtype == FLOAT64),
        "weighed": "weight" in operands,
        "based": "base" in operands,
    }
    return kernel_layer(
        call,
        "trees",
        "ops/trees.c.j2",
        operands=operands,
        params=params,
        headers=("ec_trees.h",),
        work=call.streams(walks),
        epilogue=False,
    )


def _complete(
    node: Node, graph: Graph, target: Target, operands: Mapping[str, str]
) -> CompleteTrees | None:
    """The trees filled up to one depth, where the kernel for that takes them."""
    if "weight" in operands or node.attrs["combination"] != "SUM":
        return None
    if graph[operands["in"]].dtype != FLOAT32:
        return None
    names = ("split", "feature", "next", "root")
    tables = {name: graph[operands[name]].constant() for name in names}
    rows, targets = graph[node.output].shape
    return complete_trees(rows, int(node.attrs["depth"]), targets, tables, target)


def _in_vectors(call: Call, trees: CompleteTrees, operands: Mapping[str, str]) -> Layer:
    """All comparisons of a tree for the rows of some vectors."""
    rows, targets = call.output.shape
    lanes = call.target.lanes
    params: dict[str, Param] = {
        "rows": rows,
        "features": int(call.node.attrs["features"]),
        "columns": len(trees.columns),
        "targets": targets,
        "trees": len(trees.target),
        "depth": int(call.node.attrs["depth"]),
        "vectors": trees.vectors,
        "based": "base" in operands,
    }
    base = {"base": operands["base"]} if "base" in operands else {}
    return kernel_layer(
        call,
        "trees in vectors",
        "ops/complete_trees.c.j2",
        operands={"in": operands["in"], **trees.blobs(lanes), **base},
        params=params,
        headers=("ec_complete_trees.h",),
        work=call.streams(trees.slots),
        workspace_bytes=trees.workspace_floats(targets, lanes) * FLOAT_BYTES,
        epilogue=False,
    )


OPERATOR = Operator(
    name="Trees",
    onnx={"ai.onnx.ml.TreeEnsembleRegressor": _import},
    typed={"ai.onnx.ml.TreeEnsembleRegressor": _import},
    lower=lower,
    stored=Stored.NOTHING,
)
