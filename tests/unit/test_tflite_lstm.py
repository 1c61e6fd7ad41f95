"""The LSTM in integers, bit for bit TensorFlow Lite Micro's: the definition, its model in ONNX, and
programs, whose states stay from run to run."""

from __future__ import annotations

import subprocess
from pathlib import Path
from typing import Any

import numpy as np
import numpy.typing as npt
import pytest

from edgeconv.app.pipeline import compile_model, verify_project
from edgeconv.base.errors import EdgeconvError
from edgeconv.ir.requantisation import TFLITE
from edgeconv.ir.requantisation.tflite_lstm import (
    GATES,
    THIRDS,
    Grid,
    ShortLstm,
    Weights,
    in_reach,
    short_lstm,
    step,
)
from edgeconv.ir.requantisation.tflite_short import logistic, points, tanh
from edgeconv.kernels.headers import include_flags
from edgeconv.model.frontend import load, reference_outputs
from edgeconv.run.verify.program import run_sets
from edgeconv.search.options import CompileOptions
from tests.tflite_files import saved
from tests.tflite_lstms import EXPECTED, LSTMS, RUNS, Lstm
from tests.tflite_models import Sketch

pytestmark = pytest.mark.usefixtures("unoptimised")

Values = npt.NDArray[Any]
IN_ONNX = ("int8 time major", "int8 clipped", "int16")  # by an engine, in a process of its own
# Reads arguments, and prints both functions of each.
FUNCTIONS = """\
#include <stdint.h>
#include <stdio.h>
#define EC_INLINE static inline
#include "ec_short_sigmoid.h"

int main(void)
{
    uint16_t table[256];
    int32_t x;
    if (fread(table, sizeof table, 1, stdin) != 1)
        return 1;
    while (fread(&x, sizeof x, 1, stdin) == 1) {
        const int32_t of_x[2] = {ec_short_sigmoid(table, x), ec_short_tanh(table, x)};
        fwrite(of_x, sizeof of_x, 1, stdout);
    }
    return 0;
}
"""


def _expected(name: str) -> Values:
    with np.load(EXPECTED) as found:
        return np.asarray(found[name])


def _layer(lstm: Lstm, path: Path) -> tuple[ShortLstm, Weights, Values, Values]:
    """Form, weights and states before the first run of the graph that a file becomes."""
    graph = load(path)
    (node,) = (each for each in graph.nodes if each.op == "ShortLSTM")
    units = lstm.units
    x, h, bias = (graph[name].constant().astype(np.int64) for name in node.inputs[3:])
    weights = Weights(
        x.reshape(4, units, -1).astype(np.int8),
        h.reshape(4, units, -1).astype(np.int8),
        bias.reshape(4, units),
    )
    states = {state.input: state.initial for state in graph.states}
    shape = (lstm.batch, units)
    first = [np.zeros(shape) if states[n] is None else states[n] for n in node.inputs[1:3]]
    return node.attrs["form"], weights, *(np.asarray(each, np.int64) for each in first)


@pytest.mark.parametrize("name", LSTMS)
def test_the_definition_is_what_micro_computes(name: str, tmp_path: Path) -> None:
    """Run after run; and the first one is that of the model in ONNX that programs are held to."""
    lstm, wanted = LSTMS[name], _expected(name)
    path = saved(lstm.bytes(), tmp_path)
    form, weights, h, c = _layer(lstm, path)
    stored = {"h": h.astype(lstm.dtype), "c": c.astype(np.int16)}
    for x, right in zip(lstm.given(), wanted, strict=True):
        first = x if lstm.time_major else x.transpose(1, 0, 2)
        made = []
        for each in first.astype(np.int64):
            h, c = step(form, weights, each, h, c)
            made.append(h)
        every = np.stack(made)
        assert np.array_equal(every if lstm.time_major else every.transpose(1, 0, 2), right)
        if stored and name in IN_ONNX:
            values = reference_outputs(path, {"x": x, **stored}).values
            assert np.array_equal(values["y"], right)
            assert np.array_equal(values["h/next"], h)
            assert np.array_equal(values["c/next"], c)
            stored = {}
    assert len(np.unique(wanted)) > 20


@pytest.mark.parametrize("name", ["int8 batch", "int16 time major"])
def test_programs_are_micro_run_after_run(name: str, tmp_path: Path) -> None:
    """And from a reset on once more; weights are in flash as int8, each once."""
    lstm = LSTMS[name]
    path = saved(lstm.bytes(), tmp_path)
    project, notes = compile_model(CompileOptions(path, "generic-c"), tmp_path / "out")
    assert not notes
    assert [state.given.dtype for state in project.states] == [lstm.dtype, "int16"]
    binary = project.build(run_here=True)
    project.run_file.write_bytes(lstm.given().tobytes() * 2)
    found, _ = run_sets(project, binary, 2 * RUNS, steps=RUNS, inputs=project.run_file)
    wanted = _expected(name)
    assert np.array_equal(np.stack([each["y"] for each in found]), np.concatenate([wanted] * 2))
    layer = next(each for each in project.report["layers"] if each["op"] == "ShortLSTM")
    four = 4 * (-(-lstm.inputs // 4) + -(-lstm.units // 4))
    assert layer["weight_bytes"] == 4 * lstm.units * (four + 2 * 4) + 2 * len(points())
    assert verify_project(project.directory, model=path, steps=2).passed


def test_the_c_functions_are_the_definition_of_every_argument(tmp_path: Path) -> None:
    """Of 65,536 sums of gates, and of all cells in three units."""
    source, program = tmp_path / "functions.c", tmp_path / "functions"
    source.write_text(FUNCTIONS)
    flags = ("-std=c11", "-O1", "-Wall", "-Wextra", "-Werror", *include_flags())
    subprocess.run(["cc", *flags, str(source), "-o", str(program)], check=True)
    whole = np.arange(-(1 << 15), 1 << 15)
    arguments = np.concatenate([THIRDS * whole, (THIRDS << 9) * whole, whole * THIRDS + 4 >> 3])
    given = points().astype(np.uint16).tobytes() + arguments.astype(np.int32).tobytes()
    found = subprocess.run([str(program)], input=given, capture_output=True, check=True).stdout
    made = np.frombuffer(found, np.int32).reshape(-1, 2)
    assert np.array_equal(made[:, 0], logistic(arguments))
    assert np.array_equal(made[:, 1], tanh(arguments))


def test_sums_beyond_32_bits_and_other_cells_are_refused(tmp_path: Path) -> None:
    grid = Grid(0.02, 3, 8)
    scales = ((0.01,) * len(GATES),) * 2
    with pytest.raises(ValueError, match="no power of two"):
        short_lstm(grid, grid, 0.0003, scales, 0.0)
    form = short_lstm(grid, grid, 2.0**-11, scales, 0.0)
    weights = np.full((2, 3), 127)
    assert in_reach(form, weights, 3, np.array([5, -6]), form.of_x[0])
    assert not in_reach(form, weights, 3, np.array([5, 1 << 31]), form.of_x[0])
    path = saved(Lstm(power=2).bytes(), tmp_path)
    with pytest.raises(EdgeconvError) as error:
        load(path)
    assert "a cell in units of 4, no power of two from 2^-15 to 1" in str(error.value.details)


def test_scales_without_a_factor_are_refused() -> None:
    """In words, whatever a damaged file has."""
    scales = ((0.01,) * len(GATES),) * 2
    grids = [Grid(scale, 0, 16) for scale in (400.0, 0.0, float("inf"), float("nan"))]
    for grid, why in zip(grids, ("units of 4 or more", *("no positive",) * 3), strict=True):
        with pytest.raises(ValueError, match=why):
            short_lstm(grid, Grid(2.0**-15, 0, 16), 2.0**-11, scales, 0.0)
    with pytest.raises(ValueError, match="no positive"):
        short_lstm(Grid(0.02, 0, 16), Grid(2.0**-15, 0, 16), 0.0, scales, 0.0)


@pytest.mark.parametrize("kind", ["LOGISTIC", "TANH"])
def test_the_two_functions_of_fine_and_coarse_arguments(kind: str, tmp_path: Path) -> None:
    """A shift of 31 places; and products with the argument that int32 does not hold."""

    def options(scale: float) -> CompileOptions:
        sketch = Sketch()
        x = sketch.tensor("x", (1, 9), "int16", scale=[scale], zero=[0])
        y = sketch.tensor("y", (1, 9), "int16", scale=[2.0**-15], zero=[0])
        sketch.operator(kind, [x], [y])
        path = saved(sketch.bytes([x], [y], []), tmp_path)
        return CompileOptions(path, "generic-c", requantise=TFLITE)

    project, _ = compile_model(options(1e-9), tmp_path / "fine")
    assert "{26388, 31, " in (project.directory / f"{project.name}.c").read_text()
    assert verify_project(project.directory).passed
    with pytest.raises(EdgeconvError, match="bit for bit"):
        compile_model(options(8.0), tmp_path / "coarse")
