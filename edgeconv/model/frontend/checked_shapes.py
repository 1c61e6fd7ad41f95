"""The shapes of a node's outputs: onnx's inference, held to the definition of the operator."""

from __future__ import annotations

from collections.abc import Mapping, Sequence

import onnx

from edgeconv.base import limits
from edgeconv.ir.layout import Shape
from edgeconv.kernels.ops import shape_rules
from edgeconv.kernels.ops.base import ImportContext
from edgeconv.model.frontend.names import qualified
from edgeconv.model.frontend.sources import source_of
from edgeconv.model.frontend.values import static_shape

_NAMED = 3  # values that a note names


def by_definition(
    node: onnx.NodeProto, name: str, schema: onnx.defs.OpSchema, ctx: ImportContext
) -> dict[str, Shape]:
    """The shapes of all outputs of ``node``, which is called ``name``, by the formula that its
    importer has; none where it has none, or only what is computed at run time tells.

    Raises RejectedNodeError for a node that its definition gives no shape; EdgeconvError for sizes
    beyond what is compiled, which may be beyond what a model can state.
    """
    rule = shape_rules().get(qualified(node))
    shape = rule(source_of(node, name, schema, node.output), ctx) if rule else None
    where = f"node {name!r} ({node.op_type})"
    limits.held("tensor-elements", max(shape or (0,)), where, "too large to compile")
    return {} if shape is None else {name: shape for name in node.output if name}


def with_shapes(
    kinds: Mapping[str, onnx.TypeProto], shapes: Mapping[str, Shape]
) -> dict[str, onnx.TypeProto]:
    """``kinds``, those of ``shapes`` of these shapes."""
    found = dict(kinds)
    for name in shapes.keys() & kinds.keys():
        kind = onnx.TypeProto()
        kind.CopyFrom(kinds[name])
        del kind.tensor_type.shape.dim[:]
        dims = (onnx.TensorShapeProto.Dimension(dim_value=size) for size in shapes[name])
        kind.tensor_type.shape.dim.extend(dims)
        found[name] = kind
    return found


class StatedOtherwise:
    """Values whose shape a model states as another one than its operators make."""

    def __init__(self) -> None:
        self._found: list[str] = []
        self._follow: set[str] = set()

    def note(
        self,
        node: onnx.NodeProto,
        names: Sequence[str],
        shapes: Sequence[Shape | None],
        stated: Mapping[str, onnx.TypeProto],
    ) -> None:
        """Compare the ``shapes`` of the outputs ``names`` of ``node`` with those that the model
        states."""
        inherited = bool(self._follow.intersection(node.input))
        for name, shape in zip(names, shapes, strict=True):
            said = static_shape(stated[name]) if name in stated else None
            if shape is None or said is None or said == shape:
                continue
            self._follow.add(name)
            if not inherited:  # what follows from one that is noted
                self._found.append(f"{name!r} is {_shown(shape)}, stated {_shown(said)}")

    def notes(self) -> list[str]:
        """One line; none where all agree."""
        if not self._found:
            return []
        more = len(self._found) - _NAMED
        shown = "; ".join(self._found[:_NAMED]) + (f"; and {more} more" if more > 0 else "")
        return [f"shapes that the model states otherwise than its operators have them: {shown}"]


def _shown(shape: Shape) -> str:
    return "x".join(map(str, shape)) or "a scalar"
