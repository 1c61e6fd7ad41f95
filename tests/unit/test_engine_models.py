"""Models that an engine reads otherwise than ONNX defines, or not at all."""

from __future__ import annotations

from pathlib import Path

import ml_dtypes
import numpy as np
import onnx
import pytest
from onnx import TensorProto, helper

from edgeconv.model.frontend import AS_WRITTEN, IN_FLOAT64, reference_outputs
from tests import onnx_models
from tests.onnx_models import Values

pytest.importorskip("onnxruntime")
make = helper.make_node
RNG = np.random.default_rng(7)


def normal(*shape: int) -> Values:
    return RNG.standard_normal(shape).astype(np.float32)


def test_equal_names_of_nodes(tmp_path: Path) -> None:
    nodes = [make("Relu", ["x"], ["r"], name="n"), make("Neg", ["r"], ["y"], name="n")]
    path = onnx_models.save(
        onnx_models.model(nodes, {"x": (2, 3)}, {"y": None}), tmp_path / "net.onnx"
    )
    found = reference_outputs(path, {"x": np.array([[1, -2, 3], [4, 5, -6]], np.float32)})
    assert found.engine.startswith("ONNX Runtime")
    np.testing.assert_array_equal(found.values["y"], [[-1, 0, -3], [-4, -5, 0]])


def test_shapes_in_a_data_file(tmp_path: Path) -> None:
    nodes = [make("Reshape", ["x", "to"], ["r"]), make("Expand", ["r", "as"], ["y"])]
    constants = {"to": np.array([3, 2, 1]), "as": np.array([3, 2, 4])}
    model = onnx_models.model(nodes, {"x": (2, 3)}, {"y": None}, constants)
    path = tmp_path / "net.onnx"
    onnx.save(model, path, save_as_external_data=True, location="data", size_threshold=0)
    x = normal(2, 3)
    found = reference_outputs(path, {"x": x})
    assert found.engine.startswith("ONNX Runtime")
    np.testing.assert_array_equal(found.values["y"], np.broadcast_to(x.reshape(3, 2, 1), (3, 2, 4)))


def test_batches_first_in_a_recurrent_layer(tmp_path: Path) -> None:
    """ONNX Runtime does not run layout 1; the evaluator makes of it what layout 0 is."""
    constants = {"w": normal(1, 16, 3), "r": normal(1, 16, 4)}
    x, paths = normal(2, 5, 3), []
    for layout, shape in enumerate(((5, 2, 3), (2, 5, 3))):
        node = make("LSTM", ["x", "w", "r"], ["y"], hidden_size=4, layout=layout)
        model = onnx_models.model([node], {"x": shape}, {"y": None}, constants)
        paths.append(onnx_models.save(model, tmp_path / f"{layout}.onnx"))
    plain = reference_outputs(paths[0], {"x": np.ascontiguousarray(x.transpose(1, 0, 2))})
    found = reference_outputs(paths[1], {"x": x})
    assert plain.engine.startswith("ONNX Runtime")
    assert found.engine.startswith("onnx.reference")
    assert "layout" in found.refused
    np.testing.assert_allclose(
        found.values["y"], plain.values["y"].transpose(2, 0, 1, 3), atol=1e-6
    )


@pytest.mark.parametrize(("side", "pads"), [("LOWER", [2, 2, 2, 2]), ("UPPER", [2, 2, 2, 2])])
def test_same_padding_of_dilated_windows(side: str, pads: list[int], tmp_path: Path) -> None:
    w, x = {"w": normal(3, 2, 3, 3)}, normal(1, 2, 7, 6)
    values = []
    for padding in ({"auto_pad": f"SAME_{side}"}, {"pads": pads}):
        node = make("Conv", ["x", "w"], ["y"], dilations=[2, 2], **padding)
        model = onnx_models.model([node], {"x": (1, 2, 7, 6)}, {"y": None}, w)
        found = reference_outputs(onnx_models.save(model, tmp_path / "net.onnx"), {"x": x})
        values.append(found)
    assert values[0].engine.startswith("onnx.reference")
    assert values[1].engine.startswith("ONNX Runtime")
    np.testing.assert_allclose(values[0].values["y"], values[1].values["y"], atol=1e-5)


def test_functions_of_an_older_opset(tmp_path: Path) -> None:
    """Before 11 the bounds of Clip are attributes."""
    function = helper.make_function(
        "own",
        "Bounded",
        ["a"],
        ["b"],
        [make("Clip", ["a"], ["b"], min=-0.5, max=0.5)],
        [helper.make_opsetid("", 8)],
    )
    model = onnx_models.model(
        [make("Bounded", ["x"], ["y"], domain="own")], {"x": (1, 3)}, {"y": None}
    )
    model.opset_import.append(helper.make_opsetid("own", 1))
    model.functions.append(function)
    found = reference_outputs(
        onnx_models.save(model, tmp_path / "net.onnx"), {"x": np.array([[-1, 0.25, 1]], np.float32)}
    )
    np.testing.assert_array_equal(found.values["y"], [[-0.5, 0.25, 0.5]])
    assert found.engine.startswith("onnx.reference")


def test_resize_of_axes_counted_from_the_back(tmp_path: Path) -> None:
    values = []
    for axes in ([-2, -1], [2, 3]):
        node = make(
            "Resize",
            ["x", "", "", "sizes"],
            ["y"],
            axes=axes,
            keep_aspect_ratio_policy="not_larger",
            mode="nearest",
            nearest_mode="floor",
        )
        model = onnx_models.model(
            [node], {"x": (1, 2, 9, 6)}, {"y": None}, {"sizes": np.array([7, 7])}, opset=19
        )
        path = onnx_models.save(model, tmp_path / "net.onnx")
        x = np.arange(108, dtype=np.float32).reshape(1, 2, 9, 6)
        values += [
            reference_outputs(path, {"x": x}, engine=engine).values["y"]
            for engine in (None, IN_FLOAT64)
        ]
    assert values[0].shape == (1, 2, 7, 5)
    for each in values[1:]:
        np.testing.assert_array_equal(each, values[0])


@pytest.mark.parametrize("engine", [AS_WRITTEN, IN_FLOAT64])
def test_operators_of_older_opsets(engine: str, tmp_path: Path) -> None:
    """The statistics of a normalisation are those that were trained, and integers are scaled."""
    nodes = [
        make("BatchNormalization", ["x", "s", "b", "m", "v"], ["n"], momentum=0.9),
        make("QuantizeLinear", ["n", "scale", "zero"], ["q"]),
        make("DequantizeLinear", ["q", "scale", "zero"], ["y"]),
    ]
    constants = {name: np.abs(normal(3)) for name in "sbmv"}
    constants |= {"scale": np.array(0.125, np.float32), "zero": np.array(3, np.int8)}
    x = normal(2, 3, 4, 4)
    model = onnx_models.model(nodes, {"x": x.shape}, {"y": None}, constants, opset=10)
    path = onnx_models.save(model, tmp_path / "net.onnx")
    values = [reference_outputs(path, {"x": x}, engine=each).values["y"] for each in (None, engine)]
    np.testing.assert_array_equal(values[1], values[0])


def test_float64_has_no_rounding_of_float32(tmp_path: Path) -> None:
    """Constants in every place that a model has for them, and an operator that makes float32."""
    pieces = [
        make("Constant", [], ["c"], value_float=1 / 3),
        make("ConstantOfShape", ["shape"], ["s"], value=helper.make_tensor("v", 1, [1], [1e8])),
        make("Add", ["x", "s"], ["a"]),
        make("Sub", ["a", "s"], ["b"]),
        make("Mul", ["b", "c"], ["m"]),
        make("Cast", ["m"], ["k"], to=TensorProto.FLOAT),
        make("Div", ["k", "w"], ["y"]),
    ]
    constants = {"shape": np.array([1, 3]), "w": np.array(3, np.float32)}
    model = onnx_models.model(pieces, {"x": (1, 3)}, {"y": None}, constants)
    x = np.array([[0.1, 0.2, 0.3]], np.float32)
    path = onnx_models.save(model, tmp_path / "net.onnx")
    found = reference_outputs(path, {"x": x}, engine=IN_FLOAT64)
    assert found.engine.endswith("in float64")
    assert found.values["y"].dtype == np.float64
    third = np.float64(np.float32(1 / 3))
    np.testing.assert_allclose(found.values["y"], x.astype(np.float64) * third / 3, rtol=1e-7)
    assert reference_outputs(path, {"x": x}).values["y"].max() == 0  # of float32 nothing is left


@pytest.mark.parametrize("like", [False, True])
def test_float64_rounds_where_the_model_converts(like: bool, tmp_path: Path) -> None:
    narrow = np.array([2], ml_dtypes.bfloat16)
    convert = make("CastLike", ["x", "t"], ["h"])
    if not like:
        convert = make("Cast", ["x"], ["h"], to=TensorProto.BFLOAT16)
    nodes = [convert, make("Mul", ["h", "t"], ["m"]), make("Cast", ["m"], ["y"], to=1)]
    model = onnx_models.model(nodes, {"x": (1, 3)}, {"y": None}, {"t": narrow})
    x = np.array([[1.001, 3.14159, -7.77]], np.float32)
    path = onnx_models.save(model, tmp_path / "net.onnx")
    found = reference_outputs(path, {"x": x}, engine=IN_FLOAT64).values["y"]
    rounded = x.astype(ml_dtypes.bfloat16).astype(np.float64)
    np.testing.assert_array_equal(found, 2 * rounded)
