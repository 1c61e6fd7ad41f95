"""TensorFlow Lite files: read as they are meant, or refused with a word."""

from __future__ import annotations

import re
from collections.abc import Callable
from pathlib import Path
from typing import Any

import numpy as np
import onnx
import pytest

from edgeconv.base import limits
from edgeconv.base.errors import EdgeconvError
from edgeconv.model.frontend import Cut, load, model_file, reference_outputs
from edgeconv.model.frontend.fingerprint import sha256
from edgeconv.model.tensor_names import tensor_names
from edgeconv.model.tflite import DamagedError, read
from edgeconv.model.tflite.schema import OPERATORS, OPTIONS, TEXT, TYPES
from tests.tflite_files import refused, saved
from tests.tflite_models import Sketch, Values, Writer, quantised_network

Write = Callable[[bytes], Path]


_BLOCKS = ("DEPTH_TO_SPACE", "SPACE_TO_DEPTH")


@pytest.fixture
def write(tmp_path: Path) -> Write:
    return lambda data: saved(data, tmp_path)


def chain(*kinds: str, **more: Any) -> Sketch:
    """Operators of one operand, one behind the other; tensors are called 0, 1, 2..."""
    sketch = Sketch()
    for number in range(len(kinds) + 1):
        sketch.tensor(str(number), (1, 4), **more)
    for number, kind in enumerate(kinds):
        sketch.operator(kind, [number], [number + 1])
    return sketch


def test_the_schema_is_that_of_tensorflow_lite() -> None:
    tflite = pytest.importorskip("tflite")
    numbers = {v: k for k, v in vars(tflite.BuiltinOperator).items() if isinstance(v, int)}
    assert tuple(numbers[number] for number in range(len(OPERATORS))) == OPERATORS
    types = {v: k for k, v in vars(tflite.TensorType).items() if isinstance(v, int)}
    known = [types[number].lower() for number in sorted(types)]  # and newer ones
    assert tuple(known) == TYPES[: len(known)]
    kinds = {v: k for k, v in vars(tflite.BuiltinOptions).items() if isinstance(v, int)}
    for name, layout in OPTIONS.items():
        module = __import__(f"tflite.{kinds[layout.kind]}", fromlist=["x"])
        slots = re.findall(r"Prepend(\w+?)Slot\((\d+), ", Path(str(module.__file__)).read_text())
        sizes = {int(number): kind for kind, number in slots}
        codes = {"b": "Int8", "?": "Bool", "i": "Int32", "f": "Float32", "*i": "UOffsetTRelative"}
        codes[TEXT] = "UOffsetTRelative"
        for field in layout.fields.values():
            assert sizes[field.number] == codes[field.code], name
        assert name.replace("_", "").rstrip("V2D").lower()[:3] in kinds[layout.kind].lower() or (
            kinds[layout.kind] in ("ReducerOptions", "Pool2DOptions", "SequenceRNNOptions")
        )


def test_the_network_has_the_names_and_shapes_of_the_file(write: Write) -> None:
    path = write(quantised_network())
    graph = load(path)
    assert (graph.inputs, graph.outputs) == (("input",), ("scores",))
    assert graph["input"].shape == (1, 12, 10, 3)
    assert graph["input"].dtype == graph["scores"].dtype == "int8"
    assert graph.sha256 == sha256(path)
    assert graph.notes == ()
    names = ("input", "conv", "depthwise", "pointwise", "mean", "dense", "scores")
    assert tensor_names(path) == names
    assert {node.name for node in graph.nodes} >= {"conv", "depthwise", "pointwise", "dense"}
    inside = load(path, cut_at=Cut(("conv",), ("pointwise",)))
    assert inside["conv"].shape == (1, 6, 5, 8)
    assert inside["pointwise"].dtype == "int8"


def test_names_that_are_missing_or_taken_are_made(write: Write) -> None:
    sketch = Sketch()
    for name in ("x", "", "x"):
        sketch.tensor(name, (1, 4))
    sketch.operator("RELU", [0], [1])
    sketch.operator("ABS", [1], [2])
    graph = load(write(sketch.bytes([0], [2])))
    assert graph.outputs == ("x:2",)
    assert "tensor_1" in graph.tensors


def test_a_free_batch_is_one_or_what_is_asked_for(write: Write) -> None:
    sketch = Sketch()
    x = sketch.tensor("x", (1, 6, 6, 2), signature=(-1, 6, 6, 2))
    w = sketch.constant("w", np.ones((3, 3, 3, 2)), "float32")
    y = sketch.tensor("y", (1, 3, 3, 3))
    sketch.operator("CONV_2D", [x, w], [y], padding="SAME", stride_w=2, stride_h=2)
    path = write(sketch.bytes([x], [y]))
    assert load(path)["y"].shape == (1, 3, 3, 3)
    assert load(path, input_shapes={"x": (4, 6, 6, 2)})["y"].shape == (4, 3, 3, 3)
    with pytest.raises(EdgeconvError, match="1x6x7x2|fixes|dimension"):
        load(path, input_shapes={"x": (1, 6, 7, 2)})


def test_a_shape_that_follows_from_sizes_is_evaluated(write: Write) -> None:
    """Keras writes Flatten so, where the batch is free."""
    sketch = Sketch()
    x = sketch.tensor("x", (1, 2, 3), signature=(-1, 2, 3))
    sizes = sketch.tensor("sizes", (3,), "int32")
    bounds = [sketch.constant(n, [v], "int32") for n, v in (("0", 0), ("1", 1), ("s", 1))]
    batch = sketch.tensor("batch", (), "int32")
    rest = sketch.constant("rest", 6, "int32")
    packed = sketch.tensor("packed", (2,), "int32")
    y = sketch.tensor("y", (1, 6), signature=(-1, 6))
    sketch.operator("SHAPE", [x], [sizes])
    sketch.operator("STRIDED_SLICE", [sizes, *bounds], [batch], shrink=1)
    sketch.operator("PACK", [batch, rest], [packed], axis=0, count=2)
    sketch.operator("RESHAPE", [x, packed], [y])
    assert load(write(sketch.bytes([x], [y])))["y"].shape == (1, 6)


def test_sizes_that_are_products_of_integers_are_evaluated(write: Write) -> None:
    """Keras writes Dense on three dimensions so."""
    sketch = Sketch()
    x = sketch.tensor("x", (1, 3, 4), signature=(-1, 3, 4))
    sizes, some = sketch.tensor("sizes", (3,), "int32"), sketch.tensor("some", (2,), "int32")
    count, shape = sketch.tensor("count", (), "int32"), sketch.tensor("shape", (2,), "int32")
    first = sketch.constant("first", [0, 1], "int32")
    axis, depth = sketch.constant("axis", [0], "int32"), sketch.constant("depth", 4, "int32")
    w = sketch.constant("w", np.ones((5, 4)), "float32")
    rows = sketch.tensor("rows", (3, 4), signature=(-1, 4))
    y, whole = sketch.tensor("y", (3, 5), signature=(-1, 5)), sketch.tensor("whole", (3,), "int32")
    z = sketch.tensor("z", (1, 3, 5), signature=(-1, 3, 5))
    sketch.operator("SHAPE", [x], [sizes], out_type=2)
    sketch.operator("GATHER", [sizes, first], [some], axis=0, batch_dims=0)
    sketch.operator("REDUCE_PROD", [some, axis], [count], keep_dims=False)
    sketch.operator("PACK", [count, depth], [shape], axis=0, count=2)
    sketch.operator("RESHAPE", [x, shape], [rows])
    sketch.operator("FULLY_CONNECTED", [rows, w, -1], [y])
    sketch.operator("CONCATENATION", [some, sketch.constant("out", [5], "int32")], [whole], axis=0)
    sketch.operator("RESHAPE", [y, whole], [z])
    path = write(sketch.bytes([x], [z]))
    graph = load(path)
    assert graph["z"].shape == (1, 3, 5)
    assert {node.op for node in graph.nodes} <= {"Reshape", "Dense"}
    assert load(path, input_shapes={"x": (2, 3, 4)})["z"].shape == (2, 3, 5)


@pytest.mark.parametrize("dtype", ["int4", "int2", "int8"])
def test_scales_of_blocks_of_weights(dtype: str, write: Write) -> None:
    sketch, rng = Sketch(), np.random.default_rng(4)
    low, high, bits = {"int8": (-128, 128, 8), "int4": (-8, 8, 4), "int2": (-2, 2, 2)}[dtype]
    values, scales = rng.integers(low, high, (3, 64)), rng.uniform(0.1, 1.0, (3, 2))
    parts = (values & ((1 << bits) - 1)).astype(np.uint8).reshape(-1, 8 // bits)
    packed = np.bitwise_or.reduce(parts << np.arange(0, 8, bits, dtype=np.uint8), axis=1)
    s = sketch.constant("s", scales, "float16")
    x, y = sketch.tensor("x", (1, 64)), sketch.tensor("y", (1, 3))
    data = packed.astype(np.uint8).tobytes()
    w = sketch.tensor("w", (3, 64), dtype, data=data, blocks=(s, -1, 32))
    sketch.operator("FULLY_CONNECTED", [x, w, -1], [y])
    path = write(sketch.bytes([x], [y]))
    given = rng.standard_normal((1, 64)).astype(np.float32)
    found = reference_outputs(path, {"x": given}).values["y"]
    units = np.repeat(scales.astype(np.float16).astype(np.float32), 32, axis=1)
    wanted: Values = (values * units).astype(np.float32)
    np.testing.assert_allclose(found, given @ wanted.T, rtol=1e-5)
    (dense,) = [node for node in load(path).nodes if node.op == "Dense"]
    weights: Values = load(path)[dense.inputs[1]].constant()
    np.testing.assert_allclose(weights, wanted, rtol=1e-6)


@pytest.mark.parametrize(("dtype", "code"), [("bfloat16", 16), ("float8_e5m2", 8)])
def test_weights_that_are_small_real_numbers(dtype: str, code: int, write: Write) -> None:
    """The upper half of a float32, and of a float16."""
    values = np.array([1.0, -2.0, 0.5, 4.0, -0.25, 8.0], np.float32)
    wide = values if dtype == "bfloat16" else values.astype(np.float16)
    whole: Values = wide.view(np.uint32 if dtype == "bfloat16" else np.uint16)
    data = (whole >> (32 - code if dtype == "bfloat16" else 8)).astype(f"<u{code // 8}").tobytes()
    sketch = Sketch()
    c, w = sketch.tensor("c", (6,), dtype, data=data), sketch.tensor("w", (6,))
    x, y = sketch.tensor("x", (6,)), sketch.tensor("y", (6,))
    sketch.operator("DEQUANTIZE", [c], [w])
    sketch.operator("ADD", [x, w], [y])
    path = write(sketch.bytes([x], [y]))
    found = reference_outputs(path, {"x": np.zeros(6, np.float32)}).values["y"]
    np.testing.assert_array_equal(found, values)
    assert len(load(path).nodes) == 1


def test_a_composite_is_what_it_stands_for(write: Write) -> None:
    body, main = chain("ABS", "SQRT"), Sketch()
    for name in ("x", "y"):
        main.tensor(name, (1, 4))
    main.operator("STABLEHLO_COMPOSITE", [0], [1], decomposition=1)
    path = write(main.bytes([0], [1], [(body, [0], [2])]))
    x = np.array([[4, -9, 16, -1]], np.float32)
    found = reference_outputs(path, {"x": x}).values["y"]
    np.testing.assert_array_equal(found, [[2, 3, 4, 1]])
    assert load(path).notes == ()


def test_graphs_that_run_themselves_are_damage(write: Write) -> None:
    body = chain("IF")
    body.operators[0]["options"] = {"then": 1, "else": 1}
    body.tensors[0]["dtype"] = "bool"
    main = chain("IF")
    main.operators[0]["options"] = {"then": 1, "else": 1}
    main.tensors[0]["dtype"] = "bool"
    assert "graph 1 within itself" in refused(write(main.bytes([0], [1], [(body, [], [1])])))


@pytest.mark.parametrize("dtype", ["float16", "int8", "int4"])
def test_weights_that_are_smaller_than_the_numbers_they_meet(dtype: str, write: Write) -> None:
    """Float16 that is dequantised, and integers in a layer of real numbers."""
    sketch, values = Sketch(), np.arange(-6, 6).reshape(3, 4)
    x, y = sketch.tensor("x", (1, 4)), sketch.tensor("y", (1, 3))
    scales: dict[str, Any] = {"scale": [0.5, 0.25, 2.0], "zero": [0, 0, 0]}
    if dtype == "float16":
        half = sketch.constant("half", values, "float16")
        w = sketch.tensor("w", (3, 4))
        sketch.operator("DEQUANTIZE", [half], [w])
        factors = np.ones((3, 1))
    else:
        stored = values.astype(np.int8)
        packed = (stored.reshape(-1, 2)[:, 0] & 15) | (stored.reshape(-1, 2)[:, 1] << 4)
        data = stored.tobytes() if dtype == "int8" else packed.astype(np.uint8).tobytes()
        w = sketch.tensor("w", (3, 4), dtype, data=data, **scales)
        factors = np.array([[0.5], [0.25], [2.0]])
    sketch.operator("FULLY_CONNECTED", [x, w, -1], [y])
    path = write(sketch.bytes([x], [y]))
    given = np.array([[1.0, -2.0, 3.0, 0.5]], np.float32)
    found = reference_outputs(path, {"x": given}).values["y"]
    np.testing.assert_allclose(found, given @ (values * factors).T, rtol=1e-6)
    layer = next(node for node in load(path).nodes if node.op == "Dense")
    assert ("storage" in layer.attrs) == (dtype != "float16")


def test_everything_unsupported_is_listed_at_once(write: Write) -> None:
    sketch = chain("RELU", "SKIP_GRAM", "Magic", "SKIP_GRAM", "LSH_PROJECTION")
    said = refused(write(sketch.bytes([0], [5])))
    assert "3 unsupported kinds of node" in said
    assert "tflite.SKIP_GRAM: 2 nodes (2, 4): not supported" in said
    assert "tflite.Magic: 1 node (3): a custom operator" in said
    assert "--output 1" in said
    path = write(sketch.bytes([0], [5]))
    assert load(path, cut_at=Cut(outputs=("1",))).outputs == ("1",)


def test_what_follows_from_a_refusal_is_not_listed(write: Write) -> None:
    """Sizes that are those of a tensor that a refused operator writes."""
    sketch = Sketch()
    for number in range(3):
        sketch.tensor(str(number), (1, 4, 4, 2))
    sizes = sketch.constant("sizes", [4, 4], "int32")
    sketch.operator("SKIP_GRAM", [0], [1])
    sketch.operator("RESIZE_BILINEAR", [1, sizes], [2])
    said = refused(write(sketch.bytes([0], [2])))
    assert "1 unsupported kind of node" in said
    assert "tflite.SKIP_GRAM" in said


@pytest.mark.parametrize(
    ("sketch", "reason"),
    [
        (chain("RELU", dtype="int32"), "computes with int32 without a scale"),
        (chain("RELU", dtype="float64"), "computes with float64 without a scale"),
        (chain("DENSIFY"), "DENSIFY: 1 node .1.: what it reads is no constant"),
        (chain("READ_VARIABLE"), "reads a handle that no VAR_HANDLE has made"),
        (chain("IF"), "got graph 0 of 1, within another"),
        (chain("PAD", dtype="string"), "input 1 is missing|pads string"),
        (chain("RELU", variable=True), "keeps its value from run to run"),
        (chain("ADD"), "got Node|Add"),
        (chain("CONV_2D"), "input 1 is missing"),
    ],
)
def test_reasons(sketch: Sketch, reason: str, write: Write) -> None:
    assert re.search(reason, refused(write(sketch.bytes([0], [1]))))


def with_a_state() -> Sketch:
    """y = ReLU(x), s' = s + y, where s is a variable that another graph fills at first."""
    sketch = Sketch()
    for name in ("x", "y", "s", "new"):
        sketch.tensor(name, (1, 4))
    handle = sketch.tensor("handle", (), "resource")
    sketch.operator("CALL_ONCE", [], [], subgraph=1)
    sketch.operator("VAR_HANDLE", [], [handle], container="", name="sum")
    sketch.operator("RELU", [0], [1])
    sketch.operator("READ_VARIABLE", [handle], [2])
    sketch.operator("ADD", [2, 1], [3], activation="NONE")
    sketch.operator("ASSIGN_VARIABLE", [handle, 3], [])
    return sketch


def test_a_variable_is_a_state(write: Write) -> None:
    once = Sketch()
    handle = once.tensor("handle", (), "resource")
    once.operator("VAR_HANDLE", [], [handle], container="", name="sum")
    begin = once.constant("begin", [[1, 0, 2, 0]], "float32")
    once.operator("ASSIGN_VARIABLE", [handle, begin], [])
    path = write(with_a_state().bytes([0], [1, 3], bodies=[(once, [], [])]))
    graph = load(path)
    assert graph.input_ports == ("x",)
    assert graph.output_ports == ("y", "new")
    (state,) = graph.states
    assert (state.input, state.output) == ("sum", "sum/next")
    np.testing.assert_array_equal(state.initial, [[1, 0, 2, 0]])
    # Of parts: what does not read it has none, what does keeps it, and inputs that are named are
    # no states.
    assert not load(path, cut_at=Cut(outputs=("y",))).states
    assert load(path, cut_at=Cut(outputs=("new",))).states == graph.states
    inside = load(path, cut_at=Cut(("x", "s"), ("y", "new")))
    assert (inside.inputs, inside.outputs, inside.states) == (("x", "s"), ("y", "new"), ())


def test_variables_that_are_no_states(write: Write) -> None:
    """What is written and never read changes nothing; what is written before the first run alone is
    constant; what is written before it is read is a value as any other."""
    sketch, once = Sketch(), Sketch()
    handle = once.tensor("handle", (), "resource")
    once.operator("VAR_HANDLE", [], [handle], container="", name="read")
    begin = once.constant("begin", [[1, 0, 2, 0]], "float32")
    once.operator("ASSIGN_VARIABLE", [handle, begin], [])
    sketch.operator("CALL_ONCE", [], [], subgraph=1)
    names = ("x", "y", "read", "sum", "again")
    x, y, before, total, again = (sketch.tensor(name, (1, 4)) for name in names)
    handles = []
    for name in ("written", "read", "both"):
        handles.append(sketch.tensor(f"handle_{name}", (), "resource"))
        sketch.operator("VAR_HANDLE", [], [handles[-1]], container="", name=name)
    sketch.operator("READ_VARIABLE", [handles[1]], [before])
    sketch.operator("ASSIGN_VARIABLE", [handles[0], x], [])
    sketch.operator("ADD", [before, x], [total], activation="NONE")
    sketch.operator("ASSIGN_VARIABLE", [handles[2], total], [])
    sketch.operator("READ_VARIABLE", [handles[2]], [again])
    sketch.operator("RELU", [again], [y])
    graph = load(write(sketch.bytes([x], [y], bodies=[(once, [], [])])))
    assert (graph.inputs, graph.outputs, graph.states) == (("x",), ("y",), ())
    lost = refused(write(sketch.bytes([x], [y], bodies=[(Sketch(), [], [])])))
    assert "reads variable 'read', which the file gives no value" in lost


@pytest.mark.parametrize(
    ("kind", "options", "said"),
    [
        ("CALL_ONCE", {"subgraph": 7}, "number 7 of 2 subgraphs"),
        ("CALL_ONCE", {"subgraph": -1}, "number -1 of 2 subgraphs"),
        ("CALL_ONCE", {"subgraph": 1}, "runs HASHTABLE before the first run"),
        ("CALL_ONCE", {"subgraph": 0}, "runs CALL_ONCE before the first run"),
        ("ASSIGN_VARIABLE", {}, "a handle that no VAR_HANDLE has made"),
        ("VAR_HANDLE", {"container": "", "name": "v"}, r"VAR_HANDLE with outputs \[\]"),
    ],
)
def test_variables_that_cannot_be_kept(
    kind: str, options: dict[str, Any], said: str, write: Write
) -> None:
    sketch, other = Sketch(), Sketch()
    x, y = sketch.tensor("x", (1, 4)), sketch.tensor("y", (1, 4))
    sketch.operator(kind, [], [], **options)
    sketch.operator("RELU", [x], [y])
    other.operator("HASHTABLE", [], [other.tensor("table", (), "resource")])
    assert re.search(said, refused(write(sketch.bytes([x], [y], bodies=[(other, [], [])]))))


@pytest.mark.parametrize(("dtype", "shape"), [("float32", (1, 5)), ("int32", (1, 4))])
def test_a_variable_has_one_shape_and_type(
    dtype: str, shape: tuple[int, ...], write: Write
) -> None:
    sketch = with_a_state()
    other = sketch.constant("other", np.zeros(shape), dtype)
    sketch.operators[-1]["inputs"] = [4, other]
    said = refused(write(sketch.bytes([0], [1, 3], bodies=[(Sketch(), [], [])])))
    assert re.search(r"variable 'sum' is read as float32.*, written as", said)


@pytest.mark.parametrize(
    ("kind", "shape"),
    [
        *((kind, shape) for kind in _BLOCKS for shape in ((1, 4, 4, 12), (1, 0, 4, 12))),
        ("SPACE_TO_DEPTH", (1, 4, 4, 0)),
    ],
)
@pytest.mark.parametrize("block", [1 << 16, (1 << 31) - 1, 5, 0, -(1 << 31)])
def test_blocks_that_no_tensor_has(
    kind: str, shape: tuple[int, ...], block: int, write: Write
) -> None:
    """Sizes whose square is beyond 32 bits or beyond 63; whole blocks of what is empty are none."""
    sketch = Sketch()
    x, y = sketch.tensor("x", shape), sketch.tensor("y", (1, 8, 8, 3))
    one, other = sketch.tensor("1", (1,)), sketch.tensor("2", (1,))
    sketch.operator(kind, [x], [y], block_size=block)
    sketch.operator("RELU", [one], [other])
    path = write(sketch.bytes([x, one], [y, other]))
    assert re.search("blocksize|blocks|multiple", refused(path))


def test_zeros_that_pad_are_integers_of_the_type(write: Write) -> None:
    sketch = Sketch()
    x = sketch.tensor("x", (1, 4), "int8", scale=[0.5], zero=[255])
    pads = sketch.constant("pads", [[0, 0], [1, 1]], "int32")
    y = sketch.tensor("y", (1, 6), "int8", scale=[0.5], zero=[255])
    sketch.operator("PAD", [x, pads], [y])
    assert "a zero point of 'y' that is no int8" in refused(write(sketch.bytes([x], [y])))


def test_constants_that_are_outputs(write: Write) -> None:
    sketch = Sketch()
    x, y = sketch.tensor("x", (1, 4)), sketch.tensor("y", (1, 4))
    handle = sketch.tensor("c", (1,), "resource", data=bytes(8))
    sketch.operator("RELU", [x], [y])
    path = write(sketch.bytes([x], [y, handle]))
    assert "tflite.constant: 1 node (c): reads constants of resource" in refused(path)
    assert load(path, cut_at=Cut(outputs=("y",))).outputs == ("y",)


def test_more_than_one_subgraph_is_said(write: Write) -> None:
    others = [(chain("RELU"), [0], [1])] * 2
    path = write(chain("RELU").bytes([0], [1], others))
    assert load(path).notes == ("3 graphs, of which the first is compiled",)
    assert "a model without a graph" in refused(write(Writer().model([])))


def test_the_model_is_one_that_onnx_accepts(write: Write) -> None:
    model = model_file.read(write(quantised_network())).model
    for tensor in model.graph.initializer:
        assert tensor.ByteSize() < 1200  # larger ones stay in the file
    onnx.checker.check_model(model, full_check=False)


def _patched(data: bytes, old: bytes, new: bytes) -> bytes:
    assert data.count(old) == 1
    return data.replace(old, new)


def test_damage_is_told(write: Write) -> None:
    whole = quantised_network()
    version = _patched(whole, b"TFL3", b"TFL2")
    assert "not a readable ONNX model" in refused(write(version))
    assert "not a readable TensorFlow Lite model" in refused(write(whole[:200]))
    for end in range(8, len(whole), 97):
        with pytest.raises(EdgeconvError):
            load(write(whole[:end]))


@pytest.mark.parametrize(
    ("change", "reason"),
    [
        (lambda s: s.tensors[1].update(shape=(8, 3, 3, 4)), "bytes for shape"),
        (lambda s: s.tensors[0].update(zero=[300]), "a zero point of 'x' that is no int8"),
        (lambda s: s.tensors[1].update(axis=9), "8 scales along axis 9"),
        (lambda s: s.tensors[2].update(shape=(1, -6, 5, 8)), "a tensor of shape"),
        (lambda s: s.operators[0].update(inputs=[0, 77]), "number 77 of 3 tensors"),
        (lambda s: s.operators[0].update(outputs=[0]), "CONV_2D writes 'x' again"),
        (lambda s: s.operators[0].update(outputs=[]), "CONV_2D with outputs"),
        (lambda s: s.tensors[0].update(scale=[float("nan")]), "scale"),
        (lambda s: s.operators[0].update(inputs=[0, 1, 0]), "a bias [1, 12, 10, 3] for 8 output"),
        (lambda s: s.operators[0].update(inputs=[0, 1, 1]), "a bias [8, 3, 3, 3] for 8 output"),
    ],
)
def test_what_cannot_be_is_refused(
    change: Callable[[Sketch], None], reason: str, write: Write
) -> None:
    sketch = Sketch()
    x = sketch.tensor("x", (1, 12, 10, 3), "int8", scale=[0.02], zero=[1])
    w = sketch.constant("w", np.ones((8, 3, 3, 3)), "int8", scale=[0.1] * 8, zero=[0] * 8, axis=0)
    y = sketch.tensor("y", (1, 12, 10, 8), "int8", scale=[0.1], zero=[0])
    sketch.operator("CONV_2D", [x, w], [y], padding="SAME", stride_w=1, stride_h=1)
    load(write(sketch.bytes([x], [y])))
    change(sketch)
    assert reason in refused(write(sketch.bytes([x], [y])))


def test_limits_hold(write: Write) -> None:
    path = write(chain("RELU", "ABS", "NEG").bytes([0], [3]))
    with limits.given({"model-nodes": 2}), pytest.raises(EdgeconvError, match="model-nodes"):
        load(path)
    with limits.given({"model-structure-bytes": 20}), pytest.raises(EdgeconvError, match="bytes"):
        load(path)


def test_a_vector_beyond_the_file_is_not_read() -> None:
    data = bytearray(chain("RELU").bytes([0], [1]))
    for place in range(0, len(data) - 4, 4):
        changed = bytes(data[:place]) + b"\xff\xff\xff\x7f" + bytes(data[place + 4 :])
        try:
            read(changed, "net")
        except (DamagedError, EdgeconvError):
            continue


def test_without_onnx_runtime_the_reference_has_the_weights(
    write: Write, monkeypatch: pytest.MonkeyPatch
) -> None:
    path = write(quantised_network())
    given = np.random.default_rng(3).integers(-128, 128, (1, 12, 10, 3)).astype(np.int8)
    best = reference_outputs(path, {"input": given}, ["conv", "pointwise"])
    monkeypatch.setattr("importlib.util.find_spec", lambda name: None)
    other = reference_outputs(path, {"input": given}, ["conv", "pointwise"])
    assert other.engine.startswith("onnx.reference")
    for name, value in best.values.items():
        np.testing.assert_array_equal(value, other.values[name])
