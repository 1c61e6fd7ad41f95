"""Where an emitted program's instructions go: layer by layer beside their multiply-adds."""

from __future__ import annotations

import re
import subprocess
import tempfile
from bisect import bisect_right
from collections import Counter
from collections.abc import Iterator, Mapping
from dataclasses import dataclass
from pathlib import Path

from coremodel.emitted import kept_apart
from elftools.elf.elffile import ELFFile
from elftools.elf.sections import SymbolTableSection

from counting.program import build_plugin
from edgeconv.app import pipeline
from edgeconv.app.pipeline import CompileOptions
from edgeconv.base.errors import EdgeconvError, Exit
from edgeconv.run.build.project import Project
from edgeconv.run.build.run import run_command
from edgeconv.target.board import Board

_EXECUTED = re.compile(r"^at ([0-9a-f]+) ([0-9]+)$", re.MULTILINE)
_BEFORE = "check_weights"  # what init calls, which is no part of an inference


@dataclass(frozen=True, slots=True)
class CountedFunction:
    """Instructions of a function in one inference, and of the layers that it computes the first
    name, the number and the multiply-adds in vectors, the least that these take."""

    name: str
    instructions: int
    layer: str
    layers: int
    least: float

    def __str__(self) -> str:
        ratio = f"{self.instructions / self.least:7.3f}" if self.least else " " * 7
        counts = f"{1e-6 * self.instructions:9.3f}{1e-6 * self.least:9.3f}{ratio}"
        return f"  {self.name:30}{self.layers:3}{counts}  {self.layer}"


def by_function(model: Path, board: Board, *, float16: bool = False) -> list[CountedFunction]:
    """Functions of the program of ``model``, those of the most instructions first; no function
    that computes no layer is among them if it takes less than a thousandth of all.  Raises
    EdgeconvError where the program fails."""
    with tempfile.TemporaryDirectory() as name:
        folder = Path(name)
        options = CompileOptions(model, board.name, name="net", float16=float16)
        pipeline.compile_model(options, folder)
        project = Project.open(folder)
        functions = {each.name: each for each in kept_apart(project)}
        binary = project.build()
        data = folder / "input.bin"
        data.write_bytes(bytes(sum(port.bytes for port in project.inputs)))
        inout = ("--input", str(data), "--output", str(folder / "out.bin"), "--runs", "1")
        emulator, *rest = run_command(binary.path, board, inout)
        command = [emulator, "-plugin", str(build_plugin(folder, "blocks")), *rest]
        done = subprocess.run(command, cwd=folder, capture_output=True, text=True, check=False)
        if done.returncode:
            found = done.stderr.strip().partition("\n")[0]
            raise EdgeconvError("the program failed under QEMU", got=found, code=Exit.UNSATISFIED)
        executed = _by_symbol(binary.path, done.stderr)
        macs = {layer["name"]: layer["macs"] for layer in project.report["layers"]}
    lanes = board.target.lanes * (2 if float16 else 1)
    few = sum(executed.values()) / 1000
    rows = []
    for symbol, count in executed.items():
        layers = functions[symbol].layers if symbol in functions else ()
        if layers or (count > few and not symbol.endswith(_BEFORE)):
            least = sum(macs[layer] for layer in layers) / lanes
            rows.append(CountedFunction(symbol, count, "".join(layers[:1]), len(layers), least))
    return sorted(rows, key=lambda row: -row.instructions)


def _by_symbol(image: Path, listed: str) -> Mapping[str, int]:
    """Instructions of each function, of the addresses and counts that the plugin lists."""
    symbols = sorted(_functions(image))
    starts = [address for address, _ in symbols]
    found: Counter[str] = Counter()
    for address, count in _EXECUTED.findall(listed):
        place = bisect_right(starts, int(address, 16))
        if place:
            found[symbols[place - 1][1]] += int(count)
    return found


def _functions(image: Path) -> Iterator[tuple[int, str]]:
    """Addresses and names."""
    with image.open("rb") as stream:
        table = ELFFile(stream).get_section_by_name(".symtab")
        assert isinstance(table, SymbolTableSection)
        for symbol in table.iter_symbols():
            if symbol["st_info"]["type"] == "STT_FUNC":
                yield int(symbol["st_value"]), symbol.name
