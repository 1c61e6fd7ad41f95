"""Networks that decide by their sums: which of two equal sums is picked is nobody's defect, and
what else `verify` promises of them."""

from __future__ import annotations

from pathlib import Path

import numpy as np
import onnx
import pytest
from onnx import TensorProto, helper, numpy_helper

from edgeconv.app.pipeline import CompileOptions, compile_model, verify_project
from edgeconv.run.verify import Verification
from tests import onnx_models

pytestmark = pytest.mark.usefixtures("unoptimised")

CHANNELS = 48


def equal_sums() -> onnx.ModelProto:
    """An ArgMax of two sums by filters of which every weight is the other's neighbour among float32
    numbers, and the larger of both sums: they differ by a rounding."""
    random = np.random.default_rng(4)
    weights = random.standard_normal(CHANNELS).astype(np.float32)
    ends = np.where(random.random(CHANNELS) < 0.5, -np.inf, np.inf).astype(np.float32)
    both = np.stack([weights, np.nextafter(weights, ends)])
    constants = {"w": both.reshape(2, CHANNELS, 1, 1)}
    nodes = [
        helper.make_node("Conv", ["x", "w"], ["sums"], "sums_node"),
        helper.make_node("ArgMax", ["sums"], ["class"], "class_node", axis=1, keepdims=0),
        helper.make_node("ReduceMax", ["sums"], ["most"], axes=[1], keepdims=0),
    ]
    graph = helper.make_graph(
        nodes,
        "net",
        [helper.make_tensor_value_info("x", TensorProto.FLOAT, [1, CHANNELS, 12, 12])],
        [
            helper.make_tensor_value_info("class", TensorProto.INT64, [1, 12, 12]),
            helper.make_tensor_value_info("most", TensorProto.FLOAT, [1, 12, 12]),
        ],
        [numpy_helper.from_array(value, name) for name, value in constants.items()],
    )
    return helper.make_model(graph, opset_imports=[helper.make_opsetid("", 13)], ir_version=8)


@pytest.fixture
def built(tmp_path: Path) -> Path:
    """The project, beside its model."""
    path = onnx_models.save(equal_sums(), tmp_path / "net.onnx")
    compile_model(CompileOptions(path, "generic-c"), tmp_path / "net")
    return tmp_path / "net"


def verified(project: Path, tolerance: float | None = None) -> Verification:
    return verify_project(project, model=project.parent / "net.onnx", tolerance=tolerance)


def test_what_rounding_decides_is_no_difference(built: Path) -> None:
    result = verified(built)
    picked, most = result.outputs
    if not picked.max_abs:
        pytest.skip("this machine's reference adds up as portable C does: nothing goes otherwise")
    assert result.passed
    assert most.within(result.tolerance)
    assert [each.name for each in result.read] == ["sums"]
    assert result.per_layer
    assert set(result.per_layer.differences) >= {"class_node", "sums_node", "output class"}
    assert not verified(built, tolerance=1e-4).passed  # outputs are judged


def test_what_decides_otherwise_by_other_numbers_is_found(built: Path) -> None:
    """A kernel that picks the smaller sum."""
    source = built / "net.c"
    text = source.read_text()
    assert text.count("EC_OF_GREATER,") == 1
    source.write_text(text.replace("EC_OF_GREATER,", "EC_OF_LESS,"))
    result = verified(built)
    assert not result.passed
    assert result.first_defect == "class_node"
