"""Which layers stream rows so that no step needs more than a limit of RAM, in the least time.

A network is a path of steps in the order of its layers: of one layer, or of several that stream
rows, whole ones or those of patches one after the other.  A step needs what lies in memory around
it, its result, its rings and its largest workspace.  The path of least time among the steps that
need no more than the limit is a shortest path, and the smallest limit that any path keeps a
bottleneck path; both are found by dynamic programming over the layers, as the fusion settings of
msf-CNN are (arXiv 2505.11483).

Patches compute halos again and so take more time.  They are looked at only where whole rows need
more than the limit, or clearly more time than without a limit.
"""

from __future__ import annotations

from bisect import bisect_left, bisect_right
from collections.abc import Callable, Collection, Iterator, Mapping
from dataclasses import dataclass, replace
from functools import cached_property, lru_cache
from itertools import chain
from math import inf

from edgeconv.ir.choice import Alias, Choice, Layer, divides_of, tensor_bytes
from edgeconv.ir.graph import Graph
from edgeconv.ir.step import ROW_BY_ROW, least_rings
from edgeconv.kernels.algorithms.scaling import scaling_of
from edgeconv.search.choose import stream_rows_of
from edgeconv.search.choose.fused import StepPrices
from edgeconv.search.choose.row_streaming import (
    aliases_of,
    can_stream,
    columns_by_patches,
    most_columns,
    of_patch,
    readers,
    same_sums,
)
from edgeconv.search.choose.select import lowered
from edgeconv.search.memory.alias import share
from edgeconv.search.memory.around import bytes_around
from edgeconv.search.memory.lifetimes import Span, lifetimes
from edgeconv.search.memory.program import of_choice

MOST_LAYERS = 12  # of a step
MOST_LAYERS_IN_PATCHES = 16  # of one whose rings are narrower
STREAM_ROWS = (1, 2, 4)  # rows of the last result per round that are tried
_FLOOR_OF_PATCHES = 0.9  # of the time of whole images; caches and rows may save some
CLEARLY_SLOWER = 1.02  # than without a limit: worth looking at patches
_least_rings = lru_cache(maxsize=4096)(least_rings)  # blocks of a network are often alike


@dataclass(frozen=True, slots=True)
class _Cut:
    """The layers [begin, end) as a step, and the bytes of the arena in use while it runs; of one in
    patches without workspaces."""

    begin: int
    end: int
    stream_rows: int
    bytes: int
    patches: int = 1


_Cuts = list[list[_Cut]]  # by the layer behind the last one


class StreamingCuts:
    """The steps that the layers of ``choice``, each of which is one of its own, may be cut into;
    ``prices`` are of them."""

    def __init__(self, choice: Choice, prices: StepPrices) -> None:
        self._choice, self._prices = choice, prices
        self._program = of_choice(choice)
        self._reads = readers(choice)
        self._some: dict[tuple[int, tuple[tuple[str, int], ...]], Layer] = {}
        self._of_patches: dict[
            tuple[int, tuple[tuple[str, tuple[int, int]], ...], tuple[int, int]], Layer
        ] = {}
        self._rings: dict[tuple[str, int, int], int] = {}
        self._known: dict[_Cut, float] = {}
        self._torn: set[_Cut] = set()

    @property
    def least(self) -> int:
        """The fewest bytes that some path of steps needs: the largest of its steps."""
        best = [0.0]
        for end in range(1, len(self._choice.layers) + 1):
            least = inf
            for cut in self._every[end]:
                if max(best[cut.begin], cut.bytes) < least:
                    least = min(least, max(best[cut.begin], self._needs(cut)))
            best.append(least)
        return int(best[-1])

    def within(self, limit: int, *, patches: bool = True) -> Choice | None:
        """``choice`` in the steps that take the least time of those that need at most ``limit``
        bytes, some of them maybe in ``patches``; None where none do."""
        made, cost = self._fastest(limit, self._of_rows)
        if not patches:
            return made
        if made is None or cost > CLEARLY_SLOWER * self._of_no_limit:
            made, _ = self._fastest(limit, self._every)
        return made

    def needs_of(self, choice: Choice) -> int:
        """The bytes that the steps of ``choice`` need, one of those that `within` makes."""
        found = 0.0
        for step in choice.steps:
            begin, end = step.layers[0], step.layers[-1] + 1
            key = begin, step.stream_rows, step.patches
            cuts = (self._every if step.patches > 1 else self._of_rows)[end]
            of_step = (cut for cut in cuts if (cut.begin, cut.stream_rows, cut.patches) == key)
            found = max(found, self._needs(next(of_step)))
        return int(found)

    def least_within(self, slower: float, halved: float) -> Iterator[Choice]:
        """``choice`` in steps of whole rows that need the fewest bytes of those that take at most
        ``slower`` times the least time, or ``halved`` times where that halves the bytes; then those
        that take less time and more bytes."""
        path, least = self._path(inf, self._of_rows)
        most = max(cut.bytes for cut in path)
        limits = sorted({cut.bytes for cuts in self._of_rows for cut in cuts if cut.bytes < most})
        half, last = bisect_right(limits, most // 2), inf
        for part, times in ((limits[:half], halved), (limits[half:], slower)):

            def is_soon(limit: int, most: float = times * least) -> bool:
                return self._path(limit, self._of_rows)[1] <= most

            for limit in part[bisect_left(part, True, key=is_soon) :]:
                made, cost = self._fastest(limit, self._of_rows)
                if made is not None and cost < last:
                    last = cost
                    yield made

    def _fastest(self, limit: float, among: _Cuts) -> tuple[Choice | None, float]:
        """The fastest of the steps ``among`` these, and what they take."""
        while True:
            path, cost = self._path(limit, among)
            if not path:
                return None, cost
            made = self._made(path)
            if made is not None:
                return made, cost

    @cached_property
    def _of_no_limit(self) -> float:
        return self._path(inf, self._of_rows)[1]

    def _path(self, limit: float, among: _Cuts) -> tuple[list[_Cut], float]:
        best: list[tuple[float, _Cut | None]] = [(0.0, None)]
        for end in range(1, len(self._choice.layers) + 1):
            least: tuple[float, _Cut | None] = inf, None
            for cut in among[end]:
                before = best[cut.begin][0]
                if cut.bytes > limit or cut in self._torn or before >= least[0]:
                    continue
                if cut.patches > 1 and before + self._floor(cut) >= least[0]:
                    continue
                if self._needs(cut) <= limit:
                    cost = before + self._cost(cut)
                    least = (cost, cut) if cost < least[0] else least
            best.append(least)
        path: list[_Cut] = []
        end = len(self._choice.layers)
        while end:
            last = best[end][1]
            if last is None:
                return [], inf
            path.append(last)
            end = last.begin
        return path[::-1], best[-1][0]

    def _made(self, path: list[_Cut]) -> Choice | None:
        """The steps of ``path``; None where one of them cannot be, which is then known."""
        choice = self._choice
        for cut in path:
            if cut.stream_rows:
                count = cut.end - cut.begin
                made = stream_rows_of(
                    choice,
                    self._prices.target,
                    cut.begin,
                    count,
                    cut.stream_rows,
                    patches=cut.patches,
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
        rows, patches = cut.stream_rows, cut.patches
        return self._prices.step_of_one(cut.begin, count, rows, patches).cost

    def _floor(self, cut: _Cut) -> float:
        """What a step in patches takes at least: most of what its layers take alone."""
        return _FLOOR_OF_PATCHES * self._prices.apart(cut.begin, cut.end - cut.begin)

    @cached_property
    def _of_rows(self) -> _Cuts:
        """By the layer behind their last one: the steps of whole rows."""
        return self._by_end(self._beginning)

    @cached_property
    def _every(self) -> _Cuts:
        """All steps: of whole rows, and in patches."""
        patches = self._by_end(self._in_patches)
        return [[*rows, *more] for rows, more in zip(self._of_rows, patches, strict=True)]

    def _by_end(self, beginning: Callable[[int], Iterator[_Cut]]) -> _Cuts:
        found: _Cuts = [[] for _ in range(len(self._choice.layers) + 1)]
        for begin in range(len(self._choice.layers)):
            for cut in beginning(begin):
                found[cut.end].append(cut)
        return found

    def _beginning(self, begin: int) -> Iterator[_Cut]:
        layers, around = self._choice.layers, self._around[begin]
        aliases = tuple(alias for _, alias in self._program.offers(begin))
        alone = self._own([layers[begin]], begin + 1, aliases)
        yield _Cut(begin, begin + 1, 0, around + alone)
        for end in self._ends(begin, MOST_LAYERS):
            made = self._streaming(begin, end)
            if not made:
                continue
            divides = tuple(divides_of(made))
            for rows in STREAM_ROWS:
                if rows >= divides[-1].rows and rows > 1:
                    break
                rings = _least_rings(divides, rows)
                held = sum(map(self._ring_bytes, made, rings))
                inside = {
                    layer.node.output: own for layer, own in zip(made[:-1], rings, strict=False)
                }
                ringed = [self._with_rings(i, inside) for i in range(begin, end)]
                own = self._own(ringed, end, aliases_of(ringed, rows, self._choice.graph))
                yield _Cut(begin, end, rows, around + held + own)

    def _in_patches(self, begin: int) -> Iterator[_Cut]:
        """The steps in patches that begin with a layer."""
        for end in self._ends(begin, MOST_LAYERS_IN_PATCHES):
            if self._streaming(begin, end):
                yield from self._by_patches(begin, end)

    def _ends(self, begin: int, most: int) -> Iterator[int]:
        """Where steps of several layers, at most so many, that begin with a layer may end."""
        layers = self._choice.layers
        for end in range(begin + 1, min(begin + most, len(layers)) + 1):
            layer = layers[end - 1]
            if not layer.divides:
                return
            if end > begin + 1:
                yield end
            if layer.accumulates:
                return

    def _by_patches(self, begin: int, end: int) -> Iterator[_Cut]:
        """The steps that compute the layers [begin, end) in patches, the fewest first, as long as
        more of them need fewer bytes, workspaces aside."""
        layers, graph, least = self._choice.layers[begin:end], self._choice.graph, inf
        divides = tuple(divides_of(layers))
        rings = _least_rings(divides, ROW_BY_ROW)
        widths = tuple(graph[layer.node.inputs[0]].shape[-1] for layer in layers)
        result = self._around[begin] + sum(map(self._held, layers[-1].node.outputs))
        for patches, most in columns_by_patches(divides, widths):
            each = zip(layers, rings, most, strict=False)
            needed = result + sum(self._ring_bytes(of, rows, own[1]) for of, rows, own in each)
            if needed < least:
                least = needed
                yield _Cut(begin, end, ROW_BY_ROW, needed, patches)

    def _needs(self, cut: _Cut) -> float:
        """The bytes that ``cut`` needs, workspaces included, which the layers of patches are made
        for; infinitely many where they cannot be."""
        if cut.patches == 1:
            return cut.bytes
        if cut not in self._known:
            layers = self._choice.layers[cut.begin : cut.end]
            most = most_columns(layers, cut.patches, self._choice.graph)
            rings = _least_rings(tuple(divides_of(layers)), ROW_BY_ROW)
            inside = {
                layer.node.output: (rows, own)
                for layer, rows, (_, own) in zip(layers[:-1], rings, most, strict=False)
            }
            made = [
                self._of_patch(i, inside, own)
                for i, own in zip(range(cut.begin, cut.end), most, strict=True)
            ]
            workspace = self._workspace(made)
            able = all(map(same_sums, made, layers))
            self._known[cut] = cut.bytes + workspace if able else inf
        return self._known[cut]

    def _streaming(self, begin: int, end: int) -> list[Layer]:
        """The layers [begin, end) as they are where they stream rows, in rings of all rows; none
        where they cannot."""
        before = self._choice.layers[begin:end]
        if not can_stream(before, self._reads):
            return []
        graph = self._choice.graph
        inside = {layer.node.output: graph[layer.node.output].shape[-2] for layer in before[:-1]}
        made = [self._with_rings(i, inside) for i in range(begin, end)]
        able = all(layer.divides for layer in made)
        return made if able and all(map(same_sums, made, before)) else []

    def _rings_of(self, index: int, inside: Collection[str]) -> tuple[str, ...]:
        """What a layer reads and writes that lies ``inside`` a step."""
        node = self._choice.layers[index].node
        names = dict.fromkeys((node.inputs[0], node.epilogue.residual, node.output))
        return tuple(name for name in names if name in inside)

    def _with_rings(self, index: int, inside: Mapping[str, int]) -> Layer:
        """A layer of whose operands those ``inside`` its step are rings of so many rows, which
        decide what workspace it has."""
        rings = self._rings_of(index, inside)
        key = index, tuple((name, inside[name]) for name in rings)
        if key not in self._some:
            layer, graph = self._choice.layers[index], self._around_of(index)
            held = {name: replace(graph[name], ring=inside[name]) for name in rings}
            made = lowered(layer.node, graph.with_tensors(held), self._prices.target)
            self._some[key] = made if rings else layer
        return self._some[key]

    def _around_of(self, index: int) -> Graph:
        """A graph of nothing but the tensors of a layer: what a kernel call is made from."""
        graph, node = self._choice.graph, self._choice.layers[index].node
        names = dict.fromkeys(name for name in (*node.reads(), *node.outputs) if name)
        tensors = {name: graph[name] for name in names}
        scaling = graph.scaling or scaling_of(graph)
        return replace(graph, nodes=(), tensors=tensors, inputs=(), outputs=(), scaling=scaling)

    def _of_patch(
        self, index: int, inside: Mapping[str, tuple[int, int]], most: tuple[int, int]
    ) -> Layer:
        """As `_with_rings`, of at most so many columns of its input and its result; ``inside``: the
        rows and columns of what lies inside."""
        rings = self._rings_of(index, inside)
        key = index, tuple((name, inside[name]) for name in rings), most
        if key not in self._of_patches:
            layer, graph = self._choice.layers[index], self._around_of(index)
            held = {
                name: replace(graph[name], ring=rows, ring_columns=columns)
                for name in rings
                for rows, columns in (inside[name],)
            }
            target = self._prices.target
            self._of_patches[key] = of_patch(layer, most, graph.with_tensors(held), target)
        return self._of_patches[key]

    def _ring_bytes(self, layer: Layer, rows: int, columns: int = 0) -> int:
        key = layer.node.output, rows, columns
        if key not in self._rings:
            ring = replace(self._choice.graph[key[0]], ring=rows, ring_columns=columns)
            self._rings[key] = self._rounded(tensor_bytes(ring))
        return self._rings[key]

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
        return self._workspace(made) + sum(results.values()) - saved

    def _workspace(self, made: list[Layer]) -> int:
        """The workspace of a step of the layers ``made``."""
        passing, lasting = (
            [self._rounded(layer.workspace_bytes) for layer in made if layer.accumulates is lasts]
            for lasts in (False, True)
        )
        return max(passing, default=0) + sum(lasting)

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
        inner = [each for each in self._blocks if not self._callers & each.keys()]
        return bytes_around(self._program, self._spans, inner)
