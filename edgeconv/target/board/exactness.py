"""Compiler options that change what float arithmetic computes, which emitted C does not bear.

Its exponentials round by adding and taking away a constant, its padding and maxima are infinities,
and NaN goes through it as IEEE 754 says.  Options are those of "Options That Control Optimization"
in GCC's manual (14), of "Controlling Floating Point Behavior" in Clang's (19), and those that Arm
Compiler for Embedded (6.22) has of its own.
"""

from __future__ import annotations

from collections.abc import Iterable

RULE = "emitted C relies on IEEE 754: rounding, infinities, NaN, the sign of zero, subnormals"
HINT = "leave it out; -O3 -ffp-contract=fast come with every project"

# -ffast-math, what implies it, and the options that it stands for.  Of those -fno-math-errno and
# -fno-trapping-math change nothing: no function of libm is called, and nobody asks for exceptions.
_INEXACT = frozenset(
    [
        "-ffast-math",
        "-Ofast",
        "--optimize=fast",
        "-funsafe-math-optimizations",
        "-fassociative-math",
        "-freciprocal-math",
        "-ffinite-math-only",
        "-fno-signed-zeros",
        "-fsingle-precision-constant",
        "-fno-honor-nans",
        "-fno-honor-infinities",
        "-fapprox-func",
        "-mdaz-ftz",
        "-menable-unsafe-fp-math",
        "-menable-no-nans",
        "-menable-no-infs",
    ]
)
# Options with a value, and the values that change nothing.
_VALUED = {
    "-ffp-model": ("precise", "strict"),
    "-ffp-mode": ("full", "ieee", "ieee_full", "ieee_fixed", "ieee_no_fenv"),
    "-fdenormal-fp-math": ("ieee", "ieee,ieee"),
    "-fdenormal-fp-math-f32": ("ieee", "ieee,ieee"),
}


def inexact(words: Iterable[str]) -> str | None:
    """The first of the options ``words`` of a compiler that changes what arithmetic computes."""
    return next((word for word in words if _is_inexact(word)), None)


def _is_inexact(word: str) -> bool:
    option, _, value = word.partition("=")
    return word in _INEXACT or (option in _VALUED and value not in _VALUED[option])
