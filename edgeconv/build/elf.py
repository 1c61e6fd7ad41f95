"""What a compiler put into an ELF file: section sizes and the symbols it leaves to others."""

from __future__ import annotations

from collections.abc import Iterator
from contextlib import contextmanager
from dataclasses import dataclass
from pathlib import Path

from elftools.common.exceptions import ELFError
from elftools.elf.constants import SH_FLAGS
from elftools.elf.elffile import ELFFile
from elftools.elf.sections import SymbolTableSection

from edgeconv.errors import EdgeconvError


@dataclass(frozen=True, slots=True)
class Sections:
    """Bytes of an object or program that take memory: ``text`` (machine code), ``rodata``
    (constants), ``data`` (initialised variables), ``bss`` (zeroed variables)."""

    text: int = 0
    rodata: int = 0
    data: int = 0
    bss: int = 0

    @property
    def flash(self) -> int:
        """What lies in flash: data is copied from there at start."""
        return self.text + self.rodata + self.data

    def __add__(self, other: Sections) -> Sections:
        return Sections(
            self.text + other.text,
            self.rodata + other.rodata,
            self.data + other.data,
            self.bss + other.bss,
        )


def read_sections(path: Path) -> Sections:
    """The sizes of the allocated sections of an ELF file.  Raises EdgeconvError when it is none.

    Unwind tables count as rodata: they are loaded, although the emitted C never unwinds.
    """
    sizes = {"text": 0, "rodata": 0, "data": 0, "bss": 0}
    with _open(path) as elf:
        for section in elf.iter_sections():
            flags = section["sh_flags"]
            if flags & SH_FLAGS.SHF_ALLOC:
                sizes[_kind(section["sh_type"], flags)] += section["sh_size"]
    return Sections(**sizes)


def undefined_symbols(path: Path) -> tuple[str, ...]:
    """The symbols an object file leaves undefined, sorted: what ``nm -u`` lists."""
    found: set[str] = set()
    with _open(path) as elf:
        for section in elf.iter_sections():
            if isinstance(section, SymbolTableSection):
                symbols = section.iter_symbols()
                found |= {s.name for s in symbols if s["st_shndx"] == "SHN_UNDEF" and s.name}
    return tuple(sorted(found))


def _kind(section_type: str, flags: int) -> str:
    if section_type == "SHT_NOBITS":
        return "bss"
    if flags & SH_FLAGS.SHF_EXECINSTR:
        return "text"
    return "data" if flags & SH_FLAGS.SHF_WRITE else "rodata"


@contextmanager
def _open(path: Path) -> Iterator[ELFFile]:
    with path.open("rb") as stream:
        try:
            yield ELFFile(stream)
        except ELFError as error:
            raise EdgeconvError("not an ELF file", where=str(path), got=str(error)) from error
