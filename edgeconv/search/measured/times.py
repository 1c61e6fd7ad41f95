"""The times that hold for one board, as prices ask for them."""

from __future__ import annotations

from collections import Counter
from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass
from pathlib import Path

from edgeconv.base.errors import UsageError
from edgeconv.ir.choice import Layer
from edgeconv.ir.graph import Tensor
from edgeconv.search.measured.kernel import board_key, kernel_key, kernel_version
from edgeconv.search.measured.store import Row, Store
from edgeconv.target.board import Board

ON_BOARD = "board"  # the place that counts most: no emulator


@dataclass(frozen=True, slots=True)
class Times:
    """The times that hold for one board.  ``seconds``: by `kernel_key`.  ``compiler``, ``place``:
    what they were measured with."""

    seconds: Mapping[str, float]
    compiler: str = ""
    place: str = ""

    def __call__(
        self, layer: Layer, tensors: Mapping[str, Tensor], predicted: float
    ) -> float | None:
        """As `price.measured.Measured`."""
        return self.seconds.get(kernel_key(layer))


def times_of(rows: Iterable[Row], compiler: str, place: str) -> Times:
    """The times measured with this compiler in this place."""
    found: dict[str, float] = {}
    for row in rows:
        kernel = row.key.kernel
        if row.seconds is not None and (row.key.compiler, row.key.place) == (compiler, place):
            found[kernel] = min(row.seconds, found.get(kernel, row.seconds))
    return Times(found, compiler, place)


def load(paths: Sequence[Path], board: Board) -> Times:
    """What files know of ``board`` and of the kernels as they are now; of one kernel the shortest.

    Times of the board itself go before those of an emulator, then the compiler with which most
    was measured.  Raises EdgeconvError as `Store`, and (exit status 2) where there are none.
    """
    rows: list[Row] = []
    for path in paths:
        with Store(path) as store:
            rows += [row for row in store.rows() if row.seconds is not None]
    here = [row for row in rows if row.key.board == board_key(board)]
    current = [row for row in here if row.key.version == kernel_version()]
    if not current:
        boards = ", ".join(sorted({row.key.board.partition(":")[0] for row in rows})) or "none"
        rule = "its times are of another version of the kernels" if here else f"boards: {boards}"
        raise UsageError(
            "no measured times for this board",
            where=", ".join(map(str, paths)),
            got=board_key(board),
            rule=rule,
            hint=f"edgeconv tune MODEL --board {board.name} measures them",
        )
    counts = Counter((row.key.place, row.key.compiler) for row in current)
    place, compiler = max(counts, key=lambda each: (each[0] == ON_BOARD, counts[each], each))
    return times_of(current, compiler, place)
