"""Layers held to the model's pieces: rows that nobody computes, and pieces that are off."""

from __future__ import annotations

from collections.abc import Mapping
from pathlib import Path
from typing import Any

import numpy as np
import pytest

from edgeconv.ir.candidate import EXACTLY
from edgeconv.ir.layout import ROW_MAJOR
from edgeconv.ir.requantisation import EXACT, TFLITE
from edgeconv.ir.requantisation.exact_reals import multiples
from edgeconv.run.verify.exact.value import Value
from edgeconv.run.verify.per_layer import PerLayer, Second, compare_layers, in_integers
from tests.onnx_models import Values

TOLERANCE = 1e-4
FIRST = np.arange(10, dtype=np.float32).reshape(1, 1, 5, 2)  # nobody reads the last two rows
LAST = -FIRST[:, :, :3]
STEPS = [
    {
        "stream_rows": 1,
        "layers": [
            {"layer": 0, "rows": 5, "ring": 1, "reach": 1, "stride": 1, "pad": 0},
            {"layer": 1, "rows": 3, "ring": 1, "reach": 1, "stride": 1, "pad": 0},
        ],
    }
]


def layer(name: str, reads: str, values: Values, rows: int) -> dict[str, Any]:
    """As a report has it; memory holds so many ``rows``."""
    return {
        "name": f"{name}_layer",
        "op": "Conv",
        "inputs": [reads],
        "output": name,
        "output_shape": list(values.shape),
        "output_bytes": rows * values.shape[-1] * 4,
        "layout_out": str(ROW_MAJOR),
        "storage": {"weights": None, "output": "float32"},
        "compute": min(EXACTLY),
    }


LAYERS = [layer("first", "x", FIRST, 1), layer("last", "first", LAST, 3)]


def exact(values: Values) -> Value:
    return Value(multiples(values.astype(np.int64)), lambda: np.zeros(values.shape))


@pytest.mark.parametrize("wrong", [False, True])
def test_rows_that_nobody_reads_are_those_of_tensorflow_lite(wrong: bool, tmp_path: Path) -> None:
    """The reference rounds otherwise than TensorFlow Lite in every number."""
    computed = FIRST[0, 0, :3].copy()
    computed[1] += wrong
    trace = tmp_path / "layers.bin"
    trace.write_bytes(computed.tobytes() + LAST.tobytes())
    found = compare_layers(
        LAYERS,
        trace,
        {},
        {"first": FIRST, "last": LAST},
        lambda results, shift: {"first": FIRST + 1, "last": LAST + 1},
        lambda results: {"first": exact(FIRST), "last": exact(LAST)},
        STEPS,
        TFLITE,
    )
    assert found.exact["first_layer"].numbers == FIRST.size
    assert found.exact["first_layer"].wrong == 2 * wrong
    # beyond the bound on the reference's error, which TensorFlow Lite is not held to
    assert [each.wrong > 0 for each in found.exact.values()] == [wrong, False]


def judged(
    got: Values, reference: Values, in_float64: Values | None, written: Values | None, folder: Path
) -> PerLayer:
    """Of one layer in float32."""
    trace = folder / "layers.bin"
    trace.write_bytes(got.tobytes())
    only = {**layer("first", "x", FIRST, 5), "compute": "float32"}

    def asked(values: Values | None) -> Mapping[str, Values]:
        return {} if values is None else {"first": values}

    return compare_layers(
        [only],
        trace,
        {},
        {"first": reference},
        lambda results, shift: {"first": reference},
        lambda results: {},
        (),
        EXACT,
        Second(lambda _: asked(in_float64), lambda _: asked(written), TOLERANCE),
    )


def off(error: float) -> Values:
    values = FIRST.copy()
    values[0, 0, 2, 1] += error * FIRST.max()
    return values


@pytest.mark.parametrize(
    ("got", "reference", "written", "defects"),
    [
        (0, 1e-3, 1e-3, 0),  # the reference is off
        (2e-3, 1e-3, 1e-3, 0),  # both are, by float32
        (2e-3, 1e-3, 0, 1),  # the reference for another reason, and the program, too
        (2e-2, 1e-3, 1e-3, 1),
        (1e-3, 0, 0, 1),
        (np.nan, 1e-3, 1e-3, 1),
    ],
)
def test_a_piece_that_differs_is_held_to_float64(
    got: float, reference: float, written: float, defects: int, tmp_path: Path
) -> None:
    right = FIRST.astype(np.float64)
    found = judged(off(got), off(reference), right, off(written), tmp_path)
    assert len(found.defects(TOLERANCE)) == defects
    assert len(found.in_float64) == 1 - defects


def test_without_float64_the_reference_is_right(tmp_path: Path) -> None:
    assert judged(off(0), off(1e-3), None, None, tmp_path).defects(TOLERANCE) == ["first_layer"]


def test_what_is_computed_in_integers_is_found_however_many_ways_lead_there() -> None:
    """Ways through tensors that the model has not: of sixty layers as many as Fibonacci has."""
    layers = [
        {
            "name": f"{n}",
            "op": "Binary",
            "output": f"t{n}",
            "layout_out": "NCHW",
            "inputs": [f"t{n - 1}", f"t{n - 2}"],
            "compute": "int8" if n else None,
        }
        for n in range(60)
    ]
    assert in_integers(layers, {"t59"}) == frozenset()
    assert in_integers([{**each, "compute": "int8"} for each in layers], {"t59"}) == {"t59"}
    assert in_integers(layers, {"t0", "t1", "t59"}) == {"t1", "t59"}
