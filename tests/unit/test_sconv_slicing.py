"""Convolution Slicing Analysis: the papers' numbers, other hierarchies, limits."""

from __future__ import annotations

from dataclasses import replace
from functools import partial

import pytest

from edgeconv.ir.layout import ROW_MAJOR
from edgeconv.kernels.algorithms.problem import ConvProblem
from edgeconv.kernels.algorithms.sconv.levels import Levels
from edgeconv.kernels.algorithms.sconv.plan import make_plan, schedule_cycles
from edgeconv.kernels.algorithms.sconv.search import Search
from edgeconv.kernels.algorithms.sconv.shape import Shape, Window
from edgeconv.kernels.algorithms.sconv.slicing import (
    Residency,
    Schedule,
    Slicing,
    slice_convolution,
)
from edgeconv.target import board as boards
from edgeconv.target.cache import Cache
from tests.sconv_cache import hierarchy, slice_first

IS, WS = Schedule.INPUT_STATIONARY, Schedule.WEIGHT_STATIONARY


def same(out_c: int, in_c: int, size: int, kernel: int) -> Shape:
    """A square image, "same" padding, stride 1."""
    image, pad = (1, size, size), kernel // 2
    window = Window(image, image, (1, kernel, kernel), pads=(0, pad, pad))
    return Shape(in_c, out_c, kernel**2, size**2, window=window)


# The paper's machines (Table 1): tile of the micro-kernel and caches.
X86 = (16, 24, hierarchy(32, 1024, 4096))
POWER10 = (16, 8, hierarchy(32, 1024, 4096, line=128))
LAYERS = {
    "VGG16-2": same(64, 64, 224, 3),
    "GoogleNet-50": same(128, 32, 7, 5),
    "SqueezeNet-6": same(64, 16, 55, 1),
    "ResNet152-39": same(1024, 256, 14, 1),
    "VGG16-1": same(64, 3, 224, 3),
}
# Table 2: Nc, K2, K3 and the schedule.
X86_TABLE = {
    "VGG16-2": (17, 72, 3, WS),
    "GoogleNet-50": (6, 4, 6, WS),
    "SqueezeNet-6": (16, 190, 3, WS),
    "ResNet152-39": (154, 13, 43, WS),
    "VGG16-1": (3, 256, 3, WS),
}
POWER10_TABLE = {
    "VGG16-2": (29, 8, 196, IS),
    "GoogleNet-50": (10, 16, 4, IS),
    "SqueezeNet-6": (16, 8, 190, IS),
    "ResNet152-39": (256, 94, 13, IS),
    "VGG16-1": (3, 8, 1935, IS),
}


def choice(s: Slicing) -> tuple[int, int, int, Schedule]:
    return s.nc, s.k2, s.k3, s.schedule


@pytest.mark.parametrize("layer", LAYERS)
def test_table_2_of_sconv(layer: str) -> None:
    assert choice(slice_convolution(LAYERS[layer], *X86)) == X86_TABLE[layer]
    assert choice(slice_convolution(LAYERS[layer], *POWER10)) == POWER10_TABLE[layer]


def test_example_of_sconv_transform() -> None:
    """1x32x152x152 by 256x32x3x3, stride 2: Nc 32, K2 32 and K3 87 without a rest but R_K3 = 3.

    That paper leaves the last 9 pixels to a kernel of their own: its 351 tiles are 4 x 87 + 3.
    """
    shape = Shape(in_c=32, out_c=256, taps=9, pixels=75 * 75)
    s = slice_convolution(shape, 16, 8, hierarchy(48, 1024, 4096), rule=Residency.PRINTED)
    assert choice(s) == (32, 32, 87, IS)
    assert (s.channel_sets, s.last_nc, s.filter_tiles, s.last_k2) == (1, 32, 32, 32)
    assert (s.in_tiles, s.last_n_win, s.stationary_chunks, s.last_k3) == (352, 9, 5, 3 + 1)


@pytest.mark.parametrize(
    ("layer", "machine", "nc"),
    [("VGG16-2", X86, 16), ("GoogleNet-50", X86, 4), ("GoogleNet-50", POWER10, 8)],
)
def test_halving_finds_the_channel_sets_of_section_7_2(
    layer: str, machine: tuple[int, int, tuple[Cache, ...]], nc: int
) -> None:
    assert slice_convolution(LAYERS[layer], *machine, search=Search.HALVING).nc == nc


def test_even_parts() -> None:
    """Four sets of 16 channels in the place of three of 17 and one of 13."""
    binary = slice_convolution(LAYERS["VGG16-2"], *X86)
    even = slice_convolution(LAYERS["VGG16-2"], *X86, search=Search.EVEN)
    assert (binary.nc, binary.last_nc, binary.channel_sets) == (17, 13, 4)
    assert (even.nc, even.last_nc, even.channel_sets) == (16, 16, 4)


def test_cost_model_by_hand() -> None:
    """Equations 7 to 14 of ResNet152-39 on POWER10: all tiles fit, every term is cold or L2."""
    s = slice_convolution(LAYERS["ResNet152-39"], *POWER10)
    inputs, filters = 13 * 16 * 256 * 4, 128 * 8 * 256 * 4
    assert (s.in_tiles * s.in_bytes, s.filter_tiles * s.filter_bytes) == (inputs, filters)
    assert s.lines.memory == (inputs + filters) / 128
    assert s.lines.l3 == pytest.approx((128 / 94 - 1) * inputs / 128)
    assert s.lines.l2 == 12 * filters / 128
    assert s.cost == pytest.approx(200 * s.lines.memory + 40 * s.lines.l3 + 10 * s.lines.l2)


def test_filters_stream_once_per_group_of_panels() -> None:
    """Equation 14 where K1 panels stay in L1 together: a third of the streaming for K1 = 3."""
    shape = LAYERS["VGG16-1"]
    one = slice_convolution(shape, *POWER10, schedule=IS)
    several = slice_convolution(shape, *POWER10, schedule=IS, fill_l1=True)
    assert (one.k1, several.nc) == (1, one.nc)
    assert several.k1 > 1
    groups = -(-several.in_tiles // several.k1)
    stream = several.filter_tiles * several.filter_bytes / 128
    assert one.lines.l2 == (one.in_tiles - 1) * stream
    assert several.lines.l2 == (groups - 1) * stream


@pytest.mark.parametrize(("name", "cycles"), [("odroid-xu3", 354), ("zen4", 200)])
def test_memory_is_as_far_as_the_board_says(name: str, cycles: int) -> None:
    """177 ns at 2 GHz; 200 cycles where the file has no latency."""
    target = boards.load(name).target
    assert Levels.of_target(target).cycles[-1] == cycles
    problem = convolution(LAYERS["SqueezeNet-6"])
    sliced = make_plan(problem, target).slicing
    assert sliced.level_costs[2] == pytest.approx(cycles * sliced.lines.memory)


def test_what_no_tile_can_mend_is_an_error(monkeypatch: pytest.MonkeyPatch) -> None:
    """Only for want of room are smaller tiles and larger caches tried."""

    def refused(*_: object, **__: object) -> Slicing:
        raise ValueError("of another kind")

    monkeypatch.setattr("edgeconv.kernels.algorithms.sconv.plan.slice_convolution", refused)
    with pytest.raises(ValueError, match="of another kind"):
        make_plan(convolution(LAYERS["SqueezeNet-6"]), boards.load("zen4").target)


def test_packing_is_part_of_the_choice_of_a_plan() -> None:
    """Section 7.7: of two schedules alike but for packing, the one that packs less is chosen."""
    sliced = slice_convolution(LAYERS["VGG16-2"], *X86)
    levels = Levels.of(X86[2], 0.8, 200)
    free = replace(sliced, packing_cost=0)
    with_packing, without = (schedule_cycles(s, levels, prefetch=False) for s in (sliced, free))
    assert sliced.packing_cost > 0
    assert with_packing == pytest.approx(without + sliced.packing_cost)


def convolution(shape: Shape) -> ConvProblem:
    """``shape`` as a layer."""
    assert shape.window
    w = shape.window
    return ConvProblem(
        1, shape.in_c, shape.out_c, 1, w.in_size, w.out_size, w.kernel, w.strides, w.dilations,
        w.pads, ROW_MAJOR, ROW_MAJOR,
    )  # fmt: skip


def test_named_latencies_are_used() -> None:
    n_win, n_f, caches = X86
    named = tuple(replace(cache, latency=5) for cache in caches)
    s = slice_convolution(LAYERS["VGG16-2"], n_win, n_f, named, memory_cycles=5)
    assert s.cost == pytest.approx(5 * (s.lines.l2 + s.lines.l3 + s.lines.memory))


def test_packing_turns_vgg16_2_to_input_stationary() -> None:
    """Section 7.7: packing outweighs the faster micro-kernels of weight stationary in VGG16-2."""
    packed = {name: slice_convolution(s, *X86, count_packing=True) for name, s in LAYERS.items()}
    assert packed["VGG16-2"].schedule is IS
    assert {packed[n].schedule for n in ("GoogleNet-50", "SqueezeNet-6", "ResNet152-39")} == {WS}
    for name, shape in LAYERS.items():
        assert slice_convolution(shape, *POWER10, count_packing=True).schedule is IS, name


def test_packing_keeps_nine_of_the_13_of_vgg16() -> None:
    """Section 7.7: weight stationary is the faster one in 9 of VGG16's 13 convolutions."""
    sizes = [(64, 3, 224), (64, 64, 224), (128, 64, 112), (128, 128, 112), (256, 128, 56)]
    sizes += [(256, 256, 56)] * 2 + [(512, 256, 28)] + [(512, 512, 28)] * 2 + [(512, 512, 14)] * 3
    chosen = [slice_convolution(same(*size, 3), *X86, count_packing=True) for size in sizes]
    assert [s.schedule for s in chosen] == [IS] * 4 + [WS] * 9


def test_fill_l1_with_few_channels() -> None:
    """VGG16-1 has three channels: one tile of each leaves most of L1 unused."""
    one = slice_convolution(LAYERS["VGG16-1"], *X86, schedule=IS)
    several = slice_convolution(LAYERS["VGG16-1"], *X86, schedule=IS, fill_l1=True)
    assert one.k1 == 1
    assert several.k1 == 6  # 6 (1728 + 1536) + 2 * 2592 <= 26214
    assert several.workspace == 6 * 1728
    assert several.k3 % 6 == 0
    assert one.in_tiles % several.k1 == several.last_k1


def test_two_levels() -> None:
    """Without L3 its share of the traffic is memory's, and all stationary tiles are one chunk."""
    n_win, n_f, caches = POWER10
    shape = LAYERS["ResNet152-39"]
    three, two = (
        slice_convolution(shape, n_win, n_f, c, schedule=IS) for c in (caches, caches[:2])
    )
    assert (two.nc, two.k2, two.k3) == (three.nc, three.k2, three.in_tiles)
    assert two.lines.l2 == three.lines.l2
    assert two.lines.l3 == 0 < three.lines.l3
    assert two.lines.memory == pytest.approx(three.lines.memory + three.lines.l3)


def test_one_level() -> None:
    s = slice_convolution(LAYERS["ResNet152-39"], 8, 8, hierarchy(16), schedule=IS)
    assert (s.k2, s.k3) == (s.filter_tiles, s.in_tiles)
    assert (s.lines.l2, s.lines.l3) == (0, 0)
    assert s.cost == 200 * s.lines.memory


def test_scratchpad_takes_all_of_its_bytes() -> None:
    """4 + 4 bytes a channel and 16 for the sum: 112 bytes hold the tiles of 6 channels exactly."""
    pad = (Cache(1, 112, 4),)
    shape = Shape(in_c=64, out_c=8, taps=1, pixels=64)
    s = slice_convolution(shape, 2, 2, pad, share=1.0)
    assert s.nc == 6
    assert s.in_bytes + s.filter_bytes + s.out_bytes == 112
    assert slice_convolution(shape, 2, 2, pad, share=0.8).nc == 4


def test_a_share_for_each_level() -> None:
    caches = (Cache(1, 16384, 4), Cache(2, 1 << 20, 64))
    s = slice_convolution(LAYERS["ResNet152-39"], 16, 8, caches, share=(1.0, 0.5), schedule=IS)
    assert s.nc == (16384 - 512) // (24 * 4)
    assert s.k2 == (524288 - s.in_bytes) // (s.filter_bytes + 512)


def test_workspace_limit() -> None:
    shape, limit = LAYERS["VGG16-2"], 40_000
    for schedule in Schedule:
        bounded = slice_convolution(
            shape, *X86, schedule=schedule, fill_l1=True, workspace_limit=limit
        )
        assert bounded.workspace <= limit
    free, bounded = (
        slice_convolution(shape, *X86, schedule=WS, workspace_limit=n) for n in (None, limit)
    )
    assert (free.k2, bounded.k2) == (72, limit // bounded.in_bytes)
    assert slice_convolution(shape, *X86, workspace_limit=16 * 9 * 4 * 5).nc == 5


def test_not_even_one_channel() -> None:
    huge = Shape(in_c=3, out_c=64, taps=31 * 31, pixels=196)
    with pytest.raises(ValueError, match=r"needs 155296 bytes .* limits are 26214 and none"):
        slice_convolution(huge, *X86)
    slicer = partial(slice_convolution, caches=X86[2])
    s = slice_first(huge, [(16, 24), (16, 1), (4, 2), (2, 2)], slicer)
    assert (s.n_win, s.n_f, s.nc) == (4, 2, 1)
    with pytest.raises(ValueError, match="16 pixels and 1 filters"):
        slice_first(huge, [(16, 24), (16, 1)], slicer)


@pytest.mark.parametrize(
    ("caches", "share"), [((), 0.8), (hierarchy(32), 0.0), (hierarchy(32, 256), (0.8,))]
)
def test_no_level_to_slice_for(caches: tuple[Cache, ...], share: float | tuple[float]) -> None:
    with pytest.raises(ValueError, match="cache levels with shares"):
        slice_convolution(LAYERS["VGG16-1"], 16, 8, caches, share=share)


def test_shape_of_a_problem() -> None:
    problem = ConvProblem(
        batch=2,
        in_c=8,
        out_c=12,
        groups=4,
        in_size=(1, 9, 9),
        out_size=(1, 5, 5),
        kernel=(1, 1, 1),
        strides=(1, 2, 2),
        dilations=(1, 1, 1),
        pads=(0, 0, 0),
        in_layout=ROW_MAJOR,
        out_layout=ROW_MAJOR,
    )
    shape = Shape.of(problem)
    assert (shape.in_c, shape.out_c, shape.taps, shape.pixels) == (2, 3, 1, 25)
    assert shape.macs * problem.groups * problem.batch == problem.macs
    assert shape.input_bytes == 2 * 25 * 4  # every other row and column
    with pytest.raises(ValueError, match="24 pixels in an output of"):
        replace(shape, pixels=24)
    with pytest.raises(ValueError, match="a convolution of"):
        replace(shape, in_c=0)
