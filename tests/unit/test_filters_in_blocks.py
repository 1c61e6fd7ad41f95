"""Filters with scales in blocks: of whole multiples of one scale they are integers of that."""

from __future__ import annotations

from pathlib import Path

import ml_dtypes
import numpy as np
import numpy.typing as npt
import onnx
import pytest

from edgeconv.model import frontend, passes
from tests import onnx_models
from tests.models.in_integers import Outcome, held_to_file
from tests.quantised_models import Network

OUT_C, IN_C, BLOCK = 6, 10, 4  # the last block is not full
RNG = np.random.default_rng(7)
POWERS = 2.0 ** RNG.integers(0, 4, (OUT_C, 3)) * RNG.uniform(0.5, 1.5, (OUT_C, 1)) / 64
SCALES = {
    "alike": np.full((OUT_C, 3), 0.02),
    "of channels": np.repeat(RNG.uniform(0.5, 1.5, (OUT_C, 1)) / 64, 3, axis=1),
    "powers": POWERS,
    "times": np.array([[1.0, 3.0, 5.0]] * OUT_C) * 2.0**-8,
}


def network(scales: npt.NDArray[np.float64], dtype: str, *, zeros: bool) -> onnx.ModelProto:
    """``x`` (3, `IN_C`) -> (3, `OUT_C`), a dense layer of weights in blocks."""
    net = Network("int8", opset=21, seed=2)
    x = net.pair("x", 0.03, 5)
    info, rng = ml_dtypes.iinfo(dtype), np.random.default_rng(1)
    values = rng.integers(info.min, info.max, (OUT_C, IN_C), endpoint=True).astype(dtype)
    given = [net.constant("w", values), net.constant("scales", scales.astype(np.float32))]
    if zeros:
        kinds = rng.integers(0, 4, scales.shape).astype(dtype)
        given.append(net.constant("zeros", kinds))
    w = net.node("DequantizeLinear", given, "dq", axis=1, block_size=BLOCK)
    y = net.node("Gemm", [x, w], "y", transB=1)
    net.node("Identity", [net.pair(y, 0.1, 3)], "out")
    return net.model({"x": ("float32", (3, IN_C))}, {"out": ("float32", (3, OUT_C))})


def held(model: onnx.ModelProto, folder: Path) -> Outcome:
    return held_to_file(onnx_models.save(model, folder / "net.onnx"))


@pytest.mark.parametrize("zeros", [False, True])
@pytest.mark.parametrize("dtype", ["int4", "uint4"])
@pytest.mark.parametrize("kind", SCALES)
def test_multiples_of_one_scale_are_integers(
    kind: str, dtype: str, zeros: bool, tmp_path: Path
) -> None:
    model = network(SCALES[kind], dtype, zeros=zeros)
    found = held(model, tmp_path)
    assert (found.wrong, found.reasons) == ([], {})
    graph = passes.optimise(frontend.load(tmp_path / "net.onnx"))
    (layer,) = (node for node in graph.nodes if node.op == "Dense")
    units = layer.attrs["storage"].scale
    assert np.allclose(units, SCALES[kind].min(axis=1).astype(np.float32), rtol=0)


def test_others_are_float32_and_say_so(tmp_path: Path) -> None:
    """Also multiples of which integers would be too wide."""
    free = np.random.default_rng(0).uniform(0.5, 1.5, (OUT_C, 3)) / 64
    found = held(network(free, "int4", zeros=False), tmp_path)
    assert list(found.reasons.values()) == ["filter-blocks"]
    wide = np.array([[1.0, 3.0, 1024.0]] * OUT_C) * 2.0**-8
    found = held(network(wide, "int4", zeros=False), tmp_path)
    assert list(found.reasons.values()) == ["filter-bits"]


def test_the_integers_are_those_of_the_file(tmp_path: Path) -> None:
    """Times what their scale is of the smallest."""
    found = held(network(SCALES["times"], "int4", zeros=False), tmp_path)
    assert len(found.exact) == 1
