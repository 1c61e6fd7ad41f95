"""How far rounding probably takes a Winograd convolution of random numbers from the exact one.

`error_bound` is what no input can exceed, some thousand times more than what is found, since
roundings mostly cancel.  Taken as independent and of mean 0 they are a martingale: together they
exceed l u sqrt(sum of m^2) at most with a probability of 2 exp(-l^2 / 2), where m is what a
rounding, of at most u = 2^-24 of its number, is worth at the output (Higham and Mary, A New
Approach to Probabilistic Rounding Error Analysis, SIAM J. Sci. Comput. 41, 2019, Theorem 2.4).
Inputs and filters are taken as independent, of mean 0 and variance 1: so the expected m^2 of every
rounding of the straight-line code is known.
"""

from __future__ import annotations

import math
from dataclasses import dataclass, replace
from functools import lru_cache

import numpy as np

from edgeconv.ir.straight_line import Routine
from edgeconv.ir.winograd_form import Nested, WinogradForm, plain
from edgeconv.kernels.algorithms.winograd.bound import UNIT
from edgeconv.kernels.algorithms.winograd.plan import routine_of
from edgeconv.kernels.algorithms.winograd.toom_cook import Doubles, doubles, matrices

RISK = 1e-6  # that an output of a layer is further off


def probable_bound(form: Nested, in_c: int, outputs: int) -> float:
    """What no error of so many ``outputs`` of ``in_c`` channels without strides exceeds, but with a
    probability of RISK; inputs, filters and bias are of variance 1."""
    deviations = math.sqrt(2 * math.log(2 * outputs / RISK))
    return deviations * UNIT * math.sqrt(squared_roundings(form, in_c))


@lru_cache(maxsize=1024)
def squared_roundings(form: Nested, in_c: int) -> float:
    """The expected sum of m^2, of the output of a tile where it is largest."""
    if form.summed > 1:  # rows are summed as channels are
        return squared_roundings(replace(form, down=plain(1)), in_c * form.summed)
    down, across = _Way.of(form.down), _Way.of(form.across)
    found = in_c * (_before(down, across) + _after(down, across)) + _between(down, across, in_c)
    return float(found.max()) + in_c * form.down.taps * form.across.taps + 1  # and the bias


@dataclass(frozen=True, slots=True, eq=False)
class _Way:
    """One direction of a form: B^T, A^T and the roundings of both, which are pairs: a row by which
    inputs make the number, and its factors in the outputs.

    ``filters``: covariance of a transformed filter; ``products``: of its products with an input.
    """

    of_input: Doubles
    of_products: Doubles
    input_roundings: tuple[tuple[Doubles, Doubles], ...]
    output_roundings: tuple[tuple[Doubles, Doubles], ...]
    filters: Doubles
    products: Doubles

    @staticmethod
    def of(form: WinogradForm) -> _Way:
        made = matrices(form)
        inputs, filters = doubles(made.of_input), doubles(made.of_filter)
        before, after = (
            () if form.is_plain else _roundings(routine_of(form, side))
            for side in ("input", "output")
        )
        covariance = filters @ filters.T
        products = covariance * (inputs @ inputs.T)
        return _Way(inputs, doubles(made.of_products), before, after, covariance, products)

    def worth(self, of_input: Doubles) -> Doubles:
        """The mean square of each output where ``of_input`` is in place of a transformed input."""
        each = self.of_products * of_input
        found: Doubles = np.einsum("at,tu,au->a", each, self.filters, each)
        return found

    def summed(self, of_products: Doubles) -> Doubles:
        """The mean square of a sum of products that are independent, of these mean squares."""
        found: Doubles = self.of_products**2 @ of_products
        return found


def _roundings(code: Routine) -> tuple[tuple[Doubles, Doubles], ...]:
    """The roundings of every product, unless by a power of two, and of every addition."""
    every = np.eye(code.inputs + len(code.sums))
    known = {f"x{i}": every[i] for i in range(code.inputs)}
    rounded = []
    for own, each in enumerate(code.sums, code.inputs):
        total = np.zeros(len(every))
        for i, (factor, name) in enumerate(each.terms):
            term = float(factor) * known[name]
            total = total + term
            if math.frexp(abs(float(factor)))[0] != 0.5:
                rounded.append((term[: code.inputs], own))
            if i:
                rounded.append((total[: code.inputs], own))
        known[each.name] = total + every[own]
    outputs = np.array([known[name] for name in code.outputs])
    return tuple((value, outputs[:, own]) for value, own in rounded)


def _before(down: _Way, across: _Way) -> Doubles:
    """The roundings of an input's channel, rows first, and of its filters; at each output of a
    tile."""
    rows = sum((_square(value) * across.worth(effect) for value, effect in across.input_roundings))
    columns = sum((_square(value) * down.worth(effect) for value, effect in down.input_roundings))
    all_rows = sum(down.worth(column) for column in down.of_input.T)
    filters = down.summed(np.diag(down.products))
    both = np.outer(columns + filters, across.summed(np.diag(across.products)))
    return both + np.outer(all_rows, rows + np.zeros(len(across.of_products)))


def _between(down: _Way, across: _Way, in_c: int) -> Doubles:
    """The roundings of products, and of their sums over the channels one after the other."""
    rounded = in_c + in_c * (in_c + 1) / 2
    return rounded * np.outer(*(way.summed(np.diag(way.products)) for way in (down, across)))


def _after(down: _Way, across: _Way) -> Doubles:
    """The roundings of what becomes outputs of a channel's sums, columns first."""
    columns, rows = (
        sum(
            (
                float(value @ way.products @ value) * effect**2
                for value, effect in way.output_roundings
            )
        )
        for way in (down, across)
    )
    made = np.einsum("at,tu,au->a", down.of_products, down.products, down.of_products)
    both = np.outer(columns + np.zeros(len(made)), across.summed(np.diag(across.products)))
    return both + np.outer(made, rows + np.zeros(len(across.of_products)))


def _square(values: Doubles) -> float:
    return float(values @ values)
