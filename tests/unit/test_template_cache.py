"""Compiled templates in the user's cache: used again, and never what a command fails by."""

from __future__ import annotations

import os
import stat
from collections.abc import Iterator
from concurrent.futures import ThreadPoolExecutor
from contextlib import contextmanager
from pathlib import Path
from typing import Any

import jinja2
import pytest

from edgeconv.codegen.template_cache import TemplateCache

TEXT = "{{ 1 + 1 }} is two"


class _Counted(jinja2.Environment):
    """Counts the templates that it compiles, rather than finds."""

    compiled = 0

    def _generate(self, *given: Any, **options: Any) -> str:
        self.compiled += 1
        return super()._generate(*given, **options)


def _compiled(text: str = TEXT) -> bool:
    """Whether a new environment has to compile the template; what it renders is right anyhow."""
    loader = jinja2.FunctionLoader(lambda name: (text, f"/templates/{name}", lambda: True))
    environment = _Counted(loader=loader, bytecode_cache=TemplateCache())
    assert environment.get_template("one.txt").render() == text.replace("{{ 1 + 1 }}", "2")
    return bool(environment.compiled)


@contextmanager
def _umask(mask: int) -> Iterator[None]:
    before = os.umask(mask)
    try:
        yield
    finally:
        os.umask(before)


@pytest.fixture
def cache(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    """The folder of the templates; not there yet."""
    monkeypatch.setenv("XDG_CACHE_HOME", str(tmp_path / "cache"))
    return tmp_path / "cache" / "edgeconv" / "templates"


@pytest.mark.parametrize("mask", [0o022, 0o002, 0o000])
def test_a_template_is_compiled_once(cache: Path, mask: int) -> None:
    """Where the user's group may write new files too, as many distributions have it."""
    with _umask(mask):
        assert _compiled()
        assert not _compiled()
    (kept,) = cache.iterdir()
    assert not kept.stat().st_mode & (stat.S_IWGRP | stat.S_IWOTH)


def test_another_text_is_compiled_anew(cache: Path) -> None:
    """That of another version of edgeconv at the same place, say."""
    assert _compiled()
    assert _compiled(other := TEXT + ", still")
    assert not _compiled(other)
    assert len([*cache.iterdir()]) == 1


@pytest.mark.parametrize("damage", ["emptied", "cut short", "one bit", "a folder", "a pipe"])
def test_what_is_damaged_counts_for_nothing(cache: Path, damage: str) -> None:
    assert _compiled()
    (kept,) = cache.iterdir()
    content = bytearray(kept.read_bytes())
    kept.unlink()
    if damage == "a folder":
        kept.mkdir()
    elif damage == "a pipe":
        os.mkfifo(kept)
    else:
        content[-1] ^= 1
        length = {"emptied": 0, "cut short": 40}.get(damage, len(content))
        kept.write_bytes(content[:length])
    assert _compiled()
    assert _compiled() is (damage == "a folder")


@pytest.mark.parametrize("mode", [0o620, 0o602])
def test_what_others_may_write_is_compiled_anew(cache: Path, mode: int) -> None:
    assert _compiled()
    (kept,) = cache.iterdir()
    kept.chmod(mode)
    assert _compiled()
    assert not _compiled()


def test_what_belongs_to_another_user_is_not_run(
    cache: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    assert _compiled()
    own = os.getuid()
    with monkeypatch.context() as patch:
        patch.setattr(os, "getuid", lambda: own + 1)
        assert _compiled()
    assert not _compiled()


@pytest.mark.parametrize("taken", ["", "edgeconv", "edgeconv/templates"])
def test_no_cache_can_be_made(cache: Path, taken: str) -> None:
    """A file lies where a folder would have to."""
    place = cache.parent.parent / taken
    place.parent.mkdir(parents=True, exist_ok=True)
    place.write_text("mine")
    assert _compiled()
    assert _compiled()
    assert place.read_text() == "mine"


def test_there_is_no_home(monkeypatch: pytest.MonkeyPatch, tmp_path: Path) -> None:
    def no_home() -> Path:
        raise RuntimeError("Could not determine home directory.")

    monkeypatch.delenv("XDG_CACHE_HOME", raising=False)
    monkeypatch.setattr(Path, "home", no_home)
    monkeypatch.chdir(tmp_path)
    assert _compiled()
    assert _compiled()
    assert not [*tmp_path.iterdir()]


def test_a_cache_that_is_a_link_is_followed(cache: Path, tmp_path: Path) -> None:
    (tmp_path / "elsewhere").mkdir()
    cache.parent.parent.symlink_to(tmp_path / "elsewhere")
    assert _compiled()
    assert not _compiled()
    assert len([*(tmp_path / "elsewhere" / "edgeconv" / "templates").iterdir()]) == 1


def test_several_may_write_at_once(cache: Path) -> None:
    with ThreadPoolExecutor(4) as pool:
        assert any(pool.map(lambda _: _compiled(), range(16)))
    assert not _compiled()
    assert len([*cache.iterdir()]) == 1  # and nothing that was half written
