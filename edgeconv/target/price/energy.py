"""Energy of a layer: what the running board draws for its time, where the board states that;
otherwise what its multiply-adds take, its bytes at every level, and the idle board."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import replace

from edgeconv.ir.choice import Layer
from edgeconv.ir.work import Work
from edgeconv.target.board import Board, Energy
from edgeconv.target.price.flows import Flow
from edgeconv.target.price.machine import MEMORY, Machine, sources

REGISTERS = "L1"  # [energy.byte]: between the first cache and registers
RAM, FLASH = "memory", "flash"  # behind the last cache, or registers without one


def bytes_by_level(
    work: Work, flows: Sequence[Flow], behind: Sequence[str], *, flash: bool
) -> dict[str, float]:
    """Key of [energy.byte] -> bytes that cross between that level and the one in front of it.

    ``behind``: what is behind each cache (`sources`).  ``flash``: constants are read from there
    rather than from ``memory``.
    """
    found: dict[str, float] = {}
    if not flows:
        found[RAM], weights = work.data_bytes, work.weight_bytes
    else:
        found[REGISTERS] = work.data_bytes + work.weight_bytes
        for source, flow in zip(behind, flows, strict=True):
            found[RAM if source == MEMORY else source] = flow.total - flow.filters
        for source, flow in zip(behind[:-1], flows, strict=False):
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


def joules_of(
    layer: Layer, flows: Sequence[Flow], seconds: float, machine: Machine
) -> float | None:
    """The joules of a layer that takes ``seconds``; None where the machine states no energies."""
    if machine.energy is None:
        return None
    behind = (*(level.name for level in machine.caches), MEMORY)
    moved = bytes_by_level(layer.work, flows, behind, flash=machine.reads_flash)
    # An instruction that decodes is taken to need what a multiply-add of a vector does.
    macs = layer.macs + layer.work.decoding * machine.lanes
    return joules(machine.energy, macs, moved, seconds)


def usable(board: Board) -> Energy | None:
    """What can be used of the board's table: power is of no use without a time."""
    energy = board.energy
    if energy is None or (board.clock_hz is not None and board.macs_per_cycle is not None):
        return energy
    return None if energy.run is not None else replace(energy, idle=0.0)


def reads_flash(board: Board) -> bool:
    """Whether constants are read where they are stored."""
    return board.bare_metal and bool(board.flash)


def unpriced(energy: Energy, board: Board) -> tuple[str, ...]:
    """The levels that bytes cross on this board and that its table leaves out."""
    target = board.target
    behind = [RAM if source == MEMORY else source for source in sources(target)]
    crossed = [REGISTERS, *behind] if target.caches else [RAM]
    if reads_flash(board):
        crossed.append(FLASH)
    return tuple(level for level in crossed if level not in energy.byte)
