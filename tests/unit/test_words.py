"""One word, one thing: the tables of docs/architecture.md, and what is declared in Python and C."""

from __future__ import annotations

import ast
import io
import re
import tokenize
from collections.abc import Iterator
from functools import cache
from pathlib import Path

import pytest

from tests import ROOT

PACKAGE = ROOT / "edgeconv"
PAGE = ROOT / "docs" / "architecture.md"
DOCS = (ROOT / "README.md", *sorted((ROOT / "docs").rglob("*.md")))
# Values in braces without names: more of them say nothing to who reads the call.
MOST_POSITIONAL = 3

pytestmark = pytest.mark.skipif(not PAGE.is_file(), reason="not run from a source checkout")


@cache
def table(heading: str) -> tuple[tuple[str, ...], ...]:
    """The rows of the first table below a heading of the page, without its head."""
    text = PAGE.read_text(encoding="utf-8")
    body = text.partition(f"\n### {heading}\n")[2].partition("\n#")[0]
    rows = [line.strip("|").split("|") for line in body.splitlines() if line.startswith("|")]
    assert len(rows) > 2, f"no table below {heading!r}"
    return tuple(tuple(cell.strip() for cell in row) for row in rows[2:])


def quoted(cell: str) -> list[str]:
    """What stands in backquotes."""
    return re.findall(r"`([^`]+)`", cell)


def words_of(identifier: str) -> Iterator[str]:
    """The words of an identifier, in lower case, and what each is the plural of."""
    if identifier.startswith("__"):  # Python's
        return
    spaced = re.sub(r"(?<=[a-z0-9])(?=[A-Z])", "_", identifier)
    for word in filter(None, spaced.lower().split("_")):
        yield word
        yield from (word.removesuffix(end) for end in ("s", "es") if word.endswith(end))


def declared(tree: ast.AST, local: bool = False) -> Iterator[str]:
    """Functions, classes, parameters, fields and constants: not the variables of functions."""
    for node in ast.iter_child_nodes(tree):
        if isinstance(node, ast.FunctionDef | ast.AsyncFunctionDef | ast.ClassDef):
            yield node.name
        if isinstance(node, ast.FunctionDef | ast.AsyncFunctionDef):
            given = node.args
            yield from (arg.arg for arg in (*given.posonlyargs, *given.args, *given.kwonlyargs))
        elif isinstance(node, ast.Assign | ast.AnnAssign) and not local:
            targets = node.targets if isinstance(node, ast.Assign) else [node.target]
            names = (name for target in targets for name in ast.walk(target))
            yield from (name.id for name in names if isinstance(name, ast.Name))
        if not isinstance(node, ast.Lambda):
            inside = isinstance(node, ast.FunctionDef | ast.AsyncFunctionDef)
            yield from declared(node, inside or (local and not isinstance(node, ast.ClassDef)))


@cache
def files(*endings: str) -> tuple[Path, ...]:
    """Those of the package and of the folders that ship with it, but for what others wrote."""
    return tuple(
        path
        for folder in (PACKAGE, PACKAGE / "codegen", PACKAGE / "kernels" / "runtime_c")
        for path in sorted(folder.rglob("*"))
        if path.name.endswith(endings) and "vendor" not in path.parts
    )


@cache
def prose(page: Path) -> str:
    """A page without the code in it, and without the list itself."""
    before, _, behind = page.read_text(encoding="utf-8").partition("\n### Words not used\n")
    text = before + behind.partition("\n### ")[2]
    return re.sub(r"^```.*?^```|^    [^\n]*|`[^`\n]*`", "", text, flags=re.DOTALL | re.MULTILINE)


@cache
def code(path: Path) -> str:
    """C, of a template too, without comments; what Jinja has in braces stays."""
    text = re.sub(r"\{#.*?#\}", "", path.read_text(encoding="utf-8"), flags=re.DOTALL)
    text = re.sub(r"/\*.*?\*/", lambda found: "\n" * found[0].count("\n"), text, flags=re.DOTALL)
    return re.sub(r"//[^\n]*|^\s*#include[^\n]*", "", text, flags=re.MULTILINE)


C_FILES = files(".c", ".h", ".c.j2", ".h.j2")


@cache
def identifiers() -> dict[str, frozenset[str]]:
    """By file below the package: the identifiers of C, and those that Python declares."""
    found = {path: re.findall(r"[A-Za-z_]\w*", code(path)) for path in C_FILES}
    for path in files(".py"):
        found[path] = [path.stem, *declared(ast.parse(path.read_text(encoding="utf-8")))]
    return {str(path.relative_to(PACKAGE)): frozenset(names) for path, names in found.items()}


@cache
def users() -> dict[str, frozenset[str]]:
    """Word -> the files with an identifier that has it."""
    found: dict[str, set[str]] = {}
    for path, names in identifiers().items():
        for name in names:
            for word in words_of(name):
                found.setdefault(word, set()).add(path)
    return {word: frozenset(paths) for word, paths in found.items()}


@pytest.mark.parametrize("row", table("Words with one meaning"), ids=lambda row: str(row[0]))
def test_a_word_stands_where_its_meaning_does(row: tuple[str, ...]) -> None:
    (word,), places = quoted(row[0]), quoted(row[2])
    used = users().get(word, frozenset())
    assert used, f"{word}: nothing is called so"
    for place in places:
        assert any(path.startswith(place) for path in used), f"{word}: not in {place}"
    elsewhere = {path for path in used if not path.startswith(tuple(places))}
    assert not elsewhere, f"{word}: {row[1]}: something else, or a place to add to the list"


@pytest.mark.parametrize("row", table("Words not used"), ids=lambda row: str(row[0]))
def test_a_word_not_used_occurs_nowhere(row: tuple[str, ...]) -> None:
    allowed = tuple(quoted(row[2]))
    for word in quoted(row[0]):
        pattern = re.compile(rf"_{word.lower()}s?_")
        found = {
            f"{path}: {name}"
            for path, names in (identifiers() if pattern.search(all_joined()) else {}).items()
            if not (allowed and path.startswith(allowed))
            for name in names
            if pattern.search(joined(name))
        }
        assert not found, f"say {row[1]}"
        for page in DOCS:
            said = re.findall(rf"\b{word.replace('_', '[ _-]')}s?\b", prose(page))
            assert not said, f"{page.name}: say {row[1]}"


@cache
def joined(identifier: str) -> str:
    """The words of an identifier between underscores: ``_row_streaming_``."""
    spaced = re.sub(r"(?<=[a-z0-9])(?=[A-Z])", "_", identifier).lower()
    return f"_{spaced.strip('_')}_"


@cache
def all_joined() -> str:
    """What is in none of this is in no identifier."""
    return "\n".join({joined(name) for names in identifiers().values() for name in names})


def is_called(name: str, ours: str) -> bool:
    """Whether an identifier has the words of ``ours`` in a row; where that begins with a capital
    letter as classes do, whether a class has them."""
    if re.fullmatch(r"_?[A-Z][a-z].*", ours) and not re.match(r"_?[A-Z][a-z]", name):
        return False
    return joined(ours) in joined(name)


@cache
def said(path: Path) -> str:
    """What a file of the package tells its readers, ends of lines and marks of comments aside."""
    text = path.read_text(encoding="utf-8")
    if path.suffix == ".py":
        tokens = tokenize.generate_tokens(io.StringIO(text).readline)
        kinds = (tokenize.COMMENT, tokenize.STRING)
        text = " ".join(token.string for token in tokens if token.type in kinds)
    return re.sub(r"[\s#*\"]+", " ", text)


READ = (".py", ".c", ".h", ".c.j2", ".h.j2")


@cache
def all_said() -> str:
    """What is in none of this no file says."""
    return "\n".join(map(said, files(*READ)))


@cache
def pages() -> tuple[Path, ...]:
    return (ROOT / "README.md", *sorted((ROOT / "docs").rglob("*.md")))


FIELD = table("The field's words")


@pytest.mark.parametrize("row", FIELD, ids=lambda row: str(row[0]))
def test_nothing_is_called_by_a_word_of_our_own(row: tuple[str, ...]) -> None:
    allowed = tuple(quoted(row[2]))
    found = {
        f"{path}: {name} has {ours}"
        for ours in quoted(row[1])
        if joined(ours) in all_joined()
        for path, names in identifiers().items()
        if not (allowed and path.startswith(allowed))
        for name in names
        if not name.startswith("__") and is_called(name, ours)
    }
    assert not found, f"say {row[0]}"


@pytest.mark.parametrize("row", FIELD, ids=lambda row: str(row[0]))
def test_nothing_is_said_in_words_of_our_own(row: tuple[str, ...]) -> None:
    for phrase in re.findall(r'"([^"]+)"', row[1]):
        for page in pages():
            assert phrase not in field_prose(page), f"{page.name}: say {row[0]}"
        for path in files(*READ) if phrase in all_said() else ():
            assert phrase not in said(path), f"{path.relative_to(PACKAGE)}: say {row[0]}"


@cache
def field_prose(page: Path) -> str:
    """A page without the table itself, in one line."""
    before, _, behind = page.read_text(encoding="utf-8").partition("\n### The field's words\n")
    return " ".join((before + behind.partition("\n### ")[2]).split())


@pytest.mark.parametrize(
    ("name", "ours", "same"),
    [
        ("take_turns", "turns", True),
        ("InTurns", "turns", True),
        ("_by_turns", "turns", True),
        ("returns", "turns", False),
        ("Decided", "Decided", True),
        ("_Decided", "Decided", True),
        ("decided", "Decided", False),
        ("WinogradAhead", "Ahead", True),
        ("EC_AHEAD_CHANNELS", "EC_AHEAD", True),
        ("ec_int8_two_rows", "int8_two", True),
        ("ec_int8_twos", "int8_two", False),
    ],
)
def test_words_of_our_own_are_seen(name: str, ours: str, same: bool) -> None:
    assert is_called(name, ours) is same


# What a docstring begins with that leaves its subject to whoever reads the name as well.
NO_SUBJECT = re.compile(r"(Of|Those|That|These|The same)\b")


def test_a_docstring_names_its_subject() -> None:
    documented = ast.Module | ast.ClassDef | ast.FunctionDef | ast.AsyncFunctionDef
    found = [
        f"{path.relative_to(PACKAGE)}: {getattr(node, 'name', path.stem)}: {text[:40]}"
        for path in files(".py")
        for source in (path.read_text(encoding="utf-8"),)
        if re.search(rf'"""\s*(?:{NO_SUBJECT.pattern})', source)  # or there is no need to parse it
        for node in ast.walk(ast.parse(source))
        if isinstance(node, documented)
        for text in (ast.get_docstring(node) or "",)
        if NO_SUBJECT.match(text)
    ]
    assert not found


def parameters(path: Path) -> Iterator[tuple[str, str]]:
    """(function or macro, parameter) of the C in ``path``."""
    heads = r"^(?:[A-Za-z_][\w*() ]*[ *])(\w+)\(([^(){};]*)\)\s*[{;]"
    for name, listed in re.findall(heads, code(path), flags=re.MULTILINE):
        for parameter in listed.split(","):
            # of a prototype without names there is no second word
            if found := re.search(r"[\w*] ?\b(\w+)(?:\[[^]]*\])*$", parameter.strip()):
                yield name, found[1]
    for name, listed in re.findall(r"#define (\w+)\(([^)]*)\)", code(path)):
        yield from ((name, parameter.strip()) for parameter in listed.split(","))


def test_parameters_of_one_letter_are_those_agreed_on() -> None:
    agreed = {letter for row in table("Letters") for letter in quoted(row[0])}
    found = {
        f"{path.relative_to(PACKAGE)}: {name}({parameter})"
        for path in C_FILES
        for name, parameter in parameters(path)
        if len(parameter) == 1 and parameter.lower() not in agreed
    }
    assert not found
    used = {parameter for path in C_FILES for _, parameter in parameters(path)}
    assert agreed <= used, "agreed on and not used"


def test_structs_are_initialised_by_name() -> None:
    """Elements of arrays have none, and a struct of two or three numbers needs none."""
    found = []
    for path in C_FILES:
        made = r"(?:(\w+) \w+ = |\((\w+)\) ?)\{([^{};]*)\}"
        for kind, literal, listed in re.findall(made, code(path)):
            if kind.endswith("_t") or "vec" in kind + literal:  # a vector
                continue
            values = [value for value in listed.split(",") if value.strip()]
            if len(values) > MOST_POSITIONAL and not listed.strip().startswith("."):
                found.append(f"{path.relative_to(PACKAGE)}: {{{listed.strip()}}}")
    assert not found
