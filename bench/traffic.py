"""Lines that convolutions bring into the caches: predicted against simulated by cachegrind.

    python bench/traffic.py [KIND ...] [--board x86-64-v3] [--algorithm A]
        [--levels 32KiB/8 1MiB/16] [--json]

Convolutions of different kinds, each by every algorithm that computes it, are compiled with the
board's flags and called once with empty caches under ``valgrind --tool=cachegrind``.  The two
caches simulated are the board's nearest ones, or those of ``--levels``, as size and ways.
Cachegrind counts a line that is fetched for a write as one brought in, sees no software prefetch,
and counts one miss for an access that straddles two absent lines.
"""

from __future__ import annotations

import argparse
import json
import shutil
import sys
import tempfile
from collections.abc import Iterator, Sequence
from dataclasses import replace
from pathlib import Path

from cachesim import table
from cachesim.cases import SPECS, cases
from cachesim.program import Program

from edgeconv.base import sizes
from edgeconv.base.errors import EdgeconvError, Exit
from edgeconv.base.registry import lookup
from edgeconv.kernels.algorithms import algorithms
from edgeconv.run.build import find_compiler
from edgeconv.target import board as boards
from edgeconv.target.board import Board, RunKind
from edgeconv.target.cache import Cache

LINE_BYTES = 64  # EC_LINE_FLOATS of ec_common.h
USUAL_WAYS = 8  # where the board states none


def _level(number: int, text: str) -> Cache:
    """The cache that a word such as ``32KiB/8`` stands for; without ways it is one set."""
    size_text, _, ways = text.partition("/")
    size = sizes.parse(size_text)
    lines = size // LINE_BYTES
    held = int(ways) if ways.isdecimal() else lines
    sets = lines // held if held and lines % held == 0 else 0
    if size % LINE_BYTES or sets < 1 or sets & (sets - 1) or (ways and not ways.isdecimal()):
        raise EdgeconvError(
            "invalid --levels",
            got=repr(text),
            rule=f"lines of {LINE_BYTES} bytes over ways is a power of two",
            hint="write 32KiB/8",
            code=Exit.USAGE,
        )
    return Cache(number, size, LINE_BYTES, ways=held)


def _caches(board: Board, asked: Sequence[str] | None) -> tuple[Cache, ...]:
    """The two levels to simulate."""
    if asked:
        return tuple(_level(number, text) for number, text in enumerate(asked, 1))
    if len(board.caches) < 2:
        raise EdgeconvError(
            "two levels of cache are needed",
            where=f"board {board.name}",
            hint="name them with --levels",
            code=Exit.USAGE,
        )
    return tuple(replace(c, ways=c.ways or USUAL_WAYS) for c in board.caches[:2])


def _native_board(name: str) -> Board:
    board = boards.load(name)
    if board.run.kind is not RunKind.NATIVE:
        raise EdgeconvError(
            "cachegrind runs native programs only", where=f"board {name}", code=Exit.USAGE
        )
    if not shutil.which("valgrind"):
        raise EdgeconvError(
            "valgrind is not installed", hint="apt-get install valgrind", code=Exit.MISSING_TOOL
        )
    return board


def _compared(
    kinds: Sequence[str], wanted: Sequence[str], board: Board, caches: tuple[Cache, ...]
) -> Iterator[table.Compared]:
    """One after the other, as they are simulated."""
    target = replace(board.target, caches=caches)
    found = [
        case
        for kind in kinds
        for case in cases(lookup("kind of convolution", kind, SPECS), kind, target)
        if not wanted or case.algorithm in wanted
    ]
    with tempfile.TemporaryDirectory() as folder:
        program = Program(found, board, find_compiler(board), Path(folder))
        for number, case in enumerate(found):
            predicted = tuple(
                level_traffic.misses(cache.line)
                for level_traffic, cache in zip(case.predicted, caches, strict=True)
            )
            yield table.Compared(case, predicted, program.misses(number, *caches))


def _parser() -> argparse.ArgumentParser:
    parser = argparse.ArgumentParser(description=(__doc__ or "").splitlines()[0])
    parser.add_argument("kinds", nargs="*", metavar="KIND", help=f"of: {', '.join(SPECS)}")
    parser.add_argument("--board", default="x86-64-v3")
    parser.add_argument("--algorithm", action="append", default=[], choices=sorted(algorithms()))
    parser.add_argument("--levels", nargs=2, metavar="SIZE/WAYS", help="L1 and L2")
    parser.add_argument("--json", action="store_true", help="one JSON document instead of a table")
    return parser


def main() -> None:
    args = _parser().parse_args()
    try:
        board = _native_board(args.board)
        caches = _caches(board, args.levels)
        shown: list[table.Compared] = []
        if not args.json:
            print(table.head(caches))
        for entry in _compared(args.kinds or list(SPECS), args.algorithm, board, caches):
            shown.append(entry)
            if not args.json:
                print(table.line(entry), flush=True)
    except EdgeconvError as error:
        print(error, file=sys.stderr)
        raise SystemExit(error.code) from None
    if args.json:
        print(json.dumps(table.document(shown, caches)))
    else:
        print("\n".join(table.summary(shown, caches)))


if __name__ == "__main__":
    main()
