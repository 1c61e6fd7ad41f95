"""A loop in C: the calls of its body's layers within a ``for``."""

from __future__ import annotations

import re
from collections.abc import Callable, Iterator, Sequence

from edgeconv.base.names import shortened
from edgeconv.codegen.c_names import c_comment, identifier, unique_identifiers
from edgeconv.ir.choice import Arg, ArgKind, Layer, Program, tensor_bytes
from edgeconv.ir.graph import Graph
from edgeconv.ir.loop import CONDITION, FIRST_STATE, TRIPS, Body, body_of
from edgeconv.ir.memory import Place, Region
from edgeconv.kernels.lowering.calls import c_type_of
from edgeconv.kernels.ops.loop import constant_names, program_of

# A layer of the body and which of its aliases are not granted -> its function, literals to pass.
Called = Callable[[Layer, tuple[bool, ...]], tuple[str, tuple[str, ...]]]
_TRIP, _GOES, _NUMBER = "trip", "goes", "number"
_CALLED = {"memcpy", "memset", "int64_t", "uint8_t"}  # what no variable may hide


def loop_text(layer: Layer, called: Called) -> list[str]:
    """The lines of the function of a Loop layer."""
    return list(_Loop(layer, called).lines())


class _Loop:
    def __init__(self, layer: Layer, called: Called) -> None:
        self.layer = layer
        self.body: Body = body_of(layer.node)
        self.program: Program = program_of(layer.node)
        self.graph: Graph = self.program.choice.graph
        self.places = self.program.memory.places
        arena = [n for n, p in self.places.items() if p.region is Region.ARENA]
        self.states = {state.input: state.output for state in self.graph.states}
        shown = [name for name in arena if name not in self.states.values()]
        ports = [*self.graph.input_ports, *self.graph.output_ports]
        self.calls = list(self._calls_of(called))
        own = {"workspace", _TRIP, _GOES, _NUMBER, *(arg.c_name for arg in layer.args)}
        taken = own | _CALLED | {function for _, function, _ in self.calls} | self._types()
        self.names = unique_identifiers([*shown, *ports], taken, self._identifier)
        self.pointers = {name: self.places[name] for name in shown}

    def _identifier(self, name: str) -> str:
        return identifier(name.removeprefix(f"{self.graph.name}/"))

    def lines(self) -> Iterator[str]:
        """Declarations, first values, the loop, results."""
        used = list(self._statements())
        words = _words(used)
        for name, place in self.pointers.items():
            shape = "x".join(map(str, self.graph[name].shape)) or "scalar"
            kept = ", carried" if name in self.states else ""
            if self.names[name] in words:
                yield f"void *const {self.names[name]} = {_behind(place)}; /* {shape}{kept} */"
        yield from used

    def _statements(self) -> Iterator[str]:
        first = dict(zip(self.states, self.layer.node.inputs[FIRST_STATE:], strict=False))
        for i, (name, given) in enumerate(first.items()):
            size = tensor_bytes(self.graph[name])
            if given:
                yield f"memcpy({self.names[name]}, first_{i}, {size});"
            else:
                yield f"memset({self.names[name]}, 0, {size});"
        if self._ends:
            begins = "*condition" if self.layer.node.inputs[CONDITION] else "1"
            yield f"uint8_t {_GOES} = {begins};"
        yield f"for ({self._header()}) {{"
        calls = list(self._calls())
        read = _words(calls)
        rows = (line for name, line in self._rows() if name in read)
        for line in (*rows, *calls):
            yield f"    {line}"
        yield "}"
        yield from self._results()

    @property
    def _ends(self) -> bool:
        """Whether a condition may end it."""
        return bool(self.body.condition or self.layer.node.inputs[CONDITION])

    def _header(self) -> str:
        bounds = [_GOES] if self._ends else []
        kind = "int"
        if self.layer.node.inputs[TRIPS]:
            kind, bounds = "int64_t", [*bounds, f"{_TRIP} < *trips"]
        elif self.body.trips is not None:
            bounds.append(f"{_TRIP} < {self.body.trips}")
        else:
            kind = "int64_t"
        return f"{kind} {_TRIP} = 0; {' && '.join(bounds)}; ++{_TRIP}"

    def _rows(self) -> Iterator[tuple[str, str]]:
        """What differs in each trip, each name with its line: the rows that are read and written,
        and the number of the trip."""
        if self.body.counter:
            yield _NUMBER, f"const int64_t {_NUMBER} = {_TRIP};"
        for i, name in enumerate(self.body.scanned):
            kind = c_type_of(self.graph[name].dtype)
            row = f"scanned_{i} + {self._row(name)}"
            yield self.names[name], f"const {kind} *const {self.names[name]} = {row};"
        for i, name in enumerate(self.body.results):
            if name not in self.states:
                kind = c_type_of(self.graph[name].dtype)
                line = f"{kind} *const {self.names[name]} = out_{i} + {self._row(name)};"
                yield self.names[name], line

    def _row(self, name: str) -> str:
        """The first element of a row of this trip."""
        back = name in self.body.backwards
        number = f"({(self.body.trips or 0) - 1} - {_TRIP})" if back else _TRIP
        return f"{number} * {self.graph[name].size}"

    def _calls_of(self, called: Called) -> Iterator[tuple[int, str, tuple[str, ...]]]:
        """The layers that are called, in order, each with its function and literals to pass."""
        choice, memory = self.program.choice, self.program.memory
        for index in memory.order:
            layer = choice.layers[index]
            copied = tuple((index, a) not in memory.granted for a in range(len(layer.aliases)))
            if any(copied) or not layer.free_if_aliased:
                yield index, *called(layer, copied)

    def _types(self) -> set[str]:
        """The types that the text names."""
        tensors = (tensor.dtype for tensor in self.graph.tensors.values())
        passed = (arg.c_type for layer in self.program.choice.layers for arg in layer.args)
        return {*map(c_type_of, tensors), *passed}

    def _calls(self) -> Iterator[str]:
        for index, function, numbers in self.calls:
            layer = self.program.choice.layers[index]
            arguments = [self._argument(index, arg) for arg in layer.args]
            origin = ", ".join(map(shortened, dict.fromkeys(layer.node.origin))) or layer.node.name
            what = c_comment(f'{layer.node.op} "{origin}"')
            yield f"/* {what} */"
            yield f"{function}({', '.join((*arguments, *numbers))});"

    def _argument(self, index: int, arg: Arg) -> str:
        if arg.kind is ArgKind.WEIGHTS:
            return constant_names(index, arg)[0]
        if arg.kind is ArgKind.WORKSPACE:
            return f"(void *)({_behind(self.program.memory.workspaces[index])})"
        return self._tensor(arg)

    def _tensor(self, arg: Arg) -> str:
        place = self.places[arg.ref]
        if place.region is Region.ARENA:
            name = next((i for i, o in self.states.items() if o == arg.ref), arg.ref)
            return self.names[name]
        ports = self.graph.input_ports
        if place.region is Region.OUTPUT:
            ports = self.graph.output_ports
        port = ports[place.index]
        tensor = self.graph[port]
        pointer = self.names[port]
        if port == self.body.counter:
            pointer = f"&{_NUMBER}"
        elif port == self.body.condition:
            pointer = f"&{_GOES}"
        elif port in self.body.given:
            pointer = f"given_{self.body.given.index(port)}"
        offset = place.offset // tensor.element_bytes
        behind = f"{pointer} + {offset}" if offset else pointer
        if arg.c_type == c_type_of(tensor.dtype):
            return behind
        const = "const " if place.region is Region.INPUT else ""
        return f"({const}{arg.c_type} *)({behind})"

    def _results(self) -> Iterator[str]:
        for i, name in enumerate(self.body.results):
            if name in self.states:
                yield f"memcpy(out_{i}, {self.names[name]}, {tensor_bytes(self.graph[name])});"


def _words(lines: Sequence[str]) -> set[str]:
    """Names in lines of C that are no comments."""
    code = (line for line in lines if not line.lstrip().startswith("/*"))
    return {word for line in code for word in re.findall(r"\w+", line)}


def _behind(place: Place) -> str:
    return f"workspace + {place.offset}" if place.offset else "workspace"
