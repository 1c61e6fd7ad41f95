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
from collections.abc import Iterator, Set
from functools import lru_cache

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
_GUARD = re.compile(r"\s*#ifndef (\w+)\s*#define \1\s*#endif\s*")


def pruned(runtime: str, program: str) -> str:
    """The headers without what ``program``, the C that includes them, never comes to."""
    live = _live(runtime, program)

    def functions(match: re.Match[str]) -> str:
        kept = [f[0] for f in _FUNCTION.finditer(match[2]) if f[1] in live]
        return match[1] + "".join(kept) if kept else ""

    text = _FUNCTIONS.sub(functions, runtime)
    text = _CASE.sub(lambda case: _case(case, live), text)
    text = _DEFINE.sub(lambda macro: macro[0] if macro[1] in live else "", text)
    remarks = set(_ATTACHED.findall(runtime))
    while (fewer := _fewer(text, remarks)) != text:
        text = fewer
    text = _SECTION.sub(lambda section: _section(section, text), text)
    return re.sub(r"\n{3,}", "\n\n", text)


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


def _case(case: re.Match[str], live: set[str]) -> str:
    labels = [f"case {label}:" for label in _LABEL.findall(case[2]) if label in live]
    return case[1] + f"\n{case[1]}".join(labels) + case[3] if labels else ""


_Names = tuple[frozenset[str], frozenset[str]]


def _names(code: str) -> _Names:
    """Names in ``code``, and those that something is compared with: of enumerators it names
    none."""
    plain = _COMMENT.sub("", code)
    compared = frozenset(_COMPARED.findall(plain))
    return frozenset(_WORD.findall(_COMPARED.sub("", plain) if compared else plain)), compared


# Of a function, a case or a macro of the runtime, which most programs have in common.
_names_of_part = lru_cache(maxsize=8192)(_names)


def _used(found: _Names, macros: Set[str]) -> Set[str]:
    """What is used where so much is named and compared."""
    names, compared = found
    return names | compared & macros if compared else names


def _live(runtime: str, program: str) -> set[str]:
    """All names that the program comes to.  Enumerations stay, with their values."""
    macros = {macro[1] for macro in _DEFINE.finditer(runtime)}
    uses = [*_uses(runtime, macros)]
    plain = _DEFINE.sub("", _FUNCTION.sub("", runtime))
    values = " ".join(value for each in _ENUM.findall(plain) for value in _VALUE.findall(each))
    live, before = set[str](), 0
    for code in (program, _ENUM.sub("", plain), values):
        live |= _used(_names(code), macros)
    while len(live) > before:
        before = len(live)
        for names, words in uses:
            if names <= live:
                live |= words
    return live


def _uses(runtime: str, macros: Set[str]) -> Iterator[tuple[Set[str], Set[str]]]:
    """Names, and what else is named where all of them are: by a function, a case in it, a macro."""
    functions = list(_FUNCTION.finditer(runtime))
    for function in functions:
        for case in _CASE.finditer(function[0]):
            for label in _LABEL.findall(case[2]):
                yield {function[1], label}, _used(_names_of_part(case[3]), macros)
        yield {function[1]}, _used(_names_of_part(_CASE.sub("", function[0])), macros)
    named = {function[1] for function in functions} | macros
    for macro in _DEFINE.finditer(runtime):
        yield {macro[1]}, _used(_names_of_part(macro[3]), macros)
        parameters = set(_WORD.findall(macro[2] or ""))
        for pasted in _PASTED.findall(macro[3]):
            parts = (r"\w+" if part in parameters else part for part in pasted.split("##"))
            pattern = re.compile("".join(parts))
            yield {macro[1]}, {name for name in named if pattern.fullmatch(name)}
