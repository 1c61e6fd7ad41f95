"""A convolution algorithm that the package does not have, as someone would add it."""

from __future__ import annotations

from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path

import jinja2
import pytest

from edgeconv.codegen import functions
from edgeconv.kernels import algorithms

FOLDER = Path(__file__).parent


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
