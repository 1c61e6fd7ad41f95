"""report.json as one HTML file: works offline, and says the same bytes for the same report."""

from __future__ import annotations

import functools
from collections.abc import Mapping
from importlib import resources
from pathlib import Path
from typing import Any

import jinja2
import plotly.graph_objects as go
from markupsafe import Markup, escape

from edgeconv.base import whole_file
from edgeconv.base.errors import UsageError, refused
from edgeconv.base.names import path_ends, shortened
from edgeconv.base.sizes import human
from edgeconv.base.visible import visible
from edgeconv.report import frontier, missing, numbers
from edgeconv.report.advice import suggestions
from edgeconv.report.html import bundle, drawing, memory, rounding, table, verdict
from edgeconv.report.html.figures import FIGURES
from edgeconv.report.html.front import Front
from edgeconv.report.network import Network

NAME_WIDTH = 60  # of a layer; the whole name is where the pointer or the focus is
LAYER_WIDTH = 4  # pixels in a chart at least: with many layers, charts scroll


def render(report: Mapping[str, Any]) -> str:
    """The page of a report, which may be one of an earlier version with fewer keys."""
    network, regions = Network.of(report), memory.regions(report)
    front = Front(*frontier.noted(report))
    columns = table.columns(network)
    known = table.known(network, columns)
    return rendered(
        "page.html.j2",
        {name: draw(network) for name, draw in FIGURES.items()} | front.figures,
        report=report,
        layers=network.layers,
        brief=_brief(report),
        network=network,
        front=front,
        verdict=verdict.verdict(report),
        metrics=verdict.metrics(report),
        regions=regions,
        legend=_legend(regions),
        unbounded_stack=memory.unbounded_stack(report),
        unbuilt=list(dict.fromkeys(part for region in regions for part in region.unknown)),
        stack_calls=memory.stack_calls(report),
        rounding=rounding.rounding(network),
        outputs=rounding.outputs(report),
        chart_width=LAYER_WIDTH * len(network.layers),
        drawing=drawing.drawing(network),
        most_drawn=drawing.MOST_LAYERS,
        columns=known,
        rows=table.rows(network, known),
        gaps=table.gaps(network, columns),
        suggestions=suggestions(network),
        missing=missing,
        nothing=table.NOTHING,
        share=numbers.share,
        count=numbers.count,
    )


def rendered(template: str, figures: Mapping[str, go.Figure | None], **values: Any) -> str:
    """A page: works without a network, the same bytes for the same ``values`` and ``figures``, of
    which those that are None are left out."""
    return (
        _environment()
        .get_template(template)
        .render(
            figures={name: one.to_plotly_json() for name, one in figures.items() if one},
            style=Markup(_asset("style.css")),
            script=Markup(_asset("page.js")),
            plotly=bundle.script(),
            **values,
        )
    )


def _brief(report: Mapping[str, Any]) -> dict[str, str]:
    """The names of all layers and tensors as the page shows them: layers told apart from each
    other, and so are tensors."""
    kinds = (report.get("arena_map") or (), report.get("layers") or ())
    found: dict[str, str] = {}
    for entries in kinds:  # a layer and a tensor may have one name
        found |= path_ends((one["name"] for one in entries), NAME_WIDTH)
    return found


def replace(path: Path, text: str) -> None:
    """Write a page, all of it or nothing.

    Raises EdgeconvError (exit status 2) when ``path`` cannot be written.
    """
    hint = "give a file in a writable directory"
    with refused("cannot write the HTML report", path, hint, UsageError):
        if path.is_dir():
            raise IsADirectoryError(None, "it is a directory")
        path.parent.mkdir(parents=True, exist_ok=True)
        whole_file.replace(path, text)


def _legend(regions: list[memory.Region]) -> dict[str, int]:
    """The parts that the bars of the regions have, and the numbers of their colours."""
    return {
        name: number
        for number, name in enumerate(memory.PART_NAMES, start=1)
        if any(region.parts.get(name) for region in regions)
    }


def _shown(value: object) -> object:
    """Names as the page shows them; markup, which is ours, stays."""
    is_name = isinstance(value, str) and not isinstance(value, Markup)
    return visible(str(value), layout=True) if is_name else value


@functools.cache
def _environment() -> jinja2.Environment:
    """The Jinja environment of all templates of this package."""
    made = jinja2.Environment(
        loader=jinja2.FunctionLoader(_asset),
        autoescape=True,
        finalize=_shown,
        undefined=jinja2.StrictUndefined,
        trim_blocks=True,
        lstrip_blocks=True,
        keep_trailing_newline=True,
    )
    made.policies["json.dumps_kwargs"] = {
        "sort_keys": True,
        "allow_nan": False,
        "separators": (",", ":"),
    }
    made.filters |= {
        "exact": numbers.exact,
        "packed": bundle.packed,
        "human": human,
        "breakable": lambda text: Markup(escape(_shown(text)).replace("/", Markup("/<wbr>"))),
        "short": lambda name: shortened(name, NAME_WIDTH),
    }
    return made


def _asset(name: str) -> str:
    """The text of a file of this package."""
    return resources.files("edgeconv.report.html").joinpath(name).read_text(encoding="utf-8")
