"""The graph that the frontend builds, the passes rewrite and ``choose`` decides on."""

from __future__ import annotations

import math
from collections.abc import Iterator, Mapping
from dataclasses import dataclass, field, replace
from typing import Any

import numpy as np
import numpy.typing as npt

from edgeconv.ir.activation import NONE, Activation
from edgeconv.ir.element_types import element_type
from edgeconv.ir.encoding import FLOAT32, Encoding
from edgeconv.ir.layout import ROW_MAJOR, Layout, Shape
from edgeconv.ir.requantisation import EXACT
from edgeconv.ir.request import NOTHING, Request

Array = npt.NDArray[np.generic]

CHECK = "Check"  # the operator that ends a run; nothing reads its result, and it stays
KEEP = "Keep"  # the operator that puts a state where the next run reads it


@dataclass(frozen=True, slots=True)
class Tensor:
    """A value: logical shape, element type, and how it is stored.

    ``layout`` is the order of its elements, ``storage`` the format in which run-time values lie in
    memory (graph inputs and outputs are float32 in memory, or integers of ``dtype``).
    ``ring``: the rows (of the last dimension but one) that memory holds at a time, row y at y
    modulo these; 0: all of them.  ``ring_columns``: the most columns of such a row that a patch
    computes, which is what memory holds of it; 0: all of them.  ``data`` is set for constants only:
    the logical array.
    """

    name: str
    shape: Shape
    dtype: str = "float32"  # a numpy type name
    layout: Layout = ROW_MAJOR
    storage: Encoding = FLOAT32
    ring: int = 0
    ring_columns: int = 0
    data: Array | None = field(default=None, compare=False, repr=False)

    @property
    def is_constant(self) -> bool:
        return self.data is not None

    @property
    def elements(self) -> int:
        """Elements in memory, layout padding included."""
        return self.layout.elements(self.shape)

    @property
    def held(self) -> Shape:
        """The shape of what memory holds at a time."""
        if not self.ring:
            return self.shape
        return (*self.shape[:-2], self.ring, self.ring_columns or self.shape[-1])

    @property
    def bits(self) -> int:
        """Bits of an element in memory."""
        if self.dtype == "float32":
            return self.storage.bits
        return 8 * element_type(self.dtype).bytes

    @property
    def element_bytes(self) -> int:
        """Bytes of an element in memory; ValueError where that is no whole number."""
        if self.dtype == "float32":
            return self.storage.element_bytes
        return element_type(self.dtype).bytes

    @property
    def size(self) -> int:
        """Logical elements."""
        return math.prod(self.shape)

    def constant(self) -> Array:
        """The logical array of a constant; ValueError otherwise (a defect of the caller)."""
        if self.data is None:
            raise ValueError(f"tensor {self.name!r} is not a constant")
        return self.data


@dataclass(frozen=True, slots=True)
class Epilogue:
    """What happens to each output element in registers, in this order.

    ``y = after(before(x) + residual)``, where ``residual`` names a tensor of the output's shape
    ("" for none).  The bias is an ordinary input of the operators that have one.
    """

    before: Activation = NONE
    residual: str = ""
    after: Activation = NONE

    @property
    def is_empty(self) -> bool:
        return self.is_only_before and self.before == NONE

    @property
    def is_only_before(self) -> bool:
        """Whether it has no residual, and nothing behind one."""
        return not self.residual and self.after == NONE


@dataclass(frozen=True, slots=True)
class Node:
    """One operation.  ``op`` names a module of ``edgeconv.kernels.ops``; attributes are canonical
    there: what the model says, and what follows from that.

    ``inputs`` may hold "" for an absent optional input.  ``origin`` lists the ONNX nodes that this
    node stands for, for messages and for the emitted comments.  ``request``: what is asked of its
    kernel, by the user or by who chooses.
    """

    name: str
    op: str
    inputs: tuple[str, ...]
    outputs: tuple[str, ...]
    attrs: Mapping[str, Any] = field(default_factory=dict)
    epilogue: Epilogue = Epilogue()
    origin: tuple[str, ...] = ()
    request: Request = NOTHING

    def reads(self) -> tuple[str, ...]:
        """Every tensor read, the epilogue's residual included, without absent ones."""
        names = (*self.inputs, self.epilogue.residual)
        return tuple(name for name in names if name)

    @property
    def output(self) -> str:
        """The first output."""
        return self.outputs[0]

    @property
    def storage(self) -> Encoding:
        """What its filters are stored as, with the units of the output channels: as it is asked,
        else as the model has them."""
        asked = self.request.storage
        return self.attrs.get("storage", FLOAT32) if asked is None else asked

    @property
    def exact(self) -> bool:
        """Filters stored so are the model's own numbers."""
        asked = self.request
        return bool(self.attrs.get("exact")) if asked.storage is None else asked.exact


def origins(*nodes: Node) -> tuple[str, ...]:
    """The ONNX nodes that ``nodes`` stand for together, each once."""
    return tuple(dict.fromkeys(name for node in nodes for name in node.origin))


@dataclass(frozen=True, slots=True)
class State:
    """A tensor that keeps its value from one run to the next: what a run writes to the output
    ``output``, the next reads as the input ``input``.  Both are among the graph's own, of one
    shape and encoding.  ``initial``: its value, of that shape, before the first run and after a
    reset; None: zeros.  ``real``: of a state of integers the input and the output of real numbers
    that the model has in their place, () where the model has the state itself.  ``row_major``: it
    is found so before and after a run, as by the loop that carries it."""

    input: str
    output: str
    initial: Array | None = field(default=None, compare=False)
    real: tuple[str, ...] = ()
    row_major: bool = False

    @property
    def names(self) -> tuple[str, ...]:
        """The input and the output of the model."""
        return self.real or (self.input, self.output)


@dataclass(frozen=True, slots=True)
class DataDependentOutput:
    """Output ``name``, whose dimension ``axis`` is data-dependent: as many as the output ``count``
    says mean something, zeros are behind them."""

    name: str
    axis: int
    count: str


@dataclass(frozen=True, slots=True)
class Texts:
    """An input or output that strings are in the model.  ``table``: the texts that its elements are
    indices of, each once; without one they are bytes of UTF-8, the last dimension those of a text,
    with zeros behind its end.  ``examples``: strings that an input is compared with.
    """

    name: str
    table: tuple[str, ...] = ()
    examples: tuple[str, ...] = ()


@dataclass(frozen=True, slots=True)
class Graph:
    """A network: nodes in a valid execution order over named tensors.

    ``inputs`` and ``outputs`` are the model's own, in its order.  Graphs are values: a pass
    returns a new one (see ``edgeconv.ir.edit.Editor``).
    """

    name: str
    nodes: tuple[Node, ...]
    tensors: Mapping[str, Tensor]
    inputs: tuple[str, ...]
    outputs: tuple[str, ...]
    sha256: str = ""  # of the model file
    notes: tuple[str, ...] = ()  # said once to the user: dimensions assumed, NaN weights, ...
    requantise: str = EXACT  # how results in integers are rounded: a row of `ARITHMETICS`
    scaling: str = ""  # of sums in integers (``ir.requantisation.scalings``), where all layers know
    data_dependent: tuple[DataDependentOutput, ...] = ()
    states: tuple[State, ...] = ()
    # What the model's own signature calls inputs and outputs, by their names here.
    signature: Mapping[str, str] = field(default_factory=dict)
    texts: tuple[Texts, ...] = ()
    # What layers are to be called once the passes have made them, by a tensor that each writes.
    layer_names: Mapping[str, str] = field(default_factory=dict)

    def __getitem__(self, name: str) -> Tensor:
        return self.tensors[name]

    @property
    def input_ports(self) -> tuple[str, ...]:
        """The inputs that the caller gives: all but states."""
        kept = {state.input for state in self.states}
        return tuple(name for name in self.inputs if name not in kept)

    @property
    def output_ports(self) -> tuple[str, ...]:
        """The outputs that the caller reads: all but states."""
        kept = {state.output for state in self.states}
        return tuple(name for name in self.outputs if name not in kept)

    def consumers(self) -> dict[str, list[Node]]:
        """Tensor name -> the nodes that read it (each once), in execution order."""
        found: dict[str, list[Node]] = {name: [] for name in self.tensors}
        for node in self.nodes:
            for name in dict.fromkeys(node.reads()):
                found[name].append(node)
        return found

    def producers(self) -> dict[str, Node]:
        """Tensor name -> the node that writes it; graph inputs and constants are absent."""
        return {name: node for node in self.nodes for name in node.outputs if name}

    def activations(self) -> Iterator[Tensor]:
        """The tensors that exist at run time only: everything but constants."""
        return (t for t in self.tensors.values() if not t.is_constant)

    def with_tensors(self, tensors: Mapping[str, Tensor]) -> Graph:
        """The graph with some tensors replaced."""
        return replace(self, tensors={**self.tensors, **tensors})
