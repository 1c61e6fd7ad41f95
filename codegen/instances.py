"""Kernels on vectors of another type than float32: the same headers and functions, instantiated.

C has no templates.  What a program has of them beside those on float32 has names of its own, and
the type of elements in the place of ``float``; what ec_common.h defines is of no type, and shared.
"""

from __future__ import annotations

import re
from collections.abc import Iterable, Iterator
from functools import cache

from edgeconv.codegen.amalgamate import amalgamate
from edgeconv.kernels.headers import runtime
from edgeconv.target.cache import ASSUMED_LINE
from edgeconv.target.targets import Target

_WORD = re.compile(r"\b(?:ec_|EC_)\w*|\bfloat\b")
_REAL = "ec_real"  # the type of elements, as the ISA's header says
_NATIVE = "EC_F32"  # how kernels call the format of their own elements
_OWN_NAMES = {_NATIVE: "EC_H_F16", "float": "ec_h_real", _REAL: "ec_h_real"}
_COMMON = "ec_common.h"


@cache
def _shared() -> frozenset[str]:
    """The names in ec_common.h, but for macros that say of which kind a program is."""
    text = (runtime() / _COMMON).read_text(encoding="utf-8")
    return frozenset(_WORD.findall(text)) - {"float"}


def on_float16(text: str) -> str:
    """A header, or a function of a program, on vectors of float16."""
    shared = _shared()

    def renamed(word: re.Match[str]) -> str:
        name = word[0]
        if name in shared:
            return name
        own = _OWN_NAMES.get(name)
        return own or f"{name[:3]}{'h_' if name.startswith('ec') else 'H_'}{name[3:]}"

    return _WORD.sub(renamed, text)


def headers_on_float16(
    row: Target,
    kernels: Iterable[str],
    routines: str,
    *,
    workers: bool = False,
    line_bytes: int = ASSUMED_LINE,
) -> Iterator[str]:
    """What `amalgamate` makes of ``kernels`` and ``routines``, on the vectors of float16 that
    ``row`` has; without the header that all instances share."""
    made = amalgamate(
        row.header,
        kernels,
        stored=True,
        routines=routines,
        workers=workers,
        line_bytes=line_bytes,
    )
    return (on_float16(text) for text in made if f" Begin {_COMMON} " not in text)
