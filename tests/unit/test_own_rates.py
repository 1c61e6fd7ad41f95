"""What is measured of the running machine once, and the file that keeps it."""

from __future__ import annotations

import os
import resource
from dataclasses import replace
from pathlib import Path

import pytest

from edgeconv.base.errors import EdgeconvError
from edgeconv.run.machine import own_rates, probe
from edgeconv.run.machine.measure import QUICK
from edgeconv.target import board as boards
from edgeconv.target.board import Board
from edgeconv.target.board import own_rates as kept
from edgeconv.target.board.own_rates import OwnRates
from edgeconv.target.cache import Cache
from edgeconv.target.host import detect
from edgeconv.target.price import machine_of
from tests import onnx_models
from tests.command import Command
from tests.tools import available

HOST = boards.load("host")
KEY = kept.processor(HOST.cpu, HOST.isa, HOST.caches)
vectors = pytest.mark.skipif(HOST.target.lanes == 1, reason="no vectors here")
CACHES = (Cache(1, 32 << 10, 64), Cache(2, 1 << 20, 64), Cache(3, 32 << 20, 64))
RATES = OwnRates(0.5, 2.0, (32.0, 22.63, 6.0), (12.0, 48.0, 768.0), prefetch_far=True)
SINGLE = (
    '"halves": false, "prefetch_far": true, '
    '"loads_per_multiply_add": 0.5, "multiply_adds_per_cycle": 1.0'
)


@pytest.fixture
def cache(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    monkeypatch.setenv("XDG_CACHE_HOME", str(tmp_path))
    return tmp_path / "edgeconv" / "host.json"


def test_rates_are_kept_beside_those_of_other_processors(cache: Path) -> None:
    assert kept.read() == {}
    kept.keep("one", OwnRates(0.5, 1.0))
    kept.keep("other", None)
    kept.keep("one", RATES)
    assert kept.read() == {"one": RATES, "other": None}
    assert [each.name for each in cache.parent.iterdir()] == [cache.name]


@pytest.mark.parametrize(
    ("rate", "kept_as"), [(0.02, 0.25), (0.52, 0.5), (0.7, 0.5), (0.72, 1), (1.1, 1), (9, 4)]
)
def test_two_measurements_of_a_machine_agree(rate: float, kept_as: float) -> None:
    assert kept.rounded(rate) == kept_as


@pytest.mark.parametrize(
    ("powers", "least", "most", "kept_as"),
    [
        (kept.CACHE_BYTES, 27.2, 37.6, 32.0),
        (kept.CACHE_BYTES, 19.2, 26.7, 22.63),
        (kept.MEMORY_BYTES, 4.4, 8.4, 6.0),
        (kept.MEMORY_BYTES, 0.54, 1.05, 0.75),
        (kept.CYCLES, 550, 1080, 768.0),
    ],
)
def test_bandwidths_and_latencies_likewise(
    powers: tuple[float, float], least: float, most: float, kept_as: float
) -> None:
    for rate in (least, most, kept_as):
        assert kept.coarse(rate, powers) == kept_as


def test_processors_of_one_name_differ_by_their_caches() -> None:
    assert kept.processor("cpu", "avx2", CACHES) == "cpu, avx2, 32KiB, 1MiB, 32MiB"
    assert kept.processor("cpu", "avx2", ()) == "cpu, avx2"


@pytest.mark.parametrize(
    "content",
    [
        b"",
        b"\xff\xfe",
        b"[" * 70_000,
        b"[1]",
        b'{"schema": 1, "loads_per_multiply_add": {"KEY": 0.5}}',
        b'{"schema": 4, "processors": [0.5]}',
        *(
            f'{{"schema": 4, "processors": {{"KEY": {rates}}}}}'.encode()
            for rates in (
                "0.5",
                "[]",
                "{}",
                f"{{{SINGLE}}}",
                f'{{{SINGLE}, "bandwidth": [], "latency": [], "more": 1}}',
                f'{{{SINGLE}, "bandwidth": {{}}, "latency": {{}}}}',
                f'{{{SINGLE}, "bandwidth": "", "latency": ""}}',
                f'{{{SINGLE}, "bandwidth": [6.0], "latency": []}}',
                f'{{{SINGLE}, "bandwidth": [7.0], "latency": [12.0]}}',
                f'{{{SINGLE}, "bandwidth": [6.0], "latency": [true]}}',
                f'{{{SINGLE}, "bandwidth": [1e999], "latency": [12.0]}}',
                f'{{{SINGLE}, "bandwidth": [NaN], "latency": [12.0]}}',
                f'{{{SINGLE}, "bandwidth": [-6.0], "latency": [12.0]}}',
                f'{{{SINGLE}, "bandwidth": [0.0, 6.0], "latency": [12.0, 12.0]}}',
                f'{{{SINGLE}, "bandwidth": [6.0], "latency": [12]}}'.replace("0.5", "0.3"),
                f'{{{SINGLE}, "bandwidth": [], "latency": []}}'.replace("1.0", "true"),
                f'{{{SINGLE}, "bandwidth": [], "latency": []}}'.replace("1.0", '"1.0"'),
                f'{{{SINGLE}, "bandwidth": [], "latency": []}}'.replace("false", "0"),
                f'{{{SINGLE}, "bandwidth": [], "latency": []}}'.replace('"halves": false, ', ""),
                f'{{{SINGLE}, "bandwidth": [], "latency": []}}'.replace("true", "null"),
            )
        ),
    ],
)
def test_a_damaged_file_counts_for_nothing_and_is_written_anew(cache: Path, content: bytes) -> None:
    cache.parent.mkdir()
    cache.write_bytes(content.replace(b"KEY", KEY.encode()))
    assert KEY not in kept.read()
    assert boards.load("host").target.load_slots == 1
    kept.keep(KEY, RATES)
    assert boards.load("host").target.load_slots == 2


def test_a_full_disk_leaves_nothing_behind(cache: Path) -> None:
    kept.keep(KEY, RATES)
    limits = resource.getrlimit(resource.RLIMIT_FSIZE)
    resource.setrlimit(resource.RLIMIT_FSIZE, (0, limits[1]))
    try:
        kept.keep(KEY, None)
    finally:
        resource.setrlimit(resource.RLIMIT_FSIZE, limits)
    assert [each.name for each in cache.parent.iterdir()] == [cache.name]
    assert kept.read() == {KEY: RATES}


def test_a_pipe_in_place_of_the_file_holds_nobody_up(cache: Path) -> None:
    cache.parent.mkdir()
    os.mkfifo(cache)
    assert kept.read() == {}
    kept.keep(KEY, RATES)
    assert kept.read() == {KEY: RATES}


def test_nothing_fails_where_nothing_can_be_kept(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    (tmp_path / "edgeconv").write_text("in the way")
    monkeypatch.setenv("XDG_CACHE_HOME", str(tmp_path))
    assert not kept.keeps()
    kept.keep(KEY, RATES)
    assert kept.read() == {}
    monkeypatch.setattr(own_rates, "_measured", None)  # it would fail
    assert own_rates.load("host").own_rates is None


@vectors
@pytest.mark.parametrize("rates", [RATES, None])
def test_it_is_measured_once(
    cache: Path, monkeypatch: pytest.MonkeyPatch, rates: OwnRates | None
) -> None:
    asked = []

    def measured(board: Board) -> OwnRates | None:
        asked.append(board.name)
        return rates

    monkeypatch.setattr(own_rates, "_measured", measured)
    found = {own_rates.load("host").own_rates for _ in range(3)}
    assert (found, asked) == ({rates}, ["host"])
    assert own_rates.load("generic-c").own_rates is None
    assert kept.read() == {KEY: rates}


@vectors
def test_of_two_that_measure_at_once_the_first_counts(
    cache: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    def measured(_: Board) -> OwnRates:
        kept.keep(KEY, RATES)  # another process meanwhile
        return OwnRates(4.0, 4.0)

    monkeypatch.setattr(own_rates, "_measured", measured)
    assert own_rates.load("host").own_rates == RATES


def test_what_is_measured_is_what_prices_see(cache: Path) -> None:
    host = replace(detect(), cpu="cpu", caches=CACHES)
    before = boards.load("host", host)
    kept.keep(kept.processor("cpu", before.isa, CACHES), RATES)
    board = boards.load("host", host)
    assert board.caches == (
        CACHES[0],
        replace(CACHES[1], bandwidth=32.0, latency=12),
        replace(CACHES[2], bandwidth=22.63, latency=48),
    )
    assert board.memory_cycles == 768
    machine, cycle = machine_of(board.target), machine_of(board.target).cycle
    assert machine.cycle / machine.slot == 2.0
    assert machine.weights.byte == pytest.approx(cycle / 6)
    assert [level.byte for level in machine.caches] == pytest.approx([cycle / 32, cycle / 22.63])
    assert board.target.load_slots == 2
    assert (before.target.prefetch_far, board.target.prefetch_far) == (False, True)
    assert before.target.load_slots == 1


def test_what_a_file_states_counts_instead(cache: Path, tmp_path: Path) -> None:
    text = HOST.path.read_text().replace('name = "host"', 'name = "mine"\nmacs_per_cycle = 3.0')
    text += """
[[cache]]
level = 1
size = "48KiB"
line = "64B"
bandwidth = "7B/cycle"
[[memory]]
name = "DRAM"
kind = "dram"
size = "1GiB"
bandwidth = "5GB/s"
"""
    (tmp_path / "mine.toml").write_text(text)
    kept.keep(kept.processor(HOST.cpu, HOST.isa, (Cache(1, 48 << 10, 64),)), RATES)
    board = boards.check(tmp_path / "mine.toml")
    assert board.own_rates == RATES
    assert board.target.macs_per_cycle == 3.0
    assert [cache.bandwidth for cache in board.caches] == [7.0]
    assert machine_of(board.target).weights.byte == pytest.approx(1 / 5e9)


@vectors
def test_without_a_compiler_it_is_unknown(cache: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    def no_compiler(*_: object, **__: object) -> None:
        raise EdgeconvError("no compiler")

    monkeypatch.setattr(own_rates, "Programs", no_compiler)
    assert own_rates.load("host").own_rates is None
    assert kept.read() == {KEY: None}


@pytest.fixture
def briefly(monkeypatch: pytest.MonkeyPatch) -> None:
    """Everything is measured, in one round: how well is not asked."""
    rounds, samples = QUICK
    monkeypatch.setattr(own_rates, "ROUNDS", rounds)
    monkeypatch.setattr(own_rates, "SAMPLES", samples)


@vectors
@pytest.mark.skipif(not HOST.caches, reason="the system tells of no caches")
@pytest.mark.usefixtures("briefly")
def test_with_too_little_memory_bandwidths_alone_are_unknown(
    cache: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    available("host")
    monkeypatch.setattr(probe, "available", lambda: 1 << 20)
    found = own_rates.load("host").own_rates
    assert found
    assert found.bandwidth == found.latency == ()
    assert found.multiply_adds_per_cycle in kept.RATES


@vectors
@pytest.mark.usefixtures("briefly")
def test_this_machine(cache: Path) -> None:
    available("host")
    board = own_rates.load("host")
    found = board.own_rates
    assert found
    assert kept.read() == {KEY: found}
    assert found.loads_per_multiply_add in kept.RATES
    assert len(found.bandwidth) == len(found.latency) == len(board.caches)
    assert list(found.latency) == sorted(found.latency)
    if found.bandwidth:
        assert f"bytes a cycle {found.bandwidth[0]:g} (" in found.described(board.caches)


def test_a_damaged_file_fails_no_command(
    cache: Path, tmp_path: Path, edgeconv: Command, monkeypatch: pytest.MonkeyPatch
) -> None:
    cache.mkdir(parents=True)  # in the way of the file
    monkeypatch.setattr(own_rates, "_measured", lambda _: RATES)  # and is not kept
    model = onnx_models.save(onnx_models.relu(1, 3), tmp_path / "net.onnx")
    edgeconv.ok("compile", model, "--board", "host", "-o", tmp_path / "out")
    shown = edgeconv.ok("boards", "show", "host", "--json").json()
    assert shown["loads_per_multiply_add"] is shown["measured"] is None
    assert not list(cache.parent.glob(".host-*"))
