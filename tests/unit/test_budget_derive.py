"""Tables of a real network: the sums are what its uniform choices take."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import replace
from pathlib import Path

import pytest

from edgeconv.codegen.emit import weight_image
from edgeconv.ir.choice import Choice
from edgeconv.model import frontend, passes
from edgeconv.search import choose
from edgeconv.search.budget import Objective, Tables, Uniform, tables, uniform
from edgeconv.search.budget.tables import ACTIVATION, WEIGHTS
from edgeconv.search.choose.storage import storable
from edgeconv.search.memory.plan import plan
from edgeconv.search.predict import LayerPrediction, Prediction, Traffic
from edgeconv.target import board as boards
from tests.memory_choices import Net

DIGITS = Path(__file__).parents[2] / "examples" / "digits" / "digits-cnn.onnx"
WEIGHT_FORMATS = ("float32", "flyte24", "flyte16", "int8")
ACTIVATION_FORMATS = ("flyte24", "flyte16")
NOISE = {"float32": 0.0, **dict.fromkeys(ACTIVATION_FORMATS, 1e-6)}


@pytest.fixture(scope="module")
def networks() -> dict[str, Uniform]:
    """By ``storage`` of all layers: ``form`` of the weights, ``:form`` of the activations."""
    board = boards.load("odroid-xu3")
    graph = passes.optimise(frontend.load(DIGITS))
    wanted = {form: {"*": form} for form in WEIGHT_FORMATS}
    wanted |= {f":{form}": {"*:output": form} for form in ACTIVATION_FORMATS}
    wanted["float32"] = {}
    return {
        name: uniform(choose.select(graph, board.target, storage=storage), board)
        for name, storage in wanted.items()
    }


@pytest.fixture(scope="module")
def made(networks: dict[str, Uniform]) -> Tables:
    return make(networks)


def make(
    networks: dict[str, Uniform], activation_noise: Mapping[str, float] | None = None
) -> Tables:
    graph = passes.optimise(frontend.load(DIGITS))
    layers = [node.name for node in graph.nodes if node.op in ("Conv", "Dense")]
    able = storable(graph)
    assert layers
    assert able
    return tables(
        {form: networks[form] for form in WEIGHT_FORMATS},
        {layer: {form: 1e-3 * k for k, form in enumerate(WEIGHT_FORMATS)} for layer in layers},
        activations={form: networks[f":{form}"] for form in ACTIVATION_FORMATS},
        activation_noise=dict.fromkeys(able, activation_noise or NOISE),
        storable=able,
    )


def everywhere(tables: Tables, kind: str, form: str) -> tuple[int, ...]:
    """All items of one kind in one format, the others in float32."""
    return tuple(
        [option.format for option in item.options].index(form if item.kind == kind else "float32")
        for item in tables.items
    )


@pytest.mark.parametrize("form", WEIGHT_FORMATS)
def test_weights_add_up(made: Tables, networks: dict[str, Uniform], form: str) -> None:
    picked, network = everywhere(made, WEIGHTS, form), networks[form]
    assert made.flash_bytes(picked) == weight_image(network.choice, network.memory).bytes
    # Caches are shared between layers: the parts may differ from the whole by a little.
    assert network.prediction.ms is not None
    assert network.prediction.mj is not None
    milliseconds = 1e3 * made.cost(Objective.LATENCY, picked)
    assert milliseconds == pytest.approx(network.prediction.ms, rel=0.01)
    millijoules = 1e3 * made.cost(Objective.ENERGY, picked)
    assert millijoules == pytest.approx(network.prediction.mj, rel=0.01)


@pytest.mark.parametrize("form", ACTIVATION_FORMATS)
def test_activations_add_up(made: Tables, networks: dict[str, Uniform], form: str) -> None:
    picked, network = everywhere(made, ACTIVATION, form), networks[f":{form}"]
    assert made.ram_bytes(picked) == network.memory.lower_bound
    milliseconds = 1e3 * made.cost(Objective.LATENCY, picked)
    assert milliseconds == pytest.approx(network.prediction.ms, rel=0.01)
    millijoules = 1e3 * made.cost(Objective.ENERGY, picked)
    assert millijoules == pytest.approx(network.prediction.mj, rel=0.01)


def test_formats_are_what_select_takes(made: Tables) -> None:
    board = boards.load("odroid-xu3")
    graph = passes.optimise(frontend.load(DIGITS))
    picked = tuple(len(item.options) - 1 for item in made.items)
    choice = choose.select(graph, board.target, storage=made.formats(picked))
    stored = {
        layer.node.name: str(layer.blobs[0].storage) for layer in choice.layers if layer.blobs
    }
    assert set(stored.values()) == {"int8"}
    assert made.noise(picked) == pytest.approx(
        sum(3e-3 if item.kind == WEIGHTS else 1e-6 for item in made.items)
    )


def test_only_what_is_offered_is_chosen(
    networks: dict[str, Uniform],
) -> None:
    forced = make(networks, {"flyte16": 1e-6})
    outputs = [item for item in forced.items if item.kind == ACTIVATION]
    assert outputs
    assert {option.format for item in outputs for option in item.options} == {"flyte16"}
    picked = tuple(0 for _ in forced.items)
    assert forced.ram_bytes(picked) == networks[":flyte16"].memory.lower_bound


def network(choice: Choice, milliseconds: Mapping[str, float]) -> Uniform:
    """``choice`` with layers that take so long, and three times as many millijoules."""
    memory = plan(choice)
    times = [milliseconds.get(choice.layers[i].node.name, 0.0) for i in memory.order]
    layers = tuple(LayerPrediction(ms, 3 * ms, None, Traffic({}, None)) for ms in times)
    return Uniform(choice, memory, Prediction(layers, sum(times), 3 * sum(times), "", "", None))


def test_a_conversion_is_charged_to_who_reads_it_else_to_who_wrote_it() -> None:
    net = Net(io="caller")
    net.input("x", 8)
    net.layer("a", 8, "x")
    convert(net, "to_b", "a")
    net.layer("b", 8, "to_b")
    net.layer("c", 8, "to_b")
    convert(net, "to_d", "x")
    net.layer("d", 8, "to_d")
    convert(net, "y", "c")
    times = {"a": 1, "to_b": 2, "b": 4, "c": 8, "to_d": 16, "d": 32, "y": 64}
    base = network(net.choice("b", "y", "d"), {f"make_{name}": ms for name, ms in times.items()})
    found = tables({"float32": base}, {f"make_{n}": {"float32": 0.0} for n in "abcd"})
    milliseconds = {item.name: 1e3 * item.options[0].seconds for item in found.items}
    # The one of `a` to the first of its readers, that of an input too; nobody reads the output's.
    assert milliseconds == pytest.approx(
        {"make_a": 1, "make_b": 2 + 4, "make_c": 8 + 64, "make_d": 16 + 32}
    )
    assert {item.name: 1e3 * item.options[0].joules for item in found.items} == pytest.approx(
        {name: 3 * ms for name, ms in milliseconds.items()}
    )
    assert found.seconds == pytest.approx(0.0)


def convert(net: Net, output: str, of: str) -> None:
    """A layer that changes the layout of ``of``."""
    net.layer(output, 8, of)
    layer = net.layers[-1]
    net.layers[-1] = replace(layer, node=replace(layer.node, op="Convert"))


def test_workspaces_of_formats_are_rounded_up_like_the_arena() -> None:
    """Each to the alignment by itself: 48 bytes are 16 more than 20, which take 32."""
    net = Net(align=16, io="caller")
    net.input("x", 256, "float32")
    net.layer("t", 256, "x", dtype="float32", workspace=20)
    net.layer("y", 256, "t", dtype="float32")
    base = network(net.choice("y"), {})

    def with_workspace(size: int) -> Uniform:
        first, last = base.choice.layers
        layers = (replace(first, workspace_bytes=size), last)
        return replace(base, choice=replace(base.choice, layers=layers))

    found = tables(
        {"float32": base},
        {},
        activations={"flyte24": with_workspace(48), "flyte16": with_workspace(0)},
        activation_noise={"t": {"float32": 0.0, "flyte24": 1e-9, "flyte16": 1e-6}},
        storable={"t"},
    )
    (step,) = (step for step in found.steps if step.name == "make_t")
    assert [step.bytes([k]) for k in range(3)] == [256 + 32, 192 + 48, 128 + 0]
