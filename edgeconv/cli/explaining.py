"""``edgeconv explain``."""

from __future__ import annotations

from pathlib import Path
from typing import Any

import click
from rich.console import RenderableType
from rich.markup import escape

from edgeconv import pipeline
from edgeconv.arguments import count
from edgeconv.cli import model_options
from edgeconv.cli.commands import Command
from edgeconv.cli.words import FILE, TEXT, Word
from edgeconv.errors import EdgeconvError, Exit
from edgeconv.options import CompileOptions
from edgeconv.report import explain as explanation
from edgeconv.report import files, frontier
from edgeconv.terminal import Progress, say, show


def run(
    *,
    layer: str,
    pareto: bool,
    html: Path | None,
    threads: int | None,
    as_json: bool,
    **asked: Any,
) -> Exit:
    """Show the choices for a model, or what storage formats trade."""
    wanted = model_options.wanted(**asked)
    if pareto:
        return _pareto(wanted, html, as_json=as_json)
    if html:
        raise EdgeconvError("--html is for --pareto", hint="see `report --html`", code=Exit.USAGE)
    with Progress() as step:
        document, notes = pipeline.explain_model(wanted, layer=layer, threads=threads, step=step)
    for note in notes:
        say(f"note: {note}")
    show(explanation.render(document), document, as_json=as_json)
    return Exit.OK


def _pareto(wanted: CompileOptions, html: Path | None, *, as_json: bool) -> Exit:
    if html:
        files.check_page(html)  # before anything long
    with Progress() as step:
        points, model = pipeline.frontier_of(wanted, step=step)
    shown: RenderableType = frontier.frontier_table(points)
    if html:
        files.write_frontier(points, html, model=model, board=wanted.board)
        shown = f"frontier: {escape(str(html))}"
    show(shown, frontier.document(points), as_json=as_json)
    return Exit.OK


command = Command(
    "explain",
    "every choice and the numbers behind it",
    callback=run,
    params=[
        *model_options.parameters(),
        click.Option(
            ["--layer"],
            type=TEXT,
            default="",
            metavar="L",
            help="this one only, by name or number",
        ),
        click.Option(
            ["--pareto"],
            is_flag=True,
            help="what storage formats trade: RAM, flash, predicted time and SQNR",
        ),
        click.Option(["--html"], type=FILE, metavar="FILE", help="draw what --pareto prints"),
        click.Option(
            ["--threads"],
            type=Word(count),
            metavar="P",
            help="bounds on what one of P processors moves, too",
        ),
    ],
)
