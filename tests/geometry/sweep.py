"""A sweep: so many geometries of a kind, in every way that its operator can compute them."""

from __future__ import annotations

from collections.abc import Callable, Iterator, Mapping, Sequence
from dataclasses import dataclass, replace
from pathlib import Path
from types import MappingProxyType

import pytest

from edgeconv.target import host
from edgeconv.target.backends import TARGETS
from edgeconv.target.targets import Target
from tests.geometry import (
    binaries,
    convolutions,
    pools,
    products,
    reductions,
    resizes,
    winograd_forms,
)
from tests.geometry.draw import Draws
from tests.geometry.once import check_once
from tests.kernels import builds
from tests.kernels.cases import Build, Case, Spec


@dataclass(frozen=True, slots=True)
class Kind:
    """``draw`` makes a geometry, ``cases`` computes it in every way there is.

    ``quick`` and ``thorough``: how many geometries `make test` and `make test-all` draw per target.
    """

    draw: Callable[[Draws], Spec]
    cases: Callable[[Spec, Target], Iterator[Case]]
    quick: int
    thorough: int


def in_every_layout(spec: Spec, target: Target) -> Iterator[Case]:
    """The one kernel that computes it, in all layouts that it offers."""
    yield from spec.cases(target)


KINDS: Mapping[str, Kind] = MappingProxyType(
    {
        "convolution": Kind(convolutions.draw, convolutions.cases, 20, 300),
        "winograd": Kind(winograd_forms.draw, winograd_forms.cases, 12, 300),
        "pool": Kind(pools.draw, in_every_layout, 40, 1000),
        "reduction": Kind(reductions.draw, in_every_layout, 40, 1000),
        "resize": Kind(resizes.draw, in_every_layout, 20, 500),
        "binary": Kind(binaries.draw, in_every_layout, 40, 1000),
        "product": Kind(products.draw, in_every_layout, 30, 1000),
    }
)


def find_build(name: str) -> Build:
    """The target, with the numbers that its core may multiply natively where this CPU does or an
    emulator stands for it; skips, by name, what is missing."""
    row = TARGETS[name]
    emulated = not builds.is_native(row)
    kernels = [
        kernel
        for kernel in TARGETS[name].kernels
        if emulated or host.running().has(kernel.cpu_flags)
    ]
    row = replace(row, features=frozenset(kernel.feature for kernel in kernels))
    return builds.find(replace(row, flags=(*row.flags, *row.feature_flags)), "gcc")


def drawn(kind: str, seed: int, numbers: Sequence[int], target: Target) -> list[Case]:
    """The cases of these geometries; a failing one says how to get it again."""
    entry, found = KINDS[kind], []
    for number in numbers:
        again = f"python -m tests.geometry {target.name} {kind} --seed {seed} --number {number}"
        for case in entry.cases(entry.draw(Draws(seed, number)), target):
            found.append(replace(case, label=f"{again}\n  {case.label}"))
    return found


def sweep(
    build: Build,
    wanted: Mapping[str, Sequence[int]],
    seed: int,
    folder: Path,
    options: Sequence[str] = (),
) -> int:
    """Check the geometries of these numbers, by kind; how many cases they made."""
    cases = [
        c for kind, numbers in wanted.items() for c in drawn(kind, seed, numbers, build.target)
    ]
    check_once(build, cases, folder, options)
    return len(cases)


def skipped(name: str) -> str:
    """Why the target cannot be run here; empty if it can."""
    try:
        find_build(name)
    except pytest.skip.Exception as reason:
        return str(reason)
    return ""
