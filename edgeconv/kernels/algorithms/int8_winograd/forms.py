"""Winograd's algorithms in whole numbers, of int8 in int16: forms, matrices, filters.

With a number L, the ``scale``, and a power of two for each product, the ``weights`` w, the matrices
of F(m, r) (``winograd.toom_cook``) become

    L y = (A^T diag(w)) (L diag(1 / w) G g * B^T d)

without fractions.  Nothing is rounded then, and sums may leave 32 bits on the way: modulo 2^32 they
are right.  In two dimensions the results are L_down L_across times those of the convolution.  Of
that number the odd part is taken by multiplying with its inverse modulo 2^32, which leaves
2^``shift`` times the result: exact as long as that fits 32 bits, which `Facts.spare_bits` proves.
"""

from __future__ import annotations

from dataclasses import dataclass
from fractions import Fraction
from functools import lru_cache

import numpy as np
import numpy.typing as npt

from edgeconv.ir.encoding import INT8
from edgeconv.ir.straight_line import Elements, Matrix, Routine
from edgeconv.ir.winograd_form import Nested, WinogradForm, winograd_form
from edgeconv.kernels.algorithms.winograd.equations import routine
from edgeconv.kernels.algorithms.winograd.toom_cook import Matrices, is_convolution, matrices

Integers = npt.NDArray[np.int64]
_LARGEST = 2**15 - 1


@dataclass(frozen=True, slots=True)
class WholeForm:
    """``filtering`` in whole numbers: its scale, and the weight of each product."""

    filtering: WinogradForm
    scale: int
    weights: tuple[int, ...]


# F(6, 3) and F(2, 5) in any points leave 16 bits: filters of F(2, 5) are up to 31^2 times as large.
WHOLE = {
    entry.filtering: entry
    for entry in (
        WholeForm(winograd_form(2, 3, (0, 1, -1)), 2, (1, 1, 1, 1)),
        WholeForm(winograd_form(4, 3, (0, 1, -1, 2, -2)), 24, (1, 1, 1, 1, 1, 8)),
    )
}
FORMS = tuple(Nested(form, form) for form in WHOLE)


@lru_cache(maxsize=64)
def whole_matrices(form: WinogradForm) -> Matrices:
    """The matrices of ``form``, without fractions, proven to make ``scale`` times a convolution."""
    whole, plain = WHOLE[form], matrices(form)
    filters = tuple(
        tuple(number * whole.scale / weight for number in row)
        for row, weight in zip(plain.of_filter, whole.weights, strict=True)
    )
    products = tuple(
        tuple(number * weight for number, weight in zip(row, whole.weights, strict=True))
        for row in plain.of_products
    )
    found = Matrices(plain.of_input, filters, products)
    every = (*found.of_input, *found.of_filter, *found.of_products)
    assert all(number.denominator == 1 for row in every for number in row), form
    assert is_convolution(form, found, Fraction(whole.scale)), form
    return found


@lru_cache(maxsize=64)
def routine_of(form: WinogradForm, side: str) -> Routine:
    """The transformation of the ``side`` "input" or "output" of ``form``."""
    found, points = whole_matrices(form), ", ".join(map(str, form.points))
    if side == "input":
        name, does, matrix, of = "int16_input", "of an input.", found.of_input, Elements.INT16
    else:
        name, does, matrix, of = "int32_output", "of sums.", found.of_products, Elements.INT32
    head = f"{form} at {points} and infinity, in whole numbers: "
    return routine(f"{name}_{form.name}", head + does, matrix, of)


def scale_of(form: Nested) -> int:
    """So many times the results of a convolution come out."""
    return WHOLE[form.down].scale * WHOLE[form.across].scale


def shift_of(form: Nested) -> int:
    """The power of two in that."""
    scale = scale_of(form)
    return (scale & -scale).bit_length() - 1


def inverse_of(form: Nested) -> int:
    """The odd part's inverse modulo 2^32, as int32."""
    inverse = pow(scale_of(form) >> shift_of(form), -1, 2**32)
    return inverse - 2**32 if inverse >= 2**31 else inverse


def start_at(form: Nested) -> int:
    """The position whose product every output has once."""
    places = []
    for each in (form.down, form.across):
        columns = list(zip(*whole_matrices(each).of_products, strict=True))
        places.append(columns.index((Fraction(1),) * each.outputs))
    return places[0] * form.across.products + places[1]


def transformed(form: Nested, filters: Integers) -> npt.NDArray[np.int16]:
    """Filters (out_c, in_c, rows, columns) of int8 as they are multiplied, of the shape of a tile:
    exact."""
    down, across = (_numbers(whole_matrices(each).of_filter) for each in (form.down, form.across))
    found = down @ filters @ across.T
    assert np.abs(found).max(initial=0) <= _LARGEST, form
    return found.astype(np.int16)


def fits(form: Nested) -> bool:
    """Inputs and filters of int8 are int16 when they have been transformed, whatever they are."""
    down, across = whole_matrices(form.down), whole_matrices(form.across)
    pairs = ((down.of_input, across.of_input), (down.of_filter, across.of_filter))
    return all(-INT8.low * _most(a) * _most(b) <= _LARGEST for a, b in pairs)


def _most(matrix: Matrix) -> int:
    """The largest sum of a row's magnitudes."""
    return int(np.abs(_numbers(matrix)).sum(axis=1).max())


def _numbers(matrix: Matrix) -> Integers:
    return np.array([[int(number) for number in row] for row in matrix], np.int64)
