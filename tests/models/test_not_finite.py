"""Infinities, NaN, zeros with a sign and subnormal numbers, as elements and as scalars of a model:
what emitted C makes of them, on this machine and in portable C, against ONNX Runtime."""

from __future__ import annotations

from collections.abc import Iterator
from pathlib import Path
from typing import Any

import numpy as np
import onnx
import pytest
from onnx import helper

from edgeconv.model import frontend, passes
from edgeconv.search.calibration import engine as engines
from tests.onnx_models import Values, model, save

onnxruntime = pytest.importorskip("onnxruntime", reason="the reference engine of these tests")
pytestmark = pytest.mark.usefixtures("unoptimised")

INF, NAN = np.inf, np.nan
SCALARS = {"inf": INF, "less_inf": -INF, "nan": NAN, "zero": -0.0, "tiny": 1e-45, "one": 1.0}
ELEMENTS = np.array([[[[-INF, -3.4e38, -1, -0.0, 0, 1e-40, 1, 3.4e38, INF, NAN]]]], np.float32)
WINDOW = np.array([0, 0, 0, 0, 0, 0, 1, 2])  # Pad's
CROP = np.array([0, 0, 0, -0.5, 1, 1, 1, 1.5], np.float32)  # Resize's, beyond the image
Call = tuple[str, list[str], dict[str, Any]]  # operator, inputs, attributes


def along_rows() -> Values:
    """Rows for operators that subtract a largest element, which is nowhere finite, or only here."""
    ordinary = np.linspace(-3, 3, 19, dtype=np.float32)
    rows = [ordinary, *(np.full(19, each, np.float32) for each in (-INF, INF, NAN, -3.4e38))]
    for place in (0, 9, 18):
        for number in (-INF, INF, NAN, 3.4e38):
            for others in (ordinary, np.full(19, -INF, np.float32)):
                rows.append(others.copy())
                rows[-1][place] = number
    mixed = ordinary.copy()
    mixed[[0, 18]] = -INF, INF
    return np.stack([*rows, mixed])


def reductions() -> Iterator[tuple[str, Call]]:
    """Of rows, and of columns; of one element too."""
    for x, axis in (("rows", 1), ("columns", 0), ("single", 1)):
        for op_type in ("Softmax", "LogSoftmax"):
            yield f"{op_type}_{x}", (op_type, [x], {"axis": axis})
        yield f"log_sum_exp_{x}", ("ReduceLogSumExp", [x, f"axis{axis}"], {"keepdims": 0})
        for p in (1, 2):
            yield f"by_norm_{p}_{x}", ("LpNormalization", [x], {"axis": axis, "p": p})
    yield "loss", ("SoftmaxCrossEntropyLoss", ["rows", "labels"], {"reduction": "none"})


def scalars() -> Iterator[tuple[str, Call]]:
    """Every operator that prints a number of the model into C."""
    crop = {"coordinate_transformation_mode": "tf_crop_and_resize"}
    for name, value in SCALARS.items():
        for op_type in ("Max", "Min"):
            yield f"{op_type}_{name}", (op_type, ["x", name], {})
            yield f"{op_type}_of_{name}", (op_type, [name, "x"], {})
        yield f"above_{name}", ("Clip", ["x", name], {})
        yield f"below_{name}", ("Clip", ["x", "", name], {})
        yield f"from_{name}", ("Clip", ["x", name, "inf"], {})
        yield f"to_{name}", ("Clip", ["x", "less_inf", name], {})
        yield f"pad_{name}", ("Pad", ["x", "window", name], {})
        extrapolated = {**crop, "extrapolation_value": value}
        yield f"crop_{name}", ("Resize", ["x", "crop", "", "sizes"], extrapolated)
        yield f"leaky_{name}", ("LeakyRelu", ["x"], {"alpha": value})
        yield f"elu_{name}", ("Elu", ["x"], {"alpha": value})
        yield f"threshold_{name}", ("ThresholdedRelu", ["x"], {"alpha": value})
        yield f"slope_{name}", ("HardSigmoid", ["x"], {"alpha": value})
        yield f"offset_{name}", ("HardSigmoid", ["x"], {"beta": value})
        yield f"shrink_{name}", ("Shrink", ["x"], {"lambd": value})
        yield f"sum_{name}", ("Add", ["x", name], {})
        yield f"product_{name}", ("Mul", ["x", name], {})
        if not 0 < value < 1e-40:  # ONNX Runtime's vectors take such an exponent for 0, or not
            yield f"power_{name}", ("Pow", ["x", name], {})
        if value > 0:
            yield f"celu_{name}", ("Celu", ["x"], {"alpha": value})
    yield "clip", ("Clip", ["x"], {})


CONSTANTS: dict[str, Values] = {
    **{name: np.array(value, np.float32) for name, value in SCALARS.items()},
    "axis0": np.array([0]), "axis1": np.array([1]), "window": WINDOW, "crop": CROP,
    "sizes": np.array([1, 1, 1, 12]), "labels": np.arange(len(along_rows())) % 19,
}  # fmt: skip
KINDS = {"reductions": reductions, "scalars": scalars}


@pytest.fixture(scope="module", params=[*KINDS.values()], ids=[*KINDS])
def network(request: pytest.FixtureRequest) -> onnx.ModelProto:
    calls = dict(request.param())
    nodes = [
        helper.make_node(op, ins, [y], name=y, **attrs) for y, (op, ins, attrs) in calls.items()
    ]
    read = {name for _, names, _ in calls.values() for name in names}
    shapes = {name: value.shape for name, value in inputs().items() if name in read}
    constants = {name: value for name, value in CONSTANTS.items() if name in read}
    return model(nodes, shapes, dict.fromkeys(calls), constants, opset=18)


def inputs() -> dict[str, Values]:
    rows = along_rows()
    columns = np.ascontiguousarray(rows.T)
    return {"x": ELEMENTS, "rows": rows, "columns": columns, "single": rows[:, :1].copy()}


@pytest.mark.parametrize("board", ["host", "generic-c"])
def test_as_onnx_runtime(
    network: onnx.ModelProto, board: str, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(engines, "BOARDS", (board,))
    graph = passes.optimise(frontend.load(save(network, tmp_path / "net.onnx")))
    given = {name: value for name, value in inputs().items() if name in graph.inputs}
    options = onnxruntime.SessionOptions()
    options.graph_optimization_level = onnxruntime.GraphOptimizationLevel.ORT_DISABLE_ALL
    session = onnxruntime.InferenceSession(network.SerializeToString(), options)
    want = dict(zip([o.name for o in session.get_outputs()], session.run(None, given), strict=True))
    with engines.Engine(graph) as engine:
        got = engine.run(given)
    assert got.keys() == want.keys()
    for name, value in got.items():
        np.testing.assert_allclose(value, want[name], rtol=1e-5, atol=1e-6, err_msg=name)
