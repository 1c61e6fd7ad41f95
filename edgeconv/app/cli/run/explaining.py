"""``edgeconv explain``."""

from __future__ import annotations

from pathlib import Path
from typing import Any

from rich.console import RenderableType
from rich.markup import escape

from edgeconv.app import pipeline
from edgeconv.app.cli.run.compile_options import compile_options
from edgeconv.app.terminal import ProgressDisplay, say, show
from edgeconv.base.errors import Exit, UsageError
from edgeconv.report import explain as explanation
from edgeconv.report import files, frontier
from edgeconv.search.options import CompileOptions


def run(
    *,
    layer: str,
    pareto: bool,
    html: Path | None,
    threads: int | None,
    as_json: bool,
    **given: Any,
) -> Exit:
    """Show the choices for a model, or what storage formats trade."""
    options = compile_options(**given)
    if pareto:
        return _pareto(options, html, as_json=as_json)
    if html:
        raise UsageError("--html is for --pareto", hint="see `report --html`")
    with ProgressDisplay() as progress:
        document, notes = pipeline.explain_model(
            options, layer=layer, threads=threads, progress=progress
        )
    for note in notes:
        say(f"note: {note}")
    show(explanation.render(document), document, as_json=as_json)
    return Exit.OK


def _pareto(options: CompileOptions, html: Path | None, *, as_json: bool) -> Exit:
    if html:
        files.check_page(html)  # before anything long
    with ProgressDisplay() as progress:
        points, model = pipeline.frontier_of(options, progress=progress)
    shown: RenderableType = frontier.frontier_table(points)
    if html:
        files.write_frontier(points, html, model=model, board=options.board)
        shown = f"frontier: {escape(str(html))}"
    show(shown, frontier.document(points), as_json=as_json)
    return Exit.OK
