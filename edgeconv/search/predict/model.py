"""Time, energy and traffic of every layer of a network, before anything is built."""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from dataclasses import dataclass, replace

from edgeconv.ir.choice import Choice, Layer
from edgeconv.ir.memory import MemoryMap
from edgeconv.ir.step import Share
from edgeconv.kernels.lowering.splits import splits_of
from edgeconv.search.choose.streaming_prices import streamed_prices
from edgeconv.search.predict.deviation import Deviation, deviation_of
from edgeconv.search.predict.rates import machine_with, missing, unstated, with_constants_in
from edgeconv.search.predict.residency import uses
from edgeconv.search.predict.traffic import Traffic, traffic
from edgeconv.target.board import Board
from edgeconv.target.board.speed import cycle_seconds
from edgeconv.target.board.team import Team, team_of
from edgeconv.target.price import Machine, Price, price
from edgeconv.target.price.energy import joules_of, unpriced
from edgeconv.target.price.machine import MEMORY
from edgeconv.target.price.operands import Use
from edgeconv.target.price.sharing import shared


@dataclass(frozen=True, slots=True)
class LayerPrediction:
    """One layer.  ``ms`` and ``mj`` are None where the board states too little.

    ``bound_by``: "compute", "overhead" or the level of memory that takes the largest part of the
    time; None for a layer without code and where there is no time.  ``price``: seconds, of a board
    that states too little those of a machine with nominal rates (`target.price.machine`): they
    compare.
    """

    ms: float | None
    mj: float | None
    bound_by: str | None
    traffic: Traffic
    price: float = 0.0


@dataclass(frozen=True, slots=True)
class Roofline:
    """The roofs of a board.  ``levels``: name and bandwidth in GB/s of those that the board states,
    nearest first."""

    peak_gflops: float
    levels: tuple[tuple[str, float], ...]


@dataclass(frozen=True, slots=True)
class Prediction:
    """``layers`` in execution order; ``ms`` and ``mj`` are their sums.  The sources say in words
    where the numbers come from, or what is missing where there are none.  ``deviation``: how far
    the time is known to be off, of boards for which that is known."""

    layers: tuple[LayerPrediction, ...]
    ms: float | None
    mj: float | None
    time_source: str
    energy_source: str
    roofline: Roofline | None
    deviation: Deviation | None = None

    @property
    def price(self) -> float:
        """The sum of the layers' prices."""
        return sum(layer.price for layer in self.layers)


def predict(choice: Choice, memory: MemoryMap, board: Board) -> Prediction:
    """One inference on those cores of ``board`` that share it, caches as the one before has left
    them."""
    constants = sum(blob.bytes for layer in choice.layers for blob in layer.blobs)
    placement = choice.placement
    machine = machine_with(board, memory, constants, placement)
    operands = uses(choice, memory)
    if machine.others:  # of the time that layers take without them
        called = (choice.layers[index] for index in memory.order)
        operands = uses(
            choice,
            memory,
            [
                machine.others * price(layer, own, machine).seconds if own else 0.0
                for layer, own in zip(called, operands, strict=True)
            ],
        )
    team = team_of(board, choice.threads)
    shares = {
        step.layers[0]: step.shares for step in choice.steps if step.shares and not step.stream_rows
    }
    machine = replace(machine, team=team)

    def of(layer: Layer) -> Machine:
        named = placement.layers.get(layer.node.name, "")
        return with_constants_in(machine, board, named) if named else machine

    streamed = streamed_prices(
        choice, dict(zip(memory.order, operands, strict=True)), machine, board.target
    )
    layers = tuple(
        _layer(
            choice.layers[index], choice, board, of(choice.layers[index]), own, streamed.get(index)
        )
        if index not in shares or not own or team is None
        else _shared(choice.layers[index], choice, board, machine, own, shares[index], team)
        for index, own in zip(memory.order, operands, strict=True)
    )
    return Prediction(
        layers=layers,
        ms=_sum(layer.ms for layer in layers),
        mj=_sum(layer.mj for layer in layers),
        time_source=_time_source(
            board, unstated(board, memory, constants, placement), choice.threads
        ),
        energy_source=_energy_source(board),
        roofline=_roofline(board),
        deviation=None if missing(board) else deviation_of(board, choice.threads),
    )


def _layer(
    layer: Layer,
    choice: Choice,
    board: Board,
    machine: Machine,
    operands: Sequence[Use],
    in_step: Price | None,
) -> LayerPrediction:
    """``in_step``: what the layer takes where it streams rows."""
    target, timed = board.target, not missing(board)
    moved = traffic(layer, choice.graph, target, operands)
    if not operands:  # nothing is called
        return LayerPrediction(0.0 if timed else None, 0.0 if machine.energy else None, None, moved)
    cost = in_step or price(layer, operands, machine)
    return LayerPrediction(
        ms=1e3 * cost.seconds if timed else None,
        mj=None if cost.joules is None else 1e3 * cost.joules,
        bound_by=cost.duration.bound_by if timed else None,
        traffic=moved,
        price=cost.seconds,
    )


def _shared(
    layer: Layer,
    choice: Choice,
    board: Board,
    machine: Machine,
    operands: Sequence[Use],
    shares: Sequence[Share],
    team: Team,
) -> LayerPrediction:
    """The prediction of a layer that several workers compute.  Power that a board draws while a
    core computes it draws for each."""
    timed = not missing(board)
    cost = shared(layer, splits_of(layer, choice.isa), shares, operands, machine, team)
    each = price(layer, operands, machine)
    powered = machine.energy is not None and machine.energy.run is not None
    joules = joules_of(layer, each.flows, cost.busy if powered else cost.seconds, machine)
    return LayerPrediction(
        ms=1e3 * cost.seconds if timed else None,
        mj=None if joules is None else 1e3 * joules,
        bound_by=cost.duration.bound_by if timed else None,
        traffic=traffic(layer, choice.graph, board.target, operands),
        price=cost.seconds,
    )


def _sum(values: Iterable[float | None]) -> float | None:
    """None when any is."""
    found = list(values)
    known = [value for value in found if value is not None]
    return sum(known) if len(known) == len(found) else None


def _time_source(board: Board, unstated: Sequence[str], threads: int) -> str:
    if missing(board):
        text = f"not predicted: board {board.name} states no {' and no '.join(missing(board))}"
        if own := board.own_rates:
            text += f"; kernels are chosen by rates measured here, {own.described(board.caches)}"
        return text
    text = (
        f"predicted at {1e-6 / cycle_seconds(board.target):g} MHz"
        f" from macs_per_cycle and bandwidths of board {board.name}"
    )
    if threads > 1:
        text += f", {threads} threads"
    if unstated:
        text += (
            f", which states no bandwidth of {', '.join(unstated)}:"
            " taken to be half as fast as what comes before, or a load per cycle"
        )
    if known := deviation_of(board, threads):
        text += f"; {known.words}"
    return text


def _energy_source(board: Board) -> str:
    if not board.energy:
        return f"not predicted: board {board.name} states no [energy]"
    if board.energy.run is not None:
        if missing(board):
            return f"not predicted: board {board.name} states power, and there is no time"
        return f"predicted time at {1e3 * board.energy.run:.3g} mW: {board.energy.source}"
    text = f"predicted with {board.energy.source}"
    if levels := unpriced(board.energy, board):
        text += f"; no price for bytes of {', '.join(levels)}"
    if missing(board) and board.energy.idle:
        text += "; idle power is left out, for want of a time"
    return text


def _roofline(board: Board) -> Roofline | None:
    """None where the board states no peak."""
    if board.clock_hz is None or board.macs_per_cycle is None:
        return None
    clock = board.clock_hz
    levels = [
        (f"L{cache.level}", 1e-9 * clock * cache.bandwidth)
        for cache in board.caches
        if cache.bandwidth
    ]
    regions = [*board.ram, *board.flash] if board.bare_metal else board.ram[:1]
    levels += [
        (region.name if board.bare_metal else MEMORY, 1e-9 * region.bandwidth)
        for region in regions
        if region.bandwidth
    ]
    return Roofline(2e-9 * clock * board.macs_per_cycle, tuple(levels))
