"""Find the modules of a folder that each define one entry (an operator, a pass, an algorithm).

Adding an entry is adding a file: nothing is listed anywhere.  The scan is sorted, so the result
does not depend on the file system; a name defined twice is an error that names both modules.
"""

from __future__ import annotations

import importlib
import pkgutil
from collections.abc import Mapping
from types import ModuleType
from typing import TypeVar

from edgeconv.base.errors import UsageError
from edgeconv.base.names import did_you_mean

Entry = TypeVar("Entry")


def scan(package: ModuleType, attribute: str, kind: type[Entry]) -> dict[str, Entry]:
    """Map name -> entry for every module or sub-package of ``package`` that has ``attribute``.

    ``attribute`` is one entry or a tuple of entries, each an instance of ``kind`` with a string
    ``name``.  Raises ValueError on a duplicate name and TypeError on an entry of another kind:
    both are defects of the tool, not of its input.
    """
    found: dict[str, Entry] = {}
    origin: dict[str, str] = {}
    for module_name in sorted(m.name for m in pkgutil.iter_modules(package.__path__)):
        module = importlib.import_module(f"{package.__name__}.{module_name}")
        value = getattr(module, attribute, ())
        for entry in value if isinstance(value, tuple) else (value,):
            if not isinstance(entry, kind):
                raise TypeError(
                    f"{module.__name__}.{attribute} is not a {kind.__name__}: {entry!r}"
                )
            name = str(getattr(entry, "name"))  # noqa: B009 - Entry is any class with a name
            if name in found:
                raise ValueError(f"{name!r} defined by {origin[name]} and by {module.__name__}")
            found[name], origin[name] = entry, module.__name__
    return found


def lookup(what: str, name: str, entries: Mapping[str, Entry]) -> Entry:
    """``entries[name]``, or an EdgeconvError (exit status 2) with a "did you mean"."""
    if name in entries:
        return entries[name]
    raise UsageError(f"unknown {what}", got=repr(name), hint=did_you_mean(name, entries))
