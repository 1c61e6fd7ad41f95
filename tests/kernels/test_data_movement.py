"""Kernels that only move data: equality, in every layout, with and without views."""

from __future__ import annotations

from pathlib import Path

import numpy as np

from tests.kernels.cases import Array, Build, Spec
from tests.kernels.harness import check

rng = np.random.default_rng(5)


def numbers(*shape: int) -> Array:
    return rng.uniform(-1, 1, shape).astype(np.float32)


def run(build: Build, folder: Path, specs: list[Spec]) -> None:
    check(build, [case for spec in specs for case in spec.cases(build.target)], folder)


def test_convert(build: Build, folder: Path) -> None:
    lanes = build.target.lanes
    specs = []
    for c in (1, 2, lanes, lanes + 1, 3 * lanes - 1, 4 * lanes):
        for spatial in ((1, 1), (3, 5), (7,), (4, 2 * lanes), (2, 3, 3)):
            for n in (1, 2):
                x = numbers(n, c, *spatial)
                specs.append(Spec("Convert", {"x": x}, x.shape))
    run(build, folder, specs)


def test_transpose(build: Build, folder: Path) -> None:
    shapes_and_perms = (
        ((2, 5, 4, 7), (0, 2, 3, 1)),
        ((2, 5, 4, 7), (0, 3, 1, 2)),
        ((2, 33, 18, 1), (0, 2, 3, 1)),
        ((1, 1, 4, 7), (0, 3, 1, 2)),
        ((2, 3, 17, 19), (3, 2, 1, 0)),
        ((2, 3, 17, 19), (0, 1, 3, 2)),
        ((2, 3, 17, 19), (1, 0, 2, 3)),
        ((2, 4, 3, 5, 6), (0, 2, 1, 3, 4)),
        ((2, 3, 2, 3, 2, 3), (0, 1, 4, 2, 5, 3)),
        ((31, 40), (1, 0)),
        ((6,), (0,)),
        ((2, 3, 9), (0, 2, 1)),
    )
    specs = []
    for shape, perm in shapes_and_perms:
        out = tuple(shape[d] for d in perm)
        specs.append(Spec("Transpose", {"x": numbers(*shape)}, out, {"perm": perm}))
    run(build, folder, specs)


def test_slice(build: Build, folder: Path) -> None:
    lanes = build.target.lanes
    x = numbers(2, 3 * lanes + 1, 6, 7)
    kept = (
        np.s_[:, :, :, :],
        np.s_[1:2, :, :, :],
        np.s_[:, lanes:, :, :],
        np.s_[:, 1 : lanes + 1, :, :],
        np.s_[:, lanes : 2 * lanes, 1:3, 2:],
        np.s_[:1, lanes : 2 * lanes + 1, :, :],
        np.s_[:, ::2, :, :],
        np.s_[:, :, 1::2, ::3],
        np.s_[:, :, ::-1, :],
        np.s_[:, ::-1, :, 5:0:-2],
    )
    specs = []
    for key in kept:
        ranges = [range(*part.indices(size)) for part, size in zip(key, x.shape, strict=True)]
        attrs = {
            "starts": tuple(r.start for r in ranges),
            "steps": tuple(r.step for r in ranges),
        }
        specs.append(Spec("Slice", {"x": x}, tuple(map(len, ranges)), attrs))
    row = numbers(20)
    specs.append(Spec("Slice", {"x": row}, (5,), {"starts": (4,), "steps": (3,)}))
    specs.append(Spec("Slice", {"x": row}, (5,), {"starts": (4,), "steps": (1,)}))
    run(build, folder, specs)


def test_views(build: Build, folder: Path) -> None:
    lanes = build.target.lanes
    specs = [
        Spec("Reshape", {"x": numbers(2, lanes + 1, 6, 4)}, (2, lanes + 1, 24)),
        Spec("Reshape", {"x": numbers(2, 6, 6, 4)}, (2, 144)),
        Spec("Reshape", {"x": numbers(2, 6, 6, 4)}, (4, 3, 24)),
        Spec("Identity", {"x": numbers(2, lanes, 3)}, (2, lanes, 3)),
        Spec("Reshape", {"x": numbers(5)}, (5,), constants=("x",)),
    ]
    run(build, folder, specs)


def test_concat(build: Build, folder: Path) -> None:
    lanes = build.target.lanes
    specs = []
    for n in (1, 2):
        for channels in ((lanes, 2 * lanes, lanes + 1), (3, 1, 5), (2 * lanes, lanes)):
            parts = {f"x{i}": numbers(n, c, 3, 5) for i, c in enumerate(channels)}
            specs.append(Spec("Concat", parts, (n, sum(channels), 3, 5), {"axis": 1}))
            specs.append(
                Spec("Concat", parts, (n, sum(channels), 3, 5), {"axis": 1}, constants=("x1",))
            )
        for axis in (0, 2, 3):
            shapes = [[n, lanes + 2, 3, 5] for _ in range(2)]
            shapes[1][axis] += 4
            out = [n, lanes + 2, 3, 5]
            out[axis] = shapes[0][axis] + shapes[1][axis]
            parts = {f"x{i}": numbers(*shape) for i, shape in enumerate(shapes)}
            specs.append(Spec("Concat", parts, tuple(out), {"axis": axis}))
    specs.append(Spec("Concat", {"a": numbers(7, 1), "b": numbers(7, 1)}, (7, 2), {"axis": 1}))
    run(build, folder, specs)


def test_pad(build: Build, folder: Path) -> None:
    c = build.target.lanes + 1
    specs = []
    for mode in ("constant", "reflect", "edge", "wrap"):
        for pads in (
            (0, 0, 1, 2, 0, 0, 2, 1),
            (0, 0, 0, 1, 0, 0, 0, 0),
            (0, 1, 0, 0, 0, 2, 0, 0),
            (1, 0, 2, 0, 0, 1, 0, 3),
            (0, 0, 0, 0, 0, 0, 0, 0),
            (0, 0, 7, 9, 0, 0, 8, 6),
        ):
            if mode in ("reflect", "wrap") and (max(pads) > 3 or pads[0]):
                continue  # numpy, the oracle, and ONNX differ where a border exceeds the tensor
            x = numbers(2, c, 4, 5)
            shape = tuple(s + pads[d] + pads[4 + d] for d, s in enumerate(x.shape))
            specs.append(Spec("Pad", {"x": x}, shape, {"pads": pads, "mode": mode, "value": -1.5}))
        specs.append(
            Spec("Pad", {"x": numbers(6)}, (9,), {"pads": (2, 1), "mode": mode, "value": 0.0})
        )
    run(build, folder, specs)


def test_gather_expand_tile(build: Build, folder: Path) -> None:
    x = numbers(2, 6, 3, 4)
    specs = []
    for axis, index in (
        (1, np.array([5, 0, 3, 3, -1])),
        (1, np.array([[1, 2], [3, 4]])),
        (1, np.array(2)),
        (3, np.array([3, 0, 1])),
        (0, np.array([1, 0])),
        (2, np.array([2, 1, 0])),
        (1, np.array([4, 4, 4])),
    ):
        shape = np.take(x, index, axis).shape
        specs.append(Spec("Gather", {"x": x, "index": index}, shape, {"axis": axis}, ("index",)))
    for one, shape in (
        ((3, 1), (2, 3, 4)),
        ((1,), (5,)),
        ((2, 1, 6), (2, 3, 6)),
        ((), (2, 2)),
        ((4, 1), (4, 1)),
    ):
        specs.append(Spec("Expand", {"x": numbers(*one)}, shape))
    for repeats in ((1, 2, 1, 3), (2, 1, 1, 1), (1, 1, 2, 1), (1, 1, 1, 1)):
        shape = tuple(r * s for r, s in zip(repeats, x.shape, strict=True))
        specs.append(Spec("Tile", {"x": x}, shape, {"repeats": repeats}))
    run(build, folder, specs)
