"""What every model file must be, held before a node of it is looked at.

Sizes and depth come first: functions that call each other twice double with each level, and the
walk over the nodes recurses.  None of this recurses.
"""

from __future__ import annotations

from collections import Counter
from collections.abc import Iterable, Iterator, Mapping
from pathlib import Path

import onnx

from edgeconv.base import limits
from edgeconv.base.errors import EdgeconvError
from edgeconv.model.frontend.names import FunctionKey, call_key, function_key
from edgeconv.model.frontend.schedule import label, subgraphs

_COUNTED = 10**12  # nodes of a function; larger counts are all alike
Nested = tuple[onnx.NodeProto, int]  # a node, and how many subgraphs it lies in


def audit(model: onnx.ModelProto, path: Path) -> None:
    """Raise EdgeconvError for a model that is too large or too deep written out, and for one that
    gives a name two values or an attribute none."""
    graph = model.graph
    _check_once(path, "input", (value.name for value in graph.input))
    _check_once(
        path,
        "function",
        (
            f"{f.domain}.{f.name}" + (f":{f.overload}" if f.overload else "")
            for f in model.functions
        ),
    )
    constants = [tensor.name for tensor in graph.initializer]
    constants += [sparse.values.name for sparse in graph.sparse_initializer]
    _check_once(path, "constant", constants)
    for name in (*constants, *(value.name for value in graph.input)):
        _check_name(name, path)
    nodes = list(_nodes(graph.node))
    for node, _ in nodes:
        _check_node(node, path, in_function=False)
    bodies = {function_key(f): list(_nodes(f.node)) for f in model.functions}
    for body in bodies.values():
        for node, _ in body:
            _check_node(node, path, in_function=True)
    for function in model.functions:
        beyond = [o.version for o in function.opset_import if not 0 <= o.version < 1 << 31]
        if beyond:
            got = f"opset {beyond[0]} in function {function.name!r}"
            raise _invalid(str(path), got, "versions are numbers of 31 bits")
    _check_written_out(nodes, bodies, path)


def _nodes(nodes: Iterable[onnx.NodeProto]) -> Iterator[Nested]:
    """``nodes`` and those of the graphs in them."""
    waiting: list[Nested] = [(node, 0) for node in nodes]
    while waiting:
        node, depth = waiting.pop()
        yield node, depth
        for graph in subgraphs(node):
            waiting += [(inner, depth + 1) for inner in graph.node]


def _check_once(path: Path, what: str, names: Iterable[str]) -> None:
    twice = [name for name, count in Counter(names).items() if count > 1]
    if twice:
        raise _invalid(str(path), f"the {what} {twice[0]!r} twice", "a name stands for one thing")


def _check_name(name: str, path: Path) -> None:
    limits.held("name-length", len(name), f"{path}: name {name[:40]!r}...")


def _check_node(node: onnx.NodeProto, path: Path, *, in_function: bool) -> None:
    for name in (node.name, node.op_type, *node.input, *node.output):
        _check_name(name, path)
    where = f"node {label(node)!r} ({node.op_type})"
    seen = Counter(attribute.name for attribute in node.attribute)
    for attribute in node.attribute:
        if seen[attribute.name] > 1:
            got = f"the attribute {attribute.name!r} twice"
            raise _invalid(where, got, "an attribute has one value")
        if attribute.ref_attr_name and not in_function:
            got = f"the attribute {attribute.name!r}, which refers to {attribute.ref_attr_name!r}"
            raise _invalid(where, got, "only nodes of a function have parameters to refer to")
        if not attribute.type and not attribute.ref_attr_name:
            got = f"the attribute {attribute.name!r} without a type"
            raise _invalid(where, got, "an attribute states the type of its value")


def _check_written_out(
    nodes: list[Nested], bodies: Mapping[FunctionKey, list[Nested]], path: Path
) -> None:
    """Hold the nodes that are left when all functions are in place of their calls."""
    sizes, depths = _written_out(bodies)

    def total(nested: Nested) -> int:
        return sizes.get(call_key(nested[0]), 1)

    def deep(nested: Nested) -> int:
        return nested[1] + depths.get(call_key(nested[0]), 0)

    limits.held("model-depth", max(map(deep, nodes), default=0), str(path), "nested too deep")
    limits.held("model-nodes", sum(map(total, nodes)), str(path), "too large to compile")


def _written_out(
    bodies: Mapping[FunctionKey, list[Nested]],
) -> tuple[dict[FunctionKey, int], dict[FunctionKey, int]]:
    """Nodes and depth of every function; none of those that call themselves, which the walk
    refuses."""
    callers: dict[FunctionKey, set[FunctionKey]] = {key: set() for key in bodies}
    waits: dict[FunctionKey, int] = {}
    for key, body in bodies.items():
        called = {call_key(node) for node, _ in body} & bodies.keys()
        waits[key] = len(called)
        for other in called:
            callers[other].add(key)
    ready = [key for key, count in waits.items() if not count]
    sizes: dict[FunctionKey, int] = {}
    depths: dict[FunctionKey, int] = {}
    while ready:
        key = ready.pop()
        written = sum(sizes.get(call_key(node), 1) for node, _ in bodies[key])
        sizes[key] = min(written, _COUNTED)
        inner = (depth + depths.get(call_key(node), 0) for node, depth in bodies[key])
        depths[key] = 1 + max(inner, default=0)
        for caller in callers[key]:
            waits[caller] -= 1
            if not waits[caller]:
                ready.append(caller)
    return sizes, depths


def _invalid(where: str, got: str, rule: str) -> EdgeconvError:
    return EdgeconvError("the model is invalid", where=where, got=got, rule=rule)
