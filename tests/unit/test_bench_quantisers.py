"""The table of quantisers: what a report says of a file, and how lines are made of outcomes."""

from __future__ import annotations

from collections.abc import Mapping
from pathlib import Path
from typing import Any

import numpy as np
import onnx
import onnxruntime
import pytest
from quantisers import main, table
from quantising.answers import difference, save
from quantising.networks import NETWORKS, samples, write_networks
from quantising.outcomes import Apart, Outcome, beside_runtime, compiled, outcome_of
from quantising.runtimes import RUNTIMES
from quantising.summary import summary
from quantising.tools import answers_path


def report(*milliseconds: float | None, **found: int) -> Mapping[str, Any]:
    integers = {"layers": 2, "of_layers": 3, "macs": 80, "of_macs": 120, **found}
    layers = [{"predicted_ms": each} for each in milliseconds]
    return {"integers": integers, "layers": layers, "ram": {"total": 4096}}


def test_what_a_report_says() -> None:
    found = outcome_of(report(1.25, 0.5))
    assert found == Outcome((2, 3), 66, 1.75, 4096)
    assert found.cell() == "2 of 3, 66 %, 1.8 ms, 4,096"
    assert outcome_of(report(1.0, None)).milliseconds is None
    assert outcome_of({**report(None), "integers": None}).cell() == "0 of 0, 0 %, 4,096"


def test_a_line_for_each_tool_and_option() -> None:
    one = Outcome((1, 2), 50, 3.0, 8, verified="equal")
    other = Outcome(refused="not written")
    outcomes = {("a", "x", "n"): one, ("a", "y", "m"): other, ("b", "x", "m"): one}
    assert list(table(outcomes)) == [
        "| tool, option | n | m |",
        "|---|---|---|",
        "| a, x | 1 of 2, 50 %, 3.0 ms, 8; equal |  |",
        "| a, y |  | not written |",
        "| b, x |  | 1 of 2, 50 %, 3.0 ms, 8; equal |",
    ]


def test_networks_are_the_same_every_time_and_run(tmp_path: Path) -> None:
    paths = write_networks(tmp_path)
    assert [path.stem for path in paths] == list(NETWORKS)
    for path, build in zip(paths, NETWORKS.values(), strict=True):
        model = onnx.load(path)
        assert model == build()
        np.testing.assert_array_equal(np.load(path.with_suffix(".npy")), samples(model))
        session = onnxruntime.InferenceSession(str(path), providers=["CPUExecutionProvider"])
        (result,) = session.run(None, {"input": samples(model)[:1]})
        assert np.isfinite(result).all()
        assert np.ptp(result) > 0.01


def test_files_that_lie_there(tmp_path: Path, capsys: Any) -> None:
    """No tool is asked again, and one that wrote nothing or what is no model ends nothing."""
    (tmp_path / "networks").mkdir()
    results = tmp_path / "onnxruntime"
    results.mkdir()
    (results / "ds_cnn.qdq.failed").touch()
    (results / "ds_cnn.qop.onnx").write_bytes(b"no model")
    onnx.save(NETWORKS["ds_cnn"](), results / "ds_cnn.dynamic.onnx")
    main([str(tmp_path), "--tool", "onnxruntime", "--python", "onnxruntime=unused"])
    _, _, title, _, dynamic, qdq, qop = capsys.readouterr().out.strip("\n").splitlines()
    assert title == "| tool, option | ds_cnn |"
    assert dynamic.startswith("| onnxruntime, dynamic | 0 of 0, 0 %")
    assert qdq == "| onnxruntime, qdq | not written |"
    assert qop.startswith("| onnxruntime, qop | refused: ")
    assert compiled(results / "ds_cnn.qdq.failed", "host", verify=True).refused == "not written"


def test_a_line_of_all_networks_for_each_board() -> None:
    made = [Outcome((2, 2), 100, 1.0, 50, verified="equal"), Outcome((1, 3), 40, 3.0, 80)]
    found = {("a", "x", "n"): made[0], ("a", "x", "m"): made[1]}
    fails = {("a", "x", "n"): Outcome(refused="refused: RAM"), ("b", "y", "n"): Outcome()}
    real = {name: Outcome((0, 3), 0, 4.0, 100) for name in "nm"}
    silent = {"n": Outcome((0, 3), 0, None, 100)}
    lines = list(summary({"one": found, "two": fails}, {"one": real, "two": silent}))
    assert lines[2:] == [
        "| a, `x` | 3 of 5; ms 0.25 to 0.75; RAM 0.50 to 0.80; 1 of 1 equal | no n |",
        "| b, `y` | not written | 0 of 0; RAM 0.00 |",
    ]


def test_how_far_runs_are_apart() -> None:
    """In steps of integers and of grids, else absolute, where float32's rounding is none."""
    integers = {"y": np.array([1, 2, 3, 4], np.int8)}
    assert difference([{"y": np.array([1, 2, 5, 5])}], [integers], {}) == (2.0, 0.5, True)
    real = {"y": np.array([0.5, 1.0], np.float32)}
    near = {"y": np.array([0.5, 1.0 + 1e-6], np.float32)}
    assert difference([{"y": np.array([0.75, 1.0])}], [real], {"y": 0.25}) == (1.0, 0.5, True)
    assert difference([near], [real], {})[1:] == (0.0, False)
    assert Apart(2.0, 0.125, True).cell() == "2 steps, 12 %"
    assert Apart(1.0000001, 0.001, True).cell() == "1 step, 0.1 %"
    assert Apart(0.5, 0.25, False).cell() == "0.5, 25 %"
    assert Apart(0.5, 0.0, False).cell() == "equal"


def test_a_program_beside_its_runtime(tmp_path: Path) -> None:
    path = tmp_path / "ds_cnn.float32.onnx"
    onnx.save(NETWORKS["ds_cnn"](), path)
    assert beside_runtime(path, "onnxruntime", "exact").cell() == "not run"
    answers = answers_path(path, "onnxruntime")
    save(answers, RUNTIMES["onnxruntime"](path))
    assert beside_runtime(path, "onnxruntime", "exact").cell() == "equal"


def test_packages_that_are_not_installed(tmp_path: Path, capsys: Any) -> None:
    (tmp_path / "networks").mkdir()
    with pytest.raises(SystemExit) as ended:
        main([str(tmp_path), "--tool", "nncf", "--python", "nncf=/nowhere/python"])
    assert ended.value.code == 1
    assert capsys.readouterr().err.startswith("nncf: no interpreter at /nowhere/python")
