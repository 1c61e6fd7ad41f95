"""The price of one kernel call: what its work and traffic take on a machine."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass

from edgeconv.ir.choice import Layer
from edgeconv.price.duration import Duration, duration_of
from edgeconv.price.flows import Flow, flows
from edgeconv.price.machine import Machine
from edgeconv.price.operands import Use


@dataclass(frozen=True, slots=True)
class Price:
    """``duration``: the seconds and what takes them.  ``flows``: bytes behind each cache."""

    duration: Duration
    flows: tuple[Flow, ...]

    @property
    def seconds(self) -> float:
        """All of it."""
        return self.duration.seconds

    @property
    def bytes(self) -> float:
        """Those behind the last cache, both ways; 0 without caches."""
        return self.flows[-1].total if self.flows else 0.0


def price(layer: Layer, operands: Sequence[Use], machine: Machine) -> Price:
    """What ``layer`` takes on ``machine`` with ``operands`` of these ages."""
    moved = tuple(flows(layer, operands, machine.sizes))
    return Price(duration_of(layer.work, moved, operands, machine), moved)
