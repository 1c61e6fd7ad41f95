"""What `verify` promises of quantised networks: sums near the middle between two steps may go to
either side, whatever later layers make of that, and nothing else may differ."""

from __future__ import annotations

import json
import shutil
from pathlib import Path

import numpy as np
import onnx
import pytest
from onnx import numpy_helper

from edgeconv.app import pipeline
from edgeconv.app.pipeline import CompileOptions, compile_model
from edgeconv.base.errors import EdgeconvError
from edgeconv.run.build.project import Project
from edgeconv.run.verify import Verification
from edgeconv.run.verify.inputs import seeded
from tests import onnx_models
from tests.quantised_models import deep

pytestmark = pytest.mark.usefixtures("unoptimised")

# Inputs of the network below in which some sum is such a tie: outputs are 3 to 6 steps apart.
TIES = (6, 27, 52)


@pytest.fixture(scope="module")
def built(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """A folder with the network, and the project of it."""
    folder = tmp_path_factory.mktemp("ties")
    path = onnx_models.save(deep(seed=0), folder / "net.onnx")
    compile_model(CompileOptions(path, "generic-c"), folder / "net")
    return folder


def verified(folder: Path, source: Path, seed: int, **options: object) -> Verification:
    project = Project.open(folder)
    inputs = folder.parent / f"input-{seed}.npz"
    np.savez(inputs, allow_pickle=False, **seeded(project.inputs, seed))
    model = source / "net.onnx"
    return pipeline.verify_project(folder, model=model, inputs=inputs, **options)  # type: ignore[arg-type]


def test_what_later_layers_make_of_a_tie_is_no_difference(built: Path) -> None:
    results = [verified(built / "net", built, seed) for seed in TIES]
    far = [result for result in results if result.outputs[0].spacings > 1]
    if not far:
        pytest.skip("this machine's reference adds up as portable C does: no tie falls apart")
    for result in results:
        assert result.passed
        assert result.per_layer is not None
        assert result.per_layer.unknown <= 1  # the dense layer's own copy
    assert all(result.per_layer and 0 < result.per_layer.ties < 10 for result in far)


def test_with_a_tolerance_the_outputs_are_judged(built: Path) -> None:
    result = verified(built / "net", built, TIES[0], tolerance=1e-4)
    assert result.per_layer is None
    assert result.passed == (result.outputs[0].spacings <= 1)


def _change(model: onnx.ModelProto, name: str, by: int) -> None:
    tensor = next(each for each in model.graph.initializer if each.name == name)
    values = numpy_helper.to_array(tensor).copy()
    at = np.unravel_index(int(np.argmin(np.abs(values.astype(int)))), values.shape)
    values[at] += by
    tensor.CopyFrom(numpy_helper.from_array(values, name))


def _with_image_of(model: onnx.ModelProto, built: Path, folder: Path) -> Path:
    """The project of the right network with the weight image of ``model``, and its checksum."""
    path = onnx_models.save(model, folder / "net.onnx")
    wrong, _ = compile_model(CompileOptions(path, "generic-c"), folder / "wrong")
    shutil.copytree(built / "net", folder / "net", ignore=shutil.ignore_patterns("build"))
    shutil.copy(wrong.directory / "net_weights.bin", folder / "net" / "net_weights.bin")
    report = folder / "net" / "report.json"
    right = json.loads(report.read_text())
    right["program"] = wrong.report["program"]
    report.write_text(json.dumps(right))
    return folder / "net"


@pytest.mark.parametrize("name", ["w4", "w7", "w5", "b10"])
def test_one_wrong_number_of_the_weights_is_found(name: str, built: Path, tmp_path: Path) -> None:
    """Though no run would tell it from the rounding of a sum."""
    model = deep(seed=0)
    _change(model, name, 1)
    project = _with_image_of(model, built, tmp_path)
    with pytest.raises(EdgeconvError, match="filters are not those of the model") as error:
        verified(project, built, 0)
    assert error.value.where == f"y{name[1:]}_node"


def test_a_layer_that_computes_something_else_is_found(
    built: Path, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    """By the numbers alone, and where it begins: eight of its 32 x 32 weights are off."""
    model = deep(seed=0)
    for _ in range(8):
        _change(model, "w4", 40)
    project = _with_image_of(model, built, tmp_path)
    monkeypatch.setattr(pipeline, "require_weights", lambda *_: None)
    # The report was changed above: it is no longer one that edgeconv would write over.
    monkeypatch.setattr(Project, "write_report", lambda self, _: self)
    result = verified(project, built, 0)
    assert not result.passed
    assert result.first_defect == "y4_node"


def test_a_grid_that_ends_too_soon_is_found(built: Path, tmp_path: Path) -> None:
    shutil.copytree(built / "net", tmp_path / "net")
    source = tmp_path / "net" / "net.c"
    text = source.read_text()
    first = ".before_alpha = 0.020833334f, .before_beta = -128.0f,\n        .before_gamma = 127.0f"
    assert text.count(first) == 2  # of the pointwise layers, and of those per channel
    source.write_text(text.replace(first, first.replace("127.0f", "60.0f"), 1))
    result = verified(tmp_path / "net", built, 0)
    assert not result.passed
    assert result.first_defect == "y0_node"
