"""Traffic in report.json, and that no algorithm is predicted to move less than any order has to."""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import replace
from pathlib import Path

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from edgeconv.app import pipeline
from edgeconv.app.pipeline import CompileOptions
from edgeconv.codegen.emit import weight_image
from edgeconv.ir.encoding import Encoding
from edgeconv.ir.layout import CHANNELS_LAST, ROW_MAJOR, Layout, blocked
from edgeconv.ir.work import CacheTraffic
from edgeconv.kernels.algorithms import algorithms
from edgeconv.kernels.algorithms.movement import WORD_BYTES, conv_shape, fast_words
from edgeconv.kernels.algorithms.problem import ConvProblem, Triple
from edgeconv.kernels.algorithms.sconv.blocked import blocked_plan
from edgeconv.kernels.algorithms.sconv.plan import make_plan
from edgeconv.kernels.algorithms.sconv.shape import Shape
from edgeconv.kernels.algorithms.sconv.slicing import Schedule
from edgeconv.kernels.algorithms.sconv.traffic import traffic as sconv_traffic
from edgeconv.model import frontend, passes
from edgeconv.report import document
from edgeconv.report.document import Facts
from edgeconv.search import choose, memory
from edgeconv.search.memory.sizes import Budgets, planned_sizes
from edgeconv.search.predict import predict
from edgeconv.search.predict.traffic import precision_of
from edgeconv.target import board as boards
from edgeconv.target.backends import TARGETS
from edgeconv.target.bounds import Precision, sequential_bound
from edgeconv.target.cache import Cache
from edgeconv.target.targets import Target
from tests.command import BOARD
from tests.examples import examples

FACTS = Facts("net", "net.onnx", weights_as_c=False)


@st.composite
def machines(draw: st.DrawFn) -> Target:
    """An instruction set with one to three caches, from a few hundred bytes to megabytes."""
    line = draw(st.sampled_from([32, 64, 128]))
    sizes: list[int] = []
    for _ in range(draw(st.integers(1, 3))):
        sizes.append((sizes[-1] if sizes else 512) << draw(st.integers(1, 6)))
    ways = draw(st.sampled_from([None, 2, 4, 8, 16]))
    caches = (Cache(n, size, line, ways=ways) for n, size in enumerate(sizes, 1))
    return replace(draw(st.sampled_from(list(TARGETS.values()))), caches=tuple(caches))


Axis = tuple[int, int, int, int, int, int]  # input size, output size, kernel, stride, dilation, pad
FLAT: Axis = (1, 1, 1, 1, 1, 0)


@st.composite
def axes(draw: st.DrawFn, most: int) -> Axis:
    """One dimension of up to ``most`` outputs; the input may be longer than needed."""
    out, kernel = draw(st.integers(1, most)), draw(st.sampled_from([1, 1, 2, 3, 3, 5, 7]))
    stride, dilation = draw(st.integers(1, 3)), draw(st.sampled_from([1, 1, 1, 2, 4]))
    reach = (kernel - 1) * dilation + 1
    before, after = draw(st.integers(0, reach - 1)), draw(st.integers(0, reach - 1))
    unused = draw(st.integers(0, stride - 1))
    size = (out - 1) * stride + reach - before - after + unused
    return max(1, size), out, kernel, stride, dilation, before


@st.composite
def problems(draw: st.DrawFn, lanes: int) -> ConvProblem:
    """Any convolution of up to three dimensions, with the layouts that algorithms read."""
    depth = draw(st.one_of(st.just(FLAT), axes(4)))
    height, width = draw(axes(40)), draw(axes(60))
    sizes: list[Triple] = list(zip(depth, height, width, strict=True))
    in_size, out_size, kernel, strides, dilations, pads = sizes
    groups = draw(st.sampled_from([1, 1, 1, 2, 6]))
    per_group = st.integers(1, 1 if groups > 1 and draw(st.booleans()) else 300)
    layouts: list[Layout] = [ROW_MAJOR, CHANNELS_LAST, blocked(lanes)]
    return ConvProblem(
        batch=draw(st.sampled_from([1, 1, 2, 3])),
        in_c=groups * draw(per_group),
        out_c=groups * draw(per_group),
        groups=groups,
        in_size=in_size,
        out_size=out_size,
        kernel=kernel,
        strides=strides,
        dilations=dilations,
        pads=pads,
        in_layout=draw(st.sampled_from(layouts)),
        out_layout=draw(st.sampled_from(layouts)),
    )


def predictions(
    problem: ConvProblem, target: Target
) -> Iterator[tuple[str, tuple[CacheTraffic, ...]]]:
    """Of every algorithm that applies, and of SConv's plans that lost."""
    for name, entry in algorithms().items():
        for candidate in entry.candidates(problem, target):
            yield name, candidate.traffic
    one, groups, batch = Shape.of(problem), problem.groups, problem.batch
    plans = {entry.value: make_plan(problem, target, entry) for entry in Schedule}
    plans["blocking"] = blocked_plan(problem, target, make_plan(problem, target))
    for name, plan in plans.items():
        yield name, sconv_traffic(plan.slicing, one, target.caches, groups, batch)


@settings(max_examples=examples(120))
@given(st.data())
def test_nothing_moves_less_than_any_order_has_to(data: st.DataObject) -> None:
    target = data.draw(machines())
    problem = data.draw(problems(target.lanes))
    shape = conv_shape(problem)
    bounds = [
        sequential_bound(shape, Precision(), fast_words(target, cache)) for cache in target.caches
    ]
    for name, cache_traffic in predictions(problem, target):
        assert len(cache_traffic) == len(bounds)
        for cache, level_traffic, bound in zip(target.caches, cache_traffic, bounds, strict=True):
            assert level_traffic.level == cache.level
            words = level_traffic.total / WORD_BYTES
            assert words >= bound.words * (1 - 1e-12), (name, cache, bound.binding)


def test_memory_in_front_is_all_that_is_nearer() -> None:
    caches = (Cache(1, 32 << 10, 64), Cache(2, 1 << 20, 64))
    target = replace(TARGETS["avx2"], caches=caches)
    registers = 16 * 8
    assert fast_words(target, caches[0]) == 8192 + registers
    assert fast_words(target, caches[1]) == 8192 + 262144 + registers


@pytest.mark.parametrize(
    ("levels", "known"), [(0, ()), (1, ("DRAM",)), (2, ("L2", "DRAM")), (3, ("L2", "L3", "DRAM"))]
)
def test_bytes_come_from_the_levels_that_there_are(
    residual_model: Path, levels: int, known: tuple[str, ...]
) -> None:
    caches = tuple(Cache(n, 4096 << 3 * n, 64) for n in range(1, levels + 1))
    board = replace(boards.load(BOARD), caches=caches)
    choice = choose.select(passes.optimise(frontend.load(residual_model)), board.target)
    plan = memory.plan(choice)
    sizes = planned_sizes(choice, plan, board, weight_image(choice, plan), Budgets())
    predicted = predict(choice, plan, board)
    report = document.build_report(choice, plan, board, sizes, predicted, FACTS)
    for layer in report["layers"]:
        traffic, bound = layer["traffic_bytes"], layer["traffic_lower_bound_bytes"]
        assert list(traffic) == ["L2", "L3", "DRAM"]
        assert tuple(name for name in traffic if traffic[name] is not None) == known
        assert (bound is None) == (not known)
        if known:
            # Everything fits the last cache: weights, input and output cross once.
            assert traffic["DRAM"] >= bound
            assert bound >= (layer["output_bytes"] if layer["op"] == "Conv" else 0)
            crossed = [traffic[name] for name in known]
            assert crossed == sorted(crossed, reverse=True)


def test_words_follow_the_storage_formats(residual_model: Path) -> None:
    choice = pipeline.decide(CompileOptions(residual_model, BOARD)).choice
    layer = next(layer for layer in choice.layers if layer.node.op == "Conv")
    assert precision_of(layer, choice.graph) == Precision(1.0, 1.0, 1.0, 1.0)
    blobs = tuple(replace(blob, storage=Encoding(16)) for blob in layer.blobs)
    assert precision_of(replace(layer, blobs=blobs), choice.graph) == Precision(1, 0.5, 1, 1)
