"""Lines of emitted C, broken where clang-format would break them."""

from __future__ import annotations

import re
from collections.abc import Iterator, Sequence
from textwrap import wrap

COLUMNS = 100
_CALL = re.compile(r"( *[\w *]*\w[ ]?\()(.*)(\).*)")  # or a declaration, or a condition
_BETWEEN = re.compile(r", | \|\| ")


def broken(text: str, columns: int = COLUMNS) -> str:
    """A line that is longer than so many ``columns``, on several: what stands in its first brackets
    begins behind the bracket, or four columns in where some of it would not fit there."""
    match = _CALL.fullmatch(text)
    if len(text) <= columns or not match:
        return text
    head, inside, tail = match.groups()
    items = [*_items(inside)]
    own = len(head) - len(head.lstrip())
    indents = (len(head), own + 4)
    width = max(len(item.rstrip()) for item in [*items[:-1], items[-1] + tail])
    if indents[0] + width <= columns:
        return head + _filled(items, indents[0], tail, columns)
    return f"{head}\n{' ' * indents[1]}{_filled(items, indents[1], tail, columns)}"


def _items(inside: str) -> Iterator[str]:
    """With the comma or operator behind each, and a space."""
    depth = begin = 0
    for match in re.finditer(r"[(\[{]|[)\]}]|, | \|\| ", inside):
        depth += {"(": 1, "[": 1, "{": 1, ")": -1, "]": -1, "}": -1}.get(match[0], 0)
        if _BETWEEN.fullmatch(match[0]) and not depth:
            yield inside[begin : match.end()]
            begin = match.end()
    yield inside[begin:]


def _filled(items: Sequence[str], indent: int, tail: str, columns: int) -> str:
    lines, room = [""], columns - indent
    for item in [*items[:-1], items[-1] + tail]:
        if lines[-1] and len(lines[-1] + item.rstrip()) > room:
            lines.append("")
        lines[-1] += item
    return f"\n{' ' * indent}".join(line.rstrip() for line in lines)


def remarks(texts: Sequence[str], indent: int, columns: int = COLUMNS) -> str:
    """The lines of a comment, which begin in column ``indent``, each on as many as it takes where
    there are so many ``columns``; words between two commas or the like stay together where they
    can."""
    lines: list[str] = []
    room = columns - indent - len("/* 1000: */")
    for text in texts:
        for at, words in enumerate(re.split(r"(?<=[,;:]) ", text)):
            if at and len(f"{lines[-1]} {words}") <= room:
                lines[-1] += f" {words}"
            else:
                lines += wrap(words, room, break_long_words=False)
    return f"\n{' ' * indent}".join(lines)
