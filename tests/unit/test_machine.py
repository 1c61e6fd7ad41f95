"""``edgeconv boards new``: measuring the machine, writing its board file."""

from __future__ import annotations

import re
import tomllib
from dataclasses import replace
from functools import partial
from importlib import resources
from pathlib import Path

import pytest
from hypothesis import given
from hypothesis import strategies as st
from rich.console import Console

from edgeconv.base.errors import EdgeconvError, Exit
from edgeconv.kernels import headers
from edgeconv.report.boards import new_board as printed
from edgeconv.run.machine import NewBoard, new_board
from edgeconv.run.machine import probe as probing
from edgeconv.run.machine.board_file import render, three_digits
from edgeconv.run.machine.buffers import MEMORY, SIZES, chased, find_caches, streamed
from edgeconv.run.machine.half_vectors import computes_halves
from edgeconv.run.machine.measure import Level, Measured, fastest, others
from edgeconv.run.machine.probe import Machine
from edgeconv.run.machine.programs import NAMES, Programs, medians
from edgeconv.target import board as boards
from edgeconv.target.backends import TARGETS
from edgeconv.target.board import RunKind
from edgeconv.target.cache import Cache
from edgeconv.target.host import Host
from edgeconv.target.targets import HALVES, PANELS
from tests.command import Command
from tests.tools import available

KIB, MIB, GIB = 1 << 10, 1 << 20, 1 << 30

CACHES = (Cache(1, 32 * KIB, 64), Cache(2, 1 * MIB, 64), Cache(3, 8 * MIB, 64))


def test_buffers() -> None:
    stream = streamed(CACHES, None)
    assert stream == {"L1": 16 * KIB, "L2": 256 * KIB, "L3": 4 * MIB, MEMORY: 128 * MIB}
    chase = chased(CACHES, stream)
    assert chase == {"L1": 16 * KIB, "L2": 64 * KIB, "L3": 2 * MIB, MEMORY: 128 * MIB}


def test_buffer_of_a_level_hardly_larger_than_the_one_before() -> None:
    stream = streamed((Cache(1, 32 * KIB, 64), Cache(2, 64 * KIB, 64)), None)
    assert 32 * KIB < stream["L2"] < 64 * KIB


@given(st.lists(st.integers(4, 256 << 10), max_size=4, unique=True), st.integers(0, 64 * GIB))
def test_buffers_stay_in_their_level(kibibytes: list[int], more: int) -> None:
    sizes = [KIB * size for size in sorted(kibibytes)]
    caches = [Cache(level, size, 64) for level, size in enumerate(sizes, start=1)]
    last = max(sizes, default=0)
    available = 4 * last + more
    stream = streamed(caches, available)
    chase = chased(caches, stream)
    for before, cache in zip([Cache(0, 0, 64), *caches], caches, strict=False):
        assert before.size < stream[f"L{cache.level}"] < cache.size
        assert chase[f"L{cache.level}"] <= stream[f"L{cache.level}"]
    assert 2 * last <= stream[MEMORY] <= max(available // 4, 2 * last)


def test_too_little_memory() -> None:
    with pytest.raises(EdgeconvError, match="too little free memory to measure it: got 31.0 MiB"):
        streamed(CACHES, 31 * MIB)


def latencies(*levels: tuple[int, float]) -> list[float]:
    """Of a machine whose ``levels`` are (size, nanoseconds), memory with size 0 last."""
    return [next(ns for size, ns in levels if size >= bytes_ or size == 0) for bytes_ in SIZES]


def test_caches_are_found() -> None:
    times = latencies((32 * KIB, 2.0), (512 * KIB, 10.0), (0, 120.0))
    assert find_caches(times) == (Cache(1, 32 * KIB, 64), Cache(2, 512 * KIB, 64))
    third = latencies((64 * KIB, 1.0), (1 * MIB, 4.0), (8 * MIB, 14.0), (0, 90.0))
    assert [cache.size for cache in find_caches(third)] == [64 * KIB, 1 * MIB, 8 * MIB]


def test_a_gradual_rise_is_one_level_and_a_disturbance_none() -> None:
    times = latencies((32 * KIB, 2.0), (256 * KIB, 10.0), (0, 120.0))
    times[SIZES.index(256 * KIB)] = 16.0  # a few misses of a cache that is just full
    times[SIZES.index(512 * KIB)] = 80.0
    times[SIZES.index(16 * KIB)] = 9.0  # something else ran
    assert [cache.size for cache in find_caches(times)] == [32 * KIB, 256 * KIB]


def test_what_others_bring_into_a_cache() -> None:
    """Half of what was read is lost when three quarters of a cache have passed."""
    stayed = {f"{ms}ms": 1e-11 if ms < 4 else 3.9e-11 for ms in (0, 1, 2, 4, 8, 16, 32)}
    found = others(stayed, 4e-11, CACHES[2], 0.5e-9)
    assert found == pytest.approx(0.75 * 8 * MIB * 0.5e-9 / 4e-3)
    assert others(dict.fromkeys(stayed, 1e-11), 4e-11, CACHES[2], 0.5e-9) is None


def rates(halves: float, tile: float) -> dict[str, float]:
    """Of AVX-512, picoseconds of a multiply-add on registers being 10."""
    tiles = TARGETS["avx512"].kernel(PANELS).tiles
    forms = dict.fromkeys((f"{each.rows}x{each.vectors}" for each in tiles), tile)
    return {"vectors": 10.0, "halves": halves, "cycle:halves": 1.0, **forms}


@pytest.mark.parametrize(
    ("halves", "tile", "with_operands", "found"),
    [
        (7.6, 16.0, 11.0, True),  # Zen 4
        (9.9, 10.2, 12.0, False),  # Zen 5: whole vectors, and as many loads as multiply-adds
        (10.0, 12.0, 11.0, False),
        (7.6, 11.0, 12.0, False),
    ],
)
def test_vectors_in_halves(halves: float, tile: float, with_operands: float, found: bool) -> None:
    rate = rates(halves, tile)
    halved = rates(halves, with_operands)
    assert computes_halves(rate, halved, TARGETS["avx512"]) == found
    assert fastest(rate) == "vectors"
    assert not computes_halves({"vectors": 1.0}, {}, TARGETS["avx2"])


def test_flat_memory_has_no_cache() -> None:
    assert find_caches([30.0] * len(SIZES)) == ()


def test_medians() -> None:
    assert medians("L1 1\nL1 9\nL1 2\ncycle:9x3 0.5\n") == {"L1": 2e-9, "cycle:9x3": 5e-10}


HOST = Host("aarch64", "aarch64", frozenset({"asimd", "fp"}), 1_500_000_000, 4, CACHES[:2], 3 * GIB)
MACHINE = Machine(HOST, "Example", "Cortex-A72", 0, frozenset({0}), 4, ("Cortex-A53",), None)
positive = st.floats(1e-3, 1e4)


def example(clock: float, macs: float, bandwidth: float, cycles: int, memory: Level) -> Measured:
    caches = tuple(
        Cache(c.level, c.size, c.line, cycles, c.ways, bandwidth / c.level) for c in HOST.caches
    )
    levels = tuple(
        Level(clock * bandwidth / c.level, cycles / clock, c.size // 2, c.size // 2)
        for c in HOST.caches
    )
    return Measured(clock, macs, "8x3", 1.25, caches, False, levels, memory, "gcc 12.2.0", 9, 7)


@given(
    st.floats(1e7, 1e10), positive, positive, st.integers(1, 999), st.floats(1e6, 1e12), positive
)
def test_rendered_numbers_are_read_back(
    tmp_path_factory: pytest.TempPathFactory,
    clock: float,
    macs: float,
    bandwidth: float,
    cycles: int,
    memory: float,
    latency: float,
) -> None:
    dram = Level(memory, 1e-9 * latency, 128 * MIB, 128 * MIB)
    measured = example(clock, macs, bandwidth, cycles, dram)
    path = tmp_path_factory.mktemp("boards") / "my-board.toml"
    path.write_text(render("my-board", MACHINE, TARGETS["neon"], ("-mtune=native",), measured))
    board = boards.check(path, HOST)
    close = pytest.approx
    assert board.clock_hz == close(clock, rel=0.0051)
    assert board.macs_per_cycle == close(macs, rel=0.0051)
    assert board.loads_per_cycle == 1.25
    assert [(c.size, c.line, c.latency) for c in board.caches] == [
        (32 * KIB, 64, cycles),
        (1 * MIB, 64, cycles),
    ]
    assert [c.bandwidth for c in board.caches] == close([bandwidth, bandwidth / 2], rel=0.0051)
    (region,) = board.memory
    assert (region.kind, region.size) == ("dram", 3 * GIB)
    assert region.bandwidth == close(memory, rel=0.0051)
    assert region.latency == close(1e-9 * latency, rel=0.0051)
    assert (board.isa, board.cores, board.run.kind) == ("neon", 4, RunKind.NATIVE)
    assert board.toolchain.flags == ("-mtune=native",)


@given(st.text(max_size=60))
def test_any_name_of_a_machine_is_valid(
    tmp_path_factory: pytest.TempPathFactory, name: str
) -> None:
    machine = Machine(HOST, probing.printable(name), name or "core", 0, frozenset(), 1, (), None)
    path = tmp_path_factory.mktemp("boards") / "x.toml"
    text = render("x", machine, TARGETS["neon"], (), None)
    path.write_text(text, encoding="utf-8")
    assert probing.printable(name) in tomllib.loads(text)["description"]


def test_every_number_has_a_source() -> None:
    dram = Level(4e9, 150e-9, 128 * MIB, 128 * MIB)
    lines = render(
        "my-board", MACHINE, TARGETS["neon"], (), example(1.5e9, 8, 16, 4, dram)
    ).splitlines()
    stated = [line for line in lines if " = " in line and not line.startswith("#")]
    of_numbers = [line for line in stated if line.split(" = ")[1].lstrip('"')[0].isdigit()]
    without = [line for line in of_numbers if "#" not in line]
    assert without == ["schema = 1", "level = 1", "level = 2"]
    assert len(of_numbers) > 12


def test_halves_are_written_and_read_back(tmp_path: Path) -> None:
    host = replace(HOST, arch="x86_64", words=frozenset(TARGETS["avx512"].cpu_flags))
    machine = replace(MACHINE, host=host)
    level = Level(4e9, 150e-9, 128 * MIB, 128 * MIB)
    path = tmp_path / "my-board.toml"
    for halves in (False, True):
        measured = replace(example(1.5e9, 8, 16, 4, level), halves=halves)
        path.write_text(render("my-board", machine, TARGETS["avx512"], (), measured))
        assert (HALVES in boards.check(path, host).target.features) == halves


@pytest.mark.parametrize(("fetching", "pays"), [(0.65, True), (0.95, False), (1.2, False)])
def test_prefetching_is_stated_where_it_pays(tmp_path: Path, fetching: float, pays: bool) -> None:
    measured = example(1.5e9, 8, 16, 4, Level(4e9, 150e-9, 128 * MIB, 128 * MIB))
    path = tmp_path / "my-board.toml"
    text = render("my-board", MACHINE, TARGETS["neon"], (), replace(measured, fetching=fetching))
    path.write_text(text)
    board = boards.check(path, HOST)
    assert (board.prefetch, board.prefetch_far) == (pays, pays)
    assert f"{fetching} of the time" in text


def test_sizes_that_were_measured_say_so(tmp_path: Path) -> None:
    measured = replace(
        example(1.5e9, 8, 16, 4, Level(4e9, 150e-9, 128 * MIB, 128 * MIB)), sizes_measured=True
    )
    path = tmp_path / "my-board.toml"
    path.write_text(render("my-board", MACHINE, TARGETS["neon"], (), measured))
    assert [cache.size for cache in boards.check(path, HOST).caches] == [32 * KIB, 1 * MIB]
    text = path.read_text()
    assert re.search(r'^size = "32KiB" +# measured: loads take longer beyond$', text, re.M)
    assert re.search(r'^line = "64B" +# assumed: the kernel does not tell$', text, re.M)
    assert "Other cores, for boards of their own (taskset -c N): Cortex-A53." in text


@pytest.mark.parametrize(
    ("value", "text"),
    [(4.0999, "4.1"), (0.012345, "0.0123"), (12345.0, "12300"), (64.0, "64"), (999.6, "1000")],
)
def test_three_digits(value: float, text: str) -> None:
    assert three_digits(value) == text


@pytest.mark.parametrize("name", ["My-Board", "a--b", "-a", "a_b", "a.b", "", "../a"])
def test_bad_name(name: str, tmp_path: Path) -> None:
    with pytest.raises(EdgeconvError, match="invalid name of a board") as caught:
        new_board(name, tmp_path)
    assert caught.value.code is Exit.USAGE
    assert list(tmp_path.iterdir()) == []


def test_name_of_another_board(tmp_path: Path) -> None:
    with pytest.raises(EdgeconvError, match="already"):
        new_board("jetson-tx1", tmp_path)


def test_no_overwriting(edgeconv: Command, tmp_path: Path) -> None:
    path = tmp_path / "mine.toml"
    path.write_text("precious")
    for output in (path, tmp_path):
        result = edgeconv("boards", "new", "mine", "-o", str(output))
        assert result.status == Exit.USAGE
        assert "not overwritten" in result.stderr
    assert path.read_text() == "precious"


def test_file_of_another_name(tmp_path: Path) -> None:
    with pytest.raises(EdgeconvError, match=r"the file of a board has the board's name.*mine.toml"):
        new_board("mine", tmp_path / "other.toml")
    with pytest.raises(EdgeconvError, match="no such folder"):
        new_board("mine", tmp_path / "absent" / "mine.toml")


def test_other_systems(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr("sys.platform", "darwin")
    with pytest.raises(EdgeconvError, match="needs Linux"):
        new_board("mine", tmp_path)


def test_no_compiler(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("PATH", str(tmp_path))
    monkeypatch.delenv("CC", raising=False)
    with pytest.raises(EdgeconvError, match="no compiler") as caught:
        new_board("mine", tmp_path)
    assert caught.value.code is Exit.MISSING_TOOL
    assert list(tmp_path.iterdir()) == []


def test_this_machine(edgeconv: Command, tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """In quick mode; the ranges are those of any machine, and of a busy one."""
    monkeypatch.setattr("edgeconv.app.cli.run.boards.new_board", partial(new_board, quick=True))
    path = tmp_path / "mine.toml"
    told = edgeconv.ok("boards", "new", "mine", "-o", path, "--json").json()
    assert (told["file"], told["board"]["name"]) == (str(path), "mine")
    assert told["use"] == f"EDGECONV_BOARDS={tmp_path} edgeconv compile MODEL.onnx --board mine"
    board, measured = boards.check(path), told["measured"]
    assert board.run.kind is RunKind.NATIVE
    assert board.clock_hz == pytest.approx(measured["clock_hz"], rel=0.0051)
    assert 1e8 < measured["clock_hz"] < 1e10
    assert board.macs_per_cycle == pytest.approx(measured["macs_per_cycle"], rel=0.0051)
    assert 0.1 < measured["macs_per_cycle"] < 128
    assert len(measured["caches"]) == len(board.caches) >= 1
    first, memory = measured["caches"][0], measured["memory"]
    assert first["bytes_per_second"] > memory["bytes_per_second"] > 1e7
    assert 1e-10 < first["latency_seconds"] < memory["latency_seconds"] < 1e-5
    assert board.caches[0].latency in range(1, 20)


def test_what_is_printed(tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    dram = Level(4e9, 150e-9, 128 * MIB, 128 * MIB)
    measured = example(1.5e9, 8, 16, 4, dram)
    path = tmp_path / "a [b]" / "my-board.toml"
    path.parent.mkdir()
    path.write_text(render("my-board", MACHINE, TARGETS["neon"], (), measured))
    Console(width=200).print(printed(NewBoard(path, boards.check(path, HOST), measured)))
    lines = capsys.readouterr().out.splitlines()
    assert lines[0] == "my-board: Example: Cortex-A72"
    assert lines[-2] == f"board: {path}"
    command = "edgeconv compile MODEL.onnx --board my-board"
    assert lines[-1] == f"use:   EDGECONV_BOARDS='{path.parent}' {command}"


CROSS = ("jetson-tx1", "odroid-xu3", "power10-s1024")


@pytest.mark.parametrize("name", CROSS)
def test_programs_of_other_architectures(name: str, tmp_path: Path) -> None:
    """They compile without a warning and run; what they measure under an emulator means nothing."""
    board = available(name)
    programs = Programs(board, tmp_path, board.caches[0].line, strict=True)
    sizes = {"L1": 16 * KIB}
    found = {name: programs.run(name, 1, sizes if name != "rate" else {}) for name in NAMES}
    assert found["bandwidth"].keys() == found["latency"].keys() == {"L1"}
    shapes = board.target.kernel(PANELS).tiles
    tiles = {f"{tile.rows}x{tile.vectors}" for tile in shapes} | {"vectors"}
    assert found["rate"].keys() == tiles | {f"cycle:{form}" for form in tiles}
    assert all(seconds > 0 for of_program in found.values() for seconds in of_program.values())


def test_filters_are_fetched_as_winograds_products_fetch_them() -> None:
    measured = Path(str(resources.files("edgeconv.run.machine") / "fetch.c")).read_text()
    kernel = headers.find("ec_winograd_spec.h")
    ahead, few = re.findall(r"EC_WINOGRAD_(?:PREFETCH|FEW) = (\d+)", kernel.read_text())
    assert re.findall(r"#define (?:AHEAD|FEW) (\d+)", measured) == [ahead, few]


def test_a_program_that_fails(tmp_path: Path) -> None:
    programs = Programs(boards.load("host"), tmp_path, 64, strict=True)
    with pytest.raises(EdgeconvError, match="measuring bandwidth failed: got .*cannot allocate"):
        programs.run("bandwidth", 1, {"L1": 1 << 60})
