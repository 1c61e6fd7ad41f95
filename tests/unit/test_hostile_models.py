"""Models that mean nothing are refused in words, at once and uncomputed.

Each of these once ended in a traceback, or a program of something else.
"""

from __future__ import annotations

import os
from collections.abc import Callable
from pathlib import Path
from typing import Any

import numpy as np
import onnx
import pytest
from onnx import TensorProto, helper, numpy_helper

from edgeconv.base.errors import EdgeconvError, Exit
from edgeconv.model.frontend import load
from tests.hostile_models import Shape, branch, f32, i64, make, one, refused, text
from tests.onnx_models import model, relu, save

# What is wrong about one node, and a part of what is said.
NODES: dict[str, tuple[Callable[[], onnx.ModelProto], str]] = {
    "concat axis": (
        lambda: one("Concat", (2, 3), {"c": np.ones((2, 3), np.float32)}, axis=5),
        "axis",
    ),
    "concat of one": (lambda: one("Concat", (2, 3), axis=-3), "axis"),
    "softmax axis": (lambda: one("Softmax", (2, 3), axis=2), "axis"),
    "old softmax axis": (lambda: one("Softmax", (2, 3), opset=11, axis=-3), "axis"),
    "split axis": (lambda: one("Split", (2, 4), outputs=2, opset=11, axis=7), "axis"),
    "gather axis": (lambda: one("Gather", (2, 3), {"i": i64(0)}, axis=2), "axis"),
    "transpose twice": (lambda: one("Transpose", (2, 3), perm=[0, 0]), "perm"),
    "transpose far": (lambda: one("Transpose", (2, 3), perm=[0, 9]), "perm"),
    "reduce axis": (lambda: one("ReduceMean", (2, 3), axes=[-5]), "axis"),
    "reshape to more": (lambda: one("Reshape", (2, 3, 4), {"s": i64(255, 2, 3)}), "elements"),
    "depth to space": (lambda: one("DepthToSpace", (1, 6, 2, 2), blocksize=2), "multiple of 4"),
    "depth to space of nothing": (  # whose 64 bits overflow, and leave no channels
        lambda: one("DepthToSpace", (1, 6, 2, 2), blocksize=1 << 32),
        "multiple of 18446744073709551616",
    ),
    "depth to space of few": (
        lambda: one("DepthToSpace", (1, 6, 2, 2), blocksize=1 << 16),
        "multiple of 4294967296",
    ),
    "space to depth beyond": (
        lambda: one("SpaceToDepth", (1, 2, 0, 0), blocksize=1 << 32),
        "beyond 63 bits",
    ),
    "space to depth by 0": (lambda: one("SpaceToDepth", (1, 2, 4, 4), blocksize=0), "positive"),
    "wide addend of Gemm": (
        lambda: one("Gemm", (15, 16), {"w": np.ones((16, 1), np.float32), "c": f32(*range(5))}),
        "the operator's is [15, 1]",
    ),
    "deep addend of Gemm": (
        lambda: one(
            "Gemm",
            (15, 16),
            {"w": np.ones((16, 4), np.float32), "c": np.ones((3, 1, 1), np.float32)},
        ),
        "the operator's is [15, 4]",
    ),
    "wide bias of LayerNormalization": (
        lambda: one("LayerNormalization", (2, 3, 1), {"scale": f32(1), "b": f32(1, 2, 3)}),
        "the operator's is [2, 3, 1]",
    ),
    "wide bias of ConvTranspose": (
        lambda: one(
            "ConvTranspose", (1, 3, 6, 6), {"w": np.ones((3, 1, 3, 3), np.float32), "b": f32(1, 2)}
        ),
        "bias is [1]",
    ),
    "one bias of ConvTranspose for all": (
        lambda: one(
            "ConvTranspose", (1, 3, 6, 6), {"w": np.ones((3, 4, 3, 3), np.float32), "b": f32(1)}
        ),
        "bias is [4]",
    ),
    "space to depth": (lambda: one("SpaceToDepth", (1, 2, 3, 4), blocksize=2), "multiples of"),
    "far axis": (  # which crashed the shape inference of onnx, and Python with it
        lambda: one("LayerNormalization", (3, 5), {"w": np.ones((3, 5), np.float32)}, axis=1 << 31),
        "which no tensor has",
    ),
    "keepdims of a constant": (
        lambda: model(
            [
                make("ReduceMin", ["c"], ["d"], keepdims=1 << 32, axes=[0]),
                make("Add", ["x", "d"], ["y"]),
            ],
            {"x": (2,)},
            {"y": None},
            {"c": np.ones((3, 2), np.float32)},
        ),
        "neither 0 nor 1",
    ),
    "scales that do not match": (
        lambda: model(
            [
                make("DequantizeLinear", ["q", "s", "z"], ["w"], axis=1),
                make("MatMul", ["x", "w"], ["y"]),
            ],
            {"x": (1, 2)},
            {"y": None},
            {"q": np.ones((2, 3), np.int8), "s": f32(0.5), "z": np.zeros(3, np.int8)},
        ),
        "cannot be evaluated",
    ),
    "wide input": (
        lambda: one("Conv", (1, 1, 1, 1 << 21), {"w": np.ones((1, 1, 1, 3), np.float32)}),
        "window-elements",
    ),
    "wide resize": (
        lambda: one("Resize", (1, 1, 1, 4), {"r": f32(), "s": f32(1, 1, 1, 1e6)}),
        "window-elements",
    ),
    "opset of 2^40": (lambda: _opset(1 << 40), "31 bits"),
    "reduce keepdims": (lambda: one("ReduceMean", (2, 3), axes=[1], keepdims=2), "keepdims"),
    "lp axis": (lambda: one("LpNormalization", (2, 3), axis=4), "axis"),
    "pad axis": (
        lambda: one("Pad", (2, 3), {"p": i64(1, 1), "v": f32(0)[0], "a": i64(2)}, opset=18),
        "axis",
    ),
    "pad by two values": (
        lambda: one("Pad", (2, 3), {"p": i64(1, 0, 1, 0), "v": f32(0, 1)}),
        "one number",
    ),
    "slice axis": (lambda: one("Slice", (2, 3), {"s": i64(0), "e": i64(1), "a": i64(2)}), "axis"),
    "clip by three": (lambda: one("Clip", (2, 3), {"low": f32(0, 1, 2)}), "one number"),
    "prelu slope": (
        lambda: one("PRelu", (2, 3, 4), {"slope": f32(1, 2, 3)}),
        "sizes are equal or 1",
    ),
    "constant of nothing": (
        lambda: model(
            [make("Constant", [], ["c"], name="n"), make("Add", ["x", "c"], ["y"])],
            {"x": (2,)},
            {"y": None},
        ),
        "Constant",
    ),
    "weights of float64": (
        lambda: one("Conv", (1, 1, 4, 4), {"w": np.ones((1, 1, 1, 1), np.float64)}),
        "tensor(double)",
    ),
    "condition of three": (
        lambda: model(
            [
                make("If", ["c"], ["y"], then_branch=branch(), else_branch=branch()),
            ],
            {"x": (2,)},
            {"y": None},
            {"c": np.array([True, False, True])},
        ),
        "one bool",
    ),
    "large stride": (
        lambda: one("MaxPool", (1, 1, 8, 8), kernel_shape=[1, 1], strides=[1 << 40, 1]),
        "window-elements",
    ),
    "large padding": (
        lambda: one(
            "Conv", (1, 1, 8, 8), {"w": np.ones((1, 1, 3, 3), np.float32)}, pads=[1 << 31] * 4
        ),
        "window-elements",
    ),
    "large kernel": (
        lambda: one(
            "MaxPool", (1, 1, 8, 8), kernel_shape=[1 << 31] * 2, pads=[(1 << 31) - 4] * 2 + [0, 0]
        ),
        "window-elements",
    ),
    "large resize": (
        lambda: one("Resize", (1, 1, 4, 4), {"r": f32(), "s": f32(1, 1, 1e9, 1e9)}),
        "tensor-elements",
    ),
    "large expand": (
        lambda: one("Expand", (1, 1), {"s": i64(1 << 32, 1 << 32)}),
        "tensor-elements",
    ),
    "attribute of other bytes": (
        lambda: model(
            [make("RegexFullMatch", ["x"], ["y"], pattern=b"a\xff")],
            {"x": (2,)},
            {"y": None},
            opset=20,
        ),
        "'pattern': 'utf-8'",
    ),
    "large tile": (lambda: one("Tile", (1, 1), {"s": i64(1 << 20, 1 << 20)}), "tensor-elements"),
}


def _opset(version: int) -> onnx.ModelProto:
    source = relu(2)
    source.opset_import.append(helper.make_opsetid("other", version))
    return source


@pytest.mark.parametrize("name", NODES)
def test_a_node_that_cannot_be_is_refused(name: str, tmp_path: Path) -> None:
    source, word = NODES[name]
    assert word in text(refused(source(), tmp_path))


def test_an_input_listed_twice_is_refused(tmp_path: Path) -> None:
    source = relu(2, 3)
    source.graph.input.append(source.graph.input[0])
    assert "the input 'x' twice" in text(refused(source, tmp_path))


def test_a_constant_listed_twice_is_refused(tmp_path: Path) -> None:
    source = one("Add", (2,), {"c": f32(1, 2)})
    source.graph.initializer.append(source.graph.initializer[0])
    assert "the constant 'c' twice" in text(refused(source, tmp_path))


def test_a_reference_outside_of_a_function_is_refused(tmp_path: Path) -> None:
    source = one("LeakyRelu", (2,), alpha=0.1)
    source.graph.node[0].attribute[0].ref_attr_name = "slope"
    assert "only nodes of a function" in text(refused(source, tmp_path))


def test_an_attribute_given_twice_is_refused(tmp_path: Path) -> None:
    source = one("LeakyRelu", (2,), alpha=0.1)
    source.graph.node[0].attribute.append(helper.make_attribute("alpha", 0.2))
    assert "'alpha' twice" in text(refused(source, tmp_path))


@pytest.mark.parametrize("size", [-2, -(1 << 62)])
def test_a_size_of_an_input_is_not_negative(size: int, tmp_path: Path) -> None:
    error = refused(relu(size, 3), tmp_path)
    assert f"a dimension of size {size}" in text(error)


def _sparse(dims: list[int], indices: Any, values: Any) -> onnx.ModelProto:
    source = model([make("Add", ["x", "w"], ["y"])], {"x": (2, 3)}, {"y": None})
    source.graph.sparse_initializer.append(
        onnx.SparseTensorProto(
            values=numpy_helper.from_array(values, "w"),
            indices=numpy_helper.from_array(indices, "i"),
            dims=dims,
        )
    )
    return source


@pytest.mark.parametrize(
    ("dims", "indices", "word"),
    [
        ([-2, 3], i64(0, 1), "sizes are not negative"),
        ([1 << 20, 1 << 20], i64(0, 1), "tensor-elements"),
        ([1 << 16, 1 << 15], i64(0, 1), "folded-bytes"),
        ([1] * 40, i64(0, 1), "tensor-rank"),
        ([2, 3], i64(0, 6), "an index outside"),
        ([2, 3], i64(0, -1), "an index outside"),
        ([2, 3], i64(0, 1, 2), "n values and n int64 indices"),
        ([2, 3], np.array([[0, 1, 0], [0, 0, 0]]), "n values and n int64 indices"),
        ([2, 3], f32(0, 1), "n values and n int64 indices"),
    ],
)
def test_a_sparse_tensor_is_what_its_shape_says(
    dims: list[int], indices: Any, word: str, tmp_path: Path
) -> None:
    assert word in text(refused(_sparse(dims, indices, f32(1, 2)), tmp_path))


def _external(tmp_path: Path, dims: Shape, **entries: str) -> onnx.ModelProto:
    """``w`` lies at the start of a file of 16 numbers."""
    (tmp_path / "data.bin").write_bytes(np.arange(16, dtype=np.float32).tobytes())
    source = model([make("Add", ["x", "w"], ["y"])], {"x": (4,)}, {"y": None})
    tensor = onnx.TensorProto(name="w", dims=dims, data_type=TensorProto.FLOAT)
    tensor.data_location = TensorProto.EXTERNAL
    for key, value in {"location": "data.bin", "length": "16", **entries}.items():
        tensor.external_data.add(key=key, value=value)
    source.graph.initializer.append(tensor)
    return source


def test_external_data_is_read_where_it_lies(tmp_path: Path) -> None:
    path = save(_external(tmp_path, (4,), offset="8"), tmp_path / "model.onnx")
    np.testing.assert_array_equal(load(path)["w"].constant(), f32(2, 3, 4, 5))


@pytest.mark.parametrize(
    ("dims", "entries", "word"),
    [
        ((-1,), {}, "sizes are not negative"),
        ((8,), {}, "16 bytes for shape [8]"),  # though the file has 64 bytes: those of a neighbour
        ((8,), {"offset": "16"}, "16 bytes for shape [8]"),
        ((1 << 40,), {}, "tensor-elements"),
        ((4,), {"offset": "56"}, "the file must hold all of its data"),
        ((4,), {"offset": "-4"}, "the file must hold all of its data"),
        ((4,), {"offset": "four"}, "numbers"),
        ((4,), {"location": "data\0.bin"}, "beside the model"),
        ((4,), {"location": "../data.bin"}, "beside the model"),
        ((4,), {"location": "fifo"}, "a pipe"),
        ((4,), {"location": "."}, "a directory"),
    ],
)
def test_external_data_is_that_of_the_tensor(
    dims: Shape, entries: dict[str, str], word: str, tmp_path: Path
) -> None:
    os.mkfifo(tmp_path / "fifo")
    assert word in text(refused(_external(tmp_path, dims, **entries), tmp_path))


@pytest.mark.parametrize("kind", ["fifo", "device", "directory"])
def test_a_model_is_a_regular_file(kind: str, tmp_path: Path) -> None:
    path = {"fifo": tmp_path / "fifo", "device": Path("/dev/zero"), "directory": tmp_path}[kind]
    if kind == "fifo":
        os.mkfifo(path)
    with pytest.raises(EdgeconvError, match="a pipe|a device|a directory") as caught:
        load(path)
    assert caught.value.code is Exit.USAGE
