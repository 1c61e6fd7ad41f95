"""README and docs: the command line takes their commands, and their links lead somewhere."""

from __future__ import annotations

import re
import shlex
from collections.abc import Iterator
from pathlib import Path

import click
import pytest

from edgeconv.app.cli import program
from edgeconv.target.backends import TARGETS
from tests import ROOT
from tests.command import parse

PAGES = sorted(
    path
    for pattern in (
        "README.md",
        "SECURITY.md",
        "docs/**/*.md",
        "examples/*/README.md",
        "findings/*.md",
    )
    for path in ROOT.glob(pattern)
)
SYNOPSES = ROOT / "docs" / "architecture.md"
ALGORITHMS = ROOT / "docs" / "algorithms.md"
TEN_MINUTES = 2000  # words
FEW = 50  # names: the tree has more

pytestmark = pytest.mark.skipif(
    not (ROOT / "README.md").is_file(), reason="not run from a source checkout"
)


def code_lines(page: Path) -> Iterator[str]:
    """The lines of fenced and of indented code blocks, continuation lines joined."""
    fenced, joined = False, ""
    for line in [*page.read_text(encoding="utf-8").splitlines(), ""]:
        marker = line.lstrip().startswith("```")
        fenced ^= marker
        inside = not marker and (fenced or line.startswith("    "))
        if joined and inside and line.startswith("         "):
            joined += " " + line.strip()
            continue
        if joined:
            yield joined
        joined = line.strip() if inside else ""


def commands(page: Path) -> Iterator[str]:
    """The ``edgeconv`` commands in a page's code blocks."""
    return (line for line in code_lines(page) if line.startswith("edgeconv "))


def is_synopsis(command: str) -> bool:
    return "[" in command


def nested(command: click.Command) -> Iterator[click.Command]:
    """A sub-command's own sub-commands."""
    if isinstance(command, click.Group):
        yield from command.commands.values()


@pytest.mark.parametrize("page", PAGES, ids=lambda page: str(page.relative_to(ROOT)))
def test_commands_are_valid(page: Path) -> None:
    for command in commands(page):
        if not is_synopsis(command):
            parse(shlex.split(command, comments=True)[1:])


def test_there_are_commands() -> None:
    assert sum(1 for page in PAGES for _ in commands(page)) > 15


def test_synopses_name_every_option() -> None:
    """The page's command line has exactly the sub-commands and options of the real one."""
    documented: dict[str, set[str]] = {}
    for command in commands(SYNOPSES):
        name = command.split()[1]
        documented[name] = set(re.findall(r"(?<![\w-])--?[a-z][a-z0-9-]*", command))
    actual = program.commands
    assert documented.keys() == actual.keys()
    for name, found in actual.items():
        spellings = [
            set(option.opts)
            for part in (found, *nested(found))
            for option in part.params
            if isinstance(option, click.Option)
        ]
        unknown = documented[name] - set().union(*spellings)
        missing = [options for options in spellings if not options & documented[name]]
        assert not unknown, f"{name}: not an option"
        assert not missing, f"{name}: not documented"


def test_what_the_tree_names_is_there() -> None:
    """Folders, and modules by their names, of the first block of the page on architecture."""
    block = SYNOPSES.read_text(encoding="utf-8").partition("## The tree")[2].partition("\n## ")[0]
    lines = "\n".join(line for line in block.splitlines() if line.startswith("    "))
    named = re.findall(r"(?<![\w<>./*-])([\w-]+(?:\.py|/))(?![\w<*])", lines)
    assert len(named) > FEW
    package = (ROOT / "edgeconv", ROOT / "codegen", ROOT / "tests", ROOT)
    there = {path.name + "/" * path.is_dir() for folder in package for path in folder.glob("*")}
    there |= {path.name + "/" * path.is_dir() for path in (ROOT / "edgeconv").rglob("*")}
    assert not set(named) - there


def test_make_targets_exist() -> None:
    targets = set(re.findall(r"^([a-z-]+):", (ROOT / "Makefile").read_text(), re.MULTILINE))
    for page in PAGES:
        for line in code_lines(page):
            if line.startswith("make "):
                assert line.split()[1] in targets, f"{page.name}: {line}"


def test_the_page_on_algorithms_takes_ten_minutes() -> None:
    """And leads to all of its subjects."""
    text = ALGORITHMS.read_text(encoding="utf-8")
    assert len(text.split()) <= TEN_MINUTES
    subjects = {page.name for page in ALGORITHMS.with_suffix("").glob("*.md")}
    assert set(re.findall(r"\(algorithms/([\w-]+\.md)", text)) == subjects


def anchors(page: Path) -> set[str]:
    """The anchors of a page's headings, as GitHub makes them."""
    headings = re.findall(r"^#+ (.*)$", page.read_text(encoding="utf-8"), re.MULTILINE)
    kept = (re.sub(r"[^\w\- ]", "", heading.lower()) for heading in headings)
    return {heading.replace(" ", "-") for heading in kept}


@pytest.mark.parametrize("page", PAGES, ids=lambda page: str(page.relative_to(ROOT)))
def test_links_lead_somewhere(page: Path) -> None:
    for link in re.findall(r"\]\(([^)\s]+)\)", page.read_text(encoding="utf-8")):
        if re.match(r"[a-z]+:", link):
            continue
        path, _, anchor = link.partition("#")
        target = (page.parent / path).resolve() if path else page
        assert target.exists(), f"{page.name}: {link}"
        assert not anchor or anchor in anchors(target), f"{page.name}: {link}"


def test_the_page_of_boards_names_every_isa() -> None:
    row = next(
        line
        for line in (ROOT / "docs" / "boards.md").read_text(encoding="utf-8").splitlines()
        if line.startswith("| `isa`,")
    )
    named = re.findall(r"`(\w+)`", row.partition("is one of")[2])
    assert sorted(named) == sorted(TARGETS)
