"""What the user wants to be small, of decisions."""

from __future__ import annotations

from edgeconv.app.deciding.planning import Decision, NetworkPlan
from edgeconv.base.errors import UsageError
from edgeconv.search.budget.tables import Objective
from edgeconv.search.options import CompileOptions
from edgeconv.search.predict import predict
from edgeconv.target.board import Board


def better(one: Decision, other: Decision, objective: Objective) -> bool:
    """Whether ``one`` is better by what the user wants to be small.

    Times of a board that predicts none are compared by price.
    """
    return _amount(one, objective) < _amount(other, objective)


def _amount(decided: Decision, objective: Objective) -> float:
    sizes, predicted = decided.sizes, decided.predicted
    if objective is Objective.LATENCY:
        return predicted.price
    if objective is Objective.ENERGY:
        return predicted.mj or 0.0
    return sizes.ram.total + sizes.flash.total


def predicted_amount(decided: Decision, objective: Objective) -> float | None:
    """The amount in the units of `Tables.cost`; None where nothing predicts it."""
    if objective is Objective.MEMORY:
        return _amount(decided, objective)
    of = decided.predicted.ms if objective is Objective.LATENCY else decided.predicted.mj
    return None if of is None else 1e-3 * of


def predictable(options: CompileOptions, board: Board) -> Objective:
    """What the user wants smallest; latency where the board predicts it, else memory."""
    if options.objective:
        return Objective(options.objective)
    return Objective.MEMORY if board.macs_per_cycle is None else Objective.LATENCY


def require_prediction(plain: NetworkPlan, board: Board, objective: Objective) -> None:
    """Before anything is measured: EdgeconvError where nothing predicts the objective."""
    predicted = predict(plain.choice, plain.memory, board)
    known = {
        Objective.LATENCY: (predicted.ms, predicted.time_source),
        Objective.ENERGY: (predicted.mj, predicted.energy_source),
    }
    value, source = known.get(objective, (0.0, ""))
    if value is None:
        raise UsageError(
            f"cannot minimise {objective.value}",
            got=f"board {board.name}",
            rule=source,
            hint="--objective memory needs no prediction",
        )
