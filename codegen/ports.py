"""The network's inputs and outputs as the emitted API shows them."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from dataclasses import dataclass

from edgeconv.codegen.c_names import c_float, c_list
from edgeconv.element_types import element_type
from edgeconv.ir.graph import Tensor
from edgeconv.ir.memory import Place
from edgeconv.ir.ports import PortFacts


@dataclass(frozen=True, slots=True)
class Port:
    """A graph input or output.

    ``prefix``: of its constants in the header.  Where it lies in the arena (io arena): its
    ``place``, and the bank's symbol and pointer.
    """

    tensor: Tensor
    ident: str
    prefix: str
    place: Place | None
    arena: str
    pointer: str
    facts: PortFacts

    @property
    def shape(self) -> str:
        """In words."""
        return "x".join(map(str, self.tensor.shape)) or "scalar"

    @property
    def meaning(self) -> str:
        """What its dimensions and its integers mean, in words that follow the shape."""
        axes = f" {self.facts.axes}" if self.facts.axes else ""
        return axes + (f", {self.formula}" if self.formula else "")

    @property
    def formula(self) -> str:
        """From its integers to numbers; nothing where there is no single one."""
        scaling = self.facts.scaling
        if scaling is None:
            return ""
        if not scaling.is_per_tensor:
            return f"a scale and zero point per index of dimension {scaling.axis}"
        origin = f"{'+' if scaling.zero[0] < 0 else '-'} {abs(scaling.zero[0])}"
        return f"number = (integer {origin}) * {c_float(scaling.scale[0])}"

    @property
    def spacing(self) -> float:
        """Between neighbouring values of a quantised one, else 0."""
        return self.facts.spacing

    @property
    def c_type(self) -> str:
        return element_type(self.tensor.dtype).c_type

    @property
    def words(self) -> str:
        """What its elements are called."""
        return "floats" if self.tensor.dtype == "float32" else f"{self.c_type} integers"

    @property
    def bytes(self) -> int:
        return self.tensor.size * self.tensor.element_bytes

    def enumerators(self) -> Iterator[tuple[str, int]]:
        """(suffix, value) of the whole numbers that the header has of it."""
        yield "ELEMENTS", self.tensor.size
        yield "RANK", len(self.tensor.shape)
        for number, extent in enumerate(self.tensor.shape):
            yield f"DIM_{number}", extent
        scaling = self.facts.scaling
        if scaling and scaling.is_per_tensor:
            yield "ZERO_POINT", scaling.zero[0]
        elif scaling:
            yield "SCALE_AXIS", scaling.axis

    def macros(self) -> Iterator[tuple[str, str]]:
        """(suffix, replacement) of what is no whole number: literals and lists of literals."""
        scaling = self.facts.scaling
        if scaling and scaling.is_per_tensor:
            yield "SCALE", c_float(scaling.scale[0])
        elif scaling:
            yield "SCALES", _on_one_line(scaling.scale)
            yield "ZERO_POINTS", _on_one_line(scaling.zero)

    def suffixes(self) -> Iterator[str]:
        """Of all its constants."""
        yield from (suffix for suffix, _ in (*self.enumerators(), *self.macros()))


def _on_one_line(values: tuple[float, ...] | tuple[int, ...]) -> str:
    return " ".join(c_list(values).split())


def run_parameters(inputs: Sequence[Port], outputs: Sequence[Port]) -> dict[str, str]:
    """By name the declarations of those that a program takes, in the model's order."""
    given = {f"input_{p.ident}": f"const {p.c_type} *input_{p.ident}" for p in inputs}
    return given | {f"output_{p.ident}": f"{p.c_type} *output_{p.ident}" for p in outputs}
