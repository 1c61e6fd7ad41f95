"""What a kernel is tested with: a build, an operation, a case per layout that it may have."""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass, field, replace
from typing import Any

import numpy.typing as npt

from edgeconv.ir.activation import NONE, Activation
from edgeconv.ir.choice import Layer
from edgeconv.ir.graph import Epilogue, Graph, Node, Tensor
from edgeconv.ir.request import NOTHING, Request
from edgeconv.kernels import float16
from edgeconv.kernels.lowering.options import LayoutOption
from edgeconv.kernels.storage import format_called
from edgeconv.target.targets import Target
from tests.ir_interpreter import evaluate

Array = npt.NDArray[Any]


@dataclass(frozen=True)
class Build:
    """A target, the compiler command for it, and the command that runs its programs.

    With the options ``trapping`` programs take less time to compile, and a violation ends them
    without a description: one that fails is compiled again without them.  ``compiled_once``:
    kernels are functions that take sizes at run time (``tests.kernels.once``).  ``check`` tries of
    its cases those that ``some`` picks, if given, and holds most plans to micro-kernels whose
    enumerators end with ``chosen``, where they name one: tiles of others may be what fits L1.
    Programs with one of the headers ``without`` are skipped.
    """

    name: str
    target: Target
    compiler: tuple[str, ...]
    runner: tuple[str, ...] = ()
    trapping: tuple[str, ...] = ()
    compiled_once: bool = False
    some: Callable[[Sequence[Case]], list[Case]] | None = None
    chosen: str = ""
    without: tuple[str, ...] = ()


@dataclass(frozen=True)
class Case:
    """A kernel call, the values of its run-time inputs, and what it must write."""

    label: str
    layer: Layer
    graph: Graph
    values: Mapping[str, Array]
    expected: Array
    tolerance: float
    scale: float


@dataclass(frozen=True)
class Spec:
    """One operation: logical inputs by name in order ("" for an absent one), output shape.

    ``residual``, when given, is the epilogue's, or the name of an input that is it, too.
    ``options`` replaces what the operator offers.  ``request``: what is asked of the node.
    ``storage``: formats of tensors that are not
    float32 in memory.
    """

    op: str
    inputs: Mapping[str, Array]
    shape: tuple[int, ...]
    attrs: Mapping[str, Any] = field(default_factory=dict)
    constants: tuple[str, ...] = ()
    before: Activation = NONE
    residual: Array | str | None = None
    after: Activation = NONE
    tolerance: float = 0.0
    scale: float = 0.0
    options: tuple[LayoutOption, ...] = ()
    storage: Mapping[str, str] = field(default_factory=dict)
    request: Request = NOTHING

    def graph(self) -> tuple[Graph, dict[str, Array]]:
        """A network of this operation alone, and the values of its inputs."""
        arrays = {name: value for name, value in self.inputs.items() if name}
        residual = "" if self.residual is None else "residual"
        if isinstance(self.residual, str):
            residual = self.residual
        elif self.residual is not None:
            arrays[residual] = self.residual
        for name in arrays.keys() & self.storage.keys():
            arrays[name] = format_called(self.storage[name]).rounded(arrays[name])
        epilogue = Epilogue(self.before, residual, self.after)
        attrs = dict(self.attrs)
        if "storage" in attrs:
            units = attrs.pop("units", ())
            attrs["storage"] = format_called(attrs["storage"]).encoding.scaled(units)
        node = Node(
            *("node", self.op, tuple(self.inputs), ("out",), attrs, epilogue), request=self.request
        )
        tensors = {
            name: Tensor(
                name, value.shape, str(value.dtype), data=value if name in self.constants else None
            )
            for name, value in arrays.items()
        }
        tensors["out"] = Tensor("out", self.shape)
        for name, form in self.storage.items():
            if name in tensors:
                tensors[name] = replace(tensors[name], storage=format_called(form).encoding)
        values = {name: value for name, value in arrays.items() if name not in self.constants}
        return Graph("test", (node,), tensors, tuple(values), ("out",)), values

    def expected(self) -> Array:
        """What it must compute, by the float64 interpreter."""
        return evaluate(*self.graph())["out"]

    def cases(self, target: Target, expected: Array | None = None) -> list[Case]:
        """One case per layout option that the operator offers on ``target``.

        ``expected``: for who has asked the interpreter already.
        """
        graph, values = self.graph()
        (node,), tensors = graph.nodes, graph.tensors
        expected = self.expected() if expected is None else expected
        made = []
        for option in self.options or float16.layouts(node, graph, target):
            decided = {
                **dict(zip(node.reads(), option.reads, strict=True)),
                "out": option.writes[0],
            }
            laid_out = graph.with_tensors(
                {name: replace(t, layout=decided[name]) for name, t in tensors.items()}
            )
            shapes = " ".join(str(list(t.shape)) for t in tensors.values() if t.name != "out")
            label = f"{self.op} {shapes} {dict(self.attrs)} {node.epilogue} in {option.writes[0]}"
            label += f" {dict(self.storage)}" if self.storage else ""
            layer = float16.lowered(option.picked(node), laid_out, target, blobs=True)
            label += f" by {layer.algorithm}"
            made.append(Case(label, layer, laid_out, values, expected, self.tolerance, self.scale))
        return made
