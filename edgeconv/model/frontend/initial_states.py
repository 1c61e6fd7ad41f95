"""What states are before the first run, from the user's file."""

from __future__ import annotations

from dataclasses import replace
from pathlib import Path

import numpy as np

from edgeconv.base import array_file
from edgeconv.base.errors import UsageError
from edgeconv.base.names import did_you_mean
from edgeconv.ir.array_types import array_type
from edgeconv.ir.graph import Array, Graph, State

OPTION = "--initial-states"


def with_initial_states(graph: Graph, path: Path) -> Graph:
    """``graph``, whose states named in an .npz file begin with the arrays there: each has the shape
    and element type of the input that the state is, whose name it has.  Others stay as they are.

    Raises EdgeconvError (exit status 2): a network without states, no .npz file, one
    without arrays, an array that is no state's, of another shape or type, or with numbers that are
    not finite.
    """
    if not graph.states:
        raise UsageError(
            OPTION,
            got=str(path),
            rule="the network keeps no state",
            hint="--state OUT=IN keeps an output for the next run",
        )
    known = {state.input: state for state in graph.states}
    with array_file.opened(path) as archive:
        for name in archive.stated:
            if name not in known:
                hint = did_you_mean(name, known)
                raise array_file.invalid(path, "no such state", repr(name), hint=hint)
        if not archive.stated:
            hint = f"an array called {' or '.join(map(repr, known))}, or no {OPTION}: zeros then"
            rule = "states begin with arrays of their names"
            raise array_file.invalid(path, "it is empty", "no arrays", rule, hint)
        found = {name: archive.read(name) for name in archive.stated}
    for name, values in found.items():
        _check(path, graph, name, values)
    states = tuple(_begun(state, found.get(state.input)) for state in graph.states)
    return replace(graph, states=states)


def _begun(state: State, values: Array | None) -> State:
    if values is None:
        return state
    return replace(state, initial=values if values.any() else None)


def _check(path: Path, graph: Graph, name: str, values: Array) -> None:
    tensor = graph[name]
    kind, wanted = (
        array_type(tensor.dtype),
        "x".join(map(str, tensor.shape)) or "scalar",
    )
    if values.dtype != kind:
        hint = f"convert it with .astype(numpy.{tensor.dtype})"
        rule = f"the state is {tensor.dtype}"
        raise array_file.invalid(path, f"element type of {name!r}", str(values.dtype), rule, hint)
    if values.shape != tensor.shape:
        shape = "x".join(map(str, values.shape)) or "scalar"
        raise array_file.invalid(path, f"shape of {name!r}", shape, f"the state is {wanted}")
    if values.dtype.kind == "f" and not np.isfinite(values).all():
        got = str(values[~np.isfinite(values)][0])
        raise array_file.invalid(path, f"a number of {name!r}", got, "states begin finite")
