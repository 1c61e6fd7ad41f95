"""What an ELF program puts where: sections and program headers, and which region has it."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass
from pathlib import Path

from elftools.elf.constants import SH_FLAGS

from edgeconv.run.build.elf import open_elf
from edgeconv.target.board import Board, Memory


@dataclass(frozen=True, slots=True)
class Allocated:
    """A section that takes memory.

    ``address``: where it is at run time.  ``load``: where flash holds it, None for one that starts
    with unknown or zero contents.  ``size`` in bytes.
    """

    name: str
    address: int
    load: int | None
    size: int
    executable: bool


@dataclass(frozen=True, slots=True)
class ProgramHeader:
    """What a loader is told to load (PT_LOAD): ``stored`` bytes of the file, from ``offset`` on, to
    the address ``load``, and zeros behind them up to ``size`` bytes.  ``address``: at run time."""

    address: int
    load: int
    size: int
    stored: int
    offset: int

    def load_of(self, offset: int) -> int | None:
        """Where the byte at ``offset`` of the file is loaded to; None for one that
        another header has, or none."""
        inside = self.offset <= offset < self.offset + self.stored
        return self.load + offset - self.offset if inside else None


def program_headers(path: Path) -> tuple[ProgramHeader, ...]:
    """The program headers of a linked program that are not empty, in file order."""
    with open_elf(path) as elf:
        return tuple(
            ProgramHeader(s["p_vaddr"], s["p_paddr"], s["p_memsz"], s["p_filesz"], s["p_offset"])
            for s in elf.iter_segments("PT_LOAD")
            if s["p_memsz"]
        )


def allocated(path: Path) -> tuple[Allocated, ...]:
    """The sections of a linked program that take memory, in file order; empty ones left out."""
    loaded = program_headers(path)
    with open_elf(path) as elf:
        found = []
        for section in elf.iter_sections():
            if not (section["sh_flags"] & SH_FLAGS.SHF_ALLOC and section["sh_size"]):
                continue
            load = None
            if section["sh_type"] != "SHT_NOBITS":
                # By place in the file: of headers without bytes there, one may begin in front
                # of this section in memory and have room for it.
                places = (header.load_of(section["sh_offset"]) for header in loaded)
                load = next((place for place in places if place is not None), None)
            executable = bool(section["sh_flags"] & SH_FLAGS.SHF_EXECINSTR)
            found.append(
                Allocated(section.name, section["sh_addr"], load, section["sh_size"], executable)
            )
        return tuple(found)


def region_at(board: Board, address: int) -> Memory | None:
    """The region of ``board`` that holds ``address``."""
    return next(
        (
            region
            for region in board.memory
            if region.base is not None and region.base <= address < region.base + region.size
        ),
        None,
    )


def parts_by_region(path: Path, board: Board, name: str) -> Mapping[str, Mapping[str, int]]:
    """Bytes by region and part of the firmware of network ``name``.

    Parts of flash: code, weights, rodata (constants and the initial values of variables); of RAM:
    stack, arena, io, weights that are copied there, data (variables).  ``padding``: what alignment
    leaves empty between the start of the region and the end of what lies there last.
    """
    found: dict[str, dict[str, int]] = {region.name: {} for region in board.memory}
    ends = {region.name: region.base or 0 for region in board.memory}

    def add(address: int, part: str, size: int) -> None:
        region = region_at(board, address)
        if region is not None:
            parts = found[region.name]
            parts[part] = parts.get(part, 0) + size
            ends[region.name] = max(ends[region.name], address + size)

    for section in allocated(path):
        if section.load is not None:
            add(section.load, _part_of_flash(section), section.size)
        if section.load != section.address:
            add(section.address, _part_of_ram(section.name, name), section.size)
    for region in board.memory:
        parts = found[region.name]
        parts["padding"] = ends[region.name] - (region.base or 0) - sum(parts.values())
    return found


def _part_of_flash(section: Allocated) -> str:
    if section.executable:
        return "code"
    return "weights" if _is_weights(section.name) else "rodata"


def _part_of_ram(section: str, name: str) -> str:
    if section == ".stack":
        return "stack"
    if section == f".{name}_io":
        return "io"
    if _is_weights(section):
        return "weights"
    return "arena" if section.startswith(f".{name}_arena") else "data"


def _is_weights(section: str) -> bool:
    return section == ".weights" or section.startswith(".weights_")
