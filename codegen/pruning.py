"""What of the runtime a program has no use for: cases that nothing names, functions that nothing
calls, macros that nothing expands, headers of which nothing is left.

The runtime's headers are written for every network, and a program has a copy of its own.  They keep
to what is read here: a function begins in the first column, and ends with its first line or with a
brace in that column; a remark in the first column is about all that follows it without a blank
line; what depends on an enumerator is a ``case`` that begins a line; and to be compared with
something does not name an enumerator, since it is somebody else who makes it be.
"""

from __future__ import annotations

import re
from collections.abc import Callable, Iterable, Iterator, Sequence, Set
from dataclasses import dataclass
from functools import lru_cache, partial
from itertools import chain

_COMMENT = re.compile(r"/\*.*?\*/", re.DOTALL)
_WORD = re.compile(r"[A-Za-z_]\w*")
_ENUM = re.compile(r"^enum\b[^{;]*\{[^}]*\};", re.MULTILINE)
_VALUE = re.compile(r"=([^,}]*)")
_DEFINE = re.compile(r"^ *#define (\w+)(?:\(([^)]*)\))?((?:.*\\\n)*.*\n)", re.MULTILINE)
_FUNCTION = re.compile(
    r"^EC_(?:INLINE|CHOICE|NEST|SHARED) [^{(]*?(\w+)\([^{]*\{(?:.*\}\n|\n(?:.*\n)*?\}\n)",
    re.MULTILINE,
)
_REMARK = r"(?:^/\*(?:[^*]|\*(?!/))*\*/\n)?"  # on the functions that follow without a blank line
_FUNCTIONS = re.compile(f"({_REMARK})((?:{_FUNCTION.pattern})+)", re.MULTILINE)
_CASE = re.compile(  # labels, and what follows them, further in or between braces
    r"^( *)((?:case EC_\w+:\n\1)*case EC_\w+:)(.*\{\n(?:\1 .*\n)*\1\}\n|.*\n(?:\1 .*\n)*)",
    re.MULTILINE,
)
_LABEL = re.compile(r"EC_\w+")
_COMPARED = re.compile(r"(?:[=!]=|[<>]=?) (EC_[A-Z0-9_]+)\b(?!\()")
_PASTED = re.compile(r"\w+(?:##\w+)+")
_EMPTY = re.compile(r"^#if.*\n(?:#el.*\n|\n)*#endif.*\n", re.MULTILINE)
_ATTACHED = re.compile(r"^/\*(?:[^*]|\*(?!/))*\*/\n(?=[^\n/])", re.MULTILINE)  # to code
_LONE = re.compile(r"^/\*(?:[^*]|\*(?!/))*\*/\n(?=\n|/\*|#el|#endif|\Z)", re.MULTILINE)
# A header between its banners (`edgeconv.codegen.amalgamate`).
_SECTION = re.compile(
    r"^/\*+ Begin (?P<name>\S+) \*+/\n(?P<body>(?:.*\n)*?)/\*+ End (?P=name) \*+/\n", re.MULTILINE
)
_BEGIN = re.compile(r"^(?=/\*+ Begin \S+ \*+/\n)", re.MULTILINE)
_MOST = 1024  # headers, as most programs of a process have them in common
_GUARD = re.compile(r"\s*#ifndef (\w+)\s*#define \1\s*#endif\s*")


def pruned(runtime: str, program: str) -> str:
    """The headers without what ``program``, the C that includes them, never comes to."""
    texts = _BEGIN.split(runtime)
    parts = [_part(text) for text in texts]
    live = _live(parts, program)
    left = [_left(text, part.removable & live) for text, part in zip(texts, parts, strict=True)]
    whole = "".join(left)
    text = "".join(_SECTION.sub(lambda section: _section(section, whole), part) for part in left)
    while "\n\n\n" in text:
        text = text.replace("\n\n\n", "\n\n")
    return text


@lru_cache(maxsize=_MOST)
def _left(part: str, live: frozenset[str]) -> str:
    """A header without what is not ``live`` of it."""

    def functions(match: re.Match[str]) -> str:
        kept = [f[0] for f in _FUNCTION.finditer(match[2]) if f[1] in live]
        return match[1] + "".join(kept) if kept else ""

    text = _FUNCTIONS.sub(functions, part)
    text = _CASE.sub(lambda case: _case(case, live), text)
    text = _DEFINE.sub(lambda macro: macro[0] if macro[1] in live else "", text)
    remarks = set(_ATTACHED.findall(part))
    while (fewer := _fewer(text, remarks)) != text:
        text = fewer
    return text


def _fewer(text: str, remarks: Set[str]) -> str:
    """Without branches that are empty, and without those of ``remarks`` that have lost what they
    were about."""
    text = _EMPTY.sub("", text)
    return _LONE.sub(lambda remark: "" if remark[0] in remarks else remark[0], text)


def _section(section: re.Match[str], text: str) -> str:
    """A header; nothing where nothing but its guard is left, which no other asks for."""
    guard = _GUARD.fullmatch(_COMMENT.sub("", section["body"]))
    asked = guard and len(re.findall(rf"\b{guard[1]}\b", text)) > 2
    return section[0] if not guard or asked else ""


def _case(case: re.Match[str], live: Set[str]) -> str:
    labels = [f"case {label}:" for label in _LABEL.findall(case[2]) if label in live]
    return case[1] + f"\n{case[1]}".join(labels) + case[3] if labels else ""


@dataclass(frozen=True, slots=True)
class _Names:
    """Words of some code, and those that something is ``compared`` with: of enumerators it names
    none."""

    words: frozenset[str]
    compared: frozenset[str]

    @staticmethod
    def of(code: str) -> _Names:
        plain = _COMMENT.sub("", code)
        compared = frozenset(_COMPARED.findall(plain))
        return _Names(
            frozenset(_WORD.findall(_COMPARED.sub("", plain) if compared else plain)), compared
        )

    def used(self, macros: Set[str]) -> Set[str]:
        """What is used where there are these ``macros``."""
        return self.words | self.compared & macros if self.compared else self.words


@dataclass(frozen=True, slots=True)
class _Part:
    """What names do in a header, or in front of the first.

    ``uses``: names, and what else is named where all of them are live: by a function, a case in it,
    a macro.  ``pasted``: macros, and the names that they put together.  ``anyhow``: what is named
    outside of functions and macros; enumerations stay, with their values.  ``named``: functions and
    macros; ``removable``: names whose functions, cases and macros go where they are not live.
    """

    macros: frozenset[str]
    named: frozenset[str]
    removable: frozenset[str]
    uses: tuple[tuple[frozenset[str], _Names], ...]
    pasted: tuple[tuple[str, re.Pattern[str]], ...]
    anyhow: tuple[_Names, ...]


@lru_cache(maxsize=_MOST)
def _part(text: str) -> _Part:
    functions, macros = list(_FUNCTION.finditer(text)), list(_DEFINE.finditer(text))
    plain = _DEFINE.sub("", _FUNCTION.sub("", text))
    values = " ".join(value for each in _ENUM.findall(plain) for value in _VALUE.findall(each))
    uses = tuple(chain(_of_functions(functions), _of_macros(macros)))
    of_macros = frozenset(macro[1] for macro in macros)
    named = of_macros.union(function[1] for function in functions)
    labels = (label for case in _CASE.finditer(text) for label in _LABEL.findall(case[2]))
    return _Part(
        of_macros,
        named,
        named.union(labels),
        uses,
        tuple(_pasted(macros)),
        (_Names.of(_ENUM.sub("", plain)), _Names.of(values)),
    )


def _of_functions(functions: Iterable[re.Match[str]]) -> Iterator[tuple[frozenset[str], _Names]]:
    for function in functions:
        for case in _CASE.finditer(function[0]):
            for label in _LABEL.findall(case[2]):
                yield frozenset({function[1], label}), _Names.of(case[3])
        yield frozenset({function[1]}), _Names.of(_CASE.sub("", function[0]))


def _of_macros(macros: Iterable[re.Match[str]]) -> Iterator[tuple[frozenset[str], _Names]]:
    for macro in macros:
        yield frozenset({macro[1]}), _Names.of(macro[3])


def _pasted(macros: Iterable[re.Match[str]]) -> Iterator[tuple[str, re.Pattern[str]]]:
    for macro in macros:
        parameters = set(_WORD.findall(macro[2] or ""))
        for pasted in _PASTED.findall(macro[3]):
            words = (r"\w+" if part in parameters else part for part in pasted.split("##"))
            yield macro[1], re.compile("".join(words))


def _live(parts: Sequence[_Part], program: str) -> Set[str]:
    """All names that the program comes to."""
    macros = frozenset[str]().union(*(part.macros for part in parts))
    named = frozenset[str]().union(*(part.named for part in parts))
    live = set(_Names.of(program).used(macros))
    live.update(*(names.used(macros) for part in parts for names in part.anyhow))
    waiting: list[tuple[Set[str], Callable[[], Set[str]]]] = [
        *((names, partial(used.used, macros)) for part in parts for names, used in part.uses),
        *(
            ({macro}, partial(_matching, pattern, named))
            for part in parts
            for macro, pattern in part.pasted
        ),
    ]
    before = -1
    while len(live) > before:
        before, still = len(live), []
        for names, used in waiting:
            if names <= live:
                live |= used()
            else:
                still.append((names, used))
        waiting = still
    return live


def _matching(pattern: re.Pattern[str], names: Set[str]) -> Set[str]:
    return {name for name in names if pattern.fullmatch(name)}
