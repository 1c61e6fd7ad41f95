"""Execution order: the topological order that needs the least memory at its peak.

Exact search over downsets (sets of layers closed under "needs the result of"), as in Ahn et al.,
"Ordering Chaos: Memory-Aware Scheduling of Irregularly Wired Neural Networks for Edge Devices",
MLSys 2020: the live bytes after a set of layers do not depend on the order within the set, so the
best order is a path through downsets whose largest step is smallest (a bottleneck shortest path).
A layer that every other one precedes or follows cuts the network in subgraphs, each searched on its
own; only those that hold the peak are searched at all.
"""

from __future__ import annotations

import heapq
from collections.abc import Mapping, Sequence
from typing import NamedTuple

from edgeconv.search.memory.liveness import LivenessModel
from edgeconv.search.memory.program import Program

MOVES = 50_000  # steps that the exact search may evaluate, and then the beam search again


class _Path(NamedTuple):
    """Some layers in order and the largest step among them, in bytes."""

    peak: int
    layers: tuple[int, ...]


def reorder(program: Program, blocks: Sequence[Mapping[str, int]]) -> tuple[int, ...]:
    """The order of least peak by LivenessModel; the model's own order where none is better.

    ``blocks``: the exact sharing under the model's order.  The result is optimal in LivenessModel
    unless that takes more than MOVES evaluations; a beam search then looks for an improvement.
    Deterministic.
    """
    model = LivenessModel(program, blocks)
    order = list(range(len(program.reads)))
    subgraphs = _subgraphs(model)
    peaks = _peaks(model, subgraphs)
    floor = max(
        (
            peak if len(subgraph) == 1 else max(map(model.least, subgraph))
            for subgraph, peak in zip(subgraphs, peaks, strict=True)
        ),
        default=0,
    )
    exact = beam = MOVES
    for peak, subgraph in sorted(
        zip(peaks, subgraphs, strict=True), key=lambda s: (-s[0], s[1].start)
    ):
        if peak <= floor:
            break  # so are all that follow: the peak lies elsewhere
        search = _Search(model, subgraph, floor, peak)
        path = search.best_first(exact)
        exact -= search.moves
        if path is None and exact <= 0:
            search = _Search(model, subgraph, floor, peak)
            path = search.beam(beam)
            beam -= search.moves
        if path is None:
            break  # this subgraph keeps its peak, whatever the others do
        order[subgraph.start : subgraph.stop] = path.layers
        floor = max(floor, path.peak)
    return tuple(order)


def _subgraphs(model: LivenessModel) -> list[range]:
    """The model's order cut at the layers that all others precede or follow, those included."""
    count, start = len(model.needs), 0
    before, after = model.ancestors(), model.descendants()
    found: list[range] = []
    for layer in range(count):
        if before[layer].bit_count() + after[layer].bit_count() + 1 == count:
            found += [range(start, layer), range(layer, layer + 1)]
            start = layer + 1
    return [subgraph for subgraph in [*found, range(start, count)] if subgraph]


def _peaks(model: LivenessModel, subgraphs: Sequence[range]) -> list[int]:
    """The largest step of each subgraph in the model's order."""
    done, live, peaks = 0, model.live(0), []
    for subgraph in subgraphs:
        peak = 0
        for layer in subgraph:
            needed, live = model.need(layer, done, live)
            peak, done = max(peak, needed), done | 1 << layer
        peaks.append(peak)
    return peaks


class _State(NamedTuple):
    """A downset, reached by ``layer`` from ``parent``, and the largest step on the way."""

    done: int
    ready: int  # mask of the layers that may run next
    live: int
    peak: int
    depth: int
    layer: int
    parent: _State | None

    def path(self) -> _Path:
        layers: list[int] = []
        state: _State | None = self
        while state is not None and state.parent is not None:
            layers.append(state.layer)
            state = state.parent
        return _Path(self.peak, tuple(reversed(layers)))


class _Search:
    """Paths through one subgraph whose peak is below ``limit``.

    Peaks up to ``floor`` cost nothing, since some step elsewhere needs as much.
    """

    def __init__(self, model: LivenessModel, subgraph: range, floor: int, limit: int) -> None:
        self._model, self._limit = model, limit
        done = (1 << subgraph.start) - 1
        ready = sum(1 << layer for layer in subgraph if not model.needs[layer] & ~done)
        self._start = _State(done, ready, model.live(done), floor, 0, -1, None)
        self._goal = (1 << subgraph.stop) - 1
        self._subgraph = subgraph
        self.moves = 0  # evaluated so far

    def best_first(self, budget: int) -> _Path | None:
        """The path of least peak; None if there is none or after ``budget`` moves."""
        queue = [(self._start.peak, 0, 0, self._start)]
        best = {self._start.done: self._start.peak}
        pushed = 0
        while queue and self.moves < budget:
            peak, _, _, state = heapq.heappop(queue)
            if state.done == self._goal:
                return state.path()
            if peak > best[state.done]:
                continue  # reached since by a better path
            for then in self._moves(state):
                if then.peak < best.get(then.done, self._limit):
                    best[then.done] = then.peak
                    pushed += 1
                    heapq.heappush(queue, (then.peak, -then.depth, pushed, then))
        return None

    def beam(self, budget: int) -> _Path | None:
        """A path found by keeping the best downsets of each size; None if all fail.

        As many are kept as share ``budget`` moves evenly over the sizes, at least one.
        """
        states = [self._start]
        for sizes_left in range(len(self._subgraph), 0, -1):
            found: dict[int, _State] = {}
            allowance = self.moves + (budget - self.moves) // sizes_left
            for state in states:
                for then in self._moves(state):
                    rival = found.get(then.done)
                    if then.peak < (rival.peak if rival else self._limit):
                        found[then.done] = then
                if self.moves >= allowance:
                    break
            states = sorted(found.values(), key=lambda s: s.peak + s.live)
        return states[0].path() if states else None

    def _moves(self, state: _State) -> list[_State]:
        """The states one layer further; a single one when it cannot hurt.

        A layer that fits under the peak so far and frees at least what it adds is best run at
        once: in any completion, moving it to the front raises no step.
        """
        found: list[_State] = []
        ready = state.ready
        while ready:
            lowest = ready & -ready
            ready ^= lowest
            then = self._run(state, lowest.bit_length() - 1)
            if then.peak == state.peak and then.live <= state.live:
                return [then]
            found.append(then)
        return found

    def _run(self, state: _State, layer: int) -> _State:
        self.moves += 1
        need = self._model.need(layer, state.done, state.live)
        done = state.done | 1 << layer
        ready = state.ready & ~(1 << layer)
        for user in self._model.users[layer]:
            if user < self._subgraph.stop and not self._model.needs[user] & ~done:
                ready |= 1 << user
        peak = max(state.peak, need.peak)
        return _State(done, ready, need.live, peak, state.depth + 1, layer, state)
