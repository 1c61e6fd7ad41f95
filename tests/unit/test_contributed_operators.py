"""ONNX Runtime's own operators: what is made of each, against its unoptimised kernel."""

from __future__ import annotations

from collections.abc import Callable, Mapping
from pathlib import Path
from typing import Any

import numpy as np
import numpy.typing as npt
import onnx
import pytest
from onnx import helper

from edgeconv.base.errors import EdgeconvError
from edgeconv.model import frontend, passes
from edgeconv.model.frontend.definitions import DEFINED_IN, Definitions, row_of
from edgeconv.model.frontend.engine_process import session_options
from edgeconv.model.frontend.running import prepared
from tests import onnx_models
from tests.ir_interpreter import evaluate
from tests.onnx_runtime import own_kernels

onnxruntime = pytest.importorskip("onnxruntime", reason="the reference engine of these tests")

Values = npt.NDArray[Any]
INT4 = helper.tensor_dtype_to_np_dtype(onnx.TensorProto.INT4)
RNG = np.random.default_rng(7)


def real(*shape: int) -> Values:
    return RNG.standard_normal(shape).astype(np.float32)


def whole(dtype: str, *shape: int) -> Values:
    info = np.iinfo(dtype)
    return RNG.integers(info.min, info.max, shape, dtype, endpoint=True)


def one(op: str, x: tuple[int, ...], *inputs: Any, **attrs: Any) -> Any:
    """A node of ``op``: x of run time, and constants; "": absent, "x2": another such input."""
    outputs, every = attrs.pop("outputs", 1), attrs.pop("every", False)
    names = ["x"] + [
        "" if v is None else v if isinstance(v, str) else f"c{i}" for i, v in enumerate(inputs)
    ]
    constants = {f"c{i}": v for i, v in enumerate(inputs) if isinstance(v, np.ndarray | np.generic)}
    made = [f"y{i}" if every or i in (0, outputs - 1) else "" for i in range(outputs)]
    node = helper.make_node(op, names, made, "it", domain="com.microsoft", **attrs)
    return node, x, {name: np.asarray(value) for name, value in constants.items()}


def quantised(op: str, x: tuple[int, ...], *inputs: Any, **attrs: Any) -> Any:
    """The same of an x that was quantised: "s" and "z" are its scale and zero point."""
    node, shape, constants = one(op, x, *inputs, **attrs)
    node.input[0] = "q"
    first = helper.make_node("DynamicQuantizeLinear", ["x"], ["q", "s", "z"])
    return [first, node], shape, constants


def nbits(bits: int, block: int, *, zeros: bool, inner: int = 40, out: int = 6) -> Any:
    blocks = -(-inner // block)
    return one(
        "MatMulNBits",
        (2, 3, inner),
        whole("uint8", out, blocks, block * bits // 8),
        np.abs(real(out, blocks)),
        whole("uint8", out, -(-blocks * bits // 8)) if zeros else None,
        K=inner,
        N=out,
        bits=bits,
        block_size=block,
    )


def whole_mask(*shape: int) -> Values:
    """0 and 1, the first key 1."""
    mask = RNG.integers(0, 1, shape, np.int32, endpoint=True)
    mask[..., 0] = 1
    return mask


def attention(*inputs: Any, **attrs: Any) -> Any:
    """Of two heads, behind a mask the other inputs."""
    return one("Attention", (2, 5, 8), real(8, 24), real(24), *inputs, num_heads=2, **attrs)


def heads(*inputs: Any, **attrs: Any) -> Any:
    """Of two heads, behind the queries the other inputs."""
    return one("MultiHeadAttention", (2, 5, 8), *inputs, num_heads=2, **attrs)


def grouped(queries: int, past: int, last: list[int], total: int, *more: Any, **attrs: Any) -> Any:
    """Four heads of queries of 16 channels or as many as ``width`` says, two of keys, behind
    ``past`` tokens."""
    batch, packed, width = len(last), attrs.pop("packed", False), attrs.pop("width", 16)
    caches = [real(batch, 2, past, width), real(batch, 2, past, width)] if past else [None, None]
    return one(
        "GroupQueryAttention",
        (batch, queries, (8 if packed else 4) * width),
        *([None, None] if packed else [real(batch, queries, 2 * width) for _ in range(2)]),
        *caches,
        np.array(last, np.int32),
        np.array(total, np.int32),
        *more,
        num_heads=4,
        kv_num_heads=2,
        outputs=3,
        every=True,
        **attrs,
    )


def embedded(data: Values, block: int, zeros: Values | None = None, **attrs: Any) -> Any:
    """Rows of a table, from its end too."""
    bits = attrs.get("bits", 4)
    width = data.shape[1] * (8 // bits if data.dtype == np.uint8 else 1)
    names = ["c0", "i", "c1", *(["c2"] if zeros is not None else [])]
    node = helper.make_node(
        *("GatherBlockQuantized", names, ["y0"], "it"),
        domain="com.microsoft",
        block_size=block,
        **attrs,
    )
    first = helper.make_node("Cast", ["x"], ["i"], to=onnx.TensorProto.INT64)
    constants = {"c0": data, "c1": np.abs(real(len(data), width // block)), "c2": zeros}
    return [first, node], (3, 5), {n: v for n, v in constants.items() if v is not None}


ROW = np.array([0.02, 0.01, 0.03, 0.015], np.float32)
CASES: Mapping[str, Callable[[], Any]] = {
    "fused conv": lambda: one(
        "FusedConv", (1, 2, 5, 6), real(4, 2, 3, 3), real(4), activation="Relu", pads=[1, 1, 1, 1]
    ),
    "fused conv, sum": lambda: one(
        "FusedConv",
        (1, 2, 5, 6),
        real(4, 2, 1, 1),
        real(4),
        real(1, 4, 5, 6),
        activation="LeakyRelu",
        activation_params=[0.2],
    ),
    "fused conv, clip": lambda: one(
        "FusedConv",
        (1, 2, 5, 6),
        real(4, 2, 1, 1),
        activation="Clip",
        activation_params=[-0.5, 0.7],
    ),
    "fused gemm": lambda: one(
        "FusedGemm", (3, 8), real(5, 8), real(5), transB=1, alpha=0.5, activation="Relu"
    ),
    "fused matmul": lambda: one(
        "FusedMatMul", (2, 8, 3), real(2, 5, 8), transA=1, transB=1, alpha=0.3
    ),
    "fused matmul, stack": lambda: one("FusedMatMul", (3, 2, 8), real(2, 8, 5), transBatchA=1),
    "rotary embedding": lambda: one(
        "RotaryEmbedding", (2, 5, 16), np.array([[3, 1, 2, 0, 6]] * 2), real(8, 4), real(8, 4)
    ),
    "rotary embedding, by heads": lambda: one(
        *("RotaryEmbedding", (2, 3, 5, 8), np.array([2]), real(8, 4), real(8, 4)), interleaved=1
    ),
    "gelu": lambda: one("Gelu", (3, 8)),
    "bias gelu": lambda: one("BiasGelu", (2, 3, 8), real(8)),
    "fast gelu": lambda: one("FastGelu", (2, 3, 8), real(8)),
    "fast gelu alone": lambda: one("FastGelu", (2, 3, 8)),
    "quick gelu": lambda: one("QuickGelu", (2, 3, 8), alpha=1.5),
    "skip layer norm": lambda: one(
        "SkipLayerNormalization",
        (2, 3, 8),
        real(2, 3, 8),
        real(8),
        real(8),
        real(8),
        epsilon=1e-5,
        outputs=4,
    ),
    "skip layer norm, plain": lambda: one(
        "SkipLayerNormalization", (2, 3, 8), real(2, 3, 8), real(8), outputs=4
    ),
    "skip rms norm": lambda: one(
        "SkipSimplifiedLayerNormalization", (2, 3, 8), real(2, 3, 8), real(8), real(8)
    ),
    "nhwc max pool": lambda: quantised(
        "NhwcMaxPool", (1, 6, 7, 3), kernel_shape=[3, 2], strides=[2, 1], pads=[1, 0, 1, 1]
    ),
    "grouped, prompt": lambda: grouped(5, 0, [4, 4], 5),
    "grouped, packed": lambda: grouped(5, 0, [4], 5, packed=True, local_window_size=2),
    "grouped, rotary": lambda: grouped(
        *(1, 6, [6, 3], 7, real(9, 8), real(9, 8)), do_rotary=1, scale=0.3
    ),
    "grouped, rotary in pairs": lambda: grouped(
        *(3, 8, [7], 8, real(9, 8), real(9, 8)), do_rotary=1, rotary_interleaved=1, softcap=2.0
    ),
    "grouped, positions": lambda: grouped(
        *(2, 4, [5], 6, real(9, 8), real(9, 8), np.array([[7, 2]])), do_rotary=1
    ),
    "grouped, rotary of some": lambda: grouped(
        *(1, 6, [6, 3], 7, real(9, 8), real(9, 8)), do_rotary=1, width=32
    ),
    "grouped, rotary of some, in pairs": lambda: grouped(
        *(3, 4, [6], 7, real(9, 8), real(9, 8)), do_rotary=1, width=32, rotary_interleaved=1
    ),
    "grouped, bias": lambda: grouped(3, 4, [6], 7, None, None, None, real(1, 4, 3, 7)),
    "grouped, smooth": lambda: grouped(2, 4, [5], 6, smooth_softmax=1, local_window_size=3),
    "grouped, sinks": lambda: grouped(2, 4, [5], 6, None, None, None, None, real(4)),
    "4 bits": lambda: nbits(4, 16, zeros=True),
    "4 bits, no zero points": lambda: nbits(4, 32, zeros=False),
    "4 bits, one block": lambda: nbits(4, 64, zeros=True),
    "8 bits": lambda: nbits(8, 16, zeros=True),
    "attention, keys that count": lambda: attention(np.array([3, 5], np.int32)),
    "attention, from and up to": lambda: attention(np.array([4, 5, 0, 2], np.int32)),
    "attention, which keys count": lambda: attention(whole_mask(2, 5)),
    "attention, of each query": lambda: attention(whole_mask(2, 5, 5), unidirectional=1),
    "attention, past": lambda: attention(whole_mask(2, 8), real(2, 2, 2, 3, 4), outputs=2),
    "attention, past, one way": lambda: attention(
        None, real(2, 2, 2, 3, 4), outputs=2, unidirectional=1, scale=0.3
    ),
    "attention, bias": lambda: attention(None, None, real(1, 2, 5, 5)),
    "attention, present": lambda: attention(outputs=2),
    "quantised attention, mask and past": lambda: quantised(
        "QAttention",
        (2, 5, 8),
        whole("int8", 8, 24),
        real(24),
        "s",
        np.float32(0.01),
        np.array([6, 8], np.int32),
        "z",
        np.int8(3),
        real(2, 2, 2, 3, 4),
        num_heads=2,
        unidirectional=1,
        outputs=2,
    ),
    "heads, of three": lambda: heads(real(2, 7, 8), real(2, 7, 6)),
    "heads, biases": lambda: heads(real(2, 7, 8), real(2, 7, 6), real(22), scale=0.7),
    "heads, keys that count": lambda: heads(
        real(2, 7, 8), real(2, 7, 8), None, np.array([3, 7], np.int32)
    ),
    "heads, which keys count, bias": lambda: heads(
        real(2, 7, 8), real(2, 7, 8), None, whole_mask(2, 7), real(1, 2, 5, 7)
    ),
    "heads, of a cache": lambda: heads(real(2, 2, 7, 4), real(2, 2, 7, 4)),
    "heads, past": lambda: heads(
        *(real(2, 5, 8), real(2, 5, 8), None, None, None, real(2, 2, 3, 4), real(2, 2, 3, 4)),
        outputs=3,
        every=True,
    ),
    "attention": lambda: one("Attention", (2, 5, 8), real(8, 24), real(24), num_heads=2),
    "attention, one way": lambda: one(
        "Attention", (2, 5, 8), real(8, 24), real(24), num_heads=4, unidirectional=1
    ),
    "quantised attention": lambda: quantised(
        "QAttention",
        (2, 5, 8),
        whole("int8", 8, 24),
        real(24),
        "s",
        np.float32(0.01),
        None,
        "z",
        np.int8(3),
        num_heads=2,
    ),
    "integers to float": lambda: quantised(
        "MatMulIntegerToFloat",
        (3, 8),
        whole("int8", 8, 4),
        "s",
        ROW,
        "z",
        np.zeros(4, np.int8),
        real(4),
    ),
    "dynamic product": lambda: one(
        "DynamicQuantizeMatMul",
        (3, 8),
        whole("uint8", 8, 4),
        np.float32(0.01),
        np.uint8(120),
        real(4),
    ),
}


def saved(case: Any, folder: Path) -> Path:
    nodes, shape, constants = case
    nodes = nodes if isinstance(nodes, list) else [nodes]
    made = onnx_models.model(nodes, {"x": list(shape)}, {}, constants, opset=17)
    made.opset_import.append(helper.make_opsetid("com.microsoft", 1))
    integers = nodes[-1].op_type == "NhwcMaxPool"
    for name in filter(None, nodes[-1].output):
        kind = onnx.TensorProto.UINT8 if integers else onnx.TensorProto.FLOAT
        made.graph.output.append(helper.make_tensor_value_info(name, kind, None))
    return onnx_models.save(made, folder / "model.onnx")


@pytest.mark.parametrize("name", CASES)
def test_against_its_own_kernel(name: str, tmp_path: Path) -> None:
    case = CASES[name]()
    path = saved(case, tmp_path)
    feeds = {"x": real(*case[1])}
    graph = passes.optimise(frontend.load(path))
    values = evaluate(graph, feeds)
    options = own_kernels()
    wanted = onnxruntime.InferenceSession(path, options).run(None, feeds)
    for output, want in zip(graph.outputs, wanted, strict=True):
        got, most = values[output], float(np.abs(want.astype(np.float64)).max())
        np.testing.assert_allclose(got, want, rtol=2e-5, atol=2e-5 * most, err_msg=output)


CROPS: Mapping[str, Callable[[], Any]] = {
    "crop and resize": lambda: one(
        "CropAndResize",
        (2, 3, 6, 5),
        np.array([[0.1, 0.2, 0.9, 0.7], [0, 0, 1, 1], [-0.3, 0.5, 0.6, 1.4]], np.float32),
        np.array([1, 0, 1], np.int32),
        np.array([4, 3], np.int32),
        extrapolation_value=-2.5,
    ),
    "crop and resize, to a pixel": lambda: one(
        "CropAndResize",
        (1, 2, 4, 4),
        np.array([[0.1, 0.2, 0.9, 0.7]], np.float32),
        np.array([0], np.int32),
        np.array([1, 1], np.int32),
    ),
}


@pytest.mark.parametrize("name", CROPS)
def test_definition_of_crops(name: str, tmp_path: Path) -> None:
    """The standard operators that are compiled instead, run by the same engine."""
    node, shape, constants = case = CROPS[name]()
    row = row_of(node)
    assert row
    shapes = {key: value.shape for key, value in constants.items()} | {"x": shape}
    definition = Definitions(constants.get, shape=shapes.get).of(node, row)
    known = {**constants, **definition.constants}
    defined = onnx_models.model(definition.nodes, {"x": list(shape)}, {}, known, opset=DEFINED_IN)
    defined.graph.output.append(helper.make_tensor_value_info("y0", onnx.TensorProto.FLOAT, None))
    feeds = {"x": real(*shape)}
    paths = saved(case, tmp_path), onnx_models.save(defined, tmp_path / "defined.onnx")
    want, got = (
        onnxruntime.InferenceSession(path, session_options()).run(None, feeds)[0] for path in paths
    )
    np.testing.assert_allclose(got, want, rtol=1e-5, atol=1e-5)
    assert frontend.load(paths[0]).outputs == ("y0",)


EMBEDDINGS: Mapping[str, Callable[[], Any]] = {
    "embedding of 4 bits": lambda: embedded(whole("uint8", 7, 32), 16),
    "embedding of 4 bits, zero points": lambda: embedded(
        whole("uint8", 7, 32), 16, whole("uint8", 7, 2)
    ),
    "embedding of 8 bits": lambda: embedded(whole("uint8", 7, 32), 16, bits=8),
    "embedding of int4": lambda: embedded(
        RNG.integers(-8, 8, (7, 32)).astype(INT4), 16, RNG.integers(-8, 8, (7, 2)).astype(INT4)
    ),
}


@pytest.mark.parametrize("name", EMBEDDINGS)
def test_rows_of_a_packed_table(name: str, tmp_path: Path) -> None:
    """As ONNX Runtime runs the graph that is compiled, of rows that are there."""
    case = EMBEDDINGS[name]()
    path, feeds = saved(case, tmp_path), {"x": np.clip(real(*case[1]) * 3, -7, np.float32(6.5))}
    graph = passes.optimise(frontend.load(path))
    (got,) = prepared(graph)(feeds).values()
    (want,) = onnxruntime.InferenceSession(path, session_options()).run(None, feeds)
    np.testing.assert_allclose(got, want, rtol=1e-6, atol=1e-6)
    flash = sum(t.data.nbytes for t in graph.tensors.values() if t.data is not None)
    assert flash < 4 * want.shape[-1] * 7  # not as float32


def test_embedding(tmp_path: Path) -> None:
    """Of tokens that are known: the tables are read at run time."""
    names = ["ids", "segments", "x", "positions", "of_segments", "gamma", "beta", "mask"]
    outputs = ["y0", "", "y2"]
    node = helper.make_node(
        "EmbedLayerNormalization", names, outputs, "it", domain="com.microsoft", epsilon=1e-5
    )
    constants: dict[str, Values] = {
        "ids": RNG.integers(0, 11, (2, 5)).astype(np.int32),
        "segments": RNG.integers(0, 2, (2, 5)).astype(np.int32),
        "positions": real(7, 8),
        "of_segments": real(2, 8),
        "gamma": real(8),
        "beta": real(8),
        "mask": whole_mask(2, 5),
    }
    path, feeds = saved((node, (11, 8), constants), tmp_path), {"x": real(11, 8)}
    graph = passes.optimise(frontend.load(path))
    values = evaluate(graph, feeds)
    wanted = onnxruntime.InferenceSession(path, session_options()).run(["y0", "y2"], feeds)
    for output, want in zip(graph.outputs, wanted, strict=True):
        np.testing.assert_allclose(values[output], want, rtol=1e-4, atol=1e-4)


@pytest.mark.parametrize("op", ["NhwcConv", "NhwcFusedConv"])
def test_convolution_of_channels_last(op: str, tmp_path: Path) -> None:
    """No kernel of ONNX Runtime's for this machine is one: that of Conv, between transpositions."""
    x, w, b = real(1, 5, 6, 4), real(4, 2, 3, 2), real(4)
    attrs: dict[str, Any] = {"pads": [1, 0, 1, 1], "strides": [2, 1], "group": 2}
    of_filters = w.transpose(0, 2, 3, 1) if op == "NhwcConv" else w
    case = one(op, x.shape, np.ascontiguousarray(of_filters), b, kernel_shape=[3, 2], **attrs)
    graph = passes.optimise(frontend.load(saved(case, tmp_path)))
    got = evaluate(graph, {"x": x})[graph.outputs[0]]
    conv = helper.make_node("Conv", ["x", "w", "b"], ["y"], **attrs)
    plain = onnx_models.model([conv], {"x": [1, 4, 5, 6]}, {"y": None}, {"w": w, "b": b}, opset=17)
    session = onnxruntime.InferenceSession(onnx_models.save(plain, tmp_path / "conv.onnx"))
    (want,) = session.run(None, {"x": np.ascontiguousarray(x.transpose(0, 3, 1, 2))})
    np.testing.assert_allclose(got, want.transpose(0, 2, 3, 1), rtol=1e-4, atol=1e-4)


def test_few_bits_of_one_block_stay_integers(tmp_path: Path) -> None:
    graph = passes.optimise(frontend.load(saved(nbits(4, 64, zeros=True), tmp_path)))
    (dense,) = (node for node in graph.nodes if node.op == "Dense")
    assert str(dense.attrs["storage"].element) == "int8"  # -15 to 15
    assert len(dense.attrs["storage"].scale) == 6


@pytest.mark.parametrize(
    ("case", "words"),
    [
        (one("FusedConv", (1, 2, 5, 6), real(4, 2, 1, 1), activation="Mish"), "activation 'Mish'"),
        (
            one(
                "FusedConv", (1, 2, 5, 6), real(4, 2, 1, 1), activation="Clip", activation_params=3
            ),
            "activation_params 3; activation_params is a list",
        ),
        (one("FusedMatMul", (2, 8), real(2, 5), transA=2), "transA is 0 or 1"),
        (one("MatMulNBits", (2, 8), "x", "x", K="8", N=8, bits=4, block_size=16), "whole number"),
        (
            quantised("MatMulIntegerToFloat", (3, 8), whole("int8", 8, 4), "s", ROW, "z", ROW[:0]),
            "b_zero_point [0]",
        ),
        (
            one("SkipLayerNormalization", (2, 8), real(2, 8), real(8), outputs=2),
            "mean or inverse deviation",
        ),
        (one("MatMulNBits", (2, 8), "x", "x", K=8, N=8, bits=3, block_size=16), "bits one of"),
        (
            one("MatMulNBits", (2, 8), whole("uint8", 7), real(8), K=8, N=8, bits=4, block_size=16),
            "B [7] of uint8; it has 8 rows of 8 bytes",
        ),
        (attention(np.zeros(3, np.int32)), "mask_index [3]; a mask is"),
        (attention(None, None, None, np.int32(3)), "past_sequence_length"),
        (attention(do_rotary=1), "rotary embedding"),
        (attention(None, real(2, 2, 3, 3, 4)), "a past of [2, 2, 3, 3, 4]"),
        (heads(real(2, 7, 8), real(2, 7, 8), outputs=4), "qk as an output"),
        (
            heads(*(real(2, 5, 8),) * 2, None, None, None, *(real(2, 2, 3, 4),) * 2),
            "a past alone; with a past there are",
        ),
        (one("MultiHeadAttention", (2, 5, 2, 3, 4), num_heads=2), "no key"),
        (heads(real(2, 7, 8), real(2, 7, 8), real(9)), "bias [9]; it has 24 elements"),
        (one("Attention", (2, 5, 8), real(8, 24), real(24), num_heads=5), "heads divide"),
        (
            quantised("DynamicQuantizeMatMul", (3, 8), whole("uint8", 8, 4), np.float32(1)),
            "A of uint8; A is float32",
        ),
    ],
)
def test_refused_with_the_reason(case: Any, words: str, tmp_path: Path) -> None:
    with pytest.raises(EdgeconvError) as error:
        frontend.load(saved(case, tmp_path))
    assert words in " ".join([str(error.value), *error.value.details])
