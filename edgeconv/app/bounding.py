"""A bound in cycles for a program that was built: in its report and in its header."""

from __future__ import annotations

from edgeconv.base.errors import EdgeconvError, Exit
from edgeconv.codegen.cycles import with_cycles
from edgeconv.report import document
from edgeconv.report.document import Report
from edgeconv.run.build.project import Project
from edgeconv.run.cycles.bound import cycle_bound, image_constants

_NAMED = 5  # layers that an error has


def bounded(project: Project, report: Report, most: int | None) -> Report:
    """``report`` with the most cycles of an inference, which the header has then too.

    ``most``: what the user allows.  Raises EdgeconvError where there is no bound, or a larger one.
    """
    bound = cycle_bound(project)
    report = document.with_cycles(report, bound)
    if most is not None and bound.cycles > most:
        raise _exceeded(report, most)
    header = f"{project.name}.h"
    text = (project.directory / header).read_text(encoding="utf-8")
    before = image_constants(project)
    cpu = project.board().cpu
    project.put({header: with_cycles(text, project.name, bound.cycles, cpu).encode()})
    if image_constants(project) != before:
        raise EdgeconvError(
            "no bound in cycles",
            where=header,
            rule="the compiler makes another program of the same source",
        )
    return report


def _exceeded(report: Report, most: int) -> EdgeconvError:
    """The layers that take most of it, by their bounds."""
    found = [
        (layer["cycles_max"], number, layer)
        for number, layer in enumerate(report["layers"])
        if layer.get("cycles_max")
    ]
    largest = sorted(found, key=lambda each: (-each[0], each[1]))[:_NAMED]
    return EdgeconvError(
        "--max-cycles",
        where=f"{report['model']['file']} on board {report['board']}",
        got=f"{report['time']['cycles_max']:,} cycles at most",
        rule=f"no inference may take more than {most:,}",
        hint="a smaller network, or a larger --max-cycles",
        details=tuple(
            f"{cycles:,} cycles: {number}: {layer['op']} {layer['name']!r}"
            for cycles, number, layer in largest
        ),
        code=Exit.UNSATISFIED,
    )
