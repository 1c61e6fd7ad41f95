"""Where tensors, weights and workspaces are at run time: their addresses as C expressions."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, replace

from edgeconv.codegen.c_names import identifier, unique_identifiers
from edgeconv.codegen.image_parts import named_parts
from edgeconv.codegen.port_names import port_names
from edgeconv.codegen.ports import Port
from edgeconv.codegen.states import Free, KeptState, without_states
from edgeconv.codegen.tensorflow_names import without_tensorflow
from edgeconv.codegen.weight_table import WeightTable
from edgeconv.codegen.weights import WeightImage
from edgeconv.ir.choice import Arg, ArgKind, Choice
from edgeconv.ir.graph import Tensor
from edgeconv.ir.memory import MemoryMap, Place, Region
from edgeconv.ir.ports import port_facts
from edgeconv.ir.states import states_apart


@dataclass(frozen=True, slots=True)
class Bank:
    """The part of the arena in one memory.

    ``symbol``: the array that firmware has for it; ``pointer``: parameter and member, and the array
    in a hosted main.c; ``size``: the constant in the header; ``function``: from offset to address.
    ``free``: what of it keeps no state.
    """

    name: str
    bytes: int
    lower_bound: int
    symbol: str
    pointer: str
    size: str
    function: str
    free: tuple[Free, ...]


def _identifier(name: str) -> str:
    return identifier(without_tensorflow(name))


class Addresses:
    """C addresses of the tensors of a project whose symbols begin with ``name``.

    ``renames`` and ``any_layout``: as of ``EmitOptions``.  ``apart``: bytes at the beginning of the
    arena that hold the states and have a pointer of their own; 0 for none.
    """

    def __init__(
        self,
        choice: Choice,
        memory: MemoryMap,
        image: WeightImage,
        name: str,
        renames: Mapping[str, str],
        *,
        any_layout: bool,
    ) -> None:
        self.choice, self.memory = choice, memory
        self.name, self.upper = name, name.upper()
        self.any_layout = any_layout
        self.idents = unique_identifiers(memory.places, identify=_identifier)
        self.parts = named_parts(name, image.parts)
        self.weights = WeightTable(self.upper, choice, image, self.parts, self.idents)
        self.banks = self._banks()
        self.arenas = list(self.banks.values()) or [self._bank(0, "")]
        self.apart = states_apart(choice.graph, memory)
        self.facts = port_facts(choice.graph)
        graph = choice.graph
        kept = [state.names[0] for state in graph.states]
        inputs, outputs, states = port_names(
            graph.input_ports, graph.output_ports, renames, kept, signature=graph.signature
        )
        self.inputs = self._ports(inputs, "INPUT")
        self.outputs = self._ports(outputs, "OUTPUT")
        self.states = self._kept_states(states)

    def of_tensor(self, name: str, workers: int = 1) -> str:
        """C expression for the address of a tensor at run time.

        Of a ring that each of several ``workers`` has: his own.
        """
        place = self.memory.places[name]
        if place.region is Region.ARENA:
            own = workers > 1 and self.choice.graph[name].ring
            behind = f" + worker * {place.bytes // workers}" if own else ""
            at = f"{self.upper}_AT_{self.idents[name].upper()}"
            return f"{self._function_of(place)}(model, {at}{behind})"
        port = self._port_of(place)
        prefix = "input" if place.region is Region.INPUT else "output"
        element = place.offset // port.tensor.element_bytes
        return f"{prefix}_{port.ident}" + (f" + {element}" if element else "")

    def of_argument(self, index: int, arg: Arg, workers: int = 1) -> str:
        """An argument of layer ``index``; of ``workers`` each has a workspace of his own."""
        if arg.kind is ArgKind.WORKSPACE:
            place = self.memory.workspaces[index]
            behind = f" + worker * {place.bytes // workers}" if workers > 1 else ""
            return f"{self._function_of(place)}(model, {self._workspace(index)}{behind})"
        if arg.kind is not ArgKind.WEIGHTS:
            address = self.of_tensor(arg.ref, workers)
            place = self.memory.places[arg.ref]
            if place.region is Region.ARENA:  # a pointer to void
                return address
            const = "const " if place.region is Region.INPUT else ""
            same = arg.c_type == self._port_of(place).c_type
            return address if same else f"({const}{arg.c_type} *)({address})"
        return self.weights.address(index, arg.ref)

    def described(self, tensor: Tensor) -> str:
        """Shape, layout, type and place of a tensor, for a comment."""
        shape = "x".join(map(str, tensor.shape)) or "scalar"
        place = self.memory.places[tensor.name]
        bank = f"{self._bank_of(place).name}+" if len(self.arenas) > 1 else ""
        inside = place.region is Region.ARENA
        where = f"@{bank}{place.offset}" if inside else f"@{place.region.value}"
        layout = tensor.layout.of_rank(len(tensor.shape)) if len(tensor.shape) > 2 else ""
        kind = tensor.storage if tensor.dtype == "float32" else tensor.dtype
        rows = "a row" if tensor.ring == 1 else f"{tensor.ring} rows"
        held = f", {rows} at a time" if tensor.ring else ""
        return f"{shape} {layout + ' ' if layout else ''}{kind} {where}{held}"

    def arena_rows(self) -> list[tuple[str, str, Place, Bank]]:
        """(enumerator, what it is, place, bank) of all in the arena, by bank and offset."""
        rows = [
            (f"{self.upper}_AT_{self.idents[name].upper()}", name, place)
            for name, place in self.memory.places.items()
            if place.region is Region.ARENA
        ]
        rows += [
            (self._workspace(index), f"workspace of step {place.last}", place)
            for index, place in self.memory.workspaces.items()
        ]
        rows.sort(key=lambda row: (row[2].bank, row[2].offset, row[2].first, row[1]))
        return [(*row, self._bank_of(row[2])) for row in rows]

    def _workspace(self, index: int) -> str:
        """The enumerator of a layer's workspace; steps are unique, tensors never called so."""
        return f"{self.upper}_WORKSPACE_{self.memory.workspaces[index].last}"

    def _port_of(self, place: Place) -> Port:
        """The input or output in whose memory a tensor lies."""
        return (self.inputs if place.region is Region.INPUT else self.outputs)[place.index]

    def _ports(self, idents: Mapping[str, str], direction: str) -> list[Port]:
        return [
            Port(
                self.choice.graph[name],
                idents[name],
                f"{self.upper}_{direction}_{idents[name].upper()}",
                self.memory.places[name] if self.choice.io == "arena" else None,
                self._bank_of(self.memory.places[name]).symbol,
                self._bank_of(self.memory.places[name]).pointer,
                self.facts[name],
                self.any_layout,
            )
            for name in idents
        ]

    def _kept_states(self, idents: Mapping[str, str]) -> tuple[KeptState, ...]:
        """The states, each with where it lies; ``idents`` by the names that the model has."""
        found = self.choice.graph.states
        named = {state.input: idents[state.names[0]] for state in found}
        places = [self.memory.places[state.input] for state in found]
        return tuple(
            KeptState(state, replace(port, any_layout=True), place, self._function_of(place))
            for state, port, place in zip(found, self._ports(named, "STATE"), places, strict=True)
        )

    def _banks(self) -> dict[int, Bank]:
        """By number: those that hold something; the first one is called just the arena."""
        used = [number for number, use in enumerate(self.memory.banks) if use.bytes]
        uses = [self.memory.banks[number] for number in used]
        suffixes = [f"_{use.name}" if i else "" for i, use in enumerate(uses)]
        return dict(zip(used, map(self._bank, used, suffixes), strict=True))

    def _bank(self, number: int, suffix: str) -> Bank:
        use, upper = self.memory.banks[number], suffix.upper()
        places = [self.memory.places[state.input] for state in self.choice.graph.states]
        return Bank(
            name=use.name,
            bytes=use.bytes,
            lower_bound=use.lower_bound,
            symbol=f"{self.name}_arena{suffix}",
            pointer=f"arena{suffix}",
            size=f"{self.upper}_ARENA{upper}_BYTES",
            function=f"{self.name}_at{suffix}",
            free=without_states(use.bytes, (place for place in places if place.bank == number)),
        )

    def _function_of(self, place: Place) -> str:
        """From offset in the arena to address, of what lies at ``place``."""
        if place.offset < self.apart:
            return f"{self.name}_states_at"
        return self._bank_of(place).function

    def _bank_of(self, place: Place) -> Bank:
        """The bank of a place in the arena; a tensor of no bytes may be in one that is not used."""
        return self.banks.get(place.bank, self.arenas[0])
