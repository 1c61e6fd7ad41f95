"""How ONNX names operators and functions."""

from __future__ import annotations

from collections.abc import Iterable

import onnx

FunctionKey = tuple[str, str, str]  # domain, name, overload


def domain_of(name: str) -> str:
    """A domain; ONNX's own has two spellings."""
    return "" if name == "ai.onnx" else name


def call_key(node: onnx.NodeProto) -> FunctionKey:
    """The function that ``node`` calls, if the model has one of that name."""
    return domain_of(node.domain), node.op_type, node.overload


def function_key(function: onnx.FunctionProto) -> FunctionKey:
    """The name under which nodes call ``function``."""
    return domain_of(function.domain), function.name, function.overload


def opset_versions(imports: Iterable[onnx.OperatorSetIdProto]) -> dict[str, int]:
    """Domain -> version."""
    return {domain_of(entry.domain): entry.version for entry in imports}
