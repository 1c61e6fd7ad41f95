"""What workers of a program share out, as C: kernels that compute a share, and calls of them.

Kernels say with two macros what a worker is given beside (``EC_WORKER``), and what of a loop is its
share rather than all of it (``EC_WORKER_OR``).  Programs have what these stand for in their place,
so that one of a single thread is as if there were no others.
"""

from __future__ import annotations

import re
from dataclasses import dataclass

_DEFINITION = re.compile(
    r"/\* In a program of several threads.*?\n#ifdef EC_WORKERS\n.*?#endif\n\n", re.DOTALL
)
_USE = re.compile(r" ?\bEC_WORKER(?P<either>_OR)?\(")
ROWS, ITEMS = ("row0", "row1"), ("from", "to")


def resolved(text: str, *, workers: bool) -> str:
    """A header for programs of several ``workers``, or of none."""
    text = _DEFINITION.sub("", text)
    done, at = [], 0
    for use in _USE.finditer(text):
        if use.start() < at:
            continue  # inside of one that is done
        arguments, end = _arguments(text, use.end())
        space = " " if use[0].startswith(" ") else ""
        done += [text[at : use.start()], _meant(arguments, space, workers, bool(use["either"]))]
        at = end
    return "".join((*done, text[at:]))


def _meant(arguments: list[str], space: str, workers: bool, either: bool) -> str:
    if either:
        own, whole = arguments
        return space + (own if workers else whole)
    given = ", ".join(arguments)
    return (given if given.startswith(",") else space + given) if workers else ""


def _arguments(text: str, start: int) -> tuple[list[str], int]:
    """The arguments of a macro behind its parenthesis, and the end of the call."""
    depth, begin, found = 1, start, []
    for at in range(start, len(text)):
        depth += {"(": 1, ")": -1}.get(text[at], 0)
        if depth == 0 or (depth == 1 and text[at] == ","):
            found.append(text[begin:at].strip())
            begin = at + 1
        if depth == 0:
            return found, at + 1
    raise ValueError("EC_WORKER without an end")


@dataclass(frozen=True, slots=True)
class Items:
    """The items that a call computes, in the C of its layer's function.

    ``workers``: the program has several.  ``shared``: the function takes the range of one of them,
    [from, to).
    """

    workers: bool = False
    shared: bool = False

    def __call__(self, count: int) -> str:
        """The last arguments of a kernel that takes a range where there are workers."""
        if not self.workers:
            return ""
        return f", {', '.join(ITEMS)}" if self.shared else f", 0, {count}"

    def count(self, count: int) -> str:
        """How many."""
        return f"{ITEMS[1]} - {ITEMS[0]}" if self.shared else str(count)

    def offset(self, each: int = 1) -> str:
        """What is added to a pointer to the first item, ``each`` of which takes so much."""
        if not self.shared:
            return ""
        return f" + {ITEMS[0]}" if each == 1 else f" + (ptrdiff_t){ITEMS[0]} * {each}"

    def element(self, pointer: str, form: str, each: int = 1, *, written: bool = False) -> str:
        """The address of the first item in memory that is stored as ``form``."""
        if not self.shared or pointer == "NULL":
            return pointer
        at = ITEMS[0] if each == 1 else f"(ptrdiff_t){ITEMS[0]} * {each}"
        return f"{'ec_place' if written else 'ec_at'}({pointer}, {at}, {form})"
