"""Results of quantised networks as int8: the numbers that float32 has, in a quarter of the RAM."""

from __future__ import annotations

from pathlib import Path
from typing import Any

import numpy as np
import numpy.typing as npt
import pytest

from edgeconv.app import pipeline
from edgeconv.app.pipeline import CompileOptions, compile_model, decide
from edgeconv.ir.encoding import scaled_encoding
from edgeconv.ir.layout import Layout
from edgeconv.run.build import run_binary
from edgeconv.run.build.project import Project
from edgeconv.run.verify.layers import original_name, pieces
from tests import onnx_models
from tests.quantised_models import tiny

pytestmark = pytest.mark.usefixtures("unoptimised")

Results = dict[str, npt.NDArray[Any]]


def results(model: Path, folder: Path, board: str, form: str) -> tuple[Project, Results]:
    """Every layer's result by tensor, with ``form`` wherever it is possible."""
    # One algorithm, so that sums are added up in the same order.
    ways = {"algorithms": {"*": "direct"}, "storage": {"*:output": form}}
    compile_model(CompileOptions(model, board, **ways), folder)  # type: ignore[arg-type]
    project = Project.open(folder)
    integers = np.random.default_rng(3).integers(-128, 128, (2, 3 * 9 * 9)).astype(np.int8)
    project.input_file.parent.mkdir(parents=True, exist_ok=True)
    found: Results = {}
    binary = project.build(trace=True)
    for number, values in enumerate(integers):
        source, trace = folder / f"x{number}.bin", folder / f"trace{number}.bin"
        source.write_bytes(values.tobytes())
        out = str(folder / "out.bin")
        arguments = ["--output", out, "--input", str(source), "--layers", str(trace)]
        done = run_binary(binary.path, binary.board, arguments, cwd=folder)
        assert done.status == 0, done.stderr
        layers = project.report["layers"]
        for layer, memory in zip(layers, pieces(layers, trace), strict=True):
            shape = tuple(layer["output_shape"])
            value = Layout.parse(layer["layout_out"]).unpack(memory, shape)
            found[f"{original_name(layer)} {number}"] = value
    return project, found


@pytest.mark.parametrize(
    ("dtype", "board"),
    [
        ("int8", "generic-c"),
        *(
            pytest.param(dtype, board, marks=pytest.mark.slow)
            for dtype, board in (
                ("uint8", "generic-c"),
                ("int8", "host"),
                ("int8", "odroid-xu3"),
                ("int8", "jetson-tx1"),
                ("uint8", "power10-s1024"),
                ("int8", "x86-64-v3"),
            )
        ),
    ],
)
def test_the_same_numbers(dtype: str, board: str, tmp_path: Path) -> None:
    model = onnx_models.save(tiny(dtype)[0], tmp_path / "net.onnx")
    plain, wanted = results(model, tmp_path / "plain", board, "float32")
    small, got = results(model, tmp_path / "small", board, "int8")
    stored = [layer["storage"]["output"] for layer in small.report["layers"]]
    assert sum(map(bool, map(scaled_encoding, stored))) >= 4
    assert not any(scaled_encoding(layer["storage"]["output"]) for layer in plain.report["layers"])
    assert small.report["ram"]["arena"] < plain.report["ram"]["arena"]
    sizes = {layer["output"]: layer["output_bytes"] for layer in plain.report["layers"]}
    for layer in small.report["layers"]:
        if scaled_encoding(layer["storage"]["output"]) and layer["output"] in sizes:
            assert 4 * layer["output_bytes"] == sizes[layer["output"]]
    for name in wanted.keys() & got.keys():
        np.testing.assert_array_equal(got[name], wanted[name], err_msg=name)
    assert len(wanted.keys() & got.keys()) >= 14


def test_bare_metal_keeps_integers(tmp_path: Path) -> None:
    """And others where RAM is short; a user may say otherwise."""
    model = onnx_models.save(tiny()[0], tmp_path / "net.onnx")

    def arena(board: str, **options: Any) -> int:
        return int(decide(CompileOptions(model, board, **options)).report["ram"]["arena"])

    small, large = arena("stm32h743", objective="memory"), arena("generic-c")
    assert small < 0.5 * large
    assert small <= arena("stm32h743") < 0.6 * large
    floats = {"*:output": "float32"}
    assert arena("stm32h743", storage=floats, objective="memory") > 2 * small
    decided = decide(CompileOptions(model, "generic-c", ram=large))
    assert decided.report["ram"]["total"] <= large
    assert decided.found is None  # nothing was rounded for it
    assert any(scaled_encoding(layer["storage"]["output"]) for layer in decided.report["layers"])


def test_a_search_leaves_them_alone(tmp_path: Path) -> None:
    """Within a limit of accuracy, formats are searched for; what loses nothing has its own."""
    model = onnx_models.save(tiny()[0], tmp_path / "net.onnx")
    options = CompileOptions(model, "generic-c", min_sqnr=30.0, objective="memory")
    decided = decide(options)
    stored = {layer["name"]: layer["storage"] for layer in decided.report["layers"]}
    assert sum(bool(scaled_encoding(entry["output"])) for entry in stored.values()) >= 4
    net = tmp_path / "net"
    compile_model(options, net)
    assert pipeline.verify_project(net, model=model).passed
