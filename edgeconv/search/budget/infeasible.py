"""Where no choice of formats fits: how far one gets, what holds it there, and which budgets do."""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from dataclasses import dataclass, replace

from edgeconv.base.errors import EdgeconvError
from edgeconv.base.names import shortened, told_apart
from edgeconv.search.budget.fit import Plan
from edgeconv.search.budget.program import SECONDS, least_excess, optimise
from edgeconv.search.budget.tables import WEIGHTS, Limits, Objective, Step, Tables, sqnr_of

HOLDERS = 5  # tensors to name
NAME_WIDTH = 40


@dataclass(frozen=True, slots=True)
class Holder:
    """Something that takes bytes.  ``format``: "" for what has no choice."""

    name: str
    bytes: int
    format: str = ""


@dataclass(frozen=True, slots=True)
class Smallest:
    """What a model reaches within its accuracy limit, in bytes.

    ``ram`` and ``flash``: each alone, with no limit of the other.  ``step``: where RAM is largest
    then; the holders are what is live at it, and the weights, largest first.  ``nearest``: RAM and
    flash of the choice that exceeds the two budgets by the smallest part.  ``exact``: nothing fits
    in a byte less, else nothing that was tried does.
    """

    limits: Limits
    ram: int
    step: str
    ram_holders: tuple[Holder, ...]
    flash: int
    flash_holders: tuple[Holder, ...]
    nearest: tuple[int, int]
    exact: bool = True


def smallest(
    tables: Tables, limits: Limits, exact: Plan | None = None, *, seconds: float = SECONDS
) -> Smallest:
    """How far the budgets of ``limits`` are from what its noise limit allows.

    With ``exact`` all bytes are as planned, else the live bytes, below which no arena is.  Raises
    EdgeconvError where the noise limit itself cannot be kept.
    """
    free = replace(limits, ram=None, flash=None)
    lean = optimise(tables, free, (Objective.RAM, Objective.FLASH), seconds=seconds)
    light = optimise(tables, free, (Objective.FLASH, Objective.RAM), seconds=seconds)
    near = least_excess(tables, limits, seconds=seconds)
    if lean is None or light is None or near is None:
        raise _too_noisy(tables, limits)
    step = max(tables.steps, key=lambda each: each.bytes(lean.picked), default=Step("no step"))
    planned = [_planned(tables, each.picked, exact) for each in (near, lean, light)]
    return Smallest(
        limits=limits,
        ram=planned[1][0],
        step=step.name,
        ram_holders=_live(tables, step, lean.picked),
        flash=planned[2][1],
        flash_holders=_heaviest(tables, light.picked),
        nearest=min(planned, key=lambda sizes: beyond(limits, *sizes)),
    )


def beyond(limits: Limits, ram: int, flash: int) -> tuple[float, int]:
    """How far sizes are beyond budgets: the larger part of one that is exceeded, then bytes."""
    return limits.excess(ram, flash), ram + flash


def refusal(found: Smallest) -> EdgeconvError:
    """What to tell the user: the budgets, how far the model gets, and what holds it there."""
    limits = found.limits
    asked = [
        f"{name} {size:,}"
        for name, size in (("RAM", limits.ram), ("flash", limits.flash))
        if size is not None
    ]
    accuracy = "" if limits.noise is None else f" at {sqnr_of(limits.noise):.1f} dB"
    held = f" when it is smallest, at {shortened(found.step, NAME_WIDTH)}" if found.step else ""
    tried = "" if found.exact else "of all that was tried, "
    return EdgeconvError(
        "no choice of storage formats fits",
        got=f"budgets of {' and '.join(asked)} bytes",
        rule=f"{tried}this model{accuracy} takes at least {found.ram:,} bytes of RAM,"
        f" and at least {found.flash:,} of flash",
        hint="the nearest that fits: --ram {} --flash {}".format(*found.nearest),
        details=(
            f"RAM{held}: {told(found.ram_holders)}",
            f"flash when it is smallest: {told(found.flash_holders)}",
        ),
    )


def told(holders: Sequence[Holder]) -> str:
    """Names, bytes and formats in a line."""
    brief = told_apart((holder.name for holder in holders), NAME_WIDTH)
    return (
        ", ".join(
            f"{brief[holder.name]} {holder.bytes:,}"
            + (f" as {holder.format}" if holder.format else "")
            for holder in holders
        )
        or "nothing"
    )


def _planned(tables: Tables, picked: Sequence[int], exact: Plan | None) -> tuple[int, int]:
    """Bytes of RAM and of flash."""
    if exact is None:
        return tables.ram_bytes(picked), tables.flash_bytes(picked)
    real = exact(tables.formats(picked))
    return tables.ram + real.arena, real.flash


def _live(tables: Tables, step: Step, picked: Sequence[int]) -> tuple[Holder, ...]:
    """What is live at a step, largest first."""
    chosen = [
        Holder(tables.items[i].name, sizes[picked[i]], tables.items[i].options[picked[i]].format)
        for i, sizes in step.live.items()
    ]
    return _largest([*chosen, *(Holder(name, size) for name, size in step.fixed.items())])


def _heaviest(tables: Tables, picked: Sequence[int]) -> tuple[Holder, ...]:
    return _largest(
        Holder(item.name, option.flash, option.format)
        for item, option in zip(tables.items, tables.options(picked), strict=True)
        if item.kind == WEIGHTS
    )


def _largest(holders: Iterable[Holder]) -> tuple[Holder, ...]:
    ranked = sorted((h for h in holders if h.bytes > 0), key=lambda h: (-h.bytes, h.name))
    return tuple(ranked[:HOLDERS])


def _too_noisy(tables: Tables, limits: Limits) -> EdgeconvError:
    quiet = optimise(tables, Limits(), (Objective.NOISE,))
    best = f"{sqnr_of(quiet.value):.1f} dB" if quiet else "nothing"
    return EdgeconvError(
        "no choice of storage formats is accurate enough",
        got=f"a limit of {sqnr_of(limits.noise or 0.0):.1f} dB",
        rule=f"the formats offered reach {best}",
        hint="offer more formats, or relax the accuracy limit",
    )
