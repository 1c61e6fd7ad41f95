"""Programs side by side: as text and as JSON."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

from rich.console import Group, RenderableType
from rich.markup import escape

from edgeconv.report.against.figures import Figures, Measure, beaten_by, measures_of, ratio
from edgeconv.report.narrow_tables import ByRoom, plain_table
from edgeconv.report.numbers import significant

UNKNOWN = "-"
_ALIKE = 0.005  # ratios nearer to 1 are said to be 1


def render(programs: Sequence[Figures]) -> RenderableType:
    """As text; the first is what the others are compared with."""
    measures = measures_of(programs)
    wide = plain_table("", *(f">{one.title}" for one in measures))
    narrow = plain_table("", *(f">{number}" for number, _ in enumerate(programs, 1)))
    cells = [[shown(each, one) for one in measures] for each in programs]
    for each, row in zip(programs, cells, strict=True):
        wide.add_row(escape(each.name), *row)
    for one, column in zip(measures, zip(*cells, strict=True), strict=True):
        narrow.add_row(one.title, *column)
    names = [f"{number}  {escape(each.name)}" for number, each in enumerate(programs, 1)]
    lines = [
        *(escape(line) for each in programs[1:] for line in [sentence(each, programs[0])] if line)
    ]
    lines += [escape(line) for line in notes(programs)]
    return Group(ByRoom(wide, narrow, below=Group(*names)), "", *lines)


def shown(program: Figures, measure: Measure) -> str:
    """A figure as people read it."""
    value = program.known(measure)
    return UNKNOWN if value is None else measure.show(value)


def times(factor: float) -> str:
    """A ratio in words: ``1.40 times``, ``1 times`` of what is as good as 1."""
    return "1 times" if abs(factor - 1) < _ALIKE else f"{significant(factor)} times"


def sentence(program: Figures, first: Figures) -> str:
    """What a program takes in terms of the first: ``tflm: 3.01 times the RAM, 1.40 times the
    time``; "" where no figure is known of both."""
    found = [
        (one, factor)
        for one in measures_of([first])
        if (factor := ratio(one, program.known(one), first.known(one))) is not None
    ]
    said = ", ".join(f"{times(factor)} {one.times}" for one, factor in found)
    return f"{program.name}: {said} of {first.name}" if said else ""


def notes(programs: Sequence[Figures]) -> list[str]:
    """What figures do not say of themselves: where they are from, other boards, who is beaten."""
    lines = []
    boards = {each.board for each in programs if each.board}
    for each in programs:
        about = [each.board] if each.board and len(boards) > 1 else []
        about += [each.source, *each.notes] if each.source != "edgeconv" else each.notes
        if said := "; ".join(filter(None, about)):
            lines.append(f"{each.name}: {said}")
    for each in programs:
        if (better := beaten_by(each, programs)) is not None:
            lines.append(f"{each.name}: {better.name} is at least as good in all that is known")
    return lines


def to_json(programs: Sequence[Figures]) -> dict[str, Any]:
    """Every figure in the keys of the files that are read, and its ratio to the first's."""
    first = programs[0]
    return {
        "programs": [
            {
                "name": each.name,
                "board": each.board,
                "source": each.source,
                **each.values,
                "layers": [{"name": name, "time_ms": ms} for name, ms in each.layers.items()],
                "ratios": {
                    one.key: factor
                    for one in measures_of(programs)
                    if (factor := ratio(one, each.known(one), first.known(one))) is not None
                },
                "on_front": beaten_by(each, programs) is None,
            }
            for each in programs
        ]
    }
