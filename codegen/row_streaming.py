"""Steps as ``name_run`` has them: a call, or a loop in which several layers stream rows."""

from __future__ import annotations

from collections.abc import Collection, Iterator, Sequence
from dataclasses import dataclass
from textwrap import wrap
from typing import Generic, TypeVar

from edgeconv.codegen.lines import COLUMNS
from edgeconv.ir.choice import Choice, divides_of
from edgeconv.ir.step import (
    ROW_BY_ROW,
    Columns,
    Divides,
    Step,
    columns_read,
    is_path,
    patches_of,
    reads,
    starts,
)

Call = TypeVar("Call")


@dataclass(frozen=True, slots=True)
class RingResult:
    """A result of which memory holds a ring: ``rows`` in all, ``ring`` at a time.

    ``made``, ``need``: the C variables that count the rows so far, and those that the round needs;
    ``needed`` is the expression of the latter, which may exceed ``rows``.  ``read``: the expression
    of those that the next row of the next result needs, where layers of a path go row by row.
    """

    rows: int
    ring: int
    made: str
    need: str
    needed: str
    read: str


@dataclass(frozen=True, slots=True)
class Lack:
    """What a layer's next row may lack: a row of the result of layer ``maker`` of the step, as long
    as ``condition`` holds, a C expression."""

    maker: int
    condition: str


@dataclass(frozen=True, slots=True)
class StepCalls(Generic[Call]):
    """The ``calls`` of a step.

    Where there are several, ``stream_rows`` of the ``rows`` of the last result are made at a time,
    and ``between`` are the results of all others.  ``shares``: by worker that shares them the rows
    of the last result, [from, to), then of each other the first row that he needs; behind those of
    all the same of a worker for everything.  ``patches``: by patch the members of the ec_columns of
    its layers (`patch_columns`); none where all columns are computed at once.  ``lacks``: by layer,
    of layers that go row by row and are no path, what its next row may lack, in the order to ask.
    ``first``: position of the first layer.
    """

    calls: tuple[Call, ...]
    stream_rows: int = 0
    rows: int = 0
    between: tuple[RingResult, ...] = ()
    shares: tuple[tuple[int, ...], ...] = ()
    patches: tuple[tuple[tuple[int, ...], ...], ...] = ()
    lacks: tuple[tuple[Lack, ...], ...] = ()
    first: int = 0

    @property
    def descent(self) -> list[tuple[str, int]]:
        """The way from the last layer to one whose next row lacks nothing: where a condition in C
        holds, to the layer at a position; in this order, as ``layer`` is by then."""
        return [
            (f"layer == {self.first + number} && {each.condition}", self.first + each.maker)
            for number in reversed(range(len(self.lacks)))
            for each in self.lacks[number]
        ]

    @property
    def row_by_row(self) -> bool:
        """Whether every layer computes a row at a time."""
        return self.stream_rows == ROW_BY_ROW

    @property
    def patch_rows(self) -> list[str]:
        """By patch the initialiser of the ec_columns of its layers, on as many lines as it
        takes."""
        each = ([f"{{{', '.join(map(str, own))}}}" for own in patch] for patch in self.patches)
        whole = (", ".join(own.replace(" ", "\0") for own in patch) for patch in each)
        return ["{" + "\n".join(wrap(row, COLUMNS - 12)).replace("\0", " ") + "}" for row in whole]


def row_variables(step: Step, position: int) -> list[tuple[str, ...]]:
    """By layer of a step, the first of which is at ``position``: the C expressions of the rows that
    a call computes; none for a layer that computes all at once."""
    if not step.stream_rows:
        return [()]
    others = range(position, position + len(step.layers) - 1)
    return [*((f"made_{at}", "to") for at in others), ("y", "y1")]


def step_calls_of(
    choice: Choice,
    step: Step,
    calls: Sequence[Call],
    position: int,
    *,
    resumable: bool = False,
) -> StepCalls[Call]:
    """``calls`` of the layers of ``step``, the first of which is at ``position``.  ``resumable``:
    an array counts the rows so far."""
    if not step.stream_rows:
        return StepCalls(tuple(calls))
    layers = [choice.layers[index] for index in step.layers]
    divides = divides_of(layers)
    rings = [choice.graph[layer.node.output].ring for layer in layers]
    needs = [f"need_{position + i}" for i in range(len(layers) - 1)] + ["y1"]
    made = [f"made_{position + i}" for i in range(len(layers) - 1)] + ["y"]
    if resumable:
        made = [f"done[{i}]" for i in range(len(layers))]
    read_by: list[list[tuple[int, Divides]]] = [[] for _ in layers]
    for number in range(len(layers)):
        for maker, window in reads(divides, number):
            read_by[maker].append((number, window))
    between = tuple(
        RingResult(
            *(maker.rows, rings[i], made[i], needs[i], _most_read(read_by[i], needs)),
            read=_read(divides[i + 1], made[i + 1], divides[i + 1].end_read(1)),
        )
        for i, maker in enumerate(divides[:-1])
    )
    lacks = () if is_path(divides) else tuple(_lacks(divides, made))
    shares = tuple((*share[:2], *starts(divides, share.row0)[:-1]) for share in step.shares)
    if shares:
        shares = (*shares, (0, divides[-1].rows, *starts(divides, 0)[:-1]))
    widths = [choice.graph[layer.node.inputs[0]].shape[-1] for layer in layers]
    adding = {i for i, layer in enumerate(layers) if layer.node.epilogue.residual}
    patches = () if step.patches == 1 else patches_of(divides, step.patches)
    columns = tuple(tuple(patch_columns(divides, patch, widths, adding)) for patch in patches)
    rows = divides[-1].rows
    return StepCalls(
        tuple(calls), step.stream_rows, rows, between, shares, columns, lacks, position
    )


def _most_read(readers: Sequence[tuple[int, Divides]], needs: Sequence[str]) -> str:
    """C expression: the rows of a result that its ``readers`` need in a round."""
    found = list(dict.fromkeys(_read(window, needs[number]) for number, window in readers))
    while len(found) > 1:
        found[-2:] = [f"ec_max_i({found[-2]}, {found[-1]})"]
    return found[0]


def _lacks(divides: Sequence[Divides], made: Sequence[str]) -> Iterator[tuple[Lack, ...]]:
    """By layer what its next row may lack; ``made``: the C variables that count rows."""
    for number, own in enumerate(divides):
        found = []
        for maker, window in reads(divides, number):
            rows, needed = divides[maker].rows, _read(window, made[number], window.end_read(1))
            if window.end_read(own.rows) > rows:
                needed = f"ec_min_i({needed}, {rows})"
            found.append(Lack(maker, f"{made[maker]} < {needed}"))
        yield tuple(found)


def patch_columns(
    divides: Sequence[Divides],
    patch: Sequence[Columns],
    widths: Sequence[int],
    adding: Collection[int] = (),
) -> Iterator[tuple[int, ...]]:
    """By layer of a patch the members of its ec_columns, where its first input is so wide, and
    behind those of the layers that are ``adding`` a residual the same of how they read that: what
    lies between two layers has the columns of the patch, all else those of the image."""

    def begins(number: int, distance: int) -> int:
        """The first column of what a layer reads, made so many layers before it, in memory."""
        return patch[number - distance].begin if 0 < distance <= number else 0

    for number, (layer, made) in enumerate(zip(divides, patch, strict=True)):
        assert layer.columns
        read = columns_read(layer, made, widths[number])
        pad = layer.columns.pad + read.begin - made.begin * layer.columns.stride
        out = made.begin if number == len(divides) - 1 else 0
        yield read.begin - begins(number, layer.source), read.width, out, made.width, pad
        if number in adding:
            yield made.begin - begins(number, layer.added), made.width, out, made.width, 0


def _read(reader: Divides, rows: str, beyond: int | None = None) -> str:
    """C expression: so many ``rows`` of its result times the stride of ``reader``, and rows
    ``beyond``, by default as `Divides.end_read`."""
    scaled = f"{rows} * {reader.stride}" if reader.stride > 1 else rows
    beyond = reader.end_read(1) - reader.stride if beyond is None else beyond
    return f"{scaled} {'-' if beyond < 0 else '+'} {abs(beyond)}" if beyond else scaled
