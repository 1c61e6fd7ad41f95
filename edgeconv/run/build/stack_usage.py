"""What the compiler says a function's frame takes: the .su files of ``-fstack-usage``."""

from __future__ import annotations

import re
from collections.abc import Iterable
from dataclasses import dataclass
from pathlib import Path

# GCC: file:line:column:function, Clang: file:line:function; then bytes and kind.
_LINE = re.compile(
    r"(?P<file>.*?):\d+:(?:\d+:)?(?P<function>[^\t:]+)\t(?P<bytes>\d+)\t(?P<kind>\S+)"
)


@dataclass(frozen=True, slots=True)
class Usage:
    """``bytes`` of a frame; ``bounded``: that is all, however the function is called."""

    bytes: int
    bounded: bool


class StackUsage:
    """The frames of all functions that some .su files list."""

    def __init__(self, files: Iterable[Path] = ()) -> None:
        self._frames: dict[str, list[tuple[str, Usage]]] = {}
        for path in files:
            for line in path.read_text(encoding="utf-8", errors="replace").splitlines():
                match = _LINE.fullmatch(line)
                if match:
                    usage = Usage(
                        int(match["bytes"]), match["kind"] in ("static", "dynamic,bounded")
                    )
                    entry = Path(match["file"]).name, usage
                    self._frames.setdefault(match["function"], []).append(entry)

    def of(self, symbol: str, source: str) -> Usage | None:
        """The frame of the function that has the ELF symbol ``symbol``; None when no file has it.

        Clones are listed without the end of their symbol (``f.constprop`` for ``f.constprop.0``)
        or not at all.  Of several functions of one name the one in ``source`` counts (a file name,
        "" when unknown), else the largest.
        """
        name = symbol
        while name not in self._frames:
            name, dot, _ = name.rpartition(".")
            if not dot:
                return None
        entries = self._frames[name]
        same = [usage for file, usage in entries if file == source]
        found = same or [usage for _, usage in entries]
        return Usage(max(u.bytes for u in found), all(u.bounded for u in found))
