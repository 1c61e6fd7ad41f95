"""ONNX's own cases, read, optimised and written as ONNX again: engines make of them what the case
says."""

from __future__ import annotations

from collections.abc import Sequence
from pathlib import Path
from typing import Any

import numpy as np
import numpy.typing as npt
import onnx
import pytest
from onnx.reference import ReferenceEvaluator

from edgeconv.ir.graph import Graph
from edgeconv.model import frontend, passes
from edgeconv.model.frontend.running import prepared
from edgeconv.model.frontend.saving import model_of
from tests.onnx_suite.cases import Case, cases
from tests.onnx_suite.passing import PASSING
from tests.onnx_suite.stored import as_read, of_model

pytest.importorskip("onnxruntime", reason="the engine that runs what is written")

_SAMPLE = 20  # every so many of those that pass
_RELATIVE = {"float16": 2e-3, "bfloat16": 1.6e-2}  # two roundings, which engines place differently
_ABSOLUTE = 1e-5

# ONNX Runtime's own results of these are others; and what is written of the last states a scale, of
# which it makes a size that is rounded down.
_OTHERS = {
    "test_resize_downsample_scales_cubic_align_corners",
    "test_resize_downsample_scales_linear_align_corners",
    "test_resize_downsample_sizes_nearest_not_smaller",
}
_WRITTEN = [name for name in PASSING if name not in _OTHERS]

Array = npt.NDArray[Any]


def _run(graph: Graph, feeds: dict[str, Array]) -> dict[str, Array]:
    """By ONNX Runtime, or by ONNX's own interpreter of types that it has no kernels for."""
    try:
        return prepared(graph)(feeds)
    except Exception:  # of EngineRefusesError, and of the types that engines raise
        interpreter = ReferenceEvaluator(model_of(graph))
        made = interpreter.run(list(graph.outputs), feeds)
        return dict(zip(graph.outputs, map(np.asarray, made), strict=True))


def _difference(case: Case, folder: Path) -> str:
    """What is wrong with the case written again."""
    path = folder / "model.onnx"
    onnx.save(case.model, path)
    graph = passes.optimise(
        frontend.load(path, input_shapes=case.input_shapes(), cut_at=case.cut())
    )
    feeds, wanted = case.feeds(case.data[0][0]), case.wanted(case.data[0][1])
    given = {name: np.asarray(as_read(graph, name, feeds)) for name in graph.inputs}
    found = of_model(graph, _run(graph, given))
    for name, want in wanted.items():
        if name not in found:
            continue
        rtol = max(case.rtol, _RELATIVE.get(str(want.dtype), 0.0))
        raw = found[name]
        if want.dtype == object:
            if raw.shape != want.shape or (raw != want).any():
                return f"{case.name}: {name} is {raw.tolist()} in place of {want.tolist()}"
            continue
        if raw.dtype == np.uint8 and "float8" in want.dtype.name:  # ONNX Runtime has the bits
            raw = raw.view(want.dtype)
        got, real = raw.astype(np.float64), want.astype(np.float64)
        if not np.allclose(got, real, rtol, max(case.atol, _ABSOLUTE), equal_nan=True):
            return f"{case.name}: {name} is {got.ravel()[:5]} in place of {real.ravel()[:5]}"
    return ""


def _differences(names: Sequence[str], folder: Path) -> list[str]:
    return [found for name in names if (found := _difference(cases()[name], folder))]


def test_sample(tmp_path: Path) -> None:
    assert not _differences(_WRITTEN[::_SAMPLE], tmp_path)


@pytest.mark.slow
def test_every_case(tmp_path: Path) -> None:
    assert not _differences(_WRITTEN, tmp_path)
