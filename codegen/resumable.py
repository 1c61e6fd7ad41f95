"""Runs that may be interrupted, as C: the pieces that a call computes, and what each costs."""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass
from typing import Any

from edgeconv.base.names import shortened
from edgeconv.codegen.row_streaming import StepCalls
from edgeconv.ir.choice import Choice
from edgeconv.ir.resumable import MOST_WORK, Division, PieceCost, Resumption

Words = tuple[str, ...]
RANGE = ("from", "to")  # pieces of the call, in the C of a step


@dataclass(frozen=True, slots=True)
class WorkRow:
    """A row of the table of work.  ``cost``: of pieces, of which there are ``count``.  ``last``:
    position of the last layer of its step.  ``whole``: units of all pieces, where a layer that is
    the only one of its step is computed at once; more than any budget of others.  ``said``: which
    layer it is."""

    cost: PieceCost
    count: int
    last: int
    whole: int
    said: str


def piece_range(pieces: Division) -> tuple[Words, Words]:
    """C expressions of the rows, and of the items, that a call computes of a layer alone; none of
    what it computes all of."""
    axis = pieces.axis
    words = RANGE
    if axis.multiple > 1:
        begin, end = (f"{word} * {axis.multiple}" for word in RANGE)
        words = begin, f"ec_min_i({end}, {axis.count})"
    return (words, ()) if pieces.kind == "rows" else ((), words) if pieces.kind else ((), ())


def variables(
    steps: Sequence[StepCalls[Any]], choice: Choice, order: Sequence[int], resumption: Resumption
) -> Mapping[str, object]:
    """What templates see of a run of ``steps``, whose layers are computed in this ``order``: the
    table of work, its sums, and the layers of the longest step, whose rows it counts."""
    longest = resumption.longest
    return {
        "rows": list(_work_rows(steps, order, resumption)),
        "least": resumption.least,
        "total": resumption.total,
        "longest": "" if longest is None else shortened(choice.layers[longest].node.name),
        "layers": max((len(step.calls) for step in steps), default=1),
        "patches": any(step.patches for step in steps),
    }


def _work_rows(
    steps: Sequence[StepCalls[Any]], order: Sequence[int], resumption: Resumption
) -> Iterator[WorkRow]:
    """The table of work, by position of the layers in ``order``."""
    for step in steps:
        for call in step.calls:
            cost = resumption.costs[order[call.position]]
            said = f"{call.position}: {call.comment[0]}"
            pieces = max(1, cost.pieces.axis.pieces)
            whole = MOST_WORK if step.stream_rows else min(cost.of(pieces), MOST_WORK)
            yield WorkRow(cost, pieces, step.calls[-1].position, whole, said)
