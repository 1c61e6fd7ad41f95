"""Layers of int8 filters that read float32: quantised at run time with ``--requantise tflite``, as
TensorFlow Lite's hybrid kernels do, in float32 without, which is said."""

from __future__ import annotations

from pathlib import Path
from typing import Any

import numpy as np
import pytest

from edgeconv.app.deciding import Decider
from edgeconv.model.frontend import Cut, load
from edgeconv.search.options import CompileOptions
from tests.ir_interpreter import evaluate
from tests.tflite_files import saved
from tests.tflite_models import Sketch, Values

# Of `network`, from `given`, by LiteRT 2.3.0's reference kernels.
BY_LITERT = (-3.8758724, 1.1489695, -2.696672, 2.5415971, -13.52316)


def network(rows: int = 1, *, per_channel: bool = True, **options: Any) -> bytes:
    """A convolution, a depthwise one, a pointwise one and a fully connected layer of ``rows`` rows;
    ``options``: of the last."""
    random, sketch = np.random.default_rng(3), Sketch()

    def filters(name: str, shape: tuple[int, ...], axis: int) -> int:
        count = shape[axis] if per_channel else 1
        scale = random.uniform(0.002, 0.01, count).tolist()
        values = random.integers(-127, 128, shape)
        return sketch.constant(name, values, "int8", scale=scale, zero=[0] * count, axis=axis)

    def bias(name: str, count: int) -> int:
        return sketch.constant(name, random.normal(size=count), "float32")

    window: dict[str, Any] = {"padding": "SAME", "dilation_w": 1, "dilation_h": 1}
    wide: dict[str, Any] = {"stride_w": 2, "stride_h": 2}
    plain: dict[str, Any] = {"stride_w": 1, "stride_h": 1}
    shapes = {"x": (1, 8, 6, 4), "a": (1, 4, 3, 8), "b": (1, 4, 3, 8), "c": (1, 4, 3, 12)}
    x, a, b, c = (sketch.tensor(name, shape) for name, shape in shapes.items())
    flat, y = sketch.tensor("flat", (rows, 144 // rows)), sketch.tensor("y", (rows, 5))
    operands = [x, filters("wa", (8, 3, 3, 4), 0), bias("ba", 8)]
    sketch.operator("CONV_2D", operands, [a], activation="RELU", **wide, **window)
    operands = [a, filters("wb", (1, 3, 3, 8), 3), bias("bb", 8)]
    more: dict[str, Any] = {"depth_multiplier": 1, "activation": "RELU6"}
    sketch.operator("DEPTHWISE_CONV_2D", operands, [b], **more, **plain, **window)
    operands = [b, filters("wc", (12, 1, 1, 8), 0), bias("bc", 12)]
    sketch.operator("CONV_2D", operands, [c], **plain, **window)
    sketch.operator("RESHAPE", [c, sketch.constant("to", [rows, 144 // rows], "int32")], [flat])
    operands = [flat, filters("wy", (5, 144 // rows), 0), bias("by", 5)]
    chosen = {"asymmetric_quantize_inputs": True, **options}
    sketch.operator("FULLY_CONNECTED", operands, [y], **chosen)
    return sketch.bytes([x], [y])


def given() -> Values:
    values: Values = np.random.default_rng(5).standard_normal((1, 8, 6, 4)).astype(np.float32)
    return values


def test_numbers_are_those_of_the_hybrid_kernels(tmp_path: Path) -> None:
    path, read = saved(network(), tmp_path), Cut(dynamic_quantisation=True)
    found = evaluate(load(path, cut_at=read), {"x": given()})["y"].reshape(-1)
    np.testing.assert_allclose(found, BY_LITERT, rtol=1e-5, atol=1e-5)
    plain = evaluate(load(path), {"x": given()})["y"].reshape(-1)
    assert np.abs(plain - found).max() > 1e-3  # of which the file says nothing


@pytest.mark.parametrize("requantise", ["exact", "tflite"])
def test_layers_are_in_integers_where_asked(requantise: str, tmp_path: Path) -> None:
    options = CompileOptions(saved(network(), tmp_path), "mps2-an386", requantise=requantise)
    with Decider(options) as decider:
        draft = decider.plain()
    operators = [layer.node.op for layer in draft.choice.layers if layer.macs]
    said = [note for note in draft.notes if "beside int8 filters" in note]
    if requantise == "tflite":
        assert operators == ["DynamicConv", "DynamicConv", "DynamicConv", "DynamicDense"]
        assert not said
    else:
        assert operators == ["Conv", "Conv", "Conv", "Dense"]
        assert len(said) == 3  # one for each operator
        assert all("--requantise tflite does as it does" in note for note in said)


@pytest.mark.parametrize(
    ("rows", "asymmetric", "said"),
    [(4, True, "one scale for each of its 4 rows"), (1, False, "around 0")],
)
def test_what_is_quantised_otherwise_there_is_said(
    rows: int, asymmetric: bool, said: str, tmp_path: Path
) -> None:
    content = network(rows, asymmetric_quantize_inputs=asymmetric)
    graph = load(saved(content, tmp_path), cut_at=Cut(dynamic_quantisation=True))
    (note,) = (note for note in graph.notes if "beside int8 filters" in note)
    assert note.startswith("FULLY_CONNECTED 'y'")
    assert said in note


def test_one_scale_for_all_filters_is_left_to_float32(tmp_path: Path) -> None:
    """Of convolutions, where LiteRT's kernels do not agree; not of a fully connected layer."""
    path = saved(network(per_channel=False), tmp_path)
    notes = load(path, cut_at=Cut(dynamic_quantisation=True)).notes
    said = [note for note in notes if "with one scale for all filters" in note]
    assert [note.split()[0] for note in said] == ["CONV_2D", "DEPTHWISE_CONV_2D"]
