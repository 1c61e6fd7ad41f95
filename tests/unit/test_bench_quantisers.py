"""The table of quantisers: what a report says of a file, and how lines are made of outcomes."""

from __future__ import annotations

from collections.abc import Mapping
from pathlib import Path
from typing import Any

import numpy as np
import onnx
import onnxruntime
from quantisers import Outcome, compiled, main, outcome_of, table
from quantising.networks import NETWORKS, samples, write_networks


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
    one, other = Outcome((1, 2), 50, 3.0, 8, ran="equal, 0"), Outcome(refused="not written")
    outcomes = {("a", "x", "n"): one, ("a", "y", "m"): other, ("b", "x", "m"): one}
    assert list(table(outcomes)) == [
        "| tool, option | n | m |",
        "|---|---|---|",
        "| a, x | 1 of 2, 50 %, 3.0 ms, 8; equal, 0 |  |",
        "| a, y |  | not written |",
        "| b, x |  | 1 of 2, 50 %, 3.0 ms, 8; equal, 0 |",
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
    assert compiled(results / "ds_cnn.qdq.failed", "host", run=True).refused == "not written"
