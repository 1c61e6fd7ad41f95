"""The price of layers that stream rows: what lies between them stays in near caches, and all else
that a round needs is met again in the next one.

A byte that a round touches again was last touched as many distinct bytes ago as a round touches:
the filters of all its layers, and rows of what it reads, of the rings and of the result.  Where a
cache holds that, filters come from there from the second round on; where none does, they are
streamed anew in every round.
"""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from dataclasses import dataclass

from edgeconv.ir.choice import ArgKind, Layer
from edgeconv.target.price.machine import Machine
from edgeconv.target.price.operands import Touched, Use
from edgeconv.target.price.price import Price, price


@dataclass(frozen=True, slots=True)
class StreamedLayer:
    """A layer of a step of several.

    ``layer``: its call for the rows that it computes in a round, and ``operands`` of that call;
    ``calls``: how many such calls compute all rows; ``fresh``: the share of the rows of the first
    input that no call before has read.  ``whole``: the operands of the layer when the step begins;
    of rings these count for nothing.
    """

    layer: Layer
    operands: tuple[Use, ...]
    calls: float
    fresh: float
    whole: tuple[Use, ...]


def prices(layers: Sequence[StreamedLayer], machine: Machine) -> list[Price]:
    """What each of the layers of a step takes."""
    rings = {each.layer.node.output for each in layers[:-1]}
    stream_rows = _touched(layers, rings)
    found = []
    for each in layers:
        own = float(sum(use.bytes for use in each.operands))
        operands = tuple(_use(use, each, rings, own, stream_rows) for use in each.operands)
        found.append(price(each.layer, operands, machine, each.calls))
    return found


def _touched(layers: Sequence[StreamedLayer], rings: set[str]) -> float:
    """Distinct bytes of a round: rows of a ring are those that are written."""
    return float(
        sum(
            use.bytes
            for layer in layers
            for use in layer.operands
            if use.kind is not ArgKind.INPUT or use.ref not in rings
        )
    )


def _use(use: Use, layer: StreamedLayer, rings: set[str], own: float, stream_rows: float) -> Use:
    """An operand of all calls, by that of one: what was there before the step, or lies in a ring
    since the layer before wrote it, then what a round before has touched too."""
    total = use.bytes * layer.calls
    if use.ref in rings or use.kind is ArgKind.WORKSPACE:
        read = use.kind is ArgKind.INPUT
        first = [Touched(round(total * layer.fresh), own)] if read else []
    else:
        whole = next(each for each in layer.whole if (each.kind, each.ref) == (use.kind, use.ref))
        first = list(_scaled(whole, min(1.0, total / max(whole.bytes, 1))))
    rest = round(total) - sum(age.bytes for age in first)
    ages = (*first, *([Touched(rest, stream_rows)] if rest > 0 else []))
    return Use(use.kind, use.ref, sum(age.bytes for age in ages), ages, use.bank, use.in_place)


def _scaled(use: Use, by: float) -> Iterator[Touched]:
    for age in use.ages:
        yield Touched(round(by * age.bytes), age.distance, age.others)
