"""The network on the page: inputs and outputs, the drawn graph, names on the arena."""

from __future__ import annotations

import re
from typing import Any

import pytest
from hypothesis import given
from hypothesis import strategies as st

from edgeconv.report.html import page
from edgeconv.report.html.drawing import MOST_LAYERS, drawing
from edgeconv.report.html.figures import arena
from edgeconv.report.html.figures.roofline import _log_ticks
from edgeconv.report.html.routing import GAP, lanes, routes
from edgeconv.report.network import Network
from tests.html_page import Page, filled, planned_report

Report = dict[str, Any]


@pytest.fixture(scope="module")
def full(tmp_path_factory: pytest.TempPathFactory) -> Report:
    return filled(planned_report(tmp_path_factory.mktemp("model")))


def boxes_of(text: str) -> list[tuple[str, dict[str, str | None]]]:
    """The layers that are drawn on a page."""
    return [(tag, a) for tag, a in Page(text).tags if (a.get("class") or "").startswith("node ")]


def test_every_layer_has_a_box_that_leads_to_its_row(full: Report) -> None:
    text = page.render(full)
    drawn = drawing(Network.of(full))
    assert drawn is not None
    assert [box.step for box in drawn.boxes if box.step is not None] == list(
        range(len(full["layers"]))
    )
    assert [box.name for box in drawn.boxes if box.step is None] == [
        port["name"] for port in (*full["inputs"], *full["outputs"])
    ]
    assert sum(box.share or 0 for box in drawn.boxes) == pytest.approx(1)
    links = [a.get("href") for tag, a in boxes_of(text) if tag == "a"]
    assert links == [f"#layer-{step}" for step in range(len(full["layers"]))]
    for layer in full["layers"]:
        (box,) = (one for one in drawn.boxes if one.name == layer["name"] and one.step is not None)
        told = " ".join(box.told)
        assert layer["output"] in told
        assert f"{layer['output_bytes']:,} bytes" in told


def test_what_is_read_is_drawn(full: Report) -> None:
    """Every edge of the network, straight or down a lane, and no other."""
    drawn = drawing(Network.of(full))
    assert drawn is not None
    layers = full["layers"]
    writer = {full["inputs"][0]["name"]: 0}
    writer |= {layer["output"]: 1 + step for step, layer in enumerate(layers)}
    edges = {(writer[name], 1 + i) for i, one in enumerate(layers) for name in one["inputs"]}
    edges |= {(writer[port["name"]], 1 + len(layers) + i) for i, port in enumerate(full["outputs"])}
    far = {(wire.source, row) for wire in drawn.routes.wires for row in wire.readers}
    assert far == {(source, row) for source, row in edges if row > source + 1}
    assert drawn.routes.straight.count("M") == sum(row == source + 1 for source, row in edges)
    assert drawn.routes.heads.count("M") == len(edges)
    residual = next(box for box in drawn.boxes if len(box.reads.split(", ")) == 2)
    assert residual.step is not None
    names = layers[residual.step]["inputs"]
    assert residual.reads == ", ".join(str(writer[name] - 1) for name in names)


@given(
    st.lists(
        st.tuples(st.integers(0, 60), st.integers(1, 40)), max_size=60, unique_by=lambda x: x[0]
    )
)
def test_lanes_are_nobody_elses(lives: list[tuple[int, int]]) -> None:
    last = {begin: begin + length for begin, length in lives}
    found = lanes(last, 3)
    for one, lane in found.items():
        for other in found:
            if other != one and found[other] == lane:
                assert last[one] <= other or last[other] <= one
    at_once = max((sum(a <= row < b for a, b in last.items()) for row in last), default=0)
    assert max(found.values(), default=-1) < 3
    assert at_once > 1 or set(found.values()) <= {0}
    assert len(lanes(last, 60)) == len(last)


def test_nothing_is_drawn_outside_or_over_a_box() -> None:
    """Thirty results that wait at once, as in a network whose blocks read all before them."""
    reads: list[list[int]] = [list(range(row)) for row in range(32)]
    top, pitch = 26, 27
    found = routes(reads, top, pitch)
    assert len(found.wires) == 30
    for wire in found.wires:
        columns = [int(x) for x in re.findall(r"[MH](\d+)", wire.path)]
        assert min(columns) > 0
        assert max(columns) <= found.left
    for x, y in re.findall(r"M(\d+) (\d+)v", found.straight):
        assert int(x) > found.left
        assert (int(y) - top) % pitch == pitch - GAP


def test_long_networks_are_drawn_lower_and_endless_ones_not(full: Report) -> None:
    def chain(count: int) -> Report:
        layer = {**full["layers"][1], "name": "n"}
        layers = [
            {**layer, "name": f"n{i}", "inputs": [f"t{i}"], "output": f"t{i + 1}"}
            for i in range(count)
        ]
        return {**full, "layers": layers, "arena_map": []}

    short, long = (drawing(Network.of(chain(count))) for count in (10, 248))
    assert short is not None
    assert long is not None
    assert long.pitch < short.pitch
    assert drawing(Network.of(chain(MOST_LAYERS + 1))) is None
    words = Page(page.render(chain(MOST_LAYERS + 1))).words
    assert "layers are not drawn" in words


def test_names_in_the_graph_are_text(full: Report) -> None:
    nasty = """</title></svg><script>alert(1)</script>"><b>\x1b[2J'"""
    layers = [{**full["layers"][0], "name": nasty, "op": nasty, "algorithm": nasty}]
    report = {**full, "layers": layers + full["layers"][1:]}
    shown = Page(page.render(report))
    scripts = [a for tag, a in shown.tags if tag == "script"]
    assert len(scripts) == len([a for tag, a in Page(page.render(full)).tags if tag == "script"])
    assert "b" not in {tag for tag, _ in shown.tags}
    assert "\x1b" not in shown.text
    assert nasty.replace("\x1b", "\\x1b") in shown.words


def test_older_reports_have_no_graph(full: Report) -> None:
    layers = [{k: v for k, v in layer.items() if k != "inputs"} for layer in full["layers"]]
    older = {**full, "layers": layers}
    assert drawing(Network.of(older)) is None
    assert boxes_of(page.render(older)) == []


def test_ports_state_their_quantisation(full: Report) -> None:
    port = {**full["inputs"][0], "dtype": "int8", "scale": [0.25], "zero_point": [-3]}
    text = page.render({**full, "inputs": [port]})
    assert "number = (integer + 3) x 0.25" in text
    assert "number = " not in page.render(full)


def test_names_are_on_the_arena(full: Report) -> None:
    figure = arena.figure(Network.of(full))
    assert figure is not None
    labels = {text for trace in figure.data for text in trace.text or ()}
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
    assert ops & {text for trace in figure.data for text in trace.text or ()}


def test_ticks_of_logarithmic_axes_are_whole_numbers() -> None:
    assert _log_ticks(0.9, 30) == [1, 2, 5, 10, 20]
    assert _log_ticks(0.5, 5000) == [1, 10, 100, 1000]
