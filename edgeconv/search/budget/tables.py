"""What the choice of storage formats is made from: options, live bytes per step, and limits."""

from __future__ import annotations

import math
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field
from enum import Enum
from functools import cached_property
from typing import NamedTuple

WEIGHTS, ACTIVATION = "weights", "activation"


class Objective(Enum):
    """What to make smallest."""

    LATENCY = "latency"  # seconds
    ENERGY = "energy"  # joules
    MEMORY = "memory"  # bytes of RAM and of flash together
    NOISE = "noise"
    RAM = "ram"
    FLASH = "flash"


@dataclass(frozen=True, slots=True)
class Option:
    """One format of an item, and what it adds to the totals.

    ``noise``: power of the error at the output relative to the power of the output.  Bytes of RAM
    are those of ``Step.live``.
    """

    format: str
    flash: int = 0  # bytes
    noise: float = 0.0
    seconds: float = 0.0
    joules: float = 0.0


@dataclass(frozen=True, slots=True)
class Item:
    """What gets one format: the filters of a layer, or the activations that must share theirs.

    ``keys``: what ``search.choose.select`` calls it in its ``storage``.  ``tensors``: of an
    activation, the names in the choice, copies and views included.
    """

    name: str
    kind: str  # WEIGHTS or ACTIVATION
    options: tuple[Option, ...]
    keys: tuple[str, ...] = ()
    tensors: frozenset[str] = frozenset()


class Saving(NamedTuple):
    """Bytes that two items share at a step, where a layer works in place.

    ``pairs``: (option of ``first``, option of ``second``, bytes); other pairs share nothing.  An
    option is in one pair at most.
    """

    first: int
    second: int
    pairs: tuple[tuple[int, int, int], ...]


@dataclass(frozen=True, slots=True)
class Step:
    """One step of the execution order: what lies in the arena then.

    ``fixed``: bytes by name of what has no choice, rounded to the arena's alignment as are those of
    ``live``: item -> bytes by option.
    """

    name: str
    fixed: Mapping[str, int] = field(default_factory=dict)
    live: Mapping[int, tuple[int, ...]] = field(default_factory=dict)
    savings: tuple[Saving, ...] = ()

    def bytes(self, picked: Sequence[int]) -> int:
        """Live bytes with option ``picked[i]`` of item i."""
        live = sum(sizes[picked[item]] for item, sizes in self.live.items())
        return sum(self.fixed.values()) + live - sum(saved(each, picked) for each in self.savings)


def saved(saving: Saving, picked: Sequence[int]) -> int:
    """The bytes that two items share with the options ``picked``."""
    pair = picked[saving.first], picked[saving.second]
    return next((size for a, b, size in saving.pairs if (a, b) == pair), 0)


@dataclass(frozen=True)
class Tables:
    """A network on a board, as far as its storage formats matter.

    ``ram`` and ``flash``: bytes beside the arena and beside the options' weights.  ``seconds`` and
    ``joules``: of all that has no choice; None where the board states too little to predict them.
    """

    items: tuple[Item, ...]
    steps: tuple[Step, ...]
    ram: int = 0
    flash: int = 0
    seconds: float | None = 0.0
    joules: float | None = 0.0

    def options(self, picked: Sequence[int]) -> list[Option]:
        """The option of every item."""
        return [item.options[k] for item, k in zip(self.items, picked, strict=True)]

    def ram_bytes(self, picked: Sequence[int]) -> int:
        """The live bytes of the largest step: no arena is smaller."""
        return self.ram + max((step.bytes(picked) for step in self.steps), default=0)

    def flash_bytes(self, picked: Sequence[int]) -> int:
        return self.flash + sum(option.flash for option in self.options(picked))

    def noise(self, picked: Sequence[int]) -> float:
        return math.fsum(option.noise for option in self.options(picked))

    def cost(self, objective: Objective, picked: Sequence[int]) -> float:
        """The value of ``objective``; NaN where it is not predicted."""
        match objective:
            case Objective.LATENCY:
                return _total(self.seconds, [o.seconds for o in self.options(picked)])
            case Objective.ENERGY:
                return _total(self.joules, [o.joules for o in self.options(picked)])
            case Objective.NOISE:
                return self.noise(picked)
            case Objective.RAM:
                return self.ram_bytes(picked)
            case Objective.FLASH:
                return self.flash_bytes(picked)
            case Objective.MEMORY:
                return self.ram_bytes(picked) + self.flash_bytes(picked)

    def predicts(self, objective: Objective) -> bool:
        """Whether ``objective`` has a value: of time and energy only where they are predicted."""
        unknown = {Objective.LATENCY: self.seconds is None, Objective.ENERGY: self.joules is None}
        return not unknown.get(objective, False)

    def formats(self, picked: Sequence[int]) -> dict[str, str]:
        """Format by key: what ``search.choose.select`` takes as its ``storage``."""
        return {
            key: item.options[k].format
            for item, k in zip(self.items, picked, strict=True)
            for key in item.keys or (item.name,)
        }

    @cached_property
    def arena(self) -> tuple[tuple[int, ...], ...]:
        """By item and option: the most bytes that it takes at a step."""
        most = [[0] * len(item.options) for item in self.items]
        for step in self.steps:
            for i, sizes in step.live.items():
                most[i] = [max(pair) for pair in zip(most[i], sizes, strict=True)]
        return tuple(map(tuple, most))


def _total(fixed: float | None, chosen: Sequence[float]) -> float:
    return math.nan if fixed is None else math.fsum([fixed, *chosen])


@dataclass(frozen=True, slots=True)
class Limits:
    """Budgets in bytes and the noise power allowed; None for no limit."""

    ram: int | None = None
    flash: int | None = None
    noise: float | None = None

    def excess(self, ram: float, flash: float) -> float:
        """The larger part of a budget by which bytes exceed it; 0 where both are kept."""
        used = ((ram, self.ram), (flash, self.flash))
        return max(
            [0.0, *((size - most) / max(most, 1) for size, most in used if most is not None)]
        )


def noise_of(sqnr_db: float) -> float:
    """The relative noise power of a signal to noise ratio."""
    return math.pow(10.0, -sqnr_db / 10.0)


def sqnr_of(noise: float) -> float:
    """Signal to noise ratio in dB; infinite without noise."""
    return math.inf if noise <= 0.0 else -10.0 * math.log10(noise)
