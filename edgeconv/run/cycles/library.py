"""Functions of the compiler's library, and how often their loops go round at most.

Their loops end when bits of an operand say so: none takes less than a bit at a time.
"""

from __future__ import annotations

import re

# They depend on their arguments alone (Arm, Run-time ABI for the Arm Architecture, 4).
_PREFIXES = ("__aeabi_", "__")
_ONE_ARGUMENT = frozenset({"__clzsi2", "__ctzsi2"})
# What a loop goes through: bits of a quotient, or of a significand (IEEE 754).
_ROUNDS = (
    (re.compile(r"__(aeabi_)?u?(idiv|idivmod|divsi3|modsi3)"), 32),
    (re.compile(r"__aeabi_u?ldivmod|__u?(div|mod|divmod)di[34]"), 64),
    (re.compile(r"__aeabi_c?[fi]\w+|__\w+sf[23]?|__\w+sf[sd]i"), 24),
    (re.compile(r"__aeabi_c?[dl]\w+|__\w+df[23]?|__\w+df[sd]i"), 53),
)


def arguments_of(name: str) -> int | None:
    """How many registers of arguments decide on the path of a function; None: it is none of the
    library."""
    if not name.startswith(_PREFIXES):
        return None
    return 1 if name in _ONE_ARGUMENT else 2


def rounds_of(name: str) -> int | None:
    """How often any loop of a function goes round; None: it is not known."""
    return next((most for pattern, most in _ROUNDS if pattern.fullmatch(name)), None)
