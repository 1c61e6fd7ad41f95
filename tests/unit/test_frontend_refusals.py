"""Models that cannot be compiled, and versions of models that can."""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from typing import Any

import numpy as np
import onnx
import pytest
from onnx import TensorProto, helper

from edgeconv.base.errors import EdgeconvError, Exit
from edgeconv.ir.graph import Graph
from tests.onnx_models import convolution, model, relu

make = helper.make_node


Load = Callable[..., Graph]


@pytest.mark.parametrize(
    ("nodes", "message"),
    [
        ([make("Relu", ["nowhere"], ["y"], name="r")], "node 'r' .*undefined value 'nowhere'"),
        (
            [
                make("Relu", ["x"], ["in"], name="fine"),
                make("Add", ["in", "b"], ["a"], name="first"),
                make("Relu", ["a"], ["b"], name="second"),
                make("Relu", ["b"], ["y"], name="after"),
            ],
            "node '(first|second)' .*a cycle",
        ),
        (
            [make("Relu", ["x"], ["y"], name="one"), make("Neg", ["x"], ["y"], name="two")],
            "node 'two' .*a second value for 'y'",
        ),
        ([make("Relu", ["x"], ["z"])], "output 'y'; no node writes it"),
        ([make("Concat", ["x", "w"], ["y"], name="cat", axis=0)], "node 'cat' .*Concat"),
    ],
)
def test_invalid_graphs(nodes: Sequence[onnx.NodeProto], message: str, loaded: Load) -> None:
    constants = {"w": np.ones((2, 2), np.float32)}
    with pytest.raises(EdgeconvError, match=message):
        loaded(model(nodes, {"x": (2,)}, {"y": None}, constants))


@pytest.mark.parametrize(("pads", "stride"), [((0, 0), 2), ((1, 0), 3)])
def test_kernels_that_do_not_fit(pads: tuple[int, int], stride: int, loaded: Load) -> None:
    """ONNX's inference of shapes says one pixel, ONNX Runtime refuses them."""
    weights = {"w": np.ones((1, 1, 3, 4), np.float32)}
    ends = [pads[0], 1, pads[1], 0]
    node = make("Conv", ["x", "w"], ["y"], name="node", pads=ends, strides=[1, stride])
    given = model([node], {"x": (1, 1, 5, 2)}, {"y": None}, weights)
    with pytest.raises(EdgeconvError) as refused:
        loaded(given)
    assert "(node)" in str(refused.value.details)
    assert "4 pixels of kernel over 2 + 1 + 0 of axis 3" in str(refused.value.details)
    given.graph.node[0].attribute[0].ints[3] = 1
    assert 0 not in loaded(given)["y"].shape


@pytest.mark.parametrize("op", ["Conv", "ConvTranspose", "MaxPool", "AveragePool", "LpPool"])
def test_windows_over_nothing(op: str, loaded: Load) -> None:
    """Shapes that inference makes negative: the model is refused by what is empty or too small."""
    inputs = ["x", "w"] if "Conv" in op else ["x"]
    weights = {"w": np.ones((3, 3, 3, 3, 3), np.float32)} if "Conv" in op else {}
    node = make(op, inputs, ["y"], name="node", kernel_shape=[3] * 3)
    given = model([node], {"x": (1, 3, 2, 0, 4)}, {"y": None}, weights)
    with pytest.raises(EdgeconvError) as refused:
        loaded(given)
    said = f"{refused.value} {refused.value.details}"
    assert any(
        words in said for words in ("has no elements (1x3x2x0x4)", "3 pixels of kernel over 2")
    )


def test_no_outputs(loaded: Load) -> None:
    with pytest.raises(EdgeconvError, match="no outputs"):
        loaded(model([], {"x": (2,)}, {}))


def test_everything_unsupported_is_listed_at_once(loaded: Load) -> None:
    nodes = [
        make("RandomNormalLike", ["x"], ["a"], name="draw1"),
        make("RandomNormalLike", ["a"], ["b"], name="draw2"),
        make("Dropout", ["b", "", "trains"], ["c"], name="training"),
        make("Magic", ["c"], ["d"], name="magic", domain="my.ops"),
        make("RandomUniformLike", ["a"], ["e"], name="uniform"),
        make("Bernoulli", ["x"], ["f"], name="drawn"),
        make("Sum", ["d", "e", "f"], ["y"]),
    ]
    constants = {"trains": np.array(True)}
    source = model(nodes, {"x": (1, 1, 4, 4)}, {"y": None}, constants, opset=17)
    source.opset_import.append(helper.make_opsetid("my.ops", 1))
    with pytest.raises(EdgeconvError) as caught:
        loaded(source)
    details = caught.value.details
    assert caught.value.code is Exit.UNSATISFIED
    assert [line.split(":")[0] for line in details] == [
        "ai.onnx.RandomNormalLike-1",
        "ai.onnx.Dropout-13",
        "my.ops.Magic-1",
        "ai.onnx.RandomUniformLike-1",
        "ai.onnx.Bernoulli-15",
    ]
    assert "2 nodes (draw1, draw2)" in details[0]
    assert "training mode without a seed" in details[1]


def test_other_types_at_run_time(loaded: Load) -> None:
    kind = TensorProto.COMPLEX64
    source = model([make("Identity", ["x"], ["y"])], {"x": (1, 2)}, {"y": None}, input_type=kind)
    with pytest.raises(EdgeconvError) as caught:
        loaded(source)
    assert caught.value.details[0].startswith("complex64 values at run time: 2 tensors (x, y)")


def test_numbers_as_strings(loaded: Load) -> None:
    nodes = [make("Cast", ["x"], ["y"], to=TensorProto.STRING)]
    with pytest.raises(EdgeconvError) as caught:
        loaded(model(nodes, {"x": (1, 2)}, {"y": None}))
    assert caught.value.details[0].startswith("string values at run time: 1 tensor (y)")


def test_cast_of_an_integer_input(loaded: Load) -> None:
    source = model(
        [make("Cast", ["x"], ["y"], to=TensorProto.FLOAT)],
        {"x": (1, 2)},
        {"y": None},
        input_type=TensorProto.INT32,
    )
    assert [node.op for node in loaded(source).nodes] == ["Dequantise"]


def test_sequence_input(loaded: Load) -> None:
    source = relu(2)
    source.graph.input[0].type.sequence_type.elem_type.tensor_type.elem_type = TensorProto.FLOAT
    with pytest.raises(EdgeconvError, match="a sequence of unknown length"):
        loaded(source)


@pytest.mark.parametrize(("opset", "way_out"), [(0, "version_converter"), (1000, "upgrade")])
def test_opset_out_of_range(opset: int, way_out: str, loaded: Load) -> None:
    with pytest.raises(EdgeconvError, match=f"opset {opset}.*{way_out}"):
        loaded(model([make("Relu", ["x"], ["y"])], {"x": (2,)}, {"y": None}, opset=opset))


def test_every_opset_in_range(loaded: Load) -> None:
    for opset in range(7, onnx.defs.onnx_opset_version() + 1):
        source = convolution()
        source.opset_import[0].version = opset
        assert [node.op for node in loaded(source).nodes] == ["Conv"]


def test_newer_ir_version(loaded: Load) -> None:
    source = relu(2)
    source.ir_version = onnx.IR_VERSION + 1
    with pytest.raises(EdgeconvError, match="IR version"):
        loaded(source)


def test_unused_domains_do_not_matter(loaded: Load) -> None:
    source = relu(2)
    source.opset_import.append(helper.make_opsetid("ai.onnx.ml", 2))
    assert len(loaded(source).nodes) == 1


DEFORMED = {"x": (1, 4, 5, 5), "w": (6, 2, 3, 3), "o": (1, 36, 3, 3), "b": (6,), "m": (1, 18, 3, 3)}


@pytest.mark.parametrize(
    ("shapes", "attrs", "message"),
    [
        ({}, {}, ""),
        ({"w": (6,)}, {}, "weights [6]; images and filters have two dimensions"),
        ({"w": (6, 3, 3, 3)}, {}, "groups are equal parts"),
        ({"w": (6, 2, 2, 2)}, {"kernel_shape": [3, 3]}, "weights of shape [6, 2, 3, 3]"),
        ({"o": (1, 35, 3, 3)}, {}, "offset of shape [1, 36, 3, 3]"),
        ({"b": (1,)}, {}, "bias of shape [6]"),
        ({"m": (1, 18, 3, 2)}, {}, "mask of shape [1, 18, 3, 3]"),
        ({}, {"offset_group": 0}, "offset_group 0; groups are equal parts"),
        ({}, {"group": 0}, "group 0, offset_group 2"),
    ],
)
def test_deformed_convolutions_of_other_shapes(
    shapes: Mapping[str, tuple[int, ...]],
    attrs: Mapping[str, Any],
    message: str,
    loaded: Load,
) -> None:
    given: dict[str, Any] = {"kernel_shape": [3, 3], "group": 2, "offset_group": 2, **attrs}
    inputs = {**DEFORMED, **shapes}
    source = model(
        [make("DeformConv", [*inputs], ["y"], name="node", **given)],
        inputs,
        {"y": (1, 6, 3, 3)},
        opset=19,
    )
    if not message:
        assert loaded(source).outputs == ("y",)
        return
    with pytest.raises(EdgeconvError) as caught:
        loaded(source)
    assert message in " ".join(caught.value.details)


def test_a_grid_of_another_theta(loaded: Load) -> None:
    constants = {"size": np.array([2, 3, 4, 5])}
    nodes = [make("AffineGrid", ["x", "size"], ["y"], name="node")]
    assert loaded(model(nodes, {"x": (2, 2, 3)}, {"y": None}, constants, opset=20)).nodes
    with pytest.raises(EdgeconvError) as caught:
        loaded(model(nodes, {"x": (2, 6)}, {"y": (2, 4, 5, 2)}, constants, opset=20))
    assert "theta [2, 6]" in " ".join(caught.value.details)


def test_random_constants_are_refused(loaded: Load) -> None:
    nodes = [make("RandomNormal", [], ["r"], shape=[2]), make("Add", ["x", "r"], ["y"])]
    with pytest.raises(EdgeconvError) as caught:
        loaded(model(nodes, {"x": (2,)}, {"y": None}))
    assert caught.value.details[0].startswith("ai.onnx.RandomNormal-1:")
