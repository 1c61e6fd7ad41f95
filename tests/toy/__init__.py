"""What the package does not have, as someone would add it: an algorithm, and micro-kernels."""

from __future__ import annotations

from collections.abc import Iterable, Iterator
from contextlib import contextmanager
from dataclasses import replace
from pathlib import Path

import jinja2
import pytest

from edgeconv.codegen import functions
from edgeconv.kernels import algorithms
from edgeconv.kernels.algorithms import planned
from edgeconv.target import board_folders
from edgeconv.target.backends import FOLDERS_VARIABLE
from edgeconv.target.micro_kernel import MicroKernel
from edgeconv.target.targets import Target

FOLDER = Path(__file__).parent
MEMORY_SUMS = FOLDER / "memory_sums"  # backends whose micro-kernels sum in memory


@contextmanager
def added(monkeypatch: pytest.MonkeyPatch) -> Iterator[None]:
    """Its module and its template are found beside those of the package."""
    env = functions.environment()
    assert env.loader
    own = jinja2.FileSystemLoader(FOLDER / "templates")
    monkeypatch.setattr(env, "loader", jinja2.ChoiceLoader([env.loader, own]))
    found = [*algorithms.__path__, str(FOLDER / "algorithms")]
    monkeypatch.setattr(algorithms, "__path__", found)
    algorithms.algorithms.cache_clear()
    yield
    monkeypatch.undo()
    algorithms.algorithms.cache_clear()


@contextmanager
def backends_added(folder: Path) -> Iterator[None]:
    """The backends of ``folder`` are found beside those of the package."""
    planned.cache_clear()
    with pytest.MonkeyPatch.context() as patch:
        patch.setenv(FOLDERS_VARIABLE, str(folder))
        yield
    planned.cache_clear()


def write_board(folder: Path, name: str, usual: str, isa: str) -> None:
    """The file of a board in ``folder`` that is ``usual`` but for its instruction set."""
    text = board_folders.files()[usual].read_text()
    text = text.replace(f'name = "{usual}"', f'name = "{name}"')
    text = text.replace("-mcpu=", "-mtune=")  # which would take the place of -march
    lines = text.splitlines(keepends=True)
    own = (f'isa = "{isa}"\n' if line.startswith("isa =") else line for line in lines)
    (folder / f"{name}.toml").write_text("".join(own))


def with_kernels(target: Target, kernels: Iterable[MicroKernel]) -> Target:
    """``target`` with other micro-kernels than its backend says; plans of others are forgotten."""
    planned.cache_clear()
    return replace(target, kernels=tuple(kernels))
