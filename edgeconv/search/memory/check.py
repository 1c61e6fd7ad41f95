"""Verifier of memory maps: replays the program over intervals of bytes that know their values.

Written without the planner's alias code, on purpose: what the two agree on is right twice.
"""

from __future__ import annotations

from collections import defaultdict
from collections.abc import Iterable, Iterator, Mapping

import numpy as np

from edgeconv.ir.choice import Alias, Choice, Layer, divides_of, element_align, tensor_bytes
from edgeconv.ir.graph import KEEP
from edgeconv.ir.memory import MemoryMap, Place, Region
from edgeconv.ir.step import Share, Step, calls, reads, starts
from edgeconv.search.memory.contents import Contents, Piece
from edgeconv.search.memory.sizes_check import check_sizes, fail, require

_WORKSPACE = "(workspace)"
# Of a tensor: ``origin`` is the tensor whose layer wrote the bytes, not the one that a view calls
# them.  Adjacent pieces of one origin are merged.
Content = list[Piece[str]]


def check(choice: Choice, memory_map: MemoryMap) -> MemoryMap:
    """Return ``memory_map``; raises InvariantError naming the tensor, the step and the rule.

    Every layer runs once, after what it needs.  Places are where their region, alignment and
    granted aliases put them.  While the program runs, after every step each live tensor still
    holds its bytes, except the input that a granted in-place layer consumes; a caller's input is
    never written.  A state lies in the same bytes when a run begins and when it has ended, and its
    value of the run before is read before that of the next one is written.  The bounds and sizes of
    the banks and their sums are what the places add up to.
    Capacities are not checked: what exceeds one is for the budgets to judge.
    """
    lifetimes = _check_order(choice, memory_map)
    _check_places(choice, memory_map, lifetimes)
    _check_granted(choice, memory_map)
    _check_states(choice, memory_map)
    _Replay(choice, memory_map).run()
    check_sizes(choice, memory_map)
    return memory_map


def _reads(choice: Choice, layer: Layer) -> list[str]:
    return [name for name in layer.node.reads() if not choice.graph[name].is_constant]


def _writes(layer: Layer) -> list[str]:
    return [name for name in layer.node.outputs if name]


def _steps(choice: Choice, memory_map: MemoryMap) -> Iterator[tuple[Step, int]]:
    """In the order of their first layers, each with where its last one must be."""
    first = {step.layers[0]: step for step in choice.steps}
    for position, index in enumerate(memory_map.order):
        if index in first:
            yield first[index], position + len(first[index].layers) - 1


def _check_order(choice: Choice, memory_map: MemoryMap) -> dict[str, tuple[int, int]]:
    """The first and last step of every tensor; fails if the order is not one of execution."""
    layers, order, graph = choice.layers, memory_map.order, choice.graph
    require(sorted(order) == list(range(len(layers))), "order", "each layer must run once")
    used = {name: (-1, -1) for name in graph.inputs if not graph[name].is_constant}
    for step, end in _steps(choice, memory_map):
        start = end - len(step.layers) + 1
        require(order[start : end + 1] == step.layers, "order", f"step {step.layers} is torn")
        for layer in (layers[index] for index in step.layers):
            for name in _reads(choice, layer):
                require(name in used, layer.node.name, f"reads {name!r} before it is written")
                used[name] = (used[name][0], end)
            used.update(dict.fromkeys(_writes(layer), (start, end)))
    for name in graph.outputs:
        if not graph[name].is_constant:
            used[name] = (used[name][0], len(order))
    return used


def _check_places(
    choice: Choice, memory_map: MemoryMap, lifetimes: Mapping[str, tuple[int, int]]
) -> None:
    graph, places = choice.graph, memory_map.places
    require(places.keys() == lifetimes.keys(), "places", "must be those of the tensors in use")
    for name, place in places.items():
        tensor = graph[name]
        size, item = choice.held_bytes(name), element_align(tensor)
        require(place.bytes == size, name, "has a place of another size")
        require((place.first, place.last) == lifetimes[name], name, "has another lifetime")
        require(place.offset % item == 0, name, "lies across its elements' alignment")
        _check_bounds(choice, memory_map, name, place)
    for region, names in ((Region.INPUT, graph.input_ports), (Region.OUTPUT, graph.output_ports)):
        for index, name in enumerate(names):
            if choice.io == "caller" and name in places:
                start = (places[name].region, places[name].index, places[name].offset)
                require(start == (region, index, 0), name, "must be the caller's own buffer")
    steps = {index: step for step, index in enumerate(memory_map.order)}
    sizes = {i: place.bytes for i, place in memory_map.workspaces.items()}
    require(sizes == choice.workspaces(), "workspaces", "must be those that the layers ask for")
    for i, place in memory_map.workspaces.items():
        where = f"workspace of {choice.layers[i].node.name}"
        require(place.region is Region.ARENA, where, "must lie in the arena")
        require(place.offset % memory_map.align == 0, where, "is not aligned")
        used = (steps[i], steps[i])
        if choice.layers[i].accumulates:
            own = next(step.layers for step in choice.steps if i in step.layers)
            used = (steps[own[0]], steps[own[-1]])
        require((place.first, place.last) == used, where, "has another step")
        _check_bounds(choice, memory_map, where, place)


def _check_bounds(choice: Choice, memory_map: MemoryMap, where: str, place: Place) -> None:
    graph, banks = choice.graph, memory_map.banks
    if place.region is Region.ARENA:
        require(0 <= place.bank < len(banks), where, "lies in a bank that does not exist")
        room = banks[place.bank].bytes
    else:
        require(place.bank == 0, where, "a caller's buffer is in no bank")
        require(choice.io == "caller", where, "must lie in the arena")
        names = graph.input_ports if place.region is Region.INPUT else graph.output_ports
        require(0 <= place.index < len(names), where, "lies in a buffer that does not exist")
        owner = graph[names[place.index]]
        room = tensor_bytes(owner)  # without padding, as the caller keeps it
    inside = place.offset >= 0 and place.offset + place.bytes <= room
    require(inside, where, f"leaves its region of {room} bytes")


def _granted(choice: Choice, memory_map: MemoryMap) -> Iterator[tuple[Layer, Alias]]:
    for i, k in sorted(memory_map.granted):
        yield choice.layers[i], choice.layers[i].aliases[k]


def _check_granted(choice: Choice, memory_map: MemoryMap) -> None:
    """Granted aliases are honoured, and only they and states may lie at unaligned offsets."""
    places, tied = memory_map.places, {name: [name] for name in memory_map.places}

    def tie(one: str, other: str) -> None:
        less, more = sorted((tied[one], tied[other]), key=len)
        if less is not more:
            more.extend(less)
            tied.update(dict.fromkeys(less, more))

    for layer, alias in _granted(choice, memory_map):
        inner, outer = places[alias.inner], places[alias.outer]
        require(
            (inner.region, inner.index, inner.bank, inner.offset)
            == (outer.region, outer.index, outer.bank, outer.offset + alias.offset),
            layer.node.name,
            f"granted alias of {alias.inner!r} in {alias.outer!r} is not honoured",
        )
        tie(alias.inner, alias.outer)
    for state in choice.graph.states:
        tie(state.input, state.output)
    groups = {id(names): names for names in tied.values()}
    lowest = {key: min(places[name].offset for name in names) for key, names in groups.items()}
    for name, place in places.items():
        if place.region is Region.ARENA and place.bytes:
            aligned = lowest[id(tied[name])] % memory_map.align == 0
            require(aligned, name, "is not aligned")


def _check_states(choice: Choice, memory_map: MemoryMap) -> None:
    """Each state stays where it is; nobody reads its old value once the new one is there."""
    for state in choice.graph.states:
        before, after = (memory_map.places[name] for name in (state.input, state.output))
        where = f"state {state.input!r}"
        require(before.region is Region.ARENA, where, "must lie in the arena")
        there = (before.bank, before.offset, before.bytes) == (
            after.bank,
            after.offset,
            after.bytes,
        )
        require(there and after.region is Region.ARENA, where, "must stay where it is")
        require(before.last < after.first, where, "is read after it is written")


def _cut(content: Content, start: int, size: int) -> Content:
    """The bytes of ``content`` from ``start`` on, ``size`` of them."""
    found: Content = []
    position = 0
    for piece in content:
        low, high = max(start, position), min(start + size, position + piece.size)
        if low < high:
            found.append(Piece(high - low, piece.origin, piece.start + low - position))
        position += piece.size
    return found


def _patched(content: Content, patches: Iterable[tuple[int, Content]]) -> Content:
    """``content`` with the patches written over it, each from a byte on; they may stick out."""
    whole: Contents[str] = Contents()
    size = _put(whole, 0, content)
    for at, patch in patches:
        _put(whole, at, patch)
    return whole.read(0, size)


def _put(region: Contents[str], at: int, content: Content) -> int:
    """Write ``content`` from ``at`` on; the byte behind it."""
    for piece in content:
        region.write(at, piece)
        at += piece.size
    return at


def _check_rows(choice: Choice, step: Step) -> None:
    """Workers make all rows of a step's result, each of them once, and whoever computes all of them
    finds what he reads, too."""
    name = choice.layers[step.layers[-1]].node.name
    divides = choice.layers[step.layers[-1]].divides
    end = 0
    for share in step.shares:
        require(share.row0 == end < share.row1, name, "leaves rows out")
        end = share.row1
    require(not step.shares or (divides is not None and end == divides.rows), name, "leaves rows")
    for part in (None, *step.shares):
        _check_share(choice, step, part)


def _check_share(choice: Choice, step: Step, share: Share | None) -> None:
    """At every call of a worker each ring holds the rows that the call reads."""
    layers = [choice.layers[index] for index in step.layers]
    divides = divides_of(layers)
    rings = [choice.graph[layer.node.output].ring for layer in layers[:-1]]
    held: list[dict[int, int]] = [{} for _ in rings]  # place in the ring -> row
    begin, end = share[:2] if share else (0, divides[-1].rows)
    done = starts(divides, begin)
    for number, row0, row1 in calls(divides, rings, step.stream_rows, share):
        name = layers[number].node.name
        require(row0 == done[number], name, "leaves rows out")
        done[number] = row1
        for maker, window in reads(divides, number):
            size, kept = rings[maker], held[maker]
            for row in range(window.first_read(row0), window.end_read(row1)):
                there = row >= divides[maker].rows or kept.get(row % size) == row
                require(there, name, f"does not find row {row} of {layers[maker].node.output!r}")
        if number < len(rings):
            held[number].update((row % rings[number], row) for row in range(row0, row1))
    require(done[-1] == end, layers[-1].node.name, "leaves rows out")


def _check_overlap(choice: Choice, step: Step, alias: Alias) -> None:
    """No call of a step writes over rows of the step's input that a later one reads."""
    layers, graph = [choice.layers[index] for index in step.layers], choice.graph
    divides = divides_of(layers)
    rings = [graph[layer.node.output].ring for layer in layers[:-1]]
    in_rows = graph[alias.input].shape[-2]
    in_row, out_row = (
        tensor_bytes(graph[name]) // rows
        for name, rows in ((alias.input, in_rows), (alias.output, divides[-1].rows))
    )
    left = [*calls(divides, rings, step.stream_rows)]
    added = alias.input in layers[-1].node.reads()
    while left:
        number, _, row1 = left.pop(0)
        if number < len(rings):
            continue
        later = [divides[0].first_read(row0) for other, row0, _ in left if not other]
        later += [row0 for other, row0, _ in left if added and other == number]
        kept = alias.offset + min(later, default=in_rows) * in_row
        where = f"{layers[-1].node.name} over {alias.input!r}"
        require(not later or row1 * out_row <= kept, where, f"row {row1 - 1} is read later")


class _Places:
    """Which of the tensors that were written and are still needed lie at some bytes."""

    def __init__(self, places: Mapping[str, Place]) -> None:
        keys = {key: number for number, key in enumerate({*map(_region, places.values())})}
        self._names, self._regions = list(places), keys
        self._number = {name: number for number, name in enumerate(places)}
        self._region = np.array([keys[_region(p)] for p in places.values()], np.int64)
        self._low = np.array([p.offset for p in places.values()], np.int64)
        self._high = np.array([p.offset + p.bytes for p in places.values()], np.int64)
        self._last = np.array([p.last for p in places.values()], np.int64)
        self._written = np.zeros(len(places), bool)

    def add(self, name: str) -> None:
        self._written[self._number[name]] = True

    def at(self, place: Place, step: int) -> Iterator[str]:
        """The tensors that share bytes with ``place`` and are needed at ``step`` or later."""
        found = self._written & (self._last >= step)
        found &= self._region == self._regions.get(_region(place), -1)
        found &= (self._low < place.offset + place.bytes) & (self._high > place.offset)
        yield from (self._names[number] for number in np.flatnonzero(found))


def _region(place: Place) -> tuple[Region, int, int]:
    return place.region, place.index, place.bank


class _Replay:
    """Runs the program: who wrote which byte last."""

    def __init__(self, choice: Choice, memory_map: MemoryMap) -> None:
        self._choice, self._map = choice, memory_map
        self._memory: defaultdict[tuple[Region, int, int], Contents[str]] = defaultdict(Contents)
        self._content: dict[str, Content] = {}  # what each tensor must hold
        self._summed: set[int] = set()  # layers that hold sums
        self._live = _Places(memory_map.places)

    def run(self) -> None:
        places = self._map.places
        inputs = [name for name in self._choice.graph.inputs if name in places]
        for name in inputs:
            self._start(name, {})
        self._check_live(-1, [places[name] for name in inputs], {})
        for step, end in _steps(self._choice, self._map):
            overwritten: dict[str, str] = {}
            # A second round meets what the first one wrote; every other is like it.
            for index in step.layers * (2 if step.stream_rows else 1):
                self._call(step, index, end, overwritten)
            if step.stream_rows:
                _check_rows(self._choice, step)

    def _call(self, step: Step, index: int, end: int, overwritten: dict[str, str]) -> None:
        """Run layer ``index`` of the step that ends at ``end``.

        ``overwritten``: inputs of the step, and what lies over them; that of this layer is added.
        """
        places, layer = self._map.places, self._choice.layers[index]
        outputs = _writes(layer)
        aliases: dict[str, list[Alias]] = {name: [] for name in outputs}
        for k, alias in enumerate(layer.aliases):
            if (index, k) in self._map.granted:
                aliases[alias.output].append(alias)
        if layer.node.op == KEEP and layer.aliases and not aliases[layer.node.output]:
            overwritten[layer.node.inputs[0]] = layer.node.output  # moved, maybe within one array
        for name, mine in aliases.items():
            self._start(name, {a.input: a for a in mine if a.exact})
            for alias in mine:
                if not alias.exact:
                    self._check_in_place(step, layer, alias, end)
                    overwritten[alias.input] = name
        touched = [places[name] for name in outputs]
        if index in self._map.workspaces:
            place = self._map.workspaces[index]
            region = self._memory[_region(place)]
            if layer.accumulates:
                own = [Piece(place.bytes, f"{_WORKSPACE} of {layer.node.name}", 0)]
                summed = index not in self._summed
                summed = summed or region.read(place.offset, place.bytes) == own
                require(summed, layer.node.name, "does not find its sums of the round before")
                self._summed.add(index)
                region.write(place.offset, own[0])
            else:
                region.write(place.offset, Piece(place.bytes, _WORKSPACE, 0))
            touched.append(place)
        self._check_live(end, touched, overwritten)

    def _start(self, name: str, exact: Mapping[str, Alias]) -> None:
        """Write ``name`` except where exact aliases say that the values are there already."""
        place = self._map.places[name]
        content = [Piece(place.bytes, name, 0)]
        parts: list[tuple[int, Content]] = []
        for other, alias in exact.items():
            if alias.inner == name:
                content, parts = _cut(self._content[other], alias.offset, place.bytes), []
            else:
                parts.append((alias.offset, self._content[other]))
        content = _patched(content, parts)
        position = place.offset
        for piece in content:
            if piece.origin == name:
                written = place.region is not Region.INPUT or name in self._choice.graph.inputs
                require(written, name, "is written to a caller's input")
                self._memory[_region(place)].write(position, piece)
            position += piece.size
        self._content[name] = content
        self._live.add(name)

    def _check_in_place(self, step: Step, layer: Layer, alias: Alias, end: int) -> None:
        where = f"{layer.node.name} in place on {alias.input!r}"
        place = self._map.places[alias.input]
        require(place.last == end, where, "the input is needed later")
        require(place.region is not Region.INPUT, where, "the input is the caller's")
        reads = [name for i in step.layers for name in self._choice.layers[i].node.reads()]
        if not alias.overlaps:
            require(reads.count(alias.input) == 1, where, "the input is read twice")
        elif step.stream_rows:
            _check_overlap(self._choice, step, alias)

    def _check_live(
        self, step: int, touched: Iterable[Place], overwritten: Mapping[str, str]
    ) -> None:
        """Every live tensor holds its bytes, but for what in-place outputs took of their inputs.

        Those that lie elsewhere than the ``touched`` bytes hold what they held the step before.
        """
        places = self._map.places
        for name in dict.fromkeys(n for place in touched for n in self._live.at(place, step)):
            place, expected = places[name], self._content[name]
            if name in overwritten:
                output = overwritten[name]
                at = places[output].offset - place.offset
                expected = _patched(expected, [(at, self._content[output])])
            if self._memory[_region(place)].read(place.offset, place.bytes) != expected:
                fail(name, f"is clobbered by step {step} (live {place.first} to {place.last})")
