"""Time of a layer: compute and memory, the shorter of them mostly hidden behind the longer.

    overhead + max(compute, memory) + exposed * min(compute, memory)

A byte costs what the bandwidth of its level says, from there into registers, and not again at each
level that it passes on its way.
"""

from __future__ import annotations

from collections import defaultdict
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from itertools import pairwise

from edgeconv.ir.choice import ArgKind
from edgeconv.ir.work import Work
from edgeconv.target.price.flows import Flow
from edgeconv.target.price.machine import Machine
from edgeconv.target.price.operands import Use

COMPUTE, OVERHEAD = "compute", "overhead"
# Cycles to call a layer, fetch its code from behind L1, and fill and drain its pipelines.
LAYER_CYCLES = 300
# The same where the code was there a round ago: what a call fills and drains.
ROUND_CYCLES = 100
# Of the shorter of compute and memory, the part that is not hidden: by prefetching and out of
# order (fitted on Zen 5, see bench/prediction.py), and by a core that does one thing after another.
EXPOSED, IN_ORDER = 0.2, 1.0


@dataclass(frozen=True, slots=True)
class Duration:
    """Seconds of a layer by what takes them.

    ``memory``: by level, waiting for the bytes that come from there.  ``exposed``: the share of
    the shorter of compute and memory that is not hidden.
    """

    overhead: float
    compute: float
    memory: Mapping[str, float]
    exposed: float

    @property
    def seconds(self) -> float:
        """All of it."""
        waiting = sum(self.memory.values())
        longer, shorter = max(self.compute, waiting), min(self.compute, waiting)
        return self.overhead + longer + self.exposed * shorter

    @property
    def bound_by(self) -> str:
        """What takes the largest part: `COMPUTE`, `OVERHEAD`, or the level of most waiting."""
        waiting = sum(self.memory.values())
        if self.overhead >= max(self.compute, waiting):
            return OVERHEAD
        if self.compute >= waiting:
            return COMPUTE
        return max(self.memory, key=lambda level: self.memory[level])


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
    data = [flow.data for flow in flows] or [work.data_bytes]
    for level_traffic in (constants, data):
        # What a level is asked for comes from there unless it has to ask the next one.
        for level, (here, behind) in zip(machine.caches, pairwise(level_traffic), strict=True):
            memory[level.name] += level.byte * max(0.0, here - behind)
    counted = 0.0 if flows else machine.load  # among the instructions, per byte
    memory[machine.weights.name] += (machine.weights.byte - counted) * constants[-1]
    for bank, share in _shares(operands).items():
        level = machine.caller if bank is None else machine.banks[bank]
        memory[level.name] += (level.byte - counted) * data[-1] * share
    return Duration(
        overhead=(LAYER_CYCLES + ROUND_CYCLES * (calls - 1)) * machine.cycle,
        compute=work.slots * machine.slot
        + work.moves * min(machine.slot, machine.cycle)
        + work.fetches * machine.cycle,
        memory=dict(memory),
        exposed=IN_ORDER if machine.in_order and not work.fetches else EXPOSED,
    )


def _shares(operands: Sequence[Use]) -> dict[int | None, float]:
    """The part of the data in each bank, None: in the caller's memory."""
    sizes: defaultdict[int | None, int] = defaultdict(int)
    for use in operands:
        if use.kind is not ArgKind.WEIGHTS:
            sizes[use.bank] += use.bytes
    total = sum(sizes.values())
    return {bank: size / total for bank, size in sizes.items()} if total else {}
