"""Networks whose arena lies in several memories: same results, and every bank its own array."""

from __future__ import annotations

import re
import shutil
from pathlib import Path

import numpy as np
import pytest

from edgeconv.app.pipeline import CompileOptions, compile_model, decide, verify_project
from edgeconv.ir.memory import Region
from edgeconv.run.build import compile_project, run_binary
from edgeconv.run.build.toolchain import probe
from edgeconv.search import memory
from edgeconv.search.memory import Bank
from edgeconv.target import board as boards
from tests import onnx_models
from tests.compilers import SANITIZERS

pytestmark = pytest.mark.usefixtures("unoptimised")

BOARD = "generic-c"
THREE = (Bank("tcm", 2600, 1.0), Bank("sram", 2600, 2.0), Bank("sdram", None, 9.0))
# Too small for any tensor: what comes next is the first bank in use.
NO_FIRST = (Bank("tiny", 16, 1.0), Bank("sram", 4000, 2.0), Bank("sdram", None, 9.0))


@pytest.fixture(scope="module")
def model(tmp_path_factory: pytest.TempPathFactory) -> Path:
    return onnx_models.save(
        onnx_models.residual(channels=8, size=17), tmp_path_factory.mktemp("model") / "net.onnx"
    )


def use_banks(monkeypatch: pytest.MonkeyPatch, banks: tuple[Bank, ...]) -> None:
    """Let the board have ``banks``, as a bare-metal one would."""
    monkeypatch.setattr(memory, "fit", lambda choice, *_, **__: memory.plan(choice, banks))


def run_sanitized(directory: Path, out: Path, board: str = BOARD) -> bytes:
    """The outputs of the emitted program, built with sanitizers and no warnings."""
    gcc = probe("gcc")
    if gcc is None:
        pytest.skip("gcc is not installed")
    loaded = boards.load(board)
    binary = compile_project(
        directory,
        loaded,
        sources=("net.c", "net_weights.S", "main.c"),
        out=out / "program",
        extra_flags=SANITIZERS,
        warnings_as_errors=True,
        compiler=gcc,
    )
    arguments = ["--runs", "2", "--output", str(out / "output.bin")]
    done = run_binary(binary.path, loaded, arguments, cwd=directory)
    assert done.status == 0, done.stdout + done.stderr
    return (out / "output.bin").read_bytes()


@pytest.fixture(scope="module")
def in_one(model: Path, tmp_path_factory: pytest.TempPathFactory) -> dict[str, tuple[Path, bytes]]:
    """By way of io: a project with a single arena, verified, and its outputs."""
    found = {}
    for io in ("caller", "arena"):
        folder = tmp_path_factory.mktemp(io)
        project, _ = compile_model(CompileOptions(model, BOARD, io=io), folder / "net")
        assert verify_project(project.directory, model=model).passed
        found[io] = project.directory, run_sanitized(project.directory, folder)
    return found


@pytest.mark.parametrize(
    ("banks", "io"),
    [
        pytest.param(THREE, "caller", id="three-caller"),
        pytest.param(THREE, "arena", id="three-arena", marks=pytest.mark.slow),
        pytest.param(NO_FIRST, "caller", id="no-first-caller", marks=pytest.mark.slow),
        pytest.param(NO_FIRST, "arena", id="no-first-arena"),
    ],
)
def test_same_output_in_several_banks(
    model: Path,
    in_one: dict[str, tuple[Path, bytes]],
    io: str,
    banks: tuple[Bank, ...],
    tmp_path: Path,
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    alone, expected = in_one[io]
    use_banks(monkeypatch, banks)
    project, _ = compile_model(CompileOptions(model, BOARD, io=io), tmp_path / "net")
    assert (project.directory / "net.h").read_text().count("unsigned char *arena") > 1
    shutil.copy(alone / "net_input.bin", project.directory)
    assert run_sanitized(project.directory, tmp_path) == expected
    assert np.isfinite(np.frombuffer(expected, "<f4")).all()


def test_one_bank_in_use_is_just_the_arena(
    model: Path,
    in_one: dict[str, tuple[Path, bytes]],
    tmp_path: Path,
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    use_banks(monkeypatch, (Bank("tcm", None, 1.0), Bank("sdram", None, 9.0)))
    project, _ = compile_model(CompileOptions(model, BOARD), tmp_path / "net")
    for name in ("net.h", "net.c", "main.c", "README.md"):
        assert (project.directory / name).read_text() == (in_one["caller"][0] / name).read_text()


@pytest.mark.parametrize("io", ["caller", "arena"])
def test_the_api_shows_the_banks(
    model: Path, io: str, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    """Sizes of the header, the comments of the calls and the table are those of the plan."""
    use_banks(monkeypatch, THREE)
    options = CompileOptions(model, BOARD, io=io)
    planned = decide(options).memory
    used = [use for use in planned.banks if use.bytes]
    assert len(used) > 1
    assert used[0].name == "tcm"
    project, _ = compile_model(options, tmp_path / "net")
    header = (project.directory / "net.h").read_text()
    network = (project.directory / "net.c").read_text()
    sizes = {name: int(size) for name, size in re.findall(r"NET_ARENA(\w*)_BYTES = (\d+)", header)}
    ends = ["", *(f"_{use.name.upper()}" for use in used[1:])]
    assert sizes == {end: use.bytes for end, use in zip(ends, used, strict=True)}
    for use in used[1:]:
        assert f"void *arena_{use.name}, size_t arena_{use.name}_bytes" in " ".join(header.split())
    places = [place for place in planned.places.values() if place.region is Region.ARENA]
    for place in places:
        bank = planned.banks[place.bank].name
        assert f"@{bank}+{place.offset}" in network
        assert re.search(rf"^   {bank} +{place.offset} +{place.bytes} ", network, re.MULTILINE)


INIT = """\
#include "net.h"
#include <stdio.h>

static _Alignas(64) unsigned char fast[NET_ARENA_BYTES], slow[NET_ARENA_SDRAM_BYTES + 1];
static net_model model;

static void try_init(void *memory, size_t bytes)
{
    puts(net_strerror(net_init(
        &model, net_weights, NET_WEIGHTS_BYTES, fast, sizeof fast, memory, bytes)));
}

int main(void)
{
    try_init(slow, sizeof slow);
    try_init(NULL, sizeof slow);
    try_init(slow, NET_ARENA_SDRAM_BYTES - 1);
    try_init(slow + 1, NET_ARENA_SDRAM_BYTES);
    return 0;
}
"""


def test_init_checks_every_bank(
    model: Path, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    use_banks(monkeypatch, (Bank("tcm", 2600, 1.0), Bank("sdram", None, 9.0)))
    project, _ = compile_model(CompileOptions(model, BOARD), tmp_path / "net")
    (project.directory / "init.c").write_text(INIT)
    binary = compile_project(
        project.directory,
        boards.load(BOARD),
        sources=("net.c", "net_weights.S", "init.c"),
        out=tmp_path / "program",
        warnings_as_errors=True,
    )
    done = run_binary(binary.path, boards.load(BOARD), [], cwd=project.directory)
    assert done.stdout.splitlines() == [
        "ok",
        "a pointer is null",
        "arena too small",
        "arena or weights misaligned",
    ]
