"""Sums of one-dimensional Winograd convolutions: what they take, and when they are chosen."""

from __future__ import annotations

from dataclasses import replace
from itertools import pairwise

import pytest

from edgeconv.ir.request import Workspace
from edgeconv.ir.winograd_form import Nested, plain, winograd_form
from edgeconv.kernels.algorithms.problem import problem_of
from edgeconv.kernels.algorithms.winograd.candidate import candidates
from edgeconv.kernels.algorithms.winograd.forms import accurate, forms_for
from edgeconv.kernels.algorithms.winograd.plan import WinogradPlan
from edgeconv.search.choose import select
from edgeconv.target import board as boards
from edgeconv.target.backends import TARGETS
from edgeconv.target.targets import PANELS
from tests.unit.test_winograd import network, weights

POINTS = (0, 1, -1, 2, -2, "1/2", "-1/2")


@pytest.mark.parametrize("taps", [3, 5])
@pytest.mark.parametrize("outputs", [2, 3, 4])
def test_memory_is_as_much_less_as_the_paper_says(outputs: int, taps: int) -> None:
    """Table 6.1 by the formulas of Section 6.12.7, but for the rows of the input that only the
    last rows of the output meet, which the paper leaves out."""
    across = winograd_form(outputs, taps, POINTS[: outputs + taps - 2])
    side, channels = 12 * outputs, 24
    sizes = {
        Nested(across, across): (side // outputs, side // outputs),
        Nested(plain(taps), across): (side, side // outputs),
    }
    problem = replace(problem_of(network().nodes[0], network()), in_c=channels, out_c=channels)
    two, one = (
        WinogradPlan(
            TARGETS["portable"].kernel(PANELS), form, 1, 4, tiles, tiles[0] * tiles[1], channels
        )
        for form, tiles in sizes.items()
    )
    products = outputs + taps - 1
    assert two.filter_floats(problem, 1) / one.filter_floats(problem, 1) == products / taps
    assert two.sums_floats(1) / one.sums_floats(1) == products / outputs
    whole = one.panel_floats * side / (side + taps - 1)
    assert two.panel_floats / whole == pytest.approx(products / outputs)


@pytest.mark.parametrize("board", ["zen4", "raspberry-pi-4", "generic-c"])
def test_less_workspace_is_offered_and_taken_where_it_must_be(board: str) -> None:
    graph = network(64, 64, 56, winograd_forms=accurate(weights(8, 8, 3), 1.0))
    target = boards.load(board).target
    offered = candidates(problem_of(graph.nodes[0], graph), target)
    sizes = [each.workspace_bytes for each in offered]
    assert len(sizes) > 2
    assert all(less <= more / 2 for more, less in pairwise(sizes))
    assert [each.plan.cost for each in offered] == sorted(each.plan.cost for each in offered)
    for size in sizes:
        choice = select(
            graph, target, algorithms={"conv": "winograd"}, workspace={"conv": Workspace(size)}
        )
        (layer,) = (e for e in choice.layers if e.candidate)
        assert layer.workspace_bytes == size


def test_groups_of_whole_vectors_have_plans() -> None:
    """Filters of every group are read, of as many channels as a group has."""
    target = boards.load("zen4").target
    graph = network(64, 64, 56, groups=2, winograd_forms=accurate(weights(8, 8, 3), 1.0))
    found = candidates(problem_of(graph.nodes[0], graph), target)[0]
    lines = 4 * found.plan.form.products * 64 * 32
    assert all(level_traffic.filters >= lines for level_traffic in found.traffic)
    (layer,) = (
        e for e in select(graph, target, algorithms={"conv": "winograd"}).layers if e.candidate
    )
    assert sum(blob.elements for blob in layer.blobs if blob.name == "filters") == lines // 4
    odd = network(64, 64, 56, groups=8, winograd_forms=accurate(weights(8, 8, 3), 1.0))
    assert not candidates(problem_of(odd.nodes[0], odd), target)


def test_forms_of_a_kernel() -> None:
    """Both directions, one of which may be summed or not be there; with strides of phases."""
    two = [f"F({tile}, 2x2)" for tile in ("2x2", "4x4", "6x6", "1x2", "1x4", "1x6")]
    kernels = ((3, 3), (1, 7), (7, 1), (3, 5), (1, 1), (9, 9), (2, 2))
    phases = ((7, 7, 2, 2), (3, 3, 2, 2), (2, 7, 2, 1), (3, 3, 3, 3))
    names = {
        sides: [str(points[0]) for points in forms_for(*sides[:2], strides=sides[2:] or (1, 1))]
        for sides in (*kernels, *phases)
    }
    expected: dict[tuple[int, ...], list[str]] = {
        (3, 3): [
            *("F(2x2, 3x3)", "F(4x4, 3x3)", "F(5x5, 3x3)", "F(6x6, 3x3)"),
            *("F(1x2, 3x3)", "F(1x4, 3x3)", "F(1x5, 3x3)", "F(1x6, 3x3)"),
        ],
        (1, 7): ["F(1x2, 1x7)", "F(1x4, 1x7)"],
        (7, 1): ["F(2x1, 7x1)", "F(4x1, 7x1)"],
        (3, 5): [
            *(f"F({down}x{across}, 3x5)" for down in (2, 4, 5, 6) for across in (2, 4)),
            *("F(1x2, 3x5)", "F(1x4, 3x5)"),
        ],
        (2, 2): two,
        (3, 3, 2, 2): two,
        (7, 7, 2, 2): [
            *("F(2x2, 4x4)", "F(4x4, 4x4)", "F(5x5, 4x4)"),
            *("F(1x2, 4x4)", "F(1x4, 4x4)", "F(1x5, 4x4)"),
        ],
        (2, 7, 2, 1): ["F(1x2, 1x7)", "F(1x4, 1x7)"],
        (1, 1): [],
        (9, 9): [],
        (3, 3, 3, 3): [],
    }
    assert names == expected
