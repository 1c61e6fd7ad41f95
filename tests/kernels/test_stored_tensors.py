"""Kernels that read and write tensors in flyte formats and as int8, against float64.

Inputs are numbers that their format has; of results it is asked what encoding makes of them.
Buffers have their exact size, so that sanitizers see a load or store beyond the elements named.
"""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence
from dataclasses import replace
from itertools import count, cycle
from pathlib import Path

import numpy as np

from edgeconv.ir.activation import Activation
from edgeconv.ir.encoding import int8
from edgeconv.ir.layout import ROW_MAJOR, blocked
from edgeconv.ir.request import Request
from edgeconv.kernels.lowering.options import LayoutOption
from edgeconv.search.choose.storage import tensor_formats
from edgeconv.target.cache import Cache
from edgeconv.target.targets import Target
from tests.kernels.cases import Build, Case, Spec
from tests.kernels.harness import check
from tests.kernels.test_conv import RELU, conv, numbers, tile
from tests.kernels.test_elementwise import channel_counts
from tests.kernels.test_pool import spec_of
from tests.kernels.test_resize import specs_of as resizes
from tests.kernels.test_stored_filters import FAR, blocks_fit, dense
from tests.kernels.test_stored_filters import stored as stored_filters

FORMATS = [name for name in tensor_formats() if name != "float32"]
FLOAT32 = "float32"
CLIP = Activation("clip", -1.0, 1.5)
# Of quantised tensors.  No sum of the tests' numbers lies between two of the coarser one's.
FINE, COARSE = str(int8(0.0371, -9)), str(int8(0.1371, 60))
# (input, output, residual): each alone, each in turn, and all the same.
TURNS = [
    *(dict.fromkeys(("x", "out", "residual"), name) for name in FORMATS),
    {"x": "flyte24", "out": FLOAT32, "residual": "flyte16"},
    {"x": FLOAT32, "out": "flyte24", "residual": "flyte8"},
    {"x": "flyte8", "out": "flyte16", "residual": FLOAT32},
    {"x": "flyte16", "out": "flyte8", "residual": "flyte24"},
    {"x": FINE, "out": COARSE, "residual": FINE},
    {"x": COARSE, "out": FLOAT32, "residual": COARSE},
    {"x": "flyte24", "out": FINE, "residual": FINE},
]


def stored(spec: Spec, turn: Mapping[str, str]) -> Spec:
    """``spec`` with its first input, its output and its residual in these formats."""
    first = next(iter(spec.inputs))
    names = {"x": first, "out": "out", "residual": "residual"}
    return replace(spec, storage={names[key]: name for key, name in turn.items()})


def in_turn(specs: Sequence[Spec], rounds: int = 1) -> Iterator[Spec]:
    """Every format with some of the shapes, every shape with some of the formats."""
    turns = cycle(TURNS)
    for _ in range(rounds):
        yield from (stored(spec, next(turns)) for spec in specs)


def run(build: Build, folder: Path, specs: Sequence[Spec], most: int = 9) -> None:
    """Each in up to ``most`` of the layouts that it has, others every time."""
    layouts = count()
    cases = []
    for spec in specs:
        offered = spec.cases(build.target)
        cases += [offered[next(layouts) % len(offered)] for _ in range(min(most, len(offered)))]
    check(build, cases, folder)


def convolutions(target: Target) -> list[Spec]:
    """Full and narrow tiles, a partly stored vector, borders, strides, groups, residuals."""
    lanes, (rows, nr) = target.lanes, tile(target)
    one, c = (1, 1, 1, 1), lanes + 2
    return [
        conv((1, lanes + 3, 3, 2 * rows + 1), nr + lanes + 1, (3, 3), one, residual=True),
        conv((1, 5, 7, 6), nr, (1, 1), after=CLIP),
        conv((2, 3, 9, 7), lanes, (3, 2), (2, 1, 1, 0), strides=(2, 2), bias=False, after=RELU),
        conv((1, 6, 3, 5), 4, (3, 3), one, groups=2),
        conv((2, 4 * lanes, 2, 3), 4 * lanes, (1, 1), groups=2, residual=True, after=RELU),
        conv((2, c, 5, target.depthwise_rows + 3), c, (3, 3), one, groups=c, after=RELU),
        conv((1, 3, 9, 9), 3, (5, 5), (2, 2, 2, 2), groups=3, residual=True),
        dense(1, 37, 9 * lanes),
        dense(rows + 1, 12, nr + 1),
    ]


def test_convolutions(build: Build, folder: Path) -> None:
    specs = convolutions(build.target)
    run(build, folder, [*in_turn(specs), *(stored(specs[0], turn) for turn in TURNS[1:])], 1)


def test_both_operands(build: Build, folder: Path) -> None:
    """Pixels and filters are decoded, and sums are in units of int8."""
    spec = convolutions(build.target)[0]
    pairs = (("flyte16", TURNS[1]), ("int8", TURNS[0]))
    run(build, folder, [stored(stored_filters(spec, filters), turn) for filters, turn in pairs], 1)


def in_passes(target: Target) -> list[Case]:
    """Convolutions whose filters are far, and whose sums cannot wait in the output: several tiles
    and strips, rows in several passes and in one, residuals, also behind an activation, filters in
    units, and filters decoded to memory too."""
    far, near = replace(target, caches=FAR), blocks_fit(target)
    xc, (_, nr) = blocked(target.lanes), tile(target)
    most = max(each.rows for each in target.tiles)  # two strips or more, whatever the tile
    above = (3, 1), (1, 0, 1, 0)  # no borders between strips
    even = conv((2, 96, 2, 2 * most), nr + target.lanes + 1, *above, residual=True)
    asked = [
        (far, conv((1, 96, 3, 2 * most + 1), nr + 1, *above, residual=True, after=RELU), 0),
        (far, replace(even, before=CLIP), 4),
        (far, stored_filters(replace(even, residual=None, after=CLIP), "int8"), 5),
        (near, stored_filters(conv((1, 384, 8, most // 2), nr, *above, residual=True), "int4"), 6),
    ]
    made = []
    for machine, spec, turn in asked:
        residual = (xc,) if spec.residual is not None else ()
        option = LayoutOption((xc, ROW_MAJOR, ROW_MAJOR, *residual), (xc,))
        forced = replace(spec, options=(option,), request=Request("direct"))
        made += stored(forced, TURNS[turn]).cases(machine)
    return made


def test_passes_over_input_channels(build: Build, folder: Path) -> None:
    cases = in_passes(build.target)
    params = [case.layer.params for case in cases]
    if build.target.lanes > 1:
        assert all(entry["channels_per_chunk"] and entry["sums"] for entry in params)
        assert params[-1]["decoded"]
    else:  # where that is worth the workspace
        assert any(entry["channels_per_chunk"] and entry["sums"] for entry in params)
    check(build, cases, folder)


def in_bands(target: Target) -> list[Case]:
    """Convolutions that decode the input rows of a pass to memory, in several passes: rows above
    and below the image, strides, dilation, planes, images, groups, every layout of the input; the
    last one with its filters and with sums that wait."""
    lanes, (rows, nr) = target.lanes, tile(target)
    c, above = lanes + 3, (1, 0, 1, 0)
    out_c = 2 * nr if lanes > 1 else 64  # so many that rows are worth decoding twice
    specs = [
        conv((1, c, 9, rows), out_c, (3, 1), above, residual=True, after=RELU),
        conv((2, c, 9, rows), out_c, (3, 1), (2, 0, 1, 0), strides=(2, 1), bias=False),
        conv((1, c, 9, rows), out_c, (3, 1), (2, 0, 2, 0), dilations=(2, 1), after=CLIP),
        conv((1, 5, 3, 8, rows), out_c, (2, 3, 1), (0, 1, 0, 1, 1, 0)),
        conv((2, c, 7, 6), 4 * out_c, (1, 1), after=RELU),
        conv((1, 2 * c, 7, rows), 4 * lanes, (3, 3), (1, 1, 1, 1), groups=2),
        stored_filters(conv((1, 8 * lanes, 8, 2 * rows), out_c, (3, 1), above), "int8"),
    ]
    costly = target.decodings
    if lanes > 1:
        costly = tuple(replace(entry, vector=30.0, element=30.0) for entry in costly)
    made: list[Case] = []
    for number, spec in enumerate(specs):
        _, channels, *size = spec.inputs["x"].shape
        l1 = 25 * channels * size[-1] if spec is not specs[-1] else 48 * lanes**2
        caches = (Cache(1, l1, 64), Cache(2, 1 << 20, 64))
        few = replace(target, caches=caches, decodings=costly)
        offered = replace(spec, request=Request("direct"))
        cases = stored(offered, TURNS[number % len(FORMATS)]).cases(few)
        made.append(cases[0 if number >= 5 else number % len(cases)])
    return made


def test_rows_decoded_once(build: Build, folder: Path) -> None:
    cases = in_bands(build.target)
    params = [case.layer.params for case in cases]
    for entry in params[:3]:
        size = entry["out_size"]
        assert isinstance(size, tuple) and size[1] != entry["rows_per_chunk"]  # noqa: PT018
    if build.target.lanes > 1:
        assert all(entry["band"] for entry in params)
        assert params[-1]["decoded"] and params[-1]["sums"]  # noqa: PT018
    else:  # where that is worth the workspace
        assert sum(bool(entry["band"]) for entry in params) >= 5
    check(build, cases, folder)


def pools(target: Target) -> list[Spec]:
    """Windows inside and across borders, in two dimensions and in one, and the whole image."""
    windows = (
        ((9, 11), (3, 3), (2, 2), (1, 1), (1, 1, 1, 1)),
        ((5, 22), (2, 2), (1, 1), (1, 1), (0, 0, 0, 0)),
        ((7, 5), (7, 5), (1, 1), (1, 1), (0, 0, 0, 0)),
        ((23,), (4,), (2,), (1,), (1, 2)),
    )
    made = [
        spec_of(window, target.lanes + 3, mode, False, False)
        for window in windows
        for mode in ("max", "average")
    ]
    residuals = [
        replace(s, residual=numbers(*s.shape), after=RELU, tolerance=3, scale=4) for s in made[:2]
    ]
    return [*made, *residuals]


def elementwise(target: Target) -> list[Spec]:
    """Tails of every length class, broadcasting on either side, operands that are constants."""
    made = []
    for c in channel_counts(target.lanes):
        x = numbers(2, c, 3, 5)
        made.append(Spec("Unary", {"x": x}, x.shape, before=CLIP))
        inputs = {"x": x, "scale": numbers(c), "shift": numbers(c)}
        constants = ("scale", "shift")
        made.append(
            Spec("Affine", inputs, x.shape, {}, constants, after=RELU, tolerance=2, scale=4)
        )
    add = {"kind": "add"}
    for one, other in (((2, 5, 3, 7), (2, 5, 3, 7)), ((2, 5, 3, 7), (2, 5, 1, 1)),
                       ((3, 7), (2, 5, 3, 7)), ((2, 5, 3, 7), ()), ((4, 1), (1, 19))):  # fmt: skip
        a, b = numbers(*one), numbers(*other)
        shape = np.broadcast_shapes(one, other)
        made.append(Spec("Binary", {"a": a, "b": b}, shape, add, tolerance=1, scale=2))
        made.append(Spec("Binary", {"a": b, "b": a}, shape, add, ("a",), tolerance=1, scale=2))
    x = numbers(2, 5, 3, 7)
    made.append(
        Spec("Unary", {"x": x}, x.shape, residual=numbers(*x.shape), after=RELU, tolerance=1)
    )
    return made


def test_pools_and_elementwise(build: Build, folder: Path) -> None:
    specs = [*in_turn(pools(build.target)), *in_turn(elementwise(build.target), 2)]
    both = [
        replace(spec, storage={**spec.storage, "b": name})
        for spec, name in zip(specs, cycle(FORMATS), strict=False)
        if spec.op == "Binary" and not spec.constants
    ]
    constants = [
        replace(spec, storage={"out": spec.storage["out"], "b": spec.storage["a"]})
        for spec in specs
        if spec.op == "Binary" and spec.constants
    ]
    others = [spec for spec in specs if spec.op != "Binary"]
    run(build, folder, [*others, *both, *constants], 1)


def others(target: Target) -> list[Spec]:
    """Sums across channels, interpolation, reductions along and across rows, matrix products."""
    x = numbers(2, target.lanes + 3, 5, 7)
    n, c, h, w = x.shape
    lrn = {"size": 5, "alpha": 0.3, "beta": 0.75, "bias": 1.5}
    made = [
        Spec("LRN", {"x": x}, x.shape, lrn, tolerance=16, scale=2),
        *resizes(target.lanes, "linear", "half_pixel", "floor")[:4],
        Spec("MatMul", {"a": numbers(2, 5, 9), "b": numbers(9, c)}, (2, 5, c),
             tolerance=40, scale=4),
    ]  # fmt: skip
    reductions = (
        ("mean", (2, 3), (n, c, 1, 1)),
        ("max", (3,), (n, c, h, 1)),
        ("sum", (1,), (n, 1, h, w)),
        ("l2", (0, 1), (1, 1, h, w)),
    )
    for kind, axes, shape in reductions:
        attributes = {"kind": kind, "axes": axes, "keepdims": True}
        made.append(Spec("Reduce", {"x": x}, shape, attributes, tolerance=60, scale=8))
    return made


def test_others(build: Build, folder: Path) -> None:
    specs = list(in_turn(others(build.target), 2))
    products = [
        replace(spec, storage={**spec.storage, "b": "flyte24"})
        for spec in specs
        if spec.op == "MatMul"
    ]
    run(build, folder, [*(spec for spec in specs if spec.op != "MatMul"), *products], 2)


def moves(target: Target) -> list[Spec]:
    """Everything that only moves elements."""
    lanes = target.lanes
    c = lanes + 3
    x = numbers(2, c, 5, 9)
    pads = {"pads": (0, 0, 1, 2, 0, 0, 2, 1), "value": 0.75}
    slices = {"starts": (0, 0, 1, 2), "steps": (1, 1, 2, 3)}
    index = np.array([3, 0, 0, 2])
    return [
        Spec("Convert", {"x": x}, x.shape),
        Spec("Convert", {"x": x[:1, :, :1, :1]}, (1, c, 1, 1)),
        Spec("Reshape", {"x": x}, (2, c, 45)),
        Spec("Transpose", {"x": x}, (2, 9, c, 5), {"perm": (0, 3, 1, 2)}),
        Spec("Transpose", {"x": x}, (2, 5, 9, c), {"perm": (0, 2, 3, 1)}),
        Spec("Slice", {"x": x}, (2, c, 2, 3), slices),
        Spec("Pad", {"x": x}, (2, c, 8, 12), {**pads, "mode": "constant"}),
        Spec("Pad", {"x": x}, (2, c, 8, 12), {**pads, "mode": "reflect"}),
        Spec("Gather", {"x": x, "i": index}, (2, c, 4, 9), {"axis": 2}, ("i",)),
        Spec("Tile", {"x": numbers(3, 5)}, (6, 5), {"repeats": (2, 1)}),
        Spec("Expand", {"x": numbers(3, 1)}, (2, 3, 7)),
    ]


def concat(target: Target) -> list[Spec]:
    """Parts in formats of their own; those of the result's format may lie in it."""
    lanes, made = target.lanes, []
    for axis, parts in ((1, (2 * lanes, lanes + 1)), (1, (3, 5)), (2, (2, 3))):
        sizes = [(2, n, 3, 4) if axis == 1 else (2, 5, n, 4) for n in parts]
        inputs = {f"x{i}": numbers(*size) for i, size in enumerate(sizes)}
        shape = list(sizes[0])
        shape[axis] = sum(parts)
        for storage in ({"x0": "flyte24", "out": "flyte24"}, {"x1": "flyte16", "out": "flyte8"},
                        {"x0": "flyte16", "x1": "flyte16", "out": "flyte16"}):  # fmt: skip
            made.append(Spec("Concat", inputs, tuple(shape), {"axis": axis}, storage=storage))
    return made


def test_moves(build: Build, folder: Path) -> None:
    same = TURNS[: len(FORMATS)]
    specs = [stored(spec, turn) for spec in moves(build.target)[:2] for turn in same]
    specs += in_turn(moves(build.target)[2:], 3)
    run(build, folder, [*specs, *concat(build.target)], 2)
