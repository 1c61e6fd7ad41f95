"""Time of a layer: compute and memory, the shorter of them mostly hidden behind the longer.

    overhead + max(compute, memory) + exposed * min(compute, memory) + waits

A byte costs what the bandwidth of its level says, from there into registers, and not again at each
level that it passes on its way.  Of cores of which it is known how many streams prefetchers follow,
``waits`` has the two that nothing hides: runs of the input that take turns in more streams, each
for the latency of where it lies, and stores of results, which come together, more than wait in a
store buffer, each of whose lines is read from memory and written back.
"""

from __future__ import annotations

from collections import defaultdict
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass, field
from itertools import pairwise

from edgeconv.ir.choice import ArgKind
from edgeconv.ir.work import Work
from edgeconv.target.price.flows import Flow
from edgeconv.target.price.machine import Level, Machine
from edgeconv.target.price.operands import Use

COMPUTE, OVERHEAD = "compute", "overhead"
# Cycles to call a layer, fetch its code from behind L1, and fill and drain its pipelines.
LAYER_CYCLES = 300
# The same where the code was there a round ago: what a call fills and drains.
ROUND_CYCLES = 100
# Of the shorter of compute and memory, the part that is not hidden: by prefetching and out of
# order (fitted on Zen 5, see bench/prediction.py), and by a core that does one thing after another.
EXPOSED, IN_ORDER = 0.2, 1.0
# How often a line of a result that no cache has passes the memory's bus: read, and written back.
STORED_TIMES = 2


@dataclass(frozen=True, slots=True)
class Duration:
    """Seconds of a layer by what takes them.

    ``memory``: by level, waiting for the bytes that come from there.  ``exposed``: the share of
    the shorter of compute and memory that is not hidden.  ``waits``: by level, what nothing hides.
    """

    overhead: float
    compute: float
    memory: Mapping[str, float]
    exposed: float
    waits: Mapping[str, float] = field(default_factory=dict)

    @property
    def seconds(self) -> float:
        """All of it."""
        waiting = sum(self.memory.values())
        longer, shorter = max(self.compute, waiting), min(self.compute, waiting)
        return self.overhead + longer + self.exposed * shorter + sum(self.waits.values())

    @property
    def bound_by(self) -> str:
        """What takes the largest part: `COMPUTE`, `OVERHEAD`, or the level of most waiting."""
        levels = {
            name: self.memory.get(name, 0.0) + self.waits.get(name, 0.0)
            for name in (*self.memory, *self.waits)
        }
        waiting = sum(levels.values())
        if self.overhead >= max(self.compute, waiting):
            return OVERHEAD
        if self.compute >= waiting:
            return COMPUTE
        return max(levels, key=lambda level: levels[level])


def duration_of(
    work: Work,
    flows: Sequence[Flow],
    operands: Sequence[Use],
    machine: Machine,
    calls: float = 1.0,
) -> Duration:
    """The time of a layer with this work, whose ``operands`` make these ``flows``, in ``calls``."""
    memory: defaultdict[str, float] = defaultdict(float)
    constants = [flow.filters for flow in flows] or [work.weight_bytes]
    apart = _apart(work, flows, machine)
    data = [flow.data - own for flow, own in zip(flows, apart, strict=True)] or [work.data_bytes]
    for level_traffic in (constants, data):
        # What a level is asked for comes from there unless it has to ask the next one.
        for level, (here, behind) in zip(machine.caches, pairwise(level_traffic), strict=True):
            memory[level.name] += level.byte * max(0.0, here - behind)
    counted = 0.0 if flows else machine.load  # among the instructions, per byte
    memory[machine.weights.name] += (machine.weights.byte - counted) * constants[-1]
    waits = dict(_waits_for_runs(work, flows, machine))
    stored = STORED_TIMES * flows[-1].written if flows and machine.waits else 0.0
    shares = _shares(operands)
    if work.input_bytes and not flows:
        inputs = [use for use in operands if use.kind is ArgKind.INPUT]
        read, others = _shares(inputs), _shares([use for use in operands if use not in inputs])
        for bank in {*read, *others}:
            own = work.input_bytes * read.get(bank, 0.0)
            own += (work.data_bytes - work.input_bytes) * others.get(bank, 0.0)
            level = _level(machine, bank)
            memory[level.name] += (level.byte - counted) * own
    for bank, share in shares.items():
        level = _level(machine, bank)
        if flows or not work.input_bytes:
            memory[level.name] += (level.byte - counted) * data[-1] * share
        waits[level.name] = waits.get(level.name, 0.0) + level.byte * stored * share
    return Duration(
        overhead=(LAYER_CYCLES + ROUND_CYCLES * (calls - 1)) * machine.cycle,
        compute=work.slots * machine.slot
        + work.moves * min(machine.slot, machine.cycle)
        + work.fetches * machine.cycle,
        memory=dict(memory),
        exposed=IN_ORDER if machine.in_order and not work.fetches else EXPOSED,
        waits=waits,
    )


def _apart(work: Work, flows: Sequence[Flow], machine: Machine) -> list[float]:
    """Bytes of the data behind each cache whose time is among what nothing hides."""
    if not machine.waits:
        return [0.0] * len(flows)
    return [flows[-1].written + (flow.input if work.runs else 0.0) for flow in flows]


def _waits_for_runs(
    work: Work, flows: Sequence[Flow], machine: Machine
) -> Iterator[tuple[str, float]]:
    """Seconds by level: a run is waited for once, as long as its farthest line takes."""
    names = [*(level.name for level in machine.caches), machine.banks[0].name]
    left, farther = work.runs, 0.0
    for name, flow, wait in reversed(list(zip(names, flows, machine.waits, strict=False))):
        lines = flow.input / machine.line
        waited = min(left, max(0.0, lines - farther))
        left, farther = left - waited, max(lines, farther)
        yield name, waited * wait


def _level(machine: Machine, bank: int | None) -> Level:
    return machine.caller if bank is None else machine.banks[bank]


def _shares(operands: Sequence[Use]) -> dict[int | None, float]:
    """The part of the data in each bank, None: in the caller's memory."""
    sizes: defaultdict[int | None, int] = defaultdict(int)
    for use in operands:
        if use.kind is not ArgKind.WEIGHTS:
            sizes[use.bank] += use.bytes
    total = sum(sizes.values())
    return {bank: size / total for bank, size in sizes.items()} if total else {}
