"""Products of random matrices: of two that are computed, and of one with constant weights."""

from __future__ import annotations

import math

import numpy as np

from tests.geometry.convolutions import FILTERS
from tests.geometry.draw import AFTER, CHANNELS, WHOLE, Draws, Sizes
from tests.kernels.cases import Array, Spec

MOST_MACS = 150_000


def _sizes(draws: Draws) -> tuple[int, int, int]:
    """Rows, columns and what is summed over."""
    while True:
        m, n, k = (draws.one((*CHANNELS, 130, 300)) for _ in "mnk")
        if m * n * k <= MOST_MACS:
            return m, n, k


def _batches(draws: Draws, most: int) -> tuple[Sizes, Sizes]:
    """Leading dimensions of two operands, which broadcast."""
    whole = tuple(draws.one((1, 2, 3, 5)) for _ in range(draws.one((0, 0, 1, 2, 3))))
    if math.prod(whole) > most:
        return (), ()

    def one() -> Sizes:
        kept = tuple(1 if draws.often(0.3) else size for size in whole)
        return kept[draws.up_to(len(whole)) :]

    return whole, one()


def _spec(
    draws: Draws,
    op: str,
    inputs: dict[str, Array],
    out: Sizes,
    constants: tuple[str, ...],
    **attrs: str,
) -> Spec:
    computed = (name for name in inputs if name and name not in constants)
    storage = draws.storage(*computed, "out", "residual")
    first = next(iter(inputs))
    if WHOLE not in storage.values():
        inputs = {**inputs, first: draws.not_finite(inputs[first], 0.2)}
    return Spec(
        op,
        inputs,
        out,
        attrs,
        constants,
        before=draws.one(AFTER),
        residual=draws.whole(*out) if draws.often(0.2) else None,
        after=draws.one(AFTER),
        storage=storage,
    )


def draw(draws: Draws) -> Spec:
    """A MatMul or a Dense."""
    m, n, k = _sizes(draws)
    if draws.often(0.4):
        filters, bias = draws.one(FILTERS), draws.often(0.7)
        inputs = {"x": draws.whole(m, k), "w": draws.whole(n, k)}
        inputs["b" if bias else ""] = draws.whole(n)
        attrs = {} if filters == "float32" else {"storage": filters}
        return _spec(draws, "Dense", inputs, (m, n), ("w", "b"), **attrs)
    left, right = _batches(draws, MOST_MACS // (m * n * k))
    a, b = (*left, m, k), (*right, k, n)
    if draws.often(0.5):
        a, b = (*right, m, k), (*left, k, n)
    if draws.often(0.1):
        a = (k,)
    elif draws.often(0.1):
        b = (k,)
    x, y = draws.whole(*a), draws.whole(*b)
    out = np.matmul(x, y).shape
    return _spec(
        draws, "MatMul", {"x": x, "y": y}, out, constants=("y",) if draws.often(0.2) else ()
    )
