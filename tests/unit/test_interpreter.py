"""Networks evaluated in numpy for quantisation: held to float64, operator by operator."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import replace

import numpy as np
import numpy.typing as npt
import pytest
from hypothesis import given
from hypothesis import strategies as some

from edgeconv.ir.activation import Activation, grid
from edgeconv.ir.filters import Filters
from edgeconv.ir.graph import Epilogue, Graph
from edgeconv.search.calibration.interpreter import Interpreter, interprets
from tests.ir_builder import GraphBuilder
from tests.ir_interpreter import activate, evaluate

SAMPLES = 3
CLOSE = 1e-4
RELU = Epilogue(before=Activation("relu"))


def single(graph: Graph) -> Graph:
    """``graph`` of float32."""
    tensors = {
        name: replace(
            tensor,
            dtype="float32" if tensor.dtype == "float64" else tensor.dtype,
            data=tensor.data.astype(np.float32)
            if tensor.data is not None and tensor.data.dtype.kind == "f"
            else tensor.data,
        )
        for name, tensor in graph.tensors.items()
    }
    return replace(graph, tensors=tensors)


def check(builder: GraphBuilder, output: str) -> None:
    """Every tensor of several samples, run together, is what float64 makes of it."""
    graph = builder.graph(output)
    compared = single(graph)
    assert interprets(compared)
    engine = Interpreter(compared)
    rng = np.random.default_rng(0)
    samples = [
        {name: rng.standard_normal(graph[name].shape, np.float32) for name in graph.inputs}
        for _ in range(SAMPLES)
    ]
    for sample, found in zip(
        samples, engine.run_each(samples, capture=engine.tensors), strict=True
    ):
        wanted = evaluate(graph, sample)
        assert {*found} == {*engine.tensors}
        for name, values in found.items():
            assert values.shape == graph[name].shape
            assert values.dtype == np.float32
            np.testing.assert_allclose(values, wanted[name], CLOSE, CLOSE, err_msg=name)


@given(
    some.integers(1, 3),
    some.integers(1, 2),
    some.integers(1, 4),
    some.integers(1, 3),
    some.integers(0, 2),
    some.integers(1, 3),
    some.integers(4, 9),
    some.sampled_from(["one", "some", "depthwise"]),
)
def test_convolutions(
    rank: int, n: int, in_c: int, kernel: int, pad: int, stride: int, size: int, groups: str
) -> None:
    builder = GraphBuilder()
    in_c *= 2
    number = {"one": 1, "some": 2, "depthwise": in_c}[groups]
    x = builder.input(n, in_c, *(size + axis for axis in range(rank)))
    y = builder.conv(x, in_c, kernel, pad, stride, number, epilogue=RELU)
    check(builder, builder.conv(y, 3, 1, bias=False))


@given(
    some.sampled_from(["max", "average"]),
    some.integers(1, 3),
    some.integers(1, 3),
    some.booleans(),
    some.integers(1, 2),
)
def test_pools(mode: str, kernel: int, stride: int, counted: bool, dilation: int) -> None:
    builder = GraphBuilder()
    x = builder.input(2, 3, 7, 8)
    pad = min(1, kernel - 1)
    if mode == "average":
        dilation = 1
    check(builder, builder.pool(x, mode, kernel, stride, pad, counted, dilation=dilation))


@pytest.mark.parametrize("mode", ["max", "average"])
def test_pools_of_whole_images(mode: str) -> None:
    builder = GraphBuilder()
    x = builder.input(2, 3, 7, 7)
    check(builder, builder.pool(x, mode, 7))


def _of(op: str, shape: tuple[int, ...], **attrs: object) -> Callable[[GraphBuilder], str]:
    return lambda builder: builder.node(op, (builder.input(2, 3, 4),), shape, attrs)


OPERATORS: dict[str, Callable[[GraphBuilder], str]] = {
    "dense": lambda b: b.dense(b.dense(b.input(2, 5, 6), 4), 3, bias=False),
    "product": lambda b: b.node("MatMul", (b.input(2, 3, 4), b.input(4, 5)), (2, 3, 5)),
    "product of a constant": lambda b: b.node(
        "MatMul", (b.normal(7, 2, 3), b.input(3, 4)), (7, 2, 4)
    ),
    "broadcast": lambda b: b.binary("mul", b.input(2, 3, 4), b.input(3, 1)),
    "broadcast constant": lambda b: b.binary("sub", b.normal(5, 1, 4), b.input(3, 4)),
    "residual": lambda b: b.binary(
        "add",
        b.input(2, 3),
        b.input(2, 3),
        Epilogue(Activation("tanh"), b.input(2, 3), Activation("clip", -0.5, 0.5)),
    ),
    "affine": lambda b: b.affine(b.input(2, 3, 4)),
    "softmax": _of("Softmax", (2, 3, 4), axis=1, log=False),
    "log of softmax": _of("Softmax", (2, 3, 4), axis=-1, log=True),
    "mean": _of("Reduce", (2, 1, 4), kind="mean", axes=(1,), keepdims=True),
    "norm": _of("Reduce", (3,), kind="l2", axes=(0, 2), keepdims=False),
    "neighbours": _of("LRN", (2, 3, 4), size=3, alpha=0.1, beta=0.75, bias=1.0),
    "concat": lambda b: b.node(
        "Concat", (b.input(2, 3), b.normal(1, 3), b.input(1, 3)), (4, 3), {"axis": 0}
    ),
    "slice": _of("Slice", (2, 2, 4), starts=(0, 2, 3), steps=(1, -2, -1)),
    "transpose": _of("Transpose", (4, 2, 3), perm=(2, 0, 1)),
    "reshape": _of("Reshape", (6, 4)),
    "pad": lambda b: b.pad(b.input(2, 3, 4), (0, 1, 0, 1, 0, 2), 0.5),
    "reflect": lambda b: b.pad(b.input(2, 3, 4), (0, 0, 2, 0, 1, 1), mode="reflect"),
    "gather": lambda b: b.node(
        "Gather",
        (b.input(2, 3, 4), b.constant(np.array([[2, 0], [1, 1]]))),
        (2, 2, 2, 4),
        {"axis": 1},
    ),
    "expand": _of("Expand", (5, 2, 3, 4)),
    "tile": _of("Tile", (2, 6, 4), repeats=(1, 2, 1)),
    "sigmoid": lambda b: b.unary(b.input(3, 4), "sigmoid"),
    "nearest": _of(
        "Resize",
        (2, 3, 8),
        mode="nearest",
        scales=(1.0, 1.0, 2.0),
        coordinate_transformation_mode="asymmetric",
        nearest_mode="floor",
        cubic_coeff_a=-0.75,
        exclude_outside=0,
    ),
    "linear": _of(
        "Resize",
        (2, 3, 6),
        mode="linear",
        scales=(1.0, 1.0, 1.5),
        coordinate_transformation_mode="half_pixel",
        nearest_mode="floor",
        cubic_coeff_a=-0.75,
        exclude_outside=0,
    ),
}


@pytest.mark.parametrize("name", OPERATORS)
def test_operators(name: str) -> None:
    builder = GraphBuilder()
    check(builder, OPERATORS[name](builder))


def network() -> Graph:
    """Two layers."""
    builder = GraphBuilder()
    hidden = builder.dense(builder.input(1, 4, name="x"), 5)
    return single(builder.graph(builder.dense(hidden, 2)))


def bias_of(engine: Interpreter, layer: str) -> npt.NDArray[np.float32]:
    """What a layer adds."""
    bias = engine.parameters(layer).bias
    assert bias is not None
    return bias


def test_other_filters_and_grids() -> None:
    graph = network()
    engine = Interpreter(graph)
    first, second = graph.nodes
    sample = {"x": np.linspace(-1, 1, 4, dtype=np.float32)[None]}
    step = grid(0.25, -3.0, 4.0)
    own = Filters(np.ones((5, 4), np.float32))
    found = engine.run(
        sample,
        parameters={first.name: own},
        activations={first.output: step, "x": step},
        capture=["x", first.output],
    )
    x = activate(step, sample["x"].astype(np.float64))
    np.testing.assert_allclose(found["x"], x)
    hidden = activate(step, x @ own.weights.T + bias_of(engine, first.name))
    np.testing.assert_allclose(found[first.output], hidden)
    last = engine.parameters(second.name).weights
    wanted = hidden @ last.T + bias_of(engine, second.name)
    np.testing.assert_allclose(found[second.output], wanted, CLOSE, CLOSE)
    engine.adopt({first.name: own})
    np.testing.assert_array_equal(engine.parameters(first.name).weights, own.weights)


def test_what_is_not_interpreted() -> None:
    graph = network()
    first = graph.nodes[0]
    for other in (
        replace(first, op="Recurrent"),
        replace(first, outputs=(first.output, "more")),
        replace(first, epilogue=Epilogue(before=Activation("gelu"))),
    ):
        assert not interprets(replace(graph, nodes=(other, *graph.nodes[1:])))
    whole = {**graph.tensors, "x": replace(graph["x"], dtype="int32")}
    assert not interprets(replace(graph, tensors=whole))
