"""Names are shown, never obeyed: no text of a model acts on a terminal, a page or a reader."""

from __future__ import annotations

import io
import json
import re
from pathlib import Path

import onnx
import pytest
from rich.table import Table
from rich.text import Text

from edgeconv.app.terminal import say
from edgeconv.base.errors import EdgeconvError
from edgeconv.base.visible import VisibleConsole, json_text, visible
from tests import onnx_models
from tests.command import BOARD, Command
from tests.unit.test_cli_compile import files

pytestmark = pytest.mark.usefixtures("unoptimised")

EVIL = "\x1b]0;pwned\x07\x1b[2J\r\nnote: all is well\u202e*/\x9b31m\x7f[/bold][red]"
ACTING = re.compile("[\x00-\x08\x0b-\x1f\x7f-\x9f\u202a-\u202e\u2066-\u2069]")


@pytest.fixture
def evil_model(tmp_path: Path) -> Path:
    """``onnx_models.residual`` whose nodes and tensors have such names, in such a file."""
    model = onnx_models.residual()
    for node in model.graph.node:
        node.name = f"{node.name}{EVIL}"
        for names in (node.input, node.output):
            names[:] = [f"{name}{EVIL}" if name else "" for name in names]
    for port in (*model.graph.input, *model.graph.output):
        port.name = f"{port.name}{EVIL}"
    for constant in model.graph.initializer:
        constant.name = f"{constant.name}{EVIL}"
    model.graph.name = EVIL
    return onnx_models.save(model, tmp_path / f"net\x1b[2J\u202e{'*'}.onnx")


def test_everything_printed_and_written_is_harmless(
    edgeconv: Command, evil_model: Path, tmp_path: Path
) -> None:
    out, compile_it = tmp_path / "out", ("compile", evil_model, "--board", BOARD, "--name", "net")
    said = [
        edgeconv.ok(*compile_it, "-o", out, "--verify", "--report", tmp_path / "r"),
        edgeconv.ok("report", out),
        edgeconv.ok("verify", out, "--layers"),
        edgeconv.ok("bench", out, "--runs", "1", "--layers"),
        edgeconv.ok("explain", evil_model, "--board", BOARD),
        edgeconv("compile", evil_model, "--board", BOARD, "--algorithm", f"{EVIL}=direct"),
        edgeconv("compile", f"{evil_model}{EVIL}", "--board", EVIL),
        edgeconv("report", tmp_path / "no\x1bthing"),
    ]
    for done in said:
        for text in (done.stdout, done.stderr):
            assert not ACTING.search(text), repr(ACTING.search(text))
            assert not any(line.startswith("note: all is well") for line in text.splitlines())
    assert "\\x1b" in said[1].stdout
    for folder in (out, tmp_path / "r"):
        for name, data in files(folder).items():
            if name.startswith("build/") or name.endswith(".bin"):
                continue
            found = ACTING.search(re.sub(r"<script>.*?</script>", "", data.decode(), flags=re.S))
            assert not found, f"{name}: {found!r}"


def test_json_reads_back_as_the_same(edgeconv: Command, evil_model: Path, tmp_path: Path) -> None:
    command = ("compile", evil_model, "--board", BOARD, "-o", tmp_path / "out", "--json")
    done = edgeconv.ok(*command)
    assert not ACTING.search(done.stdout)
    assert done.json()["inputs"][0]["name"] == f"image{EVIL}"
    document = {"a\u202eb": ["\x7f\x85\u2028", "\ud800", "plain ü 漢字"]}
    text = json_text(document)
    assert json.loads(text) == document
    assert text.encode()
    assert "漢字" in text


@pytest.mark.parametrize(
    ("text", "shown"),
    [
        ("plain ü 漢字", "plain ü 漢字"),
        ("a\x1b[2Jb", "a\\x1b[2Jb"),
        ("a\nb", "a\\nb"),
        ("\u202eabc", "\\u202eabc"),
        ("\x9b", "\\x9b"),
        ("\udcff", "\\udcff"),
    ],
)
def test_characters_that_act_are_written_out(text: str, shown: str) -> None:
    assert visible(text) == shown


def test_tables_and_texts_of_rich_are_covered() -> None:
    table = Table("name")
    table.add_row("cell \x1b[2J")
    table.add_row(Text("text \x1b[2J\x9b"))
    stream = io.StringIO()
    VisibleConsole(file=stream, width=60).print(table, Text("\x1bc"), "\x1bc[bold]x[/bold]")
    assert not ACTING.search(stream.getvalue())
    assert "cell \\x1b[2J" in stream.getvalue()


def test_errors_stay_on_their_line(capsys: pytest.CaptureFixture[str]) -> None:
    error = EdgeconvError("bad name", where="a\nb\x1b[2J", details=("one\ntwo",))
    say(error.one_line(), *error.details)
    assert capsys.readouterr().err == "edgeconv: bad name: a\\nb\\x1b[2J\n  one\\ntwo\n"


def test_file_name_that_is_not_utf8(edgeconv: Command, tmp_path: Path) -> None:
    path = tmp_path / "net-\udcff.onnx"
    onnx.save(onnx_models.convolution(), str(tmp_path / "net.onnx"))
    (tmp_path / "net.onnx").rename(path)
    done = edgeconv("compile", path, "--board", BOARD, "-o", tmp_path / "out")
    assert "internal error" not in done.stderr
    if done.status == 0:
        edgeconv.ok("verify", tmp_path / "out")
