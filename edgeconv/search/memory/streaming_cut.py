"""Which layers stream rows so that no step needs more than a limit of RAM, in the least time.

A network is a path of steps in the order of its layers: of one layer, or of several that stream
rows.  A step needs what lies in memory around it, its result, its rings and its largest workspace.
The path of least time among the steps that need no more than the limit is a shortest path, and
the smallest limit that any path keeps a bottleneck path; both are found by dynamic programming over
the layers.
"""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from dataclasses import dataclass, replace
from functools import cached_property
from itertools import chain
from math import inf

from edgeconv.ir.choice import Alias, Choice, Layer, tensor_bytes
from edgeconv.ir.step import least_rings
from edgeconv.search.choose import joins, stream_rows_of
from edgeconv.search.choose.fused import StepPrices
from edgeconv.search.choose.row_streaming import aliases_of, same_sums
from edgeconv.search.choose.select import lowered
from edgeconv.search.memory.alias import share
from edgeconv.search.memory.lifetimes import Span, lifetimes
from edgeconv.search.memory.program import of_choice

MOST_LAYERS = 12  # of a step
STREAM_ROWS = (1, 2, 4)  # rows of the last result per round that are tried


@dataclass(frozen=True, slots=True)
class _Cut:
    """The layers [begin, end) as a step, and the bytes of the arena in use while it runs."""

    begin: int
    end: int
    stream_rows: int
    bytes: int


class StreamingCuts:
    """The steps that the layers of ``choice``, each of which is one of its own, may be cut into;
    ``prices`` are of them."""

    def __init__(self, choice: Choice, prices: StepPrices) -> None:
        self._choice, self._prices = choice, prices
        self._program = of_choice(choice)
        self._joined = {first + 1 for first, count, _ in joins(choice) if count == 2}
        self._some: dict[tuple[int, bool, bool], Layer] = {}
        self._torn: set[_Cut] = set()

    @property
    def least(self) -> int:
        """The fewest bytes that some path of steps needs: the largest of its steps."""
        best = [0.0]
        for end in range(1, len(self._choice.layers) + 1):
            best.append(min(max(best[cut.begin], cut.bytes) for cut in self._ending[end]))
        return int(best[-1])

    def within(self, limit: int) -> Choice | None:
        """``choice`` in the steps that take the least time of those that need at most ``limit``
        bytes; None where none do."""
        while True:
            path = self._path(limit)
            if path is None:
                return None
            made = self._made(path)
            if made is not None:
                return made

    def _path(self, limit: int) -> list[_Cut] | None:
        best: list[tuple[float, _Cut | None]] = [(0.0, None)]
        for end in range(1, len(self._choice.layers) + 1):
            least: tuple[float, _Cut | None] = inf, None
            for cut in self._ending[end]:
                before = best[cut.begin][0]
                if cut.bytes <= limit and cut not in self._torn and before < least[0]:
                    cost = before + self._cost(cut)
                    least = (cost, cut) if cost < least[0] else least
            best.append(least)
        path: list[_Cut] = []
        end = len(self._choice.layers)
        while end:
            last = best[end][1]
            if last is None:
                return None
            path.append(last)
            end = last.begin
        return path[::-1]

    def _made(self, path: list[_Cut]) -> Choice | None:
        """The steps of ``path``; None where one of them cannot be, which is then known."""
        choice = self._choice
        for cut in path:
            if cut.stream_rows:
                count = cut.end - cut.begin
                made = stream_rows_of(
                    choice, self._prices.target, cut.begin, count, cut.stream_rows
                )
                if made is None:
                    self._torn.add(cut)
                    return None
                choice = made
        return choice

    def _cost(self, cut: _Cut) -> float:
        count = cut.end - cut.begin
        if not cut.stream_rows:
            return self._prices.apart(cut.begin, count)
        return self._prices.step_of_one(cut.begin, count, cut.stream_rows).cost

    @cached_property
    def _ending(self) -> list[list[_Cut]]:
        """By the layer behind their last one: the steps."""
        found: list[list[_Cut]] = [[] for _ in range(len(self._choice.layers) + 1)]
        for begin in range(len(self._choice.layers)):
            for cut in self._beginning(begin):
                found[cut.end].append(cut)
        return found

    def _beginning(self, begin: int) -> Iterator[_Cut]:
        layers, around = self._choice.layers, self._around[begin]
        alone = self._own([layers[begin]], begin + 1, layers[begin].aliases)
        yield _Cut(begin, begin + 1, 0, around + alone)
        for end in range(begin + 2, min(begin + MOST_LAYERS, len(layers)) + 1):
            made = self._streaming(begin, end)
            if not made:
                return
            divides = [layer.divides for layer in made if layer.divides]
            for rows in STREAM_ROWS:
                if rows >= divides[-1].rows and rows > 1:
                    break
                rings = least_rings(divides, rows)
                held = sum(map(self._ring_bytes, made, rings))
                own = self._own(made, end, aliases_of(made, rows, self._choice.graph))
                yield _Cut(begin, end, rows, around + held + own)

    def _streaming(self, begin: int, end: int) -> list[Layer]:
        """The layers [begin, end) as they are where they stream rows; none where they cannot."""
        if end - 1 not in self._joined:
            return []
        made = [self._with_rings(i, i > begin, i < end - 1) for i in range(begin, end)]
        before = self._choice.layers[begin:end]
        able = all(layer.divides for layer in made)
        return made if able and all(map(same_sums, made, before)) else []

    def _with_rings(self, index: int, from_ring: bool, to_ring: bool) -> Layer:
        """A layer whose input, or result, is a ring: of how many rows decides nothing of it."""
        key = index, from_ring, to_ring
        if key not in self._some:
            layer, graph = self._choice.layers[index], self._choice.graph
            rings = [layer.node.inputs[0]] * from_ring + [layer.node.output] * to_ring
            held = {name: replace(graph[name], ring=graph[name].shape[-2]) for name in rings}
            made = lowered(layer.node, graph.with_tensors(held), self._prices.target)
            self._some[key] = made if rings else layer
        return self._some[key]

    def _ring_bytes(self, layer: Layer, rows: int) -> int:
        ring = replace(self._choice.graph[layer.node.output], ring=rows)
        return self._rounded(tensor_bytes(ring))

    def _rounded(self, size: int) -> int:
        return self._program.round_up(size)

    def _own(self, made: list[Layer], end: int, aliases: tuple[Alias, ...]) -> int:
        """The workspace and the result of a step of the layers ``made``, of which ``end`` is the
        next, as far as that does not lie where what the step reads lies, by one of the ``aliases``
        of its last layer."""
        program = self._program
        results = {name: size for name in made[-1].node.outputs if (size := self._held(name))}
        saved = 0
        for alias in aliases:
            size, source = results.get(alias.output, 0), self._held(alias.input)
            if size and source and self._spans[alias.input].last < end:
                both = max(size, source)
                if alias.overlaps:
                    both = max(size, program.round_up(alias.offset) + source)
                saved = max(saved, size + source - both)
        workspace = max(self._rounded(layer.workspace_bytes) for layer in made)
        return workspace + sum(results.values()) - saved

    def _held(self, name: str) -> int:
        """Bytes of the arena that a whole tensor takes."""
        if name not in self._program.sizes or name in self._callers:
            return 0
        return self._rounded(self._program.sizes[name])

    @cached_property
    def _blocks(self) -> tuple[Mapping[str, int], ...]:
        """Tensors of the same bytes, with their offsets (`alias.Sharing`)."""
        return share(self._program, self._spans, in_place=False).blocks

    @cached_property
    def _spans(self) -> Mapping[str, Span]:
        return lifetimes(self._program, range(len(self._choice.layers)))

    @cached_property
    def _callers(self) -> frozenset[str]:
        """What lies in the caller's buffers."""
        buffers = self._program.buffers.keys()
        return frozenset(
            chain.from_iterable(each for each in self._blocks if buffers & each.keys())
        )

    @cached_property
    def _around(self) -> list[int]:
        """By layer: bytes of what was made before it and is still read, by it or later."""
        program, spans, count = self._program, self._spans, len(self._choice.layers)
        found = [0] * count
        for block in self._blocks:
            if self._callers & block.keys():
                continue
            for index in range(count):
                live = [
                    (offset, offset + program.sizes[name])
                    for name, offset in block.items()
                    if spans[name].first < index <= spans[name].last
                ]
                found[index] += self._rounded(_covered(live))
        return found


def _covered(ranges: list[tuple[int, int]]) -> int:
    """Bytes that the union of ``ranges`` covers."""
    covered, end = 0, 0
    for low, high in sorted(ranges):
        covered += max(0, high - max(low, end))
        end = max(end, high)
    return covered
