"""Deviations from MISRA C:2012 that emitted code makes on purpose, each with its reason."""

from __future__ import annotations

from dataclasses import dataclass

REQUIRED, ADVISORY = "required", "advisory"


@dataclass(frozen=True, slots=True)
class Deviation:
    """``rules`` by number, of one category; ``where``: in which files of a project; ``why``."""

    rules: tuple[str, ...]
    category: str
    where: str
    why: str


# As docs/misra.md has them.
DEVIATIONS = (
    Deviation(
        ("2.2",),
        REQUIRED,
        "runtime",
        "factors that are 1 on this board: vectors of one element (`* EC_VL`), tiles of one "
        "pixel. The text is that of every board",
    ),
    Deviation(
        ("5.7",),
        REQUIRED,
        "all",
        "the addon takes enumerations without a tag for tags of one name",
    ),
    Deviation(
        ("8.14",),
        REQUIRED,
        "`startup.c`",
        "`restrict` in `memcpy`, whose prototype the standard gives",
    ),
    Deviation(
        ("9.3",),
        REQUIRED,
        "network",
        "tables of a plan name the members that are not zero; the rest is zero by the standard",
    ),
    Deviation(
        ("10.1",),
        REQUIRED,
        "runtime",
        "right shifts of negative integers are arithmetic on every compiler that is supported "
        "(`tests` run each); rescaling rests on them",
    ),
    Deviation(
        ("10.3",),
        REQUIRED,
        "runtime",
        "results of comparisons kept in an `int`; products of `int` added to pointers",
    ),
    Deviation(
        ("10.4",),
        REQUIRED,
        "runtime",
        "`int` beside `ptrdiff_t` and `size_t` in addresses, whose ranges the planner has proven",
    ),
    Deviation(
        ("10.8",),
        REQUIRED,
        "runtime",
        "sums that wrap are computed unsigned and cast back, and 32-bit factors widened behind "
        "their product where it is proven to fit",
    ),
    Deviation(
        ("11.3",),
        REQUIRED,
        "runtime",
        "packed filters, which lie aligned, read as 16-bit and 32-bit words",
    ),
    Deviation(
        ("11.6",),
        REQUIRED,
        "network",
        "`init` tests the alignment of arena and weights through `uintptr_t`",
    ),
    Deviation(
        ("11.8",),
        REQUIRED,
        "runtime",
        "the addon takes an address computed from `const` operands for `const` itself",
    ),
    Deviation(
        ("14.2",),
        REQUIRED,
        "all",
        "loops whose step is computed in the body: strips of what is left of a row",
    ),
    Deviation(
        ("14.4",),
        REQUIRED,
        "runtime",
        "integers as conditions",
    ),
    Deviation(
        ("15.6",),
        REQUIRED,
        "all",
        "bodies of one statement have no braces; `-Wall -Wextra`, which warns of misleading "
        "indentation, is clean",
    ),
    Deviation(
        ("15.7",),
        REQUIRED,
        "runtime",
        "`else if` without a last `else`, where nothing is left to do",
    ),
    Deviation(
        ("16.6",),
        REQUIRED,
        "runtime",
        "a `switch` over formats, of whose cases this program has one",
    ),
    Deviation(
        ("17.7",),
        REQUIRED,
        "runtime",
        "`memcpy` and `memset`, whose result is their operand",
    ),
    Deviation(
        ("20.7",),
        REQUIRED,
        "runtime",
        "parameters of macros that are types, names or instructions, which parentheses would break",
    ),
    Deviation(
        ("21.2",),
        REQUIRED,
        "runtime, start-up",
        "declarations of `memcpy`, `memmove`, `memset`, `memcmp`, which a freestanding program "
        "has to bring",
    ),
    Deviation(
        ("2.3", "2.4", "2.5"),
        ADVISORY,
        "all",
        "the runtime's headers come with what their functions share; names for your code "
        "(sizes, layer names) that the network itself does not use",
    ),
    Deviation(
        ("8.7", "8.11"),
        ADVISORY,
        "all",
        "functions for your code; arrays whose end the linker script knows",
    ),
    Deviation(
        ("11.4", "11.5"),
        ADVISORY,
        "all",
        "registers, and operands that are `void *` since their format is of the plan",
    ),
    Deviation(
        ("12.1", "12.3"),
        ADVISORY,
        "all",
        "products beside sums without parentheses; several declarations and assignments in one "
        "line",
    ),
    Deviation(
        ("13.3", "13.4"),
        ADVISORY,
        "all",
        "`*d++ = *s++`; one value for several places",
    ),
    Deviation(
        ("15.5",),
        ADVISORY,
        "all",
        "an error returns at once",
    ),
    Deviation(
        ("17.8",),
        ADVISORY,
        "all",
        "parameters that count down",
    ),
    Deviation(
        ("18.4",),
        ADVISORY,
        "all",
        "pointers move by sums",
    ),
    Deviation(
        ("20.1", "20.10"),
        ADVISORY,
        "runtime",
        "an include behind other text, where a header of intrinsics is needed; names of kernels "
        "built from a row's name",
    ),
)


def deviation_of(rule: str) -> Deviation | None:
    """The record of a rule, None where there is none."""
    return next((each for each in DEVIATIONS if rule in each.rules), None)
