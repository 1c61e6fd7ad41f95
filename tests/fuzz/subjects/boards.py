"""Board files: read, shown, and compiled for."""

from __future__ import annotations

import io
import json
import os
import random
import tempfile
import tomllib
from functools import cache
from pathlib import Path
from typing import Any
from unittest import mock

from rich.console import Console

from edgeconv.app import writing
from edgeconv.app.deciding import Decider
from edgeconv.report.boards import board_details, board_json, board_table
from edgeconv.search.options import CompileOptions
from edgeconv.target import board as boards
from edgeconv.target import board_folders
from tests import onnx_models
from tests.fuzz.mutate_data import change, damaged
from tests.fuzz.subject import Subject

NAME = "fuzzed"
VALUES: tuple[Any, ...] = (
    True, False, 0, -1, 1, 2, 3, 1.5, -0.0, 1e-320, 1e308, 2**31, 2**32 - 1, 2**63 - 1, -(2**63),
    0x2000_0000, 0x0800_0000, float("nan"), float("inf"), "", " ", "none", "linux", "scalar",
    "neon", "avx512", "0B", "1B", "64B", "1KiB", "512KiB", "4GiB", "16EiB", "-1KiB", "1.5KiB",
    "1e9KiB", "0Hz", "1Hz", "480MHz", "1e300GHz", "0B/s", "1B/s", "1e300GB/s", "8B/cycle", "0ns",
    "100ns", "1e300ns", "1pJ", "1e300J", "tcm", "sram", "flash", "dram", "a/b", "../x", "x\0y",
    "n" * 300, "\x1b[2J", "two\nlines", "[/bold]", "*/", "-mcpu=cortex-a7", "-O0 -fno-inline", "'",
    [], {}, [[]], [1] * 40, {"": ""}, ["-mfpu=x"],
)  # fmt: skip


@cache
def corpus() -> tuple[str, ...]:
    """The boards that ship."""
    return tuple(path.read_text("utf-8") for path in sorted(board_folders.shipped().glob("*.toml")))


@cache
def _model() -> Path:
    """A small network, in a folder that lasts as long as the process."""
    folder = tempfile.mkdtemp(prefix="edgeconv-fuzz-boards-")
    return onnx_models.save(onnx_models.residual(), Path(folder) / "net.onnx")


def make(source: random.Random, folder: Path) -> Path:
    """One to four changes of a board that ships, or damage to its bytes."""
    text = source.choice(corpus())
    path = folder / f"{NAME}.toml"
    if source.random() < 0.1:
        path.write_bytes(damaged(source, text.encode()))
        return path
    data = tomllib.loads(text)
    data["name"] = NAME
    for _ in range(source.choice((1, 1, 2, 4))):
        change(source, data, VALUES)
    path.write_text(_toml(data), encoding="utf-8", errors="surrogatepass")
    return path


def _toml(table: dict[str, Any]) -> str:
    return "".join(f"{json.dumps(key)} = {_value(value)}\n" for key, value in table.items())


def _value(value: Any) -> str:
    if isinstance(value, dict):
        inner = ", ".join(f"{json.dumps(key)} = {_value(item)}" for key, item in value.items())
        return f"{{{inner}}}"
    if isinstance(value, list):
        return f"[{', '.join(map(_value, value))}]"
    # Text and numbers of JSON are those of TOML, but for NaN and infinity.
    return json.dumps(value).replace("NaN", "nan").replace("Infinity", "inf")


def read(path: Path) -> str:
    """What `boards list`, `show` and `check` ask of a board, and all that compile does before it
    writes."""
    with mock.patch.dict(os.environ, {board_folders.FOLDERS_VARIABLE: str(path.parent)}):
        board = boards.check(path)
        console = Console(file=io.StringIO(), width=100)
        console.print(board_table([board]))
        console.print(board_details(board))
        json.dumps(board_json(board), allow_nan=False)
        options = CompileOptions(_model(), path.stem)
        with Decider(options) as decider:
            decided = decider.plain()
            writing.source_tree(decided, lambda _: None)
    return "read" if decided.report["budget"]["fits"] else "does not fit"


SUBJECT = Subject("boards", make, read)
