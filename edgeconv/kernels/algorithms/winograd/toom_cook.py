"""The matrices of a Winograd algorithm F(m, r) of Winograd, by Toom-Cook, in rationals.

m outputs of a filter of r taps come of a = m + r - 1 inputs by as many products:

    y = A^T ((G g) * (B^T d)),  y_i = sum over k of g_k d_(i + k)

Toom-Cook evaluates two polynomials at a - 1 numbers and at infinity, multiplies the values and
interpolates; its transposition is the correlation that convolutional layers compute (Winograd,
Arithmetic Complexity of Computations, 1980; Blahut, Fast Algorithms for Signal Processing, 2010).
In two dimensions one is nested in another (Lavin and Gray, CVPR 2016).
"""

from __future__ import annotations

import math
from collections.abc import Sequence
from dataclasses import dataclass
from fractions import Fraction
from functools import lru_cache

import numpy as np
import numpy.typing as npt

from edgeconv.base.errors import EdgeconvError
from edgeconv.ir.straight_line import Matrix
from edgeconv.ir.winograd_form import WinogradForm

Doubles = npt.NDArray[np.float64]


@dataclass(frozen=True, slots=True)
class Matrices:
    """The matrices of F(m, r).  ``of_input``: B^T, products by products; ``of_filter``: G, products
    by taps; ``of_products``: A^T, outputs by products."""

    of_input: Matrix
    of_filter: Matrix
    of_products: Matrix


@lru_cache(maxsize=1024)
def matrices(form: WinogradForm) -> Matrices:
    """The matrices of ``form``, proven to be a convolution.

    Raises EdgeconvError where sizes and points make no such form.
    """
    able = len(form.points) == len(set(form.points)) == form.products - 1
    if min(form.outputs, form.taps) < 1 or not (able or form.is_plain):
        raise EdgeconvError(
            "no Winograd algorithm",
            got=f"{form} at {', '.join(map(str, form.points))}",
            rule="as many points, all different, as outputs and taps less two",
        )
    found = _plain(form.taps) if form.is_plain else _toom_cook(form)
    assert is_convolution(form, found), form
    return found


def doubles(matrix: Matrix) -> Doubles:
    """The matrix in float64, each number rounded once."""
    return np.array([[float(number) for number in row] for row in matrix], np.float64)


def nested(down: Matrix, across: Matrix, values: npt.NDArray[np.floating]) -> Doubles:
    """``down`` x values x ``across`` transposed, over the last two axes, in float64.

    Products are added one after the other, so that results are the same bits on every machine.
    """
    return _along(_along(values.astype(np.float64), doubles(down), -2), doubles(across), -1)


def _along(values: Doubles, matrix: Doubles, axis: int) -> Doubles:
    terms = [np.take(values, k, axis) for k in range(matrix.shape[1])]
    rows = []
    for row in matrix:
        total = row[0] * terms[0]
        for factor, term in zip(row[1:], terms[1:], strict=True):
            total = total + factor * term
        rows.append(total)
    return np.stack(rows, axis)


def _plain(taps: int) -> Matrices:
    """A product per tap."""
    one = tuple(tuple(Fraction(int(i == j)) for j in range(taps)) for i in range(taps))
    return Matrices(one, one, ((Fraction(1),) * taps,))


def _toom_cook(form: WinogradForm) -> Matrices:
    """What interpolation divides by stands in G, which is multiplied in float64 when compiling, so
    that the rows of B^T are polynomials whose last coefficient is one."""
    points, zero, one = form.points, Fraction(0), Fraction(1)
    inputs, filters, products = [], [], []
    for i, point in enumerate(points):
        others = (*points[:i], *points[i + 1 :])
        divisor = math.prod((point - other for other in others), start=one)
        inputs.append(_expanded(others, form.products))
        filters.append(tuple(point**k / divisor for k in range(form.taps)))
        products.append(tuple(point**k for k in range(form.outputs)))
    inputs.append(_expanded(points, form.products))
    filters.append((zero,) * (form.taps - 1) + (one,))
    products.append((zero,) * (form.outputs - 1) + (one,))
    return Matrices(tuple(inputs), tuple(filters), tuple(zip(*products, strict=True)))


def _expanded(roots: Sequence[Fraction], length: int) -> tuple[Fraction, ...]:
    """Coefficients of the polynomial with these roots, that of power 0 first, zeros behind."""
    found = [Fraction(1)]
    for root in roots:
        shifted, same = [Fraction(0), *found], [*found, Fraction(0)]
        found = [high - root * low for high, low in zip(shifted, same, strict=True)]
    return (*found, *(Fraction(0),) * (length - len(found)))


def is_convolution(form: WinogradForm, found: Matrices, scale: Fraction = Fraction(1)) -> bool:
    """Whether y_i has the product g_k d_j ``scale`` times where j = i + k, and otherwise not at
    all: y is bilinear in g and d, so that this is the identity for all filters and inputs."""
    for i, k in np.ndindex(form.outputs, form.taps):
        weights = [c * row[k] for c, row in zip(found.of_products[i], found.of_filter, strict=True)]
        for j in range(form.products):
            terms = (w * row[j] for w, row in zip(weights, found.of_input, strict=True))
            if sum(terms, Fraction(0)) != scale * (j == i + k):
                return False
    return True
