"""The most cycles that an inference takes, from the machine code of the firmware that is flashed.

What control flow depends on are constants of the image, so that the bound holds for the program as
the compiler has made it; what cannot be bounded is an error.  Left out: interrupts, and other
masters of the bus.
"""

from __future__ import annotations

import re
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field, replace

from edgeconv.base import limits
from edgeconv.base.errors import EdgeconvError
from edgeconv.run.build.code import Code
from edgeconv.run.build.compile import Binary
from edgeconv.run.build.elf import Symbol, symbols
from edgeconv.run.build.image import STACK_TOP
from edgeconv.run.build.project import Project
from edgeconv.run.cycles.execution import Machine
from edgeconv.run.cycles.layer_lines import layer_starts
from edgeconv.run.cycles.memory import Constants, Region, constants_of
from edgeconv.target.board import Board
from edgeconv.target.cycles import TABLES, CycleTable, table_of

# Where nothing of the board is: the structure that the caller fills.
_MODEL = 0xF000_0000
_POINTER = re.compile(r"^ {4}unsigned char \*(\w+);", re.MULTILINE)
_PLACE = re.compile(r"^struct \w+_place \{\n {4}int ([^;]+);", re.MULTILINE)
_INT = re.compile(r"\w+(?:\[(\d+)\])?")
_FRAME = 64  # bytes of the caller


@dataclass(frozen=True, slots=True)
class CycleBound:
    """Cycles of one inference at most.  ``layers``: by the position of each in the order of
    execution, empty where the compiler does not say which instruction is whose; what is between
    them is left out.  ``instructions``: on the longest path, or another.  ``source``: of the cycles
    of each instruction."""

    cycles: int
    instructions: int
    source: str
    layers: Mapping[int, int] = field(default_factory=dict)


def cycle_bound(project: Project) -> CycleBound:
    """The bound for the firmware of a project, which is built if need be.

    Raises EdgeconvError where there is none: a core without a table, a memory without wait states
    in the board's file, code whose path depends on data without end, naming function and address.
    """
    board = project.board()
    table = require_table(board)
    binary = project.build()
    starts = layer_starts(project, binary, constants_of(binary.path))
    header = (project.directory / f"{project.name}.h").read_text(encoding="utf-8")
    main = (project.directory / "main.c").read_text(encoding="utf-8")
    machine, run = machine_of(binary, table, project.name, header, main, starts)
    address, arguments, stack = run
    try:
        machine.call(address, arguments, stack)
    except RecursionError as error:
        raise EdgeconvError(
            "no bound in cycles",
            where=binary.path.name,
            rule="its branches on data are nested too deeply to follow",
        ) from error
    return CycleBound(
        machine.total,
        machine.executed,
        table.source,
        {layer: cycles for layer, cycles in machine.by_layer.items() if layer >= 0 and starts},
    )


def image_constants(project: Project) -> tuple[Constants, ...]:
    """What the firmware of a project has in flash; it is built if need be."""
    return constants_of(project.build().path)


def machine_of(
    binary: Binary,
    table: CycleTable,
    name: str,
    header: str,
    main: str,
    starts: Mapping[int, int],
) -> tuple[Machine, tuple[int, Sequence[int | None], int]]:
    """A machine with the image of ``binary``, and what it is to call: the function's address, its
    arguments and the stack.  ``header``, ``main``: the text of NAME.h and of main.c."""
    known = symbols(binary.path)
    constants = constants_of(binary.path)
    machine = Machine(
        Code(binary.path),
        constants,
        _regions(binary.board, constants, known),
        table,
        starts,
        limits.limit("cycle-steps"),
    )
    weights, arena = (known.get(f"{name}_{each}") for each in ("weights", "arena"))
    # States that have no bytes of their own are the arena's first.
    own = {"states": known.get(f"{name}_states", arena)}
    names = _POINTER.findall(header)
    pointers = [weights, *(own.get(each, known.get(f"{name}_{each}")) for each in names)]
    for position, pointer in enumerate(pointers):
        machine.store(_MODEL + 4 * position, pointer.address if pointer else None, 4)
    if place := _PLACE.search(header):  # of a run in steps: none has begun
        words = sum(int(count or 1) for count in _INT.findall(place[1]))
        for position in range(len(pointers), len(pointers) + words):
            machine.store(_MODEL + 4 * position, 0, 4)
    call = re.search(rf"\b{name}_run\(model((?:, \w+)*)\);", main)
    if call is None or f"{name}_run" not in known or STACK_TOP not in known:
        raise EdgeconvError(
            "no bound in cycles", where=binary.path.name, rule=f"main does not call {name}_run"
        )
    tensors = (known.get(each) for each in call[1].split(", ")[1:])
    arguments = [_MODEL, *(each.address if each else None for each in tensors)]
    return machine, (known[f"{name}_run"].address, arguments, known[STACK_TOP].address - _FRAME)


def require_table(board: Board) -> CycleTable:
    """The cycles of the instructions of a board's core.  Raises EdgeconvError where they are not
    known, or depend on a cache."""
    table = table_of(board.cycles_as or board.cpu)
    if table is None or board.caches:
        cores = ", ".join(core for table in TABLES for core in table.cores)
        raise EdgeconvError(
            "no bound in cycles",
            where=f"board {board.name}",
            got=board.cpu + (" with a data cache" if board.caches else ""),
            rule=f"cycles of instructions are known of {cores} without caches",
            hint=""
            if board.caches
            else "`cycles_as` in a copy of the board's file takes those of one",
        )
    if board.cycles_as:
        table = table.taken_for(board.cpu)
    if board.multiply_cycles and "mul" in table.cycles:
        return replace(table, cycles={**table.cycles, "mul": board.multiply_cycles})
    return table


def _regions(
    board: Board, constants: Sequence[Constants], known: Mapping[str, Symbol]
) -> tuple[Region, ...]:
    """The regions of the board that the image uses, with their wait states."""
    placed = {each.address for each in constants} | {each.address for each in known.values()}
    found = []
    for memory in board.memory:
        base = memory.base or 0
        if not any(base <= address < base + memory.size for address in placed):
            continue
        if memory.wait_states is None:
            raise EdgeconvError(
                "no bound in cycles",
                where=f"board {board.name}, memory {memory.name}",
                rule="its wait states are not stated",
                hint="a copy of the board's file with `wait_states`, at its clock",
            )
        found.append(
            Region(
                memory.name,
                base,
                memory.size,
                memory.wait_states,
                memory.read_bytes,
                has_code=memory.is_flash,
            )
        )
    return tuple(found)
