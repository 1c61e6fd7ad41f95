"""The runtime headers a program uses, copied once each between Begin and End banners."""

from __future__ import annotations

import re
from collections.abc import Iterable, Iterator, Mapping, Sequence

from edgeconv.codegen.c_names import c_float
from edgeconv.codegen.guarded import MEMORY_SUMS, for_program, kinds_of, says_a_kind
from edgeconv.ir.encoding import Encoding
from edgeconv.ir.requantisation.scalings import (
    FIXED,
    OFFSETS,
    TIES,
    TWICE,
    kind_of,
    right_of,
)
from edgeconv.kernels import headers as runtime_headers
from edgeconv.kernels.storage import format_of
from edgeconv.target.backends import micro_kernels
from edgeconv.target.cache import ASSUMED_LINE
from edgeconv.target.targets import PANELS

_INCLUDE = re.compile(r'^#include "([^"]+)"\n', re.MULTILINE)
_GUARD = re.compile(r"^#ifndef (EC_\w+_H)\n#define \1$", re.MULTILINE)
_LINE = re.compile(r"#ifndef EC_LINE_BYTES\n(#define EC_LINE_BYTES )\d+\n#endif\n")
_STANDARD = re.compile(r"^#include <[^>]+>\n", re.MULTILINE)
# What is included for headers whose names begin so, where nothing has another format than float32,
# or where no tensor has.
NOTHING_STORED = {"ec_stored_": "ec_stored_float32.h"}
TENSORS_IN_FLOAT32 = {"ec_tile_decoded": "ec_tile_float32.h"}
# What is included for headers whose names begin so, by how sums in integers are scaled.
SCALINGS: Mapping[str, Mapping[str, str]] = {
    FIXED: {},
    **{
        scaling: {
            "ec_scaling.h": f"ec_scaling_{scaling}.h",
            "ec_int8_scaling.h": f"ec_int8_scaling_{scaling}.h",
        }
        for scaling in (OFFSETS, TIES, TWICE)
    },
}
ROUTINES = "routines"
ON_INTEGERS = "ec_int8_winograd.h"  # what routines on integers stand in front of
_STORED = {
    frozenset(
        {8}
    ): "/* Results that the model rounds to eight bits are stored as int8(scale, zero): number =\n"
    "   (integer - zero) * scale. */\n",
    frozenset(
        {16}
    ): "/* Results that the model rounds to 16 bits are stored as int16(scale, zero): number =\n"
    "   (integer - zero) * scale. */\n",
    frozenset(
        {8, 16}
    ): "/* Results that the model rounds to 8 or 16 bits are stored as int8(scale, zero) or\n"
    "   int16(scale, zero): number = (integer - zero) * scale. */\n",
}
_TRUNCATE = (
    "/* Results in fewer bits are truncated, not rounded to nearest. */\n#define EC_TRUNCATE 1\n"
)


_RIGHT = (
    "/* Sums in integers become results by a shift of so many bits (ec_int8_scaling.h). */\n"
    "#define EC_INT8_RIGHT {right}\n"
)


def quantised_table(scaled: Sequence[Encoding]) -> str:
    """What ec_stored.h must know of the formats of int8 and int16 results, and their names."""
    pairs = ", \\\n    ".join(
        f"{{{c_float(each.scale[0])}, {c_float(float(each.zero[0]))}}}" for each in scaled
    )
    names = "".join(
        f"#define {format_of(each).enumerator} (EC_Q{each.bits} + {number}) /* {each} */\n"
        for number, each in enumerate(scaled)
    )
    return (
        f"{_STORED[frozenset(each.bits for each in scaled)]}"
        f"#define EC_Q8_TABLE \\\n    {pairs}\n{names}"
    )


def micro_kernel_list(headers: Iterable[str]) -> str:
    """What ec_micro_kernel.h must know where there are headers of others than float32's; else
    nothing."""
    rows = [row for row in micro_kernels() if row.header and row.header in headers]
    in_registers = [PANELS, *(row.prefix for row in rows if not row.memory_sums)]
    in_memory = [row.prefix for row in rows if row.memory_sums]
    lists = {"EC_MICRO_KERNELS": in_registers, MEMORY_SUMS: in_memory}
    return "".join(
        f"#define {name}(ROW) {_listed(prefixes)} /* those in use */\n"
        for name, prefixes in lists.items()
        if rows and prefixes
    )


def _listed(prefixes: Iterable[str]) -> str:
    return " ".join(f"ROW({prefix}, {prefix.upper()})" for prefix in dict.fromkeys(prefixes))


def _read(name: str, instead: Mapping[str, str], guarded: set[str]) -> str:
    """A header with its own ``#include "..."`` lines replaced by what they name, or by what stands
    ``instead`` for it; nothing where it is ``guarded`` against a second time, and was read."""
    name = next((other for start, other in instead.items() if name.startswith(start)), name)
    if name in guarded:
        return ""
    text = runtime_headers.find(name).read_text(encoding="utf-8")
    if _GUARD.search(text):
        guarded.add(name)

    def included(match: re.Match[str]) -> str:
        return _read(match.group(1), instead, guarded)

    return _INCLUDE.sub(included, text)


def _banner(kind: str, name: str) -> str:
    return f"/*{f' {kind} {name} ':*^96}*/\n"


def amalgamate(
    isa_header: str,
    kernels: Iterable[str],
    *,
    stored: bool = False,
    tensors: bool = True,
    truncate: bool = False,
    scaled: Sequence[Encoding] = (),
    routines: str = "",
    integer_routines: str = "",
    workers: bool = False,
    scaling: str = FIXED,
    line_bytes: int = ASSUMED_LINE,
) -> Iterator[str]:
    """The common header, the ISA header and the kernels in the given order, each once; first of
    these what says of which kind the program is (`kinds_of`).

    ``stored``: something is stored in another format than float32.  A program without has a header
    of a few lines where the ISA's loads and stores of such formats would be.  ``tensors``: tensors
    are, not weights alone.  ``truncate``: stores drop bits in place of rounding to nearest.
    ``scaled``: the encodings of int8 results, each once.  ``routines``: C on the ISA's vectors that
    kernels call (`routines_header`), and those on vectors of integers.
    ``workers``: several share the layers.
    ``scaling``: of sums in integers, a row of ``SCALINGS``.
    ``line_bytes``: a line of the board's data cache, 0 where it has none and nothing is fetched.
    """
    if stored and truncate:
        yield _TRUNCATE
    if scaled:
        yield quantised_table(scaled)
    names = list(dict.fromkeys(kernels))
    if right := right_of(scaling):
        yield _RIGHT.format(right=right)
    if kernels_listed := micro_kernel_list(names):
        yield kernels_listed
    instead = {**SCALINGS[kind_of(scaling)], **({} if stored else NOTHING_STORED)}
    instead = instead if stored and tensors else instead | TENSORS_IN_FLOAT32
    wanted = ["ec_common.h", isa_header, *names]
    guarded: set[str] = set()
    texts = [_read(name, instead, guarded) for name in wanted]
    texts[0] = _LINE.sub(rf"\g<1>{line_bytes or ASSUMED_LINE}\n", texts[0])
    kinds = kinds_of(texts, workers=workers, memory_sums=MEMORY_SUMS in kernels_listed)
    sections = [*zip(wanted, texts, strict=True)]
    # Kernels whose own layers fetch nothing have the fetches too, in a program in which others do:
    # what says of which kind it is stands in front of all kernels.
    sections[2:] = sorted(sections[2:], key=lambda section: not says_a_kind(section[1]))
    for name, whole in sections:
        text = for_program(whole, kinds)
        if name == ON_INTEGERS:
            yield _banner("Begin", ROUTINES) + integer_routines + _banner("End", ROUTINES)
        yield _banner("Begin", name) + text + _banner("End", name)
        if routines and name == isa_header:
            yield _banner("Begin", ROUTINES) + routines + _banner("End", ROUTINES)
