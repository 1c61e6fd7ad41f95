"""Verifier of memory maps: replays the program over intervals of bytes that know their values.

Written without the planner's alias code, on purpose: what the two agree on is right twice.
"""

from __future__ import annotations

from bisect import bisect_left, bisect_right
from collections import Counter
from collections.abc import Iterator, Mapping
from typing import NamedTuple, NoReturn

from edgeconv.ir.check import InvariantError
from edgeconv.ir.choice import Alias, Choice, Layer, element_align, tensor_bytes
from edgeconv.ir.memory import MemoryMap, Place, Region


class Piece(NamedTuple):
    """``size`` bytes that hold the bytes of tensor ``origin`` from ``start`` on.

    ``origin`` is the tensor whose layer wrote the bytes, not the one that a view calls them.
    """

    size: int
    origin: str
    start: int


Content = list[Piece]  # adjacent pieces of one origin are merged


def check(choice: Choice, memory_map: MemoryMap) -> MemoryMap:
    """Return ``memory_map``; raises InvariantError naming the tensor, the step and the rule.

    Every layer runs once, after what it needs.  Places are where their region, alignment and
    granted aliases put them.  While the program runs, after every step each live tensor still
    holds its bytes, except the input that a granted in-place layer consumes; a caller's input is
    never written.  The bounds and sizes of the banks and their sums are what the places add up to.
    Capacities are not checked: what exceeds one is for the budgets to judge.
    """
    lifetimes = _check_order(choice, memory_map)
    _check_places(choice, memory_map, lifetimes)
    _check_granted(choice, memory_map)
    _Replay(choice, memory_map).run()
    _check_sizes(memory_map)
    return memory_map


def _fail(where: str, rule: str) -> NoReturn:
    raise InvariantError(f"memory map: {where}: {rule}")


def _require(condition: bool, where: str, rule: str) -> None:
    if not condition:
        _fail(where, rule)


def _reads(choice: Choice, layer: Layer) -> list[str]:
    return [name for name in layer.node.reads() if not choice.graph[name].is_constant]


def _writes(layer: Layer) -> list[str]:
    return [name for name in layer.node.outputs if name]


def _check_order(choice: Choice, memory_map: MemoryMap) -> dict[str, tuple[int, int]]:
    """The first and last step of every tensor; fails if the order is not one of execution."""
    layers, order, graph = choice.layers, memory_map.order, choice.graph
    _require(sorted(order) == list(range(len(layers))), "order", "each layer must run once")
    used = {name: (-1, -1) for name in graph.inputs if not graph[name].is_constant}
    for step, index in enumerate(order):
        layer = layers[index]
        for name in _reads(choice, layer):
            _require(name in used, layer.node.name, f"reads {name!r} before it is written")
            used[name] = (used[name][0], step)
        used.update(dict.fromkeys(_writes(layer), (step, step)))
    for name in graph.outputs:
        if not graph[name].is_constant:
            used[name] = (used[name][0], len(order))
    return used


def _check_places(
    choice: Choice, memory_map: MemoryMap, lifetimes: Mapping[str, tuple[int, int]]
) -> None:
    graph, places = choice.graph, memory_map.places
    _require(places.keys() == lifetimes.keys(), "places", "must be those of the tensors in use")
    for name, place in places.items():
        tensor = graph[name]
        size, item = tensor_bytes(tensor), element_align(tensor)
        _require(place.bytes == size, name, "has a place of another size")
        _require((place.first, place.last) == lifetimes[name], name, "has another lifetime")
        _require(place.offset % item == 0, name, "lies across its elements' alignment")
        _check_bounds(choice, memory_map, name, place)
    for region, names in ((Region.INPUT, graph.inputs), (Region.OUTPUT, graph.outputs)):
        for index, name in enumerate(names):
            if choice.io == "caller" and name in places:
                start = (places[name].region, places[name].index, places[name].offset)
                _require(start == (region, index, 0), name, "must be the caller's own buffer")
    steps = {index: step for step, index in enumerate(memory_map.order)}
    sizes = {i: layer.workspace_bytes for i, layer in enumerate(choice.layers)}
    _require(
        {i: place.bytes for i, place in memory_map.workspaces.items()}
        == {i: size for i, size in sizes.items() if size},
        "workspaces",
        "must be those that the layers ask for",
    )
    for i, place in memory_map.workspaces.items():
        where = f"workspace of {choice.layers[i].node.name}"
        _require(place.region is Region.ARENA, where, "must lie in the arena")
        _require(place.offset % memory_map.align == 0, where, "is not aligned")
        _require((place.first, place.last) == (steps[i], steps[i]), where, "has another step")
        _check_bounds(choice, memory_map, where, place)


def _check_bounds(choice: Choice, memory_map: MemoryMap, where: str, place: Place) -> None:
    graph, banks = choice.graph, memory_map.banks
    if place.region is Region.ARENA:
        _require(0 <= place.bank < len(banks), where, "lies in a bank that does not exist")
        room = banks[place.bank].bytes
    else:
        _require(place.bank == 0, where, "a caller's buffer is in no bank")
        _require(choice.io == "caller", where, "must lie in the arena")
        names = graph.inputs if place.region is Region.INPUT else graph.outputs
        _require(0 <= place.index < len(names), where, "lies in a buffer that does not exist")
        owner = graph[names[place.index]]
        room = tensor_bytes(owner)  # without padding, as the caller keeps it
    inside = place.offset >= 0 and place.offset + place.bytes <= room
    _require(inside, where, f"leaves its region of {room} bytes")


def _granted(choice: Choice, memory_map: MemoryMap) -> Iterator[tuple[Layer, Alias]]:
    for i, k in sorted(memory_map.granted):
        yield choice.layers[i], choice.layers[i].aliases[k]


def _check_granted(choice: Choice, memory_map: MemoryMap) -> None:
    """Granted aliases are honoured, and only they may lie at unaligned offsets."""
    places, tied = memory_map.places, {name: [name] for name in memory_map.places}
    for layer, alias in _granted(choice, memory_map):
        inner, outer = places[alias.inner], places[alias.outer]
        _require(
            (inner.region, inner.index, inner.bank, inner.offset)
            == (outer.region, outer.index, outer.bank, outer.offset + alias.offset),
            layer.node.name,
            f"granted alias of {alias.inner!r} in {alias.outer!r} is not honoured",
        )
        if tied[alias.inner] is not tied[alias.outer]:
            merged = tied[alias.inner] + tied[alias.outer]
            tied.update(dict.fromkeys(merged, merged))
    for name, place in places.items():
        if place.region is Region.ARENA and place.bytes:
            lowest = min(places[other].offset for other in tied[name])
            _require(lowest % memory_map.align == 0, name, "is not aligned")


def _check_sizes(memory_map: MemoryMap) -> None:
    """The lower bound and the bytes of every bank, counted byte range by byte range."""
    found = [_size(memory_map, bank) for bank in range(len(memory_map.banks))]
    together: Counter[int] = Counter()
    for live, _ in found:
        together.update(live)
    least, tops = max(together.values(), default=0), sum(top for _, top in found)
    _require(memory_map.lower_bound == least, "lower_bound", f"must be {least}")
    _require(memory_map.arena_bytes == tops, "arena_bytes", f"must be {tops}, the highest in use")
    for use, (live, top) in zip(memory_map.banks, found, strict=True):
        bound = max(live.values(), default=0)
        _require(use.lower_bound == bound, f"bank {use.name}", f"the bound must be {bound}")
        _require(use.bytes == top, f"bank {use.name}", f"must take {top} bytes")
    names = {use.name for use in memory_map.banks}
    _require(len(names) == len(memory_map.banks), "banks", "must have different names")
    met = memory_map.arena_bytes == least
    _require(memory_map.optimal or not met, "optimal", "an arena of the lower bound is optimal")


def _size(memory_map: MemoryMap, bank: int) -> tuple[dict[int, int], int]:
    """The bytes in use at every step, and the end of the highest ever in use."""
    align = memory_map.align
    in_use: dict[int, list[tuple[int, int]]] = {}
    for place in (*memory_map.places.values(), *memory_map.workspaces.values()):
        if place.region is Region.ARENA and place.bytes and place.bank == bank:
            low = place.offset // align * align
            high = -(-(place.offset + place.bytes) // align) * align
            for step in range(place.first, place.last + 1):
                in_use.setdefault(step, []).append((low, high))
    live = {step: _covered(ranges) for step, ranges in in_use.items()}
    top = max((high for ranges in in_use.values() for _, high in ranges), default=0)
    return live, top


def _covered(ranges: list[tuple[int, int]]) -> int:
    """Bytes in the union of ``ranges``."""
    total, reached = 0, 0
    for low, high in sorted(ranges):
        total += max(0, high - max(low, reached))
        reached = max(reached, high)
    return total


class _Bytes:
    """One region: disjoint intervals of bytes with their values, sorted; the rest is garbage."""

    def __init__(self) -> None:
        self._starts: list[int] = []
        self._pieces: list[Piece] = []

    def write(self, offset: int, piece: Piece) -> None:
        if piece.size == 0:
            return
        end = offset + piece.size
        first = max(0, bisect_right(self._starts, offset) - 1)
        last = bisect_right(self._starts, end - 1)
        kept: list[tuple[int, Piece]] = []
        for start, old in zip(self._starts[first:last], self._pieces[first:last], strict=True):
            if start < offset:
                kept.append((start, old._replace(size=min(old.size, offset - start))))
            if start + old.size > end:
                cut = end - start
                kept.append((end, Piece(old.size - cut, old.origin, old.start + cut)))
        kept = sorted([*kept, (offset, piece)])
        self._starts[first:last] = [start for start, _ in kept]
        self._pieces[first:last] = [old for _, old in kept]

    def read(self, offset: int, size: int) -> Content:
        """What ``size`` bytes at ``offset`` hold; bytes never written are left out."""
        found: Content = []
        first = max(0, bisect_right(self._starts, offset) - 1)
        last = bisect_left(self._starts, offset + size)
        for start, piece in zip(self._starts[first:last], self._pieces[first:last], strict=True):
            low, high = max(start, offset), min(start + piece.size, offset + size)
            if low < high:
                found.append(Piece(high - low, piece.origin, piece.start + low - start))
        return _merge(found)


def _merge(content: Content) -> Content:
    merged: Content = []
    for piece in content:
        if merged and _follows(piece, merged[-1]):
            merged[-1] = merged[-1]._replace(size=merged[-1].size + piece.size)
        elif piece.size:
            merged.append(piece)
    return merged


def _follows(piece: Piece, last: Piece) -> bool:
    return (piece.origin, piece.start) == (last.origin, last.start + last.size)


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


def _patch(content: Content, at: int, part: Content) -> Content:
    """``content`` with ``part`` written over it from ``at`` on; both ends may stick out."""
    size = sum(piece.size for piece in content)
    part_size = sum(piece.size for piece in part)
    low, high = max(at, 0), min(at + part_size, size)
    if low >= high:
        return content
    middle = _cut(part, low - at, high - low)
    return _merge([*_cut(content, 0, low), *middle, *_cut(content, high, size - high)])


class _Replay:
    """Runs the program: who wrote which byte last."""

    def __init__(self, choice: Choice, memory_map: MemoryMap) -> None:
        self._choice, self._map = choice, memory_map
        self._memory: dict[tuple[Region, int, int], _Bytes] = {}
        self._content: dict[str, Content] = {}  # what each tensor must hold
        self._live: list[str] = []

    def run(self) -> None:
        for name in self._choice.graph.inputs:
            if name in self._map.places:
                self._start(name, {})
        self._check_live(-1, {})
        for step, index in enumerate(self._map.order):
            layer = self._choice.layers[index]
            aliases = [
                alias for k, alias in enumerate(layer.aliases) if (index, k) in self._map.granted
            ]
            overwritten = {}
            for name in _writes(layer):
                mine = [alias for alias in aliases if name in (alias.inner, alias.outer)]
                self._start(name, {a.input: a for a in mine if a.exact})
                for alias in mine:
                    if not alias.exact:
                        self._check_in_place(layer, alias, step)
                        overwritten[alias.input] = name
            if index in self._map.workspaces:
                place = self._map.workspaces[index]
                self._region(place).write(place.offset, Piece(place.bytes, "(workspace)", 0))
            self._check_live(step, overwritten)

    def _region(self, place: Place) -> _Bytes:
        return self._memory.setdefault((place.region, place.index, place.bank), _Bytes())

    def _start(self, name: str, exact: Mapping[str, Alias]) -> None:
        """Write ``name`` except where exact aliases say that the values are there already."""
        place = self._map.places[name]
        content = [Piece(place.bytes, name, 0)]
        for other, alias in exact.items():
            if alias.inner == name:
                content = _cut(self._content[other], alias.offset, place.bytes)
            else:
                content = _patch(content, alias.offset, self._content[other])
        position = place.offset
        for piece in content:
            if piece.origin == name:
                written = place.region is not Region.INPUT or name in self._choice.graph.inputs
                _require(written, name, "is written to a caller's input")
                self._region(place).write(position, piece)
            position += piece.size
        self._content[name] = _merge(content)
        self._live.append(name)

    def _check_in_place(self, layer: Layer, alias: Alias, step: int) -> None:
        where = f"{layer.node.name} in place on {alias.input!r}"
        place = self._map.places[alias.input]
        _require(place.last == step, where, "the input is needed later")
        _require(place.region is not Region.INPUT, where, "the input is the caller's")
        once = layer.node.reads().count(alias.input) == 1
        _require(once, where, "the input is read twice")

    def _check_live(self, step: int, overwritten: Mapping[str, str]) -> None:
        """Every live tensor holds its bytes, but for what in-place outputs took of their inputs."""
        places = self._map.places
        self._live = [name for name in self._live if places[name].last >= step]
        for name in self._live:
            place, expected = places[name], self._content[name]
            if name in overwritten:
                output = overwritten[name]
                at = places[output].offset - place.offset
                expected = _patch(expected, at, self._content[output])
            if self._region(place).read(place.offset, place.bytes) != expected:
                _fail(name, f"is clobbered by step {step} (live {place.first} to {place.last})")
