"""The table of limits, and the reading of files that it bounds."""

from __future__ import annotations

import json
import os
import re
import socket
import tomllib
from pathlib import Path
from typing import Any

import pytest

from edgeconv.base import limits, regular_file
from edgeconv.base.errors import EdgeconvError, Exit

DOCS = Path(__file__).resolve().parents[2] / "docs" / "limits.md"


def test_a_value_within_its_limit_is_returned() -> None:
    assert limits.held("board-depth", 16, "b.toml") == 16


def test_an_error_names_the_place_the_value_the_limit_and_the_option() -> None:
    with pytest.raises(EdgeconvError) as caught:
        limits.held("board-depth", 17, "b.toml")
    line = caught.value.one_line()
    for word in ("b.toml", "17 levels", "at most 16", "--limit board-depth=N", "to 200"):
        assert word in line
    assert caught.value.code is Exit.UNSATISFIED


def test_limits_are_raised_for_a_block() -> None:
    with limits.given({"board-depth": 20, "report-depth": 32}):
        assert limits.held("board-depth", 20, "b.toml") == 20
        assert dict(limits.in_force()) == {"board-depth": 20}  # the other is what it was
        with limits.given({"model-depth": 3}):
            assert dict(limits.in_force()) == {"board-depth": 20, "model-depth": 3}
    assert limits.limit("board-depth") == 16


@pytest.mark.parametrize(
    ("text", "found"),
    [
        ("model-nodes=7", ("model-nodes", 7)),
        ("folded-bytes=2G", ("folded-bytes", 2 << 30)),
        ("folded-bytes=12", ("folded-bytes", 12)),
    ],
)
def test_the_option_is_read(text: str, found: tuple[str, int]) -> None:
    assert limits.parse(text) == found


@pytest.mark.parametrize(
    ("text", "word"),
    [
        ("model-nodes", "NAME=VALUE"),
        ("model-nodse=3", "did you mean model-nodes"),
        ("model-nodes=-1", "number of nodes"),
        ("model-nodes=1e6", "number of nodes"),
        ("model-nodes=2M", "number of nodes"),
        ("model-nodes=" + "9" * 5000, "number of nodes"),
        ("model-nodes=0", "at least 1"),
        ("model-depth=101", "100 is the most"),
        ("folded-bytes=12KB", "powers of 1000"),
    ],
)
def test_a_senseless_option_is_wrong_usage(text: str, word: str) -> None:
    with pytest.raises(EdgeconvError, match=word) as caught:
        limits.parse(text)
    assert caught.value.code is Exit.USAGE


def test_the_documents_have_every_limit_and_its_default() -> None:
    rows = dict(re.findall(r"^\| `([a-z-]+)` \| ([0-9,GMKiB]+) \|", DOCS.read_text(), re.MULTILINE))
    assert set(rows) == set(limits.TABLE)
    for name, shown in rows.items():
        number = shown.replace(",", "")
        expected = limits.TABLE[name].default
        assert limits.parse(f"{name}={number}") == (name, expected)


def test_time_is_over_at_the_deadline(monkeypatch: pytest.MonkeyPatch) -> None:
    now = 100.0
    monkeypatch.setattr(limits, "monotonic", lambda: now)
    with limits.given({"model-seconds": 5}):
        deadline = limits.Deadline.of("model-seconds", "m.onnx")
        now = 105.0
        deadline.check()
        now = 105.1
        with pytest.raises(EdgeconvError, match="m.onnx: got more than 5 seconds"):
            deadline.check()


def test_what_is_no_regular_file_is_not_opened(tmp_path: Path) -> None:
    os.mkfifo(tmp_path / "fifo")
    with socket.socket(socket.AF_UNIX) as listener:
        listener.bind(str(tmp_path / "socket"))
        for path, word in (
            (tmp_path / "fifo", "a pipe"),
            (tmp_path / "socket", "a socket"),
            (Path("/dev/zero"), "a device"),
            (tmp_path, "a directory"),
            (tmp_path / "a\0b", "NUL"),
        ):
            with pytest.raises(OSError, match=word):
                regular_file.opened(path)


def test_a_link_to_a_file_is_a_file(tmp_path: Path) -> None:
    (tmp_path / "file").write_bytes(b"text")
    (tmp_path / "link").symlink_to("file")
    assert regular_file.content(tmp_path / "link", "board-bytes") == b"text"


def test_a_file_is_read_up_to_its_limit(tmp_path: Path) -> None:
    path = tmp_path / "file"
    path.write_bytes(b"12345")
    with limits.given({"board-bytes": 5}):
        assert regular_file.content(path, "board-bytes") == b"12345"
    with limits.given({"board-bytes": 4}), pytest.raises(EdgeconvError, match="got 5 bytes"):
        regular_file.content(path, "board-bytes")


def test_a_file_that_says_it_is_empty_is_bounded_too() -> None:
    path = Path("/proc/self/maps")
    if not path.exists():
        pytest.skip("no /proc here")
    with limits.given({"board-bytes": 9}), pytest.raises(EdgeconvError, match="more than 9 bytes"):
        regular_file.content(path, "board-bytes")


def _lists(depth: int) -> str:
    return "[" * depth + "]" * depth


@pytest.mark.parametrize("depth", [17, 900, 100_000])
@pytest.mark.parametrize("parse", [json.loads, lambda text: tomllib.loads(f"a = {text}")])
def test_depth_is_an_error_however_deep_it_is(parse: Any, depth: int) -> None:
    with pytest.raises(EdgeconvError, match="board-depth"):
        regular_file.nested(lambda: parse(_lists(depth)), "board-depth", "b")


def test_depth_counts_objects_and_lists() -> None:
    text = '{"a": [{"b": 1}, [[]]]}'
    with limits.given({"report-depth": 4}):
        assert regular_file.nested(lambda: json.loads(text), "report-depth", "r") == json.loads(
            text
        )
    with limits.given({"report-depth": 3}), pytest.raises(EdgeconvError, match="4 levels"):
        regular_file.nested(lambda: json.loads(text), "report-depth", "r")
    assert regular_file.nested(lambda: 3, "report-depth", "r") == 3


def test_dotted_keys_are_levels_too() -> None:
    text = ".".join("a" * 5000) + " = 1"
    with pytest.raises(EdgeconvError, match="board-depth"):
        regular_file.nested(lambda: tomllib.loads(text), "board-depth", "b")
