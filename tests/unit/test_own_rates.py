"""What is measured of the running machine once, and the file that keeps it."""

from __future__ import annotations

import json
import os
import resource
from pathlib import Path

import pytest

from edgeconv import board as boards
from edgeconv.board import Board
from edgeconv.board import own_rates as kept
from edgeconv.errors import EdgeconvError
from edgeconv.machine import own_rates
from tests import onnx_models
from tests.command import Command
from tests.tools import available

HOST = boards.load("host")
KEY = kept.processor(HOST.cpu, HOST.isa)
vectors = pytest.mark.skipif(HOST.target.lanes == 1, reason="no vectors here")


@pytest.fixture
def cache(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    monkeypatch.setenv("XDG_CACHE_HOME", str(tmp_path))
    return tmp_path / "edgeconv" / "host.json"


def test_rates_are_kept_beside_those_of_other_processors(cache: Path) -> None:
    assert kept.read() == {}
    kept.keep("one", 0.5)
    kept.keep("other", None)
    kept.keep("one", 1.0)
    assert kept.read() == {"one": 1.0, "other": None}
    assert [each.name for each in cache.parent.iterdir()] == [cache.name]


@pytest.mark.parametrize(
    ("rate", "kept_as"), [(0.02, 0.25), (0.52, 0.5), (0.7, 0.5), (0.72, 1), (1.1, 1), (9, 4)]
)
def test_two_measurements_of_a_machine_agree(rate: float, kept_as: float) -> None:
    assert kept.rounded(rate) == kept_as


@pytest.mark.parametrize(
    "content",
    [
        b"",
        b"\xff\xfe",
        b"[" * 70_000,
        b"[1]",
        b'{"schema": 2, "loads_per_multiply_add": {"KEY": 0.5}}',
        b'{"schema": 1, "loads_per_multiply_add": [0.5]}',
        b'{"schema": 1, "loads_per_multiply_add": {"KEY": 0.3}}',
        b'{"schema": 1, "loads_per_multiply_add": {"KEY": 1e999}}',
        b'{"schema": 1, "loads_per_multiply_add": {"KEY": "0.5"}}',
        b'{"schema": 1, "loads_per_multiply_add": {"KEY": true}}',
        b'{"schema": 1, "loads_per_multiply_add": {"KEY": NaN}}',
    ],
)
def test_a_damaged_file_counts_for_nothing_and_is_written_anew(cache: Path, content: bytes) -> None:
    cache.parent.mkdir()
    cache.write_bytes(content.replace(b"KEY", KEY.encode()))
    assert KEY not in kept.read()
    assert boards.load("host").target.load_slots == 1
    kept.keep(KEY, 0.5)
    assert boards.load("host").target.load_slots == 2


def test_a_full_disk_leaves_nothing_behind(cache: Path) -> None:
    kept.keep(KEY, 0.5)
    limits = resource.getrlimit(resource.RLIMIT_FSIZE)
    resource.setrlimit(resource.RLIMIT_FSIZE, (0, limits[1]))
    try:
        kept.keep(KEY, 1.0)
    finally:
        resource.setrlimit(resource.RLIMIT_FSIZE, limits)
    assert [each.name for each in cache.parent.iterdir()] == [cache.name]
    assert kept.read() == {KEY: 0.5}


def test_a_pipe_in_place_of_the_file_holds_nobody_up(cache: Path) -> None:
    cache.parent.mkdir()
    os.mkfifo(cache)
    assert kept.read() == {}
    kept.keep(KEY, 0.5)
    assert kept.read() == {KEY: 0.5}


def test_nothing_fails_where_nothing_can_be_kept(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    (tmp_path / "edgeconv").write_text("in the way")
    monkeypatch.setenv("XDG_CACHE_HOME", str(tmp_path))
    assert not kept.keeps()
    kept.keep(KEY, 1.0)
    assert kept.read() == {}
    monkeypatch.setattr(own_rates, "_measured", None)  # it would fail
    assert own_rates.load("host").loads_per_multiply_add is None


@vectors
@pytest.mark.parametrize("rate", [0.5, None])
def test_it_is_measured_once(
    cache: Path, monkeypatch: pytest.MonkeyPatch, rate: float | None
) -> None:
    asked = []

    def measured(board: Board) -> float | None:
        asked.append(board.name)
        return rate

    monkeypatch.setattr(own_rates, "_measured", measured)
    found = {own_rates.load("host").loads_per_multiply_add for _ in range(3)}
    assert (found, asked) == ({rate}, ["host"])
    assert own_rates.load("generic-c").loads_per_multiply_add is None
    assert json.loads(cache.read_text())["loads_per_multiply_add"] == {KEY: rate}


@vectors
def test_without_a_compiler_it_is_unknown(cache: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    def no_compiler(*_: object, **__: object) -> None:
        raise EdgeconvError("no compiler")

    monkeypatch.setattr(own_rates, "Programs", no_compiler)
    assert own_rates.load("host").loads_per_multiply_add is None
    assert kept.read() == {KEY: None}


@vectors
def test_this_machine(cache: Path) -> None:
    available("host")
    found = own_rates.load("host").loads_per_multiply_add
    assert found in kept.RATES
    assert kept.read() == {KEY: found}


def test_a_damaged_file_fails_no_command(cache: Path, tmp_path: Path, edgeconv: Command) -> None:
    cache.mkdir(parents=True)  # in the way of the file
    model = onnx_models.save(onnx_models.relu(1, 3), tmp_path / "net.onnx")
    edgeconv.ok("compile", model, "--board", "host", "-o", tmp_path / "out")
    assert edgeconv.ok("boards", "show", "host", "--json").json()["loads_per_multiply_add"] is None
    assert not list(cache.parent.glob(".host-*"))
