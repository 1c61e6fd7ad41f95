"""Instructions of one inference with a board's matrix unit and without, under QEMU.

    python bench/matrix_unit.py MODEL.onnx [MODEL.onnx ...] [--board generic-sme] [--isa neon]

Each model is compiled for the board, and for a copy of it whose instruction set is ``--isa``,
without bfloat16, and both programs run under the board's emulator.  A line for each model:
millions of instructions of both, the second over the first, and the share of each algorithm in the
multiply-adds of the first, in percent.
"""

from __future__ import annotations

import argparse
import os
import re
import tempfile
from collections import Counter
from pathlib import Path

from counting.compiled import counted
from telling import errors_told

from edgeconv.target import board as boards
from edgeconv.target import board_folders
from edgeconv.target.board import Board

_ISA = re.compile(r'^isa = "[^"]*"', re.MULTILINE)
_BFLOAT16 = re.compile(r"^bfloat16 = .*\n", re.MULTILINE)  # of the unit


def copied(board: Board, isa: str, folder: Path) -> Board:
    """A copy of the board with another instruction set, in a folder of boards of its own."""
    name = f"{board.name}-{isa}"
    text = board_folders.find(board.name).read_text(encoding="utf-8")
    text = _BFLOAT16.sub("", _ISA.sub(f'isa = "{isa}"', text, count=1))
    text = text.replace(f'"{board.name}"', f'"{name}"', 1)
    (folder / f"{name}.toml").write_text(text, encoding="utf-8")
    os.environ["EDGECONV_BOARDS"] = str(folder)
    return boards.load(name)


def _told(shares: Counter[str]) -> str:
    total = sum(shares.values())
    return ", ".join(f"{name} {100 * n / total:.0f}" for name, n in shares.most_common() if n)


def main() -> None:
    """Prints a line for each model."""
    parser = argparse.ArgumentParser(description=(__doc__ or "").partition("\n")[0])
    parser.add_argument("models", nargs="+", type=Path)
    parser.add_argument("--board", default="generic-sme")
    parser.add_argument("--isa", default="neon")
    asked = parser.parse_args()
    with errors_told(), tempfile.TemporaryDirectory() as name:
        own = boards.load(asked.board)
        other = copied(own, asked.isa, Path(name))
        for model in asked.models:
            unit, plain = (counted(model, each) for each in (own, other))
            with_unit, without = unit.instructions, plain.instructions
            print(
                f"{model.stem:20}{1e-6 * with_unit:9.2f}M{1e-6 * without:9.2f}M"
                f"{without / with_unit:7.2f}   {_told(unit.macs)}",
                flush=True,
            )


if __name__ == "__main__":
    main()
