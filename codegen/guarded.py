"""What the runtime's headers have for programs of a kind alone.

A header says with ``#ifdef`` of a kind what programs of it have, and behind ``#else`` what others
do.  A program has the branch that holds, without the directives.  Where ec_common.h defines macros
in such branches, it has what these stand for in the place of every use: one of a single thread is
as if there were no others.
"""

from __future__ import annotations

import functools
import re
from collections.abc import Mapping, Sequence

from edgeconv.kernels.headers import runtime

WORKERS = "EC_WORKERS"  # several share the layers
PREFETCH = "EC_PREFETCH_DISTANCES"  # kernels prefetch in software
LOADS_IN_ORDER = "EC_LOADS_IN_ORDER"  # register tiles are those of cores in order
ZERO_POINTS = "EC_ZERO_POINTS"  # integers of filters have them
MEMORY_SUMS = "EC_MEMORY_SUMS"  # micro-kernels are used whose sums are memory
RUNS = "EC_TILE_RUNS"  # register tiles load filters by runs of vectors
CONSTANT_STEPS = "EC_CONSTANT_STEPS"  # kernels see to it that loads have constant offsets
PACKED_ZERO_POINTS = "EC_PACKED_ZERO_POINTS"  # of filters that packed rows are multiplied by
PACKED_WINDOWS = "EC_PACKED_WINDOWS"  # whole ones, of inputs of few channels
_SAID = (
    PREFETCH,
    LOADS_IN_ORDER,
    ZERO_POINTS,
    CONSTANT_STEPS,
    RUNS,
    PACKED_ZERO_POINTS,
    PACKED_WINDOWS,
)  # by a header that defines them

_GUARDED = re.compile(
    r"(?P<remark>^/\*(?:[^*]|\*(?!/))*\*/\n)?"
    rf"^#ifdef (?P<kind>{'|'.join((WORKERS, MEMORY_SUMS, *_SAID))})\n"
    r"(?P<so>.*?)(?:^#else\n(?P<otherwise>.*?))?^#endif\n(?P<blank>\n?)",
    re.MULTILINE | re.DOTALL,
)
_MACRO = re.compile(r"^#define (\w+)\(([^)]*)\) ?(\w*)\n", re.MULTILINE)


def kinds_of(
    texts: Sequence[str], *, workers: bool, memory_sums: bool = False
) -> Mapping[str, bool]:
    """Which kinds a program with these headers is of: a header of one kind's says so, but not in
    a branch of cores in order that does not hold."""
    in_order = {LOADS_IN_ORDER: any(_says(text, LOADS_IN_ORDER) for text in texts)}
    left = [for_program(text, in_order) for text in texts]
    said = {kind: any(_says(text, kind) for text in left) for kind in _SAID} | in_order
    return {WORKERS: workers, MEMORY_SUMS: memory_sums, **said}


def says_a_kind(text: str) -> bool:
    """Whether a header says of which kind the program is that has it."""
    return any(_says(text, kind) for kind in _SAID)


def _says(text: str, kind: str) -> bool:
    return f"#define {kind} " in text


def for_program(text: str, kinds: Mapping[str, bool]) -> str:
    """A header as a program has it that is of these ``kinds`` or not; of others its directives
    stay."""
    return _expanded(text, frozenset(kinds.items()))


@functools.lru_cache(maxsize=512)  # the same headers are in most of a process's programs
def _expanded(text: str, of: frozenset[tuple[str, bool]]) -> str:
    kinds = dict(of)
    text = _GUARDED.sub(lambda found: _rest(found, kinds), text)
    if not (macros := _macros(of)):
        return text
    done: list[str] = []
    at = 0
    for use in re.finditer(rf"(?P<space> ?)\b(?P<name>{'|'.join(macros)})\(", text):
        if use.start() < at:
            continue  # inside of one that is done
        arguments, end = _arguments(text, use.end())
        parameters, meaning = macros[use["name"]]
        given = dict(zip(parameters, arguments, strict=False))
        given["__VA_ARGS__"] = ", ".join(arguments)
        meant = given.get(meaning, meaning)
        apart = use["space"] if meant and not meant.startswith(",") else ""
        done += [text[at : use.start()], apart + meant]
        at = end
    return "".join((*done, text[at:]))


def _rest(found: re.Match[str], kinds: Mapping[str, bool]) -> str:
    """What is left of a guarded place once macros are what they stand for."""
    if found["kind"] not in kinds:
        return found[0]
    branch = found["so"] if kinds[found["kind"]] else found["otherwise"] or ""
    if branch and not _MACRO.sub("", branch):
        return ""
    return f"{found['remark'] or ''}{branch}{found['blank']}"


@functools.cache
def _macros(kinds: frozenset[tuple[str, bool]]) -> Mapping[str, tuple[list[str], str]]:
    """Parameters and meaning of every macro that such programs have expanded, by name."""
    common = runtime() / "ec_common.h"
    guarded = list(_GUARDED.finditer(common.read_text(encoding="utf-8")))
    branches = [
        g["so" if so else "otherwise"] or ""
        for g in guarded
        for kind, so in kinds
        if g["kind"] == kind
    ]
    found = (macro for branch in branches for macro in _MACRO.finditer(branch))
    return {macro[1]: (macro[2].split(", "), macro[3]) for macro in found}


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
    raise ValueError("a macro without an end")
