"""Results in integers that are all shifted by as many bits, on cores whose SSAT shifts as well."""

from __future__ import annotations

from dataclasses import replace
from pathlib import Path

import numpy as np
import onnx
import pytest

from edgeconv.ir.choice import Choice
from edgeconv.ir.requantisation.exact import requantised
from edgeconv.ir.requantisation.forms import Fixed
from edgeconv.ir.requantisation.scalings import (
    FIXED,
    OFFSETS,
    kind_of,
    right_of,
    shifted,
    widest,
    words_of,
)
from edgeconv.kernels.algorithms.scaling import FORMS, scaling_of
from edgeconv.kernels.algorithms.sums import (
    facts_of,
    form_of,
    is_depthwise,
    larger_of,
    multiples,
    rounded_to,
    sums_in,
)
from edgeconv.model import frontend, passes
from edgeconv.search import choose
from edgeconv.target import board as boards
from tests import onnx_models
from tests.quantised_models import Network

SCALES = (0.016, 0.045, 0.02, 0.09, 0.011)  # of results


def network(scales_as: str = "", window: tuple[int, int] = (3, 3)) -> onnx.ModelProto:
    """Convolutions of 3x3, pointwise and depthwise ones of a ``window``, whose results have unlike
    scales."""
    net = Network(scales_as=scales_as)
    y, unit = net.dequantise("image", 0.02, -3), 0.02
    shapes = [(8, 3, 3, 3), (8, 1, *window), (12, 8, 1, 1), (12, 1, *window), (5, 12, 1, 1)]
    for i, (shape, scale) in enumerate(zip(shapes, SCALES, strict=True)):
        depthwise = shape[1] == 1
        attrs = {"group": shape[0]} if depthwise else {}
        filters = net.filters(f"w{i}", shape)
        bias = net.bias(f"b{i}", shape[0], net.scales[f"w{i}"] * np.float32(unit))
        y = net.pair(net.node("Conv", [y, filters, bias], f"y{i}", **attrs), scale, 3)
        unit = scale
    net.node("Identity", [y], "scores")
    size = tuple(10 - 2 * (each - 1) for each in window)
    return net.model({"image": ("int8", (1, 3, 12, 12))}, {"scores": ("float32", (1, 5, *size))})


def chosen(
    board: str, folder: Path, scales_as: str = "", window: tuple[int, int] = (3, 3)
) -> Choice:
    path = onnx_models.save(network(scales_as, window), folder / "net.onnx")
    return choose.select(
        passes.optimise(frontend.load(path)), boards.load(board).target, integers=None
    )


@pytest.fixture(scope="module")
def choice(tmp_path_factory: pytest.TempPathFactory) -> Choice:
    return chosen("mps2-an386", tmp_path_factory.mktemp("model"))


def test_all_layers_are_shifted_by_as_much_as_most(choice: Choice) -> None:
    scalings = {layer.scaling for layer in choice.layers if layer.scaling}
    right = right_of(choice.graph.scaling)
    assert scalings == {shifted(right)}
    plans = [layer.plan["right"] for layer in choice.layers if "right" in layer.plan]
    assert len(plans) == len(SCALES) - 1  # one has results in float32
    assert plans.count(right) >= len(plans) - 1  # joined filters may have their own


@pytest.mark.parametrize("board", ["mps2-an385", "mps3-an547", "microbit", "generic-riscv32"])
def test_other_cores_have_each_layers_own(board: str, tmp_path: Path) -> None:
    made = chosen(board, tmp_path)
    assert {layer.scaling for layer in made.layers} <= {"", FIXED}


def test_sums_with_offsets_of_their_own_are_not_shifted_alike(tmp_path: Path) -> None:
    made = chosen("mps2-an386", tmp_path, "fractions")
    assert {layer.scaling for layer in made.layers} <= {"", OFFSETS}


def test_results_are_what_the_model_says(choice: Choice) -> None:
    graph = choice.graph
    right, checked = right_of(graph.scaling), 0
    rng = np.random.default_rng(3)
    for node in graph.nodes:
        y = rounded_to(node, graph) if node.op in FORMS else None
        if y is None:
            continue
        sums, whole, _ = sums_in(node, graph, y)
        span = (sums.most - sums.least)[:, None]
        some = sums.least[:, None] + (span * rng.random((len(span), 4000))).astype(np.int64)
        some[:, 0], some[:, 1] = sums.least, sums.most
        said = requantised(sums, some)
        form = form_of(node, graph)
        assert isinstance(form, Fixed)
        np.testing.assert_array_equal(form.of(some - whole[:, None]), said)
        if is_depthwise(node, graph):
            larger = larger_of(node, graph)
            assert larger is not None
            assert larger.form.right == right
            assert np.abs(multiples(node, graph) << larger.bits).max() < 2**15
            shifted_sums = (some - whole[:, None]) << larger.bits
            np.testing.assert_array_equal(larger.form.of(shifted_sums), said)
        else:
            # Joined filters: 256 times the sum, and what is made of it, fit 32 bits.
            assert form.right == right or facts_of(node, graph).spare_bits >= 8
            ends = np.stack([sums.least, sums.most], axis=1) - whole[:, None]
            started = 256 * (ends + form.start.astype(np.int64)[:, None])
            word = (started * form.multiplier.astype(np.int64)[:, None] >> 32) + 256 * form.offset
            assert max(np.abs(started).max(), np.abs(word).max()) < 2**31
            bounded = np.clip(word >> (form.right + 8), form.low, form.high)
            np.testing.assert_array_equal(bounded, requantised(sums, ends + whole[:, None]))
        checked += 1
    assert checked == len(SCALES)


def test_a_part_of_the_network_keeps_the_shift(choice: Choice) -> None:
    alone = replace(choice.graph, nodes=choice.graph.nodes[-1:])
    assert scaling_of(alone) == choice.graph.scaling


def test_of_several_scalings_one_has_the_words_of_all() -> None:
    assert widest([shifted(4), shifted(4)]) == shifted(4)
    assert widest([shifted(4), shifted(5)]) == widest([shifted(4), FIXED]) == FIXED
    assert widest([shifted(4), OFFSETS]) == OFFSETS
    assert words_of(shifted(4)) == words_of(FIXED)
    assert (kind_of(shifted(12)), right_of(shifted(12)), right_of(FIXED)) == (FIXED, 12, 0)


@pytest.mark.parametrize("scales_as", ["", "fractions"])
@pytest.mark.parametrize(("window", "turned"), [((3, 1), ""), ((1, 3), "_transposed")])
def test_windows_of_three_numbers_stay_in_registers(
    window: tuple[int, int], turned: str, scales_as: str, tmp_path: Path
) -> None:
    """Where no register has a shift; else they are packed."""
    choice = chosen("mps2-an386", tmp_path, scales_as, window)
    functions = [layer.params.get("kernel_function") for layer in choice.layers if layer.candidate]
    assert (f"depthwise_3x1{turned}" in functions) == (not scales_as)
