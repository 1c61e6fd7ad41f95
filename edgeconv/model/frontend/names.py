"""How ONNX names operators and functions, and what outputs are called that need another name."""

from __future__ import annotations

from collections.abc import Iterable

import onnx

FunctionKey = tuple[str, str, str]  # domain, name, overload
COPY = "/copy"  # behind the name of an input, or of an output, that is an output once more


def domain_of(name: str) -> str:
    """A domain; ONNX's own has two spellings."""
    return "" if name == "ai.onnx" else name


def call_key(node: onnx.NodeProto) -> FunctionKey:
    """The function that ``node`` calls, if the model has one of that name."""
    return domain_of(node.domain), node.op_type, node.overload


def function_key(function: onnx.FunctionProto) -> FunctionKey:
    """The name under which nodes call ``function``."""
    return domain_of(function.domain), function.name, function.overload


def qualified(node: onnx.NodeProto) -> str:
    """The operator of ``node``, behind its domain where that is not ONNX's own."""
    domain = domain_of(node.domain)
    return f"{domain}.{node.op_type}" if domain else node.op_type


def opset_of(model: onnx.ModelProto) -> int:
    """The opset of ONNX's own operators: the version that ``model`` imports.  Without one it is the
    first, or the newest where the model has no such operator, only those of other domains."""
    stated = opset_versions(model.opset_import).get("")
    if stated is not None:
        return stated
    nodes = [*model.graph.node, *(node for each in model.functions for node in each.node)]
    others = bool(nodes) and all(domain_of(node.domain) for node in nodes)
    return onnx.defs.onnx_opset_version() if others else 1


def opset_versions(imports: Iterable[onnx.OperatorSetIdProto]) -> dict[str, int]:
    """Domain -> version."""
    return {domain_of(entry.domain): entry.version for entry in imports}
