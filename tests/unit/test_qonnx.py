"""QONNX's operators as the graph has them, against what qonnx's executor computed."""

from __future__ import annotations

from pathlib import Path

import numpy as np
import pytest
from onnx import helper, numpy_helper

from edgeconv.app.pipeline import CompileOptions, decide
from edgeconv.base.errors import EdgeconvError
from edgeconv.ir.encoding import INT4
from edgeconv.ir.grids import integers_for, rounded_to
from edgeconv.model import frontend, passes
from edgeconv.model.frontend import reference_outputs
from tests import onnx_models, qonnx_models
from tests.ir_interpreter import evaluate
from tests.qonnx_models import Graph


@pytest.mark.parametrize("name", ["operators", "operators_1"])
def test_reference_of_single_operators(name: str, tmp_path: Path) -> None:
    """What is verified against, of opset 9 too: the executor's numbers, each of them."""
    path = onnx_models.save(qonnx_models.MODELS[name](), tmp_path / "one.onnx")
    expected = qonnx_models.expected(name)
    found = reference_outputs(path, {"x": qonnx_models.given(name)}).values
    assert len(expected) > 35
    for output, want in expected.items():
        np.testing.assert_array_equal(found[output], want, err_msg=output)


def test_graph_of_single_operators(tmp_path: Path) -> None:
    path = onnx_models.save(qonnx_models.MODELS["operators_1"](), tmp_path / "one.onnx")
    graph = passes.optimise(frontend.load(path))
    made = evaluate(graph, {"x": qonnx_models.given("operators_1")})
    for output, want in qonnx_models.expected("operators_1").items():
        np.testing.assert_allclose(made[output], want, rtol=3e-7, atol=1e-6, err_msg=output)


def test_networks(tmp_path: Path) -> None:
    """What is verified against: the engine's numbers are the executor's, but for float32's sums."""
    path = onnx_models.save(qonnx_models.networks(), tmp_path / "nets.onnx")
    found = reference_outputs(path, {"x": qonnx_models.given("networks")}).values
    for kind, want in qonnx_models.expected("networks").items():
        np.testing.assert_allclose(found[kind], want, rtol=1e-5, atol=1e-5, err_msg=kind)


@pytest.mark.parametrize("kind", qonnx_models.KINDS)
def test_grids_and_filters(kind: str, tmp_path: Path) -> None:
    """Filters are stored as integers of four bits, and what layers read is integers of the bits
    that the model says."""
    path = onnx_models.save(qonnx_models.networks([kind]), tmp_path / "net.onnx")
    graph = passes.optimise(frontend.load(path))
    layers = [node for node in graph.nodes if node.op in ("Conv", "Dense")]
    assert [node.storage.element for node in layers] == [INT4] * 4
    grids = rounded_to(graph)
    bits = {"w4a4": 4, "per_channel": 4, "asymmetric": 4, "trunc": 8}.get(kind, 2)
    for node in layers[1:]:
        grid = grids[node.inputs[0]]
        assert integers_for(grid) is not None
        assert grid.gamma - grid.beta < 2**bits


def test_negative_factors_of_a_batch_norm_leave_integers(tmp_path: Path) -> None:
    """As in FINN's networks, whose domain has an older name: a ternary layer, a BatchNorm that
    turns some channels around, two bits."""
    g = Graph("finn.custom_op.general", 1)
    x = g.quant("x", 1.0, 2.0, narrow=1)
    weights = g.quant(g.constant(g.weights(64, 16)), 0.25, 2.0, narrow=1)
    scale, bias, mean = (g.constant(g.rng.uniform(low, 1.0, 16)) for low in (-1.0, -1.0, 0.1))
    y = g.add("MatMul", [x, weights])
    y = g.add("BatchNormalization", [y, scale, bias, mean, g.constant(np.full(16, 0.5))])
    y = g.quant(y, 1.0, 2.0, narrow=1)
    path = onnx_models.save(g.model({"x": (1, 64)}, {y: (1, 16)}), tmp_path / "net.onnx")
    chosen = decide(CompileOptions(path, "mps2-an386")).choice
    (layer,) = (each for each in chosen.layers if each.node.op == "Dense")
    assert layer.algorithm == "integer"
    assert min(layer.node.storage.scale) > 0


def _saved(folder: Path, **changes: float) -> Path:
    g = Graph()
    given = {"scale": 0.5, "zero": 0.0, "bits": 4.0} | changes
    y = g.own("Quant", "x", *given.values(), signed=1, narrow=0)
    return onnx_models.save(g.model({"x": (1, 4)}, {y: (1, 4)}), folder / "quant.onnx")


@pytest.mark.parametrize(
    ("changes", "rule"),
    [
        ({"scale": -0.5}, "scales are positive"),
        ({"scale": float("nan")}, "finite"),
        ({"bits": 0.0}, "bit widths are from 1 to 64"),
        ({"zero": float("inf")}, "finite"),
    ],
)
def test_refused(changes: dict[str, float], rule: str, tmp_path: Path) -> None:
    with pytest.raises(EdgeconvError, match="cannot be compiled") as caught:
        frontend.load(_saved(tmp_path, **changes))
    assert rule in " ".join(caught.value.details)


def test_unknown_rounding_mode(tmp_path: Path) -> None:
    g = Graph()
    y = g.own("Quant", "x", 0.5, 0.0, 4.0, signed=1, narrow=0, rounding_mode="NEAREST")
    path = onnx_models.save(g.model({"x": (1, 4)}, {y: (1, 4)}), tmp_path / "quant.onnx")
    with pytest.raises(EdgeconvError) as caught:
        frontend.load(path)
    assert "HALF_EVEN" in " ".join(caught.value.details)


def test_scale_of_run_time_is_refused(tmp_path: Path) -> None:
    g = Graph()
    zero, bits = g.constant(0.0), g.constant(4.0)
    y = g.add("Quant", ["x", "s", zero, bits], qonnx_models.GENERAL, signed=1, narrow=0)
    model = g.model({"x": (1, 4), "s": (1,)}, {y: (1, 4)})
    with pytest.raises(EdgeconvError) as caught:
        frontend.load(onnx_models.save(model, tmp_path / "quant.onnx"))
    assert "scale is constant" in " ".join(caught.value.details)


def test_constants_in_nodes_and_by_channel(tmp_path: Path) -> None:
    """A scale per channel along any axis of filters, whose integers are kept."""
    g = Graph()
    w = g.rng.integers(-7, 8, (4, 6)).astype(np.float32)
    scale = np.float32(2.0) ** -np.arange(6, dtype=np.float32).reshape(1, 6)
    inputs = [g.constant(w * scale), "scale", g.constant(0.0), g.constant(4.0)]
    value = numpy_helper.from_array(scale, "value")
    g.nodes.append(helper.make_node("Constant", [], ["scale"], value=value))
    quant = g.add("Quant", inputs, qonnx_models.GENERAL, signed=1, narrow=1)
    y = g.add("MatMul", ["x", quant])
    path = onnx_models.save(g.model({"x": (1, 4)}, {y: (1, 6)}), tmp_path / "dense.onnx")
    (dense,) = passes.optimise(frontend.load(path)).nodes
    assert dense.storage == INT4.scaled(scale.reshape(-1))
