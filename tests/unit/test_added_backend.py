"""A backend from a folder of its own, none of it in the package, is used everywhere."""

from __future__ import annotations

import re
import shutil
import subprocess
from pathlib import Path
from typing import Any

import pytest

from edgeconv.base.errors import UsageError
from edgeconv.target import backends, board_folders
from edgeconv.target.backends import FOLDERS_VARIABLE, TARGETS
from edgeconv.target.targets import Target
from tests import ROOT, onnx_models, toy
from tests.command import Command

SCONV = ("--algorithm", "conv=sconv")
# Instruction sets whose names are no words of English, which headers and remarks could mean.
NAMED = ("avx512", "avx2", "neon", "neon_armv7", "power10")
SOURCES = [
    path
    for folder in ("edgeconv", "codegen", "runtime_c")
    for path in sorted((ROOT / folder).rglob("*"))
    if path.suffix in (".py", ".h", ".c", ".S", ".j2") and path.is_file()
]


@pytest.fixture
def added(monkeypatch: pytest.MonkeyPatch, tmp_path: Path) -> None:
    """Its folder is named, and one of boards that have it."""
    monkeypatch.setenv(FOLDERS_VARIABLE, str(toy.FOLDER / "backends"))
    boards = tmp_path / "boards"
    boards.mkdir()
    for name, usual, isa in (
        ("toy-c", "generic-c", "toy"),
        ("toy-pi", "raspberry-pi-4", "toy_neon"),
        ("toy-csve256", "raspberry-pi-4", "csve256"),
    ):
        toy.write_board(boards, name, usual, isa)
    monkeypatch.setenv(board_folders.FOLDERS_VARIABLE, str(boards))


def model_in(folder: Path) -> Path:
    """Filters and pixels that are no multiples of its tile."""
    return onnx_models.save(onnx_models.convolution(5, 7, (2, 5, 9, 7)), folder / "net.onnx")


def layer_of(report: Any) -> Any:
    (layer,) = (entry for entry in report["layers"] if entry["op"] == "Conv")
    return layer


@pytest.mark.usefixtures("added")
def test_a_network_runs_with_it(edgeconv: Command, tmp_path: Path) -> None:
    out = tmp_path / "out"
    asked = (model_in(tmp_path), "--board", "toy-c", *SCONV)
    edgeconv.ok("compile", *asked, "-o", out, "--build", "--verify")
    assert ".micro_kernel = EC_ROW_TOY" in (out / "net.c").read_text()
    assert "ROW(f32, F32) ROW(toy, TOY)" in (out / "net_runtime.h").read_text()


@pytest.mark.usefixtures("added")
def test_it_is_priced_and_explained(edgeconv: Command, tmp_path: Path) -> None:
    command = ("explain", model_in(tmp_path), *SCONV, "--json", "--board")
    usual = layer_of(edgeconv.ok(*command, "raspberry-pi-4").json())
    faster = layer_of(edgeconv.ok(*command, "toy-pi").json())
    assert (usual["plan"]["n_f"], faster["plan"]["n_f"]) == (8, 5)
    assert faster["predicted_ms"] < usual["predicted_ms"]


@pytest.mark.usefixtures("added")
def test_vectors_of_another_length_than_was_compiled_for_are_refused(
    edgeconv: Command, tmp_path: Path
) -> None:
    """Kernels of a fixed length, which would compute something else: of SVE the core decides."""
    compiler, emulator = "aarch64-linux-gnu-gcc", "qemu-aarch64"
    if not shutil.which(compiler) or not shutil.which(emulator):
        pytest.skip(f"{compiler} or {emulator} is not installed")
    out = tmp_path / "out"
    edgeconv.ok("compile", model_in(tmp_path), "--board", "toy-csve256", "-o", out, "--build")
    assert "NET_E_VECTORS = 13 " in (out / "net.h").read_text()
    program, ran = out / "build" / "net", {}
    for length in (32, 64):
        command = [emulator, "-cpu", f"max,sve-default-vector-length={length}", str(program)]
        done = subprocess.run(command, capture_output=True, text=True, check=False)
        ran[length] = (done.returncode, "vectors have another length" in done.stderr)
    assert ran == {32: (0, False), 64: (2, True)}


def test_the_table_follows_the_variable(monkeypatch: pytest.MonkeyPatch) -> None:
    shipped = list(TARGETS)
    monkeypatch.setenv(FOLDERS_VARIABLE, str(toy.FOLDER / "backends"))
    assert {"toy", "toy_neon", "vectors256"} <= set(TARGETS) - set(shipped)
    assert backends.folders()["toy"] == toy.FOLDER / "backends" / "toy"
    assert isinstance(TARGETS["toy"], Target)
    monkeypatch.delenv(FOLDERS_VARIABLE)
    assert list(TARGETS) == shipped


WRONG = {
    "a backend cannot be read": "def TARGET(:\n",
    "a backend without a target": "TARGET = 'avx2'\n",
    "two backends of one name": "from edgeconv.target.backends.avx2.backend import TARGET\n",
}


@pytest.mark.parametrize(
    ("without", "told"),
    [
        ("kernels=tuple(row for row in AVX2.kernels if row.prefix != 'tile')", "prefix 'tile'"),
        ("kernels=tuple(row for row in AVX2.kernels if row.prefix != 'f32')", "prefix 'f32'"),
        ("byte_rows=()", "byte_rows has no ByteVectors"),
        ("integers='ec_integers_portable.h'", "vectors of one int32, and float has 8 lanes"),
    ],
)
def test_a_row_that_a_backend_lacks_is_named(
    without: str, told: str, monkeypatch: pytest.MonkeyPatch, tmp_path: Path
) -> None:
    (tmp_path / "mine").mkdir()
    (tmp_path / "mine" / "backend.py").write_text(
        "from dataclasses import replace\n"
        "from edgeconv.target.backends.avx2.backend import TARGET as AVX2\n"
        f"TARGET = replace(AVX2, name='mine', {without})\n"
    )
    monkeypatch.setenv(FOLDERS_VARIABLE, str(tmp_path))
    with pytest.raises(UsageError, match=re.escape(told)):
        list(TARGETS)


def test_a_folder_without_a_backend_is_named(
    monkeypatch: pytest.MonkeyPatch, tmp_path: Path
) -> None:
    """As the folder of the one backend, in place of that above."""
    (tmp_path / "backend.py").write_text("")
    monkeypatch.setenv(FOLDERS_VARIABLE, str(tmp_path))
    with pytest.raises(UsageError, match=f"{FOLDERS_VARIABLE} name the folder above"):
        list(TARGETS)


def test_a_header_that_a_backend_lacks_is_named(
    edgeconv: Command, monkeypatch: pytest.MonkeyPatch, tmp_path: Path
) -> None:
    (tmp_path / "mine").mkdir()
    (tmp_path / "mine" / "backend.py").write_text(
        "from dataclasses import replace\n"
        "from edgeconv.target.backends.portable.backend import TARGET\n"
        "TARGET = replace(TARGET, name='mine')\n"
    )
    generic = (ROOT / "boards" / "generic-c.toml").read_text()
    own = generic.replace('"generic-c"', '"own"').replace('"portable"', '"mine"')
    (tmp_path / "own.toml").write_text(own)
    monkeypatch.setenv(FOLDERS_VARIABLE, str(tmp_path))
    monkeypatch.setenv(board_folders.FOLDERS_VARIABLE, str(tmp_path))
    done = edgeconv("compile", model_in(tmp_path), "--board", "own", "-o", tmp_path / "out")
    assert done.status == 2
    assert "no such header: got ec_isa_mine.h" in done.stderr


@pytest.mark.parametrize("what", WRONG)
def test_what_is_no_backend_is_named(
    what: str, monkeypatch: pytest.MonkeyPatch, tmp_path: Path
) -> None:
    (tmp_path / "mine").mkdir()
    (tmp_path / "mine" / "backend.py").write_text(WRONG[what])
    monkeypatch.setenv(FOLDERS_VARIABLE, str(tmp_path))
    with pytest.raises(UsageError, match=what) as error:
        list(TARGETS)
    assert str(tmp_path / "mine") in str(error.value)


def test_a_folder_that_is_not_there_is_named(
    edgeconv: Command, monkeypatch: pytest.MonkeyPatch, tmp_path: Path
) -> None:
    monkeypatch.setenv(FOLDERS_VARIABLE, str(tmp_path / "none"))
    done = edgeconv("explain", model_in(tmp_path), "--board", "generic-c")
    assert done.status == 2
    assert "no such folder of backends" in done.stderr


def test_two_headers_of_one_name_are_named(
    edgeconv: Command, monkeypatch: pytest.MonkeyPatch, tmp_path: Path
) -> None:
    folder = tmp_path / "backends" / "mine"
    folder.mkdir(parents=True)
    (folder / "backend.py").write_text(
        "from dataclasses import replace\n"
        "from edgeconv.target.backends.avx2.backend import TARGET as AVX2\n"
        "TARGET = replace(AVX2, name='mine', runtime='avx2')\n"
    )
    (folder / "ec_gemm.h").write_text("")
    monkeypatch.setenv(FOLDERS_VARIABLE, str(folder.parent))
    done = edgeconv("compile", model_in(tmp_path), "--board", "generic-c", "-o", tmp_path / "out")
    assert done.status == 2
    assert "two headers of one name" in done.stderr
    assert not (tmp_path / "out").exists()


@pytest.mark.parametrize("isa", NAMED)
def test_what_an_instruction_set_is_stands_in_its_folder_alone(isa: str) -> None:
    """As a word, in what computes; manuals, boards and tests may name it, and a backend that builds
    on this one, where it takes it from."""
    word, built_on = (
        re.compile(rf"\b{isa}\b"),
        f"from edgeconv.target.backends.{isa}.backend import",
    )
    texts = {path: path.read_text(encoding="utf-8") for path in SOURCES}
    found = {path for path, text in texts.items() if word.search(text.replace(built_on, ""))}
    folder = str(ROOT / "edgeconv" / "target" / "backends" / isa)  # NEON's begin alike, and share
    assert found
    assert [path for path in found if not str(path).startswith(folder)] == []
