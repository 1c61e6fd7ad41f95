"""Mixed-integer linear programs, solved by HiGHS: rows in, the best point and its bound out."""

from __future__ import annotations

import ctypes
import os
from collections.abc import Iterator, Sequence
from contextlib import contextmanager
from typing import Any, NamedTuple

import numpy as np
import numpy.typing as npt

SMALLEST = 1e-9  # HiGHS takes a smaller coefficient of a row for zero


class Row(NamedTuple):
    """low <= sum of coefficient * variable <= high; ``terms``: variable -> coefficient."""

    terms: dict[int, float]
    low: float
    high: float


class Solution(NamedTuple):
    """What the solver found.

    ``values``: of the variables, None where no feasible point was found.  ``bound``: the objective
    is no lower anywhere; -inf where nothing is known.  ``finished``: no limit was reached, so that
    a missing point means that there is none.
    """

    values: npt.NDArray[np.float64] | None
    bound: float
    finished: bool


def solve(
    cost: Sequence[float],
    rows: Sequence[Row],
    *,
    whole: Sequence[bool],
    upper: Sequence[float],
    seconds: float,
    gap: float = 0.0,
    nodes: int | None = None,
) -> Solution:
    """Minimise ``cost`` over 0 <= variable <= ``upper`` such that all ``rows`` hold.

    ``whole``: which variables are integers.  The search ends at a relative gap of ``gap``, after
    ``seconds`` or after ``nodes`` nodes of the branch-and-bound tree; the latter, unlike seconds,
    is the same on every machine.
    """
    # Imported late: it takes longer than planning most networks does.
    from scipy.optimize import Bounds, LinearConstraint, milp  # noqa: PLC0415

    options: dict[str, float] = {"time_limit": seconds, "mip_rel_gap": gap}
    if nodes is not None:
        options["node_limit"] = nodes
    limits = LinearConstraint(
        _matrix(rows, len(cost)),
        np.array([row.low for row in rows]),
        np.array([row.high for row in rows]),
    )
    with _silent():
        result = milp(
            np.array(cost, np.float64),
            integrality=np.array(whole, np.int64),
            bounds=Bounds(0.0, np.array(upper, np.float64)),
            constraints=limits if rows else (),
            options=options,
        )
    bound = result.mip_dual_bound if result.mip_dual_bound is not None else result.fun
    return Solution(
        None if result.x is None else np.asarray(result.x, np.float64),
        -np.inf if bound is None else float(bound),
        result.status in (0, 2),  # optimal, infeasible
    )


@contextmanager
def _silent() -> Iterator[None]:
    """What C prints to stdout goes nowhere meanwhile.

    HiGHS, told to be silent, prints a line when it repairs a point that presolving made infeasible
    (github.com/jump-dev/HiGHS.jl/issues/312), and stdout belongs to the command's result.
    """
    flush = ctypes.CDLL(None).fflush if os.name == "posix" else None
    try:
        kept = os.dup(1)
    except OSError:  # there is no stdout
        yield
        return
    nowhere = os.open(os.devnull, os.O_WRONLY)
    try:
        if flush:
            flush(None)
        os.dup2(nowhere, 1)
        yield
    finally:
        if flush:
            flush(None)
        os.dup2(kept, 1)
        os.close(nowhere)
        os.close(kept)


def _matrix(rows: Sequence[Row], width: int) -> Any:  # scipy publishes no types
    from scipy.sparse import csr_array  # noqa: PLC0415

    ends = np.cumsum([0, *(len(row.terms) for row in rows)])
    columns = np.array([column for row in rows for column in row.terms], np.int64)
    values = np.array([value for row in rows for value in row.terms.values()])
    return csr_array((values, columns, ends), shape=(len(rows), width))
