"""Kernels compiled once for all sizes, so that thousands of geometries cost seconds.

What is emitted inlines a kernel into the function of every layer and specialises it.  Here the same
kernels are functions that take the same sizes at run time: each is compiled once, and a layer costs
no more than its tables.  Lowering, templates, packing and kernels are those of the real path; what
is not seen is what compilers make of constant sizes, which tests/kernels is for.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import replace
from pathlib import Path

from edgeconv.targets import Target
from tests.kernels.harness import Build, Case, Program, check

# Between the vector primitives, which stay inlined, and the kernels.
_ONCE = """\
#undef EC_INLINE
#define EC_INLINE static __attribute__((noinline, unused))
"""
# An unrolled loop is one whose trip count is constant, which none is here.
_ROLLED = """\
#undef EC_UNROLL
#define EC_UNROLL
"""
# What compilers cannot know of sizes at run time: that tiles have a row and a vector.
_OPTIONS = ("-Wno-maybe-uninitialized", "-Wno-sometimes-uninitialized")
BATCH = 500  # kernel calls in one program


class OnceProgram(Program):
    """A program whose kernels are functions that exist once."""

    def source(self, target: Target) -> str:
        header = f'#include "isa/{target.header}"'
        before, found, after = super().source(target).partition(header)
        assert found
        return f"{before}{_ROLLED}{header}\n{_ONCE}{after}"


def check_once(build: Build, cases: Sequence[Case], folder: Path) -> None:
    """As ``harness.check``, in programs of up to BATCH cases; every failure is told."""
    rolled = replace(build, compiler=(*build.compiler, *_OPTIONS))
    failures = []
    for first in range(0, len(cases), BATCH):
        try:
            check(rolled, cases[first : first + BATCH], folder, OnceProgram)
        except AssertionError as error:
            failures.append(str(error))
    assert not failures, "\n".join(failures)
