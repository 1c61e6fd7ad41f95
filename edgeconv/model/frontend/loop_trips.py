"""How often a loop runs whose condition depends on nothing but numbers that are known."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import Any

import numpy.typing as npt
import onnx

from edgeconv.base import limits
from edgeconv.model.frontend import folding
from edgeconv.model.frontend.schedule import reads
from edgeconv.model.frontend.sources import schema_of

Known = Mapping[str, npt.NDArray[Any]]
_MOST = 16  # elements of a counter


def counted_trips(
    nodes: Sequence[onnx.NodeProto],
    opsets: Mapping[str, int],
    condition: str,
    carried: Mapping[str, str],
    first: Known,
    constants: Known,
) -> int | None:
    """The trips of a loop that begins, and ends behind the first one in which ``condition`` is
    false; None where that depends on what is not known, or there are more than are evaluated.

    ``nodes``: of the body, in order; ``carried``: input of the body -> the result that it is in the
    next trip; ``first``: those inputs' values in the first trip, as far as they are known.
    """
    taken = _needed(nodes, condition, carried, constants)
    if taken is None or any(name not in first or first[name].size > _MOST for name in taken[1]):
        return None
    needed, counters = taken
    state = {name: first[name] for name in counters}
    for trip in range(1, limits.limit("loop-trips") + 1):
        known: dict[str, npt.NDArray[Any]] = {**constants, **state}
        for node in needed:
            schema, own = schema_of(node, opsets), {name: known[name] for name in reads(node)}
            results = folding.evaluate(node, schema, opsets, own) if schema else None
            if results is None:
                return None
            known.update(zip(filter(None, node.output), results, strict=True))
        if not known[condition].all():
            return trip
        state = {name: known[carried[name]] for name in counters}
    return None


def _needed(
    nodes: Sequence[onnx.NodeProto],
    condition: str,
    carried: Mapping[str, str],
    constants: Known,
) -> tuple[list[onnx.NodeProto], list[str]] | None:
    """The nodes that the condition depends on, over all trips, and the inputs among them; None
    where there are others than ``carried`` and ``constants``."""
    writers = {name: node for node in nodes for name in node.output if name}
    wanted, seen, counters = [condition], set[str](), list[str]()
    while wanted:
        name = wanted.pop()
        if name in seen or name in constants:
            continue
        seen.add(name)
        if name in carried:
            counters.append(name)
            wanted.append(carried[name])
        elif name in writers:
            wanted += reads(writers[name])
        else:
            return None
    return [node for node in nodes if seen.intersection(node.output)], counters
