"""All that turns strings and numbers into C."""

from __future__ import annotations

import math
import re
import struct
import unicodedata
from collections.abc import Callable, Iterable, Sequence
from textwrap import wrap

from edgeconv.base.errors import UsageError
from edgeconv.base.names import untaken
from edgeconv.codegen.reserved_names import KEYWORDS, is_reserved

# Exporters join the names of whatever they fused; the end of such a name tells most.
MOST_NAME = 40


def identifier(name: str) -> str:
    """``name`` as a C (and C++) identifier in lower snake case; never empty, never a keyword.

    Letters lose their accents; those that ASCII lacks become the ``u`` and number of Unicode, so
    that what was written in Greek or Chinese can still be told apart and looked up.  At most
    MOST_NAME characters: longer names lose words from the front.
    """
    text = re.sub(r"[^0-9a-z]+", "_", _in_ascii(name)).strip("_") or "x"
    if len(text) > MOST_NAME:
        text = text[-MOST_NAME:].partition("_")[2] or text[-MOST_NAME:]
    if text[0].isdigit():
        text = f"n{text}"
    return f"{text}_" if text in KEYWORDS else text


def _in_ascii(name: str) -> str:
    plain = unicodedata.normalize("NFKD", name.casefold())
    kept = (c for c in plain if not unicodedata.combining(c))
    return "".join(f"_u{ord(c):x}_" if c > "~" and c.isalnum() else c for c in kept).lower()


def prefix(name: str) -> str:
    """``name`` as the prefix of a project's files and symbols: an identifier that stands for
    nothing else where they go (``reserved_names``)."""
    text = identifier(name)
    return f"{text}_" if is_reserved(text) else text


def require_prefix(name: str) -> str:
    """``name`` where it is a prefix as it is.  Raises EdgeconvError (exit status 2) otherwise."""
    if prefix(name) != name:
        raise UsageError(
            "--name",
            got=repr(name),
            rule="a prefix is a lower-case C identifier, and no header or target of others",
            hint=f"{prefix(name)!r} would do",
        )
    return name


def unique_identifiers(
    names: Iterable[str],
    taken: Iterable[str] = (),
    identify: Callable[[str], str] = identifier,
) -> dict[str, str]:
    """name -> identifier as ``identify`` makes it, numbered where two names would collide, or one
    with those ``taken``; stable in the given order."""
    found: dict[str, str] = {}
    taken, first = set(taken), dict[str, int]()  # numbers below the first are taken
    for name in names:
        own = identify(name)
        text = untaken(own, taken, between="_", first=first.get(own, 2))
        if text != own:
            first[own] = int(text.rpartition("_")[2]) + 1
        taken.add(text)
        found[name] = text
    return found


def c_float(value: float | str) -> str:
    """The float32 nearest to ``value`` as C: a decimal literal that reads back as the same number,
    of infinities and NaN the quotient that they are."""
    number = _nearest_float32(float(value))
    if math.isnan(number):
        return "(0.0f / 0.0f)"
    if math.isinf(number):
        return "(1.0f / 0.0f)" if number > 0 else "(-1.0f / 0.0f)"
    text = next(t for d in range(6, 10) if _same_float32(t := f"{number:.{d}g}", number))
    return f"{text}f" if any(c in text for c in ".en") else f"{text}.0f"


def _nearest_float32(value: float) -> float:
    try:
        return float(struct.unpack("<f", struct.pack("<f", value))[0])
    except OverflowError:  # rounds to beyond the largest
        return math.copysign(math.inf, value)


def _same_float32(text: str, number: float) -> bool:
    return _nearest_float32(float(text)) == number


def c_list(values: Sequence[int | float]) -> str:
    """A braced initialiser, wrapped to the line length."""
    items = [c_float(v) if isinstance(v, float) else str(v) for v in values]
    return "{" + "\n    ".join(wrap(", ".join(items), 92)) + "}"


def c_string(text: str) -> str:
    """A string literal of UTF-8: printable ASCII as it is, other bytes in octal, of three digits,
    so that nothing behind them is taken for one; no trigraph."""
    escaped = {ord('"'): '\\"', ord("\\"): "\\\\", ord("?"): "\\?"}
    plain = (
        escaped.get(byte, chr(byte)) if 0x20 <= byte <= 0x7E else f"\\{byte:03o}"
        for byte in text.encode(errors="replace")
    )
    return '"' + "".join(plain) + '"'


def _escaped(char: str) -> str:
    if not char.isprintable() or "\ud800" <= char <= "\udfff":
        return "?"
    return f"\\u{ord(char):04x}" if ord(char) < 0x10000 else f"\\U{ord(char):08x}"


def c_comment(text: str) -> str:
    """Text that cannot end the comment it stands in, printable ASCII only: other letters as the
    ``\\u`` that C writes them with, control characters as ``?``."""
    plain = "".join(c if " " <= c <= "~" else _escaped(c) for c in text)
    return plain.replace("*/", "* /").replace("/*", "/ *")
