"""Two reports side by side: what one compilation costs that the other does not."""

from __future__ import annotations

from collections.abc import Callable, Mapping
from dataclasses import dataclass
from typing import Any

from rich.console import Group, RenderableType
from rich.markup import escape

from edgeconv.base.names import path_ends
from edgeconv.report.narrow_tables import plain_table
from edgeconv.report.numbers import significant

Report = Mapping[str, Any]
NAME_WIDTH = 30
UNKNOWN = "-"


@dataclass(frozen=True, slots=True)
class Row:
    """One number of both, None where a report does not know it.  ``key``: its path in a report."""

    key: str
    title: str
    first: float | None
    second: float | None
    show: Callable[[Any], str]

    @property
    def change(self) -> str:
        """The change of the second against the first, in percent; "" where there is none or it is
        unknown."""
        if self.first is None or self.second is None or self.first == self.second:
            return ""
        if not self.first:
            return "new"
        return f"{100 * (self.second / self.first - 1):+.1f} %"

    def shown(self) -> tuple[str, str, str]:
        """First, second and change as people read them."""
        first, second = (
            UNKNOWN if value is None else self.show(value) for value in (self.first, self.second)
        )
        return first, second, self.change


@dataclass(frozen=True, slots=True)
class LayerPair:
    """A layer by name, None where one of the two does not have it."""

    name: str
    first: Mapping[str, Any] | None
    second: Mapping[str, Any] | None

    def differs(self) -> bool:
        """In what it does or takes, measured times aside: those differ at every run."""
        return self.first is None or self.second is None or _plan(self.first) != _plan(self.second)


def _count(value: float) -> str:
    return f"{value:,.0f}"


_NUMBERS: tuple[tuple[str, str, Callable[[Any], str]], ...] = (
    ("ram.total", "RAM, bytes", _count),
    ("ram.arena", "RAM: arena", _count),
    ("ram.io", "RAM: inputs and outputs", _count),
    ("ram.stack_bound", "RAM: stack", _count),
    ("flash.total", "flash, bytes", _count),
    ("flash.weights", "flash: weights", _count),
    ("flash.code", "flash: code", _count),
    ("model.macs", "multiply-adds", _count),
    ("time.predicted_ms", "predicted ms", lambda value: significant(value, 4)),
    ("time.measured_ms", "measured ms", lambda value: significant(value, 4)),
    ("energy.predicted_mj", "predicted mJ", lambda value: significant(value, 4)),
    ("accuracy.sqnr_db", "SQNR, dB", lambda value: f"{value:.1f}"),
    ("accuracy.max_abs_error", "largest error", lambda value: f"{value:.3g}"),
    ("accuracy.top1", "top-1", lambda value: f"{value:.1%}"),
)


def rows(first: Report, second: Report) -> list[Row]:
    """The numbers that at least one of the two knows."""
    found = [
        Row(key, title, _at(first, key), _at(second, key), show) for key, title, show in _NUMBERS
    ]
    return [row for row in found if (row.first, row.second) != (None, None)]


def layers(first: Report, second: Report) -> list[LayerPair]:
    """All layers, in the order of the first; those that only the second has come last."""
    one, two = ({layer["name"]: layer for layer in each["layers"]} for each in (first, second))
    return [LayerPair(name, one.get(name), two.get(name)) for name in {**one, **two}]


def to_json(first: Report, second: Report) -> dict[str, Any]:
    """The numbers of both by their path in a report, and the layers that differ."""
    return {
        "first": _identity(first),
        "second": _identity(second),
        "numbers": {row.key: [row.first, row.second] for row in rows(first, second)},
        "layers": [
            {"name": pair.name, "first": _plan(pair.first), "second": _plan(pair.second)}
            for pair in layers(first, second)
            if pair.differs()
        ],
    }


def render(first: Report, second: Report, names: tuple[str, str]) -> RenderableType:
    """As text; ``names``: what the two are called."""
    table = plain_table("", *(f">{escape(name)}" for name in names), ">change")
    for words in identities(first, second):
        table.add_row(*map(escape, words), "")
    for row in rows(first, second):
        table.add_row(row.title, *row.shown())
    found = [pair for pair in layers(first, second) if pair.differs()]
    if not found:
        return Group(table, "", "every layer is the same")
    brief = path_ends((pair.name for pair in found), NAME_WIDTH)
    differing = plain_table("layer", *(f"<{escape(name)}" for name in names))
    for pair in found:
        words = (brief[pair.name], words_of(pair.first), words_of(pair.second))
        differing.add_row(*map(escape, words))
    return Group(table, "", differing)


def identities(first: Report, second: Report) -> list[tuple[str, str, str]]:
    """What the two are, where that differs: a title and both."""
    one, two = _identity(first), _identity(second)
    return [(title, one[title], two[title]) for title in one if one[title] != two[title]]


def words_of(layer: Mapping[str, Any] | None) -> str:
    """Algorithm, formats and bytes of a layer."""
    if layer is None:
        return UNKNOWN
    storage = layer["storage"]
    formats = " ".join(filter(None, (storage["weights"], storage["output"])))
    size = f"{layer['weight_bytes']:,}+{layer['output_bytes']:,} B"
    return f"{layer['algorithm']} {formats} {size}"


def _identity(report: Report) -> dict[str, str]:
    return {
        "model": report["model"]["name"],
        "board": report["board"],
        "kernels": report["isa"],
        "inputs and outputs": report["program"]["io"],
    }


def _plan(layer: Mapping[str, Any] | None) -> dict[str, Any] | None:
    if layer is None:
        return None
    return {key: layer[key] for key in ("algorithm", "storage", "weight_bytes", "output_bytes")}


def _at(report: Report, path: str) -> float | None:
    value: Any = report
    for key in path.split("."):
        value = value.get(key) if value is not None else None
    return None if value is None else float(value)
