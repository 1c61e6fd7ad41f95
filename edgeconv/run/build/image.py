"""Whether a built program is what its report promised: sizes, places, and what it needs of others.

``check_image`` is for firmware, whose linker script decides every address; ``check_network`` for a
network that a program of an operating system links.
"""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from pathlib import Path
from typing import Any

from edgeconv.base.errors import EdgeconvError
from edgeconv.run.build.allocation import allocated, parts_by_region, program_headers, region_at
from edgeconv.run.build.compile import Binary
from edgeconv.run.build.elf import Symbol, read_sections, symbols, undefined_symbols
from edgeconv.run.build.stack import C_LIBRARY
from edgeconv.target.board import Board, Memory

STACK_BOTTOM, STACK_TOP = "firmware_stack_bottom", "firmware_stack_top"
STACK_LIMIT = "firmware_stack_limit"  # above the guard, where there is one
# Not functions: what a linker defines for position-independent code and for tables of constants.
_OF_THE_LINKER = frozenset({".TOC.", "_GLOBAL_OFFSET_TABLE_"})
_THREADS = "pthread_"
# Of the compiler's own library: what 32-bit Arm has no instruction for, as the division of int64.
_OF_THE_COMPILER = "__aeabi_"
# And atomic operations of AArch64, by the instructions that the core turns out to have.
_ATOMICS = "__aarch64_"
_PARTS = {
    "flash": ("weights", "code", "rodata", "padding"),
    "ram": ("arena", "io", "weights", "data", "stack", "padding"),
}

Report = Mapping[str, Any]


def check_image(binary: Binary, report: Report) -> None:
    """The firmware ``binary`` is what ``report`` says.

    Nothing is undefined; every section lies within one region of the board, where it runs as where
    it is loaded from, and only flash is loaded from; loaders write nothing but those contents to
    flash; weights, every part of the arena and the stack
    have the reported sizes and lie in the reported regions; every part of every region has the
    reported bytes (null: not reported yet).  Raises EdgeconvError with one line per violation.
    """
    path, board, name = binary.path, binary.board, str(report["program"]["name"])
    known = symbols(path)
    found = [f"{symbol} is undefined" for symbol in _undefined(binary, known)]
    found += _sections(path, board)
    found += _program_headers(path, board)
    found += _weights(known, board, name, report)
    found += _arena(known, board, name, report)
    found += _stack(known, board, report)
    found += _parts(path, board, name, report)
    _raise(found, path, "the report and the linker script")


def check_network(binary: Binary, report: Report, source: str) -> None:
    """The object of ``source``, the network itself, needs nothing but four functions of the C
    library, the compiler's own arithmetic, and POSIX threads where it has several, and has the
    machine code, constants and, for threads alone, variables that ``report`` says (null: not
    reported yet).

    Raises EdgeconvError with one line per violation.
    """
    path, threads = binary.objects[source], int(report.get("threads", 1)) > 1
    allowed = {*C_LIBRARY, *_OF_THE_LINKER}
    found = [
        f"{name} is called, which is none of {', '.join(sorted(C_LIBRARY))}"
        for name in undefined_symbols(path)
        if name not in allowed
        and not name.startswith(_OF_THE_COMPILER)
        and not (threads and name.startswith((_THREADS, _ATOMICS)))
    ]
    sizes = read_sections(path)
    for part, size in (("code", sizes.text), ("rodata", sizes.rodata + sizes.data)):
        found += _differs(f"{part} of {source}", size, report["flash"][part])
    variables = report["ram"]["data"] if threads else 0
    found += _differs(f"variables of {source}", sizes.bss + sizes.data * threads, variables)
    if "weights" in report["flash"]:
        weights = symbols(binary.path).get(f"{report['program']['name']}_weights")
        if weights:
            found += _differs(weights.name, weights.size, report["flash"]["weights"])
    _raise(found, path, "the report")


def _undefined(binary: Binary, known: Mapping[str, Symbol]) -> list[str]:
    """In the image, or weak in an object: linkers leave no trace of those."""
    weak = {s for path in binary.objects.values() for s in undefined_symbols(path, weak=True)}
    return sorted({*undefined_symbols(binary.path), *(weak - known.keys())})


def _sections(path: Path, board: Board) -> Iterator[str]:
    for section in allocated(path):
        run, load = region_at(board, section.address), section.load
        yield from _within(section.name, section.address, section.size, run)
        if load is not None:
            home = region_at(board, load)
            yield from _within(f"{section.name}, loaded from flash,", load, section.size, home)
            if home and not home.is_flash:
                yield f"{section.name} has contents at start, which {home.name} ({home.kind}) loses"
        elif run and run.is_flash:
            yield f"{section.name} is written to, {run.name} is flash"


def _program_headers(path: Path, board: Board) -> Iterator[str]:
    """What a loader writes, zeros behind the bytes of the file included: debuggers and emulators
    write those to the load address."""
    for header in program_headers(path):
        what = f"the header of {header.address:#x}"
        run, home = region_at(board, header.address), region_at(board, header.load)
        yield from _within(f"{what}, run", header.address, header.size, run)
        yield from _within(f"{what}, loaded", header.load, header.size, home)
        zeros = header.size - header.stored
        if zeros and home and home.is_flash:
            yield f"{what} has {zeros:,} bytes filled with zeros in {home.name}, which is flash"


def _within(what: str, address: int, size: int, region: Memory | None) -> Iterator[str]:
    place = f"{what} at {address:#x}, {size:,} bytes,"
    if region is None or region.base is None:
        yield f"{place} lies in no region"
    elif address + size > region.base + region.size:
        yield f"{place} runs past the end of {region.name}"


def _weights(known: Mapping[str, Symbol], board: Board, name: str, report: Report) -> Iterator[str]:
    if parts := report.get("placement", {}).get("parts"):
        for part in parts:
            yield from _placed(known, board, part["symbol"], part["bytes"], part["memory"])
        return
    rows = [row for row in report["flash"]["regions"] if row["weights"]]
    if rows:
        yield from _placed(
            known, board, f"{name}_weights", report["flash"]["weights"], rows[0]["name"]
        )


def _arena(known: Mapping[str, Symbol], board: Board, name: str, report: Report) -> Iterator[str]:
    """One symbol per region that has a part of the arena, and no other."""
    prefix = f"{name}_arena"
    parts = {s.name: s for s in known.values() if s.name.startswith(prefix) and s.size}
    for row in report["ram"]["regions"]:
        here = [
            part.name
            for part in parts.values()
            if _name(region_at(board, part.address)) == row["name"]
        ]
        if row["arena"] and not here:
            yield f"no part of the arena lies in {row['name']}, planned were {row['arena']:,} bytes"
        for symbol in here:
            yield from _placed(known, board, symbol, row["arena"], row["name"])
            del parts[symbol]
    for symbol in parts:
        yield f"{symbol} lies in no region of RAM"


def _stack(known: Mapping[str, Symbol], board: Board, report: Report) -> Iterator[str]:
    missing = [symbol for symbol in (STACK_BOTTOM, STACK_TOP) if symbol not in known]
    if missing:
        yield f"{missing[0]} is not defined"
        return
    bottom, top = known[STACK_BOTTOM].address, known[STACK_TOP].address
    row = next((row for row in report["ram"]["regions"] if row["stack"]), None)
    if row is None:
        return
    yield from _differs("the stack", top - bottom, row["stack"])
    if _name(region_at(board, bottom)) != row["name"]:
        yield f"the stack lies in {_name(region_at(board, bottom))}, planned was {row['name']}"
    bound = report["ram"]["stack_bound"]
    usable = top - known.get(STACK_LIMIT, known[STACK_BOTTOM]).address
    if bound is not None and bound > usable:
        yield f"the stack has {usable:,} bytes, its bound is {bound:,}"


def _parts(path: Path, board: Board, name: str, report: Report) -> Iterator[str]:
    parts = parts_by_region(path, board, name)
    for kind, named in _PARTS.items():
        for row in report[kind]["regions"]:
            found = parts[row["name"]]
            for part in named:
                yield from _differs(f"{part} in {row['name']}", found.get(part, 0), row.get(part))


def _placed(
    known: Mapping[str, Symbol], board: Board, name: str, size: int, region: str
) -> Iterator[str]:
    symbol = known.get(name)
    if symbol is None:
        yield f"{name} is not defined"
        return
    yield from _differs(name, symbol.size, size)
    place = _name(region_at(board, symbol.address))
    if place != region:
        yield f"{name} lies in {place}, planned was {region}"


def _differs(what: str, found: int, reported: int | None) -> Iterator[str]:
    if reported is not None and found != reported:
        yield f"{what}: {found:,} bytes, reported are {reported:,}"


def _name(region: Memory | None) -> str:
    return region.name if region else "no region"


def _raise(found: list[str], path: Path, rule: str) -> None:
    if found:
        raise EdgeconvError(
            "what was built is not what was promised",
            where=path.name,
            got=found[0],
            rule=f"{len(found)} contradiction{'s' if len(found) > 1 else ''} to {rule}",
            details=tuple(found),
        )
