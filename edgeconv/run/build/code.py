"""The functions of an ELF file, program or object, as decoded instructions."""

from __future__ import annotations

from bisect import bisect_right
from collections.abc import Iterator, Mapping
from dataclasses import dataclass, field, replace
from pathlib import Path
from typing import Any

from elftools.elf.constants import SH_FLAGS
from elftools.elf.relocation import RelocationSection
from elftools.elf.sections import SymbolTableSection

from edgeconv.base.errors import EdgeconvError
from edgeconv.run.build.elf import open_elf
from edgeconv.run.build.instructions import MACHINES, Instruction, Machine

# Every section of an object starts at address 0: here each gets addresses of its own, which start
# at a multiple of this.
_SECTION_ALIGNMENT = 0x1000
_MAPPING_SYMBOLS = ("$a", "$t", "$x", "$d")
_FUNCTIONS = ("STT_FUNC", "STT_LOOS")  # the latter: chosen at start by a resolver (IFUNC)
# x86-64 calls through the table of addresses that the linker fills: the symbol is named all the
# same (psABI, table 4.9: GOTPCREL, GOTPCRELX, REX_GOTPCRELX).
_THROUGH_TABLE = {"EM_X86_64": frozenset({9, 41, 42})}
# ELFv2: the local entry point is one or two instructions behind the global one.
_LOCAL_ENTRY_BYTES = 8


@dataclass(frozen=True, slots=True)
class Function:
    """``address`` to ``end``; ``source``: the file name that its STT_FILE symbol has, "" when it
    is global.  ``split_off``: a piece of another function, entered by jumps only."""

    name: str
    address: int
    end: int
    source: str
    split_off: bool


@dataclass(slots=True)
class _Section:
    address: int
    data: bytes
    modes: list[tuple[int, str]] = field(default_factory=list)  # where each kind of code starts
    # offset of the place -> (symbol, address or None when undefined, addend or None, type)
    relocations: dict[int, tuple[str, int | None, int | None, int]] = field(default_factory=dict)


class Code:
    """What can be executed in an ELF file.  Raises EdgeconvError for one of another architecture
    than the tables know, or that has no symbols."""

    def __init__(self, path: Path) -> None:
        self.path = path
        self._sections: dict[int, _Section] = {}
        with open_elf(path) as elf:
            name = elf["e_machine"], elf.elfclass
            if name not in MACHINES:
                raise EdgeconvError(
                    "no stack bound",
                    where=str(path),
                    got=f"machine {name[0]} of {name[1]} bits",
                    rule="instructions are known for "
                    + ", ".join(f"{known} of {bits} bits" for known, bits in MACHINES),
                )
            self.machine: Machine = MACHINES[name]
            self._movable = elf["e_type"] == "ET_REL"
            self._read_sections(elf)
            self.functions = self._read_symbols(elf)
            if self._movable:
                self._read_relocations(elf)
        self._starts = [function.address for function in self.functions]
        self._by_address = {function.address: function for function in self.functions}
        self._bodies: dict[int, dict[int, Instruction]] = {}

    def named(self, name: str) -> Function:
        """The function of that name.  Raises EdgeconvError when there is none."""
        for address, known in self._names.items():
            if name in known:
                return self._by_address[address]
        raise EdgeconvError("no such function", where=str(self.path), got=name)

    def global_functions(self) -> tuple[str, ...]:
        """The names that other objects can call."""
        return tuple(f.name for f in self.functions if not f.source and not f.split_off)

    def containing(self, address: int) -> Function | None:
        """The function whose body has the address."""
        index = bisect_right(self._starts, address) - 1
        function = self.functions[index] if index >= 0 else None
        return function if function and address < function.end else None

    def entered(self, address: int) -> Function | None:
        """The function that a branch to the address enters; None: it goes into the middle."""
        function = self.containing(address)
        if function is None or function.split_off:
            return None
        local = _LOCAL_ENTRY_BYTES if self.machine.elf_name == "EM_PPC64" else 0
        return function if address - function.address <= local else None

    def called(self, address: int) -> Function | None:
        """The function that a call to the address enters.  Assembly calls into the middle of
        functions too: then the rest of that one, under a name of its own."""
        function = self.entered(address) or self.containing(address)
        if function is None or self.entered(address):
            return function
        name = f"{function.name}+0x{address - function.address:x}"
        return Function(name, address, function.end, function.source, split_off=False)

    def body(self, function: Function) -> Mapping[int, Instruction]:
        """The instructions of a function by address, in order."""
        if function.address not in self._bodies:
            instructions = self._decode(function.address, function.end)
            self._bodies[function.address] = {i.address: i for i in instructions}
        return self._bodies[function.address]

    def target(self, instruction: Instruction) -> int | str | None:
        """Where a branch or call goes: an address, or the name of a function that is elsewhere.
        None when a register says it."""
        section = self._section(instruction.address)
        at = instruction.address - section.address
        far = at - self.machine.far_bytes
        for offset in (*range(at, at + instruction.size), far):
            if offset not in section.relocations:
                continue
            name, symbol, addend, kind = section.relocations[offset]
            if offset < at and kind not in self.machine.far_calls:
                continue
            through_table = kind in _THROUGH_TABLE.get(self.machine.elf_name, ())
            if instruction.meaning.target is None and not through_table:
                return None
            if symbol is None:
                return name
            if through_table:
                return symbol
            return symbol + self._addend(instruction, addend)
        return instruction.meaning.target

    def _addend(self, instruction: Instruction, addend: int | None) -> int:
        if addend is None:  # encoded in the instruction: decoded as a distance
            assert instruction.meaning.target is not None
            return instruction.meaning.target - instruction.address
        # x86-64 counts from the end of the field, which ends the instruction.
        return addend + (4 if self.machine.elf_name == "EM_X86_64" else 0)

    def _section(self, address: int) -> _Section:
        """The section that has the address, which must be that of a function."""
        return self._places[bisect_right(self._places, address, key=lambda s: s.address) - 1]

    def _decode(self, start: int, end: int) -> Iterator[Instruction]:
        section = self._section(start)
        for first, last, mode in _pieces(section.modes, start, end, self.machine):
            data = section.data[first - section.address : last - section.address]
            yield from self.machine.decode(data, first, mode)

    def _read_sections(self, elf: Any) -> None:
        free = _SECTION_ALIGNMENT
        for index, section in enumerate(elf.iter_sections()):
            executable = section["sh_flags"] & SH_FLAGS.SHF_EXECINSTR
            if executable and section["sh_size"] and section["sh_type"] != "SHT_NOBITS":
                address = free if self._movable else section["sh_addr"]
                self._sections[index] = _Section(address, section.data())
                free += -(-section["sh_size"] // _SECTION_ALIGNMENT) * _SECTION_ALIGNMENT
        self._places = sorted(self._sections.values(), key=lambda section: section.address)

    def _read_symbols(self, elf: Any) -> tuple[Function, ...]:
        """The functions by address, of several names for one the first."""
        table = elf.get_section_by_name(".symtab")
        if not isinstance(table, SymbolTableSection):
            raise EdgeconvError(
                "no stack bound", where=str(self.path), rule="its symbols are stripped"
            )
        self._names: dict[int, list[str]] = {}
        found: dict[int, Function] = {}
        source = ""
        for symbol in table.iter_symbols():
            kind = symbol["st_info"]["type"]
            if kind == "STT_FILE":
                source = symbol.name
            section = self._sections.get(symbol["st_shndx"])
            if section is None or not symbol.name:
                continue
            address = self._address(symbol, section)
            local = symbol["st_info"]["bind"] == "STB_LOCAL"
            if symbol.name.split(".")[0] in _MAPPING_SYMBOLS:
                section.modes.append((address, symbol.name[:2]))
            elif kind in _FUNCTIONS or (kind == "STT_NOTYPE" and not local):
                self._names.setdefault(address, []).append(symbol.name)
                end = address + symbol["st_size"]
                if address < section.address + len(section.data):
                    origin = source if local else ""
                    part = ".cold" in symbol.name
                    new = Function(symbol.name, address, end, origin, part)
                    found[address] = _merged(found.get(address), new)
        for section in self._sections.values():
            section.modes.sort()
        return tuple(self._ended(sorted(found.values(), key=lambda f: f.address)))

    def _ended(self, functions: list[Function]) -> Iterator[Function]:
        """Symbols written in assembly may have no size: such a function ends at the next one."""
        for index, function in enumerate(functions):
            end = function.end
            if end == function.address:
                section = self._section(function.address)
                end = section.address + len(section.data)
                if index + 1 < len(functions):
                    end = min(end, functions[index + 1].address)
            yield replace(function, end=end)

    def _address(self, symbol: Any, section: _Section) -> int:
        value = int(symbol["st_value"])
        if self.machine.elf_name == "EM_ARM" and symbol["st_info"]["type"] == "STT_FUNC":
            value &= ~1  # Thumb
        return value + (section.address if self._movable else 0)

    def _read_relocations(self, elf: Any) -> None:
        for table in elf.iter_sections():
            if not isinstance(table, RelocationSection) or table["sh_info"] not in self._sections:
                continue
            symbols = elf.get_section(table["sh_link"])
            relocations = self._sections[table["sh_info"]].relocations
            for entry in table.iter_relocations():
                if entry["r_info_type"] in self.machine.remarks:
                    continue
                symbol = symbols.get_symbol(entry["r_info_sym"])
                section = self._sections.get(symbol["st_shndx"])
                relocations[entry["r_offset"]] = (
                    symbol.name,
                    self._address(symbol, section) if section else None,
                    entry["r_addend"] if table.is_RELA() else None,
                    entry["r_info_type"],
                )


def _merged(known: Function | None, new: Function) -> Function:
    """Two symbols of one address: the name of the one that has a size, the longer body."""
    if known is None or (known.end == known.address < new.end):
        return new
    return replace(known, end=max(known.end, new.end))


def _pieces(
    modes: list[tuple[int, str]], start: int, end: int, machine: Machine
) -> Iterator[tuple[int, int, str]]:
    """First byte, end and kind of each piece of code between ``start`` and ``end``; literal pools
    and tables ($d) are left out."""
    single = "" in machine.modes
    index = bisect_right([address for address, _ in modes], start) - 1
    mode = modes[index][1] if index >= 0 else next(iter(machine.modes))
    at = start
    for address, following in [*modes[index + 1 :], (end, "")]:
        if mode != "$d" and min(address, end) > at:
            yield at, min(address, end), "" if single else mode
        if address >= end:
            return
        at, mode = address, following
