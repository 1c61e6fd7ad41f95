"""Why neighbours stream rows, or do not, for `edgeconv explain`."""

from __future__ import annotations

from itertools import pairwise
from typing import Any

from edgeconv.ir.choice import Choice
from edgeconv.ir.step import Step
from edgeconv.search.choose.fused import CERTAIN, IMAGE, StepPrices
from edgeconv.search.choose.row_streaming import obstacle, one_by_one, readers
from edgeconv.target.price import machine_of
from edgeconv.target.targets import Target

Document = dict[str, Any]


def fusion(choice: Choice, target: Target) -> dict[int, Document]:
    """By layer whose result the next one reads first: whether the two stream rows.

    ``next``: the other layer.  ``stream_rows``: rows of the step's last result per round; null
    where the two do not stream rows.  ``change``: of the predicted time of the step's layers, or
    what it would be at best were the two one; -0.1 is a tenth less, null where they cannot be one.
    ``why``: in words.
    """
    plain, reads = one_by_one(choice, target), readers(choice)
    prices = StepPrices(plain, target, machine_of(target))
    steps = {layer: step for step in choice.steps if step.stream_rows for layer in step.layers}
    found = {}
    for maker, reader in pairwise(range(len(plain.layers))):
        one, other = plain.layers[maker], plain.layers[reader]
        name = one.node.output
        image = len(plain.graph[name].shape) == IMAGE
        if not (image and other.node.reads() and other.node.reads()[0] == name):
            continue
        entry: Document = {"next": other.node.name, "stream_rows": None, "change": None}
        step = steps.get(maker)
        if step and reader in step.layers:
            entry |= _taken(step, prices)
        elif why := obstacle(one, other, reads[name]):
            entry["why"] = why
        else:
            entry |= _left(maker, prices)
        found[maker] = entry
    return found


def _taken(step: Step, prices: StepPrices) -> Document:
    made = prices.step(step.layers[0], len(step.layers), step.stream_rows)
    change = made.cost / made.apart - 1
    why = "less time" if change < -CERTAIN else "less RAM"
    return {"stream_rows": step.stream_rows, "change": change, "why": why}


def _left(maker: int, prices: StepPrices) -> Document:
    least = min(prices.steps(maker, 2), key=lambda step: step.cost, default=None)
    if least is None:
        return {"why": "the result has one row"}
    change = least.cost / least.apart - 1
    if change > CERTAIN:
        return {"change": change, "why": "it would take longer"}
    if change > -CERTAIN:
        return {"change": change, "why": "the same time, and no RAM to gain here"}
    return {"change": change, "why": "the network as a whole gains nothing by it"}
