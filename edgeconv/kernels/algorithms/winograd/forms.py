"""The forms that a layer may be computed in: sizes, points, and which are accurate enough."""

from __future__ import annotations

import hashlib
from collections.abc import Hashable, Iterator, Sequence
from itertools import product

import numpy as np
import numpy.typing as npt

from edgeconv.ir.winograd_form import Nested, WinogradForm, plain, winograd_form
from edgeconv.kernels.algorithms.winograd.error import Number, Trial, filters_tried
from edgeconv.kernels.algorithms.winograd.phases import of_filters, phases_of

Floats = npt.NDArray[np.float32]

# Outputs of a tile by the taps of a filter.
OUTPUTS = {2: (2, 4, 6), 3: (2, 4, 5, 6), 4: (2, 4, 5), 5: (2, 4), 7: (2, 4)}
SIDE = 8  # inputs of a tile in two dimensions: larger ones lose too many digits (Section 6.5.1)
# Points by products, those of the fewest operations first; then, of half the error or nearly so,
# others.  Best of some hundreds of sets with normally distributed filters and inputs
# (bench/winograd_points.py), where sets that hardly differ are not told apart.
POINTS: dict[int, tuple[tuple[int | str, ...], ...]] = {
    3: ((0, 1),),
    4: ((0, 1, -1),),
    5: ((0, 1, -1, "1/2"),),
    6: ((0, 1, -1, "3/2", "-3/2"), (0, 1, -1, 2, "-1/2")),
    7: ((0, 1, -1, "1/2", "-1/2", 3),),
    8: ((0, 1, -1, 2, -2, "1/2", "-1/2"),),
    10: (
        (0, 1, -1, 2, -2, "1/2", "-1/2", "3/2", "-3/2"),
        (0, 1, -1, "3/2", "-3/2", "2/3", "-2/3", 4, "-1/4"),
    ),
}
_MOST = 4096  # layers whose errors are kept, with the filters they were measured on
_Errors = dict[tuple[Nested, Number], float]
_tried: dict[Hashable, tuple[object, Trial, _Errors]] = {}
# The same by the numbers themselves: filters are folded anew with every graph that is made of a
# model, and a trial takes as long as all other choices of a small network.
_trials: dict[Hashable, tuple[Trial, _Errors]] = {}


def forms_for(
    rows: int, columns: int, *, strides: Sequence[int] = (1, 1)
) -> Iterator[tuple[Nested, ...]]:
    """The forms of a kernel of so many rows and columns, or of its phases where it has ``strides``;
    each with its points, cheapest first.

    In two dimensions, if it has both; and with its rows as they are, summed (Section 6.12).
    """
    rows, columns = (each.taps for each in phases_of((rows, columns), strides))
    for down, across in product(OUTPUTS.get(rows, ()), OUTPUTS.get(columns, ())):
        if max(down + rows, across + columns) - 1 > SIDE:
            continue
        if rows != columns:
            pairs = product(_with_points(down, rows), _with_points(across, columns))
            yield tuple(Nested(*pair) for pair in pairs)
        elif down == across:
            yield tuple(Nested(each, each) for each in _with_points(down, rows))
    for across in OUTPUTS.get(columns, ()):
        yield tuple(Nested(plain(rows), each) for each in _with_points(across, columns))
    for down in OUTPUTS.get(rows, ()) if columns == 1 else ():
        yield tuple(Nested(each, plain(1)) for each in _with_points(down, rows))


def described(form: Nested) -> dict[str, str]:
    """What report.json says of a form: no two forms are described alike."""
    sides = form.down, form.across
    points = [", ".join(map(str, s.points)) for s in dict.fromkeys(sides) if not s.is_plain]
    return {"form": str(form), "points": "; ".join(points)}


def _with_points(outputs: int, taps: int) -> list[WinogradForm]:
    return [winograd_form(outputs, taps, points) for points in POINTS[outputs + taps - 1]]


def accurate(weights: Floats, most: float, strides: Sequence[int] = (1, 1)) -> tuple[Nested, ...]:
    """The forms for filters (out_c, in_c, rows, columns) whose error on them is at most ``most``.

    Of each size one, at the points that take the fewest operations.
    """
    found = []
    for sizes in forms_for(*weights.shape[2:], strides=strides):
        within = (form for form in sizes if error_of(form, weights, strides) <= most)
        found += [form for form in (next(within, None),) if form]
    return tuple(found)


def least_error(
    forms: Sequence[Nested], weights: Floats, strides: Sequence[int], most: float
) -> tuple[Nested, ...]:
    """The sizes of ``forms`` that float16 computes with an error of at most ``most``, each
    at the points of least error."""
    sizes = {str(form) for form in forms}
    found = []
    for each in forms_for(*weights.shape[2:], strides=strides):
        own = [form for form in each if str(form) in sizes]
        errors = {form: error_of(form, weights, strides, np.float16) for form in own}
        best = min(own, key=errors.__getitem__, default=None)
        found += [best] if best and errors[best] <= most else []
    return tuple(found)


def error_of(
    form: Nested,
    weights: Floats,
    strides: Sequence[int] = (1, 1),
    number: Number = np.float32,
) -> float:
    """The error of a form on filters (out_c, in_c, rows, columns) which have these ``strides``, in
    parts of the largest output (`Trial.error`); all forms on the same random numbers."""
    key = id(weights), tuple(strides)
    if key not in _tried:
        if len(_tried) >= _MOST:
            _tried.clear()
            _trials.clear()
        taps = weights.shape[2:]
        forms = [form for sizes in forms_for(*taps, strides=strides) for form in sizes]
        outputs = (
            max(each.down.outputs for each in (*forms, form)),
            max(each.across.outputs for each in (*forms, form)),
        )
        filters = filters_tried(of_filters(weights, strides))
        content = outputs, filters.shape, hashlib.sha256(filters.tobytes()).digest()
        if content not in _trials:
            _trials[content] = Trial.of(filters, outputs), {}
        _tried[key] = weights, *_trials[content]
    _, trial, errors = _tried[key]
    own_key = form, number
    if own_key not in errors:
        errors[own_key] = trial.error(form, number)
    return errors[own_key]
