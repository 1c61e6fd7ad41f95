"""How workers share a layer, and what it takes them: decided when compiling, by predicted time.

Workers stand in a rectangle: those side by side have the same rows of the output and share its
items, filters mostly; those one above the other share the rows; all take parts as large as their
cores are fast.  Of all rectangles, of any number of workers, that is taken whose slowest worker is
done first.  This is the blocking of processors of Chen et al., "Communication Bounds for
Convolutional Neural Networks" (PASC 2022), Section 4.2, as far as sums stay whole.
"""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from dataclasses import dataclass, replace
from itertools import accumulate, pairwise

from edgeconv.ir.choice import ArgKind, Layer
from edgeconv.ir.step import Axis, Share, Splits
from edgeconv.target.board.team import Team
from edgeconv.target.price.duration import Duration, duration_of
from edgeconv.target.price.machine import MEMORY, Level, Machine
from edgeconv.target.price.operands import Use
from edgeconv.target.price.price import Price, price


@dataclass(frozen=True, slots=True)
class Sharing:
    """How workers share a layer.  ``shares``: of every worker; none where one computes all.
    ``duration``: of the slowest, with what it takes to hand out the layer in ``seconds``.
    ``busy``: seconds of all workers."""

    shares: tuple[Share, ...]
    duration: Duration
    seconds: float
    busy: float


def alone(cost: Price) -> Sharing:
    """One worker computes all."""
    return Sharing((), cost.duration, cost.seconds, cost.seconds)


def best(
    layer: Layer, splits: Splits, operands: Sequence[Use], machine: Machine, team: Team
) -> Sharing:
    """The sharing of ``layer`` that takes ``machine`` the least time, the fewest workers first."""
    found = alone(price(layer, operands, machine))
    for shares in _arrangements(splits, team):
        other = shared(layer, splits, shares, operands, machine, team)
        if other.seconds < found.seconds:
            found = other
    return found


def shared(
    layer: Layer,
    splits: Splits,
    shares: Sequence[Share],
    operands: Sequence[Use],
    machine: Machine,
    team: Team,
) -> Sharing:
    """What ``layer`` takes with these ``shares``."""
    whole = price(layer, operands, machine)
    if not shares:
        return alone(whole)
    crowded = _crowded(machine, max(1.0, len(shares) / team.together))
    each = [
        share_duration(layer, whole, splits, share, operands, crowded, speed)
        for share, speed in zip(shares, team.speeds, strict=False)
    ]
    slowest = max(each, key=lambda duration: duration.seconds)
    return Sharing(
        shares=tuple(shares),
        duration=slowest,
        seconds=slowest.seconds + team.fork_join,
        busy=sum(duration.seconds for duration in each),
    )


def share_duration(
    layer: Layer,
    whole: Price,
    splits: Splits,
    share: Share,
    operands: Sequence[Use],
    machine: Machine,
    speed: float = 1.0,
) -> Duration:
    """What a ``share`` of ``layer`` takes a core of such ``speed``; ``whole``: the price of all."""
    rows, items = _of_all(share, splits)
    work = layer.work.times(rows * items / speed)
    data = _data(splits, rows, items, operands)
    flows = [flow.times(items, data) for flow in whole.flows]
    return duration_of(work, flows, operands, machine)


def most_needed(splits: Splits, shares: Sequence[Share], operands: Sequence[Use]) -> float:
    """Bytes of tensors and constants that the worker needs who needs most of them."""
    tensors = [use for use in operands if use.kind is not ArgKind.WORKSPACE]
    parts = [_of_all(share, splits) for share in shares] or [(1.0, 1.0)]
    return max(
        sum(use.bytes * _needed(use, splits, rows, items) for use in tensors)
        for rows, items in parts
    )


def _of_all(share: Share, splits: Splits) -> tuple[float, float]:
    """The fractions of rows and items."""
    rows = (share.row1 - share.row0) / splits.rows.count
    return rows, (share.item1 - share.item0) / splits.items.count


def _needed(use: Use, splits: Splits, rows: float, items: float) -> float:
    """The fraction of an operand that whoever computes such fractions of rows and items needs."""
    if use.kind is ArgKind.WEIGHTS:
        return items
    return rows if use.kind is ArgKind.INPUT and splits.reads_all else rows * items


def _data(splits: Splits, rows: float, items: float, operands: Sequence[Use]) -> float:
    """The fraction of what passes of inputs and outputs."""
    tensors = [use for use in operands if use.kind in (ArgKind.INPUT, ArgKind.OUTPUT)]
    needed = sum(use.bytes * _needed(use, splits, rows, items) for use in tensors)
    return needed / max(sum(use.bytes for use in tensors), 1)


def _crowded(machine: Machine, times: float) -> Machine:
    """The machine for a core that has a fraction of memory's bandwidth, caches being its own."""

    def level(own: Level) -> Level:
        return replace(own, byte=own.byte * times) if own.name == MEMORY else own

    return replace(
        machine,
        banks=tuple(map(level, machine.banks)),
        caller=level(machine.caller),
        weights=level(machine.weights),
    )


def by_rows(rows: Axis, team: Team) -> Iterator[tuple[Share, ...]]:
    """``rows`` shared by as many workers as there are pieces for, and all items by each."""
    yield from (
        shares
        for shares in _arrangements(Splits(rows), team)
        if all(share[2:] == (0, 1) for share in shares)
    )


def crowded(machine: Machine, team: Team, workers: int) -> Machine:
    """The machine for one of so many workers."""
    return _crowded(machine, max(1.0, workers / team.together))


def _arrangements(splits: Splits, team: Team) -> Iterator[tuple[Share, ...]]:
    """The arrangements of as many workers as there are pieces for, each in all ways."""
    for workers in range(2, len(team.speeds) + 1):
        for down in range(1, workers + 1):
            across = workers // down
            if down * across != workers:
                continue
            if down <= splits.rows.pieces and across <= splits.items.pieces:
                yield tuple(_shares(splits, team.speeds[:workers], across))


def _shares(splits: Splits, speeds: Sequence[float], across: int) -> Iterator[Share]:
    """``across`` workers after the other have the same rows."""
    teams = [speeds[i : i + across] for i in range(0, len(speeds), across)]
    for rows, team in zip(_cut(splits.rows, [sum(each) for each in teams]), teams, strict=True):
        for items in _cut(splits.items, team):
            yield Share(*rows, *items)


def _cut(axis: Axis, speeds: Sequence[float]) -> list[tuple[int, int]]:
    """The rounds of each worker, in parts as large as they are fast: a piece at least, and what is
    left over one by one to whom would be done with it first."""
    each = axis.pieces / sum(speeds)
    taken = [max(1, int(each * speed)) for speed in speeds]
    while sum(taken) > axis.pieces:
        taken[max(range(len(speeds)), key=lambda i: (taken[i] > 1, taken[i] / speeds[i]))] -= 1
    while sum(taken) < axis.pieces:
        first = min(range(len(speeds)), key=lambda i: ((taken[i] + 1) / speeds[i], i))
        taken[first] += 1
    ends = [0, *accumulate(taken)]
    return [axis.between(*pair) for pair in pairwise(ends)]
