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

from edgeconv.app.pipeline import compile_model, verify_project
from edgeconv.base.errors import EdgeconvError
from edgeconv.ir.encoding import int8
from edgeconv.ir.requantisation import TFLITE, Sums
from edgeconv.ir.requantisation.double_rounding import (
    Twice,
    multiplied,
    quantised_multiplier,
    twice,
)
from edgeconv.ir.requantisation.pair import Affine
from edgeconv.ir.requantisation.tflite_averages import interpolated, mean, places
from edgeconv.ir.requantisation.tflite_pairs import (
    Operand,
    doubled_leaky,
    doubled_prelu,
    doubled_squares,
)
from edgeconv.ir.requantisation.tflite_short import doubled_product
from edgeconv.ir.requantisation.tflite_wide import tflite_wide
from edgeconv.kernels.headers import include_flags
from edgeconv.model.frontend import load
from edgeconv.run.build.project import Project
from edgeconv.run.verify.exact import expected
from edgeconv.search.options import CompileOptions
from tests.tflite_cases import CASES, EXPECTED, Case
from tests.tflite_engines import MICRO
from tests.tflite_integer_cases import INTEGER_CASES
from tests.tflite_models import Sketch

pytestmark = pytest.mark.usefixtures("unoptimised")

RUNTIME = Path(__file__).parents[2] / "runtime_c"
# Kernels that are followed.  FULLY_CONNECTED of the runtime that made the file rounds once, which
# makes the same of these cases.
FOLLOWED = {
    *("ADD", "SUB", "MUL", "AVERAGE_POOL_2D", "CONV_2D", "DEPTHWISE_CONV_2D", "FULLY_CONNECTED"),
    *("LEAKY_RELU", "LOGISTIC", "TANH", "QUANTIZE", "RELU", "RELU6", "SOFTMAX"),
    *("BATCH_MATMUL", "HARD_SWISH", "MEAN", "SUM", "RESIZE_BILINEAR", "ABS", "ELU", "EXP", "GELU"),
    *("PRELU", "SQUARED_DIFFERENCE"),
}
# Results on another grid than the kernels', and a factor that is no float32.
NOT_FOLLOWED = {"TANH int8 other grid", "SOFTMAX int8 beta 0.7"}
FOLLOWED_IN_16_BITS = {
    *("CONV_2D", "DEPTHWISE_CONV_2D", "AVERAGE_POOL_2D", "LEAKY_RELU", "PRELU"),
    *("SQUARED_DIFFERENCE", "SOFTMAX", "BATCH_MATMUL"),
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
#include "ec_isa_portable.h"
#include "ec_integers_portable.h"
#include "ec_scaling_twice.h"
typedef struct ec_int8_result { int32_t offset, right, low, high; } ec_int8_result;
#include "ec_int8_scaling_twice.h"
#include "ec_int8_average.h"
#include <stdio.h>
static const struct { int32_t sum, words[2]; } cases[] = { %s };
int main(void)
{
    for (size_t i = 0; i < sizeof cases / sizeof *cases; i++) {
        const int32_t *const words = cases[i].words;
        const ec_int8_result as = {-7, 0, -100, 120};
        const int vector = ec_scaled(cases[i].sum, ec_scaling_at(words, 1), -7, 0);
        printf("%%d %%d ", ec_int8_of_sum(as, cases[i].sum, words, 1), vector);
        const ec_scaling same = ec_scaling_of(words[0], words[1], 0);
        if (words[1] >= 0 && ec_scaled(cases[i].sum, same, -7, 1) != vector)
            return 1;
        const int right = words[1] + 1;
        const ec_int8_average mean = {.scaling = EC_INT8_DOUBLED, .offset = -7, .right = right};
        const ec_int8_average away = {.scaling = EC_INT8_AWAY, .right = right};
        const int32_t start[2] = {0, words[0]};
        if (ec_int8_of_window(mean, cases[i].sum, start) != vector)
            return 2;
        printf("%%d ", ec_int8_of_window(away, cases[i].sum, start));
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
    command = ["gcc", *options, *checks, *include_flags(), str(source), "-o", str(program)]
    subprocess.run(command, check=True)
    printed = subprocess.run([str(program)], check=True, capture_output=True, text=True).stdout
    wanted = [divided_by_power_of_two(doubling_high_mul(v, m), s) - 7 for v, m, s in cases]
    shifted = [divided_by_power_of_two(v, s) for v, _, s in cases]
    found = [int(number) for number in printed.split()]
    assert found[::3] == [max(-100, min(120, q)) for q in wanted]
    assert found[1::3] == wanted
    assert found[2::3] == shifted


def rounded_quotient(x: int, over: int) -> int:
    """To the nearest, halves away from 0."""
    return (abs(x) + over // 2) // over * (1 if x >= 0 else -1)


def test_means_are_one_factor() -> None:
    """Whose multiplier is divided by the number of elements, with as many bits more as fit."""
    for count, x, y in itertools.product((1, 2, 7, 49, 64, 1000), (0.02, 0.5), (0.021, 1.7, 30.0)):
        form = mean(count, Affine(x, 4), Affine(y, -9), -128, 127)
        multiplier, shift = quantised_multiplier(x / y)
        bits = min(count.bit_length() - 1, 32, 31 - shift)
        if shift + bits < 0:
            assert form is None
            continue
        assert form
        for total in (-128 * count, -count, -1, 0, 1, 3 * count + 1, 127 * count):
            product = doubling_high_mul(total - 4 * count, (multiplier << bits) // count)
            wanted = divided_by_power_of_two(product, shift + bits) - 9
            assert form.of(np.array([total])).tolist() == [max(-128, min(127, wanted))]


def test_places_between_elements() -> None:
    """Of whole numbers that C divides towards 0."""
    for size, out, corners, half in itertools.product(
        (1, 2, 5, 9), (1, 3, 8, 31), (False, True), (False, True)
    ):
        if corners and half:
            continue
        lower, upper, above = places(size, out, corners=corners, half_pixel=half)
        of, to = (size - 1, out - 1) if corners and out > 1 else (size, out)
        step = (1024 * of + to // 2) // to
        for i in range(out):
            at = i * step + (step // 2 - 512 if half else 0)
            assert lower[i] == max(int(at / 1024), 0)
            assert upper[i] == min(int((at + 1023) / 1024), size - 1)
            assert above[i] == at - 1024 * lower[i]


def test_interpolated_numbers_are_rounded_away_from_0() -> None:
    grid = Affine(0.1, 3)
    form = interpolated(1 << 20, grid, grid, -128, 127)
    assert form
    half = 1 << 19
    sums = [
        k * (1 << 20) + r for k in (-128, -5, -1, 0, 1, 126) for r in (-half, 1 - half, half - 1)
    ]
    assert form.of(np.array(sums)).tolist() == [
        max(-128, rounded_quotient(total, 1 << 20)) for total in sums
    ]
    assert interpolated(1 << 20, grid, Affine(0.1, 4), -128, 127) is None
    assert interpolated(1 << 20, grid, grid, 0, 127) is None


def test_sums_of_16_bits_have_factors_of_15() -> None:
    """With one rounding, halves up."""
    rng = np.random.default_rng(5)
    for unit in (0.75, 0.3, 2**-13, 1.5 * 2**-20, 0.9999999 * 2**-9):
        least, most = np.array([-(2**24)]), np.array([2**24 - 5])
        made = tflite_wide(
            Sums(np.array([unit]), np.zeros(1), least, most, 1.0, 0, -(2**15), 2**15 - 1),
            np.array([77]),
        )
        assert made
        multiplier, shift = quantised_multiplier(unit)
        short, right = min((multiplier + 2**15) >> 16, 2**15 - 1), 15 + shift
        ties = [
            (2 * n + 1) * 2 ** (right - 1) // short + by for n in (-9, 0, 8) for by in (-1, 0, 1)
        ]
        drawn = rng.integers(-(2**24), 2**24 - 5, 300).tolist()
        sums = [s for s in [*ties, *drawn, -(2**24), 2**24 - 5] if -(2**24) <= s < 2**24 - 4]
        wanted = [(s * short + (1 << (right - 1))) >> right for s in sums]
        found = made.of(np.array([sums]) - 77)[0].tolist()
        assert found == [max(-(2**15), min(2**15 - 1, each)) for each in wanted]
        shifted = Sums(np.array([unit]), np.zeros(1), least, most, 1.0, 3, -(2**15), 2**15 - 1)
        assert tflite_wide(shifted, np.array([77])) is None


def _integers(case: Case) -> bool:
    kinds = FOLLOWED_IN_16_BITS if case.dtype == "int16" else FOLLOWED
    return case.kind in kinds and case.dtype != "float32" and case.name not in NOT_FOLLOWED


@pytest.mark.parametrize(
    "case", [*filter(_integers, (*CASES, *INTEGER_CASES))], ids=lambda case: case.name
)
def test_the_definition_is_what_its_runtime_computes(case: Case, tmp_path: Path) -> None:
    """At equality, of every operator that is followed."""
    path = tmp_path / "case.tflite"
    path.write_bytes(case.write())
    names = [f"output_{i}" for i in range(len(case.shapes))]
    with np.load(EXPECTED) as litert, np.load(MICRO) as micro:
        engine = litert if f"{case.name}:output_0" in litert else micro
        outputs = {name: engine[f"{case.name}:{name}"] for name in names}
    graph = replace(load(path), requantise=TFLITE)
    found = expected(graph, {**case.inputs(), **outputs})
    for name, wanted in outputs.items():
        assert np.array_equal(found[name].near(), wanted)


def _mixed() -> bytes:
    """A depthwise convolution, one with a residual, slopes, squared differences, a product,
    averages of four, a dense layer, a softmax; float32 at both ends, as TensorFlow's converter
    leaves it."""
    rng, sketch = np.random.default_rng(3), Sketch()
    grid: dict[str, Any] = {"scale": [0.05], "zero": [5]}
    given = sketch.tensor("given", (1, 6, 5, 8), "float32")
    x = sketch.tensor("input", (1, 6, 5, 8), "int8", scale=[0.04], zero=[-9])
    sketch.operator("QUANTIZE", [given], [x])
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
    slopes = sketch.constant("slopes", rng.integers(-90, 91, 8), "int8", scale=[0.01], zero=[0])
    sloped = sketch.tensor("sloped", (1, 6, 5, 8), "int8", scale=[0.045], zero=[-7])
    sketch.operator("PRELU", [added, slopes], [sloped])
    squares = sketch.tensor("squares", (1, 6, 5, 8), "int8", scale=[0.06], zero=[-120])
    sketch.operator("SQUARED_DIFFERENCE", [sloped, x], [squares])
    sketch.operator("MUL", [squares, x], [product], activation="NONE")
    swished = sketch.tensor("swished", (1, 6, 5, 8), "int8", scale=[0.03], zero=[-20])
    sketch.operator("HARD_SWISH", [product], [swished])
    requantised = sketch.tensor("requantised", (1, 6, 5, 8), "int8", scale=[0.03], zero=[-20])
    sketch.operator("QUANTIZE", [x], [requantised])
    both = sketch.tensor("both", (1, 6, 5, 16), "int8", scale=[0.03], zero=[-20])
    sketch.operator("CONCATENATION", [swished, requantised], [both], axis=3)
    larger = sketch.tensor("larger", (1, 7, 8, 16), "int8", scale=[0.03], zero=[-20])
    size = sketch.constant("size", [7, 8], "int32")
    sketch.operator("RESIZE_BILINEAR", [both, size], [larger], half_pixel_centers=True)
    means = sketch.tensor("means", (1, 1, 1, 16), "int8", scale=[0.011], zero=[9])
    axes = sketch.constant("axes", [1, 2], "int32")
    sketch.operator("MEAN", [larger, axes], [means], keep_dims=True)
    averages = sketch.tensor("averages", (1, 3, 2, 8), "int8", **grid)
    window: dict[str, Any] = {"kernel_w": 2, "kernel_h": 2, "stride_w": 2, "stride_h": 2}
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
    real = sketch.tensor("real", (1, 5), "float32")
    sketch.operator("DEQUANTIZE", [scores], [real])
    return sketch.bytes([given], [real, means])


def _in_16_bits() -> bytes:
    """A convolution, and a depthwise one, of int16 with filters of int8, and a softmax."""
    rng, sketch = np.random.default_rng(4), Sketch()
    x = sketch.tensor("input", (1, 5, 4, 6), "int16", scale=[0.0003], zero=[0])
    for name, kind, shape in (
        ("conv", "CONV_2D", (6, 3, 3, 6)),
        ("depthwise", "DEPTHWISE_CONV_2D", (1, 3, 3, 6)),
    ):
        units, axis = rng.uniform(0.003, 0.02, 6).astype(np.float32), 3 * (shape[0] == 1)
        own: dict[str, Any] = {"scale": units.tolist(), "zero": [0] * 6, "axis": axis}
        w = sketch.constant(f"{name}/w", rng.integers(-127, 128, shape), "int8", **own)
        unit = (np.float32(0.0003) * units).tolist()
        values = rng.integers(-90000, 90000, 6)
        b = sketch.constant(f"{name}/b", values, "int64", scale=unit, zero=[0] * 6)
        y = sketch.tensor(name, (1, 5, 4, 6), "int16", scale=[0.0003], zero=[0])
        sketch.operator(
            kind, [x, w, b], [y], padding="SAME", stride_w=1, stride_h=1, activation="RELU"
        )
        x = y
    y = sketch.tensor("chances", (1, 5, 4, 6), "int16", scale=[2.0**-15], zero=[0])
    sketch.operator("SOFTMAX", [x], [y], beta=1.0)
    return sketch.bytes([0], [y])


@pytest.mark.parametrize("board", ["host", "mps2-an500", "mps3-an547"])
def test_programs_compute_that(board: str, tmp_path: Path) -> None:
    """Every layer is its kernel's result, at equality."""
    _require_equal(_mixed(), board, 8, tmp_path)


def _squeezed() -> bytes:
    """Squeeze and excitation: channels are multiplied by what their means come to."""
    rng, sketch = np.random.default_rng(6), Sketch()
    grid: dict[str, Any] = {"scale": [0.05], "zero": [-3]}
    x = sketch.tensor("input", (1, 6, 5, 8), "int8", **grid)

    def conv(name: str, x: int, kernel: int, size: tuple[int, int]) -> int:
        shape, unit = (8, kernel, kernel, 8), [0.01]
        values = rng.integers(-127, 128, shape)
        w = sketch.constant(f"{name}/w", values, "int8", scale=unit, zero=[0])
        y = sketch.tensor(name, (1, *size, 8), "int8", **grid)
        sketch.operator("CONV_2D", [x, w, -1], [y], padding="SAME", stride_w=1, stride_h=1)
        return y

    wide = conv("wide", x, 3, (6, 5))
    means = sketch.tensor("means", (1, 1, 1, 8), "int8", **grid)
    sketch.operator("MEAN", [wide, sketch.constant("axes", [1, 2], "int32")], [means], keep_dims=1)
    factors = sketch.tensor("factors", (1, 1, 1, 8), "int8", scale=[1 / 256], zero=[-128])
    sketch.operator("LOGISTIC", [conv("squeezed", means, 1, (1, 1))], [factors])
    scaled = sketch.tensor("scaled", (1, 6, 5, 8), "int8", **grid)
    sketch.operator("MUL", [wide, factors], [scaled])
    return sketch.bytes([x], [conv("out", scaled, 1, (6, 5))])


@pytest.mark.parametrize("board", ["host", "mps2-an386"])
def test_factors_of_channels_are_in_integers(board: str, tmp_path: Path) -> None:
    """Whose product is two roundings, and nothing linear."""
    _require_equal(_squeezed(), board, 3, tmp_path)
    layers = Project.open(tmp_path / "net").report["layers"]
    computed = {layer["op"]: layer["compute"] for layer in layers if layer["op"] == "Binary"}
    assert computed == {"Binary": "int8"}
    assert sum(layer["op"] == "Transpose" for layer in layers) <= 2  # at both ends


@pytest.mark.parametrize("board", ["host", "mps2-an386"])
def test_programs_compute_that_in_16_bits(board: str, tmp_path: Path) -> None:
    _require_equal(_in_16_bits(), board, 2, tmp_path)


def _require_equal(network: bytes, board: str, layers: int, tmp_path: Path) -> None:
    """At least so many results are held to the definitions, and are them."""
    model = tmp_path / "net.tflite"
    model.write_bytes(network)
    project, _ = compile_model(CompileOptions(model, board, requantise=TFLITE), tmp_path / "net")
    assert "--requantise tflite" in project.report["program"]["command"]
    result = verify_project(project.directory, model=model)
    assert result.passed
    assert result.per_layer
    assert len(result.per_layer.exact) >= layers


@pytest.mark.parametrize("kind", ["RESIZE_BILINEAR", "REDUCE_PROD"])
def test_what_is_not_followed_is_refused(kind: str, tmp_path: Path) -> None:
    """By name, with the way out: what is computed in float32, and what has no kernel here."""
    sketch, model = Sketch(), tmp_path / "net.tflite"
    grid: dict[str, Any] = {"scale": [0.1], "zero": [130]}
    x = sketch.tensor("x", (1, 3, 4, 5), "uint8", **grid)
    y = sketch.tensor("y", (1, 6, 8, 5) if kind != "REDUCE_PROD" else (1, 5), "uint8", **grid)
    operand = sketch.constant("size", [6, 8] if kind != "REDUCE_PROD" else [1, 2], "int32")
    sketch.operator(kind, [x, operand], [y])
    model.write_bytes(sketch.bytes([x], [y]))
    with pytest.raises(EdgeconvError, match=r"--requantise tflite: y: .*--output"):
        compile_model(CompileOptions(model, "host", requantise=TFLITE), tmp_path / "net")
    assert not (tmp_path / "net").exists()


@pytest.mark.parametrize("stored", [None, [100, -200, 30000], [1, 2, 3]])
def test_slopes_of_16_bits_are_refused(stored: list[int] | None, tmp_path: Path) -> None:
    """TensorFlow Lite Micro has no PRELU of these; LiteRT's reads their bytes as slopes of 8."""
    sketch, model = Sketch(), tmp_path / "net.tflite"
    grid: dict[str, Any] = {"scale": [0.01], "zero": [0]}
    inputs = [sketch.tensor("x", (1, 4, 3), "int16", **grid)]
    if stored is None:
        inputs.append(sketch.tensor("slopes", (3,), "int16", **grid))
    slopes = inputs[-1] if stored is None else sketch.constant("slopes", stored, "int16", **grid)
    y = sketch.tensor("y", (1, 4, 3), "int16", **grid)
    sketch.operator("PRELU", [inputs[0], slopes], [y])
    model.write_bytes(sketch.bytes(inputs, [y]))
    with pytest.raises(EdgeconvError, match=r"--requantise tflite: y: .*--output"):
        compile_model(CompileOptions(model, "host", requantise=TFLITE), tmp_path / "net")
    _, notes = compile_model(CompileOptions(model, "generic-c"), tmp_path / "net")
    assert any("slopes of 16 bits" in note for note in notes)


@pytest.mark.parametrize(("y", "fits"), [(1e-3, True), (1e-9, False)])
def test_shifted_products_fit_32_bits(y: float, fits: bool) -> None:
    """Factors that are 1 or more shift what they multiply."""
    operand, result = Operand.of(int8(0.02, 3)), Affine(y, 0)
    for made in (doubled_prelu, doubled_squares):
        assert (made(operand, operand, result, -128, 127) is not None) == fits
    assert (doubled_leaky(operand, 0.3, result, -128, 127) is not None) == fits


@pytest.mark.parametrize(
    ("zeros", "fits"), [((0, 0), True), ((-32768, 0), True), ((7, 32767), False)]
)
def test_products_of_16_bits_fit_32(zeros: tuple[int, int], fits: bool) -> None:
    a, b = (Affine(2.0**-15, zero) for zero in zeros)
    assert (doubled_product(a, b, Affine(2.0**-13, 0), -32768, 32767) is not None) == fits
