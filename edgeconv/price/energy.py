"""Energy of a layer: what the running board draws for its time, where the board states that;
otherwise what its multiply-adds take, its bytes at every level, and the idle board."""

from __future__ import annotations

from collections.abc import Mapping, Sequence

from edgeconv.board import Board, Energy
from edgeconv.ir.work import Work
from edgeconv.price.flows import Flow
from edgeconv.price.machine import MEMORY, sources
from edgeconv.targets import Target

REGISTERS = "L1"  # [energy.byte]: between the first cache and registers
RAM, FLASH = "memory", "flash"  # behind the last cache, or registers without one


def bytes_by_level(
    work: Work, flows: Sequence[Flow], target: Target, *, flash: bool
) -> dict[str, float]:
    """Key of [energy.byte] -> bytes that cross between that level and the one in front of it.

    ``flash``: constants are read from there rather than from ``memory``.
    """
    found: dict[str, float] = {}
    if not flows:
        found[RAM], weights = work.data_bytes, work.weight_bytes
    else:
        found[REGISTERS] = work.data_bytes + work.weight_bytes
        for source, flow in zip(sources(target), flows, strict=True):
            found[RAM if source == MEMORY else source] = flow.total - flow.filters
        for source, flow in zip(sources(target)[:-1], flows, strict=False):
            found[source] += flow.filters
        weights = flows[-1].filters
    key = FLASH if flash else RAM
    found[key] = found.get(key, 0.0) + weights
    return found


def joules(energy: Energy, macs: float, moved: Mapping[str, float], seconds: float) -> float:
    """``seconds`` of a running board; or multiply-adds and bytes at the board's prices, a level
    without one for nothing, and ``seconds`` of an idle board.

    ``macs``: those of the layer, and those that the core could have done while it decoded.
    """
    if energy.run is not None:
        return seconds * energy.run
    bytes_cost = sum(size * energy.byte.get(level, 0.0) for level, size in moved.items())
    return macs * (energy.mac or 0.0) + bytes_cost + seconds * energy.idle


def unpriced(energy: Energy, board: Board) -> tuple[str, ...]:
    """The levels that bytes cross on this board and that its table leaves out."""
    target = board.target
    behind = [RAM if source == MEMORY else source for source in sources(target)]
    crossed = [REGISTERS, *behind] if target.caches else [RAM]
    if board.bare_metal and board.flash:
        crossed.append(FLASH)
    return tuple(level for level in crossed if level not in energy.byte)
