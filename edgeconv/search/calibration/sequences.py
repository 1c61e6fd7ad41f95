"""Samples of a network that keeps states: sequences, along which it makes the states itself."""

from __future__ import annotations

from collections.abc import Collection, Mapping
from typing import Any

import numpy as np
import numpy.typing as npt

from edgeconv.base import array_file
from edgeconv.base.array_file import Arrays, Stated
from edgeconv.ir.graph import Graph
from edgeconv.ir.layout import Shape
from edgeconv.search.calibration.engine import Engine

Array = npt.NDArray[Any]


def are_sequences(graph: Graph, names: Collection[str]) -> bool:
    """Whether samples that are given of ``names`` are sequences: there are states, and none of
    these is given."""
    return bool(graph.states) and not any(state.input in names for state in graph.states)


def require_sequences(archive: Arrays, stated: Mapping[str, Stated], graph: Graph) -> None:
    """Raises EdgeconvError (exit status 2) where an array of ``stated`` is no sequence, or no set
    of sequences, of an input of ``graph``, or their lengths differ."""
    found: dict[str, Shape] = {}
    for name in graph.input_ports:
        shape, given = graph[name].shape, stated[name].shape
        axes = len(given) - len(shape)
        if axes not in (1, 2) or given[axes:] != shape or 0 in given:
            rule = (
                f"the network keeps states, and a run takes {_dims(shape)}: sequences are "
                f"Tx{_dims(shape)} or SxTx{_dims(shape)}"
            )
            hint = f"or give the states of each run too, as {graph.states[0].input!r}"
            raise array_file.invalid(archive.path, f"shape of {name!r}", _dims(given), rule, hint)
        found[name] = (1, *given[:axes])[-2:]
    if len(set(found.values())) > 1:
        got = ", ".join(f"{_dims(size)} of {name!r}" for name, size in found.items())
        raise array_file.invalid(archive.path, "sequences of different length", got)


def with_states(graph: Graph, sequences: Mapping[str, Array]) -> dict[str, Array]:
    """Every run of ``sequences`` by itself, (S * T, *shape of the input), its states among the
    inputs: those that ``graph`` has made in float32 from the initial ones on.

    ``sequences``: of each input that is no state, (S, T, *shape).  Raises EdgeconvError as
    `Engine`.
    """
    count, steps = next(iter(sequences.values())).shape[:2]
    found: dict[str, list[Array]] = {name: [] for name in graph.inputs}
    with Engine(graph) as engine:
        for number in range(count):
            states = {
                state.input: np.zeros(graph[state.input].shape, graph[state.input].dtype)
                if state.initial is None
                else np.asarray(state.initial)
                for state in graph.states
            }
            for step in range(steps):
                given = {name: array[number, step] for name, array in sequences.items()} | states
                for name, values in given.items():
                    found[name].append(values)
                made = engine.run(given)
                states = {state.input: made[state.output] for state in graph.states}
    return {name: np.stack(values) for name, values in found.items()}


def _dims(shape: Shape) -> str:
    return "x".join(map(str, shape)) or "scalar"
