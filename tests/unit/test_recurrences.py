"""Recurrent cells that a model writes as operators become layers, computed alike."""

from __future__ import annotations

import json
from collections import Counter
from collections.abc import Sequence
from pathlib import Path
from typing import Any

import numpy as np
import onnx
import pytest
from onnx import numpy_helper

from edgeconv.ir.filters import RECURRENT
from edgeconv.ir.loop import LOOP, body_of
from edgeconv.model import passes
from edgeconv.model.frontend import load
from edgeconv.model.frontend.running import prepared
from edgeconv.model.frontend.tflite import translate
from tests import cell_models, tflite_loops
from tests.cell_models import (
    CELLS,
    HIDDEN,
    INPUTS,
    LENGTH,
    Cell,
    Writer,
    drawn,
    loop,
    rnn,
    scan,
    written_out,
)
from tests.command import BOARD, Command
from tests.loop_models import MODELS, side_by_side
from tests.models.random_loops import differs
from tests.recurrent_models import expected

FORMS: dict[str, tuple[Any, dict[str, Any]]] = {
    "scan": (scan, {}),
    "scan_of_batch": (scan, {"batch": 3}),
    "scan_backwards": (scan, {"back": True}),
    "loop": (loop, {"batch": 2}),
    "written_out": (written_out, {"batch": 3}),
    "written_out_backwards": (written_out, {"back": True}),
}


def _model(cell: str, form: str) -> onnx.ModelProto:
    _, states, write = CELLS[cell]
    build, options = FORMS[form]
    model: onnx.ModelProto = build(write, states, **options)
    model.opset_import[0].version = 18
    return model


def _feeds(model: onnx.ModelProto) -> dict[str, np.ndarray]:
    rng = np.random.default_rng(1)
    shapes = {
        v.name: [d.dim_value for d in v.type.tensor_type.shape.dim] for v in model.graph.input
    }
    return {name: rng.uniform(-1, 1, shape).astype(np.float32) for name, shape in shapes.items()}


def _held_to_onnxruntime(graph: Any, model: onnx.ModelProto) -> None:
    feeds = _feeds(model)
    got = prepared(graph)(feeds)
    for output, want in zip(graph.outputs, expected(model, feeds), strict=True):
        np.testing.assert_allclose(got[output], want, rtol=1e-6, atol=1e-6)


@pytest.mark.parametrize("form", FORMS)
@pytest.mark.parametrize("cell", CELLS)
def test_a_cell_is_a_recurrent_layer(cell: str, form: str, tmp_path: Path) -> None:
    """With one product of all rows in front, and nothing else that computes."""
    model = _model(cell, form)
    onnx.save(model, tmp_path / "net.onnx")
    graph = passes.optimise(load(tmp_path / "net.onnx"))
    ops = Counter(node.op for node in graph.nodes)
    assert ops.keys() <= {RECURRENT, "Dense", "Reshape", "Slice", "Transpose"}
    assert (ops[RECURRENT], ops["Dense"]) == (1, 1)
    (layer,) = (node for node in graph.nodes if node.op == RECURRENT)
    assert layer.attrs["cell"] == CELLS[cell][0]
    assert layer.attrs["directions"] == ("backward" if "backwards" in form else "forward",)
    _held_to_onnxruntime(graph, model)


@pytest.mark.parametrize("cell", CELLS)
def test_first_states_of_zeros_have_no_step_of_their_own(cell: str, tmp_path: Path) -> None:
    """The import folds the first product, which is of zeros."""
    model = _model(cell, "written_out_backwards")
    for given in [each for each in model.graph.input if each.name != "x"]:
        zeros = np.zeros((1, HIDDEN), np.float32)
        model.graph.initializer.append(numpy_helper.from_array(zeros, given.name))
        model.graph.input.remove(given)
    onnx.save(model, tmp_path / "net.onnx")
    graph = passes.optimise(load(tmp_path / "net.onnx"))
    (layer,) = (node for node in graph.nodes if node.op == RECURRENT)
    assert graph[layer.inputs[0]].shape[0] == LENGTH
    assert not {"Binary", "Unary"} & {node.op for node in graph.nodes}
    _held_to_onnxruntime(graph, model)


def _changed(what: str) -> onnx.ModelProto:
    """A GRU that is written out, but for one thing."""
    model = _model("torch_gru", "written_out")
    nodes = list(model.graph.node)
    if what == "weights of one step":
        other = np.ones((3 * HIDDEN, HIDDEN), np.float32)
        model.graph.initializer.append(numpy_helper.from_array(other, "other"))
        products = [node for node in nodes if node.op_type == "Gemm" and node.input[1] == "r"]
        products[3].input[1] = "other"
    elif what == "function of one step":
        [node for node in nodes if node.op_type == "Tanh"][3].op_type = "Erf"
    else:
        assert what == "two states"
        mixed = [node for node in nodes if node.op_type == "Sub"]
        mixed[3].input[0] = mixed[2].input[0]
    return model


@pytest.mark.parametrize("what", ["weights of one step", "function of one step", "two states"])
def test_what_differs_in_one_step_is_not_part_of_the_layer(what: str, tmp_path: Path) -> None:
    model = _changed(what)
    onnx.save(model, tmp_path / "net.onnx")
    graph = passes.optimise(load(tmp_path / "net.onnx"))
    lengths = [graph[node.inputs[0]].shape[0] for node in graph.nodes if node.op == RECURRENT]
    assert all(length < LENGTH for length in lengths)
    assert "Binary" in {node.op for node in graph.nodes}
    _held_to_onnxruntime(graph, model)


@pytest.mark.parametrize("name", ["scan", "loop", "quantised"])
def test_products_with_rows_are_in_front_of_a_loop(name: str, tmp_path: Path) -> None:
    onnx.save(MODELS[name], tmp_path / "net.onnx")
    graph = passes.optimise(load(tmp_path / "net.onnx"))
    (node,) = (each for each in graph.nodes if each.op == LOOP)
    inside = [each.op for each in body_of(node).graph.nodes]
    assert inside.count("Dense") == 1  # of the state
    (product,) = (each for each in graph.nodes if each.op == "Dense")
    assert graph[product.output].shape[0] == body_of(node).trips


def test_random_loops_compute_what_the_model_does() -> None:
    assert [said for seed in range(20) if (said := differs(seed))] == []


def test_programs_of_cells_compute_what_the_model_does(edgeconv: Command, tmp_path: Path) -> None:
    """One of each cell, side by side in one program."""
    forms = zip(CELLS, FORMS, strict=False)
    onnx.save(
        side_by_side({cell: _model(cell, form) for cell, form in forms}), tmp_path / "net.onnx"
    )
    out = tmp_path / "net"
    edgeconv.ok("compile", tmp_path / "net.onnx", "--board", BOARD, "-o", out, "--verify")
    report = json.loads((out / "report.json").read_text())
    assert [layer["op"] for layer in report["layers"]].count(RECURRENT) == len(CELLS)
    assert report["program"]["recurrences"] == {"loops": True, "sequences": True}


def test_sums_of_whole_sequences_give_way_to_memory(edgeconv: Command, tmp_path: Path) -> None:
    """A loop over many rows: its layer has the sums of all of them in RAM."""
    model = loop(CELLS["torch_gru"][2], 1, length=200)
    model.opset_import[0].version = 18
    onnx.save(model, tmp_path / "net.onnx")
    command = ("explain", tmp_path / "net.onnx", "--board", "mps2-an386", "--json")
    ram = {}
    for option in ((), ("--objective", "memory"), ("--ram", "18K")):
        found = edgeconv.ok(*command, *option).json()
        assert (LOOP in {layer["op"] for layer in found["layers"]}) is bool(option)
        ram[option[:1]] = found["ram"]["total"]
    assert ram[("--objective",)] <= ram[("--ram",)] < ram[()]


def test_steps_of_litert_torch_are_a_layer(
    edgeconv: Command, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    """With the flash of its weights and biases once."""
    (tmp_path / "net.tflite").write_bytes(content := tflite_loops.unrolled_gru())
    graph = passes.optimise(load(tmp_path / "net.tflite"))
    ops = [node.op for node in graph.nodes if node.op not in ("Reshape", "Slice")]
    assert ops == ["Dense", RECURRENT]
    _held_to_onnxruntime(graph, translate(content, "net").model)
    for name, size in {"STEPS": 20, "INPUTS": 12, "HIDDEN": 32}.items():
        monkeypatch.setattr(tflite_loops, name, size)
    (tmp_path / "net.tflite").write_bytes(tflite_loops.unrolled_gru())
    command = ("explain", tmp_path / "net.tflite", "--board", "mps2-an386", "--json")
    flash = edgeconv.ok(*command).json()["flash"]["weights"]
    own = sum(value.nbytes for value in tflite_loops.weights("GRU").values())
    assert flash <= 1.1 * own


def peephole_lstm(to: Writer, x: str, states: Sequence[str]) -> list[str]:
    """Its gates read the cell state, which no step knows before the one in front of it has run."""
    h, c = states
    rows = 4 * HIDDEN
    weights = [to.held(n, drawn(n, size, rows)) for n, size in (("w", INPUTS), ("r", HIDDEN))]
    total = to.add("Add", to.add("MatMul", x, weights[0]), to.add("MatMul", h, weights[1]))
    sums = to.add_all("Split", total, count=4, axis=1, num_outputs=4)
    peep = (to.add("Mul", c, to.held(f"peep_{n}", drawn(f"peep{n}", HIDDEN))) for n in range(4))
    i, f, g, o = (to.add("Add", *pair) for pair in zip(sums, peep, strict=True))
    i, f, o = (to.add("Sigmoid", each) for each in (i, f, o))
    c = to.add("Add", to.add("Mul", f, c), to.add("Mul", i, to.add("Tanh", g)))
    h = to.add("Mul", o, to.add("Tanh", c))
    return [h, c, h]


def feedback(to: Writer, x: str, states: Sequence[str]) -> list[str]:
    """Its rows are computed of what the step before said, as those of a decoder are."""
    said = to.add("Softmax", to.add("MatMul", states[0], to.held("v", drawn("v", HIDDEN, INPUTS))))
    return rnn(to, to.add("Add", x, said), states)


@pytest.mark.parametrize(("cell", "states"), [(peephole_lstm, 2), (feedback, 1)])
def test_rows_behind_a_state_are_no_sequence(cell: Cell, states: int, tmp_path: Path) -> None:
    model = written_out(cell, states)
    model.opset_import[0].version = 18
    onnx.save(model, tmp_path / "net.onnx")
    graph = passes.optimise(load(tmp_path / "net.onnx"))
    assert RECURRENT not in {node.op for node in graph.nodes}
    _held_to_onnxruntime(graph, model)


@pytest.mark.parametrize("cell", CELLS)
def test_rows_as_wide_as_the_state_are_not_taken_for_it(
    cell: str, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(cell_models, "INPUTS", HIDDEN)
    model = _model(cell, "written_out")
    onnx.save(model, tmp_path / "net.onnx")
    graph = passes.optimise(load(tmp_path / "net.onnx"))
    assert [node.op for node in graph.nodes].count(RECURRENT) == 1
    assert not {"Binary", "Unary"} & {node.op for node in graph.nodes}
    _held_to_onnxruntime(graph, model)
