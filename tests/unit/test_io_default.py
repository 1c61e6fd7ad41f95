"""Who keeps inputs and outputs where the user does not say."""

from __future__ import annotations

from pathlib import Path

import pytest

from edgeconv.app.pipeline import CompileOptions, decide
from tests.command import Command


@pytest.mark.parametrize(
    ("board", "objective", "asked", "kept"),
    [
        ("stm32h743", "memory", "", "arena"),
        ("stm32h743", "memory", "caller", "caller"),
        ("stm32h743", "latency", "", "caller"),
        ("stm32h743", "", "", "caller"),
        ("stm32h743", "", "arena", "arena"),
        ("generic-c", "memory", "", "caller"),
    ],
)
def test_small_firmware_has_them_in_its_arena(
    residual_model: Path, board: str, objective: str, asked: str, kept: str
) -> None:
    found = decide(CompileOptions(residual_model, board, objective=objective, io=asked))
    assert found.report["program"]["io"] == kept
    assert bool(found.report["ram"]["io"]) == (kept == "caller")
    told = [note for note in found.notes if "--io caller" in note]
    assert len(told) == (kept == "arena" and not asked)
    said = "--io" in found.report["program"]["command"]
    assert said == bool(asked), "the banner's command has the same effect"


@pytest.mark.parametrize("io", ["", "caller"])
def test_new_weights_leave_them_where_they_are(
    residual_model: Path, edgeconv: Command, tmp_path: Path, io: str
) -> None:
    options = ("--board", "stm32h743", "--objective", "memory", *(("--io", io) if io else ()))
    edgeconv.ok("compile", residual_model, *options, "-o", tmp_path / "net")
    before = (tmp_path / "net" / "net.c").read_text()
    for _ in range(2):  # the second time by the command that the first one left
        edgeconv.ok("update-weights", tmp_path / "net", residual_model)
    after = (tmp_path / "net" / "net.c").read_text()
    assert before.partition("#include")[2] == after.partition("#include")[2]
