"""Kernels compiled once for all sizes, so that a case costs milliseconds.

What is emitted inlines a kernel into the function of every layer and specialises it.  Here the same
kernels are functions that take the same sizes at run time: each is compiled once, and a layer costs
no more than its tables.  Lowering, templates, packing and kernels are those of the real path; what
is not seen is what compilers make of constant sizes, for which there are other builds.
"""

from __future__ import annotations

from edgeconv.targets import Target

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
# What compilers cannot know of sizes at run time: that tiles have a row and a vector.  GCC would
# copy functions for the sizes of some of their calls.
_OPTIONS = {
    "gcc": ("-Wno-maybe-uninitialized", "-fno-ipa-cp"),
    "clang": ("-Wno-sometimes-uninitialized",),
}


def compiled_once(source: str, target: Target) -> str:
    """A program whose kernels are functions that exist once."""
    header = f'#include "isa/{target.header}"'
    before, found, after = source.partition(header)
    assert found
    return f"{before}{_ROLLED}{header}\n{_ONCE}{after}"


def options(compiler: str) -> tuple[str, ...]:
    """What is passed to the compiler of this name with such a program."""
    return _OPTIONS["clang" if "clang" in compiler else "gcc"]
