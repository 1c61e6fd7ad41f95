"""What a program takes: figures of a report, or of a file about another tool's program."""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass, field
from typing import Any

from edgeconv.base.sizes import human
from edgeconv.report.numbers import millijoules, milliseconds


@dataclass(frozen=True, slots=True)
class Measure:
    """A figure that programs are compared by.  ``key``: in files; ``times``: how a ratio reads
    (``1.4 times the flash``), "" where ratios mean nothing; ``more``: more is better."""

    key: str
    title: str
    show: Callable[[Any], str]
    times: str = ""
    more: bool = False


MEASURES = (
    Measure("ram_bytes", "RAM", human, "the RAM"),
    Measure("flash_bytes", "flash", human, "the flash"),
    Measure("time_ms", "time of a run", milliseconds, "the time"),
    Measure("energy_mj", "energy of a run", millijoules, "the energy"),
    Measure("sqnr_db", "SQNR", lambda value: f"{value:.1f} dB", more=True),
    Measure("top1", "top-1", lambda value: f"{100 * value:.1f} %", more=True),
)


@dataclass(frozen=True, slots=True)
class Figures:
    """What one program takes.  ``values``: by the key of a measure, those that are known;
    ``layers``: ms by name; ``notes``: what a figure does not say of itself."""

    name: str
    values: Mapping[str, float]
    board: str = ""
    source: str = ""
    layers: Mapping[str, float] = field(default_factory=dict)
    notes: tuple[str, ...] = ()

    def known(self, measure: Measure) -> float | None:
        """The value of a measure."""
        return self.values.get(measure.key)


def of_document(document: Mapping[str, Any]) -> Figures:
    """The figures of a file that the schema holds for."""
    values = {one.key: document[one.key] for one in MEASURES if one.key in document}
    layers = {one["name"]: one["time_ms"] for one in document.get("layers", ())}
    about = (document.get("board", ""), document.get("source", ""))
    return Figures(document["name"], values, *about, layers)


def of_report(report: Mapping[str, Any], name: str) -> Figures:
    """The figures of a project: measured times where there are some, else predicted ones."""
    time, accuracy = report["time"], report["accuracy"] or {}
    kind = "predicted" if time["measured_ms"] is None else "measured"
    found = {
        "ram_bytes": report["ram"]["total"],
        "flash_bytes": report["flash"]["total"],
        "time_ms": time[f"{kind}_ms"],
        "energy_mj": report["energy"]["predicted_mj"],
        "sqnr_db": accuracy.get("sqnr_db"),
        "top1": accuracy.get("top1"),
    }
    values = {key: value for key, value in found.items() if value is not None}
    notes = []
    if report["flash"]["code"] is None:
        notes.append("not built: RAM without stack and data, flash without code")
    if "time_ms" in values:
        notes.append(f"time {kind}")
    if "energy_mj" in values:
        notes.append("energy predicted")
    layers = {
        one["name"]: one[f"{kind}_ms"] for one in report["layers"] if one[f"{kind}_ms"] is not None
    }
    return Figures(name, values, report["board"], "edgeconv", layers, tuple(notes))


def measures_of(programs: Sequence[Figures]) -> list[Measure]:
    """The measures that at least one of the programs has a value of."""
    return [one for one in MEASURES if any(each.known(one) is not None for each in programs)]


def ratio(measure: Measure, value: float | None, base: float | None) -> float | None:
    """How many times ``base`` a value is; None where that is unknown or means nothing."""
    if not measure.times or value is None or not base:
        return None
    return value / base


def best(measure: Measure, programs: Sequence[Figures]) -> float | None:
    """The best value that is known of a measure."""
    values = [value for each in programs if (value := each.known(measure)) is not None]
    return (max if measure.more else min)(values, default=None)


def beaten_by(one: Figures, programs: Sequence[Figures]) -> Figures | None:
    """The first of the programs that is at least as good in everything that is known of ``one``,
    and better in something: None where ``one`` is on the Pareto front."""
    for other in programs:
        pairs = [
            (measure, value, other.known(measure))
            for measure in MEASURES
            if (value := one.known(measure)) is not None
        ]
        if not pairs or any(theirs is None for _, _, theirs in pairs):
            continue
        gains = [
            (theirs - mine if measure.more else mine - theirs)
            for measure, mine, theirs in pairs
            if theirs is not None
        ]
        if min(gains) >= 0 and max(gains) > 0:
            return other
    return None
