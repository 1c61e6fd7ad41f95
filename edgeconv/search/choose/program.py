"""The choice of ways, layouts and encodings of a network as one program (`pbqp.Problem`).

A node of the network is a node of the program: its picks are its ways, with its tensors in the
encodings that they may have.  A tensor that is read once is an edge, from who writes it to who
reads it, that costs the conversion between their layouts.  A tensor that is read more often is a
node as well, whose picks say how it is written and which copies are made of it: each is paid once,
and serves all readers of its layout.
"""

from __future__ import annotations

from collections import defaultdict
from collections.abc import Callable, Iterator, Mapping, Sequence
from dataclasses import dataclass, replace
from itertools import chain, combinations, product
from math import fsum
from typing import TypeVar

import numpy as np
import numpy.typing as npt

from edgeconv.ir.choice import Alias
from edgeconv.ir.encoding import FLOAT32, Encoding
from edgeconv.ir.filters import WEIGHTED
from edgeconv.ir.graph import Graph, Node
from edgeconv.ir.layout import ROW_MAJOR, Layout
from edgeconv.kernels.ops.softmax import SOFTMAX
from edgeconv.search.choose.arena_limit import Needs, Room, View
from edgeconv.search.choose.pbqp import Limit, Problem
from edgeconv.search.choose.prices import Prices, Way

# Tensors of a node of which each may be int8 or not, whatever the others are; of a wider one all
# that it reads are alike.
MOST_FREE = 6

Stored = Mapping[str, Encoding]
_Views = Sequence[View]
_Costs = npt.NDArray[np.float64]
_NOTHING: View = (FLOAT32, ROW_MAJOR)  # of a constant, and of an output that there is none of
_A = TypeVar("_A")
_B = TypeVar("_B")


@dataclass(frozen=True, slots=True)
class Pick:
    """``way`` of a node with its tensors ``stored`` so, those whose encoding is free.
    ``views``: of ``node.reads()`` and of its outputs.  ``need``: bytes of the arena while it is
    computed, where these are limited."""

    way: Way
    stored: Stored
    views: tuple[View, ...]
    need: int = 0


@dataclass(frozen=True, slots=True)
class _Copies:
    """A tensor written as ``have``, and copied to layouts ``to``."""

    have: View
    to: frozenset[Layout]

    def serves(self, view: View) -> bool:
        """Whether there is a copy to read as ``view``."""
        encoding, layout = view
        return encoding == self.have[0] and (layout == self.have[1] or layout in self.to)


class Program:
    """The choice as a problem.  ``problem``: in it nodes are numbered as in the graph, tensors that
    are read more than once come after them.  ``picks``: of the graph's nodes.

    ``free``: tensors that may be float32 or encoded so.  ``flash``: bytes that the constants of all
    nodes may take together.  ``room``: what there is of the arena at every node and conversion, in
    any order of execution (`room.Needs`).  ``ports``: inputs and outputs of any layout that pads
    nothing.  Raises EdgeconvError as `Prices.ways`.
    """

    def __init__(
        self,
        graph: Graph,
        prices: Prices,
        free: Stored,
        flash: float = np.inf,
        room: Room | None = None,
        ports: frozenset[str] = frozenset(),
    ) -> None:
        self.graph, self._prices, self._free = graph, prices, free
        self._ports = ports
        self.problem, self._flash = Problem(), flash
        self._needs = Needs(graph, room, free, self._aliases()) if room else None
        self._copied: dict[str, tuple[int, list[_Copies]]] = {}
        self.picks = [self._picks_of(number) for number in range(len(graph.nodes))]
        if not all(self.picks):
            self.problem.node([np.inf])  # some node finds no room
            return
        for picks in self.picks:
            self.problem.node([pick.way.cost for pick in picks])
        if flash < np.inf:
            every = ([pick.way.flash for pick in picks] for picks in self.picks)
            self._limit(dict(enumerate(every)), flash)
        self._writers: dict[str, tuple[int, int]] = {}
        self._readers: defaultdict[str, list[tuple[int, int]]] = defaultdict(list)
        for number, node in enumerate(graph.nodes):
            reads = node.reads()
            for place, name in enumerate(reads):
                self._readers[name].append((number, place))
            for place, name in enumerate(node.outputs, len(reads)):
                self._writers[name] = number, place
        for name in dict.fromkeys((*self._readers, *graph.outputs)):
            if not graph[name].is_constant:
                self._connect(name)
        if self._needs:
            for number in range(len(graph.nodes)):
                self._limit_arena(number, self._needs)

    def _limit(self, taken: Mapping[int, Sequence[int]], most: float) -> None:
        if all(taken.values()):
            every = {node: np.array(own, np.float64) for node, own in taken.items()}
            self.problem.limits.append(Limit(every, most))

    def _limit_arena(self, number: int, needs: Needs) -> None:
        """Have a node and what lives beside it find room together."""
        taken, most = {number: [pick.need for pick in self.picks[number]]}, needs.room.bytes
        for name in needs.passing(number):
            if name not in self._copied:
                most -= needs.least(name)
                continue
            node, copies = self._copied[name]
            ways = ([(c.have[0], layout) for layout in (c.have[1], *c.to)] for c in copies)
            taken[node] = [min(needs.bytes(name, view) for view in views) for views in ways]
        self._limit(taken, most)

    def _aliases(self) -> list[list[Alias]]:
        """By node those that its kernels offer."""
        prices, graph = self._prices, self.graph
        return [
            [
                alias
                for way in prices.ways(node, graph)
                for alias in prices.layer(node, graph, way.option).aliases
            ]
            for node in graph.nodes
        ]

    def _ways(self, number: int, graph: Graph) -> Iterator[tuple[Way, int]]:
        """The ways of a node of ours with its tensors as in ``graph``, and what they need of the
        arena; where they have no room, with as much less workspace."""
        node, needs = self.graph.nodes[number], self._needs
        every = self._prices.ways(node, graph)
        if needs is None:
            yield from ((way, 0) for way in every)
            return
        most = needs.room.bytes - sum(needs.least(name) for name in needs.passing(number))
        limits: set[int] = set()
        for way in every:
            need, workspace = self._need(number, node, graph, way)
            if need <= most:
                yield way, need
            if workspace and node.op in (*WEIGHTED, SOFTMAX):
                limits |= {0, most - need + workspace}
        for limit in sorted(limit for limit in limits if limit >= 0):
            given = node.request.workspace.at_most(limit)
            limited = replace(node, request=replace(node.request, workspace=given))
            for way in self._prices.ways(limited, graph):
                need, _ = self._need(number, limited, graph, way)
                if need <= most:
                    asked = way.option.request or limited.request
                    yield replace(way, option=replace(way.option, request=asked)), need

    def _need(self, number: int, node: Node, graph: Graph, way: Way) -> tuple[int, int]:
        """Bytes of the arena, and those of it that are workspace."""
        needs = self._needs
        assert needs
        layer = self._prices.layer(node, graph, way.option)
        names = (*node.reads(), *node.outputs)
        layouts = zip(names, (*way.reads, *way.writes), strict=True)
        views = {name: (graph[name].storage, layout) for name, layout in layouts if name}
        return needs.own(number, layer, views), needs.room.taken(layer.workspace_bytes)

    def _picks_of(self, number: int) -> list[Pick]:
        """The cheapest of the picks that look alike to the neighbours, and take as much of what is
        limited."""
        node = self.graph.nodes[number]
        names = (*node.reads(), *node.outputs)
        tensors = {name: self.graph[name] for name in names if name}
        moving = {name for name, tensor in tensors.items() if not tensor.is_constant}
        limited = self._flash < np.inf
        found: dict[tuple[tuple[View, ...], int, int], Pick] = {}
        for stored in self._encodings(node):
            encoded = {n: replace(tensors[n], storage=as_) for n, as_ in stored.items()}
            graph = replace(self.graph, nodes=(node,), tensors={**tensors, **encoded})
            for way, need in self._ways(number, graph):
                asked = way.option.request
                if asked and asked.packed and not (limited or node.request.described):
                    continue  # it is for flash alone
                views = tuple(
                    (graph[name].storage, layout) if name in moving else _NOTHING
                    for name, layout in zip(names, (*way.reads, *way.writes), strict=True)
                )
                like = views, way.flash if limited else 0, need
                if like not in found or way.cost < found[like].way.cost:
                    found[like] = Pick(way, stored, views, need)
        return list(found.values())

    def _encodings(self, node: Node) -> Iterator[Stored]:
        """The encodings that the tensors of ``node`` may have together."""
        reads, own = node.reads(), dict.fromkeys((*node.reads(), *node.outputs))
        names = [name for name in own if name in self._free]
        groups = [[name] for name in names]
        if len(names) > MOST_FREE:
            groups = [[n for n in names if n in reads], *([n] for n in names if n not in reads)]
        for integers in product((False, True), repeat=len(groups)):
            yield {
                name: self._free[name] if each else FLOAT32
                for group, each in zip(groups, integers, strict=True)
                for name in group
            }

    def _views(self, node: int, place: int) -> tuple[list[View], npt.NDArray[np.intp]]:
        """The different ones at that place, and of every pick of ``node`` the number of its own."""
        numbers: dict[View, int] = {}
        every = [numbers.setdefault(p.views[place], len(numbers)) for p in self.picks[node]]
        return list(numbers), np.array(every, np.intp)

    def _connect(self, name: str) -> None:
        """Have readers of a tensor pay for what its writer leaves to convert."""
        reads, written = self._readers[name], self._writers.get(name)
        given: list[View] = [(self.graph[name].storage, ROW_MAJOR)]  # as the caller has it
        if name in self._ports and not written:
            read = chain.from_iterable(self._views(*place)[0] for place in reads)
            given += [
                view
                for view in dict.fromkeys(read)
                if view not in given and self._is_free(name, view)
            ]
        asked = name in self.graph.outputs
        if len(reads) + asked > 1:
            self._with_copies(name, given, asked=asked)
            return
        source, of_writer = self._views(*written) if written else (given, None)
        target, of_reader = self._views(*reads[0]) if reads else (given, None)
        beside = 0
        if self._needs and written and reads:
            passing = self._needs.passing(written[0], reads[0][0])
            beside = sum(self._needs.least(other) for other in passing)
        costs = _table(
            source,
            target,
            lambda have, want: (
                0.0
                if asked and self._is_free(name, have)
                else self._conversion(name, have, want, beside)
            ),
        )
        self._charge(costs, written, of_writer, reads[0] if reads else None, of_reader)

    def _is_free(self, name: str, view: View) -> bool:
        """Whether the caller may have it so."""
        return name in self._ports and view[1].fits(self.graph[name].shape)

    def _charge(
        self,
        costs: _Costs,
        written: tuple[int, int] | None,
        of_writer: npt.NDArray[np.intp] | None,
        read: tuple[int, int] | None,
        of_reader: npt.NDArray[np.intp] | None,
    ) -> None:
        if written and read:
            assert of_writer is not None
            self.problem.edge(written[0], read[0], costs[of_writer][:, of_reader])
        elif written:
            self.problem.charge(written[0], costs[of_writer, 0])
        elif read:
            self.problem.charge(read[0], costs.min(0)[of_reader])

    def _with_copies(self, name: str, given: _Views, *, asked: bool) -> None:
        reads, written = self._readers[name], self._writers.get(name)
        source, of_writer = self._views(*written) if written else (given, None)
        wanted = [self._views(*place) for place in reads]
        views = dict.fromkeys(chain(given if asked else (), *(own for own, _ in wanted)))
        copies = [each for have in source for each in self._copies(name, have, list(views))]
        copies = [
            each
            for each in copies
            if not asked or each.serves((each.have[0], ROW_MAJOR)) or self._is_free(name, each.have)
        ]
        costs = [
            fsum(self._conversion(name, each.have, (each.have[0], to)) for to in each.to)
            for each in copies
        ]
        tensor = self.problem.node(costs)
        self._copied[name] = tensor, copies
        if written:
            table = _table(source, copies, lambda have, each: _only(have == each.have))
            self.problem.edge(written[0], tensor, table[of_writer])
        for (reader, _), (own, of_reader) in zip(reads, wanted, strict=True):
            table = _table(copies, own, lambda each, view: _only(each.serves(view)))
            self.problem.edge(tensor, reader, table[:, of_reader])

    def _copies(self, name: str, have: View, views: _Views) -> Iterator[_Copies]:
        """The sets of copies that may be made; those that cost nothing are there in any case."""
        others = [view[1] for view in views if view != have and view[0] == have[0]]
        free = [to for to in others if not self._conversion(name, have, (have[0], to))]
        paid = [to for to in others if to not in free]
        for count in range(len(paid) + 1):
            for some in combinations(paid, count):
                yield _Copies(have, frozenset((*free, *some)))

    def _conversion(self, name: str, have: View, want: View, beside: int = 0) -> float:
        """Infinite where there is no room for it, ``beside`` bytes of the arena being in use."""
        if have[0] != want[0]:
            return np.inf
        tensor, needs = replace(self.graph[name], storage=have[0]), self._needs
        cost = self._prices.conversion(tensor, have[1], want[1])
        if cost and needs:
            both = needs.bytes(name, have) + needs.bytes(name, want)
            return cost if both + beside <= needs.room.bytes else np.inf
        return cost


def _table(rows: Sequence[_A], columns: Sequence[_B], cost: Callable[[_A, _B], float]) -> _Costs:
    return np.array([[cost(row, column) for column in columns] for row in rows], np.float64)


def _only(allowed: bool) -> float:
    return 0.0 if allowed else np.inf
