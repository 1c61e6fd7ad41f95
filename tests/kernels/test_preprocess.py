"""Pre-processing of frames, against its definition in numpy."""

from __future__ import annotations

from dataclasses import replace
from pathlib import Path
from typing import Any

import numpy as np

from edgeconv.ir.activation import Activation, grid
from edgeconv.ir.preprocessing import Neighbours, Preprocessing
from edgeconv.model.preprocessing import preprocessing
from edgeconv.model.preprocessing.formats import CHANNELS, FORMATS
from tests.kernels.cases import Array, Build, Spec
from tests.kernels.harness import check
from tests.preprocess_settings import settings_of

rng = np.random.default_rng(5)
GRID = grid(1 / 64, -128.0, 127.0)


def spec_of(
    made: Preprocessing, storage: str = "float32", before: Activation | None = None
) -> Spec:
    frame: Array = rng.integers(0, 256, (1, made.lines, made.stride), np.uint8)
    return Spec(
        "Preprocess",
        {"frame": frame},
        made.shape,
        {"preprocessing": made},
        before=before or Activation("none"),
        tolerance=0 if storage.startswith("int8") else 8,
        scale=2,
        storage={"out": storage},
    )


def made_of(size: tuple[int, int], **changed: Any) -> Preprocessing:
    return preprocessing(size, settings_of(**changed))


def run(build: Build, folder: Path, specs: list[Spec]) -> None:
    check(build, [case for spec in specs for case in spec.cases(build.target)], folder)


def test_formats(build: Build, folder: Path) -> None:
    """Every format, as one order of channels each, smaller or as it is."""
    specs = []
    for number, kind in enumerate(FORMATS):
        channels = tuple(CHANNELS)[number % 3]
        size = ((3, 5), (6, 10))[number % 2]
        made = made_of(size, format=kind, channels=channels, width=10, height=6, padding=3)
        specs.append(spec_of(made) if number % 3 else spec_of(made, "int8(0.015625, 0)", GRID))
    run(build, folder, specs)


def test_sizes(build: Build, folder: Path) -> None:
    """Larger, letterboxes of both kinds, all flips, one column, an epilogue, halves; one axis
    alone."""
    relu = Activation("relu")
    specs = [
        spec_of(made_of((9, 17), width=6, height=4, fit="letterbox", fill=(9.0, 114.0, 200.0))),
        spec_of(made_of((17, 9), width=6, height=4, fit="letterbox", mode="nearest"), before=relu),
        spec_of(made_of((5, 1), width=7, height=5, flip="both", format="grey", channels="grey")),
        spec_of(made_of((3, 8), width=8, height=9, flip="vertical", format="uyvy")),
        spec_of(made_of((4, 19), width=40, height=7), "flyte16"),
        spec_of(made_of((4, 19), width=40, height=7, fit="letterbox"), "int8(0.015625, 5)", relu),
        spec_of(made_of((4, 19), width=40, height=4)),
        spec_of(made_of((4, 19), width=19, height=7), "int8(0.015625, 0)", GRID),
        spec_of(made_of((4, 19), width=40, height=4), "int8(0.015625, 0)", GRID),
    ]
    run(build, folder, specs)


def test_real_numbers(build: Build, folder: Path) -> None:
    """What a model interpolates without rounding, with weights of other denominators than 2^11."""
    plain = made_of((4, 6), width=9, height=6)
    rows = Neighbours((0, 1, 3, 4), (1, 2, 4, 5), (1, 3, 0, 2), 4)
    columns = Neighbours((0, 2, 3, 5, 6, 8), (1, 3, 4, 6, 7, 8), (2, 0, 1, 2, 0, 1), 3)
    made = replace(plain, rounded=False, rows=rows, columns=columns)
    specs = [
        spec_of(made),
        spec_of(replace(made, rows=Neighbours((0, 2, 4, 5))), "flyte16"),
        spec_of(replace(made, size=(6, 6), top=1, fill=(0.5, -1.0, 2.0))),
    ]
    run(build, folder, specs)


def test_even_columns(build: Build, folder: Path) -> None:
    """Columns that lie evenly, of few weights: halves, a frame as it is, a third, other orders,
    wide and per-channel numbers; and a table that no linear function equals."""
    byte, half = "int8(0.015625, 3)", "int16(0.001, 0)"
    apart = {"mean": (120.0, 117.0, 104.0), "std": (58.0, 57.0, 60.0)}
    specs = [
        spec_of(made_of((3, 35), width=70, height=6, flip="both", channels="bgr"), byte, GRID),
        spec_of(made_of((6, 10), width=10, height=6, format="bgra", **apart), byte),
        spec_of(made_of((3, 4), width=12, height=6, format="nv21", **apart), half),
        spec_of(made_of((3, 5), width=10, height=6), "int8(0.015625, 0)", Activation("sigmoid")),
    ]
    run(build, folder, specs)
