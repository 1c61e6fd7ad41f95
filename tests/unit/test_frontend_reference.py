"""Running the original model, and real networks against it."""

from __future__ import annotations

import importlib.util
import os
import time
from pathlib import Path
from typing import Any

import numpy as np
import onnx
import pytest

from edgeconv.base.errors import EdgeconvError
from edgeconv.ir.check import check
from edgeconv.ir.graph import Graph
from edgeconv.model.frontend import load, model_file, reference_outputs
from tests.ir_interpreter import evaluate
from tests.onnx_models import Values, model, residual, save

LIGHT = Path(onnx.__file__).parent / "backend" / "test" / "data" / "light"
SECONDS = 10.0  # of CPU time that loading any network may take


def zoo() -> list[Path]:
    """The shared networks, and those that ONNX ships."""
    folder = os.environ.get("EDGECONV_ZOO", "")
    shared = sorted(Path(folder).glob("*.onnx")) if folder else []
    return shared + sorted(LIGHT.glob("*.onnx"))


def is_integer(path: Path) -> bool:
    """Whether the network quantises what it computes, and not only its weights."""
    nodes = model_file.read(path).model.graph.node
    return any(node.op_type == "QuantizeLinear" for node in nodes)


@pytest.fixture(params=["onnxruntime", "onnx.reference"])
def engine(request: pytest.FixtureRequest, monkeypatch: pytest.MonkeyPatch) -> str:
    """Each of the two engines in turn."""
    name: str = request.param
    if name == "onnxruntime":
        pytest.importorskip("onnxruntime")
    else:
        found = importlib.util.find_spec

        def without(module: str, package: str | None = None) -> Any:
            return None if module == "onnxruntime" else found(module, package)

        monkeypatch.setattr(importlib.util, "find_spec", without)
    return name


def image(graph: Graph, seed: int = 4) -> dict[str, Values]:
    rng = np.random.default_rng(seed)
    return {name: rng.standard_normal(graph[name].shape, dtype=np.float32) for name in graph.inputs}


@pytest.mark.parametrize("external", [False, True])
@pytest.mark.parametrize("batch", [1, "N"])
def test_all_values(external: bool, batch: int | str, engine: str, tmp_path: Path) -> None:
    source = residual(channels=24)
    dim = source.graph.input[0].type.tensor_type.shape.dim[0]
    dim.Clear()
    if isinstance(batch, str):
        dim.dim_param = batch
    else:
        dim.dim_value = batch
    path = tmp_path / "model.onnx"
    onnx.save(source, path, save_as_external_data=external, location="w", size_threshold=0)
    graph = load(path)
    inputs = image(graph)
    computed = [out for node in graph.nodes for out in node.outputs]
    run = reference_outputs(path, inputs, [*computed, "made/up"])
    assert set(run.values) == set(computed)
    assert run.engine.replace(" ", "").lower().startswith(engine)
    got = evaluate(graph, inputs)
    for name in computed:
        np.testing.assert_allclose(got[name], run.values[name], rtol=1e-3, atol=1e-4)


def test_graph_outputs_are_the_default(engine: str, tmp_path: Path) -> None:
    path = save(residual(), tmp_path / "model.onnx")
    assert list(reference_outputs(path, image(load(path))).values) == ["features", "p"]


def test_the_engine_refuses(engine: str, tmp_path: Path) -> None:
    path = save(residual(), tmp_path / "model.onnx")
    with pytest.raises(EdgeconvError, match="the reference engine refuses the model") as caught:
        reference_outputs(path, {"image": np.zeros((1, 2, 9, 9), np.float32)})
    assert ("edgeconv[verify]" in str(caught.value)) == (engine == "onnx.reference")


@pytest.mark.parametrize("path", zoo(), ids=lambda path: path.stem)
def test_networks_load(path: Path) -> None:
    started = time.process_time()
    graph = check(load(path), "test")
    assert time.process_time() - started < SECONDS
    ports = {"float32", "int8"} if is_integer(path) else {"float32"}
    assert {graph[name].dtype for name in (*graph.inputs, *graph.outputs)} <= ports


def small() -> list[Path]:
    found = [path for path in zoo() if path.stat().st_size < 2_000_000 and path.parent != LIGHT]
    return [path for path in found if not is_integer(path)]


@pytest.mark.skipif(not small(), reason="EDGECONV_ZOO names no folder of networks")
@pytest.mark.parametrize("path", small(), ids=lambda path: path.stem)
def test_small_networks_compute_every_value(path: Path) -> None:
    pytest.importorskip("onnxruntime")
    graph = load(path)
    inputs = image(graph)
    computed = [out for node in graph.nodes for out in node.outputs]
    want = reference_outputs(path, inputs, computed).values
    assert set(graph.outputs) <= set(want)
    got = evaluate(graph, inputs)
    for name, value in want.items():
        scale = float(np.abs(value).max())
        np.testing.assert_allclose(got[name], value, rtol=1e-3, atol=1e-5 * scale, err_msg=name)


@pytest.mark.parametrize("dtype", [np.float16, np.float64, np.bool_, np.uint8])
def test_inputs_are_of_the_type_that_the_model_states(
    dtype: type[np.generic], engine: str, tmp_path: Path
) -> None:
    """`verify` draws numbers as float32, and bool as whole numbers."""
    kind = onnx.helper.np_dtype_to_tensor_dtype(np.dtype(dtype))
    net = model([onnx.helper.make_node("Identity", ["x"], ["y"])], {"x": (2, 3)}, {"y": None})
    for value in (*net.graph.input, *net.graph.output):
        value.type.tensor_type.elem_type = kind
    drawn = np.array([[0, 1, 1], [1, 0, 1]]).astype(
        dtype if np.dtype(dtype).kind == "u" else np.float32
    )
    found = reference_outputs(save(net, tmp_path / "net.onnx"), {"x": drawn}).values["y"]
    assert found.dtype == dtype, engine
    np.testing.assert_array_equal(found.astype(np.float32), drawn)
