"""Layers of a firmware under QEMU: the cycles predicted of each, the instructions that it executes,
and the cycles that these take by the manual of a core of one instruction at a time."""

from __future__ import annotations

import re
import tempfile
from collections import defaultdict
from collections.abc import Iterator
from dataclasses import dataclass, replace
from pathlib import Path

from elftools.elf.elffile import ELFFile
from elftools.elf.sections import SymbolTableSection

from counting.program import build_plugin
from edgeconv.app.tuning.firmware import LAYER, NAME, printed_ticks, ticking_image
from edgeconv.app.tuning.program import random_inputs
from edgeconv.base.arguments import SPEED
from edgeconv.base.errors import EdgeconvError
from edgeconv.ir.choice import Choice, Layer
from edgeconv.ir.memory import MemoryMap
from edgeconv.run.build import find_compiler
from edgeconv.search.predict import predict
from edgeconv.target.board import Board
from edgeconv.target.targets import THUMB_1

SECONDS = 600.0  # in which any emulator is done
_COUNTED = re.compile(r"^counted ([0-9]+) ([0-9]+)$", re.MULTILINE)


@dataclass(frozen=True, slots=True)
class Counted:
    """``predicted``: cycles; ``instructions``: executed, and the ``cycles`` that they take at least
    by the manual of a Cortex-M0 or, where the core has more than it, of a Cortex-M4."""

    layer: Layer
    predicted: float
    instructions: int
    cycles: int


def layers_counted(
    choice: Choice, memory: MemoryMap, board: Board, code: str = SPEED
) -> list[Counted]:
    """Every layer of one inference of random inputs, in the order of execution; ``code``: what the
    compiler optimises for.

    Raises EdgeconvError as `ticking_image` and `printed_ticks`.
    """
    found: defaultdict[int, list[int]] = defaultdict(lambda: [0, 0])
    with tempfile.TemporaryDirectory() as folder:
        for position, counts in _counts(choice, memory, board, Path(folder), code):
            for kind, count in enumerate(counts):  # layers that stream rows: more than once
                found[position][kind] += count
    predicted = predict(choice, memory, board).layers
    clock = board.clock_hz or 0
    return [
        Counted(choice.layers[index], (each.ms or 0.0) / 1e3 * clock, *found[position])
        for position, (index, each) in enumerate(zip(memory.order, predicted, strict=True))
    ]


def alone_counted(choice: Choice, memory: MemoryMap, board: Board) -> tuple[int, int]:
    """Instructions of a network of one layer, and their cycles as `Counted` has them, in the last
    of the runs that a short one makes.

    Raises EdgeconvError as `ticking_image` and `printed_ticks`.
    """
    with tempfile.TemporaryDirectory() as folder:
        *_, (_, counted) = _counts(choice, memory, board, Path(folder))
    return counted


def _counts(
    choice: Choice, memory: MemoryMap, board: Board, folder: Path, code: str = SPEED
) -> Iterator[tuple[int, tuple[int, int]]]:
    """The position of each layer that ends, and what was counted of it since the one before."""
    image = ticking_image(choice, memory, board, find_compiler(board), folder, code)
    plugin = build_plugin(folder, "cycles")
    arguments = ",".join((str(plugin), *_places(image), f"core={_core(board)}"))
    command = (*board.run.command, "-plugin", arguments)
    counting = replace(board, run=replace(board.run, command=command))
    printed = printed_ticks(image, counting, folder, random_inputs(choice.graph), SECONDS)
    layers, counted = LAYER.findall(printed), _COUNTED.findall(printed)
    if not counted or len(layers) != len(counted):
        got = f"{len(counted)} counts of {len(layers)} layers"
        raise EdgeconvError("the plugin has lost count", where=f"board {board.name}", got=got)
    for (number, _), (instructions, cycles) in zip(layers, counted, strict=True):
        yield int(number), (int(instructions), int(cycles))


def _core(board: Board) -> str:
    return "m0" if THUMB_1 in board.target.features else "m4"


def _places(image: Path) -> Iterator[str]:
    """Where the functions lie that the plugin is to know, as it takes them."""
    with image.open("rb") as stream:
        table = ELFFile(stream).get_section_by_name(".symtab")
        assert isinstance(table, SymbolTableSection)
        run, trace = (
            symbol
            for name in (f"{NAME}_run", f"{NAME}_trace")
            for symbol in table.get_symbol_by_name(name) or ()
        )
        begin = run["st_value"] & ~1
        yield f"run={begin:x}"
        yield f"end={begin + run['st_size']:x}"
        yield f"trace={trace['st_value'] & ~1:x}"
