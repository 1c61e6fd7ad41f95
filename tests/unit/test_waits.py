"""What nothing hides on cores out of order: runs that no prefetcher follows, and stores."""

from __future__ import annotations

from dataclasses import replace

import pytest

from edgeconv.ir.choice import ArgKind
from edgeconv.ir.layout import CHANNELS_LAST, Layout, blocked
from edgeconv.ir.work import Work
from edgeconv.kernels.algorithms.direct.candidate import candidates
from edgeconv.kernels.algorithms.problem import ConvProblem
from edgeconv.target import board as boards
from edgeconv.target.price.duration import STORED_TIMES, duration_of
from edgeconv.target.price.flows import Flow
from edgeconv.target.price.machine import MEMORY, machine_of
from edgeconv.target.price.operands import Use
from edgeconv.target.targets import Target

CHANNELS, FILTERS, WIDTH, LINE = 128, 16, 55, 64
ONE = (1, 1, 1)


@pytest.fixture
def target() -> Target:
    """Cortex-A72: 4, 21 and 232 cycles to caches and memory, prefetchers of 8 streams."""
    return boards.load("raspberry-pi-4").target


def pointwise(layout: Layout, channels: int = CHANNELS) -> ConvProblem:
    size = (1, WIDTH, WIDTH)
    sizes = (size, size, ONE, ONE, ONE)
    return ConvProblem(1, channels, FILTERS, 1, *sizes, (0, 0, 0), layout, blocked(4))


def runs(problem: ConvProblem, target: Target) -> tuple[float, int]:
    """Runs that are apart, and strips of all tiles."""
    (found,) = candidates(problem, target)
    plan = found.plan
    tiles = -(-FILTERS // (4 * plan.vectors))
    return found.work.runs, tiles * plan.rows * sum(s.count for s in plan.segments)


def test_a_run_of_each_block_under_each_strip(target: Target) -> None:
    found, strips = runs(pointwise(blocked(4)), target)
    assert found == strips * CHANNELS / 4
    assert runs(pointwise(blocked(4)), replace(target, streams=None))[0] == 0


def test_few_runs_are_followed(target: Target) -> None:
    """One of channels last, and those of few blocks beside the streams of results and filters."""
    assert runs(pointwise(CHANNELS_LAST), target)[0] == 0
    assert runs(pointwise(blocked(4), channels=8), target)[0] == 0
    assert runs(pointwise(blocked(4), channels=8), replace(target, streams=3))[0] > 0


def test_runs_wait_for_where_they_lie(target: Target) -> None:
    """Once for each, first those of memory; where there are fewer lines than runs, for these."""
    machine = machine_of(target)
    cycles = [wait / machine.cycle for wait in machine.waits]
    assert cycles == pytest.approx([21 - 4, 232 - 4], abs=1)
    work = Work(slots=0, moves=0, weight_bytes=0, data_bytes=0, runs=100)
    for behind, far, waited in (
        (500, 40, 60 * machine.waits[0] + 40 * machine.waits[1]),
        (500, 300, 100 * machine.waits[1]),
        (70, 40, 30 * machine.waits[0] + 40 * machine.waits[1]),
    ):
        moved = [Flow(0, LINE * n, LINE * n, input=LINE * n) for n in (behind, far)]
        found = duration_of(work, moved, (), machine)
        assert sum(found.waits.values()) == pytest.approx(waited)
        assert sum(found.memory.values()) == 0  # the same lines
        assert found.seconds == pytest.approx(found.overhead + waited)
        assert found.bound_by in (MEMORY, "L2")
    followed = duration_of(replace(work, runs=0), moved, (), machine)
    assert sum(followed.waits.values()) == 0 < sum(followed.memory.values())


def test_results_are_read_and_written_back(target: Target) -> None:
    size = 1 << 20
    use = Use(ArgKind.OUTPUT, "y", size, (), bank=0)
    work, moved = Work(0, 0, 0, 0), [Flow(0, size, 2 * size, written=size)] * 2
    found = duration_of(work, moved, (use,), machine_of(target))
    memory = machine_of(target).banks[0].byte
    assert found.waits[MEMORY] == pytest.approx(STORED_TIMES * size * memory)
    hidden = duration_of(work, moved, (use,), machine_of(replace(target, streams=None)))
    assert not any(hidden.waits.values())
    assert hidden.memory[MEMORY] == pytest.approx(size * memory)


def test_boards_that_say_nothing_of_streams_wait_for_nothing() -> None:
    stated = {name for name in boards.names() if boards.load(name).target.streams}
    assert stated == {"raspberry-pi-4", "raspberry-pi-5"}
    others = set(boards.names()) - stated - {"host"}
    assert not any(machine_of(boards.load(name).target).waits for name in others)


def test_what_is_read_again_is_read_where_the_input_lies() -> None:
    """Of a core without caches: results, which are written once, lie in slow memory at no cost."""
    machine = machine_of(boards.load("mps3-an547").target)
    slow = replace(machine.banks[0], name="slow", byte=8 * machine.load)
    machine = replace(machine, caller=slow)
    work = Work(slots=0, moves=0, weight_bytes=0, data_bytes=1100, input_bytes=1000)

    def waited(read: int | None, written: int | None) -> float:
        uses = [
            Use(kind, name, 100, (), bank)
            for kind, name, bank in (
                (ArgKind.INPUT, "x", read),
                (ArgKind.OUTPUT, "y", written),
            )
        ]
        return sum(duration_of(work, (), uses, machine).memory.values())

    assert waited(0, 0) == 0
    assert waited(None, 0) == pytest.approx(1000 * 7 * machine.load)
    assert waited(0, None) == pytest.approx(100 * 7 * machine.load)
