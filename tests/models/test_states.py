"""Networks that keep states from run to run: against ONNX Runtime, step by step."""

from __future__ import annotations

import re
import subprocess
from pathlib import Path

import numpy as np
import pytest

from edgeconv.app.pipeline import CompileOptions, compile_model, verify_project
from edgeconv.run.build.project import Project
from tests import state_models, state_steps, tflite_streams
from tests.compilers import sanitized
from tests.state_models import Stateful
from tests.tflite_files import saved
from tests.tools import available, booting

pytestmark = pytest.mark.usefixtures("unoptimised")

STEPS = 200
SLOW = [pytest.mark.slow]

# Two models that share the weights take turns; then one is reset, and begins again.
TWO_MODELS = """\
#include "net.h"
#include <string.h>

static _Alignas(64) unsigned char arenas[2][NET_ARENA_BYTES];
static float x[4][NET_INPUT_ELEMENTS], y[2][4][NET_OUTPUT_ELEMENTS], again[NET_OUTPUT_ELEMENTS];

int main(void)
{
    net_model models[2];
    for (int m = 0; m < 2; m++) {
        memset(arenas[m], 0xff - m, NET_ARENA_BYTES);
        if (net_init(&models[m], net_weights, NET_WEIGHTS_BYTES, arenas[m], NET_ARENA_BYTES))
            return 1;
    }
    for (int step = 0; step < 4; step++)
        for (int i = 0; i < NET_INPUT_ELEMENTS; i++)
            x[step][i] = (float)((step * 31 + i * 17) % 23) / 16.0f - 0.7f;
    for (int step = 0; step < 4; step++)
        for (int m = 0; m < 2; m++)
            if (net_run(&models[m], x[step], y[m][step]))
                return 2;
    if (memcmp(y[0], y[1], sizeof y[0]))
        return 3;
    if (net_run(&models[0], x[0], again) || !memcmp(again, y[0][0], sizeof again))
        return 4; /* it remembers */
    if (net_reset(&models[0]) || net_run(&models[0], x[0], again))
        return 5;
    if (memcmp(again, y[0][0], sizeof again))
        return 6;
    if (net_run(&models[1], x[0], again) || !memcmp(again, y[0][0], sizeof again))
        return 7; /* the other one was not reset */
    return net_reset(0) == NET_E_NULL ? 0 : 8;
}
"""


def compiled(
    network: Stateful, folder: Path, board: str = "generic-c", **options: object
) -> Project:
    model = network.saved(folder)
    asked = CompileOptions(model, board, states=network.states, **options)  # type: ignore[arg-type]
    return compile_model(asked, folder / "out")[0]


@pytest.mark.parametrize(
    ("name", "board"),
    [
        ("crossing", "generic-c"),
        ("causal", "generic-c"),
        ("recurrent", "host"),
        ("enhancer", "host"),
    ],
)
def test_every_step_is_that_of_onnx_runtime(name: str, board: str, tmp_path: Path) -> None:
    network = state_models.NETWORKS[name]()
    project = compiled(network, tmp_path, board, io="arena" if board == "host" else "caller")
    assert [port.name for port in project.inputs] == ["x"]
    assert [port.name for port in project.outputs] == ["y"]
    result = verify_project(project.directory, model=tmp_path / "net.onnx", steps=STEPS)
    assert result.passed
    assert result.steps == STEPS
    assert not result.unwritten
    assert max(each.relative for each in result.carried) < state_steps.MOST
    assert {each.name for each in result.outputs} == {"y", *(out for out, _ in network.states)}
    # What main.c compares with is every step's.
    program = sanitized(project, tmp_path / "sanitized")
    run = [str(program.path)]
    done = subprocess.run(run, cwd=project.directory, capture_output=True, text=True, check=False)
    assert done.returncode == 0, done.stdout + done.stderr
    assert done.stdout.count("run ") == STEPS
    assert "equal" in done.stdout


@pytest.mark.parametrize("board", booting(state_steps.BOOTED))
def test_steps_on_microcontrollers(board: str, tmp_path: Path) -> None:
    available(board)
    network = state_models.enhancer(4, 8)
    project = compiled(network, tmp_path, board, objective="memory", selftest=True)
    result = verify_project(project.directory, model=tmp_path / "net.onnx", steps=5)
    assert result.passed
    assert result.steps == 5
    assert max(each.relative for each in result.carried) < state_steps.MOST


@pytest.mark.slow
@pytest.mark.parametrize("board", state_steps.BOARDS)
@pytest.mark.parametrize("name", sorted(state_models.NETWORKS))
def test_200_steps(name: str, board: str, tmp_path: Path) -> None:
    """From the program's own states, and again from a reset, of which the bits are the same."""
    available(board)
    made = state_steps.beside_onnxruntime(name, board, tmp_path)
    assert made.within(state_steps.MOST)
    assert made.steps == STEPS


def test_each_model_has_states_of_its_own(tmp_path: Path) -> None:
    project = compiled(state_models.enhancer(4, 8), tmp_path)
    (project.directory / "main.c").write_text(TWO_MODELS)
    program = sanitized(project, tmp_path / "two")
    assert subprocess.run([str(program.path)], check=False).returncode == 0


@pytest.mark.parametrize("name", sorted(tflite_streams.STREAMS))
def test_variables_of_tensorflow_lite_are_states(name: str, tmp_path: Path) -> None:
    """Bit for bit what LiteRT's reference kernels compute, at every step and after a reset."""
    assert state_steps.beside_litert(name, "generic-c", tmp_path).within(0.0)
    model = tmp_path / "net.tflite"
    project = Project.open(tmp_path / "out")
    assert [state.given.dtype for state in project.states] == ["int8"] * 4
    assert verify_project(project.directory, model=model, steps=3).passed


@pytest.mark.parametrize(
    ("name", "board"),
    [
        pytest.param(name, board, marks=[] if (name, board) == ("one", "mps2-an386") else SLOW)
        for name in sorted(tflite_streams.STREAMS)
        for board in state_steps.BOOTED
    ],
)
def test_variables_on_microcontrollers(name: str, board: str, tmp_path: Path) -> None:
    available(board)
    made = state_steps.beside_litert(name, board, tmp_path)
    assert made.within(0.0)
    assert made.steps == STEPS


def test_a_state_between_equal_grids_is_of_integers(tmp_path: Path) -> None:
    """What the model rounds in front of it and behind it, to the same numbers."""
    project = compiled(state_models.quantised(), tmp_path)
    (entry,) = project.report["states"]
    assert (entry["name"], entry["output"], entry["dtype"]) == ("s0", "s0_next", "int8")
    assert (entry["bytes"], set(entry["initial"])) == (16, {5})
    assert "int8_t *net_state_s0(" in (project.directory / "net.h").read_text()
    (state,) = project.states
    assert (state.given.dtype, state.initial.any()) == ("float32", np.False_)
    result = verify_project(project.directory, model=tmp_path / "net.onnx", steps=9)
    assert result.passed
    assert max(each.max_abs for each in result.carried) == 0


def test_nothing_moves_but_the_window(tmp_path: Path) -> None:
    """Frames are rounded into the window that lies over the state, which is in the layout of the
    convolution; what remains is one memmove."""
    project = compiled(state_models.quantised(), tmp_path)
    places = {each["name"]: each for each in project.report["arena_map"]}
    (window,) = (each["output"] for each in project.report["layers"] if each["op"] == "Concat")
    assert places["s0/integers"]["offset"] == places[window]["offset"]
    emitted = (project.directory / "net.c").read_text()
    assert emitted.count("memmove(") == 1
    assert not re.search(r"net_(concat|slice|convert|transpose|quantise|dequantise)\w*\(", emitted)


def test_a_state_between_other_grids_is_of_real_numbers(tmp_path: Path) -> None:
    network = state_models.quantised()
    zero = next(t for t in network.model.graph.initializer if t.name == "c1")
    zero.raw_data = np.int8(4).tobytes()
    project = compiled(network, tmp_path)
    assert project.report["states"][0]["dtype"] == "float32"
    assert verify_project(project.directory, model=tmp_path / "net.onnx", steps=3).passed


def test_states_in_integers_are_not_converted(tmp_path: Path) -> None:
    """A window takes its own bytes and no more, where it is read as it lies."""
    model = saved(tflite_streams.STREAMS["three"]().bytes(), tmp_path)
    project, _ = compile_model(CompileOptions(model, "mps2-an500"), tmp_path / "out")
    kept = [each for each in project.report["layers"] if each["op"] in ("Concat", "Keep")]
    assert len(kept) == 8
    assert all(each["output_bytes"] == np.prod(each["output_shape"]) for each in kept)
    assert "net_convert" not in (project.directory / "net.c").read_text()
    places = {each["name"]: each for each in project.report["arena_map"]}
    for number in (1, 2, 3):
        assert places[f"window_{number}"]["offset"] == places[f"stream_{number}/states"]["offset"]


# A run in steps that is interrupted: states are no one's to reset until it is given up or ended.
INTERRUPTED = """\
#include "net.h"

static _Alignas(64) unsigned char arena[NET_ARENA_BYTES];
static float x[NET_INPUT_ELEMENTS], y[NET_OUTPUT_ELEMENTS];

int main(void)
{
    net_model model;
    if (net_init(&model, net_weights, NET_WEIGHTS_BYTES, arena, sizeof arena))
        return 1;
    if (net_step(&model, NET_STEP_MIN, x, y) != NET_MORE || net_reset(&model) != NET_E_BUSY)
        return 2;
    net_abort(&model);
    return net_reset(&model);
}
"""


def test_states_of_a_run_in_steps_and_by_threads(tmp_path: Path) -> None:
    network = state_models.enhancer(4, 8)
    project = compiled(network, tmp_path, threads=2)
    assert verify_project(project.directory, model=tmp_path / "net.onnx", steps=5).passed
    project = compiled(network, tmp_path, resumable=True)
    assert verify_project(project.directory, model=tmp_path / "net.onnx", steps=5).passed
    (project.directory / "main.c").write_text(INTERRUPTED)
    program = sanitized(project, tmp_path / "interrupted")
    assert subprocess.run([str(program.path)], check=False).returncode == 0
