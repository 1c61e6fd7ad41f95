"""The values of a model while it is walked: constants, activations, and what is not supported."""

from __future__ import annotations

import math
from collections.abc import Collection
from typing import Any

import numpy as np
import onnx
from onnx import helper

from edgeconv.base import limits
from edgeconv.base.names import untaken
from edgeconv.ir.array_types import array_type
from edgeconv.ir.element_types import is_element_type
from edgeconv.ir.graph import Tensor
from edgeconv.ir.layout import Shape
from edgeconv.kernels.ops.base import Source
from edgeconv.model.frontend.dequantised import Dequantised
from edgeconv.model.frontend.folding import placeholder
from edgeconv.model.frontend.problems import Problems, RejectedNodeError
from edgeconv.model.frontend.weights import Values as Array

# Where numpy calls an element type otherwise than ONNX does.
_NUMPY_NAMES = {
    "float": "float32",
    "double": "float64",
    "float4e2m1": "float4_e2m1fn",
    "float8e4m3fn": "float8_e4m3fn",
    "float8e4m3fnuz": "float8_e4m3fnuz",
    "float8e5m2": "float8_e5m2",
    "float8e5m2fnuz": "float8_e5m2fnuz",
    "float8e8m0": "float8_e8m0fnu",
}


class Values:
    """What is known of every value; the ``ImportContext`` that importers see.

    ``tensors`` holds the constants and the activations of static shape; ``problems`` what is
    neither, and ``dequantised`` what DequantizeLinear made.  ``reserved`` are
    names that no new value may take.
    """

    def __init__(self, reserved: Collection[str]) -> None:
        self.tensors: dict[str, Tensor] = {}
        self.problems = Problems()
        self.dequantised = Dequantised()
        self.rounded: set[str] = set()  # int32 of which float32 may have the nearest only
        self._whole: set[str] = set()
        self._awaited: set[str] = set()  # values of nodes that are yet to be imported
        self._types: dict[str, onnx.TypeProto] = {}  # of values known at run time only
        self._unknown: set[str] = set()  # values whose type or shape could not be worked out
        self._taken = (self.tensors, self._types, self._unknown, reserved, self._awaited)

    def tensor(self, name: str) -> Tensor:
        """The tensor ``name``."""
        return self.tensors[name]

    def constant(self, name: str) -> Array | None:
        """Its value when it is a constant, as what has no elements is."""
        tensor = self.tensors.get(name)
        if tensor and tensor.data is None and not tensor.size:
            return np.zeros(tensor.shape, array_type(tensor.dtype))
        return tensor.data if tensor else None

    def stored_as(self, name: str, axis: int, layer: str) -> dict[str, Any]:
        """Attributes of a layer whose filters are ``name``, where the model stores integers."""
        return self.dequantised.attributes(name, axis, self.tensors[name].shape[axis], layer)

    def scale_of(self, name: str) -> float | None:
        """The one scale that the constant ``name`` has whole multiples of; None of others."""
        return self.dequantised.scale_of(name)

    def holds_integers(self, name: str) -> bool:
        """Whether ``name`` is of float32 and holds whole numbers only, which stand for int32."""
        return name in self._whole

    def add_constant(self, hint: str, value: Array) -> str:
        """Add a constant under a name made from ``hint``; returns the name."""
        name = self.fresh(hint)
        self.define(name, value)
        return name

    def add_tensor(self, hint: str, shape: Shape, like: Tensor) -> str:
        """Add an activation under a name made from ``hint``; returns the name."""
        name = self.fresh(hint)
        self.tensors[name] = Tensor(name, tuple(shape), like.dtype)
        return name

    def reject(self, source: Source, got: str, rule: str, hint: str = "") -> Exception:
        """The error for a node that edgeconv does not compile."""
        where = f"node {source.name!r} ({source.op_type})"
        return RejectedNodeError("unsupported", where=where, got=got, rule=rule, hint=hint)

    def define(self, name: str, value: Array) -> None:
        """Give the constant ``name`` its value."""
        self.tensors[name] = Tensor(name, value.shape, value.dtype.name, data=value)

    def forget(self, name: str) -> None:
        """Take the constant ``name`` for a value that is yet to be made."""
        del self.tensors[name]

    def declare(self, name: str, kind: onnx.TypeProto, *, report: bool = True) -> bool:
        """Add a value known at run time; False when it is none that edgeconv computes.

        ``report``: count it among the problems then.
        """
        elem, shape = kind.tensor_type.elem_type, static_shape(kind)
        if shape is not None:
            limits.held("tensor-rank", len(shape), f"value {name!r}", "too large to compile")
            largest = max(math.prod(shape), *shape, 0)
            limits.held("tensor-elements", largest, f"value {name!r}", "too large to compile")
        known = elem in onnx.TensorProto.DataType.values()[1:]  # 0 stands for none
        type_name = onnx.TensorProto.DataType.Name(elem).lower() if known else f"type {elem}"
        dtype = _NUMPY_NAMES.get(type_name, type_name)
        computed = is_element_type(dtype)
        if report and not computed:
            self.problems.value(type_name, name)
        negative = min(shape or (), default=0) < 0  # of what is refused; nothing is known of it
        if not known or not kind.HasField("tensor_type") or shape is None or negative:
            self._unknown.add(name)
            return False
        self._types[name] = kind
        if computed:
            self.tensors[name] = Tensor(name, shape, dtype)
        return computed

    def fresh(self, hint: str) -> str:
        """A name that no value has, and none will have that the nodes at hand write."""
        return untaken(hint, *self._taken)

    def _is_taken(self, name: str) -> bool:
        return any(name in names for names in self._taken)

    def type_of(self, name: str) -> onnx.TypeProto | None:
        """The type of a value known at run time only; None where it could not be worked out."""
        return self._types.get(name)

    def _type(self, name: str) -> onnx.TypeProto:
        value = self.constant(name)
        if value is None:
            return self._types[name]
        elem = helper.np_dtype_to_tensor_dtype(value.dtype)
        return helper.make_tensor_type_proto(elem, value.shape)

    def _dtype(self, name: str) -> str:
        """Its element type, "" where it could not be worked out."""
        if name in self.tensors:
            return self.tensors[name].dtype
        kind = self._types.get(name)
        return helper.tensor_dtype_to_np_dtype(kind.tensor_type.elem_type).name if kind else ""

    def _shape(self, name: str) -> Shape | None:
        """Its shape, None where it could not be worked out."""
        if name in self.tensors:
            return self.tensors[name].shape
        kind = self._types.get(name)
        return static_shape(kind) if kind else None

    def _is_known(self, name: str) -> bool:
        return name in self.tensors or name in self._types or name in self._unknown

    def _value_or_placeholder(self, name: str) -> Array | None:
        """The constant ``name``, else an array that stands for its shape and type if known."""
        value = self.constant(name)
        shape = static_shape(self._types[name]) if name in self._types else None
        if value is not None or shape is None:
            return value
        dtype = helper.tensor_dtype_to_np_dtype(self._types[name].tensor_type.elem_type)
        return placeholder(shape, dtype)


def static_shape(kind: onnx.TypeProto) -> Shape | None:
    """The shape of a tensor type when every dimension is known."""
    tensor = kind.tensor_type
    if not tensor.HasField("shape") or not all(d.HasField("dim_value") for d in tensor.shape.dim):
        return None
    return tuple(d.dim_value for d in tensor.shape.dim)
