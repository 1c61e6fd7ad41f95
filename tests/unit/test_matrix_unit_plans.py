"""Plans over packed rows by a matrix unit: how it cuts lines, and what depth takes of its time."""

from __future__ import annotations

from dataclasses import replace

import pytest

from edgeconv.kernels.algorithms.problem import ConvProblem
from edgeconv.kernels.algorithms.rows.plan import RowsPlan, make_plan
from edgeconv.target.backends import TARGETS
from edgeconv.target.micro_kernel import MicroKernel, Tile

AMX = TARGETS["amx"]
UNIT = AMX.kernel("s8_amx")


def planned(unit: MicroKernel, in_c: int, columns: int = 1, *, dilation: int = 1) -> RowsPlan:
    """Of 111 pixels and 64 filters, by so many columns of a kernel."""
    reach = (columns - 1) * dilation
    problem = ConvProblem(
        *(1, in_c, 64, 1, (1, 1, 111 + reach), (1, 1, 111), (1, 1, columns)),
        dilations=(1, 1, dilation),
    )
    return make_plan(problem, AMX, [unit], lambda row: row.pack)


def test_strips_of_a_line_have_as_many_rows_each() -> None:
    """Sixteen, of the last fifteen pixels too, beyond which the panel has another."""
    narrow = replace(UNIT, tiles=(Tile(16, 4),))
    even, uneven = (planned(replace(narrow, even_rows=asked), 64) for asked in (True, False))
    assert (even.strips.wide, even.strips.narrow) == (16, 15)
    assert (even.row_multiple, uneven.row_multiple) == (16, 1)
    assert even.panel.wide == uneven.panel.wide + 1


@pytest.mark.parametrize(
    ("in_c", "columns", "dilation", "products"),
    [(16, 1, 1, 1), (16, 3, 1, 1), (16, 3, 2, 3), (24, 3, 1, 2), (80, 1, 1, 2), (3, 7, 1, 1)],
)
def test_groups_that_follow_each_other_are_one_product(
    in_c: int, columns: int, dilation: int, products: int
) -> None:
    """Those of a block, and of the columns of a kernel that is not dilated: fewer than sixteen take
    as long."""
    free = replace(UNIT, latency=0, through=0.0, enter=0.0, pack=0.0, tiles=(Tile(16, 4),))
    twice = replace(free, rate=UNIT.rate / 2)
    slower, usual = (planned(unit, in_c, columns, dilation=dilation) for unit in (twice, free))
    of_a_product = UNIT.at_once * 111 * 4 / UNIT.rate
    assert slower.cost - usual.cost == pytest.approx(products * of_a_product)
