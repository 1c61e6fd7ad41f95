"""The model of application cores: what it takes of instructions whose time is known."""

from __future__ import annotations

import shutil
import struct
from collections.abc import Sequence
from pathlib import Path

import pytest
from coremodel.disassembly import disassembled, shape
from coremodel.machine import Machine, machine_of
from coremodel.published import rows as published
from coremodel.table import BRANCH, PREFETCH, rows
from coremodel.trace import Recorder, Trace, words
from innerloop.mca import find_mca

from edgeconv.base.errors import EdgeconvError
from edgeconv.target import board as boards

FMLA = [0x4E22CC20 | n for n in (0, *range(3, 18))]  # v0, v3, v4 ...: += v1 * v2
LOAD_Q, ADD, LOOP, PREFETCHES = 0x3DC00000, 0x91004000, 0x54FFFFE1, 0xF9804020
LOAD_NOTHING = 0x3940003F  # ldrb wzr, [x1]
FUNCTIONS = 1 << 20  # MOST_BLOCKS of functions.h
LINE, TIMES = 64, 4000

needs_llvm = pytest.mark.skipif(not find_mca(), reason="LLVM's models are not installed")


@pytest.fixture(scope="module")
def recorder(tmp_path_factory: pytest.TempPathFactory) -> Recorder:
    if not shutil.which("cc") and not shutil.which("gcc"):
        pytest.skip("no C compiler")
    return Recorder(tmp_path_factory.mktemp("recorder"))


def machine(name: str) -> Machine:
    return machine_of(boards.load(name))


def write_trace(path: Path, block: Sequence[int], line: int | None, far: int) -> Trace:
    """A window of one block, ``TIMES`` over; its first instruction accesses a line, the next one
    each time, ``far`` levels away."""
    data = struct.pack("<QQQ", 2**64 - 2, len(block) << 32, 0x1000)
    data += struct.pack(f"<{len(block)}I", *block) + struct.pack("<Q", 2**64 - 1)
    for n in range(TIMES):
        accesses = [] if line is None else [(line + n) << 14 | far]
        data += struct.pack(f"<{1 + len(accesses)}Q", len(accesses) << 32, *accesses)
    path.write_bytes(data)
    return Trace(path, TIMES * len(block), (), 0)


@needs_llvm
@pytest.mark.parametrize(
    ("board", "sums", "cycles"),
    [
        ("raspberry-pi-4", 1, 3),  # one sum: the accumulator's latency
        ("raspberry-pi-4", 8, 1),  # a whole vector a cycle
        ("raspberry-pi-5", 1, 2),
        ("raspberry-pi-5", 8, 0.5),  # two
        ("raspberry-pi-3", 1, 4),
        ("raspberry-pi-3", 8, 1),
    ],
)
def test_multiply_adds_take_what_the_guide_says(
    board: str, sums: int, cycles: float, recorder: Recorder, tmp_path: Path
) -> None:
    trace = write_trace(tmp_path / "trace", FMLA[:sums], None, 0)
    found = recorder.replay(trace, machine(board))
    assert found.per_instruction == pytest.approx(cycles, rel=0.02)
    assert found.ms == pytest.approx(
        1e3 * trace.instructions * cycles / found.machine.clock, rel=0.02
    )


@needs_llvm
def test_lines_from_memory_come_no_faster_than_its_bandwidth(
    recorder: Recorder, tmp_path: Path
) -> None:
    pi = machine("raspberry-pi-4")
    near, behind, memory = (
        recorder.replay(write_trace(tmp_path / "trace", [LOAD_Q], 1 << 20, far), pi).per_instruction
        for far in range(3)
    )
    assert near == pytest.approx(1, rel=0.02)
    line = LINE * pi.clock / pi.bandwidth
    assert line <= memory < 3 * line  # a stream ends with its page
    assert near < behind < memory


@needs_llvm
def test_rows_of_instructions() -> None:
    core = machine("raspberry-pi-5").core
    found = {row.word: row for row in rows([FMLA[0], LOOP, PREFETCHES], core, "Cortex-A76", 4)}
    assert (found[FMLA[0]].latency, found[FMLA[0]].chained) == (4, 2)
    assert found[LOOP].kind == BRANCH
    fetch = found[PREFETCHES]
    assert (fetch.kind, fetch.base, fetch.offset) == (PREFETCH, 1, 128)


@needs_llvm
def test_functions_are_told_apart(recorder: Recorder, tmp_path: Path) -> None:
    """Of two that take turns one waits for its only sum, and one has eight; the window's first
    quarter is not counted."""
    blocks, path = (FMLA[:1] * 8, FMLA[:8]), tmp_path / "trace"
    data = b""
    for number, block in enumerate(blocks):
        data += struct.pack("<QQQ", 2**64 - 2, len(block) << 32 | number, 0x1000 * (number + 1))
        data += struct.pack(f"<{len(block)}I", *block)
    data += struct.pack("<Q", 2**64 - 1)
    for turn in range(8):
        data += struct.pack("<Q", FUNCTIONS + 1 + turn % 2)
        data += struct.pack("<Q", turn % 2) * 1000
    path.write_bytes(data)
    found = recorder.replay(Trace(path, 64_000, (), 0, (40_000, 24_000)), machine("raspberry-pi-4"))
    assert found.functions == pytest.approx((3, 1), rel=0.02)
    assert sum(found.function_ms) == pytest.approx(1e3 * 144_000 / found.machine.clock, rel=0.02)


@needs_llvm
def test_a_load_of_no_register_is_a_prefetch(recorder: Recorder, tmp_path: Path) -> None:
    """A core in order does not wait for it, though the lines are far."""
    pi = machine("raspberry-pi-3")
    (row,) = rows([LOAD_NOTHING], pi.core, pi.cpu, 3)
    assert (row.kind, row.writes) == (PREFETCH, ())
    waits, fetches = (
        recorder.replay(
            write_trace(tmp_path / "trace", [first, *FMLA[:8] * 8], 1 << 20, 2), pi
        ).per_instruction
        for first in (LOAD_Q, LOAD_NOTHING)
    )
    assert fetches < waits


@needs_llvm
def test_words_that_are_no_instructions_are_left_out() -> None:
    assert set(disassembled([ADD, 0xFFFFFFFF])) == {ADD}


def test_shapes_have_registers_in_order() -> None:
    assert shape("ldp\tq30, q7, [x19, #-32]") == "ldp\tq1, q2, [x3, #16]"
    assert shape("ld1\t{ v4.4s, v5.4s }, [x0], #32") == "ld1\t{ v1.4s, v2.4s }, [x3], #32"
    assert shape("b.ne\t#-128") == "b.ne\t#8"


def test_words_of_a_trace(tmp_path: Path) -> None:
    assert words(write_trace(tmp_path / "trace", FMLA, 5, 1).path) == set(FMLA)


def test_published_rows_are_of_boards_that_have_a_model() -> None:
    found = published()
    assert len({(row.board, row.network) for row in found}) == len(found) >= 15
    assert all(row.machine.clock == 1e9 * row.ghz for row in found)


def test_prices_have_the_streams_of_the_model() -> None:
    for name in ("raspberry-pi-4", "raspberry-pi-5"):
        assert boards.load(name).streams == machine(name).core.streams.count


def test_a_board_whose_core_has_no_model() -> None:
    with pytest.raises(EdgeconvError, match=r"no model of the board's core.*Cortex-A7"):
        machine("odroid-xu3-a7")
