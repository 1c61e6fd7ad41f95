"""Which region of a bare-metal board every part of the firmware goes to."""

from __future__ import annotations

from collections.abc import Mapping, Sequence

from edgeconv.codegen.weights import ImagePart
from edgeconv.ir.link import GUARD_BYTES, FixedWords, LinkPlan, Section
from edgeconv.ir.memory import MemoryMap
from edgeconv.search.memory.banks import identifiers
from edgeconv.target.board import Board, Memory

# Kept free, beside the stack, for the variables of the start-up code and of main.
VARIABLES = 512
NULL_BYTES = 64


def reserved(
    board: Board, io_bytes: int, io_region: Memory, parts: Sequence[ImagePart] = ()
) -> dict[str, int]:
    """Bytes by region that the arena must leave: stack and variables, the caller's tensors, and
    those ``parts`` of the weight image that lie in RAM."""
    if board.firmware is None:
        return {}
    taken = {region.name: unusable(region) for region in board.ram}
    for region, size in weights_by_region(board, parts).items():
        if not region.is_flash:
            taken[region.name] += size
    taken[data_region(board).name] += kept_free(board)
    taken[io_region.name] += io_bytes
    return taken


def unusable(region: Memory) -> int:
    """Bytes at the start of a region of RAM: C takes address 0 for no address."""
    return NULL_BYTES if region.base == 0 and not region.is_flash else 0


def data_region(board: Board) -> Memory:
    """Stack and variables are what is touched most: the fastest region."""
    return board.ram[0]


def kept_free(board: Board) -> int:
    """Bytes of the first region that stack and variables get until they are known."""
    return board.firmware.stack + GUARD_BYTES + VARIABLES if board.firmware else 0


def io_regions(board: Board) -> list[Memory]:
    """Where the caller's inputs and outputs may lie, best first: touched once each, they take
    fast memory from the arena only if nothing else fits."""
    return sorted(board.ram, key=lambda region: -region.size)


def io_region(board: Board, memory: MemoryMap) -> Memory:
    """Where the caller's inputs and outputs lie."""
    return board.ram[memory.caller_bank]


def weights_region(board: Board, weights_bytes: int) -> Memory:
    """Beside the code, in the fastest flash, unless they alone exceed it and another is larger."""
    first = board.flash[0]
    if weights_bytes <= first.size:
        return first
    return max(board.flash, key=lambda region: region.size)


def part_region(board: Board, part: ImagePart) -> Memory:
    """Where a part of the weight image lies: in the memory that the user names, else as
    `weights_region` has it."""
    named = (region for region in board.memory if part.memory == region.name)
    return next(named, None) or weights_region(board, part.bytes)


def weights_by_region(board: Board, parts: Sequence[ImagePart]) -> Mapping[Memory, int]:
    """Bytes of the weight image by the region that they are read from."""
    found: dict[Memory, int] = {}
    for part in parts:
        region = part_region(board, part)
        found[region] = found.get(region, 0) + part.bytes
    return found


def link_plan(board: Board, memory: MemoryMap, parts: Sequence[ImagePart]) -> LinkPlan | None:
    """Where everything lies, the ``parts`` of the weight image too; None for a board with an
    operating system.

    Whether it all fits is for the linker to say.
    """
    if board.firmware is None:
        return None
    regions = zip(board.memory, identifiers(board.memory), strict=True)
    names = {region.name: name.upper() for region, name in regions}
    return LinkPlan(
        regions=tuple(
            Section(
                names[r.name],
                f"{r.name}, {r.kind}",
                (r.base or 0) + unusable(r),
                r.size - unusable(r),
                r.is_flash,
            )
            for r in board.memory
        ),
        code=names[board.flash[0].name],
        weights={part.memory: names[part_region(board, part).name] for part in parts},
        data=names[data_region(board).name],
        io=names[io_region(board, memory).name],
        banks={
            bank.name: names[region.name]
            for bank, region in zip(memory.banks, board.ram, strict=True)
        },
        stack=board.firmware.stack,
        interrupts=board.firmware.interrupts,
        setup=tuple((s.register, s.address, s.bits) for s in board.firmware.setup),
        clock_hz=board.clock_hz,
        start=board.architecture.start,
        stack_align=board.architecture.stack_align,
        offset=board.firmware.start,
        fixed=tuple(FixedWords(b.name, b.at, b.words) for b in board.firmware.blocks),
    )
