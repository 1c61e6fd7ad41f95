"""A node of a model on its way through the frontend."""

from __future__ import annotations

from collections.abc import Callable, Collection, Mapping
from dataclasses import dataclass
from typing import Any

import onnx
from onnx import shape_inference

from edgeconv.base.errors import EdgeconvError
from edgeconv.model.frontend import tflite
from edgeconv.model.frontend.names import FunctionKey, domain_of

# What onnx raises for a node that is wrong.
INVALID = (
    onnx.checker.ValidationError,
    shape_inference.InferenceError,
    RuntimeError,
    ValueError,
)


@dataclass(frozen=True, slots=True)
class Scope:
    """Where nodes come from: their opsets, and the calls that they were expanded from.

    ``origin`` is the model's own node, "" for the model's own nodes themselves.
    """

    opsets: Mapping[str, int]
    origin: str = ""
    calls: tuple[FunctionKey, ...] = ()


@dataclass(frozen=True, slots=True)
class Visit:
    """One node of the walk.  ``schema`` is None outside of the operator sets that onnx knows."""

    node: onnx.NodeProto
    name: str
    scope: Scope
    live: Collection[str]
    schema: onnx.defs.OpSchema | None

    @property
    def operator(self) -> str:
        """domain.op_type-version, for messages; an unknown operator's version is its opset's."""
        opset = self.scope.opsets.get(domain_of(self.node.domain))
        version = self.schema.since_version if self.schema else opset
        name = f"{self.node.domain or 'ai.onnx'}.{self.node.op_type}"
        return name if version is None else f"{name}-{version}"

    def invalid(self, got: str, rule: str = "") -> EdgeconvError:
        """The error for a node that breaks the rules of ONNX."""
        where = f"node {self.name!r} ({self.node.op_type})"
        got = " ".join(got.split())
        return EdgeconvError("the model is invalid", where=where, got=got, rule=rule)

    def said(self) -> str:
        """Why a TensorFlow Lite operator was not translated; "" of other nodes."""
        own = self.node.attribute if self.node.domain == tflite.DOMAIN else ()
        found = (a.s.decode(errors="replace") for a in own if a.name == tflite.REASON)
        return next(found, "")


def body_of(
    visit: Visit, schema: Any, type_of: Callable[[str], onnx.TypeProto]
) -> onnx.FunctionProto | None:
    """The function by which ONNX defines the operator, in the opset nearest to the model's; None
    where it is defined by none.

    ``schema`` is an OpSchema; onnx does not publish the types of what is used here.
    """
    dependent = schema.has_context_dependent_function
    versions = (
        schema.context_dependent_function_opset_versions
        if dependent
        else schema.function_opset_versions
    )
    if not versions:
        return None
    opset = visit.scope.opsets.get(schema.domain, 0)
    version = max((v for v in versions if v <= opset), default=min(versions))
    if not dependent:
        found = schema.get_function_with_opset_version(version)
    else:
        kinds = [type_of(name).SerializeToString() if name else b"" for name in visit.node.input]
        try:
            found = schema.get_context_dependent_function_with_opset_version(
                version, visit.node.SerializeToString(), kinds
            )
        except INVALID as error:
            raise visit.invalid(str(error)) from None
    return onnx.FunctionProto.FromString(found) if isinstance(found, bytes) else found
