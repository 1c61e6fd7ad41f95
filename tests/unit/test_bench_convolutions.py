"""The convolution benchmark, on a model of three small convolutions of which two are equal."""

from __future__ import annotations

import ctypes.util
import json
import os
import platform
import subprocess
import sys
from pathlib import Path
from typing import Any

import numpy as np
import onnx
import pytest
from onnx import helper

from tests import ROOT, onnx_models

SCRIPT = ROOT / "bench" / "convolutions.py"

pytestmark = [
    pytest.mark.skipif(not SCRIPT.is_file(), reason="not run from a source checkout"),
    pytest.mark.skipif(not hasattr(os, "sched_setaffinity"), reason="cores cannot be chosen here"),
]


def save_model(folder: Path) -> Path:
    """3x3 twice with different weights, then a depthwise 3x3 of stride 2."""
    rng = np.random.default_rng(0)
    constants: dict[str, Any] = {
        name: rng.standard_normal((16, 16, 3, 3), np.float32) for name in ("w1", "w2")
    }
    constants["w3"] = rng.standard_normal((16, 1, 3, 3), np.float32)
    pads = [1, 1, 1, 1]
    nodes = [
        helper.make_node("Conv", ["x", "w1"], ["p"], pads=pads),
        helper.make_node("Relu", ["p"], ["q"]),
        helper.make_node("Conv", ["q", "w2"], ["r"], pads=pads),
        helper.make_node("Conv", ["r", "w3"], ["y"], pads=pads, strides=[2, 2], group=16),
    ]
    model = onnx_models.model(nodes, {"x": (1, 16, 9, 9)}, {"y": None}, constants)
    path = folder / "three.onnx"
    onnx.save(model, path)
    return path


def run(*arguments: str | Path, **environment: str) -> subprocess.CompletedProcess[str]:
    core = str(min(os.sched_getaffinity(0)))
    command = [sys.executable, SCRIPT, "--cpu", core, "--rounds", "2", "--turn-ms", "0.1"]
    return subprocess.run(
        [*map(str, command), *map(str, arguments)],
        env={**os.environ, "PYTHONPATH": str(ROOT), **environment},
        capture_output=True,
        text=True,
        check=False,
    )


def test_times_every_candidate(tmp_path: Path) -> None:
    done = run(save_model(tmp_path), "--schedules", "--packing", "--json")
    assert done.returncode == 0, done.stderr
    document = json.loads(done.stdout)
    model = document["models"]["three"]
    plain, depthwise = model["convolutions"]
    assert (plain["count"], depthwise["count"]) == (2, 1)
    assert plain["macs"] == 16 * 16 * 9 * 81
    assert set(depthwise["us"]) - set(plain["us"]) == {"depthwise"}
    assert {"direct", "sconv", "packing", "unpacked"} < set(plain["us"])
    assert all(us > 0 for row in (plain, depthwise) for us in row["us"].values())
    total = 2 * plain["us"]["sconv"] + depthwise["us"]["sconv"]
    assert model["totals"]["sconv"]["ms"] == pytest.approx(1e-3 * total)
    assert model["totals"]["depthwise"]["convolutions"] == 1
    summary = document["schedules"]
    assert summary["faster"] + summary["tie"] + summary["slower"] == 2
    assert plain["im2col_bytes"] == 16 * 9 * 81 * 4


def test_prints_tables(tmp_path: Path) -> None:
    done = run(save_model(tmp_path), "--schedules", "--packing")
    assert done.returncode == 0, done.stderr
    assert "16x9x9 -> 16, 3x3 p1" in done.stdout
    assert "16x9x9 -> 16, 3x3 /2 p1 g16" in done.stdout
    assert "2 distinct convolutions" in done.stdout


@pytest.mark.skipif(not ctypes.util.find_library("openblas"), reason="OpenBLAS is not installed")
def test_against_openblas(tmp_path: Path) -> None:
    model = save_model(tmp_path)
    options = ("--against", "openblas", "--published", "three=1.5")
    done = run(model, *options, OPENBLAS_VERBOSE="0")
    assert done.returncode == 0, done.stderr
    (row,) = [line.split() for line in done.stdout.splitlines() if line.startswith("  three ")]
    assert float(row[1]) > 0
    assert row[-1] == "1.50"
    assert "ignored: " in done.stdout
    assert "OPENBLAS_VERBOSE" in done.stdout


def test_refuses_what_means_nothing(tmp_path: Path) -> None:
    elsewhere = "raspberry-pi-4" if platform.machine() == "ppc64le" else "power10-s1024"
    foreign = run(save_model(tmp_path), "--board", elsewhere)
    assert foreign.returncode == 2
    assert "only native times" in foreign.stderr
    assert run(tmp_path / "absent.onnx").returncode == 2
