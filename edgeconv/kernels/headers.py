"""The C headers of the runtime: where they lie, and how programs of ours are told.

``runtime_c`` has those of all instruction sets; what one alone has is in the folder of its backend.
A header is named without its folder, so that names are unique: its include guard says so too.
"""

from __future__ import annotations

from collections.abc import Mapping
from functools import cache
from importlib import resources
from pathlib import Path

from edgeconv.base.errors import UsageError
from edgeconv.target import backends

_SHARED = ("", "isa", "kernels", "storage")  # folders of runtime_c


@cache
def runtime() -> Path:
    """The folder of the headers that all instruction sets share."""
    return Path(str(resources.files("edgeconv.kernels.runtime_c")))


def folders() -> tuple[Path, ...]:
    """All that have headers.  Raises as `backends.folders`."""
    return _folders(backends.named())


def find(name: str) -> Path:
    """The file of a header.

    Raises UsageError where there is none, as of a backend that lacks its own, where two have one
    name, and as `folders`.
    """
    found = _files(backends.named()).get(name)
    if found is None:
        raise UsageError(
            "no such header",
            got=name,
            rule="a backend's folder has every header that its rows name",
            hint="write it, or correct the row",
        )
    return found


def include_flags() -> tuple[str, ...]:
    """What tells a C compiler where headers are."""
    return tuple(f"-I{folder}" for folder in folders())


@cache
def _folders(named: str) -> tuple[Path, ...]:
    """The folders where ``named`` are the folders of further backends, as in `backends.named`."""
    of_isas = dict.fromkeys(backends.folders_within(named).values())  # which several may share
    return (*(runtime() / name for name in _SHARED), *of_isas)


@cache
def _files(named: str) -> Mapping[str, Path]:
    """Name -> header of these folders."""
    found: dict[str, Path] = {}
    for folder in _folders(named):
        for path in sorted(folder.glob("*.h")):
            if found.setdefault(path.name, path) != path:
                raise UsageError(
                    "two headers of one name",
                    where=str(path),
                    rule=f"{found[path.name]} has it too",
                    hint="rename one of them, and its include guard",
                )
    return found
