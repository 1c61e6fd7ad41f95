"""The table of layers: every number of a layer, as data."""

from __future__ import annotations

from collections.abc import Callable, Mapping
from dataclasses import dataclass
from typing import Any

from edgeconv.ir.encoding import kind_of
from edgeconv.report.missing import Missing, unmapped, unmeasured, unpredicted, unsampled
from edgeconv.report.network import Layer, Network, Report
from edgeconv.report.numbers import significant

SHARE = "time_share"  # the key of what follows from others
NOTHING = "\N{EN DASH}"


@dataclass(frozen=True, slots=True)
class Column:
    """One column.  ``key``: path in the layer; ``unknown``: the way to it when all are null."""

    key: str
    title: str
    show: Callable[[Any], str]
    numeric: bool = True
    unknown: Callable[[Report], Missing] | None = None


@dataclass(frozen=True, slots=True)
class Cell:
    """``value`` as in the report, "" for null; ``text`` for people."""

    value: str
    text: str

    @property
    def told_apart(self) -> bool:
        """Whether ``text`` is not ``value`` with commas, and says less."""
        return bool(self.value) and self.text.replace(",", "") != self.value


def columns(network: Network) -> list[Column]:
    """In order; one for the traffic of every level that anything is known about."""
    levels = dict.fromkeys(
        level
        for layer in network.layers
        for level, moved in layer["traffic_bytes"].items()
        if moved is not None
    )
    traffic = [
        Column(f"traffic_bytes.{level}", f"{network.called(level)} traffic, bytes", _count)
        for level in levels or [network.level]
    ]
    sqnr = Column("sqnr_db", "SQNR, dB", _decibels, unknown=unsampled)
    float32 = Column("in_float32.why", "in float32, because", str, numeric=False)
    bounded = any(layer.get("cycles_max") is not None for layer in network.layers)
    measured = any(layer.get("sqnr_db") is not None for layer in network.layers)
    traffic[0] = Column(traffic[0].key, traffic[0].title, _count, unknown=unpredicted)
    return [
        Column("op", "op", str, numeric=False),
        Column("algorithm", "algorithm", str, numeric=False),
        Column("macs", "MACs", _count),
        Column("predicted_ms", "predicted ms", _time, unknown=unpredicted),
        Column(
            "measured_ms",
            "measured ms",
            _time,
            unknown=lambda report: unmeasured(report, layers=True),
        ),
        *([Column("cycles_max", "cycles at most", _count)] if bounded else []),
        *([Column(SHARE, f"share of {network.times} time", _percent)] if network.total_ms else []),
        Column("bound_by", "bound by (predicted)", str, numeric=False, unknown=unmapped),
        Column("weight_bytes", "weights, bytes", _count),
        Column("output_bytes", "output, bytes", _count),
        Column("workspace_bytes", "workspace, bytes", _count),
        *traffic,
        Column(
            "traffic_lower_bound_bytes", "traffic lower bound, bytes", _count, unknown=unpredicted
        ),
        Column("predicted_mj", "predicted mJ", _time, unknown=unpredicted),
        Column("layout_in", "layout in", str, numeric=False),
        Column("layout_out", "layout out", str, numeric=False),
        Column("storage", "storage: weights, output", _storage, numeric=False),
        *([float32] if any("in_float32" in layer for layer in network.layers) else []),
        *([sqnr] if measured or network.rounds else []),
        Column("plan", "plan", _plan, numeric=False),
    ]


def rows(network: Network, shown: list[Column]) -> list[list[Cell]]:
    """The cells of every layer."""
    return [
        [_cell({**layer, SHARE: network.time_share(layer)}, column) for column in shown]
        for layer in network.layers
    ]


def known(network: Network, columns: list[Column]) -> list[Column]:
    """The columns of which anything is known; ``gaps`` says what becomes of the others."""
    missing = {title for titles in gaps(network, columns).values() for title in titles}
    return [column for column in columns if column.title not in missing]


def gaps(network: Network, shown: list[Column]) -> dict[Missing, list[str]]:
    """The titles of the columns of which nothing is known, by the way to it."""
    found: dict[Missing, list[str]] = {}
    for column in shown:
        if column.unknown and all(_lookup(one, column.key) is None for one in network.layers):
            found.setdefault(column.unknown(network.report), []).append(column.title)
    return found


def _cell(layer: Layer, column: Column) -> Cell:
    value = _lookup(layer, column.key)
    if value is None:
        return Cell("", NOTHING)
    return Cell(repr(value) if column.numeric else "", column.show(value))


def _lookup(layer: Layer, key: str) -> Any:
    """The value at a path such as ``traffic_bytes.L2``; None where a report does not have it."""
    first, _, rest = key.partition(".")
    value = layer.get(first)
    return value.get(rest) if rest and value is not None else value


def _count(value: int) -> str:
    return f"{value:,}"


def _time(value: float) -> str:
    return significant(value, 4)


def _percent(value: float) -> str:
    return f"{100 * value:.1f} %"


def _plan(value: Mapping[str, Any]) -> str:
    return ", ".join(f"{name} {setting}" for name, setting in value.items()) or NOTHING


def _storage(value: Mapping[str, Any]) -> str:
    exact = " (not rounded)" if value.get("exact") else ""
    return f"{value['weights'] or NOTHING}{exact}, {kind_of(value['output'])}"


def _decibels(value: float) -> str:
    return f"{value:.1f}"
