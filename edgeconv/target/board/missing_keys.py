"""What it costs that a board file leaves keys out: a table of those that predictions take."""

from __future__ import annotations

from collections.abc import Callable, Iterator
from dataclasses import dataclass

from edgeconv.target.board import Board


@dataclass(frozen=True, slots=True)
class LeftOut:
    """A key that a board file leaves out.  ``costs``: what is done, or not, without the ``key``."""

    key: str
    costs: str


def _rate(board: Board) -> str:
    each = board.target.slot_cycles
    what = "a vector of multiply-adds" if board.target.lanes > 1 else "a multiply-add of float32"
    return (
        f"no time is predicted, and kernels are chosen as if {what} took {each:.3g} cycle(s): "
        "whether integers or float32 are faster may be told wrong"
    )


def _always(costs: str) -> Callable[[Board], str]:
    return lambda _: costs


def _has_no_interrupts(board: Board) -> bool:
    """Whether its firmware has a vector table with no place for interrupts."""
    tabled = not board.architecture.is_riscv
    return board.firmware is not None and tabled and not board.firmware.interrupts


_FPU_OPTIONAL = ("armv7e-m", "armv8-m.main", "armv8.1-m.main")
_KEYS: tuple[tuple[str, Callable[[Board], bool], Callable[[Board], str]], ...] = (
    ("clock", lambda board: board.clock_hz is None, _always("no time is predicted")),
    ("macs_per_cycle", lambda board: board.target.macs_per_cycle is None, _rate),
    (
        "loads_per_cycle",
        lambda board: board.target.lanes > 1 and board.target.loads_per_cycle is None,
        _always("a load is taken to be as long as a vector of multiply-adds"),
    ),
    (
        "bandwidth of [[memory]]",
        lambda board: any(region.bandwidth is None for region in board.memory),
        _always("a memory is taken to be half as fast as what comes before it"),
    ),
    (
        "fpu",  # whose cores may have one, or not
        lambda board: board.architecture.name in _FPU_OPTIONAL and not board.fpu,
        _always("float32 is computed by functions, as on a core without FPU"),
    ),
    (
        "firmware.interrupts",
        _has_no_interrupts,
        _always("the vector table has the exceptions of the core alone"),
    ),
    ("[energy]", lambda board: board.energy is None, _always("no energy is predicted")),
)


def left_out(board: Board) -> Iterator[LeftOut]:
    """The keys that predictions for ``board`` do without."""
    for key, absent, costs in _KEYS:
        if absent(board):
            yield LeftOut(key, costs(board))
