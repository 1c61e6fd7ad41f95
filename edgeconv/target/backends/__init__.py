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
from edgeconv.target.targets import C_INTEGERS, PANELS, STRIPS, Target

FOLDERS_VARIABLE = "EDGECONV_BACKENDS"
_ROWS = "backend.py"
_SHIPPED = Path(__file__).parent


class _Targets(Mapping[str, Target]):
    """Name -> instruction set, over all folders; read again where the variable changes."""

    def __getitem__(self, name: str) -> Target:
        return _found(named())[name][0]

    def __iter__(self) -> Iterator[str]:
        return iter(_found(named()))

    def __len__(self) -> int:
        return len(_found(named()))


TARGETS: Mapping[str, Target] = _Targets()


def folders() -> Mapping[str, Path]:
    """Name -> the folder of its backend, where its headers are.  Raises as `TARGETS`, when it is
    read: UsageError where a folder of the variable, or a backend in it, cannot be used."""
    return folders_within(named())


def folders_within(named: str) -> Mapping[str, Path]:
    """`folders` where the variable says ``named``."""
    return {name: folder for name, (_, folder) in _found(named).items()}


def micro_kernels() -> tuple[MicroKernel, ...]:
    """The micro-kernels of all instruction sets, each once."""
    return _micro_kernels(named())


@cache
def _micro_kernels(named: str) -> tuple[MicroKernel, ...]:
    targets = (target for target, _ in _found(named).values())
    return tuple(dict.fromkeys(row for target in targets for row in target.all_kernels))


def named() -> str:
    """What the variable says: the folders of further backends."""
    return os.environ.get(FOLDERS_VARIABLE, "")


@cache
def _found(named: str) -> Mapping[str, tuple[Target, Path]]:
    found: dict[str, tuple[Target, Path]] = {}
    for root in [_SHIPPED, *(Path(path) for path in named.split(os.pathsep) if path)]:
        if not os.path.isdir(root):  # noqa: PTH112 - raises for no name, however long
            raise UsageError(
                "no such folder of backends", where=str(root), hint=f"correct {FOLDERS_VARIABLE}"
            )
        folders = sorted(path.parent for path in root.glob(f"*/{_ROWS}"))
        if not folders:
            raise UsageError(
                "no backend in a folder of backends",
                where=str(root),
                rule=f"each is a folder in it, with a file {_ROWS}",
                hint=f"have {FOLDERS_VARIABLE} name the folder above that of the backend",
            )
        for folder in folders:
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
        for lacks, way in _lacking(target):
            raise UsageError(
                "a backend that lacks a row",
                where=str(path),
                got=f"target {target.name!r}",
                rule=lacks,
                hint=way,
            )
    return targets


def _lacking(target: Target) -> Iterator[tuple[str, str]]:
    """What every target has and this one has not, and the way out."""
    prefixes = {row.prefix for row in target.kernels}
    for prefix, what in ((STRIPS, "the tile of strips"), (PANELS, "the kernel of packed panels")):
        if prefix not in prefixes:
            rule = f"kernels has no MicroKernel of prefix {prefix!r}, {what}"
            yield rule, "add one, with the register tiles that its header has"
    if not any(not row.feature for row in target.byte_rows):
        rule = "byte_rows has no ByteVectors for every core of it"
        yield rule, 'ByteVectors("portable", 1, 1) is one in C'
    if target.integers == C_INTEGERS and target.lanes > 1 and not target.is_scalar:
        rule = f"integers is {C_INTEGERS}, vectors of one int32, and float has {target.lanes} lanes"
        yield rule, "name a header of its own with vectors of as many int32"
