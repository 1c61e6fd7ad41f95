"""Runs that may be interrupted, as C: the pieces that a call computes, and what each costs."""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass, replace
from typing import Any, Generic, TypeVar

from edgeconv.base.names import shortened
from edgeconv.codegen.row_streaming import StepCalls
from edgeconv.ir.choice import Choice
from edgeconv.ir.resumable import MOST_WORK, Division, PieceCost, Resumption

Words = tuple[str, ...]
Call = TypeVar("Call")
RANGE = ("from", "to")  # pieces of the call, in the C of a step


@dataclass(frozen=True, slots=True)
class WorkRow(Generic[Call]):
    """A row of the table of work: a layer, or neighbours that are computed together.

    ``number``: its position; ``first``, ``last``: those of its step's.  ``calls``: of its layers.
    ``cost``: of pieces, of which there are ``count``.  ``whole``: units of all pieces, where a row
    that is the only one of its step is computed at once; more than any budget of others.  ``said``:
    which layers it is.  ``inner``: others of its step come behind it.  ``patches``: of its step."""

    number: int
    first: int
    calls: tuple[Call, ...]
    cost: PieceCost
    count: int
    last: int
    whole: int
    said: str
    inner: bool
    patches: int


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
    rows = list(_work_rows(steps, order, resumption))
    numbers = {row.calls[0].position: row.number for row in rows}
    streaming = [
        replace(step, first=numbers[step.calls[0].position]) for step in steps if step.stream_rows
    ]
    return {
        "rows": rows,
        "streaming": streaming,
        "together": resumption.together,
        "least": resumption.least,
        "total": resumption.total,
        "longest": "" if longest is None else shortened(choice.layers[longest].node.name),
        "layers": max((len(step.calls) for step in steps), default=1),
        "patches": any(step.patches for step in steps),
    }


def _work_rows(
    steps: Sequence[StepCalls[Any]], order: Sequence[int], resumption: Resumption
) -> Iterator[WorkRow[Any]]:
    """The table of work, in the ``order`` of execution."""
    groups = {group[0]: group for group in resumption.together}
    inside = {index for group in resumption.together for index in group[1:]}
    calls = {order[call.position]: call for step in steps for call in step.calls}
    number = 0
    for step in steps:
        first, last = number, number + len(step.calls) - 1
        for call in step.calls:
            index = order[call.position]
            if index in inside:
                continue
            group = groups.get(index, (index,))
            cost = resumption.costs[index]
            said = f"{call.position}: {call.comment[0]}"
            if len(group) > 1:
                units = {each: resumption.costs[each].least for each in group}
                cost = PieceCost(Division(), 0, sum(units.values()))
                most = calls[max(group, key=lambda each: units[each])]
                said = f"{call.position} to {calls[group[-1]].position}: {most.comment[0]}"
            pieces = max(1, cost.pieces.axis.pieces)
            whole = MOST_WORK if step.stream_rows else min(cost.of(pieces), MOST_WORK)
            own = tuple(calls[each] for each in group)
            inner = bool(step.stream_rows) and call is not step.calls[-1]
            yield WorkRow(
                number, first, own, cost, pieces, last, whole, said, inner, len(step.patches)
            )
            number += 1
