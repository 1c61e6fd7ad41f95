"""Keys of report.json that had another name in earlier versions: read as what they are now.

A project that was compiled before a key got its name is verified, timed and compared like any
other; what is written has the names of today alone.
"""

from __future__ import annotations

from collections.abc import Mapping
from types import MappingProxyType
from typing import Any

# By list of the report: the former name of a key of its entries -> the name that it has now.
KEYS: Mapping[str, Mapping[str, str]] = MappingProxyType(
    {"steps": {"turn": "stream_rows"}, "outputs": {"counted": "data_dependent"}}
)


def renamed(report: dict[str, Any]) -> dict[str, Any]:
    """``report`` with today's names; what is no list of objects stays, for the schema to refuse.

    An entry that has both names keeps both: no version has written that.
    """
    return {key: _entries(value, KEYS.get(key, {})) for key, value in report.items()}


def _entries(value: Any, names: Mapping[str, str]) -> Any:
    if not names or not isinstance(value, list):
        return value
    return [_entry(each, names) if isinstance(each, dict) else each for each in value]


def _entry(entry: dict[str, Any], names: Mapping[str, str]) -> dict[str, Any]:
    def now(key: str) -> str:
        name = names.get(key, key)
        return key if name in entry else name

    return {now(key): value for key, value in entry.items()}
