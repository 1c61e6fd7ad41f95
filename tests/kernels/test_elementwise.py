"""Unary, Binary and Affine kernels in every layout, against float64."""

from __future__ import annotations

from itertools import product
from pathlib import Path

import numpy as np

from edgeconv.ir.activation import Activation
from tests.kernels.cases import Array, Build, Spec
from tests.kernels.harness import check

rng = np.random.default_rng(7)


def numbers(*shape: int, lo: float = -2.0, hi: float = 2.0) -> Array:
    return rng.uniform(lo, hi, shape).astype(np.float32)


def channel_counts(lanes: int) -> list[int]:
    """One, around one vector, around two."""
    return sorted({1, max(lanes - 1, 1), lanes, lanes + 1, 2 * lanes, 2 * lanes + 3})


RELU, CLIP = Activation("relu"), Activation("clip", -0.5, 0.75)


def test_unary_sizes(build: Build, folder: Path) -> None:
    specs = [Spec("Unary", {"x": numbers(n)}, (n,), before=RELU) for n in (1, 3, 15, 16, 17, 67)]
    for c in channel_counts(build.target.lanes):
        x = numbers(2, c, 3, 5)
        specs += [
            Spec("Unary", {"x": x}, x.shape, before=CLIP),
            Spec(
                "Unary",
                {"x": x},
                x.shape,
                before=RELU,
                residual=numbers(*x.shape),
                after=CLIP,
                tolerance=1,
                scale=1,
            ),
        ]
    check(build, [case for spec in specs for case in spec.cases(build.target)], folder)


BROADCASTS = (
    ((2, 5, 3, 7), (2, 5, 3, 7)),
    ((2, 5, 3, 7), (1, 5, 1, 1)),
    ((2, 5, 3, 7), (5, 1, 1)),
    ((2, 16, 3, 7), (16, 1, 1)),
    ((2, 5, 3, 7), (2, 5, 1, 1)),
    ((2, 5, 3, 7), (2, 1, 3, 7)),
    ((2, 5, 3, 7), (1, 5, 3, 7)),
    ((2, 5, 3, 7), (3, 7)),
    ((2, 5, 3, 7), (1, 1, 1, 7)),
    ((2, 5, 3, 7), (2, 1, 3, 1)),
    ((2, 5, 3, 7), ()),
    ((2, 5, 3, 7), (1,)),
    ((1, 33, 1, 1), (1, 33, 5, 3)),
    ((2, 1, 3, 7), (1, 17, 1, 1)),
    ((2, 20, 9), (20, 1)),
    ((4, 19), (19,)),
    ((4, 1), (1, 19)),
    ((3, 1, 4, 1, 5), (1, 2, 1, 6, 1)),
    ((7,), (1,)),
)


def test_binary_broadcasting(build: Build, folder: Path) -> None:
    """Of two tensors, and of a tensor and a constant in either place."""
    specs = []
    for constant, (one, other) in product(((), ("a",), ("b",)), BROADCASTS):
        a, b = numbers(*one), numbers(*other)
        shape = np.broadcast_shapes(one, other)
        specs.append(
            Spec("Binary", {"a": a, "b": b}, shape, {"kind": "sub"}, constant, tolerance=1)
        )
        specs.append(
            Spec(
                "Binary",
                {"a": b, "b": a},
                shape,
                {"kind": "mul"},
                constant,
                residual=numbers(*shape),
                after=RELU,
                tolerance=2,
                scale=2,
            )
        )
    check(build, [case for spec in specs for case in spec.cases(build.target)], folder)


def test_numbers_of_activations_that_are_not_finite(build: Build, folder: Path) -> None:
    """As literals: NaN, infinities, a zero with a sign; as elements too."""
    inf, nan, largest = np.inf, np.nan, 3.4028234663852886e38
    x = np.array([-inf, -largest, -1, 0, 1, largest, inf, nan, 2], np.float32)
    functions = [
        Activation("clip", low, high)
        for low, high in (
            (-inf, 1.0),
            (1.0, inf),
            (-largest, largest),
            (-inf, -inf),
            (2.0**-126, 2.0),
        )
    ]
    functions += [
        Activation(kind, alpha, 0.5)
        for kind in ("leaky_relu", "elu", "hard_sigmoid")
        for alpha in (nan, inf, -0.0)
    ]
    specs = [Spec("Unary", {"x": x}, x.shape, before=each, tolerance=1) for each in functions]
    check(build, [case for spec in specs for case in spec.cases(build.target)], folder)


def test_binary_kinds(build: Build, folder: Path) -> None:
    specs = []
    for kind in ("add", "div", "min", "max", "prelu"):
        a, b = numbers(1, 18, 5, 3), numbers(1, 18, 1, 1)
        specs += [
            Spec("Binary", {"a": a, "b": b}, a.shape, {"kind": kind}, ("b",), tolerance=1),
            Spec("Binary", {"a": b, "b": a}, a.shape, {"kind": kind}, tolerance=1),
        ]
    check(build, [case for spec in specs for case in spec.cases(build.target)], folder)


def test_powers(build: Build, folder: Path) -> None:
    base = np.concatenate([numbers(40, lo=0, hi=30), -numbers(11, lo=0, hi=30), [0.0, 1.0, -1.0]])
    a = base.astype(np.float32)
    specs = []
    for exponent in (1.0, 2.0, 3.0, 0.5, -1.0, 0.0, -3.0, 5.0, 0.7, -2.25, 1.0 / 3):
        b = np.array(exponent, np.float32)
        specs.append(
            Spec("Binary", {"a": a, "b": b}, a.shape, {"kind": "pow"}, ("b",), tolerance=40)
        )
    for exponent in (np.inf, -np.inf, np.nan):  # even, as C has it
        b, edges = np.array(exponent, np.float32), np.array([1, -1, 2, -2, 0.5, 0], np.float32)
        specs.append(Spec("Binary", {"a": edges, "b": b}, edges.shape, {"kind": "pow"}, ("b",)))
    exponents = rng.integers(-4, 5, a.shape).astype(np.float32)
    specs.append(Spec("Binary", {"a": a, "b": exponents}, a.shape, {"kind": "pow"}, tolerance=40))
    check(build, [case for spec in specs for case in spec.cases(build.target)], folder)


def test_affine(build: Build, folder: Path) -> None:
    specs = []
    for c in channel_counts(build.target.lanes):
        for shape in ((2, c, 3, 5), (1, c, 9), (2, c, 2, 3, 4), (3, c), (2, c, 1, 1)):
            inputs = {"x": numbers(*shape), "scale": numbers(c), "shift": numbers(c)}
            specs.append(
                Spec(
                    "Affine",
                    inputs,
                    shape,
                    {},
                    ("scale", "shift"),
                    after=RELU,
                    tolerance=2,
                    scale=4,
                )
            )
    x = numbers(2, 6, 3, 5)
    inputs = {"x": x, "scale": numbers(6), "shift": numbers(6)}
    specs.append(
        Spec(
            "Affine",
            inputs,
            x.shape,
            {},
            ("scale", "shift"),
            residual=x + 1,
            after=RELU,
            tolerance=2,
            scale=4,
        )
    )
    check(build, [case for spec in specs for case in spec.cases(build.target)], folder)
