"""Formats of run-time tensors: which may have one, who gets it, what is refused, and the bytes."""

from __future__ import annotations

import json
import math
from dataclasses import replace
from pathlib import Path

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from edgeconv.app.pipeline import CompileOptions, decide
from edgeconv.base.errors import EdgeconvError
from edgeconv.ir.choice import element_align, tensor_bytes
from edgeconv.ir.encoding import FLOAT32
from edgeconv.ir.graph import Epilogue, Graph, Tensor
from edgeconv.ir.layout import CHANNELS_LAST, ROW_MAJOR, blocked
from edgeconv.ir.request import Request
from edgeconv.kernels.storage import formats
from edgeconv.model.passes import optimise
from edgeconv.search.choose.storage import by_kind, storable, store_tensors, tensor_formats
from edgeconv.search.memory.program import of_choice
from tests import onnx_models
from tests.command import BOARD, Command
from tests.ir_builder import GraphBuilder

FORMATS = [name for name in tensor_formats() if name != "float32"]


def network() -> Graph:
    """conv, depthwise, add, concat, conv: the last by an algorithm that reads float32 only."""
    b = GraphBuilder()
    x = b.input(1, 4, 6, 6, name="x")
    a = b.conv(x, 4, out="a")
    d = b.conv(a, 4, 3, 1, groups=4, epilogue=Epilogue(residual=a), out="d")
    s = b.binary("add", a, d)
    c = b.concat(1, s, d)
    graph = b.graph(b.conv(c, 4, 3, 1, out="p"))
    *nodes, last = graph.nodes
    last = replace(last, request=Request("sconv"))
    graph = replace(graph, nodes=(*nodes, last))
    floats = {name: replace(t, dtype="float32") for name, t in graph.tensors.items()}
    return graph.with_tensors(floats)


def storages(graph: Graph) -> dict[str, str]:
    return {t.name: str(t.storage) for t in graph.activations() if t.storage != FLOAT32}


def test_formats_of_tensors() -> None:
    assert set(tensor_formats()) == {"float32", "flyte24", "flyte16", "flyte8"}


def test_writer_and_every_reader_must_know_how() -> None:
    graph = network()
    concat = graph.nodes[3].output
    inner = [node.output for node in graph.nodes[:3]]
    assert storable(graph) == tuple(inner)  # not what sconv reads, not the ports
    assert concat not in inner


def test_forced_algorithm_decides() -> None:
    graph = network()
    first, *rest = graph.nodes
    forced = replace(first, request=Request("direct"))
    assert "a" in storable(replace(graph, nodes=(forced, *rest)))


def test_integers_stay() -> None:
    graph = network()
    integers = graph.with_tensors({"a": replace(graph["a"], dtype="int8")})
    assert "a" not in storable(integers)


def test_every_output_and_named_ones() -> None:
    graph = network()
    every = storages(store_tensors(graph, {"*": "flyte16"}))
    assert set(every) == set(storable(graph))
    assert set(every.values()) == {"flyte16"}
    both = storages(store_tensors(graph, {"*": "flyte16", graph.nodes[0].name: "flyte8"}))
    assert both == {**every, "a": "flyte8"}
    one = store_tensors(graph, {"*": "flyte16", graph.nodes[0].name: "float32"})
    assert "a" not in storages(one)
    assert store_tensors(graph, {}) is graph


def test_outputs_are_told_from_filters() -> None:
    graph = network()
    name = graph.nodes[0].name
    wanted = {name: "int8", f"{name}:output": "flyte16", "*:output": "flyte24", "*": "int4"}
    assert by_kind(graph, wanted) == (
        {name: "int8", "*": "int4"},
        {name: "flyte16", "*": "flyte24"},
    )


def test_a_layer_may_be_called_output() -> None:
    graph = network()
    first, *rest = graph.nodes
    named = replace(graph, nodes=(replace(first, name="conv:output"), *rest))
    assert by_kind(named, {"conv:output": "int8"}) == ({"conv:output": "int8"}, {})


@pytest.mark.parametrize(
    ("number", "rule"),
    [(4, "the model's outputs are float32"), (3, "'n4' (sconv) reads float32")],
)
def test_refuses_an_output_that_must_be_float32(number: int, rule: str) -> None:
    graph = network()
    with pytest.raises(EdgeconvError) as error:
        store_tensors(graph, {graph.nodes[number].name: "flyte16"})
    assert error.value.rule == rule
    assert error.value.code == 2
    assert storages(store_tensors(graph, {graph.nodes[number].name: "float32"})) == {}


def test_refuses_unknown_names(edgeconv: Command, residual_model: Path) -> None:
    def refused(storage: str) -> str:
        done = edgeconv("compile", residual_model, "--board", BOARD, "--storage", storage)
        assert done.status == 2
        return done.stderr

    assert "--storage names no layer: got 'stm'; did you mean stem" in refused("stm:output=flyte16")
    assert "unknown storage format: got 'int4'" in refused("stem:output=int4")
    assert "int8 names a result that the model does not round" in refused("stem:output=int8")
    assert "cannot be stored" in refused("softmax:output=flyte16")


def test_report_and_comments_follow(
    edgeconv: Command, residual_model: Path, tmp_path: Path
) -> None:
    net = tmp_path / "net"
    options = ("--board", BOARD, "--storage", "*:output=flyte16", "-o", net)
    edgeconv.ok("compile", residual_model, *options)
    report = json.loads((net / "report.json").read_text())
    stored = [layer for layer in report["layers"] if layer["storage"]["output"] == "flyte16"]
    assert stored
    for layer in report["layers"]:
        shape = math.prod(layer["output_shape"])
        element = formats()[layer["storage"]["output"]].encoding.element_bytes
        assert layer["output_bytes"] == shape * element  # portable: layouts have no padding
    text = (net / "net.c").read_text()
    assert "--storage '*:output=flyte16'" in text
    assert "flyte16 @" in text


@pytest.mark.parametrize("board", ["generic-c", "zen4"])
def test_arena_shrinks_as_the_format_says(board: str, tmp_path: Path) -> None:
    """Two bytes need not beat float32, and three may take more: its layers have other algorithms,
    which overlay others."""
    model = onnx_models.save(onnx_models.residual(16, 33), tmp_path / "net.onnx")

    def arena(storage: dict[str, str]) -> int:
        return decide(CompileOptions(model, board, storage=storage, io="caller")).memory.arena_bytes

    plain = arena({})
    three, two, one = (arena({"*:output": name}) for name in ("flyte24", "flyte16", "flyte8"))
    assert three > two > one
    assert one < plain >= two


@given(
    shape=st.tuples(st.integers(1, 3), st.integers(1, 40), st.integers(1, 7), st.integers(1, 7)),
    layout=st.sampled_from([ROW_MAJOR, CHANNELS_LAST, blocked(4), blocked(16)]),
    form=st.sampled_from(sorted(tensor_formats())),
)
def test_bytes_of_a_tensor(shape: tuple[int, ...], layout: object, form: str) -> None:
    tensor = Tensor("t", shape, layout=layout, storage=formats()[form].encoding)  # type: ignore[arg-type]
    assert tensor_bytes(tensor) * 8 == tensor.elements * formats()[form].bits
    assert tensor_bytes(tensor) % element_align(tensor) == 0


@settings(max_examples=12)
@given(
    wanted=st.dictionaries(
        st.sampled_from(["stem", "depthwise", "left", "right", "concat", "pool", "flatten"]),
        st.sampled_from(FORMATS),
    )
)
def test_planner_takes_sizes_from_formats(
    tmp_path_factory: pytest.TempPathFactory, wanted: dict[str, str]
) -> None:
    """Whatever formats meet: the map passes its own verifier (in decide), with these sizes."""
    path = tmp_path_factory.getbasetemp() / "planner.onnx"
    if not path.exists():
        onnx_models.save(onnx_models.residual(), path)
    storage = {f"{layer}:output": name for layer, name in wanted.items()}
    choice = decide(CompileOptions(path, "host", storage=storage)).choice
    sizes = of_choice(choice).sizes
    for name, size in sizes.items():
        tensor = choice.graph[name]
        assert size == tensor.elements * tensor.storage.element_bytes
    for layer in choice.layers:
        for alias in layer.aliases:
            one, other = choice.graph[alias.inner], choice.graph[alias.outer]
            assert one.storage == other.storage


def test_passes_come_before_formats() -> None:
    """Formats are set on the optimised graph: no pass sees one."""
    assert not storages(optimise(network()))
