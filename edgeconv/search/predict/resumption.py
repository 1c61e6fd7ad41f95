"""The units of work of a run that may be interrupted: predicted cycles of every piece."""

from __future__ import annotations

import math
from collections.abc import Iterator, Mapping
from dataclasses import replace

from edgeconv.ir.choice import Choice, Layer, divides_of
from edgeconv.ir.memory import MemoryMap
from edgeconv.ir.resumable import Division, PieceCost, Resumption
from edgeconv.ir.step import WHOLE, Axis, Share, Splits, Step, calls, patches_of
from edgeconv.kernels.lowering.splits import pieces_of, splits_of
from edgeconv.search.choose.streaming_prices import SomeRows
from edgeconv.search.predict.model import Prediction
from edgeconv.target.board import Board
from edgeconv.target.board.speed import cycle_seconds
from edgeconv.target.price.machine import machine_of
from edgeconv.target.price.operands import between_neighbours
from edgeconv.target.price.price import price
from edgeconv.target.price.sharing import share_duration

TOGETHER = (1, 2, 3, 4, 6, 8)  # rows that kernels may take together
_SMALL = 8  # parts of the least budget, of which it is not worth to fill one
NEARLY = 1.02  # times the least that a row takes among those: not worth more rows


def resumption(
    choice: Choice, memory: MemoryMap, board: Board, predicted: Prediction
) -> Resumption:
    """What pieces of the layers of ``choice`` take, whose whole layers are ``predicted``."""
    cycle = cycle_seconds(board.target)
    prices = zip(memory.order, predicted.layers, strict=True)
    pricing = _Pricing(choice, board, {index: each.price / cycle for index, each in prices})
    costs: dict[int, PieceCost] = {}
    total = 0
    for step in choice.steps:
        runs = list(_calls(choice, step))
        for number, index in enumerate(step.layers):
            counts = [count for of, count in runs if of == number]
            costs[index] = cost = pricing.of(step, number, counts)
            total += sum(map(cost.of, counts or [max(1, cost.pieces.axis.pieces)]))
    least = max((cost.least for cost in costs.values()), default=0)
    for step in choice.steps:
        if not step.stream_rows:
            (index,) = step.layers
            costs[index] = _undivided(costs[index], least)
    # Of the pieces as they are now: of a layer that is not cut a row may take more than the whole.
    longest = max(costs, key=lambda i: costs[i].least, default=None)
    found = Resumption(costs, total, longest)
    return replace(found, together=tuple(_together(choice, memory, found)))


def _undivided(cost: PieceCost, least: int) -> PieceCost:
    """``cost`` of a layer as one piece where it is not worth cutting: no budget, of which ``least``
    is the smallest, is too small for all of it, and it takes a small part of any, or less than
    another call."""
    count = cost.pieces.axis.pieces
    whole = cost.of(max(1, count))
    if whole <= least and (whole <= least // _SMALL or count * cost.each <= cost.call):
        return PieceCost(Division(), 0, whole)
    return cost


def _together(choice: Choice, memory: MemoryMap, found: Resumption) -> Iterator[tuple[int, ...]]:
    """Neighbours of one piece each that take no more than the least budget: to go on with one of
    them only costs time."""
    streamed = {index for step in choice.steps if step.stream_rows for index in step.layers}
    group, left = list[int](), found.least
    for index in memory.order:
        cost = found.costs[index]
        alone = index in streamed or bool(cost.pieces.kind)
        if alone or cost.least > left:
            if len(group) > 1:
                yield tuple(group)
            group, left = [], found.least
        if not alone:
            group.append(index)
            left -= cost.least
    if len(group) > 1:
        yield tuple(group)


def _calls(choice: Choice, step: Step) -> Iterator[tuple[int, int]]:
    """The calls of a step that streams rows, where nothing interrupts it: the layer's number in it,
    and how many rows; none of a layer alone."""
    if not step.stream_rows:
        return
    layers = [choice.layers[i] for i in step.layers]
    rings = [choice.graph[layer.node.output].ring for layer in layers[:-1]]
    divides = divides_of(layers)
    for _ in range(step.patches):
        for number, row0, row1 in calls(divides, rings, step.stream_rows):
            yield number, row1 - row0


class _Pricing:
    """Prices of pieces in cycles.  ``cycles``: of whole layers, by index."""

    def __init__(self, choice: Choice, board: Board, cycles: Mapping[int, float]) -> None:
        self._choice, self._cycles = choice, cycles
        self._machine, self._cycle = machine_of(board.target), cycle_seconds(board.target)
        self._some_rows = SomeRows(choice.graph, board.target)

    def of(self, step: Step, number: int, counts: list[int]) -> PieceCost:
        """What pieces of layer ``number`` of ``step`` take.  ``counts``: rows by call
        where it streams rows."""
        index = step.layers[number]
        layer, cycles = self._choice.layers[index], self._cycles[index]
        if not cycles:  # nothing is called
            return PieceCost(Division(), 0, 0)
        pieces = pieces_of(layer, self._choice.isa)
        if step.stream_rows:
            assert layer.divides
            pieces = Division(Axis(layer.divides.rows), rows=True)
        if layer.divides and pieces.rows and pieces.axis.count == layer.divides.rows:
            found = self._by_rows(step, number, pieces)
        elif pieces.kind:
            found = self._by_shares(layer, pieces)
        else:
            return PieceCost(Division(), 0, math.ceil(cycles))
        whole = sum(map(found.of, counts or [pieces.axis.pieces]))
        more = max(1.0, cycles / whole)  # what its places in memory make of it
        call, each, odd = (math.ceil(more * of) for of in (found.call, found.each, found.odd))
        return replace(found, call=call, each=each, odd=odd)

    def _by_rows(self, step: Step, number: int, pieces: Division) -> PieceCost:
        """What rows of a layer take that can compute some alone, from calls for a few."""
        layers = [self._choice.layers[index] for index in step.layers]
        layer, of_step = layers[number], divides_of(layers)
        divides, streams = of_step[number], bool(step.stream_rows)
        rings = {
            "from_ring": 0 < divides.source <= number,
            "to_ring": streams and number < len(layers) - 1,
        }
        columns = 0
        if step.patches > 1:
            columns = max(patch[number].width for patch in patches_of(of_step, step.patches))

        def cycles(count: int) -> float:
            rows = count * pieces.axis.multiple
            call, operands = self._some_rows.of(layer, rows, **rings, columns=columns)
            return price(call, operands, self._machine).seconds / self._cycle

        most_pieces = max(1, divides.rows // pieces.axis.multiple)
        few = {count: cycles(count) for count in TOGETHER if count <= most_pieces}
        least = min(few[count] / count for count in few)
        multiple = next(count for count in few if few[count] / count <= NEARLY * least)
        most = max(few) // multiple * multiple
        each = few[most] / most
        if most > multiple:
            each = (few[most] - few[multiple]) / (most - multiple)
        call = max(0.0, few[multiple] - multiple * each)
        odd = max((few[n] - call - n * each for n in few if n < multiple), default=0.0)
        costs = PieceCost(pieces, math.ceil(call), math.ceil(max(1.0, each)))
        return replace(costs, multiple=multiple, odd=math.ceil(odd)) if odd > 0 else costs

    def _by_shares(self, layer: Layer, pieces: Division) -> PieceCost:
        """What pieces of a layer take that workers could share.  What n pieces take is convex in n,
        so that it is at most what lies on the line from one to all of them."""
        one, count = pieces.axis.between(0, 1), pieces.axis.pieces
        splits = splits_of(layer, self._choice.isa)
        if pieces.rows:
            splits, share = Splits(pieces.axis, WHOLE, splits.reads_all), Share(*one, 0, 1)
        else:
            splits, share = replace(splits, rows=WHOLE), Share(0, 1, *one)
        constants = sum(blob.bytes for blob in layer.blobs)
        operands = between_neighbours(layer, self._choice.graph.tensors, constants)
        whole = price(layer, operands, self._machine)
        seconds = share_duration(layer, whole, splits, share, operands, self._machine).seconds
        first, total = seconds / self._cycle, whole.seconds / self._cycle
        each = max(1.0, (total - first) / (count - 1))
        return PieceCost(pieces, math.ceil(max(0.0, first - each)), math.ceil(each))
