"""--state: what it takes, what it refuses, and what is left where it is used with other options."""

from __future__ import annotations

import json
from pathlib import Path

import numpy as np
import onnx
import pytest
from onnx import TensorProto, helper

from edgeconv.base.errors import EdgeconvError, Exit, UsageError
from edgeconv.ir.graph import KEEP
from edgeconv.ir.states import with_kept_states
from edgeconv.model.frontend import Cut, load
from edgeconv.model.passes import optimise
from edgeconv.search.calibration import samples
from tests import state_models
from tests.command import BOARD, Command
from tests.models.test_states import compiled
from tests.onnx_runtime import session

Pairs = list[tuple[str, str]]


@pytest.fixture
def model(tmp_path: Path) -> Path:
    """y = (s + x) of four floats, next of s; long of five, count an int64; inner = ReLU(s + x)."""
    value = helper.make_tensor_value_info
    floats, whole = TensorProto.FLOAT, TensorProto.INT64
    nodes = [
        helper.make_node("Add", ["state", "x"], ["state_next"], "add"),
        helper.make_node("Relu", ["state_next"], ["inner"], "relu"),
        helper.make_node("Neg", ["inner"], ["y"], "neg"),
        helper.make_node("Concat", ["x", "one"], ["long"], "concat", axis=0),
        helper.make_node("Cast", ["x"], ["count"], "cast", to=whole),
        helper.make_node("Add", ["other", "x"], ["z"], "add_other"),
    ]
    graph = helper.make_graph(
        nodes,
        "test",
        [value(name, floats, [4]) for name in ("x", "state", "other")],
        [value(name, floats, [4]) for name in ("y", "state_next", "z")]
        + [value("long", floats, [5]), value("count", whole, [4])],
        [helper.make_tensor("one", floats, [1], [1.0])],
    )
    opset = [helper.make_opsetid("", 17)]
    onnx.save(helper.make_model(graph, opset_imports=opset, ir_version=9), tmp_path / "net.onnx")
    return tmp_path / "net.onnx"


@pytest.mark.parametrize(
    ("pairs", "said"),
    [
        ([("state_nxt", "state")], "'state_nxt'; it is no output; did you mean state_next"),
        ([("state_next", "stat")], "'stat'; it is no input; did you mean state"),
        ([("inner", "state")], "it is no output; --output inner makes it one"),
        ([("long", "state")], "output 'long' is 5, input 'state' is 4; both have one shape"),
        ([("count", "state")], "is int64, input 'state' is float32; both have one element type"),
        (
            [("state_next", "state"), ("z", "state")],
            "input 'state'; it is the state that output 'state_next' makes already",
        ),
    ],
)
def test_what_is_no_state(pairs: Pairs, said: str, model: Path) -> None:
    with pytest.raises(UsageError) as error:
        load(model, states=pairs)
    assert said in str(error.value)


def test_something_remains_to_be_computed(model: Path) -> None:
    with pytest.raises(UsageError, match="every output is a state"):
        load(model, states=[("state_next", "state")], cut_at=Cut(outputs=("state_next",)))


def test_the_command_line_names_the_option(model: Path, tmp_path: Path, edgeconv: Command) -> None:
    out = tmp_path / "out"
    done = edgeconv("compile", model, "--board", BOARD, "-o", out, "--state", "state_next")
    assert done.status == Exit.USAGE
    assert "it reads NAME=VALUE" in done.stderr
    done = edgeconv("compile", model, "--board", BOARD, "-o", out, "--state", "y=no")
    assert done.status == Exit.USAGE
    assert "--state" in done.stderr
    assert not out.exists()


def test_an_output_is_several_states(model: Path) -> None:
    graph = load(model, states=[("state_next", "state"), ("state_next", "other")])
    assert graph.input_ports == ("x",)
    assert graph.output_ports == ("y", "z", "long", "count")
    assert len({state.output for state in graph.states}) == 2


def test_states_are_kept_behind_their_readers(tmp_path: Path) -> None:
    """Each by a node of its own, whatever the passes have left."""
    network = state_models.crossing()
    path = network.saved(tmp_path)
    graph = with_kept_states(optimise(load(path, states=network.states)))
    assert with_kept_states(graph) is graph
    at = {node.name: number for number, node in enumerate(graph.nodes)}
    for state in graph.states:
        (keep,) = (node for node in graph.nodes if node.outputs == (state.output,))
        assert keep.op == KEEP
        readers = graph.consumers()[state.input]
        assert all(at[reader.name] < at[keep.name] for reader in readers)


def test_what_states_begin_with(model: Path, tmp_path: Path, edgeconv: Command) -> None:
    """A file's numbers, after a reset too; and what a state is called in C."""
    file, out, begun = tmp_path / "begun.npz", tmp_path / "out", np.array([1, -2, 0, 0.5])
    np.savez(file, state=begun.astype(np.float32))
    words = ("--board", BOARD, "-o", out, "--state", "state_next=state", "--output", "y")
    given = (*words, "--output", "state_next", "--initial-states", file, "--rename", "state=memory")
    edgeconv.ok("compile", model, *given)
    (entry,) = json.loads((out / "report.json").read_text())["states"]
    assert entry["initial"] == begun.tolist()
    header = (out / "net.h").read_text()
    assert "float *net_state_memory(" in header
    assert "NET_STATE_MEMORY_ELEMENTS" in header
    done = edgeconv.ok("verify", out, "--model", model, "--steps", "3")
    assert "equal within tolerance" in done.stdout
    edgeconv.ok("update-weights", out, model, "-o", tmp_path / "new.bin")
    file.rename(tmp_path / "gone.npz")
    done = edgeconv("update-weights", out, model, "-o", tmp_path / "new.bin")
    assert done.status == Exit.USAGE
    assert "--initial-states begun.npz" in done.stderr


@pytest.mark.parametrize(
    ("name", "values", "said"),
    [
        ("stat", [0, 0, 0, 0], "got 'stat'; did you mean state"),
        ("state", [0, 0, 0], "got 3; the state is 4"),
        ("state", [0, 0, 0, np.nan], "got nan; states begin finite"),
    ],
)
def test_what_states_cannot_begin_with(
    name: str, values: list[float], said: str, model: Path, tmp_path: Path
) -> None:
    file = tmp_path / "begun.npz"
    np.savez(file, **{name: np.array(values, np.float32)})  # type: ignore[arg-type]
    with pytest.raises(EdgeconvError) as error:
        load(model, states=[("state_next", "state")], initial_states=file)
    assert said in str(error.value)
    np.savez(file)
    with pytest.raises(
        UsageError, match="no arrays; states begin with .* 'state', or no --initial"
    ):
        load(model, states=[("state_next", "state")], initial_states=file)
    with pytest.raises(UsageError, match="the network keeps no state"):
        load(model, initial_states=file)


def test_steps_are_of_networks_with_states(tmp_path: Path, edgeconv: Command) -> None:
    """And samples of those without; sequences have one length."""
    project = compiled(state_models.crossing(), tmp_path)
    rows = np.zeros((6, 1, 5), np.float32)
    for arrays, words, said in (
        ({"x": rows}, ["--steps", "7"], "--steps 7; the file has 6"),
        ({"x": rows[:, :, :4]}, [], "the program takes 6x1x5"),
        ({"y": rows}, [], "no such input"),
    ):
        np.savez(tmp_path / "x.npz", **arrays)
        given: list[str | Path] = ["--model", tmp_path / "net.onnx", "--inputs", tmp_path / "x.npz"]
        done = edgeconv("verify", project.directory, *given, *words)
        assert done.status == Exit.USAGE
        assert said in done.stderr
    given_samples: list[str | Path] = [
        "--model",
        tmp_path / "net.onnx",
        "--samples",
        tmp_path / "x.npz",
    ]
    done = edgeconv("verify", project.directory, *given_samples)
    assert done.status == Exit.USAGE
    assert "keeps states from run to run" in done.stderr


def test_a_network_without_states_has_no_steps(
    model: Path, tmp_path: Path, edgeconv: Command
) -> None:
    edgeconv.ok("compile", model, "--board", BOARD, "-o", tmp_path / "out")
    done = edgeconv("verify", tmp_path / "out", "--model", model, "--steps", "3")
    assert done.status == Exit.USAGE
    assert "the network keeps no state" in done.stderr


def test_states_apart_where_there_are_some(model: Path, tmp_path: Path, edgeconv: Command) -> None:
    words: list[str | Path] = ["--board", BOARD, "-o", tmp_path / "out", "--states-apart"]
    done = edgeconv("compile", model, *words)
    assert done.status == Exit.USAGE
    assert "--states-apart: the network keeps no state" in done.stderr
    edgeconv.ok("compile", model, *words, "--state", "state_next=state")
    said = (tmp_path / "out" / "report.json").read_text()
    assert "--states-apart" in json.loads(said)["program"]["command"]


def test_states_in_several_memories_do_not_lie_apart(tmp_path: Path) -> None:
    b, states = state_models.Builder(), {f"s{i}": (1, 7000) for i in range(3)}  # 84,000 bytes
    for name in states:
        b("Tanh", b("Add", name, "x"), to=f"{name}_next")
    b("Max", *states, to="y")
    network = state_models.Stateful(b.model({"x": (1, 1), **states}, "y"))
    with pytest.raises(EdgeconvError, match="states lie apart from an arena that is in one memory"):
        compiled(network, tmp_path, "stm32f407", states_apart=True)


def test_samples_are_sequences(tmp_path: Path, edgeconv: Command) -> None:
    """Each run with the states that the network has made by then; it is quantised by them, and the
    program keeps to what was written."""
    network = state_models.causal(4)
    path, file = network.saved(tmp_path), tmp_path / "x.npz"
    rng = np.random.default_rng(0)
    sequences = rng.standard_normal((2, 20, 1, 4, 1)).astype(np.float32)
    np.savez(file, x=sequences)
    graph = optimise(load(path, states=network.states))
    found = samples.load(file, graph)
    assert len(found) == 40
    engine = session(network.model)
    for number, sequence in enumerate(sequences):
        kept = {
            state.input: np.zeros(graph[state.input].shape, np.float32) for state in graph.states
        }
        for step, x in enumerate(sequence):
            for name, values in kept.items():
                got = found.inputs[name][number * 20 + step]
                np.testing.assert_allclose(got, values, rtol=1e-4, atol=1e-5)
            names = [state.output for state in graph.states]
            made = dict(zip(names, engine.run(names, {"x": x, **kept}), strict=True))
            kept = {state.input: made[state.output] for state in graph.states}
    words = [word for pair in network.states for word in ("--state", "=".join(pair))]
    int8 = tmp_path / "int8.onnx"
    edgeconv.ok("quantise", path, "--samples", file, "-o", int8, *words)
    edgeconv.ok("compile", int8, "--board", BOARD, "-o", tmp_path / "out", *words)
    edgeconv.ok("verify", tmp_path / "out", "--model", int8, "--steps", "6")
    np.savez(file, x=sequences[..., 0])
    done = edgeconv("quantise", path, "--samples", file, "-o", int8, *words)
    assert done.status == Exit.USAGE
    assert "sequences are Tx1x4x1 or SxTx1x4x1" in done.stderr
