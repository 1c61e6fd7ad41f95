"""Whether it fits, and the four numbers that decide: RAM, flash, time, energy."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass
from typing import Any

from edgeconv.base.sizes import human
from edgeconv.report.html.memory import regions, totals, unbounded_stack
from edgeconv.report.missing import Missing, unbuilt, unmeasured, unpredicted
from edgeconv.report.numbers import exact, share, significant

Report = Mapping[str, Any]

_OPTIONS = {"ram": "--ram SIZE", "flash": "--flash SIZE"}
_TITLES = {"ram": "RAM", "flash": "Flash"}
_NAMES = {"rodata": "constants"}


@dataclass(frozen=True, slots=True)
class Bar:
    """``percent`` of the track is filled, all of it where ``over``."""

    kind: str  # class of style.css: what the colour says
    percent: float
    label: str
    over: bool = False


@dataclass(frozen=True, slots=True)
class Metric:
    """One number.  ``source``: predicted, measured, planned, ...; ``value`` "" for none."""

    title: str
    value: str
    source: str
    bars: tuple[Bar, ...]
    notes: tuple[str, ...]
    missing: tuple[Missing, ...]


@dataclass(frozen=True, slots=True)
class Verdict:
    """Whether the project fits.  ``state``: ``fits``, ``exceeds``, or ``open`` (something is
    unknown, or nothing limited)."""

    state: str
    headline: str
    reasons: tuple[str, ...]
    missing: Missing | None = None


def verdict(report: Report) -> Verdict:
    """Judged on what is known; says what is not."""
    limited = [side for side in _TITLES if report["budget"][side] is not None]
    judged = tuple(_judged(report, side) for side in limited)
    if not report["budget"]["fits"] or any(_exceeds(report, side) for side in limited):
        return Verdict("exceeds", "Does not fit", (*judged, *_overfull(report)))
    if not limited:
        rule = "The board states no memory, and neither --ram nor --flash was given."
        return Verdict("open", "No budget to judge against", (rule,))
    unknown = [name for side in limited for name in _unknown(report, side)]
    if "ram" in limited and (why := unbounded_stack(report)):
        unbounded = f"No bound of the stack: {why}."
        if report["program"]["firmware"]:
            return Verdict("open", "Fits without its stack", (*judged, unbounded))
        return Verdict("fits", "Fits", (*judged, f"{unbounded} The operating system provides it."))
    if unknown:
        so_far = f"Not counted yet: {', '.join(unknown)}."
        return Verdict("open", "Fits so far", (*judged, so_far), unbuilt(report))
    return Verdict("fits", "Fits", judged)


def metrics(report: Report) -> tuple[Metric, ...]:
    """RAM, flash, time, energy."""
    return (_memory(report, "ram"), _memory(report, "flash"), _time(report), _energy(report))


def _exceeds(report: Report, side: str) -> bool:
    return bool(report[side]["total"] > report["budget"][side])


def _judged(report: Report, side: str) -> str:
    total, budget = report[side]["total"], report["budget"][side]
    if total > budget:
        rest = f"{exact(total)} needed, {budget:,} allowed: {total - budget:,} too many"
    else:
        rest = f"{exact(total)} of {budget:,}, {budget - total:,} to spare"
    return f"{_TITLES[side]}: {rest}."


def _overfull(report: Report) -> tuple[str, ...]:
    """The regions that hold more than their size, whatever the totals say."""
    return tuple(
        f"{region.name}: {exact(region.used)} in a region of {region.size:,}."
        for region in regions(report)
        if region.base is not None and region.size is not None and region.used > region.size
    )


def _unknown(report: Report, side: str) -> list[str]:
    """What a total does not count yet."""
    return [_NAMES.get(key, key) for key, count in totals(report, side).items() if count is None]


def _memory(report: Report, side: str) -> Metric:
    total, budget = report[side]["total"], report["budget"][side]
    unknown = _unknown(report, side)
    source = "planned to the byte" if side == "ram" else "weights alone"
    if not unknown:
        source = "planned and read from the objects"
    bars: tuple[Bar, ...] = ()
    notes = [exact(total)]
    if budget is None:
        notes.append(f"no budget; {_OPTIONS[side]} sets one")
    else:
        over = total > budget
        label = f"{share(total, budget)} of {human(budget)}"
        bars = (Bar("over" if over else "used", min(100.0, 100 * total / budget), label, over),)
    if unknown:
        notes.append(f"without {' and '.join(unknown)}")
    missing = (unbuilt(report),) if unknown else ()
    return Metric(
        _TITLES[side],
        human(total),
        source,
        bars,
        tuple(notes),
        missing,
    )


def _time(report: Report) -> Metric:
    time = report["time"]
    known = {kind: time[f"{kind}_ms"] for kind in ("predicted", "measured")}
    missing = []
    if known["predicted"] is None:
        missing.append(unpredicted(report, time.get("source")))
    if known["measured"] is None:
        missing.append(unmeasured(report))
    shown = next((kind for kind in ("measured", "predicted") if known[kind] is not None), "")
    value = f"{significant(known[shown])} ms" if shown else ""
    notes = [time["source"]] if time.get("source") and known["predicted"] is not None else []
    if time.get("cycles_max") is not None:
        notes.insert(0, f"at most {time['cycles_max']:,} cycles, interrupts left out")
    bars: tuple[Bar, ...] = ()
    if known["predicted"] and known["measured"]:
        longest = max(known.values())
        bars = tuple(
            Bar(kind, 100 * time / longest, f"{kind} {significant(time)} ms")
            for kind, time in known.items()
        )
        ratio = significant(known["measured"] / known["predicted"])
        notes.insert(0, f"measured is {ratio} times predicted")
    return Metric("Time of one run", value, shown, bars, tuple(notes), tuple(missing))


def _energy(report: Report) -> Metric:
    energy, source = report["energy"]["predicted_mj"], report["energy"]["source"]
    if energy is None:
        return Metric("Energy of one run", "", "", (), (), (unpredicted(report, source),))
    notes = ("always a prediction: nothing measures it", *filter(None, [source]))
    return Metric("Energy of one run", f"{significant(energy)} mJ", "predicted", (), notes, ())
