"""The price of one kernel call: what its work and traffic take on a machine."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass, replace

from edgeconv.ir.choice import Layer
from edgeconv.target.price.duration import Duration, duration_of
from edgeconv.target.price.energy import RAM, REGISTERS, joules, joules_of
from edgeconv.target.price.flows import Flow, flows
from edgeconv.target.price.machine import Machine
from edgeconv.target.price.operands import Use

FLOAT_BYTES = 4


@dataclass(frozen=True, slots=True)
class Price:
    """The price of a kernel call.  ``duration``: the seconds and what takes them.  ``flows``: bytes
    behind each cache.  ``joules``: None where the machine states no energies.  ``cold``: bytes of
    the operands that no cache holds any more when the call begins."""

    duration: Duration
    flows: tuple[Flow, ...]
    joules: float | None
    cold: float

    @property
    def cost(self) -> float:
        """What is to be small: joules where the machine states energies, else seconds."""
        return self.seconds if self.joules is None else self.joules

    @property
    def seconds(self) -> float:
        """All of it."""
        return self.duration.seconds

    @property
    def bytes(self) -> float:
        """The bytes behind the last cache, both ways; 0 without caches."""
        return self.flows[-1].total if self.flows else 0.0


def price(layer: Layer, operands: Sequence[Use], machine: Machine, calls: float = 1.0) -> Price:
    """What ``calls`` of ``layer`` take on ``machine`` with ``operands`` of these ages, which are
    those of all calls."""
    moved = tuple(flows(layer, operands, machine.sizes, calls))
    if calls != 1.0:
        work, macs = layer.work.times(calls), round(layer.macs * calls)
        layer = replace(layer, work=work, macs=macs)
    duration = duration_of(layer.work, moved, operands, machine, calls)
    held = sum(machine.sizes)
    return Price(
        duration=duration,
        flows=moved,
        joules=joules_of(layer, moved, duration.seconds, machine),
        cold=sum(use.missing(held, last=True) if held else use.bytes for use in operands),
    )


def streaming(elements: float, machine: Machine) -> float:
    """What it costs (`Price.cost`) to load or store float32 elements one after the other, by the
    vector; where there are two caches, from the second."""
    issue = min(machine.slot, machine.cycle) / machine.lanes
    behind = machine.caches[0] if machine.caches else None
    seconds = elements * max(issue, FLOAT_BYTES * behind.byte if behind else 0.0)
    if machine.energy is None:
        return seconds
    level = behind.name if behind else REGISTERS if machine.sizes else RAM
    return joules(machine.energy, 0.0, {level: FLOAT_BYTES * elements}, seconds)
