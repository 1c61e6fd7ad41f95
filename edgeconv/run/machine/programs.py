"""The measuring programs, built as the kernels are: same compiler, same flags, same ISA header."""

from __future__ import annotations

import re
from collections.abc import Mapping, Sequence
from importlib import resources
from pathlib import Path
from statistics import median
from types import MappingProxyType

from edgeconv.base.errors import EdgeconvError
from edgeconv.kernels.headers import include_flags
from edgeconv.run.build import Compiler, compile_project, find_compiler, run_binary
from edgeconv.target.board import Board
from edgeconv.target.targets import PANELS

FORK_JOIN = "fork_join"
RATE, HALVES_RATE = "rate", "rate_of_halves"
BANDWIDTH, LATENCY, OTHERS = "bandwidth", "latency", "others"
FETCH = "fetch"
NAMES = (RATE, HALVES_RATE, BANDWIDTH, LATENCY, FETCH, FORK_JOIN, OTHERS)
# Programs that are others', compiled with an option for cores in halves.
_VARIANTS = {HALVES_RATE: (RATE, "-DEC_HALF_VECTORS")}
_TIMEOUT = 120.0  # seconds of one run; a slow board takes a few
_SAMPLE = re.compile(r"^(\S+) (\S+)$", re.M)
_EMPTY = "int main(void) { return 0; }\n"


class Programs:
    """The programs for ``board``, built in ``folder``.  ``line``: bytes of a cache line.

    Raises EdgeconvError: no compiler (exit status 3), a program that does not compile (1).
    """

    def __init__(
        self,
        board: Board,
        folder: Path,
        line: int,
        *,
        names: Sequence[str] = NAMES,
        strict: bool = False,
    ) -> None:
        self.board = board
        self.compiler: Compiler = find_compiler(board)
        shapes = board.target.kernel(PANELS).tiles
        tiles = " ".join(f"EC_TILE({tile.rows}, {tile.vectors})" for tile in shapes)
        flags = (
            *include_flags(),
            f'-DEC_ISA_HEADER="{board.target.header}"',
            f"-DEC_TILES={tiles}",
            f"-DEC_TILE_ROWS={shapes[0].rows}",
            f"-DEC_TILE_VECTORS={shapes[0].vectors}",
            f"-DEC_LINE={line}",
            "-pthread",
        )
        self._binaries = {
            name: compile_project(
                Path(str(resources.files("edgeconv.run.machine"))),
                board,
                sources=(f"{source}.c",),
                out=folder / name,
                extra_flags=(*flags, *more),
                warnings_as_errors=strict,
                compiler=self.compiler,
            )
            for name in names
            for source, *more in (_VARIANTS.get(name, (name,)),)
            if name not in _VARIANTS or board.target.halvable
        }

    def run(
        self, name: str, samples: int, buffers: Mapping[str, int] = MappingProxyType({})
    ) -> dict[str, float]:
        """What the program measured -> the median of its samples, in seconds per unit; nothing by
        one of halves where the instruction set has no kernels for these.

        ``buffers``: name -> bytes.  Raises EdgeconvError when the program fails.
        """
        if name in _VARIANTS and not self.board.target.halvable:
            return {}
        arguments = (str(samples), *(f"{key}:{size}" for key, size in buffers.items()))
        path = self._binaries[name].path
        done = run_binary(path, self.board, arguments, timeout=_TIMEOUT)
        if done.status != 0:
            raise EdgeconvError(f"measuring {name} failed", got=done.stderr.strip() or "no message")
        return medians(done.stdout)


def medians(printed: str) -> dict[str, float]:
    """Lines ``<name> <nanoseconds>`` -> the median of each name, in seconds."""
    found: dict[str, list[float]] = {}
    for name, text in _SAMPLE.findall(printed):
        found.setdefault(name, []).append(float(text))
    return {name: 1e-9 * median(values) for name, values in found.items()}


def accepts(board: Board, folder: Path, flags: Sequence[str]) -> bool:
    """Whether the board's compiler takes ``flags`` after the board's own, without a warning."""
    (folder / "empty.c").write_text(_EMPTY)
    try:
        compile_project(
            folder,
            board,
            sources=("empty.c",),
            out=folder / "empty",
            extra_flags=flags,
            warnings_as_errors=True,
        )
    except EdgeconvError:
        return False
    return True
