"""Reference engines in a process of their own: what becomes of one that crashes, hangs, writes to
the terminal or is interrupted."""

from __future__ import annotations

import os
import signal
import subprocess
import sys
import time
from pathlib import Path

import numpy as np
import onnx
import pytest
from onnx import helper

from edgeconv.base import limits
from edgeconv.base.errors import EdgeconvError
from edgeconv.model.frontend import (
    AS_WRITTEN,
    IN_FLOAT64,
    engine_process,
    engines,
    reference_outputs,
)
from edgeconv.model.frontend.engines import RefusedError, Session
from tests import onnx_models

FEEDS = {"x": np.array([[-1, 2, 3]], np.float32)}
COLOURED = "\\x1b[0;31m2026-01-01 [E:onnxruntime] no such kernel\\x1b[m"
# In place of ONNX Runtime.
FAULTS = {
    "crashes": "os.kill(os.getpid(), signal.SIGSEGV)",
    "raises": "raise RuntimeError('no such kernel')",
    "exits": "os._exit(3)",
}


@pytest.fixture
def path(tmp_path: Path) -> Path:
    nodes = [helper.make_node("Relu", ["x"], ["y"])]
    return onnx_models.save(
        onnx_models.model(nodes, {"x": (1, 3)}, {"y": None}), tmp_path / "net.onnx"
    )


def engine_that(
    does: str, path: Path, monkeypatch: pytest.MonkeyPatch, engine: str = "onnxruntime"
) -> None:
    """From now on an engine does that, and writes a coloured line before."""
    program = path.parent / "engine.py"
    program.write_text(
        f"""import os, runpy, signal, sys, time
found = runpy.run_path({str(engine_process.__file__)!r})
def faulty(*_):
    for stream in (1, 2):
        os.write(stream, b"{COLOURED}\\n")
    {does}
found["ENGINES"][{engine!r}] = faulty
found["main"]()
"""
    )
    monkeypatch.setattr(engines, "_PROGRAM", program)
    monkeypatch.setattr(engines, "_shared", engines._Shared())


@pytest.mark.parametrize("fault", FAULTS)
def test_where_one_engine_fails_the_other_is_asked_and_named(
    fault: str, path: Path, monkeypatch: pytest.MonkeyPatch, capfd: pytest.CaptureFixture[str]
) -> None:
    pytest.importorskip("onnxruntime")
    engine_that(FAULTS[fault], path, monkeypatch)
    found = reference_outputs(path, FEEDS)
    np.testing.assert_array_equal(found.values["y"], [[0, 2, 3]])
    assert found.engine.startswith("onnx.reference")
    said = {"crashes": "SIGSEGV", "raises": "no such kernel", "exits": "exit status 3"}[fault]
    assert found.refused.startswith("ONNX Runtime refuses the model")
    assert said in found.refused
    assert capfd.readouterr() == ("", "")


@pytest.mark.parametrize("shape", [(), (3,), (2, 3)])
def test_the_evaluator_stacks_what_a_loop_collects(shape: tuple[int, ...], tmp_path: Path) -> None:
    declared = f"float[{', '.join(map(str, shape))}]" if shape else "float"
    source = onnx.parser.parse_model(
        f"""<ir_version: 8, opset_import: ["" : 17]> g ({declared} x) => ({declared} y, float z)
        <int64 n = {{4}}, bool c = {{1}}> {{
            y, z = Loop(n, c, x) <body = b (int64 i, bool k, {declared} v)
                => (bool m, {declared} w, {declared} s) {{
                m = Identity(k)  w = Add(v, x)  s = Neg(w)
            }}>
        }}"""
    )
    source.graph.output[1].type.tensor_type.ClearField("shape")
    path = onnx_models.save(source, tmp_path / "net.onnx")
    x = np.arange(np.prod(shape, dtype=int), dtype=np.float32).reshape(shape) + 1
    want = np.stack([-x * trips for trips in range(2, 6)])
    for engine in (AS_WRITTEN, IN_FLOAT64):
        found = reference_outputs(path, {"x": x}, engine=engine).values
        np.testing.assert_array_equal(found["y"], 5 * x)
        np.testing.assert_array_equal(found["z"], want, strict=False)
        assert found["z"].shape == want.shape


def test_where_all_fail_the_error_names_them(path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    engine_that(FAULTS["crashes"], path, monkeypatch, AS_WRITTEN)
    with pytest.raises(EdgeconvError, match="the reference engine refuses the model") as caught:
        reference_outputs(path, FEEDS, engine=AS_WRITTEN)
    assert "onnx.reference refuses the model: it crashed: SIGSEGV" in caught.value.got
    assert reference_outputs(path, FEEDS).values["y"].shape == (1, 3)  # by another process


def test_a_limit_of_seconds_ends_an_evaluator(path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    engine_that("time.sleep(60)", path, monkeypatch, AS_WRITTEN)
    with limits.given({"evaluator-seconds": 1}), pytest.raises(EdgeconvError) as caught:
        reference_outputs(path, FEEDS, engine=AS_WRITTEN)
    assert "still running after 1 s" in caught.value.got
    assert "evaluator-seconds" in caught.value.hint
    assert engines._shared.process is not None
    assert not engines._shared.process.alive


ASK = """
import sys; from pathlib import Path; import numpy as np
from edgeconv.model.frontend import AS_WRITTEN, engines, reference_outputs
engines._PROGRAM = Path(sys.argv[1])
reference_outputs(Path(sys.argv[2]), {"x": np.zeros((1, 3), np.float32)}, engine=AS_WRITTEN)
"""


def test_ctrl_c_ends_the_engine_too(path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """Of a process of its own, which waits for its engine."""
    started = path.parent / "started"
    note = f"open({str(started)!r}, 'w').write(str(os.getpid()) + ' ')"
    engine_that(f"{note}; time.sleep(60)", path, monkeypatch, AS_WRITTEN)
    asks = [sys.executable, "-c", ASK, str(engines._PROGRAM), str(path)]
    with subprocess.Popen(asks, stderr=subprocess.DEVNULL) as asking:
        until = time.monotonic() + 60
        while not (started.exists() and started.read_text().endswith(" ")):
            assert time.monotonic() < until
            time.sleep(0.05)
        engine = int(started.read_text())
        os.kill(engine, 0)
        asking.send_signal(signal.SIGINT)
        assert asking.wait(30) == -signal.SIGINT
    with pytest.raises(ProcessLookupError):
        os.kill(engine, 0)


def test_a_model_is_gone_with_its_process(path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(engines, "_shared", engines._Shared())
    session = Session(AS_WRITTEN, path.read_bytes(), {}, path.parent, ["y"])
    np.testing.assert_array_equal(session.run(FEEDS)[0], [[0, 2, 3]])
    assert engines._shared.process is not None
    engines._shared.process.end()
    with pytest.raises(RefusedError):
        session.run(FEEDS)
    session.close()


def test_models_that_nobody_asks_about_are_forgotten(path: Path) -> None:
    """With the next question: never between a question and its answer."""
    sessions = [Session(AS_WRITTEN, path.read_bytes(), {}, path.parent, ["y"]) for _ in range(3)]
    process = engines._shared.process
    assert process is not None
    process.forgotten.clear()
    sessions.pop().close()
    del sessions[0]
    assert len(process.forgotten) == 2
    np.testing.assert_array_equal(sessions[0].run(FEEDS)[0], [[0, 2, 3]])
    assert not process.forgotten
