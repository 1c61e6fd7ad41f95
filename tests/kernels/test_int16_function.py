"""Functions of one int16 or two, and its pools, against rational arithmetic rounded once."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import replace
from fractions import Fraction
from pathlib import Path
from typing import Any

import numpy as np
import numpy.typing as npt
import pytest

from edgeconv.ir.activation import NONE, Activation, grid
from edgeconv.ir.encoding import INT8, INT16, Encoding
from edgeconv.kernels.lowering.activations import evaluate
from tests.kernels.cases import Build, Case, Spec
from tests.kernels.harness import check
from tests.kernels.test_int8_packed import ISAS, able
from tests.kernels.test_integer_pool import of_16_bits

Shape = tuple[int, ...]
Array = npt.NDArray[Any]


QUICK = ("avx2", "neon", "portable")  # the loops are plain C


@pytest.fixture(
    params=[pytest.param(isa, marks=() if isa in QUICK else pytest.mark.slow) for isa in ISAS]
)
def build(request: pytest.FixtureRequest) -> Build:
    """Of every ISA; that of portable C is what cores without vectors have."""
    return replace(able(str(request.param)), compiled_once=False)


def stored(kind: Encoding, scale: float, zero: int) -> Encoding:
    return replace(kind, scale=(float(np.float32(scale)),), zero=(zero,))


A, B = stored(INT16, 0.00431, 170), stored(INT16, 0.00173, -32768)
CENTRED, SMALL = stored(INT16, 0.0003, 0), stored(INT8, 0.173, -101)


def numbers(shape: Shape, encoding: Encoding, seed: int) -> Array:
    """Integers less the zero point, extremes among them."""
    count = int(np.prod(shape))
    whole = np.random.default_rng(seed).integers(encoding.low, encoding.high + 1, count)
    ends = (encoding.low, encoding.high, encoding.zero[0])[:count]
    whole[: len(ends)] = ends
    return whole.reshape(shape) - encoding.zero[0]


def real(whole: Array, encoding: Encoding) -> Array:
    return np.asarray(whole * np.float32(encoding.scale[0]), np.float32)


def rounding(y: Encoding, least: int = 0) -> Activation:
    """To all of its numbers but for the ``least`` lowest."""
    return grid(y.scale[0], y.low - y.zero[0] + least, y.high - y.zero[0])


def in_steps(exact: list[Fraction], y: Encoding, least: int = 0) -> Array:
    """Of exact numbers what the model stores, as real numbers."""
    low, high, step = y.low - y.zero[0] + least, y.high - y.zero[0], Fraction(y.scale[0])
    return real(np.array([min(max(round(each / step), low), high) for each in exact]), y)


def whole_cases(spec: Spec, build: Build, wanted: Array) -> list[Case]:
    """Those in integers, of which there are some."""
    made = spec.cases(build.target, wanted.reshape(spec.shape))
    found = [case for case in made if case.layer.algorithm == "int16_function"]
    assert found, (spec.op, spec.attrs, spec.before, spec.storage)
    return found


PAIR: dict[str, Callable[[Fraction, Fraction], Fraction]] = {
    "add": lambda a, b: a + b,
    "sub": lambda a, b: a - b,
    "mul": lambda a, b: a * b,
}


def of_pairs(
    kind: str, build: Build, first: Shape, second: Shape, a: Encoding, b: Encoding, y: Encoding
) -> list[Case]:
    p, q = numbers(first, a, 1), numbers(second, b, 2)
    pairs = [each.reshape(-1) for each in np.broadcast_arrays(p, q)]
    units = Fraction(a.scale[0]), Fraction(b.scale[0])
    exact = [PAIR[kind](int(m) * units[0], int(n) * units[1]) for m, n in zip(*pairs, strict=True)]
    spec = Spec(
        "Binary",
        {"a": real(p, a), "b": real(q, b)},
        np.broadcast_shapes(first, second),
        attrs={"kind": kind},
        before=rounding(y, 7),
        storage={"a": str(a), "b": str(b), "out": str(y)},
    )
    return whole_cases(spec, build, in_steps(exact, y, 7))


def of_one(function: Activation, build: Build, x: Encoding, y: Encoding, count: int) -> list[Case]:
    """Of all numbers where ``count`` is that."""
    q = numbers((1, count), x, count)
    if count == 65536:
        q = np.random.default_rng(0).permutation(np.arange(x.low, x.high + 1)) - x.zero[0]
    values = q.reshape(-1) * x.scale[0]
    made = np.asarray(evaluate(function, values), np.float64)
    exact = [Fraction(float(each)) for each in made]
    if function.kind == "leaky_relu":
        unit, slope = Fraction(x.scale[0]), Fraction(function.alpha)
        exact = [int(n) * unit * (slope if n < 0 else 1) for n in q.reshape(-1)]
    alone = function == NONE
    spec = Spec(
        "Unary",
        {"x": real(q.reshape(1, count), x)},
        (1, count),
        before=rounding(y) if alone else function,
        after=NONE if alone else rounding(y),
        storage={"x": str(x), "out": str(y)},
    )
    return whole_cases(spec, build, in_steps(exact, y))


def every_pair(build: Build) -> list[Case]:
    """Lengths, operands that are broadcast, images, layouts, halves of a step, eight bits."""
    found, same = list[Case](), stored(INT16, CENTRED.scale[0] * 2, 0)
    wide = {"add": stored(INT16, 0.0049, 5), "sub": stored(INT16, 0.0071, -3000)}
    wide["mul"] = stored(INT16, 0.31, -77)
    for kind, y in wide.items():
        for first, second in (
            *(((1, n), (1, n)) for n in (1, 7, 68)),
            ((2, 5, 3, 4), (2, 5, 3, 4)),
            ((2, 5, 3, 4), (2, 5, 1, 1)),
            ((1, 1, 1, 4), (2, 5, 3, 4)),
        ):
            found += of_pairs(kind, build, first, second, A, B, y)
        found += of_pairs(kind, build, (1, 60), (1, 60), SMALL, A, y)
        found += of_pairs(kind, build, (1, 60), (1, 60), A, B, stored(INT8, y.scale[0] * 300, 9))
    for kind in ("add", "sub"):  # a half of a step in every second pair
        found += of_pairs(kind, build, (1, 90), (1, 90), CENTRED, CENTRED, same)
    tied = stored(INT16, CENTRED.scale[0] ** 2 * 2.0**15, 3)
    product = stored(INT16, 2.0**-12, 0)
    found += of_pairs("mul", build, (1, 90), (1, 90), CENTRED, CENTRED, tied)
    found += of_pairs("mul", build, (1, 90), (1, 90), product, product, stored(INT16, 2.0**-9, 0))
    return found


LEAKY = Activation("leaky_relu", float(np.float32(0.1)))
ONES: tuple[tuple[Activation, Encoding, Encoding], ...] = (
    (NONE, A, CENTRED),
    (NONE, CENTRED, stored(INT16, CENTRED.scale[0] * 2, 7)),
    (NONE, A, stored(INT8, 0.7, -5)),
    (NONE, SMALL, A),
    (Activation("relu"), A, stored(INT16, 0.0021, -32768)),
    (Activation("relu"), A, A),
    (Activation("clip", -1.0, 6.0), A, stored(INT16, A.scale[0], -20)),
    (LEAKY, A, stored(INT16, 0.0041, 30)),
)
SPREAD = stored(INT16, 8 / 32768, 0)
CURVES = (
    (Activation("sigmoid"), SPREAD, stored(INT16, 1 / 32768, 0)),
    (Activation("tanh"), stored(INT16, 4 / 32768, 900), stored(INT16, 1 / 32768, 0)),
    (Activation("hard_swish", 1 / 6, 0.5), SPREAD, stored(INT16, 9 / 65536, -32768)),
    (Activation("silu"), SPREAD, stored(INT8, 8 / 256, -100)),
)


def test_against_rationals(build: Build, folder: Path) -> None:
    found = every_pair(build)
    for function, x, y in ONES:
        found += of_one(function, build, x, y, 97)
    every = 65536 if build.name.startswith("portable") else 256
    for function, x, y in CURVES:
        found += of_one(function, build, x, y, every)
    check(build, found + of_16_bits(build), folder)
