"""Data movement and slicing of a convolution as tables for people, at most 100 columns wide."""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence
from typing import Any

from rich.console import RenderableType
from rich.padding import Padding

from edgeconv.report.narrow_tables import Indented, PlainTable, plain_table

INDENT = (0, 0, 0, 2)


def convolution_tables(layer: Mapping[str, Any]) -> Iterator[RenderableType]:
    """What ``movement`` and ``slicing`` say of a layer of the document; nothing where null, and on
    a board without caches, where the cycles of the slicing are those of caches that it lacks."""
    if layer["movement"]:
        levels = layer["movement"]["levels"]
        yield Indented(_movement_table(levels))
        if levels[0]["parallel"]:
            yield Padding(_parallel_line(levels), INDENT)
    if layer["movement"] and layer["slicing"]:
        yield Indented(_slicing_table(layer["slicing"]))


def _movement_table(levels: Sequence[Mapping[str, Any]]) -> PlainTable:
    """Words by level."""
    parts = ("input", "packed", "filters", "sums", "output")
    table = _numbers("behind", "words", *parts, "bound", "ratio", "blocking")
    table.add_column("binding", overflow="fold")
    for level in levels:
        moved, bound = level["moved"], level["bound"]
        words = {**moved, "packed": moved["packed_reads"] + moved["packed_writes"]}
        table.add_row(
            level["cache"],
            *(brief(words[name]) for name in ("words", *parts)),
            brief(bound["words"]),
            f"{level['ratio']:.2f}",
            brief(level["blocking"]["words"]),
            bound["binding"],
        )
    return table


def _parallel_line(levels: Sequence[Mapping[str, Any]]) -> str:
    texts = []
    for level in levels:
        bound = level["parallel"]
        term = f" ({bound['binding']})" if bound["binding"] else ""
        texts.append(f"{brief(bound['words'])} words with an {level['cache']} each{term}")
    found = levels[0]["parallel"]
    who = f"one of {found['workers']} workers needs" if found["workers"] > 1 else "one worker needs"
    least = f"one of {found['processors']} processors: at least {', '.join(texts)}"
    return f"{least}; {who} {brief(found['moved'])}"


def _slicing_table(slicing: Mapping[str, Any]) -> PlainTable:
    """Sizes, with that of the last part in parentheses where it differs; costs in cycles."""
    counts = ("nc", "k1", "k2", "k3")
    table = _numbers(
        "slicing", "tile", "Nc", "K1", "K2", "K3", "cycles: L2", "L3", "DRAM", "packing"
    )
    for name, plan in slicing["plans"].items():
        table.add_row(
            f"{name} *" if name == slicing["chosen"] else name,
            f"{plan['n_win']}x{plan['n_f']}",
            *(_size(plan[size], plan["last"][size]) for size in counts),
            *(brief(plan["cost"][source]) for source in ("L2", "L3", "DRAM")),
            brief(plan["packing_cost"]),
        )
    return table


def _numbers(first: str, *numbers: str) -> PlainTable:
    table = plain_table(first, *(f">{number}" for number in numbers))
    for column in table.columns[1:]:
        column.no_wrap = True
    return table


def _size(size: int, last: int) -> str:
    return str(size) if last == size else f"{size} ({last})"


def brief(count: int) -> str:
    """``count`` to three digits: ``980``, ``12.3k``, ``4.56M``."""
    for unit, scale in (("", 1), ("k", 10**3), ("M", 10**6), ("G", 10**9), ("T", 10**12)):
        value = count / scale
        if value < 999.5 or unit == "T":
            decimals = 0 if not unit or value >= 99.95 else 1 if value >= 9.995 else 2
            return f"{value:.{decimals}f}{unit}"
    raise AssertionError("unreachable: T takes every count")
