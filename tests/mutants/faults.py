"""Faults of emitted C: small mistakes, one at a time, in the calls and the plans of a network.

They are what a wrong template, a wrong plan or a wrong address would make of it.  All of a program
are found in the order of its text, so that a number stands for the same one in every run.
"""

from __future__ import annotations

import re
from collections.abc import Callable, Iterator, Mapping
from dataclasses import dataclass
from types import MappingProxyType

_COMMENT = re.compile(r"/\*.*?\*/", re.DOTALL)
_EPILOGUE = re.compile(r"(?<=epilogue = )\{\.[^;]*\}(?=;)")
_MEMBER = re.compile(r"(?<=\.)(\w+) = (\d+)(?=[,}\n ])")
_ARGUMENT = re.compile(r"(?<=, )(\d+)(?=[,)])")
_NUMBER = re.compile(r"(?<![\w.])(\d+\.\d*|\d+\.?\d*e-?\d+)(?=f\b)")
_ADDRESS = re.compile(r"\b(?!\w+_weights_at\()\w+_at(?:_\w+)?\(model, (\w+)(?=[) ])")
_CONSTANT = re.compile(r"\b\w+_weights_at\(model, (\w+)(?=\))")
_PLACE = re.compile(r"\b(\w+(?:_AT|_WORKSPACE)_\w+) = (\d+)(?=[,\n])")
_CALL = re.compile(r"(?<=\n)    +(?!\w+_done\(|return)\w+\([^;{}]*\);(?=\n)")
_ROWS = re.compile(r"(?<=[+*<=] )(\d+)\b")


@dataclass(frozen=True, slots=True)
class Fault:
    """``kind``: a row of `KINDS`.  ``line`` of the program, which read ``was``; ``text``: the
    program with the fault."""

    kind: str
    line: int
    was: str
    now: str
    text: str

    def __str__(self) -> str:
        return f"{self.kind}, line {self.line}: {self.was} -> {self.now}"


def _less(found: re.Match[str]) -> str:
    number = found.groups()[-1]
    return found[0][: -len(number)] + str(int(number) - 1)


def _more(found: re.Match[str]) -> str:
    number = found.groups()[-1]
    return found[0][: -len(number)] + str(int(number) + 1)


def _lower(found: re.Match[str]) -> str:
    return f"{found[1]} = {max(0, int(found[2]) - 64)}"


def _other(found: re.Match[str]) -> str:
    """The next whole number, or a fiftieth more."""
    number = float(found[0])
    return f"{number + 1}" if number.is_integer() else f"{number * 1.02!r}"


def _further(found: re.Match[str]) -> str:
    return f"{found[0]} + 4"


def _nothing(found: re.Match[str]) -> str:
    return ""


def _zeros(found: re.Match[str]) -> str:
    return "{0}"


# Where it is: in the table of the arena, in the functions of layers, or in the one that calls them.
# What it is, and what becomes of it.
ARENA, LAYERS, RUN = "arena", "layers", "run"
KINDS: Mapping[str, tuple[str, re.Pattern[str], Callable[[re.Match[str]], str]]] = MappingProxyType(
    {
        "a place 64 bytes lower": (ARENA, _PLACE, _lower),
        "an extent one less": (LAYERS, _MEMBER, _less),
        "an extent one more": (LAYERS, _MEMBER, _more),
        "an argument one less": (LAYERS, _ARGUMENT, _less),
        "another number": (LAYERS, _NUMBER, _other),
        "no epilogue": (LAYERS, _EPILOGUE, _zeros),
        "a tensor 4 bytes further": (RUN, _ADDRESS, _further),
        "a constant 4 bytes further": (RUN, _CONSTANT, _further),
        "a call left out": (RUN, _CALL, _nothing),
        "rows of a turn one less": (RUN, _ROWS, _less),
    }
)


def faults(program: str, name: str) -> Iterator[Fault]:
    """Those of the emitted ``program`` of the network ``name``."""
    arena = program.index("/* The arena.")
    begin = program.index("/* One function per distinct layer plan")
    run = program.index(f"\nint {name}_run(")
    end = program.index("\n}\n", run)
    # Comments keep their places, and hold nothing that looks like C.
    plain = _COMMENT.sub(lambda found: re.sub(r"[^\n]", " ", found[0]), program)
    plain = re.sub(r"(?m)^#.*$", lambda found: " " * len(found[0]), plain)
    ranges = {ARENA: (arena, begin), LAYERS: (begin, run), RUN: (run, end)}
    for kind, (where, pattern, change) in KINDS.items():
        first, last = ranges[where]
        for found in pattern.finditer(plain, first, last):
            if change is _less and int(found.groups()[-1]) == 0:
                continue
            if where == RUN and not _may_be(kind, _line(plain, found.start())):
                continue
            if (now := change(found)) == found[0]:
                continue
            text = program[: found.start()] + now + program[found.end() :]
            line = program.count("\n", 0, found.start()) + 1
            yield Fault(kind, line, " ".join(found[0].split()), now, text)


def _line(plain: str, at: int) -> str:
    return plain[plain.rindex("\n", 0, at) + 1 : plain.index("\n", at)].strip()


def _may_be(kind: str, line: str) -> bool:
    """Rows are counted in loops and what these need; what is traced is no part of the network."""
    if kind == "rows of a turn one less":
        return line.startswith(("for (int y", "const int ", "while ("))
    return "_done(" not in line and not line.startswith("if (!*")
