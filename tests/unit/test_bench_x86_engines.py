"""Times beside engines on this machine: ratios round by round, and engines that are not there."""

from __future__ import annotations

import sys
from pathlib import Path

import numpy as np
import pytest
from engines.timed import LEAST_RUNS, WARM_UP, median_ms, values
from x86_engines import Row, engine_ms


def test_a_ratio_is_of_two_medians_of_the_same_round() -> None:
    row = Row("net", "host", [1.0, 2.0, 4.0], {"litert": [3.0, 2.0, 8.0]})
    assert row.ratios("litert") == [1.0, 2.0, 3.0]
    assert "litert  2.00 (1.00 to 3.00)" in str(row)


def test_an_engine_that_refuses_a_model_is_left_out(
    tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    model = tmp_path / "none.tflite"
    assert engine_ms(sys.executable, "litert", model, 0.0, 0) is None
    assert "litert leaves none.tflite out: " in capsys.readouterr().err


def test_a_median_is_of_enough_runs_behind_those_that_warm_up() -> None:
    calls: list[None] = []
    assert median_ms(lambda: calls.append(None), 0.0) >= 0
    assert len(calls) == WARM_UP + LEAST_RUNS


def test_inputs_are_of_their_type() -> None:
    assert values((2, 3), np.float32).dtype == np.float32
    whole = values((100,), np.int8)
    assert whole.dtype == np.int8
    assert len(np.unique(whole)) > 20
