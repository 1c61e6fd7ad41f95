from __future__ import annotations

import importlib
import sys
from collections.abc import Callable
from dataclasses import dataclass
from pathlib import Path
from types import ModuleType

import pytest

from edgeconv.base.errors import EdgeconvError, Exit
from edgeconv.base.registry import lookup, scan


@dataclass(frozen=True)
class Entry:
    name: str


Package = Callable[[dict[str, str]], ModuleType]


@pytest.fixture
def package(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Package:
    """Make a package of the given modules (name -> entries, as Python) and import it."""

    def make(modules: dict[str, str]) -> ModuleType:
        name = "scanned_package"
        folder = tmp_path / name
        folder.mkdir()
        (folder / "__init__.py").write_text("")
        for module, entries in modules.items():
            text = f"from {__name__} import Entry\nENTRY = {entries}\n" if entries else ""
            (folder / f"{module}.py").write_text(text)
        monkeypatch.syspath_prepend(str(tmp_path))
        for module in [m for m in sys.modules if m.partition(".")[0] == name]:
            monkeypatch.delitem(sys.modules, module)
        importlib.invalidate_caches()
        return importlib.import_module(name)

    return make


def test_scan_finds_single_entries_and_tuples_in_sorted_order(package: Package) -> None:
    made = package(
        {"zeta": "Entry('a')", "alpha": "(Entry('z'), Entry('m'))", "helpers_without_entry": ""}
    )
    assert list(scan(made, "ENTRY", Entry)) == ["z", "m", "a"]


def test_scan_refuses_a_duplicate_and_names_both_modules(package: Package) -> None:
    made = package({"one": "Entry('same')", "two": "Entry('same')"})
    with pytest.raises(ValueError, match=r"'same'.*package\.one.*package\.two"):
        scan(made, "ENTRY", Entry)


def test_scan_refuses_another_kind(package: Package) -> None:
    with pytest.raises(TypeError, match=r"package\.one\.ENTRY is not a Entry: 'text'"):
        scan(package({"one": "'text'"}), "ENTRY", Entry)


def test_lookup_returns_the_entry() -> None:
    assert lookup("board", "host", {"host": 1}) == 1


def test_lookup_suggests_the_closest_name() -> None:
    known = {"jetson-tx1": 1, "raspberry-pi-4": 2}
    with pytest.raises(EdgeconvError, match="did you mean jetson-tx1") as caught:
        lookup("board", "jetson-xt1", known)
    assert caught.value.code is Exit.USAGE
    assert "raspberry" not in str(caught.value)
