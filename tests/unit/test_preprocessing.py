"""Pre-processing of camera frames: the file, what it means, and models that spell it out."""

from __future__ import annotations

from dataclasses import replace
from pathlib import Path
from typing import Any

import numpy as np
import onnx
import pytest
from hypothesis import given
from hypothesis import strategies as st
from onnx import TensorProto, helper, numpy_helper
from onnx.reference import ReferenceEvaluator

from edgeconv.base.errors import EdgeconvError
from edgeconv.ir.graph import Graph, Node, State, Tensor
from edgeconv.ir.preprocessing import PREPROCESS, Preprocessing
from edgeconv.model import frontend, passes
from edgeconv.model.frontend.saving import model_of
from edgeconv.model.preprocessing import Settings, preprocessed, preprocessing, read, with_frames
from edgeconv.model.preprocessing.formats import CHANNELS, FORMATS
from edgeconv.model.preprocessing.neighbours import OVER, neighbours
from tests.preprocess_settings import settings_of

rng = np.random.default_rng(11)


@st.composite
def any_settings(draw: st.DrawFn) -> Settings:
    """Settings of any frame of a few pixels."""
    kind = draw(st.sampled_from(sorted(FORMATS)))
    even = FORMATS[kind].even
    height, width = (draw(st.integers(1, 9)) * (2 if two else 1) for two in even)
    return settings_of(
        format=kind,
        height=height,
        width=width,
        padding=draw(st.integers(0, 3)),
        channels=draw(st.sampled_from(sorted(CHANNELS))),
        flip=draw(st.sampled_from(("none", "horizontal", "vertical", "both"))),
        mode=draw(st.sampled_from(("linear", "nearest"))),
        fit=draw(st.sampled_from(("stretch", "letterbox"))),
        fill=(draw(st.sampled_from((0.0, 114.0))),),
        mean=(draw(st.sampled_from((0.0, 127.5))),),
        std=(draw(st.sampled_from((1.0, 58.4))),),
    )


@given(any_settings(), st.tuples(st.integers(1, 9), st.integers(1, 9)))
def test_model_file_has_the_numbers_of_the_definition(
    settings: Settings, size: tuple[int, int]
) -> None:
    """To the bit, as onnx's evaluator computes it."""
    made = preprocessing(size, settings)
    frame = rng.integers(0, 256, (1, made.lines, made.stride), np.uint8)
    node = Node("node", PREPROCESS, ("frame",), ("out",), {"preprocessing": made})
    tensors = {"frame": Tensor("frame", frame.shape, "uint8"), "out": Tensor("out", made.shape)}
    model = model_of(Graph("frames", (node,), tensors, ("frame",), ("out",)))
    (found,) = ReferenceEvaluator(model).run(None, {"frame": frame})
    np.testing.assert_array_equal(found, preprocessed(made, frame))


def test_model_file_is_one_node_again(tmp_path: Path) -> None:
    """Where its operators are those that its metadata speak of, and only there."""
    path, settings = tmp_path / "frames.onnx", settings_of(fit="letterbox", format="nv12")
    model = model_of(with_frames(network((1, 3, 9, 9)), settings))
    onnx.save(model, path)
    found = passes.optimise(frontend.load(path))
    assert [node.op for node in found.nodes] == [PREPROCESS]
    made = preprocessing((9, 9), settings)
    assert found.nodes[0].attrs["preprocessing"] == made
    table = next(each for each in model.graph.initializer if each.dims == [3 * 256])
    table.CopyFrom(numpy_helper.from_array(np.zeros(3 * 256, np.float32), table.name))
    onnx.save(model, path)
    assert PREPROCESS not in {node.op for node in frontend.load(path).nodes}


@given(st.integers(1, 40), st.integers(1, 40), st.booleans(), st.booleans())
def test_neighbours_lie_within_the_frame(size: int, out: int, linear: bool, reverse: bool) -> None:
    found = neighbours(size, out, linear=linear, reverse=reverse)
    assert len(found.first) == out
    assert all(0 <= i < size for i in (*found.first, *found.second))
    assert all(0 <= weight <= OVER for weight in found.weight)
    other = neighbours(size, out, linear=linear, reverse=not reverse)
    assert found.first == tuple(size - 1 - i for i in other.first)


def test_interpolation_is_that_of_onnx() -> None:
    """But for weights of 11 bits and whole results: half a value, and what weights are off by."""
    made = preprocessing((7, 11), settings_of(width=16, height=9, mean=(0.0,), std=(1.0,)))
    frame = rng.integers(0, 256, (1, 9, 16, 3), np.uint8)
    image = helper.make_tensor_value_info("x", TensorProto.FLOAT, [1, 3, 9, 16])
    out = helper.make_tensor_value_info("y", TensorProto.FLOAT, [1, 3, 7, 11])
    sizes = numpy_helper.from_array(np.array([1, 3, 7, 11]), "sizes")
    node = helper.make_node("Resize", ["x", "", "", "sizes"], ["y"], mode="linear")
    model = helper.make_model(helper.make_graph([node], "resize", [image], [out], [sizes]))
    planes = frame.transpose(0, 3, 1, 2).astype(np.float32)
    (found,) = ReferenceEvaluator(model).run(None, {"x": planes})
    want = np.asarray(found)
    assert np.abs(preprocessed(made, frame) - want).max() <= 0.5 + 255 * 2 / OVER


FILE = """
[frame]
format = "yuyv"
width = 64
height = 48

[normalise]
mean = [123, 116, 103]
std = 58
"""


def test_file(tmp_path: Path) -> None:
    path = tmp_path / "camera.toml"
    path.write_text(FILE)
    settings = read(path)
    assert (settings.stride, settings.channels, settings.fit) == (128, "rgb", "stretch")
    assert settings.per_channel("std") == (58.0,) * 3


@pytest.mark.parametrize(
    ("old", "new", "said"),
    [
        ("[normalise]", "[normalize]", "normalise"),
        ("width =", "widht =", "frame.width"),
        ('"yuyv"', '"yuv"', "one of rgb, bgr"),
        ("width = 64", "width = 63", "crop the frame to 62"),
        ("width = 64", "width = 64\nstride = 100", "has 128"),
        ("height = 48", "height = 0", "1 to 8191"),
        ("height = 48", "", "frame.height in camera.toml: it is missing"),
        ("std = 58", "std = 0", "above 0"),
        ("std = 58", "std = nan", "a number"),
        ("std = 58", "[resize]\nfill = 300", "from 0 to 255"),
        ("[frame]", "[frame", "no TOML"),
    ],
)
def test_files_that_are_refused(tmp_path: Path, old: str, new: str, said: str) -> None:
    path = tmp_path / "camera.toml"
    path.write_text(FILE.replace(old, new))
    with pytest.raises(EdgeconvError) as refused:
        read(path)
    assert said in refused.value.one_line()
    assert refused.value.code == 2


def network(shape: tuple[int, ...] = (1, 3, 6, 8), dtype: str = "float32") -> Graph:
    """A network that gives back its input."""
    tensors = {name: Tensor(name, shape, dtype) for name in ("image", "out")}
    node = Node("copy", "Identity", ("image",), ("out",))
    return Graph("copy", (node,), tensors, ("image",), ("out",))


def test_frame_takes_the_place_of_the_input() -> None:
    found = with_frames(network((1, 6, 8, 3)), settings_of(format="rgb565"))
    assert [node.op for node in found.nodes] == [PREPROCESS, "Transpose", "Identity"]
    assert found.inputs == ("frame",)
    assert (found["frame"].shape, found["frame"].dtype) == ((1, 6, 16), "uint8")


def test_states_are_no_images() -> None:
    """Even of an image's shape: found among the caller's inputs, and refused by name."""
    plain = network((1, 6, 8, 3))
    tensors = {name: Tensor(name, (1, 6, 8, 3)) for name in ("old", "new")}
    nodes = (*plain.nodes, Node("next", "Identity", ("old",), ("new",)))
    graph = replace(
        plain,
        nodes=nodes,
        tensors={**plain.tensors, **tensors},
        inputs=("image", "old"),
        outputs=("out", "new"),
        states=(State("old", "new"),),
    )
    assert with_frames(graph, settings_of()).inputs == ("frame", "old")
    with pytest.raises(EdgeconvError, match="the inputs are 'image'"):
        with_frames(graph, settings_of(input="old"))


@pytest.mark.parametrize(
    ("shape", "changed", "said"),
    [
        ((1, 1, 6, 8), {}, "rgb, 3 of them"),
        ((2, 3, 6, 8), {}, "--input-shape"),
        ((3, 6, 8), {}, "no input of four dimensions"),
        ((1, 3, 6, 8), {"input": "imgae"}, "'image'"),
        ((1, 3, 6, 8), {"mean": (1.0, 2.0)}, "2 numbers"),
    ],
)
def test_networks_that_do_not_fit(
    shape: tuple[int, ...], changed: dict[str, Any], said: str
) -> None:
    with pytest.raises(EdgeconvError) as refused:
        with_frames(network(shape), settings_of(**changed))
    assert said in refused.value.one_line()


def test_integers_that_stand_for_nothing_are_refused() -> None:
    with pytest.raises(EdgeconvError, match="--input TENSOR"):
        with_frames(network(dtype="uint8"), settings_of())


def spelt_out(path: Path, nodes: list[onnx.NodeProto], out: list[int], **constants: Any) -> Graph:
    """A model of uint8, (1, 8, 12, 3), through ``nodes`` from "x" to "y", simplified."""
    values = [numpy_helper.from_array(np.asarray(each), name) for name, each in constants.items()]
    graph = helper.make_graph(
        nodes,
        "spelt_out",
        [helper.make_tensor_value_info("x", TensorProto.UINT8, [1, 8, 12, 3])],
        [helper.make_tensor_value_info("y", TensorProto.FLOAT, out)],
        values,
    )
    opsets = [helper.make_opsetid("", 18)]
    onnx.save(helper.make_model(graph, opset_imports=opsets, ir_version=8), path)
    return passes.optimise(frontend.load(path))


CAST = helper.make_node("Cast", ["x"], ["real"], to=TensorProto.FLOAT)
MEAN, STD = np.array([120, 110, 100], np.float32), np.array([50, 60, 70], np.float32)


def held_to_model(path: Path, graph: Graph) -> Preprocessing:
    """The one pass of ``graph``, whose numbers are those of the model."""
    (node,) = [each for each in graph.nodes if each.op == PREPROCESS]
    made: Preprocessing = node.attrs["preprocessing"]
    frame = rng.integers(0, 256, (1, 8, 12, 3), np.uint8)
    (outputs,) = ReferenceEvaluator(str(path)).run(None, {"x": frame})
    want, found = np.asarray(outputs), np.asarray(preprocessed(made, frame))
    if want.shape != found.shape:
        found = found.transpose(0, 2, 3, 1)
    np.testing.assert_allclose(found, want, atol=1e-4)
    return made


def test_recognised_in_planes(tmp_path: Path) -> None:
    """Transpose, Resize, Pad, then less the mean, by the deviation."""
    nodes = [
        CAST,
        helper.make_node("Transpose", ["real"], ["planes"], perm=[0, 3, 1, 2]),
        helper.make_node("Resize", ["planes", "", "", "sizes"], ["small"], mode="linear"),
        helper.make_node("Pad", ["small", "pads", "around"], ["padded"]),
        helper.make_node("Sub", ["padded", "mean"], ["centred"]),
        helper.make_node("Div", ["centred", "std"], ["y"]),
    ]
    path = tmp_path / "planes.onnx"
    graph = spelt_out(
        path,
        nodes,
        [1, 3, 9, 9],
        sizes=np.array([1, 3, 6, 9]),
        pads=np.array([0, 0, 1, 0, 0, 0, 2, 0]),
        around=np.float32(114),
        mean=MEAN.reshape(1, 3, 1, 1),
        std=STD.reshape(1, 3, 1, 1),
    )
    assert len(graph.nodes) == 1
    made = held_to_model(path, graph)
    assert (made.box, made.top, made.rows.over, made.columns.over) == ((6, 9), 1, 6, 6)


def test_recognised_in_pixels(tmp_path: Path) -> None:
    """Numbers per channel while channels lie last, nearest pixels."""
    nodes = [
        CAST,
        helper.make_node("Sub", ["mean", "real"], ["centred"]),
        helper.make_node("Mul", ["centred", "std"], ["scaled"]),
        helper.make_node(
            *("Resize", ["scaled", "", "", "sizes"], ["y"]),
            mode="nearest",
            coordinate_transformation_mode="asymmetric",
            nearest_mode="floor",
        ),
    ]
    path = tmp_path / "pixels.onnx"
    sizes = np.array([1, 4, 24, 3])
    graph = spelt_out(path, nodes, [1, 4, 24, 3], mean=MEAN, std=1 / STD, sizes=sizes)
    assert [node.op for node in graph.nodes] == [PREPROCESS, "Transpose"]
    assert held_to_model(path, graph).is_whole


def test_left_where_others_read_in_between(tmp_path: Path) -> None:
    """And where there is nothing but a change of type."""
    both = [
        CAST,
        helper.make_node("Sub", ["real", "mean"], ["centred"]),
        helper.make_node("Add", ["centred", "real"], ["y"]),
    ]
    graph = spelt_out(tmp_path / "both.onnx", both, [1, 8, 12, 3], mean=MEAN)
    assert PREPROCESS not in {node.op for node in graph.nodes}
    plain = [helper.make_node("Cast", ["x"], ["y"], to=TensorProto.FLOAT)]
    graph = spelt_out(tmp_path / "plain.onnx", plain, [1, 8, 12, 3])
    assert PREPROCESS not in {node.op for node in graph.nodes}


@pytest.mark.parametrize("line", ["std = 1e-320", "mean = 1" + "0" * 400, "mean = nan", "std = 0"])
def test_numbers_that_make_no_float32_are_refused(tmp_path: Path, line: str) -> None:
    path = tmp_path / "camera.toml"
    path.write_text(f'[frame]\nformat = "rgb"\nwidth = 8\nheight = 6\n[normalise]\n{line}\n')
    with pytest.raises(EdgeconvError, match="number"):
        read(path)
