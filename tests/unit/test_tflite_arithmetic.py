"""TensorFlow Lite's arithmetic of int8: as gemmlowp states it, as its own runtime computes it
(`tests/tflite_expected.npz`), and as programs do."""

from __future__ import annotations

import itertools
import random
import subprocess
from collections.abc import Iterator
from dataclasses import replace
from pathlib import Path
from typing import Any

import numpy as np
import pytest

from edgeconv.errors import EdgeconvError
from edgeconv.frontend import load
from edgeconv.options import CompileOptions
from edgeconv.pipeline import compile_model, verify_project
from edgeconv.requantisation import TFLITE, Sums
from edgeconv.requantisation.twice import Twice, multiplied, quantised_multiplier, twice
from edgeconv.verify.exact import expected
from tests.tflite_cases import CASES, EXPECTED, Case
from tests.tflite_models import Sketch, quantised_network

RUNTIME = Path(__file__).parents[2] / "runtime_c"
# Kernels that are followed.  FULLY_CONNECTED of the runtime that made the file rounds once, which
# makes the same of these cases.
FOLLOWED = {
    *("ADD", "SUB", "MUL", "AVERAGE_POOL_2D", "CONV_2D", "DEPTHWISE_CONV_2D", "FULLY_CONNECTED"),
    *("LEAKY_RELU", "LOGISTIC", "TANH", "QUANTIZE", "RELU", "RELU6", "SOFTMAX"),
}
_LEAST, _MOST = -(2**31), 2**31 - 1


def doubling_high_mul(a: int, b: int) -> int:
    """SaturatingRoundingDoublingHighMul: a quotient that C truncates."""
    if a == b == _LEAST:
        return _MOST
    nudged = a * b + (2**30 if a * b >= 0 else 1 - 2**30)
    return abs(nudged) // 2**31 * (1 if nudged >= 0 else -1)


def divided_by_power_of_two(x: int, exponent: int) -> int:
    """RoundingDivideByPOT."""
    mask = (1 << exponent) - 1
    return (x >> exponent) + ((x & mask) > (mask >> 1) + (x < 0))


def _factors() -> Iterator[tuple[int, int]]:
    yield from itertools.product((2**30, 2**30 + 1, 1518500250, 2**31 - 1), (0, 1, 2, 7, 12, 31))


def _values(multiplier: int, shift: int) -> list[int]:
    """Numbers around ties of either rounding, and the ends of int32."""
    drawn = random.Random(multiplier + shift)
    near = [(2 * n + 1) * 2 ** (30 + shift) // multiplier for n in range(-6, 6)]
    near += [drawn.randrange(_LEAST, _MOST) for _ in range(8)] + [_LEAST, _LEAST + 1, _MOST, 0, -1]
    around = {value + by for value in near for by in (-1, 0, 1)}
    return sorted(value for value in around if _LEAST <= value <= _MOST)


def test_a_factor_is_multiplied_as_gemmlowp_does() -> None:
    for multiplier, shift in _factors():
        values = _values(multiplier, shift)
        wanted = [divided_by_power_of_two(doubling_high_mul(v, multiplier), shift) for v in values]
        assert multiplied(np.array(values), multiplier, shift).tolist() == wanted


def test_factors_of_31_bits() -> None:
    assert quantised_multiplier(0.75) == (3 * 2**29, 0)
    assert quantised_multiplier(0.375) == (3 * 2**29, 1)
    assert quantised_multiplier(6.0) == (3 * 2**29, -3)
    assert quantised_multiplier(1 - 2.0**-40) == (2**30, -1)  # rounded up to 1
    assert quantised_multiplier(0.0)[0] == quantised_multiplier(2.0**-34)[0] == 0


def test_sums_that_have_no_form() -> None:
    """A factor of 1 or more, a bias with a fraction, and sums beyond int32."""

    def form(unit: float, bias: float = 0.0, reach: int = 1000) -> Twice | None:
        ends = np.array([-reach]), np.array([reach])
        return twice(Sums(np.array([unit]), np.array([bias]), *ends, 1.0, 3, -128, 127))

    found = form(0.25)
    assert found
    assert found.of(np.array([[-6, -2, 2, 6, 1000]])).tolist() == [[1, 2, 4, 5, 127]]
    assert form(1.0) is form(0.25, 0.1) is form(0.25, reach=2**31) is None


_PROGRAM = """
#include "ec_common.h"
#include "isa/ec_isa_portable.h"
#include "isa/ec_integers_portable.h"
#include "kernels/ec_scaling_twice.h"
typedef struct ec_int8_result { int32_t offset, right, low, high; } ec_int8_result;
#include "kernels/ec_int8_scaling_twice.h"
#include <stdio.h>
static const struct { int32_t sum, words[2]; } cases[] = { %s };
int main(void)
{
    for (size_t i = 0; i < sizeof cases / sizeof *cases; i++) {
        const int32_t *const words = cases[i].words;
        const ec_int8_result as = {-7, 0, -100, 120};
        const int vector = ec_scaled(cases[i].sum, ec_scaling_at(words, 1), -7, 0);
        printf("%%d %%d ", ec_int8_of_sum(as, cases[i].sum, words, 1), vector);
        const ec_scaling same = ec_scaling_of(words[0], words[1]);
        if (words[1] >= 0 && ec_scaled(cases[i].sum, same, -7, 1) != vector)
            return 1;
    }
    return 0;
}
"""


def test_kernels_compute_that(tmp_path: Path) -> None:
    """The scalar function and that of vectors, with checks of undefined behaviour."""
    cases = [(v, m, s) for m, s in _factors() for v in _values(m, s) if abs(v) < 2**31 - 512]
    rows = ", ".join(f"{{{v}, {{{m}, {s - 1}}}}}" for v, m, s in cases)
    source, program = tmp_path / "twice.c", tmp_path / "twice"
    source.write_text(_PROGRAM % rows)
    options = ["-std=c11", "-Wall", "-Wextra", "-Werror", "-Wno-unused-function"]
    checks = ["-fsanitize=undefined", "-fno-sanitize-recover"]
    command = ["gcc", *options, *checks, f"-I{RUNTIME}", str(source), "-o", str(program)]
    subprocess.run(command, check=True)
    printed = subprocess.run([str(program)], check=True, capture_output=True, text=True).stdout
    wanted = [divided_by_power_of_two(doubling_high_mul(v, m), s) - 7 for v, m, s in cases]
    both = [number for q in wanted for number in (max(-100, min(120, q)), q)]
    assert [int(number) for number in printed.split()] == both


def _integers(case: Case) -> bool:
    return case.kind in FOLLOWED and case.dtype in ("int8", "uint8")


@pytest.mark.parametrize("case", [*filter(_integers, CASES)], ids=lambda case: case.name)
def test_the_definition_is_what_its_runtime_computes(case: Case, tmp_path: Path) -> None:
    """At equality, of every operator that is followed."""
    path = tmp_path / "case.tflite"
    path.write_bytes(case.write())
    names = [f"output_{i}" for i in range(len(case.shapes))]
    with np.load(EXPECTED) as file:
        outputs = {name: file[f"{case.name}:{name}"] for name in names}
    graph = replace(load(path), requantise=TFLITE)
    found = expected(graph, {**case.inputs(), **outputs})
    for name, wanted in outputs.items():
        assert np.array_equal(found[name].near(), wanted)


def _mixed() -> bytes:
    """A depthwise convolution, one with a residual, a product, averages of four, a dense
    layer, a softmax."""
    rng, sketch = np.random.default_rng(3), Sketch()
    grid: dict[str, Any] = {"scale": [0.05], "zero": [5]}
    x = sketch.tensor("input", (1, 6, 5, 8), "int8", scale=[0.04], zero=[-9])
    for name, kind, shape in (
        ("depthwise", "DEPTHWISE_CONV_2D", (1, 3, 3, 8)),
        ("conv", "CONV_2D", (8, 1, 1, 8)),
    ):
        units, axis = rng.uniform(0.003, 0.02, 8).astype(np.float32), 3 * (shape[0] == 1)
        own: dict[str, Any] = {"scale": units.tolist(), "zero": [0] * 8, "axis": axis}
        w = sketch.constant(f"{name}/w", rng.integers(-127, 128, shape), "int8", **own)
        unit = (np.float32(0.04) * units).tolist()
        b = sketch.constant(
            f"{name}/b", rng.integers(-900, 900, 8), "int32", scale=unit, zero=[0] * 8
        )
        y = sketch.tensor(name, (1, 6, 5, 8), "int8", scale=[0.04], zero=[-3])
        sketch.operator(kind, [x, w, b], [y], padding="SAME", stride_w=1, stride_h=1)
        x, conv = (y, 0) if name == "depthwise" else (x, y)
    added = sketch.tensor("added", (1, 6, 5, 8), "int8", **grid)
    sketch.operator("ADD", [conv, x], [added], activation="NONE")
    product = sketch.tensor("product", (1, 6, 5, 8), "int8", **grid)
    sketch.operator("MUL", [added, x], [product], activation="NONE")
    averages = sketch.tensor("averages", (1, 3, 2, 8), "int8", **grid)
    window = {"kernel_w": 2, "kernel_h": 2, "stride_w": 2, "stride_h": 2}
    sketch.operator("AVERAGE_POOL_2D", [product], [averages], padding="VALID", **window)
    weights = rng.integers(-127, 128, (5, 48))
    w = sketch.constant("dense/w", weights, "int8", scale=[0.006], zero=[0])
    unit = np.float32(0.05) * np.float32(0.006)
    b = sketch.constant(
        "dense/b", rng.integers(-500, 500, 5), "int32", scale=[float(unit)], zero=[0]
    )
    dense = sketch.tensor("dense", (1, 5), "int8", scale=[0.06], zero=[7])
    sketch.operator("FULLY_CONNECTED", [averages, w, b], [dense], activation="NONE")
    scores = sketch.tensor("scores", (1, 5), "int8", scale=[1 / 256], zero=[-128])
    sketch.operator("SOFTMAX", [dense], [scores], beta=1.0)
    return sketch.bytes([0], [scores])


@pytest.mark.parametrize("board", ["host", "mps2-an500", "mps3-an547"])
def test_programs_compute_that(board: str, tmp_path: Path) -> None:
    """Every layer is its kernel's result, at equality."""
    model = tmp_path / "net.tflite"
    model.write_bytes(_mixed())
    project, _ = compile_model(CompileOptions(model, board, requantise=TFLITE), tmp_path / "net")
    assert "--requantise tflite" in project.report["program"]["command"]
    result = verify_project(project.directory, model=model)
    assert result.passed
    assert result.pieces
    assert len(result.pieces.exact) >= 3


def test_what_is_not_followed_is_refused(tmp_path: Path) -> None:
    """By name, with the way out."""
    model = tmp_path / "net.tflite"
    model.write_bytes(quantised_network())
    with pytest.raises(EdgeconvError, match="--requantise tflite.*--output") as error:
        compile_model(CompileOptions(model, "host", requantise=TFLITE), tmp_path / "net")
    assert "mean" in str(error.value)
