"""compile --bound-cycles and --max-cycles."""

from __future__ import annotations

import json
import shutil
from pathlib import Path

import pytest

from edgeconv.base.errors import EdgeconvError
from edgeconv.codegen.cycles import with_cycles
from edgeconv.ir.check import InvariantError
from edgeconv.run.cycles.bound import require_table
from edgeconv.target import board as boards
from edgeconv.target.board_folders import FOLDERS_VARIABLE
from edgeconv.target.cycles import TABLES
from tests import quantised_models
from tests.command import Command
from tests.onnx_models import save
from tests.tools import available

BOARD = "mps2-an386"


@pytest.fixture(scope="module")
def model(tmp_path_factory: pytest.TempPathFactory) -> Path:
    return save(quantised_models.deep(2, 4), tmp_path_factory.mktemp("model") / "net.onnx")


def test_report_and_header_have_the_bound(model: Path, edgeconv: Command, tmp_path: Path) -> None:
    available(BOARD, to_run=False)
    folder, pages = tmp_path / "net", tmp_path / "pages"
    done = edgeconv(
        "compile", model, "--board", BOARD, "--bound-cycles", "-o", folder, "--report", pages
    )
    assert done.status == 0
    report = json.loads((folder / "report.json").read_text())
    most = report["time"]["cycles_max"]
    assert "Cortex-M4 Technical Reference Manual" in report["time"]["cycles_source"]
    assert f"at most: {most:,} cycles per run" in done.stdout
    assert f"#define NET_CYCLES_MAX {most}u\n" in (folder / "net.h").read_text()
    of_layers = [layer["cycles_max"] for layer in report["layers"]]
    assert sum(each or 0 for each in of_layers) <= most
    assert max(each or 0 for each in of_layers) > most / 4
    page = (pages / "report.html").read_text()
    assert f"at most {most:,} cycles" in page
    assert "cycles at most" in page
    assert "max cycles" in (pages / "report.txt").read_text()
    # What is flashed is what was bounded.
    again = edgeconv(
        "compile", model, "--board", BOARD, "--max-cycles", str(most), "-o", tmp_path / "again"
    )
    assert again.status == 0
    assert (folder / "build/net.bin").read_bytes() == (
        tmp_path / "again/build/net.bin"
    ).read_bytes()


def test_more_cycles_than_are_allowed_name_the_layers(
    model: Path, edgeconv: Command, tmp_path: Path
) -> None:
    available(BOARD, to_run=False)
    folder = tmp_path / "net"
    done = edgeconv("compile", model, "--board", BOARD, "--max-cycles", "1000", "-o", folder)
    assert done.status == 1
    assert "no inference may take more than 1,000" in done.stderr
    assert "cycles: 0: " in done.stderr or "cycles: 1: " in done.stderr
    assert not folder.exists()


@pytest.mark.parametrize(
    ("board", "what"),
    [("host", "cycles of instructions are known of Cortex-M0"), ("mps2-an500", "Cortex-M7")],
)
def test_a_core_without_a_table_is_refused(
    board: str, what: str, model: Path, edgeconv: Command, tmp_path: Path
) -> None:
    available(board, to_run=False)
    folder = tmp_path / "net"
    done = edgeconv("compile", model, "--board", board, "--bound-cycles", "-o", folder)
    assert done.status == 1
    assert "no bound in cycles" in done.stderr
    assert what in done.stderr
    assert not folder.exists()


def test_wait_states_must_be_stated(
    model: Path, edgeconv: Command, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    available(BOARD, to_run=False)
    text = boards.load(BOARD).path.read_text()
    mine = tmp_path / "boards"
    mine.mkdir()
    changed = text.replace(f'name = "{BOARD}"', 'name = "mine"')
    (mine / "mine.toml").write_text(
        "\n".join(line for line in changed.splitlines() if not line.startswith("wait_states"))
    )
    monkeypatch.setenv(FOLDERS_VARIABLE, str(mine))
    folder = tmp_path / "net"
    done = edgeconv("compile", model, "--board", "mine", "--bound-cycles", "-o", folder)
    assert done.status == 1
    assert "board mine, memory SSRAM" in done.stderr
    assert "wait states are not stated" in done.stderr
    assert not folder.exists()


def test_boards_state_where_the_cycles_are_from() -> None:
    known = {core for table in TABLES for core in table.cores}
    for name in boards.names():
        board = boards.load(name)
        if board.cycles_as:
            assert board.cpu not in known
            table = require_table(board)
            assert f"taken for the {board.cpu}" in table.source
            assert table.cycles["vseleq"] == table.cycles["vadd"]  # of FPv5, which it has not
            assert {"vseleq", "vadd"} <= table.late_result
    microbit = require_table(boards.load("microbit"))
    assert microbit.cycles["mul"] == boards.load("microbit").multiply_cycles == 1


def test_a_board_with_a_data_cache_has_no_bound() -> None:
    cached = next(
        board
        for board in map(boards.load, boards.names())
        if board.bare_metal and board.caches and board.cpu == "Cortex-M7"
    )
    with pytest.raises(EdgeconvError, match="with a data cache"):
        require_table(cached)


def test_a_header_has_one_place_for_the_macro() -> None:
    header = "enum { A };\n\n/* Results. */\nenum { B };\n"
    found = with_cycles(header, "net", 1 << 33, "Cortex-M4 */")
    assert f"#define NET_CYCLES_MAX {1 << 33}ull\n\n/* Results. */\n" in found
    assert found.count("*/") == 2
    with pytest.raises(InvariantError):
        with_cycles("", "net", 1, "Cortex-M4")


pytestmark = pytest.mark.skipif(not shutil.which("arm-none-eabi-gcc"), reason="no cross compiler")
