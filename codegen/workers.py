"""Layers that workers share, in ``name_run`` and before it."""

from __future__ import annotations

import re
from collections.abc import Mapping, Sequence
from dataclasses import dataclass

from edgeconv.ir.step import Share

Words = tuple[str, ...]


@dataclass(frozen=True, slots=True)
class SharedStep:
    """The C function that each worker calls.

    ``position``: of the layer.  ``code``: the call of the layer's function.  ``table``: a row of
    numbers per worker.  ``read``: the parameters of ``name_run`` in ``code``, as they are declared.
    ``call``: what ``name_run`` does.
    """

    position: int
    function: str
    code: str
    table: Sequence[Sequence[int]]
    read: Mapping[str, str]
    call: str


def ranges(shares: Sequence[Share]) -> tuple[Words, Words, list[tuple[int, ...]]]:
    """C expressions of the rows and of the items of a worker, and the table that they read; none of
    what all workers have in common."""
    pairs = {"rows": [share[:2] for share in shares], "items": [share[2:] for share in shares]}
    differ = {what: len(set(each)) > 1 for what, each in pairs.items()}
    table = [
        tuple(number for what, each in pairs.items() if differ[what] for number in each[worker])
        for worker in range(len(shares))
    ]
    words = [f"share[worker][{i}]" for i in range(len(table[0]))]
    rows = tuple(words[:2]) if differ["rows"] else ()
    return rows, tuple(words[len(rows) :]), table


def shared_step(
    name: str,
    position: int,
    code: str,
    table: Sequence[Sequence[int]],
    parameters: Mapping[str, str],
) -> SharedStep:
    """The function of the layer at ``position`` whose workers do ``code``."""
    function = f"{name}_step_{position}"
    read = {
        parameter: declared
        for parameter, declared in parameters.items()
        if parameter != "model" and re.search(rf"\b{parameter}\b", code)
    }
    call = f"{name}_threads_run({function}, &given, {len(table)});"
    return SharedStep(position, function, code, table, read, call)
