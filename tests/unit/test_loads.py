"""Register tiles by what a core loads beside its multiply-adds."""

from __future__ import annotations

from dataclasses import replace

import pytest

from edgeconv.ir.encoding import FLOAT32, Encoding
from edgeconv.kernels.algorithms.direct.plan import make_plan as direct_plan
from edgeconv.kernels.algorithms.sconv.plan import make_plan as sconv_plan
from edgeconv.kernels.ops.matmul import tile_of
from edgeconv.target.backends import TARGETS
from edgeconv.target.targets import HALVES, PANELS, STRIPS, Target
from tests.unit.test_direct_plan import FAR

AVX512 = TARGETS["avx512"]


def core(macs: float | None, loads: float | None, target: Target = AVX512) -> Target:
    """A core of so many float32 multiply-adds and loads per cycle."""
    return replace(target, macs_per_cycle=macs, loads_per_cycle=loads)


@pytest.mark.parametrize(
    ("macs", "loads", "slots"),
    [
        (None, None, 1),
        (32.0, None, 1),
        (None, 1.0, 1),
        (32.0, 2.0, 1),
        (32.0, 1.0, 2),
        (16.0, 2.0, 0.5),
    ],
)
def test_slots_of_a_load(macs: float | None, loads: float | None, slots: float) -> None:
    assert core(macs, loads).load_slots == slots


def test_a_step_takes_the_longest_of_products_loads_and_latency() -> None:
    for target, products in ((core(16.0, 1.0), 28), (core(32.0, 1.0), 32)):
        assert target.tile_slots(target.kernel(STRIPS), 14, 2) == products
        assert target.tile_slots(target.kernel(STRIPS), 9, 3) == 27
        assert target.tile_slots(target.kernel(STRIPS), 9, 3, decoding=6) == 33
        assert target.tile_slots(target.kernel(STRIPS), 1, 1) == target.kernel(STRIPS).latency


def test_half_a_vector_takes_half_a_multiply_add() -> None:
    """Nine pixels by 40 filters, 22.5 slots for 27; loads stay what they are."""
    strips = AVX512.kernel(STRIPS)
    assert AVX512.tile_slots(strips, 9, 3, halved=True) == 22.5
    assert AVX512.tile_slots(strips, 2, 8, decoding=1, halved=True) == 16
    assert AVX512.tile_slots(strips, 1, 8, halved=True) == 9  # loads


def test_direct_convolution_costs_half_a_vector_where_filters_fill_no_more() -> None:
    size = (1, 28, 28)
    halves = replace(AVX512, features=frozenset({HALVES}))

    def cost(out_c: int, target: Target, as_: Encoding = FLOAT32) -> float:
        problem = replace(FAR, in_c=64, out_c=out_c, in_size=size, out_size=size, in_as=as_)
        return direct_plan(problem, target).cost

    for out_c in (24, 40, 72):
        assert cost(out_c, halves) < cost(out_c, AVX512)
        assert cost(out_c, halves, Encoding(16)) == cost(out_c, AVX512, Encoding(16))
    for out_c in (9, 16, 32, 48, 60):
        assert cost(out_c, halves) == cost(out_c, AVX512)
    assert cost(24, halves) < 0.8 * cost(32, halves)


def test_filters_that_are_loaded_four_at_a_time() -> None:
    neon = core(8.0, 1.0, TARGETS["neon"])
    panels = neon.kernel(PANELS)
    assert (panels.row_multiple, neon.load_slots) == (4, 2)
    assert neon.tile_slots(panels, 6, 1) == neon.tile_slots(panels, 8, 1) == 8
    assert neon.tile_slots(panels, 16, 5) == 80  # 9 loads
    assert neon.tile_slots(panels, 4, 9) == 36  # 10 loads


def test_loads_that_stand_alone_add_to_products() -> None:
    """A vector of filters and a quarter of the pixels' each step, two cycles each."""
    neon = replace(TARGETS["neon"], macs_per_cycle=4.0, load_cycles=2.0)
    strips = neon.kernel(STRIPS)
    assert neon.lone_load_slots == 2
    assert neon.tile_slots(strips, 8, 2) == 16 + 2 * (2 + 2)
    assert neon.tile_slots(strips, 8, 2, decoding=6) == 16 + 6 + 2 * (2 + 2)
    assert neon.tile_slots(strips, 8, 2, together=False) == 16 + 2 * (8 + 2)
    assert neon.tile_slots(strips, 1, 1) == strips.latency
    assert neon.tile_slots(neon.kernel(PANELS), 8, 3) == 24 + 2 * (2 + 3)
    assert replace(neon, macs_per_cycle=1.0).lone_load_slots == 0.5
    assert TARGETS["neon"].lone_load_slots == 0


def test_tiles_follow_from_loads_that_stand_alone() -> None:
    """Of 64 filters over rows of 28 pixels: 5x4 leaves nothing over, 7x3 loads less."""
    size = (1, 28, 28)
    problem = replace(FAR, in_c=64, out_c=64, in_size=size, out_size=size)
    neon = replace(TARGETS["neon"], macs_per_cycle=4.0, caches=())
    lone = replace(neon, load_cycles=2.0)
    beside, alone = (direct_plan(problem, target) for target in (neon, lone))
    assert (beside.largest_rows, beside.vectors) == (5, 4)
    assert (alone.largest_rows, alone.vectors) == (7, 3)
    assert alone.cost > 1.4 * beside.cost


def balanced(rows: int, vectors: int) -> bool:
    """Whether two loads take less than the products."""
    return rows * vectors >= 2 * (rows + vectors)


def test_every_algorithm_takes_tiles_that_load_little() -> None:
    """With two multiply-adds to a load the widest tiles wait for loads."""
    size = (1, 56, 56)
    problem = replace(FAR, in_c=64, out_c=96, in_size=size, out_size=size)

    def taken(target: Target) -> list[tuple[int, int]]:
        direct, packed = direct_plan(problem, target), sconv_plan(problem, target)
        tile = tile_of(224, 96, target)
        return [
            (direct.largest_rows, direct.vectors),
            (packed.slicing.n_f, packed.vectors),
            (tile.rows, tile.vectors),
        ]

    few = taken(core(32.0, 1.0))
    assert all(balanced(*each) for each in few), few
    assert few != taken(core(32.0, 2.0))
