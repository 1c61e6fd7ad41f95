"""Thousands of geometries in seconds: kernels are compiled once for all sizes."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import replace
from pathlib import Path

from tests.kernels.cases import Build, Case
from tests.kernels.harness import check

BATCH = 1000  # kernel calls in one program


def check_once(
    build: Build, cases: Sequence[Case], folder: Path, options: Sequence[str] = ()
) -> None:
    """As ``harness.check``, in programs of up to BATCH cases; every failure is told.

    ``options`` of the compiler come last.
    """
    once = replace(build, compiler=(*build.compiler, *options), compiled_once=True)
    failures = []
    for first in range(0, len(cases), BATCH):
        try:
            check(once, cases[first : first + BATCH], folder)
        except AssertionError as error:
            failures.append(str(error))
    assert not failures, "\n".join(failures)
