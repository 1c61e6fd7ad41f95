"""The tables of ``edgeconv boards`` and ``edgeconv doctor``."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import asdict
from typing import Any

from rich.console import Group
from rich.markup import escape
from rich.table import Table

from edgeconv.base.sizes import human
from edgeconv.report.narrow_tables import plain_table
from edgeconv.run.doctor import BoardCheck, Check
from edgeconv.run.machine import NewBoard
from edgeconv.target.board import Board, Energy, RunKind
from edgeconv.target.board.missing_keys import left_out


def board_table(boards: Sequence[Board]) -> Table:
    """One line per board."""
    table = plain_table("board", "ISA", "runs here", "description")
    for board in boards:
        table.add_row(board.name, board.isa, _runs(board), escape(board.description))
    return table


def board_details(board: Board) -> Group:
    """Everything about one board."""
    table = Table(box=None, pad_edge=False, show_header=False)
    table.add_column(style="dim", no_wrap=True)
    table.add_column(overflow="fold")
    for name, value in board_json(board).items():
        if name in ("name", "description") or value in (None, [], "", ()):
            continue
        for number, text in enumerate(_texts(value)):
            table.add_row(name if number == 0 else "", escape(text))
    return Group(f"[bold]{board.name}[/]: {escape(board.description)}", table)


def checked(board: Board) -> Group:
    """``board_details`` of a file that was found valid, which the first line says; then what keys
    that it leaves out cost."""
    missing = [f"left out: {each.key}: {each.costs}" for each in left_out(board)]
    valid = f"{escape(str(board.path))} is a valid board file"
    return Group(valid, board_details(board), *map(escape, missing))


def checked_json(board: Board) -> dict[str, Any]:
    """What `boards check` prints as one JSON document."""
    return {**board_json(board), "left_out": [asdict(each) for each in left_out(board)]}


def board_json(board: Board) -> dict[str, Any]:
    """What `boards show` prints as one JSON document."""
    return {
        "name": board.name,
        "description": board.description,
        "arch": board.arch,
        "isa": board.isa,
        "lanes": board.target.lanes,
        "cpu": board.cpu,
        "cores": board.cores,
        "clock_hz": board.clock_hz,
        "macs_per_cycle": board.macs_per_cycle,
        "loads_per_cycle": board.loads_per_cycle,
        "load_cycles": board.load_cycles,
        "loads_per_multiply_add": board.loads_per_multiply_add,
        "measured": asdict(board.own_rates) if board.own_rates else None,
        "fpu": board.fpu,
        "float_abi": board.float_abi,
        "caches": [asdict(cache) for cache in board.caches],
        "memory": [asdict(region) for region in board.memory],
        "energy": _energy(board.energy),
        "firmware": asdict(board.firmware) if board.firmware else None,
        "compilers": list(board.toolchain.cc),
        "flags": list(board.flags),
        "link_flags": ["-static"] if board.toolchain.static else [],
        "emulator": list(board.run.command),
        "siblings": list(board.run.siblings),
        "runs": _runs(board),
    }


def new_board(new: NewBoard) -> Group:
    """The board, its file, and the command that uses it."""
    lines = [f"board: {new.path}", f"use:   {new.use}"]
    return Group(board_details(new.board), *(escape(line) for line in lines))


def new_board_json(new: NewBoard) -> dict[str, Any]:
    """What `boards new` prints as one JSON document; speeds are in SI units where the file counts
    cycles."""
    measured, memory = new.measured, new.measured.memory
    return {
        "file": str(new.path),
        "use": new.use,
        "board": board_json(new.board),
        "measured": {
            "clock_hz": measured.clock,
            "macs_per_cycle": measured.macs_per_cycle,
            "loads_per_cycle": measured.loads_per_cycle,
            "caches": [
                {
                    "level": cache.level,
                    "latency_seconds": level.latency,
                    "bytes_per_second": level.bandwidth,
                }
                for cache, level in zip(measured.caches, measured.levels, strict=True)
            ],
            "memory": {"latency_seconds": memory.latency, "bytes_per_second": memory.bandwidth},
            "compiler": measured.compiler,
            "rounds": measured.rounds,
            "samples": measured.samples,
        },
    }


_YES, _NO = "[green]yes[/]", "[red]no[/]"


def diagnosis(checks: Sequence[Check], boards: Sequence[BoardCheck]) -> Group:
    """Two tables for a rich console: the tools, then the boards."""
    tools = Table(title="Tools", title_justify="left")
    for heading in ("kind", "for", "found", "how to get it"):
        tools.add_column(heading)
    for check in checks:
        wrong = f"[red]does not work[/]: {escape(check.problem)}" if check.problem else ""
        found = escape(check.found) or wrong or "[red]missing[/]"
        tools.add_row(
            check.kind, escape(check.what), found, "" if check.found else escape(check.install)
        )
    table = Table(title="Boards", title_justify="left")
    for heading in ("board", "ISA", "can build", "can run", "how"):
        table.add_column(heading)
    for board in boards:
        build, run = _YES if board.can_build else _NO, _YES if board.can_run else _NO
        table.add_row(board.name, board.isa, build, run, escape(board.runs))
    return Group(tools, table)


def diagnosis_json(checks: Sequence[Check], boards: Sequence[BoardCheck]) -> dict[str, Any]:
    """What `doctor` prints as one JSON document."""
    return {
        "tools": [asdict(check) for check in checks],
        "boards": [asdict(board) for board in boards],
    }


def _energy(energy: Energy | None) -> dict[str, Any] | None:
    """Joules and watts."""
    if energy is None:
        return None
    if energy.run is not None:
        return {"run": energy.run, "source": energy.source}
    return {"mac": energy.mac, **energy.byte, "idle": energy.idle, "source": energy.source}


def _runs(board: Board) -> str:
    if board.run.kind is RunKind.NONE and board.run.siblings:
        return f"as {board.run.siblings[0]}"
    return board.run.command[0] if board.run.command else board.run.kind.value


def _texts(value: Any) -> list[str]:
    """One line of text per item of a list of objects, one in all otherwise."""
    if isinstance(value, dict):
        value = [value]
    if isinstance(value, list) and isinstance(value[0], dict):
        return [
            ", ".join(
                f"{key} {_text(key, item)}" for key, item in entry.items() if item not in (None, ())
            )
            for entry in value
        ]
    return [" ".join(map(str, value)) if isinstance(value, list) else str(value)]


def _text(key: str, item: Any) -> str:
    if key in ("size", "stack"):
        return human(item)
    if key == "base":
        return f"{item:#x}"
    if key == "setup":
        return " ".join(entry["register"] for entry in item)
    return f"{item:.3g}" if isinstance(item, float) else str(item)
