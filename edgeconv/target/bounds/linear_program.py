"""The blocking of Section 3.2: a linear program in the logarithms of the block sizes."""

from __future__ import annotations

import math
from itertools import product

import numpy as np

from edgeconv.base.errors import EdgeconvError
from edgeconv.target.bounds.blocking import Blocking
from edgeconv.target.bounds.local_search import (
    FIXED,
    PER_AXIS,
    LocalSearch,
    blocking_of,
    limits_of,
    replaced,
)
from edgeconv.target.bounds.shape import ConvShape, Precision

_BATCH, _IN_C, _OUT_C = range(FIXED)


def lp_blocking(shape: ConvShape, precision: Precision, memory_words: float) -> Blocking:
    """Block sizes for a fast memory of ``memory_words``: the program's, rounded, then grown.

    The sizes are rounded down, and made as even as the number of blocks allows.  That leaves
    memory free, and so does the program, whose image constraint is four times too strict: the
    size whose growth to one block fewer saves most words grows, until nothing fits or saves.

    Raises EdgeconvError when one input element, one weight and one output do not fit.
    """
    if memory_words < precision.near:
        raise EdgeconvError(
            "fast memory is too small",
            got=f"{memory_words} words",
            rule=f"one update needs {precision.near} words",
        )
    search = LocalSearch(shape, precision, memory_words)
    sizes = (1,) * len(search.limits)
    for index, real in enumerate(relaxed_sizes(shape, precision, memory_words)):
        # The slack keeps 8 from becoming 7.999999; it must not cost the guarantee, hence the check.
        rounded = max(1, math.floor(real * (1 + 1e-6)))
        raised = replaced(sizes, index, rounded)
        raised = search.even(raised, index, search.blocks(raised, index))
        if search.fits(raised):
            sizes = raised
    return blocking_of(search.grown(sizes))


def relaxed_sizes(shape: ConvShape, precision: Precision, memory_words: float) -> tuple[float, ...]:
    """The solution of the linear program: the block of most updates, sizes not rounded.

    Each array gets M / p_T elements, p_T with sums as wide as they are computed.  The patch of a
    block, the product over the axes of (outputs + reach * repeats) * phases, becomes linear by
    multiplying out: each of the products gets an equal part.  An axis whose taps are all of
    different phases reads no halo, and stays out of that.  All ones where the program has no
    solution, the memory being too small for it.
    """
    from scipy.optimize import linprog  # noqa: PLC0415 - half a second, and few commands need it

    limits = limits_of(shape)
    room = math.log(memory_words / precision.near)
    outs = [FIXED + PER_AXIS * axis for axis in range(len(shape.axes))]
    repeats, phases = [out + 1 for out in outs], [out + 2 for out in outs]
    rows = [
        _row(len(limits), [_BATCH, _OUT_C, *outs]),
        _row(len(limits), [_IN_C, _OUT_C, *repeats, *phases]),
    ]
    rooms = [room, room]
    halos = [
        (out, repeat) if limits[repeat] > 1 else (out,)
        for out, repeat in zip(outs, repeats, strict=True)
    ]
    expanded = list(product(*halos))
    for chosen in expanded:
        rows.append(_row(len(limits), [_BATCH, _IN_C, *chosen, *phases]))
        reaches = (
            math.log(axis.reach)
            for axis, index, out in zip(shape.axes, chosen, outs, strict=True)
            if index != out
        )
        rooms.append(room - math.log(len(expanded)) - sum(reaches))
    bounds = [(0.0, math.log(limit)) for limit in limits]
    solved = linprog(
        [-1.0] * len(limits), A_ub=np.array(rows), b_ub=rooms, bounds=bounds, method="highs"
    )
    return tuple(map(math.exp, solved.x)) if solved.success else (1.0,) * len(limits)


def _row(unknowns: int, chosen: list[int]) -> list[float]:
    """The coefficients of a product of some of the sizes."""
    return [float(index in chosen) for index in range(unknowns)]
