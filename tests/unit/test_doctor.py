from __future__ import annotations

import io
import json
from pathlib import Path

import pytest
from rich.console import Console

from edgeconv.report.boards import diagnosis, diagnosis_json
from edgeconv.run.doctor import BoardCheck, Check, diagnose, diagnose_boards
from edgeconv.target.board.catalogue import load_all
from edgeconv.target.board_folders import FOLDERS_VARIABLE

FOREIGN = """\
schema = 1
name = "martian"
description = "A board whose tools nobody has"
arch = "martian64"
isa = "portable"
[toolchain]
cc = ["martian-gcc"]
install = "get martian-gcc"
[run]
kind = "qemu-user"
command = ["qemu-martian"]
install = "get [qemu]"
"""


@pytest.fixture
def martian(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    (tmp_path / "martian.toml").write_text(FOREIGN)
    monkeypatch.setenv(FOLDERS_VARIABLE, str(tmp_path))


@pytest.mark.usefixtures("martian")
def test_missing_tools_say_how_to_get_them() -> None:
    checks = {check.what: check for check in diagnose(load_all().boards)}
    compiler = checks["C compiler for martian64"]
    assert compiler == Check("compiler", "C compiler for martian64", "", "get martian-gcc")
    assert checks["qemu-martian"] == Check("emulator", "qemu-martian", "", "get [qemu]")


@pytest.mark.usefixtures("martian")
def test_board_without_tools_can_neither_build_nor_run() -> None:
    states = {state.name: state for state in diagnose_boards(load_all().boards)}
    martian = states.pop("martian")
    assert (martian.can_build, martian.can_run, martian.runs) == (False, False, "qemu-martian")
    assert states["host"].can_run
    assert states["host"].runs == "native"


def test_each_tool_is_listed_once_and_references_are_versioned() -> None:
    checks = diagnose(load_all().boards)
    assert len({(check.kind, check.what) for check in checks}) == len(checks)
    references = [check.found for check in checks if check.kind == "reference"]
    assert any(found.startswith("onnx ") for found in references)


def test_a_tool_shared_by_boards_is_one_line() -> None:
    """jetson-tx1 and raspberry-pi-4 want the same compiler."""
    checks = [
        check for check in diagnose(load_all().boards) if check.what == "C compiler for aarch64"
    ]
    assert len(checks) == 1


def test_tables_show_the_missing_and_escape_markup() -> None:
    console = Console(width=120, record=True, file=io.StringIO())
    checks = [Check("emulator", "qemu-x", "", "get [qemu]"), Check("reference", "r", "r 1.0", "no")]
    states = [BoardCheck("b", "a board", "portable", True, False, "qemu-x")]
    console.print(diagnosis(checks, states))
    text = console.export_text()
    assert "missing" in text
    assert "get [qemu]" in text
    assert "r 1.0" in text
    assert " no " in text


def test_json_has_tools_and_boards() -> None:
    state = BoardCheck("b", "a board", "portable", True, False, "qemu-x")
    check = Check("emulator", "q", "", "get q")
    document = json.loads(json.dumps(diagnosis_json([check], [state])))
    found = {"kind": "emulator", "what": "q", "found": "", "install": "get q", "problem": ""}
    assert document["tools"] == [found]
    assert document["boards"][0]["can_run"] is False
