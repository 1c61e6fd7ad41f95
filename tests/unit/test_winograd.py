"""Winograd's algorithm: matrices, equations, which forms are accurate, and which layers have
them."""

from __future__ import annotations

import itertools
import json
import math
from collections.abc import Callable
from dataclasses import replace
from fractions import Fraction
from pathlib import Path
from typing import Any

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from edgeconv.base.errors import EdgeconvError
from edgeconv.codegen.functions import environment
from edgeconv.codegen.routines import routines_header
from edgeconv.ir.activation import Activation
from edgeconv.ir.graph import Epilogue, Graph, Node, Tensor
from edgeconv.ir.request import Request
from edgeconv.ir.straight_line import Routine
from edgeconv.ir.winograd_form import Nested, WinogradForm, winograd_form
from edgeconv.kernels.algorithms.problem import problem_of
from edgeconv.kernels.algorithms.winograd import error
from edgeconv.kernels.algorithms.winograd.bound import UNIT
from edgeconv.kernels.algorithms.winograd.candidate import candidates
from edgeconv.kernels.algorithms.winograd.equations import routine
from edgeconv.kernels.algorithms.winograd.error import relative_error
from edgeconv.kernels.algorithms.winograd.forms import POINTS, accurate, error_of, forms_for
from edgeconv.kernels.algorithms.winograd.plan import FAR_STRIPS, routine_of
from edgeconv.kernels.algorithms.winograd.probable import probable_bound, squared_roundings
from edgeconv.kernels.algorithms.winograd.toom_cook import matrices
from edgeconv.search.choose import select
from edgeconv.search.choose.winograd import Forms, forms_within
from edgeconv.target import board as boards
from edgeconv.target.backends import TARGETS
from tests import onnx_models, winograd_numbers
from tests.command import Command
from tests.examples import examples
from tests.winograd_numbers import FLOAT64, is_exact, one_ulp_off

RATIONALS = st.fractions(min_value=-4, max_value=4, max_denominator=4)


@st.composite
def winograd_forms(draw: st.DrawFn) -> WinogradForm:
    outputs, taps = draw(st.integers(1, 7)), draw(st.integers(1, 7))
    count = outputs + taps - 2
    points = draw(st.lists(RATIONALS, min_size=count, max_size=count, unique=True))
    return WinogradForm(outputs, taps, tuple(points))


@given(winograd_forms(), st.randoms(use_true_random=False))
@settings(max_examples=examples(60), deadline=None)
def test_matrices_compute_a_correlation_exactly(form: WinogradForm, random: Any) -> None:
    found = matrices(form)
    g = [Fraction(random.randint(-99, 99), random.randint(1, 9)) for _ in range(form.taps)]
    d = [Fraction(random.randint(-99, 99), random.randint(1, 9)) for _ in range(form.products)]
    u, v = (
        [sum((c * x for c, x in zip(row, values, strict=True)), Fraction(0)) for row in matrix]
        for matrix, values in ((found.of_filter, g), (found.of_input, d))
    )
    products = [a * b for a, b in zip(u, v, strict=True)]
    for i, row in enumerate(found.of_products):
        got = sum((c * p for c, p in zip(row, products, strict=True)), Fraction(0))
        assert got == sum((g[k] * d[i + k] for k in range(form.taps)), Fraction(0))


@given(winograd_forms())
@settings(max_examples=examples(60), deadline=None)
def test_equations_are_the_matrix_with_no_more_operations(form: WinogradForm) -> None:
    for matrix in (matrices(form).of_input, matrices(form).of_products):
        code = routine("test", "A test.", matrix)
        assert code.matrix() == matrix
        # A multiply-add per factor, less one in a row that begins with a term without.
        plain = sum(sum(map(bool, row)) - (1 in row) for row in matrix)
        assert code.operations <= plain


@pytest.mark.parametrize(
    ("outputs", "taps", "points", "operations"),
    [
        (2, 3, (0, 1, -1), (4, 4)),  # as Lavin and Gray write them
        (4, 3, (0, 1, -1, 2, -2), (12, 10)),
        (6, 3, POINTS[8][0], (24, 20)),
    ],
)
def test_shared_terms_are_found(
    outputs: int, taps: int, points: Any, operations: tuple[int, int]
) -> None:
    found = matrices(winograd_form(outputs, taps, points))
    codes = [routine("test", "A test.", m) for m in (found.of_input, found.of_products)]
    assert tuple(code.operations for code in codes) == operations


@pytest.mark.parametrize("points", [(0, 1), (0, 1, 1), (0, 1, -1, 2)])
def test_points_that_make_no_form_are_refused(points: tuple[int, ...]) -> None:
    with pytest.raises(EdgeconvError, match="no Winograd algorithm"):
        matrices(winograd_form(2, 3, points))


def test_routines_read_as_equations() -> None:
    code = routine("f", "B^T.", matrices(winograd_form(2, 3, (0, 1, -1))).of_input)
    text = routines_header(environment(), [code, code])
    assert text.count("EC_INLINE void ec_f(ec_vec *v)") == 1
    assert "const ec_vec y1 = ec_add(x1, x2);" in text
    assert "    case EC_ROUTINE_F: ec_f(v); break;" in text
    assert routines_header(environment(), []) == ""


def weights(out_c: int, in_c: int, side: int, seed: int = 3) -> Any:
    return np.random.default_rng(seed).standard_normal((out_c, in_c, side, side)).astype(np.float32)


def square(outputs: int, taps: int, points: Any) -> Nested:
    one = winograd_form(outputs, taps, points)
    return Nested(one, one)


def test_errors_grow_with_the_tile() -> None:
    filters = weights(16, 64, 3)
    two = (points[0] for points in forms_for(3, 3) if points[0].summed == 1)
    errors = [relative_error(form, filters) for form in two]
    assert len(errors) == 4
    assert 0 < errors[0] < errors[1] < errors[2] < errors[3] < 1e-4


EVERY_FORM = [
    form
    for taps in (1, 2, 3, 4, 5, 7)
    for points in forms_for(taps, taps)
    for form in points
    if form.products < 100
]


@pytest.mark.parametrize("form", EVERY_FORM[::3], ids=str)
@pytest.mark.parametrize("channels", [3, 40])
def test_errors_are_as_probable(form: Nested, channels: int) -> None:
    """A rounding's mean square is 0.42^2 of u^2, that of 1 / (3 x^2) over mantissas x that are as
    frequent as 1 / x; less where products are exact or rounded together with their sum."""
    random = np.random.default_rng(7)
    taps = form.down.taps, form.across.taps
    filters = random.standard_normal((12, channels, *taps)).astype(np.float32)
    sides = form.down.products, form.across.products
    tiles = random.standard_normal((24, channels, *sides)).astype(np.float32)
    errors = error.winograd(form, filters, tiles) - error.direct(filters, tiles)
    usual = math.sqrt(float((errors**2).mean((0, 1)).max()))
    assert 0.28 < usual / UNIT / math.sqrt(squared_roundings(form, channels)) < 0.5
    assert np.abs(errors).max() < probable_bound(form, channels, errors.size)


def test_a_factor_that_is_one_ulp_off_shows(monkeypatch: pytest.MonkeyPatch) -> None:
    """On numbers of which nothing is rounded, in every routine of every form."""
    once = {}
    for form in reversed([form for form in EVERY_FORM if is_exact(form)]):
        once[form.across] = form  # in two dimensions, if there are
    for form in once.values():
        filters = winograd_numbers.filters(form, 32, 1)
        places = np.eye(form.products, dtype=np.float32)
        tiles = places.reshape(-1, 1, form.down.products, form.across.products)
        want = error.direct(filters, tiles)
        least = FLOAT64 * float(filters.max())
        assert np.abs(error.winograd(form, filters, tiles) - want).max() <= least
        for side in ("input", "output"):
            for wrong in one_ulp_off(routine_of(form.across, side)):
                with monkeypatch.context() as context:
                    context.setattr(error, "routine_of", replaced(form.across, side, wrong))
                    got = error.winograd(form, filters, tiles)
                assert np.abs(got - want).max() > least, (str(form), wrong)


def replaced(form: WinogradForm, side: str, code: Routine) -> Callable[..., Routine]:
    """`routine_of` with another routine in place of one."""
    return lambda *key: code if key == (form, side) else routine_of(*key)


@pytest.mark.parametrize("others", [(2, -2), ("1/2", "-1/2"), (3, -3), ("2/3", "-2/3")])
def test_points_are_better_than_others_of_as_many_operations(others: Any) -> None:
    filters = weights(32, 64, 3)
    chosen = square(4, 3, POINTS[6][0])
    assert relative_error(chosen, filters) < relative_error(
        square(4, 3, (0, 1, -1, *others)), filters
    )


def test_forms_within_the_error_alone_are_allowed() -> None:
    filters = weights(16, 64, 3)
    errors = {form: error_of(form, filters) for each in forms_for(3, 3) for form in each}
    assert accurate(filters, 0.0) == ()
    assert accurate(filters, 1.0) == tuple(points[0] for points in forms_for(3, 3))
    for most in sorted(errors.values()):
        allowed = accurate(filters, most)
        assert allowed
        assert all(errors[form] <= most for form in allowed)
    assert accurate(weights(4, 4, 9), 1.0) == ()  # no tile of at most 8 inputs


def test_filters_made_anew_are_not_tried_anew(monkeypatch: pytest.MonkeyPatch) -> None:
    """Nor are others taken for them."""
    filters = np.random.default_rng(7).standard_normal((5, 4, 3, 3), np.float32)
    ((form, *_), *_) = forms_for(3, 3)
    found, other = error_of(form, filters), error_of(form, 2 * filters + 1)
    with monkeypatch.context() as patch:
        patch.setattr(error.Trial, "error", None)
        assert error_of(form, filters.copy()) == found
        assert error_of(form, 2 * filters + 1) == other != found


def network(
    in_c: int = 64,
    out_c: int = 64,
    size: int = 56,
    winograd_forms: tuple[Nested, ...] = (),
    **attrs: Any,
) -> Graph:
    """A convolution of 3x3, called ``conv``, of which these forms are asked."""
    usual = {"kernel": (3, 3), "strides": (1, 1), "dilations": (1, 1), "pads": (1, 1, 1, 1)}
    own, asked = {**usual, "groups": 1, **attrs}, Request(winograd_forms=winograd_forms)
    node = Node("conv", "Conv", ("x", "w"), ("y",), own, request=asked)
    filters = weights(out_c, in_c // attrs.get("groups", 1), 3)
    tensors = {
        "x": Tensor("x", (1, in_c, size, size)),
        "w": Tensor("w", filters.shape, data=filters),
        "y": Tensor("y", (1, out_c, size // node.attrs["strides"][0], size)),
    }
    return Graph("net", (node,), tensors, ("x",), ("y",))


def within(graph: Graph, error: float) -> Forms:
    return forms_within(graph, {"conv": error})


def algorithm(graph: Graph, **asked: Any) -> str:
    (layer,) = (e for e in select(graph, boards.load("zen4").target, **asked).layers if e.candidate)
    return layer.algorithm


def test_it_is_asked_for_by_name_or_by_its_error() -> None:
    graph = network()
    assert algorithm(graph) == "direct"
    assert algorithm(graph, algorithms={"conv": "winograd"}) == "winograd"
    assert algorithm(graph, algorithms={"*": "winograd"}) == "winograd"
    assert algorithm(graph, winograd_forms=within(graph, 1e-4)) == "winograd"
    assert algorithm(graph, winograd_forms=within(graph, 1e-9)) == "direct"
    assert algorithm(graph, winograd_forms=within(graph, 0.0)) == "direct"
    forms = within(graph, 1e-4)
    assert algorithm(graph, winograd_forms=forms, algorithms={"conv": "sconv"}) == "sconv"


def test_price_decides_where_it_is_allowed() -> None:
    """Few channels and outputs do not pay for their transformations."""
    graph = network(3, 8, 12)
    assert algorithm(graph, winograd_forms=within(graph, 1e-3)) != "winograd"


@pytest.mark.parametrize(
    "attrs",
    [
        {"strides": (3, 3)},  # a tap in each phase
        {"strides": (2, 1), "groups": 4},
        {"dilations": (2, 2), "strides": (2, 1)},
        {"groups": 64},
    ],
)
def test_what_has_no_form_is_refused_by_name(attrs: Any) -> None:
    with pytest.raises(EdgeconvError, match="algorithm does not apply"):
        algorithm(network(**attrs), algorithms={"conv": "winograd"})
    assert not within(network(**attrs), 1e-3)


def test_an_error_that_no_form_keeps_is_refused_by_name() -> None:
    with pytest.raises(EdgeconvError, match="--winograd-error"):
        algorithm(network(), algorithms={"conv": "winograd"}, winograd_forms={})


@pytest.mark.parametrize("isa", sorted(TARGETS))
@pytest.mark.parametrize(("channels", "size"), [(5, 3), (64, 56), (512, 14)])
def test_a_strip_covers_the_image_in_whole_register_tiles(
    isa: str, channels: int, size: int
) -> None:
    graph = network(channels, channels, size, winograd_forms=accurate(weights(8, 8, 3), 1.0))
    (node,), target = graph.nodes, TARGETS[isa]
    found = candidates(problem_of(node, graph), target)
    for each in found:
        plan = each.plan
        assert plan.strip % plan.rows == plan.rows % plan.kernel.row_multiple == 0
        assert (plan.strips - 1) * plan.strip < plan.tiles[0] * plan.tiles[1]
        assert plan.tiles[0] * plan.tiles[1] <= plan.strips * plan.strip
        assert each.workspace_bytes == 4 * (plan.panel_floats + plan.sums_floats(target.lanes))
    for one, other in itertools.pairwise(found):
        assert one.plan.cost <= other.plan.cost
        assert one.workspace_bytes > other.workspace_bytes
    assert not candidates(problem_of(node, graph), replace(target, workspaces=False))


def test_what_is_rounded_to_a_grid_stays_with_it() -> None:
    grid = Activation("grid", 0.1, -10.0, 10.0)
    graph = network()
    (node,) = graph.nodes
    rounded = replace(graph, nodes=(replace(node, epilogue=Epilogue(before=grid)),))
    assert not within(rounded, 1e-3)


@pytest.mark.parametrize("board", ["generic-c", "raspberry-pi-4"])
def test_a_program_keeps_the_tolerance_of_all_others(
    edgeconv: Command, tmp_path: Path, board: str
) -> None:
    """And what compile promises is said, and its command quoted."""
    model = onnx_models.save(
        onnx_models.convolution(24, 24, (1, 24, 13, 18)), tmp_path / "net.onnx"
    )
    asked = (model, "--board", board, "--winograd-error", "1e-4", "-o", tmp_path / "out")
    done = edgeconv.ok("compile", *asked)
    assert "1 convolution(s) by Winograd's algorithm (1 in F(" in done.stderr
    assert "--winograd-error 0.0001" in (tmp_path / "out" / "net.c").read_text()
    plan = next(e["plan"] for e in report_of(tmp_path / "out") if e["algorithm"] == "winograd")
    assert plan["form"].endswith(", 3x3)")
    edgeconv.ok("verify", tmp_path / "out")


def report_of(project: Path) -> Any:
    return json.loads((project / "report.json").read_text())["layers"]


VGG16 = (
    (64, 64, 224),
    (64, 128, 112),
    (128, 256, 56),
    (256, 256, 56),
    (256, 512, 28),
    (512, 512, 14),
)


def test_strips_need_a_tenth_of_what_whole_images_would() -> None:
    """On VGG-16, whose largest images would decide."""
    target, most, whole = boards.load("zen4").target, 0, 0
    for in_c, out_c, size in VGG16:
        graph = network(8, 8, size, winograd_forms=accurate(weights(8, 8, 3), 1.0))
        problem = problem_of(graph.nodes[0], graph)
        found = candidates(replace(problem, in_c=in_c, out_c=out_c), target)[0]
        most = max(most, found.workspace_bytes)
        tiles = math.prod(found.plan.tiles)
        whole = max(whole, 4 * found.plan.form.products * tiles * (in_c + out_c))
    assert most <= whole / 10


def test_a_panel_that_the_second_cache_does_not_hold_is_read_seldom() -> None:
    """By 512 filters of one vector each it would be read 32 times from L3, which nothing hides."""
    target = boards.load("zen4").target
    graph = network(8, 8, 28, winograd_forms=accurate(weights(8, 8, 3), 1.0))
    problem = replace(problem_of(graph.nodes[0], graph), in_c=512, out_c=512)
    plan = candidates(problem, target)[0].plan
    assert 4 * plan.panel_floats > target.caches[1].size
    assert plan.vectors > 1


def test_filters_are_prefetched_where_memory_keeps_up() -> None:
    target = replace(boards.load("zen4").target, prefetch=True)
    graph = network(8, 8, 7, winograd_forms=accurate(weights(8, 8, 3), 1.0))
    problem = replace(problem_of(graph.nodes[0], graph), in_c=512, out_c=512)
    far = replace(problem, run_constants=100 << 20)
    plan = candidates(far, target)[0].plan
    fast, slow = (replace(target, constants_bandwidth=each) for each in (1e12, 1e9))
    assert plan.fetches(far, fast)
    assert not plan.fetches(far, slow)
    assert not plan.fetches(far, replace(fast, prefetch=False))
    assert plan.fetches(far, replace(slow, prefetch_far=True))
    many = replace(far, batch=1 + FAR_STRIPS // plan.strips)
    assert not plan.fetches(many, replace(slow, prefetch_far=True))
    assert not plan.fetches(far, replace(slow, prefetch=False, prefetch_far=True))
    assert not plan.fetches(replace(far, in_c=16, out_c=16), fast)  # the second cache holds them


def test_filters_that_come_from_memory_are_few() -> None:
    """On 7x7 those of larger tiles are four times as many bytes for half the products."""
    target = boards.load("zen4").target
    graph = network(8, 8, 7, winograd_forms=accurate(weights(8, 8, 3), 1.0))
    near = replace(problem_of(graph.nodes[0], graph), in_c=256, out_c=256)
    far = replace(near, run_constants=100 << 20)
    floats = [candidates(each, target)[0].plan.filter_floats(near, 16) for each in (near, far)]
    assert floats[1] < floats[0]


@pytest.mark.filterwarnings("error")
@pytest.mark.parametrize("size", [3e38, np.inf])
def test_filters_that_overflow_have_no_bound(size: float) -> None:
    """A form whose error is no number must not pass for one within a limit."""
    filters = np.full((2, 3, 3, 3), size, np.float32)
    assert {relative_error(form, filters) for each in forms_for(3, 3) for form in each} == {np.inf}
    assert accurate(filters, 1e-3) == ()
