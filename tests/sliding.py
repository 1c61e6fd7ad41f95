"""Networks over windows that slide: their runs, with states carried from one to the next."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

import numpy as np
import numpy.typing as npt

from edgeconv.ir.graph import Graph
from tests.ir_interpreter import evaluate

Values = npt.NDArray[Any]


def states_before(graph: Graph) -> dict[str, Values]:
    """The states of ``graph`` before the first run, of the types that it has them in."""
    return {
        state.input: np.zeros(graph[state.input].shape, graph[state.input].dtype)
        if state.initial is None
        else np.asarray(state.initial)
        for state in graph.states
    }


def run_in_turn(graph: Graph, sequences: Mapping[str, Values], runs: int) -> list[list[Values]]:
    """The outputs of ``runs`` runs of ``graph``, beside its states, which begin as zeros (the zero
    point of integers is the caller's).  ``sequences``: what comes in, one run behind the other
    along a leading axis."""
    kept = {
        state.input: np.zeros(graph[state.input].shape)
        if state.initial is None
        else np.asarray(state.initial)
        for state in graph.states
    }
    hidden = {state.output for state in graph.states}
    results = []
    for run in range(runs):
        given = {name: sequence[run] for name, sequence in sequences.items()}
        values = evaluate(graph, {**given, **kept})
        kept = {state.input: values[state.output] for state in graph.states}
        results.append([values[name] for name in graph.outputs if name not in hidden])
    return results
