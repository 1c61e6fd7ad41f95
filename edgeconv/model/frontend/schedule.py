"""Order, liveness and names of ONNX nodes."""

from __future__ import annotations

import heapq
from collections.abc import Collection, Iterator, Sequence

import onnx

from edgeconv.base.errors import EdgeconvError

_GRAPH, _GRAPHS = onnx.AttributeProto.GRAPH, onnx.AttributeProto.GRAPHS


def subgraphs(node: onnx.NodeProto) -> Iterator[onnx.GraphProto]:
    """The graphs among the attributes of ``node`` (bodies of Loop, branches of If)."""
    for attribute in node.attribute:
        if attribute.type == _GRAPH:
            yield attribute.g
        elif attribute.type == _GRAPHS:
            yield from attribute.graphs


def reads(node: onnx.NodeProto) -> list[str]:
    """The values ``node`` needs: its inputs and what its subgraphs take from around them."""
    names = [name for name in node.input if name]
    for graph in subgraphs(node):
        own = {t.name for t in graph.initializer} | {v.name for v in graph.input}
        for inner in graph.node:
            names += [name for name in reads(inner) if name not in own]
            own.update(inner.output)
        names += [v.name for v in graph.output if v.name not in own]
    return list(dict.fromkeys(names))


def label(node: onnx.NodeProto) -> str:
    """The name of ``node``, or one made from its operator and its output."""
    return node.name or f"{node.op_type}_{next((name for name in node.output if name), '')}"


def ordered(nodes: Sequence[onnx.NodeProto], known: Collection[str]) -> list[onnx.NodeProto]:
    """``nodes`` in an order in which values are written before they are read.

    The model's own order is kept where it allows.  ``known``: inputs and constants.  Raises
    EdgeconvError for a value that nothing writes or two nodes write, and for a cycle.
    """
    writer: dict[str, int] = {}
    for position, node in enumerate(nodes):
        for name in node.output:
            if name and (name in writer or name in known):
                got = f"a second value for {name!r}"
                raise _invalid(node, got, "every value is written once")
            if name:
                writer[name] = position
    needs: list[set[int]] = []
    for node in nodes:
        missing = [name for name in reads(node) if name not in writer and name not in known]
        if missing:
            rule = "no input, constant or node has this name"
            raise _invalid(node, f"undefined value {missing[0]!r}", rule)
        needs.append({writer[name] for name in reads(node) if name in writer})
    users: list[list[int]] = [[] for _ in nodes]
    for position, writers in enumerate(needs):
        for before in writers:
            users[before].append(position)
    waiting = [len(writers) for writers in needs]
    ready = [position for position, count in enumerate(waiting) if not count]
    result: list[onnx.NodeProto] = []
    while ready:
        position = heapq.heappop(ready)
        result.append(nodes[position])
        for user in users[position]:
            waiting[user] -= 1
            if not waiting[user]:
                heapq.heappush(ready, user)
    if len(result) < len(nodes):
        node = nodes[_on_cycle(needs, waiting)]
        raise _invalid(node, "a cycle through this node", "a model is an acyclic graph")
    return result


def _on_cycle(needs: Sequence[Collection[int]], waiting: Sequence[int]) -> int:
    """A node of a cycle: walk from any blocked node to blocked nodes it needs until one repeats."""
    position = next(p for p, count in enumerate(waiting) if count)
    seen: set[int] = set()
    while position not in seen:
        seen.add(position)
        position = next(p for p in needs[position] if waiting[p])
    return position


def live_values(nodes: Sequence[onnx.NodeProto], outputs: Collection[str]) -> set[str]:
    """The values that ``outputs`` depend on; ``nodes`` are in execution order."""
    live = set(outputs)
    for node in reversed(nodes):
        if any(name in live for name in node.output):
            live.update(reads(node))
    return live


def value_names(graph: onnx.GraphProto) -> set[str]:
    """Every name that the model gives a value, so that no other is made up."""
    names = {name for node in graph.node for name in node.output}
    names.update(tensor.name for tensor in graph.initializer)
    names.update(sparse.values.name for sparse in graph.sparse_initializer)
    return names.union(value.name for value in graph.input)


def _invalid(node: onnx.NodeProto, got: str, rule: str) -> EdgeconvError:
    where = f"node {label(node)!r} ({node.op_type})"
    return EdgeconvError("the model is invalid", where=where, got=got, rule=rule)
