"""What an operator is: how ONNX spells it, the layouts it takes, how it becomes a kernel call.

Each module of ``edgeconv.kernels.ops`` sets ``OPERATOR`` to one Operator (or a tuple).  The
frontend looks operators up by their ONNX names, everything later by ``Operator.name``.
"""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass, field
from typing import Any, Protocol

from edgeconv.ir.graph import Array, Graph, Node, Tensor
from edgeconv.ir.layout import Shape
from edgeconv.kernels.lowering.options import Layouts, Lower, Stored, row_major_only


@dataclass(frozen=True, slots=True)
class Source:
    """An ONNX node without ONNX: what an importer reads.

    ``version`` is the operator's since_version in the model's opset.  Attributes are Python
    numbers, strings, lists of them, or numpy arrays; the schema's defaults are filled in.
    ``inputs`` and ``outputs`` may hold "": an absent input, an output that nothing reads.
    """

    op_type: str
    version: int
    name: str
    inputs: tuple[str, ...]
    outputs: tuple[str, ...]
    attrs: Mapping[str, Any]

    @property
    def read(self) -> str:
        """The first output that something reads."""
        return next(filter(None, self.outputs))


class ImportContext(Protocol):
    """What the frontend offers an importer while it walks the model in order."""

    def tensor(self, name: str) -> Tensor:
        """The tensor, its static shape known."""
        ...

    def constant(self, name: str) -> Array | None:
        """Its value when it is a constant."""
        ...

    def holds_integers(self, name: str) -> bool:
        """Whether ``name`` is of float32 and holds whole numbers only, which stand for int32."""
        ...

    def stored_as(self, name: str, axis: int, layer: str) -> dict[str, Any]:
        """Attributes ``storage``, ``units`` and ``exact`` of a node.

        It is called ``layer`` and has the filters ``name``.  None where DequantizeLinear has not
        made them, with one scale or one per index of ``axis``, that of the output channels.
        """
        ...

    def scale_of(self, name: str) -> float | None:
        """The scale of which DequantizeLinear made ``name``, a constant, where that is one."""
        ...

    def add_constant(self, hint: str, value: Array) -> str:
        """Add a constant; returns its name."""
        ...

    def add_tensor(self, hint: str, shape: Shape, like: Tensor) -> str:
        """Add an intermediate activation; returns its name."""
        ...

    def reject(self, source: Source, got: str, rule: str, hint: str = "") -> Exception:
        """The error for a node that is valid ONNX but outside what edgeconv compiles."""
        ...


Importer = Callable[[Source, ImportContext], Sequence[Node]]
# The shape of every output of an ONNX node by its operator's definition, as far as it is static;
# rejects a node that has none.  Asked before the outputs are tensors of the context.
ShapeRule = Callable[[Source, ImportContext], Shape | None]


@dataclass(frozen=True, slots=True)
class Operator:
    """One IR operator.

    ``onnx``: ONNX op_type, behind its domain where that is not the default, -> importer to
    canonical nodes, usually one node whose ``op`` is this operator; an importer may also build
    other operators (Flatten makes a Reshape).
    ``typed``: the same for nodes of which an input or output at run time is no float32.
    ``shapes``: ONNX op_type -> what its importer makes, to which onnx's inference is held.
    ``layouts``: the options, best first.  ``lower``: node with decided layouts -> kernel call.
    ``macs``: multiply-accumulates of the node.  ``fuses``: the kernel applies ``node.epilogue``.
    ``stored``: what it does with tensors that are not float32 in memory.
    """

    name: str
    onnx: Mapping[str, Importer] = field(default_factory=dict)
    typed: Mapping[str, Importer] = field(default_factory=dict)
    shapes: Mapping[str, ShapeRule] = field(default_factory=dict)
    lower: Lower | None = None
    layouts: Layouts = row_major_only
    macs: Callable[[Node, Graph], int] = lambda node, graph: 0
    fuses: bool = False
    stored: Stored = Stored.NOTHING
