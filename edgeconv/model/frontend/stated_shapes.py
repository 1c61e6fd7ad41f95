"""Shapes that a model states of its values, and what follows from them for values before those."""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence

import onnx

from edgeconv.model.frontend.values import static_shape

# Operators whose first input has the shape of their output.
_ELEMENT_WISE = frozenset(
    {
        *(
            "Abs",
            "Cast",
            "CastLike",
            "Exp",
            "Floor",
            "Identity",
            "Log",
            "Neg",
            "Reciprocal",
            "Relu",
        ),
        *("Round", "Sigmoid", "Sqrt", "Tanh", "Sin", "Cos"),
    }
)
_PAIRS = frozenset({"Add", "Sub", "Mul", "Div"})
ANY = onnx.TensorProto.UNDEFINED  # element type of what only the shape is known of


def before(
    nodes: Sequence[onnx.NodeProto],
    stated: Mapping[str, onnx.TypeProto],
    single: Callable[[str], bool] = lambda name: False,
) -> dict[str, onnx.TypeProto]:
    """``stated``, and what follows for what ``nodes`` read, in their order.  ``single``: what is
    known to be of no dimension."""
    numbers: set[str] = set()
    origins: dict[str, str] = {}  # value -> the one that it has the shape of
    for node in nodes:
        numbers.update(name for name in node.input if single(name))
        reads = node.input[:1] if node.op_type in _ELEMENT_WISE else node.input
        if node.op_type == "Constant" and _is_number(node):
            numbers.update(node.output)
        elif node.op_type in _ELEMENT_WISE | _PAIRS:
            alike = {origins.get(name, name) for name in reads if name not in numbers}
            if not alike:
                numbers.update(node.output)
            elif len(alike) == 1:
                origins |= dict.fromkeys(node.output, *alike)
    found = dict(stated)
    for name, origin in origins.items():
        known = stated.get(name)
        if origin not in found and known is not None and known.tensor_type.HasField("shape"):
            kind = onnx.TypeProto()
            kind.tensor_type.elem_type = ANY
            kind.tensor_type.shape.CopyFrom(known.tensor_type.shape)
            found[origin] = kind
    return found


def with_stated_shapes(
    names: Sequence[str], found: Mapping[str, onnx.TypeProto], stated: Mapping[str, onnx.TypeProto]
) -> dict[str, onnx.TypeProto]:
    """Types of those of ``names`` whose shape the model states and does not follow from what is
    known; the elements are what is known of them (``found``)."""
    return {
        name: _with_elements(stated[name], found.get(name))
        for name in names
        if name in stated and _shape_is_stated(stated[name], found.get(name))
    }


def _shape_is_stated(stated: onnx.TypeProto, found: onnx.TypeProto | None) -> bool:
    """The model states the shape of a value that does not follow from what is known."""
    if static_shape(stated) is None:
        return False
    elements = stated.tensor_type.elem_type
    if found is None:
        return elements != ANY
    same = elements in (ANY, found.tensor_type.elem_type)
    return same and static_shape(found) is None


def _with_elements(stated: onnx.TypeProto, found: onnx.TypeProto | None) -> onnx.TypeProto:
    """The type that the model states, its elements what is known of them."""
    kind = onnx.TypeProto()
    kind.CopyFrom(stated)
    if found is not None:
        kind.tensor_type.elem_type = found.tensor_type.elem_type
    return kind


def _is_number(node: onnx.NodeProto) -> bool:
    return all(
        a.name in ("value_float", "value_int") or (a.name == "value" and not a.t.dims)
        for a in node.attribute
    )
