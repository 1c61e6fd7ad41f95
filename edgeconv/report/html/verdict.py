"""Whether it fits, and the four numbers that decide: RAM, flash, time, energy."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass
from typing import Any

from edgeconv.base.sizes import human
from edgeconv.report.html.memory import regions, totals, unbounded_stack
from edgeconv.report.missing import Missing, unbuilt, unmeasured, unpredicted
from edgeconv.report.numbers import exact, millijoules, milliseconds, share, significant

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
    """Whether the project fits, and on a board with an operating system what a run takes there.
    ``state``: ``fits``, ``exceeds``, or ``open`` (something is unknown)."""

    state: str
    headline: str
    reasons: tuple[str, ...]
    missing: Missing | None = None


def verdict(report: Report) -> Verdict:
    """Judged on what is known; says what is not.

    Firmware has to fit, which is the question about it.  Where there is an operating system nobody
    doubts that, and people ask how fast the network is.
    """
    limited = [side for side in _TITLES if report["budget"][side] is not None]
    judged = tuple(_judged(report, side) for side in limited)
    if not report["budget"]["fits"] or any(_exceeds(report, side) for side in limited):
        return Verdict("exceeds", "Does not fit", (*judged, *_overfull(report)))
    if (report["accuracy"] or {}).get("passed", True) is False:
        return Verdict("exceeds", "Differs from its model", judged)
    if not report["program"].get("firmware"):
        return _hosted(report, judged)
    if not limited:
        rule = "The board states no memory, and neither --ram nor --flash was given."
        return Verdict("open", "No budget to judge against", (rule,))
    unknown = [name for side in limited for name in _unknown(report, side)]
    if "ram" in limited and (why := unbounded_stack(report)):
        return Verdict(
            "open", "Fits without its stack", (*judged, f"No bound of the stack: {why}.")
        )
    if unknown:
        so_far = f"Not counted yet: {', '.join(unknown)}."
        return Verdict("open", "Fits so far", (*judged, so_far), unbuilt(report))
    return Verdict("fits", "Fits", judged)


def _hosted(report: Report, judged: tuple[str, ...]) -> Verdict:
    """What a run takes where an operating system is, in time and memory."""
    kind, time = _time_known(report)
    ram = human(report["ram"]["total"])
    reasons = list(judged)
    if why := unbounded_stack(report):
        reasons.append(f"No bound of the stack: {why}. The operating system provides it.")
    if not kind:
        return Verdict("open", f"{ram} of RAM, not timed yet", tuple(reasons), unmeasured(report))
    headline = f"{milliseconds(time)} a run in {ram} of RAM"
    return Verdict(
        "fits", headline if kind == "measured" else f"{headline}, predicted", tuple(reasons)
    )


def _time_known(report: Report) -> tuple[str, float]:
    """``measured`` or else ``predicted``, and the ms of a run; "" where neither is known."""
    for kind in ("measured", "predicted"):
        if (time := report["time"][f"{kind}_ms"]) is not None:
            return kind, time
    return "", 0.0


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
        rest = f"{human(total)} of {human(budget)}, {human(budget - total)} to spare"
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
    missing = (unbuilt(report),) if unknown and side == "flash" else ()  # once is enough
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
    shown, run = _time_known(report)
    missing = []
    if not shown:
        missing.append(unpredicted(report, time.get("source")))
    if known["measured"] is None:
        missing.append(unmeasured(report))
    value = milliseconds(run) if shown else ""
    notes = [time["source"]] if time.get("source") and known["predicted"] is not None else []
    if time.get("cycles_max") is not None:
        notes.insert(0, f"at most {time['cycles_max']:,} cycles, interrupts left out")
    bars: tuple[Bar, ...] = ()
    if known["predicted"] and known["measured"]:
        longest = max(known.values())
        bars = tuple(
            Bar(kind, 100 * time / longest, f"{kind} {milliseconds(time)}")
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
    return Metric("Energy of one run", millijoules(energy), "predicted", (), notes, ())
