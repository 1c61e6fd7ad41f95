"""Loop, Scan and WHILE as one layer each, whose body is compiled once."""

from __future__ import annotations

import json
from pathlib import Path
from typing import Any

import numpy as np
import numpy.typing as npt
import onnx
import onnxruntime
import pytest
from onnx import helper

from edgeconv.ir.loop import LOOP, body_of
from edgeconv.model import passes
from edgeconv.model.frontend import load
from edgeconv.model.frontend.running import prepared
from edgeconv.model.frontend.tflite import translate
from tests import tflite_loops
from tests.command import BOARD, Command
from tests.loop_models import LENGTH, MODELS, UNITS, recurrent, side_by_side

Feeds = dict[str, npt.NDArray[Any]]


def _feeds(model: onnx.ModelProto, seed: int) -> Feeds:
    rng, feeds = np.random.default_rng(seed), Feeds()
    for value in model.graph.input:
        kind = value.type.tensor_type
        shape = [dim.dim_value for dim in kind.shape.dim]
        whole = kind.elem_type == onnx.TensorProto.INT64
        feeds[value.name] = (
            np.array(seed, np.int64) if whole else rng.uniform(-1, 1, shape).astype(np.float32)
        )
    return feeds


def _expected(model: onnx.ModelProto, feeds: Feeds) -> list[npt.NDArray[Any]]:
    session = onnxruntime.InferenceSession(
        model.SerializeToString(), providers=["CPUExecutionProvider"]
    )
    return [np.asarray(each) for each in session.run(None, feeds)]


@pytest.mark.parametrize("name", MODELS)
def test_a_loop_is_one_layer_that_computes_the_same(name: str, tmp_path: Path) -> None:
    onnx.save(MODELS[name], tmp_path / "net.onnx")
    graph = passes.optimise(load(tmp_path / "net.onnx"))
    assert [node.op for node in graph.nodes].count(LOOP) == 1
    graph_of_steps = passes.optimise(load(tmp_path / "net.onnx"), sequences=False)
    moved = ("Reshape", "Transpose")
    assert [node.op for node in graph_of_steps.nodes if node.op not in moved] == [LOOP]
    run = prepared(graph)
    for seed in (0, 7):
        feeds = _feeds(MODELS[name], seed)
        got = run(feeds)
        for output, want in zip(graph.outputs, _expected(MODELS[name], feeds), strict=True):
            # Of the largest number: sums that cancel are as far off as their terms.
            near = 1e-6 * max(1.0, float(np.abs(want).max()))
            np.testing.assert_allclose(got[output], want, rtol=1e-6, atol=near)


def test_programs_of_loops_compute_what_the_model_does(edgeconv: Command, tmp_path: Path) -> None:
    """All in float32, side by side in one program."""
    others = {name: model for name, model in MODELS.items() if name != "quantised"}
    onnx.save(side_by_side(others), tmp_path / "net.onnx")
    out = tmp_path / "net"
    edgeconv.ok("compile", tmp_path / "net.onnx", "--board", BOARD, "-o", out, "--verify")
    text = (out / "net.c").read_text()
    assert text.count("for (int trip = 0; trip < 12; ++trip) {") == 2
    assert "goes; ++trip" in text  # the most is none
    assert "trip < *trips" in text


def test_weights_and_code_are_the_same_for_any_number_of_trips(
    edgeconv: Command, tmp_path: Path
) -> None:
    sizes = set()
    for length in (LENGTH, 10 * LENGTH):
        onnx.save(recurrent(scan=False, length=length), tmp_path / "net.onnx")
        done = edgeconv.ok("explain", tmp_path / "net.onnx", "--board", BOARD, "--json").json()
        sizes.add(sum(layer["weight_bytes"] for layer in done["layers"]))
    (size,) = sizes
    assert 2 * 4 * UNITS**2 <= size < 1.1 * 2 * 4 * UNITS**2


@pytest.mark.slow
def test_a_program_of_a_quantised_loop(edgeconv: Command, tmp_path: Path) -> None:
    onnx.save(MODELS["quantised"], tmp_path / "net.onnx")
    out = tmp_path / "net"
    edgeconv.ok("compile", tmp_path / "net.onnx", "--board", BOARD, "-o", out, "--verify")
    weights = json.loads((out / "report.json").read_text())["flash"]["weights"]
    assert weights < 2 * UNITS**2 + 1024


def test_formats_of_layers_have_bodies_written_out(edgeconv: Command, tmp_path: Path) -> None:
    onnx.save(recurrent(length=4), tmp_path / "net.onnx")
    command = ("explain", tmp_path / "net.onnx", "--board", BOARD, "--storage", "*=int8", "--json")
    layers = edgeconv.ok(*command).json()["layers"]
    assert {"Dense"} <= {layer["op"] for layer in layers}
    assert LOOP not in {layer["op"] for layer in layers}


@pytest.mark.parametrize("option", [("--flash", "1M"), ("--storage", "*=int8")])
def test_trips_of_run_time_are_a_layer_whatever_is_asked(
    option: tuple[str, str], edgeconv: Command, tmp_path: Path
) -> None:
    for name in ("nested", "halving"):
        onnx.save(MODELS[name], tmp_path / "net.onnx")
        command = ("explain", tmp_path / "net.onnx", "--board", BOARD, *option, "--json")
        assert LOOP in {layer["op"] for layer in edgeconv.ok(*command).json()["layers"]}


def test_a_loop_whose_state_grows_is_written_out(tmp_path: Path) -> None:
    body = helper.make_graph(
        [
            helper.make_node("Concat", ["s", "x"], ["s_out"], axis=0),
            helper.make_node("Identity", ["going"], ["goes"]),
        ],
        "body",
        [
            helper.make_tensor_value_info("i", onnx.TensorProto.INT64, []),
            helper.make_tensor_value_info("going", onnx.TensorProto.BOOL, []),
            helper.make_tensor_value_info("s", onnx.TensorProto.FLOAT, None),
        ],
        [
            helper.make_tensor_value_info("goes", onnx.TensorProto.BOOL, []),
            helper.make_tensor_value_info("s_out", onnx.TensorProto.FLOAT, None),
        ],
    )
    model = recurrent(scan=False)
    node = helper.make_node("Loop", ["trips", "", "x"], ["y"], "loop", body=body)
    del model.graph.node[:], model.graph.output[:]
    model.graph.node.append(node)
    model.graph.output.append(helper.make_tensor_value_info("y", onnx.TensorProto.FLOAT, None))
    onnx.save(model, tmp_path / "net.onnx")
    graph = load(tmp_path / "net.onnx")
    assert LOOP not in {each.op for each in graph.nodes}
    assert graph["y"].shape == ((LENGTH + 1) * LENGTH, 1, UNITS)


@pytest.mark.parametrize("kind", ["GRU", "LSTM"])
def test_a_while_loop_of_another_cell_is_one_layer(kind: str, tmp_path: Path) -> None:
    """Its counters are gone, and the list that it fills is what it collects."""
    content = tflite_loops.loop(kind, every=True, other="unknown")
    (tmp_path / "net.tflite").write_bytes(content)
    graph = passes.optimise(load(tmp_path / "net.tflite"))
    (node,) = (each for each in graph.nodes if each.op == LOOP)
    body = body_of(node)
    assert body.trips == tflite_loops.STEPS
    assert not body.condition
    assert len(body.results) == 1
    assert body.results[0] not in body.carried
    feeds = _feeds(model := translate(content, "loop").model, 3)
    got = prepared(graph)(feeds)
    np.testing.assert_allclose(got[graph.outputs[0]], _expected(model, feeds)[0], atol=1e-6)
