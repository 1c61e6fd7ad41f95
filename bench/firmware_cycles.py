"""Cycles predicted of a firmware, the instructions that it executes, and the cycles of these.

    python bench/firmware_cycles.py MODEL.onnx [MODEL.onnx ...] [--board microbit ...] [--layers]
                                    [--ram BYTES] [--code speed|size]
                                    [--stream INPUT:AXIS=k] [--stream-borders window|stream]
                                    [--preprocess FILE.toml]

Of every network that fits a board one line: millions of cycles that the board's file predicts of an
inference, of instructions that it executes under QEMU, and of cycles that these take by the manual
of a Cortex-M0 or, on cores that have more instructions, a Cortex-M4 (`counting/cycles.c`), memory
without wait states.  A Cortex-M7 begins up to two instructions in a cycle, and Helium does in one
instruction what that table does not know; of RISC-V it has nothing: of these boards the last column
is left out.
``--layers``: every layer as well, in thousands.  ``--stream``: of a run that takes new rows.
"""

from __future__ import annotations

import argparse
import sys
from collections.abc import Sequence
from pathlib import Path

from counting.firmware import Counted, layers_counted
from telling import errors_told

from edgeconv.app import pipeline
from edgeconv.app.pipeline import CompileOptions
from edgeconv.base.arguments import BORDERS, CODE, OF_WINDOW, SPEED, sliding
from edgeconv.search.fitting import UnfitError
from edgeconv.target import board as boards
from edgeconv.target.board import RunKind
from edgeconv.target.targets import DUAL_ISSUE, HELIUM, RISCV

EMULATED = [name for name in boards.names() if boards.load(name).run.kind is RunKind.QEMU_SYSTEM]


def line(what: str, layers: Sequence[Counted], unit: float, *, by_manual: bool) -> str:
    """The sums of ``layers``, and the first over each of the others."""
    predicted = sum(layer.predicted for layer in layers)
    counted = [sum(layer.instructions for layer in layers)]
    counted += [sum(layer.cycles for layer in layers)] if by_manual else []
    cells = (f"{each / unit:>14.3f}{predicted / max(each, 1):>7.2f}" for each in counted)
    return f"{what:52}{predicted / unit:>12.3f}{''.join(cells)}"


def main() -> int:
    parser = argparse.ArgumentParser(description=(__doc__ or "").splitlines()[0])
    parser.add_argument("models", nargs="+", type=Path, metavar="MODEL.onnx")
    parser.add_argument("--board", nargs="+", default=EMULATED, choices=EMULATED)
    parser.add_argument("--layers", action="store_true")
    parser.add_argument("--ram", type=int, metavar="BYTES")
    parser.add_argument("--code", choices=CODE, default=SPEED)
    parser.add_argument("--stream", nargs="*", type=sliding, default=[], metavar="INPUT:AXIS=k")
    parser.add_argument("--stream-borders", choices=BORDERS, default=OF_WINDOW)
    parser.add_argument("--preprocess", type=Path, metavar="FILE.toml")
    given = parser.parse_args()
    print(f"{'':52}{'predicted':>12}{'instructions':>14}{'ratio':>7}{'cycles':>14}{'ratio':>7}")
    for model in given.models:
        for name in given.board:
            board = boards.load(name)
            by_manual = not board.target.features & {DUAL_ISSUE, HELIUM, RISCV}
            try:
                options = CompileOptions(
                    model,
                    name,
                    "net",
                    ram=given.ram,
                    streams=dict(given.stream),
                    stream_borders=given.stream_borders,
                    preprocess=given.preprocess,
                )
                decided = pipeline.decide(options)
            except UnfitError:
                print(f"{model.stem} on {name}: does not fit")
                continue
            found = layers_counted(decided.choice, decided.memory, board, given.code)
            print(line(f"{model.stem} on {name}", found, 1e6, by_manual=by_manual), flush=True)
            for each in found if given.layers else ():
                if each.predicted:
                    what = f"    {each.layer.algorithm} {each.layer.node.name}"[:51]
                    print(line(what, [each], 1e3, by_manual=by_manual))
    return 0


if __name__ == "__main__":
    with errors_told():
        sys.exit(main())
