"""What a compiler put into an ELF file: section sizes and the symbols it leaves to others."""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from contextlib import contextmanager
from dataclasses import dataclass
from pathlib import Path

from elftools.common.exceptions import ELFError
from elftools.elf.constants import SH_FLAGS
from elftools.elf.elffile import ELFFile
from elftools.elf.sections import ARMAttributesSection, RISCVAttributesSection, SymbolTableSection

from edgeconv.base.errors import EdgeconvError


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
    with open_elf(path) as elf:
        for section in elf.iter_sections():
            flags = section["sh_flags"]
            if flags & SH_FLAGS.SHF_ALLOC:
                sizes[_kind(section["sh_type"], flags)] += section["sh_size"]
    return Sections(**sizes)


@dataclass(frozen=True, slots=True)
class Identity:
    """What an ELF file is for: ``machine`` as pyelftools spells it (EM_ARM), ``bits`` of an
    address, byte order, and the flags that the machine defines."""

    machine: str
    bits: int
    little_endian: bool
    flags: int


@dataclass(frozen=True, slots=True)
class Symbol:
    """``size`` in bytes, 0 where nobody has said it; ``section`` is "" for an absolute one."""

    name: str
    address: int
    size: int
    section: str


def identity(path: Path) -> Identity:
    """The header of an ELF file."""
    with open_elf(path) as elf:
        return Identity(elf["e_machine"], elf.elfclass, elf.little_endian, elf["e_flags"])


def symbols(path: Path) -> Mapping[str, Symbol]:
    """The named symbols that an ELF file defines, of several with one name a global one."""
    found: dict[str, Symbol] = {}
    with open_elf(path) as elf:
        names = [section.name for section in elf.iter_sections()]
        table = elf.get_section_by_name(".symtab")
        listed = table.iter_symbols() if isinstance(table, SymbolTableSection) else ()
        for symbol in listed:
            index = symbol["st_shndx"]
            local = symbol["st_info"]["bind"] == "STB_LOCAL"
            if index == "SHN_UNDEF" or not symbol.name or (local and symbol.name in found):
                continue
            section = names[index] if isinstance(index, int) else ""
            found[symbol.name] = Symbol(symbol.name, symbol["st_value"], symbol["st_size"], section)
    return found


def build_attributes(path: Path) -> Mapping[str, int]:
    """The numbers among the build attributes of a 32-bit Arm file ("TAG_FP_ARCH": 8); what is
    absent is 0 (Arm, Addenda to the ABI, "Build attributes").  Empty for other machines."""
    found: dict[str, int] = {}
    with open_elf(path) as elf:
        section = elf.get_section_by_name(".ARM.attributes")
        if not isinstance(section, ARMAttributesSection):
            return found
        for vendor in section.iter_subsections():
            for scope in vendor.iter_subsubsections():
                for attribute in scope.iter_attributes():
                    if isinstance(attribute.value, int):
                        found[attribute.tag] = attribute.value
    return found


def riscv_extensions(path: Path) -> frozenset[str]:
    """The letters of the extensions that a RISC-V file's Tag_RISCV_arch names ("rv32i2p1_m2p0"),
    that of the base included; empty without the tag."""
    with open_elf(path) as elf:
        section = elf.get_section_by_name(".riscv.attributes")
        if not isinstance(section, RISCVAttributesSection):
            return frozenset()
        stated = (
            attribute.value
            for vendor in section.iter_subsections()
            for scope in vendor.iter_subsubsections()
            for attribute in scope.iter_attributes("TAG_ARCH")
        )
        names = (name for value in stated for name in str(value)[len("rv32") :].split("_"))
        return frozenset(name[0] for name in names if name[:1] not in ("z", "s", "x"))


def undefined_symbols(path: Path, *, weak: bool = False) -> tuple[str, ...]:
    """The symbols an object file leaves undefined, sorted: what ``nm -u`` lists.

    ``weak``: only those that a linker may leave so, at address 0.
    """
    found: set[str] = set()
    with open_elf(path) as elf:
        for section in elf.iter_sections():
            if isinstance(section, SymbolTableSection):
                symbols = (s for s in section.iter_symbols() if s["st_shndx"] == "SHN_UNDEF")
                found |= {
                    s.name
                    for s in symbols
                    if s.name and (s["st_info"]["bind"] == "STB_WEAK" or not weak)
                }
    return tuple(sorted(found))


def _kind(section_type: str, flags: int) -> str:
    if section_type == "SHT_NOBITS":
        return "bss"
    if flags & SH_FLAGS.SHF_EXECINSTR:
        return "text"
    return "data" if flags & SH_FLAGS.SHF_WRITE else "rodata"


@contextmanager
def open_elf(path: Path) -> Iterator[ELFFile]:
    """The ELF file, while it is looked at.  Raises EdgeconvError when it is none."""
    with path.open("rb") as stream:
        try:
            yield ELFFile(stream)
        except ELFError as error:
            raise EdgeconvError("not an ELF file", where=str(path), got=str(error)) from error
