"""Rounding with calibration inputs: what it returns is in the format, and better than nearest."""

from __future__ import annotations

import itertools
from typing import Any

import numpy as np
import numpy.typing as npt
import pytest

from edgeconv.ir.filters import Filters
from edgeconv.ir.graph import Graph, Node, Tensor
from edgeconv.kernels.storage import formats
from edgeconv.search.calibration import error_feedback as compensation
from edgeconv.search.calibration import inputs as layer_inputs
from edgeconv.search.calibration.codebook import Codebook
from edgeconv.search.calibration.error_feedback import (
    carried,
    compensated,
    refined,
    refitted,
)
from edgeconv.search.calibration.inputs import columns_of, rows_of
from edgeconv.search.calibration.moments import Moments, Rows
from edgeconv.search.calibration.rounding import BEST, NEAREST, RECIPES, round_layer
from edgeconv.search.choose.storage import weight_formats
from tests.ir_interpreter import evaluate

STORED = sorted(weight_formats().keys() - {"float32"})
COARSE = [name for name in STORED if formats()[name].scaled]
Doubles = npt.NDArray[np.float64]


def correlated(p: int, pixels: int, k: int, seed: int = 0) -> Doubles:
    """(p, pixels, k) inputs that follow one another, with means: as behind a ReLU."""
    rng = np.random.default_rng(seed)
    mixed = rng.standard_normal((p, pixels, k)) @ rng.standard_normal((p, k, k)) / k**0.5
    inputs: Doubles = np.maximum(mixed + 0.5 * rng.standard_normal((p, pixels, 1)), 0)
    return inputs


def moments(x: Doubles) -> Moments:
    return Moments(x.transpose(0, 2, 1) @ x / x.shape[1], x.mean(axis=1), x.shape[1])


def sums(weights: npt.NDArray[Any], x: Doubles, rows: Rows) -> Doubles:
    """(out_c, pixels)."""
    products = np.einsum("pok,pnk->pon", rows.split(weights), x)
    by_piece = products.reshape(rows.groups, rows.pieces, -1, x.shape[1])
    total: Doubles = by_piece.sum(axis=1).reshape(-1, x.shape[1])
    return total


CASES = [Rows(1, 1, 40), Rows(1, 4, 10), Rows(3, 1, 18), Rows(12, 1, 9)]


@pytest.mark.parametrize("rows", CASES, ids=str)
@pytest.mark.parametrize("form", STORED)
def test_each_step_brings_the_sums_nearer(form: str, rows: Rows) -> None:
    """On inputs that rounding has not seen, and with weights that the format holds."""
    x = correlated(rows.groups * rows.pieces, 4000, rows.length)
    seen, unseen = x[:, :3000], x[:, 3000:]
    rng = np.random.default_rng(3)
    weights = rng.standard_normal((12, rows.pieces * rows.length)).astype(np.float32)
    weights *= rng.uniform(0.1, 1, (12, 1)).astype(np.float32)
    bias = rng.standard_normal(12).astype(np.float32)
    wanted = sums(weights, unseen, rows) + bias[:, None]
    errors = []
    for recipe in RECIPES.values():
        found = round_layer(Filters(weights, bias), rows, form, moments(seen), recipe)
        units = np.ones(12) if found.units is None else np.array(found.units)
        assert (found.units is None) == (form not in COARSE)
        numbers = found.parameters.weights.astype(np.float64) / units[:, None]
        again = formats()[form].rounded(numbers.astype(np.float32)).astype(np.float64)
        again *= units[:, None]
        assert np.array_equal(again.astype(np.float32), found.parameters.weights)
        assert found.parameters.bias is not None
        got = sums(found.parameters.weights, unseen, rows) + found.parameters.bias[:, None]
        errors.append(float(np.square(got - wanted).mean()))
    nearest, units_too, with_bias, best = errors
    assert units_too <= 1.05 * nearest
    assert with_bias < 1.2 * units_too  # units are chosen for independent inputs
    # Where a group has few weights, there are few others to make up for one.
    assert best < (0.8 if rows.length * rows.pieces >= 40 else 1.0) * with_bias


@pytest.mark.parametrize("form", STORED)
def test_the_mean_is_kept(form: str) -> None:
    x, rows = correlated(1, 500, 30), Rows(1, 1, 30)
    own = Filters(np.random.default_rng(1).standard_normal((6, 30)).astype(np.float32))
    own = Filters(own.weights, np.zeros(6, np.float32))
    found = round_layer(own, rows, form, moments(x), BEST).parameters
    assert found.bias is not None
    moved = sums(found.weights, x, rows) + found.bias[:, None] - sums(own.weights, x, rows)
    assert np.abs(moved.mean(axis=1)).max() < 1e-5


@pytest.mark.parametrize("form", COARSE)
def test_carrying_and_refining_lower_the_error(form: str) -> None:
    codebook, rows = Codebook(formats()[form]), Rows(2, 1, 150)  # more than one block of columns
    prepared = moments(correlated(2, 900, 150)).prepared(centred=True)
    weights = np.random.default_rng(5).standard_normal((2, 7, 150)).astype(np.float32)
    flat = weights.reshape(14, 150).astype(np.float64)
    units = codebook.default_units(flat).reshape(2, 7).astype(np.float32)
    second = prepared.second
    nearest = units[:, :, None] * codebook.nearest(weights / units[:, :, None])
    one = carried(weights, units, prepared, codebook)
    two = refined(weights, one, units, second, codebook)
    three, other = refitted(weights, two, units, second, codebook, rows)
    # The mean squared error of the layer's sums, over all rows: what is being made small.
    left = [weights - found for found in (nearest, one, two, three)]
    errors = [float(np.einsum("pok,pok->", each @ second, each)) for each in left]
    assert errors[1] < 0.8 * errors[0]
    assert errors[2] < errors[1]
    assert errors[3] <= errors[2] * (1 + 1e-6)
    assert not np.array_equal(other, units)


def test_blocks_of_columns_change_nothing(monkeypatch: pytest.MonkeyPatch) -> None:
    """A product by block is for speed: rounding column after column gives the same numbers."""
    codebook, size = Codebook(formats()["int4"]), 23
    prepared = moments(correlated(2, 200, size)).prepared(centred=True)
    weights = np.random.default_rng(8).standard_normal((2, 5, size)).astype(np.float32)
    flat = weights.reshape(10, size).astype(np.float64)
    units = codebook.default_units(flat).reshape(2, 5).astype(np.float32)
    nearest = units[:, :, None] * codebook.nearest(weights / units[:, :, None])
    found = []
    for block in (size, 8, 1):
        monkeypatch.setattr(compensation, "BLOCK", block)
        again = refined(weights, nearest, units, prepared.second, codebook)
        found.append((carried(weights, units, prepared, codebook), again))
    assert not np.array_equal(found[0][0], nearest)
    assert not np.array_equal(found[0][1], nearest)
    for carrying, refining in found[1:]:
        np.testing.assert_allclose(carrying, found[0][0], rtol=1e-6)
        np.testing.assert_allclose(refining, found[0][1], rtol=1e-6)


@pytest.mark.parametrize(
    "numbers", [[0, 3], [-2, 0], [0, 0]], ids=["at-right-angles", "opposite", "zeros"]
)
def test_a_row_that_no_unit_brings_nearer_keeps_its_own(numbers: list[int]) -> None:
    """The best factor would be nothing, negative or not a number."""
    codebook, rows = Codebook(formats()["int8"]), Rows(1, 1, 2)
    units = np.full((1, 2), 0.5, np.float32)
    weights = np.array([[[1, 0], [1, 0]]], np.float32)
    found = np.array([[numbers, [4, 0]]], np.float32) * units[:, :, None]
    kept, new = refitted(weights, found, units, np.eye(2, dtype=np.float32)[None], codebook, rows)
    assert new.tolist() == [[0.5, 0.25]]  # a row that is twice too large halves its own
    assert kept.tolist() == [[[0.5 * n for n in numbers], [1, 0]]]


def test_small_rows_come_near_the_best_there_is() -> None:
    """Every combination of int4 around the weights, tried."""
    codebook, rows = Codebook(formats()["int4"]), Rows(1, 1, 5)
    x = correlated(1, 200, 5, seed=2)
    prepared = moments(x).prepared(centred=False)
    back = np.argsort(prepared.order[0])
    second = prepared.second[0][np.ix_(back, back)]
    rng = np.random.default_rng(4)
    total = least = nearest_total = 0.0
    for _ in range(20):
        weights = rng.uniform(-6, 6, (1, 1, 5))
        found, units = compensated(weights, np.ones((1, 1)), prepared, codebook, rows)
        near = [{np.floor(w) + i for i in (-1, 0, 1, 2)} for w in weights[0, 0] / units[0, 0]]
        tried = np.array(list(itertools.product(*near))) * units[0, 0] - weights[0]
        error, nearest = (found - weights)[0, 0], (np.rint(weights) - weights)[0, 0]
        total += float(error @ second @ error)
        nearest_total += float(nearest @ second @ nearest)
        least += float(np.einsum("ij,jk,ik->i", tried, second, tried).min())
    assert total < 2.0 * least
    assert total < 0.6 * nearest_total


def test_inputs_never_seen_change_nothing_else() -> None:
    some = correlated(1, 300, 20)
    some[:, :, 7] = 0
    own = Filters(np.random.default_rng(1).standard_normal((4, 20)).astype(np.float32))
    for x in (some, np.zeros_like(some)):
        found = round_layer(own, Rows(1, 1, 20), "int8", moments(x), BEST)
        assert found.units is not None
        unit = np.array(found.units)
        assert np.abs(found.parameters.weights - own.weights)[:, 7].max() <= 0.51 * unit.max()


def test_rows_of_zeros_have_a_unit() -> None:
    own = Filters(np.zeros((3, 1, 2, 2), np.float32), np.ones(3, np.float32))
    rows, some = Rows(3, 1, 4), moments(correlated(3, 50, 4))
    for form, recipe in itertools.product(COARSE, (NEAREST, BEST)):
        found = round_layer(own, rows, form, some, recipe)
        assert found.units is not None
        assert all(np.isfinite(unit) and unit > 0 for unit in found.units)
        assert not found.parameters.weights.any()


def convolution(rank: int, groups: int) -> tuple[Node, Graph]:
    """Padded, strided and dilated, each differently by dimension, of two images."""
    kernel, strides, dilations = (3, 2, 3)[:rank], (2, 1, 1)[:rank], (1, 2, 1)[:rank]
    before, after = (1, 2, 0)[:rank], (0, 1, 1)[:rank]
    padded = [a + size + b for a, size, b in zip(before, (7, 8, 6), after, strict=False)]
    out = tuple(
        (size - (k - 1) * d - 1) // s + 1
        for size, k, d, s in zip(padded, kernel, dilations, strides, strict=True)
    )
    attrs = {
        "kernel": kernel,
        "strides": strides,
        "dilations": dilations,
        "pads": before + after,
        "groups": groups,
    }
    weights = np.random.default_rng(6).standard_normal((8, 4 // groups, *kernel))
    tensors = [
        Tensor("x", (2, 4, *(7, 8, 6)[:rank])),
        Tensor("w", weights.shape, data=weights),
        Tensor("y", (2, 8, *out)),
    ]
    node = Node("conv", "Conv", ("x", "w", ""), ("y",), attrs)
    return node, Graph("g", (node,), {t.name: t for t in tensors}, ("x",), ("y",))


@pytest.mark.parametrize("rank", [1, 2, 3])
@pytest.mark.parametrize("groups", [1, 2, 4])
def test_columns_are_what_filters_are_multiplied_with(
    rank: int, groups: int, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(layer_inputs, "MOST_COLUMNS", 12)  # longer rows in pieces
    node, graph = convolution(rank, groups)
    x = np.random.default_rng(7).standard_normal(graph["x"].shape).astype(np.float32)
    wanted = evaluate(graph, {"x": x})["y"]
    rows = rows_of(node, graph)
    assert rows.length <= 12
    weights = graph["w"].constant().astype(np.float64)
    assert np.array_equal(rows.join(rows.split(weights), weights.shape), weights)
    columns = rows.cut(columns_of(node, x, 10**9))
    got = sums(weights, columns.astype(np.float64), rows)
    images_last = np.moveaxis(wanted, 0, 1).reshape(8, -1)
    np.testing.assert_allclose(got, images_last, atol=1e-5)
    few = columns_of(node, x, 5, seed=1)
    assert few.shape[1] == 5
    assert np.array_equal(few, columns_of(node, x, 5, seed=1))
    assert not np.array_equal(few, columns_of(node, x, 5, seed=2))
