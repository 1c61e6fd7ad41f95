"""The network on the page: inputs and outputs, the chain of layers, names on the arena."""

from __future__ import annotations

from typing import Any

import pytest

from edgeconv.report.html import page
from edgeconv.report.html.chain import chain
from edgeconv.report.html.figures import arena
from edgeconv.report.html.figures.roofline import _log_ticks
from edgeconv.report.network import Network
from tests.html_page import filled, planned_report

Report = dict[str, Any]


@pytest.fixture(scope="module")
def full(tmp_path_factory: pytest.TempPathFactory) -> Report:
    return filled(planned_report(tmp_path_factory.mktemp("model")))


def test_every_layer_says_what_it_reads(full: Report) -> None:
    """The residual and the branches of the network are told, and the plain chain is not."""
    links = chain(Network.of(full))
    assert [link.step for link in links] == list(range(len(full["layers"])))
    writer = {layer["output"]: step for step, layer in enumerate(full["layers"])}
    for link in links:
        wanted = {writer.get(name, -1) for name in link.layer["inputs"]}
        assert set(link.reads or (link.step - 1,)) == wanted
    assert any(len(link.reads) == 2 for link in links)
    assert sum(link.share or 0 for link in links) == pytest.approx(1)
    assert max(link.bar or 0 for link in links) == 1
    text = page.render(full)
    assert text.count('class="node"') == len(links)


def test_older_reports_have_no_chain(full: Report) -> None:
    layers = [{k: v for k, v in layer.items() if k != "inputs"} for layer in full["layers"]]
    older = {**full, "layers": layers}
    assert chain(Network.of(older)) == []
    assert 'class="node"' not in page.render(older)


def test_ports_state_their_quantisation(full: Report) -> None:
    port = {**full["inputs"][0], "dtype": "int8", "scale": [0.25], "zero_point": [-3]}
    text = page.render({**full, "inputs": [port]})
    assert "number = (integer + 3) x 0.25" in text
    assert "number = " not in page.render(full)


def test_names_are_on_the_arena(full: Report) -> None:
    figure = arena.figure(Network.of(full))
    assert figure is not None
    labels = {text for trace in figure.data for text in trace.text}
    shown = {entry["name"] for entry in full["arena_map"]}
    assert labels & shown
    assert figure.layout.uniformtext.mode == "hide", "what does not fit is not shrunk"


def test_a_label_names_the_writer_where_no_end_of_the_name_fits(full: Report) -> None:
    long = [
        {**entry, "name": f"{number}{'/long' * 30}"}
        for number, entry in enumerate(full["arena_map"])
        if "workspace" not in entry["name"]
    ]
    figure = arena.figure(Network.of({**full, "arena_map": long}))
    assert figure is not None
    ops = {f"{step} {layer['op']}" for step, layer in enumerate(full["layers"])}
    assert ops & {text for trace in figure.data for text in trace.text}


def test_ticks_of_logarithmic_axes_are_whole_numbers() -> None:
    assert _log_ticks(0.9, 30) == [1, 2, 5, 10, 20]
    assert _log_ticks(0.5, 5000) == [1, 10, 100, 1000]
