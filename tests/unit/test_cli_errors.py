"""Bad input: an error of one line, the right exit status, nothing left behind, no traceback."""

from __future__ import annotations

import subprocess
import sys
from collections.abc import Callable
from pathlib import Path

import numpy as np
import onnx
import pytest
from onnx import helper

from edgeconv.base.arguments import named
from edgeconv.model import frontend, passes
from tests import onnx_models
from tests.command import BOARD, Command

Make = Callable[[Path], None]


def truncated(path: Path) -> None:
    onnx_models.save(onnx_models.residual(), path)
    path.write_bytes(path.read_bytes()[:-1000])


def no_onnx(path: Path) -> None:
    path.write_text("This is not a model.\n")


def empty(path: Path) -> None:
    path.write_bytes(b"")


def unknown_operators(path: Path) -> None:
    nodes = [
        helper.make_node("Blur", ["x"], ["a"], name="n1", domain="com.example"),
        helper.make_node("Blur", ["a"], ["b"], name="n2", domain="com.example"),
        helper.make_node("RandomUniformLike", ["b"], ["y"], name="n3"),
    ]
    model = onnx_models.model(nodes, {"x": (1, 3, 4, 4)}, {"y": None})
    model.opset_import.append(helper.make_opsetid("com.example", 3))
    onnx_models.save(model, path)


def free_dimension(path: Path) -> None:
    onnx_models.save(onnx_models.convolution(dims=(1, 3, "height", "width")), path)


def missing_weights(path: Path) -> None:
    onnx.save(
        onnx_models.convolution(),
        path,
        save_as_external_data=True,
        location="weights.data",
        size_threshold=0,
    )
    (path.parent / "weights.data").unlink()


def cycle(path: Path) -> None:
    nodes = [
        helper.make_node("Add", ["x", "b"], ["a"], name="first"),
        helper.make_node("Relu", ["a"], ["b"], name="second"),
    ]
    onnx_models.save(onnx_models.model(nodes, {"x": (1, 2)}, {"b": None}), path)


BAD_MODELS: list[tuple[Make, list[str]]] = [
    (truncated, ["not a readable ONNX model", "net.onnx"]),
    (no_onnx, ["not a readable ONNX model", "net.onnx"]),
    (empty, ["not a readable ONNX model", "net.onnx"]),
    (unknown_operators, ["Blur", "com.example", "RandomUniformLike"]),
    (free_dimension, ["'x'", "'height'", "--input-shape x="]),
    (missing_weights, ["weights.data", "No such file"]),
    (cycle, ["cycle", "Add"]),
]


@pytest.mark.parametrize(("make", "words"), BAD_MODELS, ids=lambda v: getattr(v, "__name__", ""))
def test_models_that_cannot_be_compiled(
    edgeconv: Command, tmp_path: Path, make: Make, words: list[str]
) -> None:
    make(tmp_path / "net.onnx")
    out = tmp_path / "out"
    done = edgeconv("compile", tmp_path / "net.onnx", "--board", BOARD, "-o", out)
    assert done.status == 1
    assert done.stdout == ""
    first, *details = done.stderr.splitlines()
    assert first.startswith("edgeconv: error: ")
    assert all(line.startswith("  ") for line in details)
    for word in words:
        assert word.lower() in done.stderr.lower()
    assert {path.name for path in tmp_path.iterdir()} == {"net.onnx"}


def test_every_unsupported_node_is_listed_with_domain_version_and_count(
    edgeconv: Command, tmp_path: Path
) -> None:
    unknown_operators(tmp_path / "net.onnx")
    done = edgeconv("compile", tmp_path / "net.onnx", "--board", BOARD, "-o", tmp_path / "out")
    (blur,) = (line for line in done.stderr.splitlines() if "Blur" in line)
    assert blur.startswith("  com.example.Blur-3: 2 nodes (n1, n2)")
    assert any("ai.onnx.RandomUniformLike-1: 1 node" in line for line in done.stderr.splitlines())


def test_weights_that_are_not_numbers_are_a_warning(edgeconv: Command, tmp_path: Path) -> None:
    weights = np.ones((4, 3, 3, 3), np.float32)
    weights[1, 2, 0, 0] = np.nan
    path = onnx_models.save(onnx_models.convolution(weights=weights), tmp_path / "net.onnx")
    done = edgeconv.ok("compile", path, "--board", BOARD, "-o", tmp_path / "out")
    (line,) = done.stderr.splitlines()
    assert "'w'" in line
    assert "NaN" in line


def test_free_batch_dimension_is_one_and_said_once(edgeconv: Command, tmp_path: Path) -> None:
    model = onnx_models.convolution(dims=("N", 3, 8, 8))
    path = onnx_models.save(model, tmp_path / "net.onnx")
    out = tmp_path / "out"
    done = edgeconv.ok("compile", path, "--board", BOARD, "-o", out, "--json")
    (port,) = done.json()["inputs"]
    assert port == {"name": "x", "shape": [1, 3, 8, 8], "dtype": "float32", "axes": "NCHW"}
    assert len(done.stderr.splitlines()) == 1
    assert "'x'" in done.stderr


def test_input_shape_fills_free_dimensions(edgeconv: Command, tmp_path: Path) -> None:
    model = onnx_models.convolution(dims=("N", 3, "h", "w"))
    path = onnx_models.save(model, tmp_path / "net.onnx")
    command = ("compile", path, "--board", BOARD, "-o", tmp_path / "out", "--json")
    report = edgeconv.ok(*command, "--input-shape", "x=2x3x5x7").json()
    assert report["outputs"][0]["shape"] == [2, 4, 5, 7]
    for shape, word in [("x=2x4x5x7", "3"), ("y=1x3x5x7", "'y'"), ("x=2x3x5", "dimensions")]:
        done = edgeconv(*command, "--input-shape", shape)
        assert done.status == 2
        assert word in done.stderr


USAGE: list[tuple[list[str], list[str]]] = [
    ([], ["COMMAND", "--help"]),
    (["compil"], ["compil"]),
    (["compile"], ["MODEL.onnx", "--board"]),
    (["compile", "net.onnx"], ["--board"]),
    (["compile", "absent.onnx", "--board", BOARD], ["absent.onnx", "no such file"]),
    (["compile", ".", "--board", BOARD], ["a directory"]),
    (["compile", "net.onnx", "--board", "jetson-tx2"], ["unknown board", "jetson-tx1"]),
    (["compile", "net.onnx", "--board", BOARD, "--ram", "64KB"], ["--ram", "64KiB"]),
    (["compile", "net.onnx", "--board", BOARD, "--flash", "-1"], ["--flash"]),
    (["compile", "net.onnx", "--board", "zen4", "--threads", "9"], ["8 cores", "--threads 8"]),
    (
        ["compile", "net.onnx", "--board", "microbit", "--threads", "2"],
        ["--threads 2", "no operating system", "docs/threads.md"],
    ),
    (["compile", "net.onnx", "--board", BOARD, "--name", "9 lives"], ["'n9_lives' would do"]),
    (
        ["compile", "net.onnx", "--board", BOARD, "--input-shape", "x"],
        ["--input-shape: got", "NAME=VALUE"],
    ),
    (["compile", "net.onnx", "--board", BOARD, "--input-shape", "x=1,3"], ["1x3x224x224"]),
    (["compile", "net.onnx", "--board", BOARD, "--algorithm", "stem"], ["NAME=VALUE"]),
    (
        ["compile", "net.onnx", "--board", BOARD, "--algorithm", "stemm=direct"],
        ["'stemm'", "did you mean stem"],
    ),
    (
        ["compile", "net.onnx", "--board", BOARD, "--algorithm", "stem=dirct"],
        ["'dirct'", "did you mean direct?"],
    ),
    (
        ["compile", "net.onnx", "--board", BOARD, "--algorithm", "stem=depthwise"],
        ["stem", "does not apply"],
    ),
    (["compile", "net.onnx", "--board", BOARD, "--storage", "flyte16"], ["NAME=VALUE"]),
    (
        ["compile", "net.onnx", "--board", BOARD, "--storage", "stemm=flyte16"],
        ["--storage", "'stemm'", "did you mean stem"],
    ),
    (
        ["compile", "net.onnx", "--board", BOARD, "--storage", "*=flyte17"],
        ["unknown storage format", "'flyte17'", "did you mean flyte16"],
    ),
    (["compile", "net.onnx", "--board", BOARD, "--storage", "*=int32"], ["'int32'"]),
    (
        ["compile", "net.onnx", "--board", BOARD, "--storage=*=flyte16", "--storage=*=int8"],
        ["--storage twice", "*", "flyte16 and int8"],
    ),
    (
        ["compile", "net.onnx", "--board", BOARD, "--storage=stem=int8", "--storage=stem=float32"],
        ["--storage twice", "stem", "int8 and float32"],
    ),
    (
        [
            "explain",
            "net.onnx",
            "--board",
            BOARD,
            "--algorithm=stem=im2col",
            "--algorithm=stem=direct",
        ],
        ["--algorithm twice", "stem", "im2col and direct"],
    ),
    (
        ["compile", "net.onnx", "--board", BOARD, "--input-shape=x=1x3", "--input-shape=x=1x4"],
        ["--input-shape twice", "x: got 1x3 and 1x4"],
    ),
    (["compile", "net.onnx", "--board", BOARD, "--weights", "gzip"], ["gzip", "image"]),
    (["compile", "net.onnx", "--board", BOARD, "--accuracy", "x.npz"], ["--accuracy"]),
    (["compile", "net.onnx", "--bord", BOARD], ["--bord", "--board"]),
    (["compile", "net.onnx", "--board", BOARD, "-o", "--build"], ["-o needs a value", "--build"]),
    (["compile", "net.onnx", "--board", BOARD, "--ram", "--flash", "1M"], ["--ram needs a value"]),
    (["compile", "net.onnx", "--board", BOARD, "--ra", "1M"], ["--ra", "--ram"]),
    (["compile", "net.onnx", "--board"], ["--board"]),
    (["compile", "net.onnx", "more.onnx", "--board", BOARD], ["more.onnx"]),
    (["verify"], ["DIR"]),
    (["boards", "shw"], ["'shw'", "did you mean show", "edgeconv boards --help"]),
    (["verify", "absent"], ["not an edgeconv project", "absent"]),
    (["verify", "."], ["not an edgeconv project", "report.json"]),
    (["verify", ".", "--tolerance", "nan"], ["--tolerance: got 'nan'"]),
    (["bench", ".", "--runs", "0"], ["'0'"]),
    (["report", "absent"], ["not an edgeconv project"]),
    (["explain", "net.onnx", "--board", BOARD, "--layer", "steam"], ["did you mean stem"]),
    (["boards", "show", "hots"], ["did you mean host"]),
    (["boards", "check", "net.onnx"], ["net.onnx"]),
    (["boards", "check", "absent.toml"], ["absent.toml"]),
]


@pytest.mark.parametrize(("arguments", "words"), USAGE, ids=lambda v: " ".join(v[:8]))
def test_wrong_usage(
    edgeconv: Command,
    residual_model: Path,
    monkeypatch: pytest.MonkeyPatch,
    arguments: list[str],
    words: list[str],
) -> None:
    monkeypatch.chdir(residual_model.parent)
    done = edgeconv(*arguments)
    assert done.status == 2, done.stderr
    assert done.stdout == ""
    assert len(done.stderr.splitlines()) == 1
    assert done.stderr.startswith("edgeconv: error: ")
    for word in words:
        assert word in done.stderr
    assert [path.name for path in residual_model.parent.iterdir()] == ["net.onnx"]


def test_an_option_said_twice_alike_is_said_once() -> None:
    pairs = [("*", "flyte16"), ("stem", "float32"), ("stem", "float32"), ("stem:output", "int8")]
    assert named("--storage", pairs) == dict(pairs)


def test_interrupt_is_quiet(
    edgeconv: Command, residual_model: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    def interrupted(*_: object, **__: object) -> None:
        raise KeyboardInterrupt

    monkeypatch.setattr(frontend, "load", interrupted)
    done = edgeconv("compile", residual_model, "--board", BOARD)
    assert (done.status, done.stdout, done.stderr) == (130, "", "")


@pytest.mark.parametrize("debug", [False, True])
def test_defects_of_the_tool_ask_for_a_report(
    edgeconv: Command, residual_model: Path, monkeypatch: pytest.MonkeyPatch, debug: bool
) -> None:
    def broken(*_: object) -> None:
        raise ZeroDivisionError("two\nlines")

    monkeypatch.setattr(passes, "optimise", broken)
    monkeypatch.delenv("EDGECONV_DEBUG", raising=False)
    if debug:
        monkeypatch.setenv("EDGECONV_DEBUG", "1")
    done = edgeconv("compile", residual_model, "--board", BOARD)
    assert done.status == 1
    last = done.stderr.splitlines()[-1]
    assert last.startswith("edgeconv: internal error, please report it")
    assert last.endswith("ZeroDivisionError: two lines")
    assert ("Traceback" in done.stderr) == debug
    assert (len(done.stderr.splitlines()) == 1) != debug


def test_a_machine_with_too_little_memory_is_no_defect_of_the_tool(
    edgeconv: Command, residual_model: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    def full(*_: object) -> None:
        raise MemoryError

    monkeypatch.setattr(passes, "optimise", full)
    done = edgeconv("compile", residual_model, "--board", BOARD)
    assert done.status == 1
    assert done.stderr.startswith("edgeconv: error: out of memory")
    assert "--limit" in done.stderr


def test_a_limit_is_raised_and_lowered_by_its_option(
    edgeconv: Command, residual_model: Path, tmp_path: Path
) -> None:
    command = ("compile", residual_model, "--board", BOARD, "-o", tmp_path / "out", "--limit")
    done = edgeconv(*command, "model-nodes=3")
    assert done.status == 1
    assert "--limit model-nodes=N raises it" in done.stderr
    assert not (tmp_path / "out").exists()
    edgeconv.ok(*command, "model-nodes=300")
    assert "--limit model-nodes=300" in (tmp_path / "out" / "net.c").read_text()


def test_build_folder_that_cannot_be_written(
    edgeconv: Command, residual_model: Path, tmp_path: Path
) -> None:
    edgeconv.ok("compile", residual_model, "--board", BOARD, "-o", tmp_path / "out")
    (tmp_path / "out" / "build").write_text("in the way")
    for command in ("verify", "bench"):
        done = edgeconv(command, tmp_path / "out")
        assert done.status == 1
        (line,) = done.stderr.splitlines()
        assert line.startswith("edgeconv: error: will not replace: ")
        assert f"{tmp_path / 'out' / 'build' / 'net'}: it is not edgeconv's" in line


def test_closed_pipe_is_quiet() -> None:
    """`edgeconv boards | head -1` in a process of its own."""
    command = f"{sys.executable} -m edgeconv boards --json | true; echo ${{PIPESTATUS[0]}}"
    done = subprocess.run(
        ["bash", "-c", command], capture_output=True, text=True, check=True, timeout=60
    )
    assert (done.stdout, done.stderr) == ("0\n", "")


def test_version_and_help(capsys: pytest.CaptureFixture[str]) -> None:
    for arguments, word in [(["--version"], "edgeconv "), (["--help"], "Exit status")]:
        done = subprocess.run(
            [sys.executable, "-m", "edgeconv", *arguments],
            capture_output=True,
            text=True,
            check=True,
        )
        assert word in done.stdout
        assert done.stderr == ""
