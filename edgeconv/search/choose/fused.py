"""Which neighbours stream rows because that is predicted to be faster: depth-first fusion.

A chain of layers is cut into steps by dynamic programming over the prices of all steps that it may
be cut into (`streaming_prices`), each with the rows per round that take it the least time.  It
comes after layouts and algorithms are chosen, which it does not change: the sums of a layer that
streams rows are those of the layer alone, bit for bit.
"""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass
from itertools import chain

from edgeconv.ir.choice import Choice
from edgeconv.ir.step import Axis, Share
from edgeconv.kernels.lowering.splits import splits_of
from edgeconv.search.choose.row_streaming import apart, joins, stream_rows_of
from edgeconv.search.choose.streaming_prices import SomeRows, around, priced, slowest
from edgeconv.target.price import Machine
from edgeconv.target.price.price import price
from edgeconv.target.price.sharing import by_rows, shared
from edgeconv.target.targets import Target

# Layers of a step at most: more are no faster, and take longer to look at.
MOST_LAYERS = 6
# Rows of the last result per round that are tried.
STREAM_ROWS = (1, 2, 4, 8, 16)
# What a prediction can tell apart, in parts of the time: a step must gain more.
CERTAIN = 0.01
IMAGE = 4  # dimensions of what has rows


@dataclass(frozen=True, slots=True)
class Fusion:
    """``count`` layers from ``first`` on in rounds of ``stream_rows`` rows, and what they take
    (`Price.cost`) so and one after the other (``apart``).  ``shares``: of the workers."""

    first: int
    count: int
    stream_rows: int
    cost: float
    apart: float
    shares: tuple[Share, ...] = ()


def fused(choice: Choice, prices: StepPrices) -> Choice:
    """``choice`` with those layers as steps that are predicted to gain by it."""
    for first, count in _chains(choice):
        for step in prices.cut(first, count):
            made = stream_rows_of(
                choice, prices.target, step.first, step.count, step.stream_rows, step.shares
            )
            choice = made or choice
    return choice


def _chains(choice: Choice) -> Iterator[tuple[int, int]]:
    """Layers of which each can be joined to the next: the first one and how many."""
    first, count = 0, 0
    for maker, _, name in joins(choice):
        if len(choice.graph[name].shape) != IMAGE:
            continue
        if count and maker == first + count - 1:
            count += 1
            continue
        if count:
            yield first, count
        first, count = maker, 2
    if count:
        yield first, count


class StepPrices:
    """Prices of the steps that layers of ``choice``, each a step of its own, may become."""

    def __init__(self, choice: Choice, target: Target, machine: Machine) -> None:
        self.target = target
        self._choice, self._machine = choice, machine
        self._some_rows = SomeRows(choice.graph, target)
        blobs = chain.from_iterable(layer.blobs for layer in choice.layers)
        self._constants = sum(blob.bytes for blob in blobs)
        self._shares = {
            step.layers[0]: step.shares for step in choice.steps if not step.stream_rows
        }
        self._known: dict[tuple[int, int], list[Fusion]] = {}
        self._of_one: dict[tuple[int, int, int, int], Fusion] = {}
        self._costs: dict[int, float] = {}

    def cut(self, first: int, count: int) -> list[Fusion]:
        """The chain of ``count`` layers from ``first`` on, cut so that it takes least: the steps of
        several layers."""
        alone = [self.apart(first + i, 1) for i in range(count)]
        # Of the first i layers: what they take, and the last step of several, if it ends there.
        best: list[tuple[float, Fusion | None]] = [(0.0, None)]
        for end in range(1, count + 1):
            found: tuple[float, Fusion | None] = best[end - 1][0] + alone[end - 1], None
            for begin in range(max(0, end - MOST_LAYERS), end - 1):
                step = self.fastest(first + begin, end - begin)
                if step and best[begin][0] + step.cost < found[0]:
                    found = best[begin][0] + step.cost, step
            best.append(found)
        steps, end = [], count
        while end:
            last = best[end][1]
            steps += [last] if last else []
            end -= last.count if last else 1
        return steps[::-1]

    def apart(self, first: int, count: int) -> float:
        """What these layers take one after the other."""
        return sum(self._alone(index) for index in range(first, first + count))

    def fastest(self, first: int, count: int) -> Fusion | None:
        """The fastest of the steps of these layers; None where none surely gains."""
        least = min(self.steps(first, count), key=lambda step: step.cost, default=None)
        return least if least and least.cost < (1 - CERTAIN) * least.apart else None

    def fewest_rows(self, first: int, count: int) -> Fusion | None:
        """The step of these layers with the fewest rows per round that surely loses nothing; None
        where all lose."""
        steps = self.steps(first, count)
        return next((step for step in steps if step.cost <= (1 + CERTAIN) * step.apart), None)

    def steps(self, first: int, count: int) -> list[Fusion]:
        """The steps that these layers may be, the fewest rows per round first."""
        if (first, count) not in self._known:
            self._known[first, count] = list(self._steps(first, count))
        return self._known[first, count]

    def _steps(self, first: int, count: int) -> Iterator[Fusion]:
        last = self._choice.layers[first + count - 1].divides
        assert last
        for stream_rows in (stream_rows for stream_rows in STREAM_ROWS if stream_rows < last.rows):
            yield self.step(first, count, stream_rows)

    def step_of_one(self, first: int, count: int, stream_rows: int, patches: int = 1) -> Fusion:
        """The price of these layers in rounds of so many rows, all of one worker, in so many
        ``patches``."""
        key = first, count, stream_rows, patches
        if key not in self._of_one:
            choice, numbers = self._choice, range(first, first + count)
            whole = around(choice, numbers, self._constants)
            each = priced(
                choice,
                numbers,
                stream_rows,
                whole,
                self._some_rows,
                self._machine,
                patches=patches,
            )
            cost, alone = sum(price.cost for price in each), self.apart(first, count)
            self._of_one[key] = Fusion(first, count, stream_rows, cost, alone)
        return self._of_one[key]

    def step(self, first: int, count: int, stream_rows: int) -> Fusion:
        """The price of these layers in rounds of so many rows, shared by as many workers as take it
        least."""
        choice, numbers = self._choice, range(first, first + count)
        found = [self.step_of_one(first, count, stream_rows)]
        alone = found[0].apart
        team, last = self._machine.team, choice.layers[numbers[-1]].divides
        if team and last and apart([choice.layers[i] for i in numbers]):
            whole = around(choice, numbers, self._constants)
            for shares in by_rows(Axis(last.rows, stream_rows), team):
                cost, _ = slowest(
                    choice, numbers, stream_rows, whole, self._some_rows, self._machine, shares
                )
                found.append(Fusion(first, count, stream_rows, cost, alone, shares))
        return min(found, key=lambda step: step.cost)

    def _alone(self, index: int) -> float:
        if index not in self._costs:
            self._costs[index] = self._priced_alone(index)
        return self._costs[index]

    def _priced_alone(self, index: int) -> float:
        layer, machine = self._choice.layers[index], self._machine
        (operands,) = around(self._choice, [index], self._constants)
        shares, team = self._shares.get(index, ()), machine.team
        if shares and team:
            splits = splits_of(layer, self._choice.isa)
            return shared(layer, splits, shares, operands, machine, team).seconds
        return price(layer, operands, machine).cost
