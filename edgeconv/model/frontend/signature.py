"""What a node must be to its operator: attributes, number of inputs and outputs, element types."""

from __future__ import annotations

import re
from collections.abc import Mapping
from functools import lru_cache
from types import MappingProxyType

import numpy as np
import onnx
from onnx import TensorProto

from edgeconv.model.frontend.weights import Values

_VARIADIC = onnx.defs.OpSchema.FormalParameterOption.Variadic
_GRAPH, _TENSOR = onnx.AttributeProto.GRAPH, onnx.AttributeProto.TENSOR
_INT = onnx.AttributeProto.INT


# Attributes that are 0 or 1.  Of other numbers engines differ in the meaning.
_FLAGS = frozenset(
    {
        *("keepdims", "noop_with_empty_axes", "transA", "transB", "ceil_mode", "training_mode"),
        *("count_include_pad", "antialias", "exclude_outside", "exclusive", "reverse", "allowzero"),
        *("align_corners", "center_point_box", "detect_negative", "detect_positive", "fmod"),
        *("input_forget", "interleaved", "inverse", "is_causal", "largest", "layout", "new_axis"),
        *("linear_before_reset", "onesided", "periodic", "saturate", "select_last_index", "sorted"),
        *("storage_order", "upper"),
    }
)
# Attributes that stand for one of several ways.
_CHOICES = MappingProxyType({"qk_matmul_output_mode": range(4)})
# Attributes that are one of several words.  "" is what engines take for the first.
_PADDED = ("NOTSET", "SAME_UPPER", "SAME_LOWER", "VALID", "")
_SUMMED = ("none", "mean", "sum")
_SCATTERED = ("none", "add", "mul", "max", "min")
_BLOCKS = ("DCR", "CRD")
_WORDS: Mapping[tuple[str, str], tuple[str, ...]] = MappingProxyType(
    {
        ("BitShift", "direction"): ("LEFT", "RIGHT"),
        ("Cast", "round_mode"): ("up", "down", "nearest"),
        ("CastLike", "round_mode"): ("up", "down", "nearest"),
        ("ConvTranspose", "auto_pad"): _PADDED,
        ("DepthToSpace", "mode"): _BLOCKS,
        ("Gelu", "approximate"): ("none", "tanh"),
        ("NegativeLogLikelihoodLoss", "reduction"): _SUMMED,
        ("Pad", "mode"): ("constant", "reflect", "edge", "wrap"),
        ("RoiAlign", "coordinate_transformation_mode"): ("half_pixel", "output_half_pixel"),
        ("RoiAlign", "mode"): ("avg", "max"),
        ("ScatterElements", "reduction"): _SCATTERED,
        ("ScatterND", "reduction"): _SCATTERED,
        ("SoftmaxCrossEntropyLoss", "reduction"): _SUMMED,
        ("SpaceToDepth", "mode"): _BLOCKS,
        ("TensorScatter", "mode"): ("linear", "circular"),
    }
)
_ONNX = ("", "ai.onnx")
_OF_INTEGERS = ("QuantizeLinear", "DequantizeLinear")
_SMALL_FLOATS = ("float4", "float8")
_SPLIT_INTO = "num_outputs"  # with less than there are, onnx's shape inference crashes
_TERM = r"[A-Za-z ]*(\.\.\.)?[A-Za-z ]*"
# Of Einsum.  Other characters keep onnx's shape inference busy for ever.
_EQUATION = re.compile(rf"{_TERM}(,{_TERM})*(->{_TERM})?")
_AXES = frozenset({"axis", "axes", "perm", "batch_axis", "time_axis"})
_MOST_AXIS = 1000  # far beyond every rank; onnx's shape inference crashes at 2^31


def check(node: onnx.NodeProto, opsets: Mapping[str, int]) -> None:
    """Raise ValueError or onnx.checker.ValidationError where ``node`` breaks its operator's
    signature."""
    for attribute in node.attribute:
        values = attribute.ints if attribute.ints else (attribute.i,)
        if attribute.name in _FLAGS and not set(values) <= {0, 1}:
            raise ValueError(f"{attribute.name} {values[0]}, which is neither 0 nor 1")
        if attribute.i not in (ways := _CHOICES.get(attribute.name, (attribute.i,))):
            got = f"{attribute.name} {attribute.i}"
            raise ValueError(f"{got}, which is none of {', '.join(map(str, ways))}")
        if attribute.name in _AXES and max(map(abs, values)) > _MOST_AXIS:
            raise ValueError(f"{attribute.name} {max(values, key=abs)}, which no tensor has")
        if node.domain in _ONNX and not attribute.ref_attr_name:
            if attribute.name == _SPLIT_INTO and attribute.i != len(node.output):
                got = f"{_SPLIT_INTO} {attribute.i} of a node with {len(node.output)} outputs"
                raise ValueError(got)
            _check_text(node.op_type, attribute.name, attribute.s.decode(errors="replace"))
    context = onnx.checker.C.CheckerContext()
    context.ir_version = onnx.IR_VERSION
    context.opset_imports = dict(opsets)
    onnx.checker.check_node(_checkable(node), context)


def _check_text(op_type: str, name: str, text: str) -> None:
    """Raise ValueError for an attribute that is none of its words, or no equation."""
    words = _WORDS.get((op_type, name), (text,))
    if text not in words:
        raise ValueError(f"{name} {text!r}, which is none of {', '.join(filter(None, words))}")
    if (op_type, name) == ("Einsum", "equation") and not _EQUATION.fullmatch(text):
        rule = "letters name dimensions, '...' those left, '->' the result"
        raise ValueError(f"{name} {text!r}; {rule}")


def misvalued(node: onnx.NodeProto, known: Mapping[str, Values | None]) -> str:
    """What is wrong about the ``known`` values of the inputs; "" for nothing.

    By ONNX's text a float of few bits may have a zero point; engines refuse one that is not 0, or
    leave it out.
    """
    if node.op_type not in _OF_INTEGERS or len(node.input) < 3:
        return ""
    zero = known.get(node.input[2])
    if zero is None or not zero.dtype.name.startswith(_SMALL_FLOATS):
        return ""
    wrong = zero[zero.astype(np.float32) != 0]
    return f"a zero point {wrong[0]} of {zero.dtype.name}, where it is 0" if wrong.size else ""


def misplaced(attributes: Mapping[str, onnx.AttributeProto], kind: onnx.TypeProto) -> str:
    """An axis among ``attributes``, given or a default, that a first input of ``kind`` does not
    have; "" for none.

    Neither checker nor inference tell where onnx defines an operator by others.
    """
    if not kind.tensor_type.HasField("shape"):
        return ""
    rank = len(kind.tensor_type.shape.dim)
    for attribute in (attributes[name] for name in ("axis", "axes") if name in attributes):
        for axis in (attribute.i,) if attribute.type == _INT else attribute.ints:
            if not -rank <= axis < rank:
                return f"{attribute.name} {axis} of an input of {rank} dimensions"
    return ""


def mistyped(
    schema: onnx.defs.OpSchema, node: onnx.NodeProto, kinds: Mapping[str, onnx.TypeProto]
) -> str:
    """What is wrong about the element types of the inputs; "" for nothing.

    Shape inference does not tell: it takes a convolution of float32 by float64 for one of float32.
    ``kinds``: the types of the inputs by name.
    """
    parameters, allowed = _parameters(schema)
    several = schema.inputs and schema.inputs[-1].option == _VARIADIC
    if several and "" in node.input[len(schema.inputs) - 1 :]:
        return f"{schema.inputs[-1].name} of which one is absent"
    bound: dict[str, str] = {}
    for position, name in enumerate(node.input):
        kind = kinds.get(name)
        if kind is None or not kind.HasField("tensor_type") or not parameters:
            continue
        last = len(parameters) - 1
        label, type_name, homogeneous = parameters[min(position, last)]
        got = f"tensor({_type_name(kind.tensor_type.elem_type)})"
        if got not in allowed.get(type_name, frozenset({type_name})):
            return f"{label} {name!r} of {got}, which it does not take"
        if homogeneous and bound.setdefault(type_name, got) != got:
            return f"{label} {name!r} of {got} beside one of {bound[type_name]}"
    return ""


@lru_cache(maxsize=1024)
def _signature(
    name: str, domain: str, version: int
) -> tuple[tuple[tuple[str, str, bool], ...], dict[str, frozenset[str]]]:
    schema = onnx.defs.get_schema(name, version, domain)
    parameters = tuple((i.name, i.type_str, i.is_homogeneous) for i in schema.inputs)
    constraints = schema.type_constraints
    return parameters, {c.type_param_str: frozenset(c.allowed_type_strs) for c in constraints}


def _parameters(
    schema: onnx.defs.OpSchema,
) -> tuple[tuple[tuple[str, str, bool], ...], dict[str, frozenset[str]]]:
    """Name, type and whether all of a variadic one are of one type; and what types stand for."""
    return _signature(schema.name, schema.domain, schema.since_version)


def _type_name(elem: int) -> str:
    """As schemas spell it."""
    if elem not in TensorProto.DataType.values():
        return str(elem)
    return {"FLOAT": "float", "DOUBLE": "double"}.get(
        TensorProto.DataType.Name(elem), TensorProto.DataType.Name(elem).lower()
    )


def _checkable(node: onnx.NodeProto) -> onnx.NodeProto:
    """``node`` in a form that onnx can check by itself: without data that lies in a file, and
    without branches, which read values from around them."""
    if not any(attribute.type in (_TENSOR, _GRAPH) for attribute in node.attribute):
        return node
    return onnx.NodeProto(
        name=node.name,
        op_type=node.op_type,
        domain=node.domain,
        input=node.input,
        output=node.output,
        attribute=[_without_values(attribute) for attribute in node.attribute],
    )


def _without_values(attribute: onnx.AttributeProto) -> onnx.AttributeProto:
    plain = onnx.AttributeProto(name=attribute.name, type=attribute.type)
    if attribute.type == _GRAPH:
        plain.g.name = "branch"
    elif attribute.type == _TENSOR and attribute.HasField("t"):
        # Of a tensor that it has no data for onnx says nothing if it has no elements either.
        plain.t.CopyFrom(TensorProto(data_type=attribute.t.data_type, dims=[0]))
    else:
        plain.CopyFrom(attribute)
    return plain
