"""Results that a quantised model has rounded to eight bits: which they are, and as a format."""

from __future__ import annotations

from dataclasses import replace
from pathlib import Path

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st
from onnx import TensorProto, helper

from edgeconv.base.errors import EdgeconvError
from edgeconv.ir.activation import Activation, grid
from edgeconv.ir.choice import tensor_bytes
from edgeconv.ir.encoding import FLOAT32, INT16, Encoding, int8, int16, scaled_encoding
from edgeconv.ir.graph import Epilogue, Graph, Tensor
from edgeconv.ir.grids import encodings_of, image, integers_for, rounded_to, rounds
from edgeconv.kernels.lowering.activations import evaluate
from edgeconv.kernels.storage import format_called, format_of, formats
from edgeconv.model import frontend, passes
from edgeconv.search import choose
from edgeconv.search.choose.storage import EVERY_RESULT, lossless, storable, store_tensors
from edgeconv.target.backends import TARGETS
from tests import onnx_models
from tests.ir_builder import GraphBuilder
from tests.onnx_models import Values
from tests.quantised_models import tiny

HOST = TARGETS["portable"]
GRIDS = st.builds(
    int8,
    st.floats(2.0**-100, 2.0**100, width=32).map(lambda x: float(np.float32(x))),
    st.integers(-128, 127),
)


@given(GRIDS)
def test_what_a_report_spells_is_read_back(entry: Encoding) -> None:
    assert format_called(str(entry)) is format_of(entry)
    assert format_of(entry).encoding == entry


@given(GRIDS)
def test_every_number_comes_back(entry: Encoding) -> None:
    form = format_of(entry)
    data = np.arange(-128, 128).astype(np.int8).tobytes()
    numbers = form.decode(data)
    whole = np.arange(-128, 128).astype(np.float32)
    np.testing.assert_array_equal(numbers, (whole - np.float32(entry.zero[0])) * entry.scale[0])
    assert form.encode(numbers) == data
    assert entry.bytes_of(256) == 256


def test_ties_go_to_the_even_number() -> None:
    """As in QuantizeLinear: of the quotient, before the zero point is added."""
    ties = np.arange(-20, 20, dtype=np.float32) + np.float32(0.5)
    for zero in (0, 7):
        got = np.frombuffer(format_of(int8(0.25, zero)).encode(ties * np.float32(0.25)), np.int8)
        assert not (np.int64(got) - zero & 1).any()
        np.testing.assert_array_equal(np.abs(got - zero - ties), 0.5)


@pytest.mark.parametrize("zero", [-128, 0, 127])
def test_zero_is_one_of_its_numbers(zero: int) -> None:
    assert int8(0.5, zero).is_stored
    beyond = {-128: -129, 127: 128}.get(zero)
    assert beyond is None or not int8(0.5, beyond).is_stored


def test_what_lies_beyond_is_the_nearest() -> None:
    form = format_of(int8(0.5, 100))
    beyond = np.array([1e9, -1e9, np.inf, -np.inf, np.nan], np.float32)
    got = form.decode(form.encode(beyond))
    np.testing.assert_array_equal(got[:4], [13.5, -114.0, 13.5, -114.0])


@pytest.mark.parametrize(
    "name", ["int8", "int8(1.0)", "int8(1.0, 2", "int8(1e300, 2)", "flyte16(1, 2)", "nothing"]
)
def test_other_names_are_unknown(name: str) -> None:
    assert scaled_encoding(name) is None
    if name != "int8":  # of filters
        with pytest.raises(EdgeconvError, match="unknown storage format"):
            format_called(name)


def test_scaled_ones_are_not_listed() -> None:
    format_of(int8(0.25, 3))
    assert not any(form.encoding.scale for form in formats().values())


def optimised(folder: Path, dtype: str) -> Graph:
    opset = 21 if dtype == "int16" else 15
    path = onnx_models.save(tiny(dtype, opset)[0], folder / "net.onnx")
    return passes.optimise(frontend.load(path))


@pytest.mark.parametrize("dtype", ["int8", "uint8"])
def test_of_a_network(dtype: str, tmp_path: Path) -> None:
    """uint8 is stored with the zero point of the int8 that is 128 less; a max pool and a reshape
    keep what they are given."""
    graph = optimised(tmp_path, dtype)
    found = encodings_of(graph)
    by_op: dict[str, list[Encoding]] = {}
    for node in graph.nodes:
        if node.output in found:
            by_op.setdefault(node.op, []).append(found[node.output])
    scale = {x: float(np.float32(x)) for x in (0.02, 0.015, 0.03)}
    assert by_op["Dequantise"] == [int8(scale[0.02], -38)]
    assert by_op["Conv"] == [int8(scale[0.015], -128), int8(scale[0.03], -128)]
    assert set(by_op["Pool"]) == set(by_op["Reshape"]) == {int8(scale[0.03], -128)}
    assert "Quantise" not in by_op


def test_of_16_bits(tmp_path: Path) -> None:
    """The multiples as they are where these fit int16, else from the lowest on."""
    found = encodings_of(optimised(tmp_path, "int16"))
    assert {encoding.element for encoding in found.values()} == {INT16}
    assert int16(0.5, 0) == integers_for(grid(0.5, -300.0, 200.0))
    assert int16(0.5, 0) == integers_for(grid(0.5, -32768.0, 32767.0))
    assert int16(0.5, -32768) == integers_for(grid(0.5, 0.0, 65535.0))
    assert int16(0.5, -32668) == integers_for(grid(0.5, -100.0, 65435.0))
    assert integers_for(grid(0.5, -100.0, 65436.0)) is None
    assert integers_for(grid(0.5, 1.0, 65536.0)) is None


@pytest.mark.parametrize("zero", [-32768, 0, 300])
def test_16_bits_decode_what_they_encode(zero: int) -> None:
    encoding = int16(0.0371, zero)
    assert scaled_encoding(str(encoding)) == encoding
    form, integers = format_called(str(encoding)), np.arange(-32768, 32768)
    values = (integers - zero).astype(np.float32) * np.float32(0.0371)
    assert np.array_equal(np.frombuffer(form.encode(values), "<i2"), integers)
    assert np.array_equal(form.decode(form.encode(values)), values)


def rounded(step: float, low: float, high: float) -> Epilogue:
    return Epilogue(before=grid(step, low, high))


def graph_of(builder: GraphBuilder, *outputs: str) -> Graph:
    graph = builder.graph(*outputs)
    return graph.with_tensors(
        {name: replace(t, dtype="float32") for name, t in graph.tensors.items()}
    )


def test_what_mixes_grids_has_none() -> None:
    b = GraphBuilder()
    x = b.input(1, 4, 2, 2)
    one = b.node("Unary", (x,), b.shape(x), epilogue=rounded(0.5, 0, 255), out="one")
    other = b.node("Unary", (x,), b.shape(x), epilogue=rounded(0.25, 0, 255), out="other")
    b.node("Concat", (one, one), (1, 8, 2, 2), {"axis": 1}, out="same")
    b.node("Concat", (one, other), (1, 8, 2, 2), {"axis": 1}, out="mixed")
    b.node("Concat", (one, b.normal(1, 4, 2, 2)), (1, 8, 2, 2), {"axis": 1}, out="constant")
    pads = {"pads": (0, 0, 1, 1, 0, 0, 1, 1), "mode": "constant"}
    b.node("Pad", (one,), (1, 4, 4, 4), {**pads, "value": 0.0}, out="zeros")
    b.node("Pad", (one,), (1, 4, 4, 4), {**pads, "value": 0.3}, out="between")
    b.node("Unary", (one,), b.shape(x), epilogue=Epilogue(Activation("relu")), out="relu")
    b.node("Unary", (one,), b.shape(x), epilogue=Epilogue(Activation("sigmoid")), out="others")
    b.node("Unary", (one,), b.shape(x), epilogue=rounded(0.5, 0, 256), out="wide")
    b.node("Unary", (one,), b.shape(x), epilogue=Epilogue(residual=other), out="sum")
    b.node("Unary", (x,), b.shape(x), epilogue=rounded(2.0**101, 0, 255), out="extreme")
    found = encodings_of(graph_of(b, "mixed", "constant", "zeros", "between", "relu", "wide"))
    assert found == {
        "one": int8(0.5, -128),
        "other": int8(0.25, -128),
        "relu": int8(0.5, -128),
        "same": int8(0.5, -128),
        "wide": int16(0.5, 0),
        "zeros": int8(0.5, -128),
    }


def test_chosen_and_left_out(tmp_path: Path) -> None:
    graph = optimised(tmp_path, "int8")
    every = lossless(graph)
    assert set(every.values()) == {"int8"}
    plain = choose.select(graph, HOST).graph
    kept = choose.select(graph, HOST, integers=EVERY_RESULT).graph
    asked = choose.select(graph, HOST, storage={"*:output": "int8"}).graph
    assert storages(plain) == {}
    assert storages(kept) == storages(asked)
    assert all(map(scaled_encoding, storages(kept).values()))
    assert storages(kept).keys() >= set(encodings_of(graph)) & set(storable(graph))
    for name, tensor in kept.tensors.items():
        if tensor.storage.scale:  # one that is converted has its layout behind its name
            whole = plain[name.partition(":")[0]]
            assert tensor_bytes(tensor) == tensor.elements == whole.elements
    first = next(node for node in graph.nodes if node.op == "Conv")
    other = {f"{first.name}:output": "flyte16"}
    mine = choose.select(graph, HOST, storage=other, integers=EVERY_RESULT).graph
    assert str(mine[first.output].storage) == "flyte16"
    all_float = choose.select(
        graph, HOST, storage={"*:output": "float32"}, integers=EVERY_RESULT
    ).graph
    assert storages(all_float) == {}


def storages(graph: Graph) -> dict[str, str]:
    def stored(tensor: Tensor) -> bool:
        return tensor.dtype == "float32" and tensor.storage != FLOAT32

    return {t.name: str(t.storage) for t in graph.activations() if stored(t)}


def test_refuses_what_the_model_does_not_round() -> None:
    b = GraphBuilder()
    x = b.input(1, 4, 2, 2)
    y = b.node("Unary", (x,), b.shape(x), epilogue=Epilogue(Activation("relu")), out="y")
    b.node("Unary", (y,), b.shape(x), epilogue=Epilogue(Activation("abs")), out="z")
    graph = graph_of(b, "z")
    with pytest.raises(EdgeconvError) as error:
        store_tensors(graph, {graph.nodes[0].name: "int8"})
    assert error.value.code == 2
    assert "QuantizeLinear" in str(error.value.rule)
    assert storages(store_tensors(graph, {"*": "int8"})) == {}


def test_integers_in_and_out_are_views(tmp_path: Path) -> None:
    """int8 inputs are read where the caller has them; uint8 ones are other bytes."""
    for dtype, view in (("int8", True), ("uint8", False)):
        choice = choose.select(optimised(tmp_path, dtype), HOST, integers=EVERY_RESULT)
        layer = next(entry for entry in choice.layers if entry.node.op == "Dequantise")
        assert (layer.algorithm == "view") is view
        assert layer.free_if_aliased is view


@pytest.mark.parametrize("scaled", [False, True])
def test_pixels_that_come_in_as_integers_are_no_rounding(scaled: bool, tmp_path: Path) -> None:
    """What a camera gives a network in float32."""
    whole = helper.make_node("Cast", ["x"], ["f"], to=TensorProto.FLOAT)
    if scaled:
        whole = helper.make_node("DequantizeLinear", ["x", "s", "z"], ["f"])
    nodes = [
        whole,
        helper.make_node("Transpose", ["f"], ["t"], perm=[0, 3, 1, 2]),
        helper.make_node("Conv", ["t", "w"], ["c"]),
        helper.make_node("Sigmoid", ["c"], ["y"]),
    ]
    constants: dict[str, Values] = {
        "w": np.ones((2, 3, 1, 1), np.float32),
        "s": np.array(1 / 255, np.float32),
        "z": np.array(0, np.uint8),
    }
    model = onnx_models.model(
        nodes, {"x": (1, 4, 4, 3)}, {"y": None}, constants, input_type=TensorProto.UINT8
    )
    graph = frontend.load(onnx_models.save(model, tmp_path / "net.onnx"))
    assert not rounds(graph)
    assert not rounds(passes.optimise(graph))


def test_a_quantised_network_rounds(tmp_path: Path) -> None:
    graph = frontend.load(onnx_models.save(tiny()[0], tmp_path / "net.onnx"))
    assert rounds(graph)
    assert rounds(passes.optimise(graph))


def test_what_is_joined_lies_on_one_grid() -> None:
    """Half of a symmetric grid, as a ReLU leaves it, beside the whole, and what is moved with it;
    not where the integers of both do not fit eight bits."""
    half, whole, wide = grid(0.5, 0, 127), grid(0.5, -128, 127), grid(0.5, -128, 255)
    for other, alike in ((whole, True), (wide, False)):
        b = GraphBuilder()
        x = b.input(1, 3, 4, 4)
        one = b.conv(x, 4, epilogue=Epilogue(before=half))
        two = b.conv(x, 4, epilogue=Epilogue(before=other))
        both, part = b.concat(1, one, two), b.slice(one, 2, 0, 2)
        graph = b.graph(both, part)
        real = {name: replace(each, dtype="float32") for name, each in graph.tensors.items()}
        found = encodings_of(replace(graph, tensors=real))
        if alike:
            assert {found[name] for name in (one, two, both, part)} == {int8(0.5, 0)}
        else:
            assert found[one] == found[part] == int8(0.5, -128)
            assert both not in found


_FUNCTIONS = (
    Activation("relu"),
    Activation("clip", -0.5, 1.25),
    Activation("clip", -0.5, 1.3),
    Activation("clip", -9.0, 9.0),
    Activation("abs"),
    Activation("neg"),
    Activation("sigmoid"),
)


@pytest.mark.parametrize("function", _FUNCTIONS, ids=lambda each: f"{each}")
@pytest.mark.parametrize("low", [-128.0, -3.0, 5.0])
def test_what_a_function_makes_of_a_grid(function: Activation, low: float) -> None:
    """Every number of the grid that is said to come of it, and none besides; None where others
    come."""
    known = grid(0.25, low, 127.0)
    numbers = np.arange(known.beta, known.gamma + 1) * known.alpha
    made = evaluate(function, numbers)
    found = image(known, function)
    if (made / known.alpha != np.rint(made / known.alpha)).any():
        assert found is None
        return
    assert found is not None
    assert (found.beta * found.alpha, found.gamma * found.alpha) == (made.min(), made.max())


@pytest.mark.parametrize("what", ["relu", "clip", "abs", "neg", "pool", "max"])
def test_what_stays_on_a_grid_is_stored_as_integers(what: str) -> None:
    """A layer behind a ReLU, a Clip or a maximum of rounded numbers that something else reads too
    reads integers."""
    b, rounded = GraphBuilder(), Epilogue(before=grid(0.5, -128, 127))
    x, other = (
        b.node("Unary", (b.input(1, 4, 6, 6),), (1, 4, 6, 6), {}, epilogue=rounded)
        for _ in range(2)
    )
    made = {
        "relu": lambda: b.unary(x, "relu"),
        "clip": lambda: b.unary(x, "clip", -1.0, 6.0),
        "abs": lambda: b.unary(x, "abs"),
        "neg": lambda: b.unary(x, "neg"),
        "pool": lambda: b.unary(b.pool(x, "max", 3), "relu"),
        "max": lambda: b.binary("max", x, other),
    }[what]()
    y = b.conv(made, 4)
    graph = passes.optimise(b.graph(y, b.unary(x, "sigmoid")))
    (conv,) = (node for node in graph.nodes if node.op == "Conv")
    form = integers_for(rounded_to(graph)[conv.inputs[0]])
    assert form is not None
    assert form.bits == 8
    assert form.scale == (0.5,)
