"""Resize kernels in every layout, against float64."""

from __future__ import annotations

from pathlib import Path

import numpy as np

from edgeconv.ir.activation import Activation
from tests.kernels.cases import Array, Build, Spec
from tests.kernels.harness import check

rng = np.random.default_rng(2)
RELU = Activation("relu")


def numbers(*shape: int, reach: float = 2.0) -> Array:
    return rng.uniform(-reach, reach, shape).astype(np.float32)


def run(build: Build, folder: Path, specs: list[Spec]) -> None:
    check(build, [case for spec in specs for case in spec.cases(build.target)], folder)


RESIZES = (
    ("nearest", "asymmetric", "floor"),
    ("nearest", "half_pixel", "round_prefer_floor"),
    ("nearest", "tf_half_pixel_for_nn", "round_prefer_ceil"),
    ("nearest", "align_corners", "ceil"),
    ("linear", "half_pixel", "floor"),
    ("linear", "pytorch_half_pixel", "floor"),
    ("linear", "align_corners", "floor"),
    ("linear", "half_pixel_symmetric", "floor"),
    ("cubic", "half_pixel", "floor"),
    ("cubic", "asymmetric", "floor"),
)


def specs_of(lanes: int, mode: str, coordinates: str, nearest: str) -> list[Spec]:
    specs = []
    for shape, scales in (
        ((1, lanes + 1, 4, 5), (1, 1, 2, 2)),
        ((2, 3, 7, 9), (1, 1, 0.5, 1.3)),
        ((1, 2, 5, 20), (1, 1, 3, 1)),
        ((2, 3, 11), (1, 1, 2)),
        ((1, 2, 3, 4, 5), (1, 1, 2, 1.5, 2)),
        ((3, 4, 5), (2, 1, 1)),
        ((1, 4, 5, 3), (1, 2, 2, 1)),
        ((1, 2, 5), (1, 1.3, 0.7)),  # two channels from two, but others
        ((1, 2, 1, 1), (1, 1, 4, 4)),
    ):
        out = tuple(int(np.floor(n * s)) for n, s in zip(shape, scales, strict=True))
        if coordinates == "align_corners" and any(
            n * s != o for n, s, o in zip(shape, scales, out, strict=True)
        ):
            continue
        for exclude in {False, mode == "cubic"}:
            attrs = {
                "mode": mode,
                "coordinate_transformation_mode": coordinates,
                "nearest_mode": nearest,
                "cubic_coeff_a": -0.75,
                "exclude_outside": exclude,
                "scales": tuple(float(s) for s in scales),
            }
            x = numbers(*shape)
            specs.append(
                Spec(
                    "Resize", {"x": x}, out, attrs, tolerance=0 if mode == "nearest" else 8, scale=2
                )
            )
    specs.append(
        Spec(
            "Resize", {"x": x}, out, attrs, residual=numbers(*out), after=RELU, tolerance=8, scale=2
        )
    )
    return specs


def test_resize(build: Build, folder: Path) -> None:
    run(build, folder, [spec for how in RESIZES for spec in specs_of(build.target.lanes, *how)])
