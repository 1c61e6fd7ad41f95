"""Which layer the instructions of NAME_run belong to, by the line numbers that a compiler notes."""

from __future__ import annotations

import re
from bisect import bisect_right
from collections.abc import Iterator, Mapping, Sequence
from pathlib import Path
from tempfile import TemporaryDirectory
from typing import Any

from elftools.dwarf.die import DIE
from elftools.dwarf.dwarfinfo import DWARFInfo
from elftools.dwarf.lineprogram import LineProgram

from edgeconv.base.errors import EdgeconvError
from edgeconv.run.build.compile import Binary, compile_project, optimised_for
from edgeconv.run.build.elf import open_elf
from edgeconv.run.build.project import Project
from edgeconv.run.cycles.memory import Constants, constants_of

# Line numbers go to sections that are not loaded: the code is the same with them.
_FLAGS = ("-g",)


def layer_starts(
    project: Project, binary: Binary, constants: Sequence[Constants]
) -> Mapping[int, int]:
    """Addresses of NAME_run where another layer begins, and which; empty where the compiler makes
    other code when it notes lines."""
    with TemporaryDirectory(prefix="edgeconv-lines-") as folder:
        image = Path(folder) / binary.path.name
        try:
            compile_project(
                project.directory,
                project.board(),
                sources=project.sources,
                out=image,
                extra_flags=_FLAGS,
                compiler=binary.compiler,
                linker_script=project.linker_script,
                code=optimised_for(project.report["program"]),
            )
        except EdgeconvError:
            return {}
        if tuple(constants_of(image)) != tuple(constants):
            return {}
        text = (project.directory / f"{project.name}.c").read_text(encoding="utf-8")
        places = _places(image, f"{project.name}.c", f"{project.name}_run")
    layers = _layers(text, project.name)
    found: dict[int, int] = {}
    now = -1
    for address, line in places:
        if line in layers and layers[line] != now:
            now = found[address] = layers[line]
    return found


def _layers(text: str, name: str) -> dict[int, int]:
    """Line -> layer: of each line of NAME_run the one that is done next."""
    lines = text.splitlines()
    start = max(i for i, line in enumerate(lines) if line.startswith(f"int {name}_run("))
    done = re.compile(rf"{name}_(?:done|made)\(([0-9]+),")
    end = next(i for i in range(start, len(lines)) if lines[i] == "}")
    found, layer = {}, None
    for number in range(end, start, -1):
        match = done.search(lines[number])
        layer = int(match[1]) if match else layer
        if layer is not None:
            found[number + 1] = layer
    return found


def _places(image: Path, source: str, function: str) -> list[tuple[int, int]]:
    """Addresses of ``function`` and the line of ``source`` that each is of, in order: of what was
    inlined that of the call."""
    with open_elf(image) as elf:
        dwarf = elf.get_dwarf_info()
        for unit in dwarf.iter_CUs():
            for die in unit.get_top_DIE().iter_children():
                name = die.attributes.get("DW_AT_name")
                if name is None or name.value.decode() != function or not _ranges(die, dwarf):
                    continue
                program = dwarf.line_program_for_CU(unit)
                found = _rows(program, source) if program else {}
                (first, end), *_ = _ranges(die, dwarf)
                found = {at: line for at, line in found.items() if first <= at < end}
                rows, base = sorted(found), dict(found)
                for inlined in _inlined(die):
                    line = inlined.attributes["DW_AT_call_line"].value
                    pieces = _ranges(inlined, dwarf)
                    for begin, behind in (each for each in pieces if each[0] < each[1]):
                        if behind not in found and behind < end:  # goes on as before
                            found[behind] = base[rows[bisect_right(rows, behind) - 1]]
                        for at in [begin, *(at for at in found if begin <= at < behind)]:
                            found[at] = line
                return sorted(found.items())
    return []


def _rows(program: LineProgram, source: str) -> dict[int, int]:
    """Address -> line, 0 of another file."""
    states = (entry.state for entry in program.get_entries())
    return {
        state.address: state.line if _file(program, state.file) == source else 0
        for state in states
        if state and not state.end_sequence
    }


def _inlined(die: DIE) -> Iterator[DIE]:
    """What was inlined into a function, but for what was inlined into that."""
    for child in die.iter_children():
        if child.tag == "DW_TAG_inlined_subroutine":
            if "DW_AT_call_line" in child.attributes:
                yield child
        elif child.tag == "DW_TAG_lexical_block":
            yield from _inlined(child)


def _ranges(die: DIE, dwarf: DWARFInfo) -> list[tuple[int, int]]:
    """Addresses that an entry has: begin and end of each piece."""
    attributes = die.attributes
    if "DW_AT_low_pc" in attributes and "DW_AT_high_pc" in attributes:
        low, high = attributes["DW_AT_low_pc"].value, attributes["DW_AT_high_pc"]
        return [(low, low + high.value if high.form.startswith("DW_FORM_data") else high.value)]
    if "DW_AT_ranges" not in attributes:
        return []
    lists: Any = dwarf.range_lists()
    base = die.cu.get_top_DIE().attributes.get("DW_AT_low_pc")
    start, found = base.value if base else 0, []
    for entry in lists.get_range_list_at_offset(attributes["DW_AT_ranges"].value, cu=die.cu):
        if hasattr(entry, "base_address"):
            start = entry.base_address
        else:
            by = 0 if entry.is_absolute else start
            found.append((by + entry.begin_offset, by + entry.end_offset))
    return found


def _file(program: LineProgram, number: int) -> str:
    files = program["file_entry"]
    index = number if program["version"] >= 5 else number - 1
    return Path(files[index].name.decode()).name if 0 <= index < len(files) else ""
