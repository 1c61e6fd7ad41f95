"""``edgeconv compile``: what it writes, says, and refuses to do by halves."""

from __future__ import annotations

import errno
import os
import shutil
import subprocess
from collections.abc import Iterator
from pathlib import Path
from typing import BinaryIO

import pytest

from edgeconv.codegen import source_tree
from tests import onnx_models
from tests.command import BOARD, Command

BUILT = ("build", "report.json")  # what depends on the compiler of the machine


def files(directory: Path) -> dict[str, bytes]:
    """Everything in a directory, by relative path."""
    found = (path for path in directory.rglob("*") if path.is_file())
    return {str(path.relative_to(directory)): path.read_bytes() for path in found}


def entries(folder: Path) -> set[str]:
    return {path.name for path in folder.iterdir()}


def test_project_holds_what_was_promised(
    edgeconv: Command, residual_model: Path, tmp_path: Path
) -> None:
    done = edgeconv.ok("compile", residual_model, "--board", BOARD, "-o", tmp_path / "out")
    assert set(files(tmp_path / "out")) == {
        "CMakeLists.txt", "CMakePresets.json", "README.md", "main.c", "report.json",
        "net.c", "net.h", "net.py", "net_runtime.h", "net_weights.S", "net_weights.bin",
        "library.json", "library.properties", "zephyr/module.yml", ".edgeconv/manifest.json",
        "net.cdx.json", ".clang-format",
    }  # fmt: skip
    assert "RAM: arena" in done.stdout
    assert f"project: {tmp_path / 'out'}" in done.stdout
    assert done.stderr == ""


def test_name_and_directory_follow_from_the_model(
    edgeconv: Command, residual_model: Path, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.chdir(tmp_path)
    edgeconv.ok("compile", residual_model.rename(tmp_path / "My Net-2.onnx"), "--board", BOARD)
    assert (tmp_path / "my_net_2" / "my_net_2.h").is_file()
    edgeconv.ok("compile", tmp_path / "My Net-2.onnx", "--board", BOARD, "--name", "eyes")
    assert "eyes_run(" in (tmp_path / "eyes" / "eyes.h").read_text()


@pytest.mark.parametrize("options", [[], ["--weights", "c"], ["--io", "arena"]])
def test_same_bytes_from_any_directory(
    edgeconv: Command,
    residual_model: Path,
    tmp_path: Path,
    monkeypatch: pytest.MonkeyPatch,
    options: list[str],
) -> None:
    first = tmp_path / "first"
    edgeconv.ok("compile", residual_model, "--board", BOARD, "-o", first, *options)
    elsewhere = tmp_path / "else" / "where"
    elsewhere.mkdir(parents=True)
    shutil.copy(residual_model, elsewhere)
    monkeypatch.chdir(elsewhere)
    edgeconv.ok("compile", "net.onnx", "--board", BOARD, *options)
    assert files(first) == files(elsewhere / "net")


def test_banner_quotes_a_command_that_has_the_same_effect(
    edgeconv: Command, residual_model: Path, tmp_path: Path
) -> None:
    options = ["--name", "a", "--algorithm", "stem=direct", "--ram", "1M", "--io", "arena"]
    edgeconv.ok("compile", residual_model, "--board", BOARD, "-o", tmp_path / "a", *options)
    source = (tmp_path / "a" / "a.c").read_text()
    (line,) = (line for line in source.splitlines() if line.startswith("   command"))
    quoted = line.split()[1:]
    assert quoted[:3] == ["edgeconv", "compile", "net.onnx"]
    again: list[str | Path] = [*quoted[3:], "-o", tmp_path / "b"]
    edgeconv.ok("compile", residual_model, *again)
    assert files(tmp_path / "a") == files(tmp_path / "b")


def test_json_is_the_report_and_nothing_else(
    edgeconv: Command, residual_model: Path, tmp_path: Path
) -> None:
    out = tmp_path / "out"
    done = edgeconv.ok(
        *("compile", residual_model, "--board", BOARD, "-o", out),
        *("--json", "--build", "--verify", "--report", tmp_path / "reports"),
    )
    report = done.json()
    assert report["flash"]["code"] > 0
    assert report["accuracy"]["max_abs_error"] < 1e-4
    assert files(tmp_path / "reports")["report.json"] == (out / "report.json").read_bytes()
    assert b"RAM: total" in files(tmp_path / "reports")["report.txt"]


def test_compiling_again_replaces_the_project(
    edgeconv: Command, residual_model: Path, tmp_path: Path
) -> None:
    out = tmp_path / "out"
    edgeconv.ok("compile", residual_model, "--board", BOARD, "-o", out, "--build")
    assert (out / "build").is_dir()
    edgeconv.ok("compile", residual_model, "--board", BOARD, "-o", out, "--weights", "c")
    assert not (out / "build").exists()
    assert not (out / "net_weights.bin").exists()


@pytest.mark.parametrize("first", ["empty", "project"])
def test_working_directory_may_be_the_project(
    edgeconv: Command,
    residual_model: Path,
    tmp_path: Path,
    monkeypatch: pytest.MonkeyPatch,
    first: str,
) -> None:
    out = tmp_path / "out"
    out.mkdir()
    monkeypatch.chdir(out)
    if first == "project":
        edgeconv.ok("compile", residual_model, "--board", BOARD, "-o", ".", "--name", "other")
    edgeconv.ok("compile", residual_model, "--board", BOARD, "-o", ".")
    assert (out / "net.c").is_file()
    assert not (out / "other.c").exists()
    assert Path.cwd() == out, "the directory itself was kept"


@pytest.mark.parametrize("below", [".", "below"])
def test_a_link_to_itself(
    edgeconv: Command, residual_model: Path, tmp_path: Path, below: str
) -> None:
    (tmp_path / "link").symlink_to("link")
    out = tmp_path / "link" / below
    said = edgeconv("compile", residual_model, "--board", BOARD, "-o", out).stderr
    assert "internal" not in said
    assert ("will not replace" if below == "." else "Too many levels") in said


def test_link_to_a_project_stays_a_link(
    edgeconv: Command, residual_model: Path, tmp_path: Path
) -> None:
    (tmp_path / "real").mkdir()
    link = tmp_path / "link"
    link.symlink_to("real")
    edgeconv.ok("compile", residual_model, "--board", BOARD, "-o", link)
    assert link.is_symlink()
    assert (tmp_path / "real" / "net.c").is_file()


def test_other_directories_are_not_replaced(
    edgeconv: Command, residual_model: Path, tmp_path: Path
) -> None:
    precious = tmp_path / "precious"
    precious.mkdir()
    (precious / "thesis.txt").write_text("years")
    done = edgeconv("compile", residual_model, "--board", BOARD, "-o", precious)
    assert done.status == 1
    assert "will not replace" in done.stderr
    assert (precious / "thesis.txt").read_text() == "years"


@pytest.mark.parametrize(
    ("budget", "kind"),
    [(["--ram", "1K"], "ram"), (["--flash", "512"], "flash"), (["--ram", "1", "--flash", "1"], "")],
)
def test_budgets_that_do_not_hold_end_with_numbers_and_without_a_project(
    edgeconv: Command, residual_model: Path, tmp_path: Path, budget: list[str], kind: str
) -> None:
    done = edgeconv("compile", residual_model, "--board", BOARD, "-o", tmp_path / "out", *budget)
    assert done.status == 1
    assert "does not fit: net.onnx on board generic-c" in done.stderr
    for word in [kind] if kind else ["ram", "flash"]:
        assert f"{word}: " in done.stderr
    assert "bytes needed" in done.stderr
    assert ("--int8 X.npz" in done.stderr) == (kind != "flash")
    assert entries(tmp_path) == {"net.onnx"}


def test_code_counts_against_flash_once_it_is_built(
    edgeconv: Command, residual_model: Path, tmp_path: Path
) -> None:
    out = tmp_path / "out"
    command = ("compile", residual_model, "--board", BOARD, "-o", out)
    weights = edgeconv.ok(*command, "--json").json()["flash"]["weights"]
    edgeconv.ok(*command, "--flash", str(weights))
    before = files(out)
    as_it_is = ("--storage", "*=float32")
    done = edgeconv(*command, "--flash", str(weights), "--build", *as_it_is)
    assert done.status == 1
    assert "does not fit: net.onnx" in done.stderr
    assert "its code included" in done.stderr
    assert files(out) == before, "the project that stood there is as it was"
    assert entries(tmp_path) == {"net.onnx", "out"}


def test_budget_that_holds_is_reported(
    edgeconv: Command, residual_model: Path, tmp_path: Path
) -> None:
    done = edgeconv.ok(
        "compile", residual_model, "--board", BOARD, "-o", tmp_path / "o", "--ram", "64KiB"
    )
    assert "fits the budget of 65,536" in done.stdout


@pytest.mark.parametrize("error", [errno.ENOSPC, errno.EDQUOT, errno.EIO])
def test_failing_disk_leaves_nothing_behind(
    edgeconv: Command,
    residual_model: Path,
    tmp_path: Path,
    monkeypatch: pytest.MonkeyPatch,
    error: int,
) -> None:
    def write(image: object, out: BinaryIO) -> None:
        out.write(b"a part of the weights")
        raise OSError(error, os.strerror(error))

    monkeypatch.setattr(source_tree, "write", write)
    done = edgeconv("compile", residual_model, "--board", BOARD, "-o", tmp_path / "out")
    assert done.status == 1
    assert os.strerror(error) in done.stderr
    assert ("free some space" in done.stderr) == (error != errno.EIO)
    assert len(done.stderr.splitlines()) == 1
    assert entries(tmp_path) == {"net.onnx"}


@pytest.fixture
def small_disk(tmp_path: Path) -> Iterator[Path]:
    """A file system of 144 KiB."""
    mount = tmp_path / "disk"
    mount.mkdir()
    command = ["mount", "-t", "tmpfs", "-o", "size=144k", "tmpfs", str(mount)]
    if not shutil.which("mount") or subprocess.run(command, check=False).returncode:
        pytest.skip("mounting a file system needs privileges")
    yield mount
    subprocess.run(["umount", str(mount)], check=True)


def test_mount_point_may_be_the_project(
    edgeconv: Command, residual_model: Path, small_disk: Path
) -> None:
    done = edgeconv("compile", residual_model, "--board", BOARD, "-o", small_disk, "--weights", "c")
    assert done.status == 1, "its C array does not fit on it"
    assert entries(small_disk) == set()
    small = onnx_models.save(onnx_models.convolution(), residual_model.with_name("small.onnx"))
    edgeconv.ok("compile", small, "--board", BOARD, "-o", small_disk)
    assert "small.c" in entries(small_disk)


def test_full_disk_leaves_nothing_behind(
    edgeconv: Command, residual_model: Path, small_disk: Path
) -> None:
    (small_disk / "ballast").write_bytes(bytes(120 * 1024))
    done = edgeconv("compile", residual_model, "--board", BOARD, "-o", small_disk / "out")
    assert done.status == 1
    assert "No space left on device" in done.stderr
    assert entries(small_disk) == {"ballast"}


@pytest.mark.parametrize("place", ["net.onnx/out", "net.onnx", "/proc/out"])
def test_places_that_cannot_be_written(
    edgeconv: Command, residual_model: Path, tmp_path: Path, place: str
) -> None:
    done = edgeconv("compile", residual_model, "--board", BOARD, "-o", tmp_path / place)
    assert done.status == 1
    assert len(done.stderr.splitlines()) == 1
    assert "with -o" in done.stderr
    assert entries(tmp_path) == {"net.onnx"}


@pytest.mark.skipif(os.geteuid() == 0, reason="root may write everywhere")
def test_directory_without_permission(
    edgeconv: Command, residual_model: Path, tmp_path: Path
) -> None:
    closed = tmp_path / "closed"
    closed.mkdir(mode=0o555)
    done = edgeconv("compile", residual_model, "--board", BOARD, "-o", closed / "out")
    assert done.status == 1
    assert "Permission denied" in done.stderr


def test_missing_compiler_ends_build_before_anything_is_written(
    edgeconv: Command, residual_model: Path, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setenv("PATH", str(tmp_path))
    monkeypatch.delenv("CC", raising=False)
    out = tmp_path / "out"
    done = edgeconv("compile", residual_model, "--board", BOARD, "-o", out, "--build")
    assert done.status == 3
    assert "no compiler" in done.stderr
    assert not out.exists()
    edgeconv.ok("compile", residual_model, "--board", BOARD, "-o", out)
