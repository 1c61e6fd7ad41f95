"""Function bodies and branches as plain nodes of the graph around them."""

from __future__ import annotations

from collections.abc import Callable, Collection, Iterable, Mapping

import onnx
from onnx import helper

from edgeconv.model.frontend.schedule import label

Rename = Callable[[str], str]
Attributes = Mapping[str, onnx.AttributeProto]


def inlined_function(
    function: onnx.FunctionProto, call: onnx.NodeProto, attributes: Attributes, prefix: str
) -> list[onnx.NodeProto]:
    """The nodes of ``function`` for ``call``.

    Inputs and outputs get the caller's names, everything else a name under ``prefix``;
    ``attributes`` are the values of the function's parameters.
    """
    actual = list(call.input) + [""] * (len(function.input) - len(call.input))
    mapping = dict(zip(function.input, actual, strict=False))
    outputs = dict(zip(function.output, call.output, strict=False))
    return _inlined(function.node, mapping, outputs, prefix, attributes)


def inlined_branch(
    graph: onnx.GraphProto, call: onnx.NodeProto, prefix: str
) -> list[onnx.NodeProto]:
    """The nodes of a branch of ``call`` (If); for its constants see ``branch_constants``."""
    mapping = {t.name: f"{prefix}/{t.name}" for t in graph.initializer}
    outputs = dict(zip((v.name for v in graph.output), call.output, strict=False))
    return _inlined(graph.node, mapping, outputs, prefix, {})


def inlined_body(
    graph: onnx.GraphProto, given: Iterable[str], prefix: str
) -> tuple[list[onnx.NodeProto], list[str]]:
    """The nodes of a body or branch whose inputs are ``given``, and the names of its outputs; for
    its constants see ``branch_constants``."""
    mapping = {t.name: f"{prefix}/{t.name}" for t in graph.initializer}
    mapping.update(zip((value.name for value in graph.input), given, strict=True))
    nodes = _inlined(graph.node, mapping, {}, prefix, {})
    return nodes, [mapping.get(value.name, value.name) for value in graph.output]


def renamed(nodes: Iterable[onnx.NodeProto], names: Mapping[str, str]) -> list[onnx.NodeProto]:
    """Copies of ``nodes`` that read and write values under other ``names``."""
    return [_renamed(node, lambda name: names.get(name, name), {}, "") for node in nodes]


def inner_names(body: onnx.FunctionProto | onnx.GraphProto) -> set[str]:
    """The names of the values that the nodes of ``body`` write, and of its constants: those that
    are called otherwise where it is inlined."""
    own = body.initializer if isinstance(body, onnx.GraphProto) else ()
    written = (name for node in body.node for name in node.output if name)
    return {*written, *(tensor.name for tensor in own)}


def branch_constants(graph: onnx.GraphProto, prefix: str) -> dict[str, onnx.TensorProto]:
    """The constants of a branch under the names that its inlined nodes use."""
    return {f"{prefix}/{tensor.name}": tensor for tensor in graph.initializer}


def _inlined(
    body: Iterable[onnx.NodeProto],
    mapping: dict[str, str],
    outputs: Mapping[str, str],
    prefix: str,
    attributes: Attributes,
) -> list[onnx.NodeProto]:
    body = list(body)
    written = {name for node in body for name in node.output if name}
    mapping |= {name: f"{prefix}/{name}" for name in written}
    mapping |= {inner: outer for inner, outer in outputs.items() if inner in written and outer}
    nodes = [
        _renamed(node, lambda name: mapping.get(name, name), attributes, prefix) for node in body
    ]
    # An output that no node of the body writes: a constant, a parameter or an outer value.
    nodes += [
        helper.make_node("Identity", [mapping.get(inner, inner)], [outer], name=f"{prefix}/{inner}")
        for inner, outer in outputs.items()
        if inner not in written and outer
    ]
    return nodes


def _renamed(
    node: onnx.NodeProto, rename: Rename, attributes: Attributes, prefix: str
) -> onnx.NodeProto:
    """A copy of ``node`` with other value names and its attribute references resolved."""
    copy = onnx.NodeProto()
    copy.CopyFrom(node)
    copy.name = f"{prefix}/{label(node)}" if prefix else node.name
    del copy.input[:], copy.output[:], copy.attribute[:]
    copy.input.extend(rename(name) if name else "" for name in node.input)
    copy.output.extend(rename(name) if name else "" for name in node.output)
    for attribute in node.attribute:
        resolved = onnx.AttributeProto()
        if not attribute.ref_attr_name:
            resolved.CopyFrom(attribute)
        elif attribute.ref_attr_name in attributes:
            resolved.CopyFrom(attributes[attribute.ref_attr_name])
            resolved.name = attribute.name
        else:
            continue
        if resolved.type == onnx.AttributeProto.GRAPH:
            resolved.g.CopyFrom(_renamed_graph(resolved.g, rename, attributes))
        copy.attribute.append(resolved)
    return copy


def _renamed_graph(
    graph: onnx.GraphProto, rename: Rename, attributes: Attributes
) -> onnx.GraphProto:
    """A copy of a subgraph in which only the values taken from around it have other names."""
    own = {t.name for t in graph.initializer} | {v.name for v in graph.input}
    own |= {name for node in graph.node for name in node.output}
    outer = _outside(own, rename)
    copy = onnx.GraphProto()
    copy.CopyFrom(graph)
    del copy.node[:]
    copy.node.extend(_renamed(node, outer, attributes, "") for node in graph.node)
    for value in copy.output:
        value.name = outer(value.name)
    return copy


def _outside(own: Collection[str], rename: Rename) -> Rename:
    return lambda name: name if name in own else rename(name)
