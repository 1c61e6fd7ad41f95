"""States as the emitted API shows them: where they lie in the arena, and what resets them."""

from __future__ import annotations

from collections.abc import Iterable
from dataclasses import dataclass
from functools import cached_property

import numpy as np
import numpy.typing as npt

from edgeconv.codegen.c_names import c_list
from edgeconv.codegen.ports import Port
from edgeconv.ir.array_types import array_type
from edgeconv.ir.graph import State
from edgeconv.ir.memory import Place

_PLAIN = frozenset({"float32", "int8", "uint8", "int16", "uint16", "int32", "bool"})


@dataclass(frozen=True)
class KeptState:
    """A state, which lies at ``place`` in the arena; ``function``: from offset to address.
    ``port``: what it is as an input."""

    state: State
    port: Port
    place: Place
    function: str

    @cached_property
    def _initial(self) -> npt.NDArray[np.generic]:
        """Its elements as they lie in memory."""
        tensor = self.port.tensor
        kind = array_type(tensor.dtype).newbyteorder("<")
        initial = self.state.initial
        whole = np.zeros(tensor.shape, kind) if initial is None else initial.astype(kind)
        return np.ascontiguousarray(tensor.layout.pack(whole)).reshape(-1)

    @property
    def fill(self) -> int | None:
        """The byte that all of its initial value consists of; None where there is no such byte."""
        found = np.unique(self._initial.view(np.uint8))
        return int(found[0]) if found.size == 1 else None

    @property
    def c_type(self) -> str:
        """The type of the elements of `initial`."""
        return self.port.c_type if self.port.tensor.dtype in _PLAIN else "unsigned char"

    @property
    def initial(self) -> str:
        """Its initial value as a C initialiser."""
        plain = self.port.tensor.dtype in _PLAIN
        values = self._initial if plain else self._initial.view(np.uint8)
        return c_list(values.astype(int).tolist() if values.dtype == bool else values.tolist())


@dataclass(frozen=True, slots=True)
class Free:
    """``bytes`` of a part of the arena, from ``start`` on, that are no state."""

    start: int
    bytes: int


def without_states(size: int, states: Iterable[Place]) -> tuple[Free, ...]:
    """What there is beside ``states`` of the part of the arena that they are in, of ``size``
    bytes."""
    ends = [0]
    found = []
    for place in sorted(states, key=lambda place: place.offset):
        found.append(Free(ends[-1], place.offset - ends[-1]))
        ends.append(place.offset + place.bytes)
    return tuple(free for free in (*found, Free(ends[-1], size - ends[-1])) if free.bytes)
