"""Exit statuses as docs/architecture.md has them, in words and with --json."""

from __future__ import annotations

import os
import shutil
import subprocess
import sys
from collections.abc import Callable
from dataclasses import replace
from pathlib import Path

import numpy as np
import pytest

from edgeconv.app import pipeline, terminal
from edgeconv.base.errors import EdgeconvError
from edgeconv.run.verify import Verification, verify
from edgeconv.run.verify.compare import compare
from edgeconv.target.board_folders import FOLDERS_VARIABLE
from tests import onnx_models
from tests.board_example import FIRMWARE
from tests.command import BOARD, Command
from tests.tiny_firmware import ARM

Make = Callable[[Path], None]


def nothing(_: Path) -> None:
    pass


def another_folder(folder: Path) -> None:
    (folder / "out").mkdir()
    (folder / "out" / "thesis.txt").write_text("mine")


def no_onnx(folder: Path) -> None:
    (folder / "net.onnx").write_text("hello")


def empty_project(folder: Path) -> None:
    (folder / "project").mkdir()


def damaged_project(folder: Path) -> None:
    empty_project(folder)
    (folder / "project" / "report.json").write_text("{")


def other_samples(folder: Path) -> None:
    np.savez(folder / "x.npz", image=np.zeros((1, 9), np.float32))


def bad_board(folder: Path) -> None:
    (folder / "b.toml").write_text("name = 3")


COMPILE = ("compile", "net.onnx", "--board", BOARD, "-o", "out")
# What happens before, the command, its exit status, and a word of the error.
CASES: dict[str, tuple[Make, tuple[str, ...], int, str]] = {
    "no such model": (nothing, ("compile", "gone.onnx", "--board", BOARD), 2, "gone.onnx"),
    "no ONNX": (no_onnx, COMPILE, 1, "not a readable ONNX model"),
    "in the way": (another_folder, COMPILE, 1, "will not replace"),
    "no budget": (nothing, (*COMPILE, "--ram", "16"), 1, "does not fit"),
    "a limit": (nothing, (*COMPILE, "--limit", "model-nodes=1"), 1, "model-nodes"),
    "no such limit": (nothing, (*COMPILE, "--limit", "x=1"), 2, "no such limit"),
    "no such board": (nothing, ("compile", "net.onnx", "--board", "x"), 2, "'x'"),
    "no such option": (nothing, (*COMPILE, "--what"), 2, "--what"),
    "an option of others": (nothing, (*COMPILE, "--steps", "3"), 2, "is an option of verify"),
    "no option of few": (nothing, ("package", "x", "--format", "rust"), 2, "there are --json, "),
    "no such command": (nothing, ("kompile",), 2, "kompile"),
    "no such layer": (nothing, (*COMPILE, "--storage", "conv9=int8"), 2, "conv9"),
    "no such format": (nothing, (*COMPILE, "--storage", "*=int9"), 2, "int9"),
    "no such file": (nothing, (*COMPILE, "--min-sqnr", "9", "--calibration", "gone"), 2, "gone"),
    "samples": (other_samples, (*COMPILE, "--min-sqnr", "9", "--calibration", "x.npz"), 2, "1x9"),
    "no project": (empty_project, ("report", "project"), 2, "not an edgeconv project"),
    "no such project": (nothing, ("verify", "gone"), 2, "gone"),
    "damaged project": (damaged_project, ("bench", "project"), 2, "report.json"),
    "board file": (bad_board, ("boards", "check", "b.toml"), 2, "b.toml"),
}


@pytest.mark.parametrize("name", CASES)
def test_statuses(
    name: str, edgeconv: Command, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    """The same with --json, which prints the error as one document beside the words."""
    make, arguments, status, word = CASES[name]
    monkeypatch.chdir(tmp_path)
    onnx_models.save(onnx_models.residual(), tmp_path / "net.onnx")
    monkeypatch.setattr(terminal, "EVERY", 3600.0)  # no word of progress on a slow machine
    make(tmp_path)
    before = sorted(tmp_path.rglob("*"))
    done = edgeconv(*arguments)
    assert done.status == status, done.stderr
    assert word in done.stderr
    assert done.stdout == ""
    as_json = edgeconv(*arguments, "--json")
    assert as_json.status == status
    assert as_json.stderr == done.stderr
    error = as_json.json()["error"]
    assert error["status"] == status
    assert f"edgeconv: error: {error['message']}" == done.stderr.splitlines()[0]
    assert sorted(tmp_path.rglob("*")) == before


def test_an_internal_error_is_json_too(
    edgeconv: Command, monkeypatch: pytest.MonkeyPatch, tmp_path: Path
) -> None:
    def fails(*_: object, **__: object) -> None:
        raise ZeroDivisionError("by zero")

    onnx_models.save(onnx_models.residual(), tmp_path / "net.onnx")
    monkeypatch.setattr(pipeline, "explain_model", fails)
    done = edgeconv("explain", tmp_path / "net.onnx", "--board", BOARD, "--json")
    assert done.status == 1
    assert "internal error" in done.stderr
    assert done.json()["error"]["what"] == "ZeroDivisionError: by zero"


def test_an_error_that_is_its_own_context_is_told(
    edgeconv: Command, monkeypatch: pytest.MonkeyPatch, tmp_path: Path
) -> None:
    """As one is that is raised again while another is handled that came of it."""

    def fails(*_: object, **__: object) -> None:
        first = EdgeconvError("the model cannot be read")
        try:
            raise OSError("clean-up") from first
        except OSError:
            raise first  # noqa: B904 - the context is what is tested

    onnx_models.save(onnx_models.residual(), tmp_path / "net.onnx")
    monkeypatch.setattr(pipeline, "explain_model", fails)
    done = edgeconv("explain", tmp_path / "net.onnx", "--board", BOARD)
    assert done.status == 1
    assert "the model cannot be read" in done.stderr


@pytest.mark.parametrize(
    ("raised", "status"), [(KeyboardInterrupt(), 130), (SystemExit(143), 143)], ids=str
)
def test_a_signal_within_an_import_is_no_error(
    raised: BaseException,
    status: int,
    edgeconv: Command,
    monkeypatch: pytest.MonkeyPatch,
    tmp_path: Path,
) -> None:
    """Extension modules make an ImportError of it, which code around them may word anew."""

    def imports(*_: object, **__: object) -> None:
        try:
            try:
                raise raised
            except BaseException as error:
                raise ImportError("initialization failed") from error
        except ImportError as error:
            raise EdgeconvError("the model cannot be read") from error

    onnx_models.save(onnx_models.residual(), tmp_path / "net.onnx")
    monkeypatch.setattr(pipeline, "explain_model", imports)
    done = edgeconv("explain", tmp_path / "net.onnx", "--board", BOARD)
    assert done.status == status
    assert done.stderr == ""


def test_a_program_that_differs_is_not_called_verified(
    edgeconv: Command, monkeypatch: pytest.MonkeyPatch, tmp_path: Path
) -> None:
    """One answer, in words, in the document and by the exit status."""

    def wrong(*given: object, **options: object) -> Verification:
        found = verify(*given, **options)  # type: ignore[arg-type]
        off = compare("y", np.ones(3, np.float32), np.zeros(3, np.float32))
        return Verification((off,), (), 1e-4, found.runtime, found.ran)

    monkeypatch.setattr(pipeline, "verify", wrong)
    model = onnx_models.save(onnx_models.residual(), tmp_path / "net.onnx")
    arguments = ("compile", model, "--board", BOARD, "--verify", "-o", tmp_path / "out")
    done = edgeconv(*arguments)
    assert done.status == 1
    assert "error: the program differs from the model" in done.stderr
    assert "verified" not in done.stdout
    assert "DIFFERS from the model: largest error 1" in done.stdout
    document = edgeconv(*arguments, "--json").json()
    assert document["accuracy"]["passed"] is False
    assert document["error"]["what"] == "the program differs from the model"


def test_a_stack_beyond_its_bound_is_no_success(
    edgeconv: Command, monkeypatch: pytest.MonkeyPatch, tmp_path: Path
) -> None:
    def deep(*given: object, **options: object) -> Verification:
        found = verify(*given, **options)  # type: ignore[arg-type]
        return replace(found, stack_bytes=401, stack_bound=400)

    monkeypatch.setattr(pipeline, "verify", deep)
    model = onnx_models.save(onnx_models.residual(), tmp_path / "net.onnx")
    done = edgeconv("compile", model, "--board", BOARD, "--verify", "-o", tmp_path / "out")
    assert done.status == 1
    assert (
        "the stack goes beyond its bound: the stack held 401 bytes, its bound is 400" in done.stderr
    )
    assert edgeconv("verify", tmp_path / "out").status == 1


@pytest.mark.skipif(shutil.which(ARM) is None, reason=f"{ARM} is not installed")
def test_a_board_that_cannot_run_here(
    edgeconv: Command, monkeypatch: pytest.MonkeyPatch, tmp_path: Path
) -> None:
    """Said before anything is built; what is known is printed, and the exit status is 3."""
    model = onnx_models.save(onnx_models.residual(), tmp_path / "net.onnx")
    # Which nothing that is emulated stands in for.
    (tmp_path / "tiny.toml").write_text(FIRMWARE)
    monkeypatch.setenv(FOLDERS_VARIABLE, str(tmp_path))
    arguments = ("compile", model, "--board", "tiny", "--verify", "-o", tmp_path / "out")
    done = edgeconv(*arguments)
    assert done.status == 3
    first, last = done.stderr.splitlines()[0], done.stderr.splitlines()[-1]
    assert first.startswith("edgeconv: note: programs of this board cannot run here")
    assert first.endswith("it will be built, and not verified")
    assert last.startswith("edgeconv: error: programs of this board cannot run here")
    assert "flash: code" in done.stdout
    document = edgeconv(*arguments, "--json").json()
    assert document["flash"]["code"] > 0
    assert document["error"]["status"] == 3


def test_what_is_known_is_printed_where_verification_cannot_run(
    edgeconv: Command, monkeypatch: pytest.MonkeyPatch, tmp_path: Path
) -> None:
    def fails(*_: object, **__: object) -> Verification:
        raise EdgeconvError("the program failed")

    monkeypatch.setattr(pipeline, "verify_project", fails)
    model = onnx_models.save(onnx_models.residual(), tmp_path / "net.onnx")
    done = edgeconv("compile", model, "--board", BOARD, "--verify", "-o", tmp_path / "out")
    assert done.status == 1
    assert "RAM: arena" in done.stdout
    assert "error: the program failed" in done.stderr


def test_a_missing_model_waits_for_no_pipeline() -> None:
    """What reads models takes a second to import."""
    code = "import sys, edgeconv.app.cli; edgeconv.app.cli.main(sys.argv[1:]); print(*sys.modules)"
    command = [sys.executable, "-c", code, "compile", "gone.onnx", "--board", BOARD]
    environment = {**os.environ, "PYTHONPATH": os.pathsep.join(sys.path)}
    done = subprocess.run(command, env=environment, check=True, capture_output=True, text=True)
    assert "gone.onnx: got no such file" in done.stderr
    assert not {"numpy", "onnx", "jsonschema"} & {*done.stdout.split()}
