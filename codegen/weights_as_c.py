"""The weight image as C arrays (``--weights c``), for toolchains without ``.incbin``."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from pathlib import Path
from typing import BinaryIO

from edgeconv.codegen.image_parts import NamedPart

_PER_LINE = 24
_AT_ONCE = _PER_LINE << 11  # bytes


def write_c(binary: Path, path: Path, parts: Sequence[NamedPart], *, placed: bool) -> None:
    """Writes the bytes of the image in ``binary`` to ``path``, an array for each of its ``parts``.
    ``placed``: a linker script of ours asks for their sections."""
    with binary.open("rb") as source, path.open("w", encoding="ascii", newline="\n") as out:
        out.write("/* The weight image; generated together with the program that reads it. */\n")
        for part in parts:
            out.write("".join(_declared(part, placed=placed)))
            out.writelines(_rows(source, part.bytes))
            out.write("};\n")


def _declared(part: NamedPart, *, placed: bool) -> Iterator[str]:
    """What stands in front of the bytes: where the linker is to put them is for the user to say."""
    upper, attribute = part.symbol.upper(), part.macro.replace("_SECTION", "_ATTRIBUTE")
    yield f"""
/* -D{part.macro}=.ext_flash puts the array into that section;
   -D{attribute}=PROGMEM, or what your compiler has for it, stands in front. */
#ifndef {attribute}
#define {attribute}
#endif
"""
    if placed:
        yield f"""#if !defined({part.macro}) && defined(__GNUC__)
#define {part.macro} {part.section}
#endif
"""
    yield f"""#ifdef {part.macro}
#define {upper}_TEXT(name) #name
#define {upper}_IN(name) __attribute__((section({upper}_TEXT(name))))
#else
#define {upper}_IN(name)
#endif
extern const unsigned char {part.symbol}[];
{upper}_IN({part.macro}) {attribute}
_Alignas(64) const unsigned char {part.symbol}[{part.bytes}] = {{
"""


def _rows(source: BinaryIO, left: int) -> Iterator[str]:
    while left and (data := source.read(min(left, _AT_ONCE))):
        left -= len(data)
        for at in range(0, len(data), _PER_LINE):
            yield ",".join(map(str, data[at : at + _PER_LINE])) + ",\n"
