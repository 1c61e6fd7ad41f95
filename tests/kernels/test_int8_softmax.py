"""Softmax of int8 in integers: the very numbers of what is proven, on every core."""

from __future__ import annotations

from pathlib import Path

import numpy as np
import numpy.typing as npt

from edgeconv.ir.activation import grid
from edgeconv.ir.encoding import Encoding, int8
from edgeconv.ir.requantisation.pair import Affine
from edgeconv.ir.requantisation.softmax import softmax
from tests.kernels.cases import Build, Case, Spec
from tests.kernels.harness import check

X, Y = int8(0.0917, 17), int8(1 / 256, -128)
Integers = npt.NDArray[np.int64]


def rows_of(shape: tuple[int, ...], seed: int) -> Integers:
    """Of int8, near each other and far apart by turns along the first axis; the first row is alike
    but for the lowest number, the second all alike."""
    rng = np.random.default_rng(seed)
    whole = rng.integers(-128, 128, shape)
    whole[::3] = rng.integers(-9, 9, whole[::3].shape)
    whole[0] = 127
    whole[0].reshape(-1)[-1:] = -128
    whole[1:2] = -77
    return whole


def cases(
    build: Build,
    shape: tuple[int, ...],
    axis: int,
    x: Encoding = X,
    y: Encoding = Y,
    least: int = 0,
) -> list[Case]:
    """Those in integers; of the result's steps ``least`` are cut off at the lower end."""
    stored, low = rows_of(shape, sum(shape)), -128 - y.zero[0]
    form = softmax(Affine(x.scale[0], x.zero[0]), Affine(y.scale[0], y.zero[0]), least - 128, 127)
    assert form is not None
    along = np.moveaxis(stored, axis, -1)
    made = np.array([form.of(row.tolist()) for row in along.reshape(-1, shape[axis])])
    steps = np.moveaxis(made.reshape(along.shape), -1, axis) - y.zero[0]
    spec = Spec(
        "Softmax",
        {"x": ((stored - x.zero[0]) * np.float32(x.scale[0])).astype(np.float32)},
        shape,
        attrs={"axis": axis, "log": False},
        before=grid(y.scale[0], low + least, low + 255),
        storage={"x": str(x), "out": str(y)},
    )
    wanted = (steps * np.float32(y.scale[0])).astype(np.float32)
    return [c for c in spec.cases(build.target, wanted) if c.layer.algorithm == "int8_softmax"]


def to_reals(build: Build, shape: tuple[int, ...], axis: int) -> list[Case]:
    """The same with results in float32."""
    x = ((rows_of(shape, 5) - X.zero[0]) * np.float32(X.scale[0])).astype(np.float32)
    attrs = {"axis": axis, "log": False}
    spec = Spec(
        "Softmax",
        {"x": x},
        shape,
        attrs,
        tolerance=shape[axis] + 4,
        scale=1e-12,
        storage={"x": str(X)},
    )
    return [c for c in spec.cases(build.target) if c.layer.algorithm == "int8_softmax"]


def test_rows_of_every_length(build: Build, folder: Path) -> None:
    """Along the innermost and other axes, channels last too; steps of which 1 has many or less than
    one, bounds; powers that vanish at once or never; results as float32."""
    lanes, found = build.target.lanes, list[Case]()
    for n in sorted({1, 2, 3, 10, lanes + 1, 300}):
        found += cases(build, (4, n), 1)
        found += to_reals(build, (4, n), 1)
    over_channels = cases(build, (2, 5, 3, 4), 1, least=30) + to_reals(build, (2, 5, 3, 4), 1)
    assert len(over_channels) == 4
    found += over_channels + cases(build, (3, 4, 5), 2) + cases(build, (7, 3), 0)
    for x, y in (
        (int8(0.0013, 3), int8(0.00037, 5)),
        (int8(31.0, 0), int8(0.9, -3)),
        (int8(0.02, 0), int8(3.0e5, 0)),
        (int8(0.02, 0), int8(2.0**-20, 0)),
    ):
        found += cases(build, (5, 6), 1, x, y)
    assert all(case.layer.algorithm == "int8_softmax" for case in found)
    check(build, found, folder)
