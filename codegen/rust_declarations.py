"""What an emitted header declares, as Rust has it."""

from __future__ import annotations

import re
from collections.abc import Iterator
from dataclasses import dataclass

_TYPES = {
    "void": "c_void",
    "char": "c_char",
    "int": "c_int",
    "size_t": "usize",
    "float": "f32",
    "double": "f64",
    "_Bool": "bool",
    "bool": "bool",
    **{
        f"{sign}int{bits}_t": f"{sign or 'i'}{bits}"
        for bits in (8, 16, 32, 64)
        for sign in ("u", "")
    },
}
_COMMENTS = re.compile(r"/\*.*?\*/", re.DOTALL)
_ENUMERATORS = re.compile(r"\benum \{(.*?)\};", re.DOTALL)
_ENUMERATOR = re.compile(r"(\w+) = (-?\w+)")
_DEFINED = re.compile(r"^#define (\w+) (.+)$", re.MULTILINE)
_FUNCTION = re.compile(r"^((?:const )?\w+ \*?)(\w+)\(([^;]*?)\);", re.MULTILINE | re.DOTALL)
_PARAMETER = re.compile(r"(const )?(\w+) (\*?)(\w+)")
_REAL = re.compile(r"(-?[0-9][0-9.e+-]*)f")
_WIDE = re.compile(r"UINT(32|64)_C\((\w+)\)")
_STRING = re.compile(r'"[^"\\]*"')
_KEYWORDS = frozenset({
    "as", "async", "await", "box", "break", "const", "continue", "dyn", "else", "enum",
    "extern", "final", "fn", "for", "if", "impl", "in", "let", "loop", "macro", "match",
    "mod", "move", "mut", "override", "priv", "pub", "ref", "return", "static", "struct",
    "trait", "true", "try", "type", "typeof", "unsafe", "unsized", "use", "virtual",
    "where", "while", "yield", "abstract", "become", "do",
})  # fmt: skip


@dataclass(frozen=True, slots=True)
class Constant:
    """A constant of the header."""

    name: str
    type: str
    value: str


@dataclass(frozen=True, slots=True)
class Parameter:
    """A parameter of a function, and its type."""

    name: str
    type: str


@dataclass(frozen=True, slots=True)
class Declared:
    """A function of the header; ``result``: "" where it returns nothing."""

    name: str
    parameters: tuple[Parameter, ...]
    result: str


def constants(header: str) -> tuple[Constant, ...]:
    """The enumerators and macros of ``header`` that are numbers or strings."""
    return tuple(_constants(_COMMENTS.sub("", header)))


def functions(header: str) -> tuple[Declared, ...]:
    """The functions that ``header`` declares, in its order."""
    text = _COMMENTS.sub("", header)
    return tuple(
        Declared(name, tuple(_parameters(parameters)), _result(kind))
        for kind, name, parameters in _FUNCTION.findall(text)
    )


def _constants(text: str) -> Iterator[Constant]:
    known: dict[str, Constant] = {}
    for listed in _ENUMERATORS.findall(text):
        for name, value in _ENUMERATOR.findall(listed):
            size = name.endswith(("_BYTES", "_ELEMENTS", "_ARENA_ALIGN"))
            known[name] = Constant(name, "usize" if size else "i32", value)
    for name, value in _DEFINED.findall(text):
        value = value.strip()
        if real := _REAL.fullmatch(value):
            number = real[1] if re.search("[.e]", real[1]) else f"{real[1]}.0"
            known[name] = Constant(name, "f32", number)
        elif wide := _WIDE.fullmatch(value):
            known[name] = Constant(name, f"u{wide[1]}", wide[2])
        elif _STRING.fullmatch(value):
            known[name] = Constant(name, "&str", value)
        elif value in known:  # another name
            known[name] = Constant(name, known[value].type, value)
    yield from known.values()


def _result(kind: str) -> str:
    const, name, pointer = re.fullmatch(r"(const )?(\w+) (\*?)", kind).groups()  # type: ignore[union-attr]
    return "" if name == "void" and not pointer else _type(const, name, pointer)


def _parameters(text: str) -> Iterator[Parameter]:
    for each in text.split(","):
        if found := _PARAMETER.fullmatch(" ".join(each.split())):
            const, kind, pointer, name = found.groups()
            yield Parameter(f"r#{name}" if name in _KEYWORDS else name, _type(const, kind, pointer))


def _type(const: str | None, name: str, pointer: str) -> str:
    own = _TYPES.get(name, name)
    return f"*{'const' if const else 'mut'} {own}" if pointer else own
