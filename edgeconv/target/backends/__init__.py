"""Backends: a folder for each instruction set, with ``backend.py`` (its rows) and its C headers.

They are found by scanning this folder and those that EDGECONV_BACKENDS names, which the variable
separates as PATH is; adding one is adding a folder.  ``backend.py`` defines ``TARGET``, a
`targets.Target`, or a tuple of such (of one instruction set by lengths of vectors, say).  What a
backend of another folder says is run as Python, as what PYTHONPATH names is.  CMake reads the rows
too, so that this package needs nothing but Python.
"""

from __future__ import annotations

import importlib
import importlib.util
import os
from collections.abc import Iterator, Mapping
from functools import cache
from pathlib import Path

from edgeconv.base.errors import UsageError
from edgeconv.target.micro_kernel import MicroKernel
from edgeconv.target.targets import Target

FOLDERS_VARIABLE = "EDGECONV_BACKENDS"
_ROWS = "backend.py"
_SHIPPED = Path(__file__).parent


class _Targets(Mapping[str, Target]):
    """Name -> instruction set, over all folders; read again where the variable changes."""

    def __getitem__(self, name: str) -> Target:
        return _found(_named())[name][0]

    def __iter__(self) -> Iterator[str]:
        return iter(_found(_named()))

    def __len__(self) -> int:
        return len(_found(_named()))


TARGETS: Mapping[str, Target] = _Targets()


def folders() -> Mapping[str, Path]:
    """Name -> the folder of its backend, where its headers are.  Raises as `TARGETS`, when it is
    read: UsageError where a folder of the variable, or a backend in it, cannot be used."""
    return {name: folder for name, (_, folder) in _found(_named()).items()}


def micro_kernels() -> tuple[MicroKernel, ...]:
    """The micro-kernels of all instruction sets, each once."""
    return tuple(dict.fromkeys(row for target in TARGETS.values() for row in target.all_kernels))


def _named() -> str:
    return os.environ.get(FOLDERS_VARIABLE, "")


@cache
def _found(named: str) -> Mapping[str, tuple[Target, Path]]:
    found: dict[str, tuple[Target, Path]] = {}
    for root in [_SHIPPED, *(Path(path) for path in named.split(os.pathsep) if path)]:
        if not os.path.isdir(root):  # noqa: PTH112 - raises for no name, however long
            raise UsageError(
                "no such folder of backends", where=str(root), hint=f"correct {FOLDERS_VARIABLE}"
            )
        for folder in sorted(path.parent for path in root.glob(f"*/{_ROWS}")):
            for target in _read(folder):
                if target.name in found:
                    raise UsageError(
                        "two backends of one name",
                        where=str(folder),
                        got=repr(target.name),
                        rule=f"{found[target.name][1]} has it too",
                        hint="rename one of them",
                    )
                found[target.name] = target, folder
    return found


def _read(folder: Path) -> tuple[Target, ...]:
    """What the file of a folder defines, or a UsageError that says what is wrong with it."""
    path = folder / _ROWS
    if folder.parent == _SHIPPED:
        module = importlib.import_module(f"{__name__}.{folder.name}.backend")
        return _targets(module, path)
    spec = importlib.util.spec_from_file_location(f"{__name__}.of.{folder.name}", path)
    assert spec is not None
    assert spec.loader is not None  # of a file whose name ends in .py
    module = importlib.util.module_from_spec(spec)
    try:
        spec.loader.exec_module(module)
    except Exception as error:  # whatever it may be: the file is not ours
        raise UsageError(
            "a backend cannot be read",
            where=str(path),
            got=f"{type(error).__name__}: {error}",
            hint="correct it, or leave its folder out of " + FOLDERS_VARIABLE,
        ) from error
    return _targets(module, path)


def _targets(module: object, path: Path) -> tuple[Target, ...]:
    stated = getattr(module, "TARGET", None)
    targets = stated if isinstance(stated, tuple) else (stated,)
    for target in targets:
        if not isinstance(target, Target):
            raise UsageError(
                "a backend without a target",
                where=str(path),
                got=type(target).__name__,
                rule="TARGET is an edgeconv.target.targets.Target, or a tuple of them",
            )
    return targets
