"""The activation of QuantizeLinear and DequantizeLinear, on ties too."""

from __future__ import annotations

from pathlib import Path

import numpy as np

from edgeconv.ir.activation import grid
from tests.kernels.cases import Build, Spec
from tests.kernels.harness import check


def test_grid(build: Build, folder: Path) -> None:
    rng = np.random.default_rng(3)
    x = rng.uniform(-40, 40, 67).astype(np.float32)
    halves = np.arange(-300, 301, dtype=np.float32) * np.float32(0.0625)  # ties of the step 0.125
    far = np.array([1e30, -1e30, 3e38, -0.0, 1e-40], np.float32)
    specs = [
        Spec("Unary", {"x": values}, values.shape, before=grid(step, low, high), tolerance=1)
        for values, step, low, high in (
            (x, 0.1, -128, 127),
            (x, 0.3, 0, 255),
            (halves, 0.125, -128, 127),
            (halves, 0.125, -28, 227),
            (far, 0.5, -32768, 32767),
        )
    ]
    specs.append(
        Spec(
            "Unary",
            {"x": halves},
            halves.shape,
            before=grid(0.125, -128, 127),
            residual=halves,
            after=grid(0.25, -100, 100),
        )
    )
    check(build, [case for spec in specs for case in spec.cases(build.target)], folder)
