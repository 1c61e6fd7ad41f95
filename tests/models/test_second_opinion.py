"""Programs that differ from ONNX Runtime, compiled and run: float64 says who is off."""

from __future__ import annotations

from collections.abc import Callable
from io import StringIO
from pathlib import Path

import numpy as np
import onnx
import pytest
from onnx import TensorProto, helper

from edgeconv.app.pipeline import CompileOptions, compile_model, verify_project
from edgeconv.base.visible import VisibleConsole
from edgeconv.report import outcome
from edgeconv.report.outcome_json import verification_json
from edgeconv.run.verify import Verification
from tests import onnx_models

pytest.importorskip("onnxruntime")
pytestmark = pytest.mark.usefixtures("unoptimised")
make = helper.make_node
CHANNELS = 64


def quiet() -> onnx.ModelProto:
    """Scores of 1e-7: of a sigmoid there ONNX Runtime 1.32 has a part of 0.1 as an error."""
    nodes = [make("Add", ["x", "b"], ["a"]), make("Sigmoid", ["a"], ["y"])]
    return onnx_models.model(
        nodes, {"x": (1, 4, 5, 5)}, {"y": None}, {"b": np.array(-16, np.float32)}
    )


def narrow() -> onnx.ModelProto:
    """float16 in the middle, which ONNX Runtime's optimiser computes in float32."""
    nodes = [
        make("Cast", ["x"], ["h"], to=TensorProto.FLOAT16),
        make("Softmax", ["h"], ["m"], axis=-1),
        make("Cast", ["m"], ["y"], to=TensorProto.FLOAT),
    ]
    return onnx_models.model(nodes, {"x": (2, 30)}, {"y": None})


def enlarging() -> onnx.ModelProto:
    """Sums of numbers that all but cancel: what is left has few of float32's digits."""
    random = np.random.default_rng(3)
    large = random.standard_normal((8, CHANNELS, 1, 1)) * 300
    small = random.standard_normal((8, CHANNELS, 1, 1)) / 2
    weights = np.concatenate([large, small - large], axis=1).astype(np.float32)
    nodes = [
        make("Concat", ["x", "x"], ["xx"], axis=1),
        make("Conv", ["xx", "w"], ["c"]),
        make("Tanh", ["c"], ["y"]),
    ]
    return onnx_models.model(nodes, {"x": (1, CHANNELS, 6, 6)}, {"y": None}, {"w": weights})


def deciding() -> onnx.ModelProto:
    """The largest of scores as quiet as those of `quiet`, and the scores: where ONNX Runtime's
    error makes two of them equal, it picks the first."""
    weights = np.random.default_rng(1).standard_normal((16, 8, 1, 1)) / 8
    constants = {"w": weights.astype(np.float32), "b": np.full(16, -16, np.float32)}
    nodes = [
        make("Conv", ["x", "w", "b"], ["a"]),
        make("Sigmoid", ["a"], ["s"]),
        make("ArgMax", ["s"], ["y"], axis=1),
    ]
    made = onnx_models.model(nodes, {"x": (1, 8, 16, 16)}, {"s": None}, constants)
    made.graph.output.append(helper.make_tensor_value_info("y", TensorProto.INT64, (1, 1, 16, 16)))
    return made


NETWORKS = {"quiet": quiet, "narrow": narrow, "enlarging": enlarging, "deciding": deciding}


@pytest.fixture
def built(tmp_path: Path) -> Callable[[str], Path]:
    """The project of a network."""

    def made(network: str) -> Path:
        path = onnx_models.save(NETWORKS[network](), tmp_path / f"{network}.onnx")
        compile_model(CompileOptions(path, "generic-c"), tmp_path / network)
        return tmp_path / network

    return made


def verified(project: Path, *, layers: bool = False) -> Verification:
    return verify_project(project, layers=layers)


@pytest.mark.parametrize("network", ["quiet", "narrow"])
def test_what_the_reference_is_off_is_no_defect(network: str, built: Callable[[str], Path]) -> None:
    project = built(network)
    found = verified(project, layers=True)
    assert not found.outputs[0].within(found.tolerance)
    assert found.passed
    assert found.settled == ("y",)
    assert found.first_difference is None
    document = verification_json(found)["opinion"]
    mine, theirs = (document[who][0]["relative"] for who in ("program", "reference"))
    assert mine < 1e-5 < found.tolerance < theirs
    written = np.fromfile(project / f"{network}_expected.bin", np.float32)
    assert np.abs(written).max() > 0
    assert verified(project).errors[0].relative < 1e-5


def test_a_network_that_enlarges_rounding(built: Callable[[str], Path]) -> None:
    found = verified(built("enlarging"))
    assert not found.outputs[0].within(found.tolerance)
    assert found.passed
    assert found.enlarges_rounding
    assert found.per_layer


def test_decisions_by_what_the_reference_is_off(built: Callable[[str], Path]) -> None:
    """The tensors that they read are held to float64 where the reference is off."""
    found = verified(built("deciding"))
    assert [each.within(found.tolerance) for each in found.outputs] == [False, False]
    assert found.passed
    (scores,) = found.read
    assert scores.name == "s"
    assert scores.within(found.tolerance)
    assert found.opinion
    assert found.opinion.program["y"].max_abs == 0 < found.opinion.reference["y"].max_abs
    console = VisibleConsole(width=400, file=StringIO(), record=True)
    console.print(outcome.verification(found))
    assert "the program decides as float64 does" in console.export_text()


FAULTS = {
    ("deciding", "the first of one channel less"): (".outer = 1, .n = 16,", ".outer = 1, .n = 15,"),
    ("deciding", "scores of another bias"): (".bias = bias,", ".bias = bias + 1,"),
    ("quiet", "one element on"): ("epilogue, a, b,", "epilogue, a + 1, b,"),
    ("narrow", "a row that nobody writes"): ("workspace, 2, 30)", "workspace, 1, 30)"),
    ("enlarging", "another weight"): (".filters = filters,", ".filters = filters + 1,"),
    ("enlarging", "pixels that nobody writes"): (".lines = 9", ".lines = 8"),
    ("enlarging", "one element on"): ("ec_copy_rows(in1,", "ec_copy_rows(in1 + 1,"),
    ("enlarging", "a channel that nobody adds"): (".in_c = 128", ".in_c = 127"),
}


@pytest.mark.parametrize(("network", "fault"), FAULTS)
def test_a_defect_is_one_all_the_same(
    network: str, fault: str, built: Callable[[str], Path]
) -> None:
    """Where the reference is off, too, or rounding is enlarged."""
    project = built(network)
    source = project / f"{network}.c"
    right, wrong = FAULTS[network, fault]
    text = source.read_text()
    assert right in text
    source.write_text(text.replace(right, wrong))
    found = verified(project)
    assert not found.passed
    assert found.opinion
    assert found.opinion.program["y"].relative > found.tolerance
