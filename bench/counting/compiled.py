"""Instructions of one inference of the program that edgeconv emits for a model, under QEMU."""

from __future__ import annotations

import tempfile
from collections import Counter
from collections.abc import Callable
from dataclasses import dataclass
from pathlib import Path

from counting.program import build_plugin, executed
from edgeconv.app import pipeline
from edgeconv.app.pipeline import CompileOptions
from edgeconv.run.build.project import Project
from edgeconv.run.build.run import run_command
from edgeconv.target.board import Board


@dataclass(frozen=True, slots=True)
class Counted:
    """Instructions of one inference, and its multiply-accumulates by algorithm."""

    instructions: int
    macs: Counter[str]


def of_one(instructions: Callable[[int], int]) -> int:
    """Of one inference, from those of a program that makes so many: once, and three times."""
    return (instructions(3) - instructions(1)) // 2


def counted(model: Path, board: Board, *, float16: bool = False) -> Counted:
    """What the program of ``model`` executes under the board's emulator, its input all zeros."""
    with tempfile.TemporaryDirectory() as name:
        folder = Path(name)
        options = CompileOptions(model, board.name, name="net", float16=float16)
        pipeline.compile_model(options, folder)
        project = Project.open(folder)
        binary, plugin = project.build(), build_plugin(folder)
        data = folder / "input.bin"
        data.write_bytes(bytes(sum(port.bytes for port in project.inputs)))
        inout = ("--input", str(data), "--output", str(folder / "out.bin"))

        def instructions(runs: int) -> int:
            command = run_command(binary.path, board, (*inout, "--runs", str(runs)))
            return executed(command, plugin, board, folder)

        macs: Counter[str] = Counter()
        for layer in project.report["layers"]:
            macs[layer["algorithm"]] += layer["macs"]
        return Counted(of_one(instructions), macs)
