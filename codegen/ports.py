"""The network's inputs and outputs as the emitted API shows them."""

from __future__ import annotations

import math
from collections.abc import Iterator, Sequence
from dataclasses import dataclass

from edgeconv.codegen.c_names import c_comment, c_float, c_list, c_string
from edgeconv.ir.element_types import element_type
from edgeconv.ir.graph import Tensor
from edgeconv.ir.layout import ROW_MAJOR, Order
from edgeconv.ir.memory import Place
from edgeconv.ir.ports import PortFacts


@dataclass(frozen=True, slots=True)
class Port:
    """A graph input or output.

    ``prefix``: of its constants in the header.  Where it lies in the arena (io arena): its
    ``place``, and the bank's symbol and pointer.  ``any_layout``: its layout was free, so that the
    header says what it is.
    """

    tensor: Tensor
    ident: str
    prefix: str
    place: Place | None
    arena: str
    pointer: str
    facts: PortFacts
    any_layout: bool = False

    @property
    def shape(self) -> str:
        """In words."""
        return "x".join(map(str, self.tensor.shape)) or "scalar"

    @property
    def meaning(self) -> str:
        """What its dimensions and its integers mean, in words that follow the shape."""
        axes = f" {self.facts.axes}" if self.facts.axes else ""
        layout = "" if self.order == "row-major" else f", in memory as {self.order}"
        said = "".join((axes, layout, self._data_dependent, self._text))
        said += f", {self.formula}" if self.formula else ""
        return f"{said}: {self.facts.frame}" if self.facts.frame else said

    @property
    def order(self) -> str:
        """The order of its elements in memory, in words."""
        layout = self.tensor.layout
        return "row-major" if layout == ROW_MAJOR else layout.of_rank(len(self.tensor.shape))

    @property
    def _is_indexed(self) -> bool:
        return self.any_layout and len(self.tensor.shape) > 3

    @property
    def _strides(self) -> list[int]:
        """Elements from one index of a dimension to the next; of channels in blocks, to the next
        block."""
        layout, shape = self.tensor.layout, self.tensor.shape
        physical = layout.physical_shape(shape)
        steps = [math.prod(physical[i + 1 :]) for i in range(len(physical))]
        if layout.order is Order.CHANNELS_LAST:
            return [steps[0], 1, *steps[1:-1]]
        return steps[: len(shape)]

    @property
    def _data_dependent(self) -> str:
        """Which output says how much of it there is."""
        data_dependent = self.facts.data_dependent
        if data_dependent is None:
            return ""
        said = f'as much as "{c_comment(data_dependent.count)}" says, then zeros'
        return f", of dimension {data_dependent.axis} {said}"

    @property
    def _text(self) -> str:
        """What strings of the model are."""
        text = self.facts.text
        if text is None:
            return ""
        if text.table:
            return f", indices of the strings {self.prefix}_TEXTS"
        return ", strings: the UTF-8 of each in the last dimension, zeros behind its end"

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
        if self._is_indexed:
            yield "BLOCK", self.tensor.layout.block
            for number, stride in enumerate(self._strides):
                yield f"STRIDE_{number}", stride
        if self.facts.text and self.facts.text.table:
            yield "TEXT_COUNT", len(self.facts.text.table)
        elif self.facts.text:
            yield "TEXT_BYTES", self.tensor.shape[-1]
        scaling = self.facts.scaling
        if scaling and scaling.is_per_tensor:
            yield "ZERO_POINT", scaling.zero[0]
        elif scaling:
            yield "SCALE_AXIS", scaling.axis

    def macros(self) -> Iterator[tuple[str, str]]:
        """(suffix, replacement) of what is no whole number: literals and lists of literals."""
        scaling = self.facts.scaling
        if self._is_indexed:
            yield "LAYOUT", f'"{self.tensor.layout}"'
            yield f"AT({', '.join(self._indices)})", self._index
        if self.facts.text and self.facts.text.table:
            yield "TEXTS", f"{{{', '.join(map(c_string, self.facts.text.table))}}}"
        if scaling and scaling.is_per_tensor:
            yield "SCALE", c_float(scaling.scale[0])
        elif scaling:
            yield "SCALES", _on_one_line(scaling.scale)
            yield "ZERO_POINTS", _on_one_line(scaling.zero)

    @property
    def _indices(self) -> list[str]:
        """What an index of each dimension is called."""
        spatial = len(self.tensor.shape) - 2
        return (
            ["n", "c", *"zyx"[-spatial:]] if spatial < 4 else [f"i{i}" for i in range(spatial + 2)]
        )

    @property
    def _index(self) -> str:
        """The index of an element, as C."""
        block, strides = self.tensor.layout.block, self._strides
        terms = [
            f"(size_t)({i}) * {s}" if s > 1 else f"(size_t)({i})"
            for i, s in zip(self._indices, strides, strict=True)
        ]
        if block > 1:
            channel = f"(size_t)({self._indices[1]})"
            terms[1] = f"{channel} / {block} * {strides[1]}"
            terms.append(f"{channel} % {block}")
        return f"({' + '.join(terms)})"

    @property
    def index_macro(self) -> str:
        """How the index of an element is asked for, "" where the header has no macro for it."""
        return f"{self.prefix}_AT({', '.join(self._indices)})" if self._is_indexed else ""

    def suffixes(self) -> Iterator[str]:
        """The suffixes of all its constants."""
        yield from (suffix for suffix, _ in (*self.enumerators(), *self.macros()))


def _on_one_line(values: tuple[float, ...] | tuple[int, ...]) -> str:
    return " ".join(c_list(values).split())


def run_parameters(inputs: Sequence[Port], outputs: Sequence[Port]) -> dict[str, str]:
    """By name the declarations of those that a program takes, in the model's order."""
    given = {f"input_{p.ident}": f"const {p.c_type} *input_{p.ident}" for p in inputs}
    return given | {f"output_{p.ident}": f"{p.c_type} *output_{p.ident}" for p in outputs}
