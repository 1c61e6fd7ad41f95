"""float16 as the type of vectors: where it is offered, what it changes, what is refused."""

from __future__ import annotations

from dataclasses import replace
from itertools import pairwise
from pathlib import Path

import numpy as np
import pytest

from edgeconv.app.pipeline import CompileOptions, compile_model, decide, verify_project
from edgeconv.base.errors import EdgeconvError
from edgeconv.codegen.instances import on_float16
from edgeconv.ir.candidate import HALF
from edgeconv.ir.choice import Choice, tensor_bytes
from edgeconv.ir.encoding import FLOAT16, FLOAT32, TWO_WORDS, Encoding
from edgeconv.ir.graph import Graph, Node, Tensor
from edgeconv.kernels import float16
from edgeconv.kernels.storage import formats
from edgeconv.run.verify.stored import _beyond_sums
from edgeconv.search.calibration.engine import Engine
from edgeconv.search.choose import select
from edgeconv.search.choose.storage import EVERY_LAYER, tensor_formats, weight_formats
from edgeconv.target import board as boards
from tests.command import Command
from tests.onnx_models import residual, save

PI5 = boards.load("raspberry-pi-5")
EVERY = (EVERY_LAYER,)


def graph() -> Graph:
    """A 3x3 convolution, a depthwise one behind it, and a Softmax."""
    rng = np.random.default_rng(0)

    def weights(name: str, *shape: int) -> Tensor:
        return Tensor(name, shape, data=rng.standard_normal(shape, np.float32))

    attrs = {"kernel": (3, 3), "strides": (1, 1), "dilations": (1, 1), "pads": (1, 1, 1, 1)}
    nodes = (
        Node("a", "Conv", ("x", "w"), ("y",), {**attrs, "groups": 1}),
        Node("b", "Conv", ("y", "v"), ("z",), {**attrs, "groups": 16}),
        Node("c", "Softmax", ("z",), ("out",), {"axis": 1}),
    )
    tensors = (
        Tensor("x", (1, 3, 12, 12)),
        weights("w", 16, 3, 3, 3),
        Tensor("y", (1, 16, 12, 12)),
        weights("v", 16, 1, 3, 3),
        Tensor("z", (1, 16, 12, 12)),
        Tensor("out", (1, 16, 12, 12)),
    )
    return Graph("g", nodes, {t.name: t for t in tensors}, ("x",), ("out",))


def computes(choice: Choice) -> dict[str, str]:
    return {layer.node.name: layer.compute for layer in choice.layers}


def test_boards_say_which_cores_compute_with_it() -> None:
    stated = {name for name in boards.names() if "float16" in boards.load(name).features}
    assert "raspberry-pi-5" in stated
    assert "raspberry-pi-4" not in stated
    march = [flag for flag in PI5.flags if flag.startswith("-march=")]
    assert march == ["-march=armv8.2-a+dotprod+fp16"]


def test_only_where_asked_for() -> None:
    assert HALF not in computes(select(graph(), PI5.target)).values()


def test_what_only_such_layers_touch_is_stored_so() -> None:
    """Inputs and outputs stay float32, and what other layers read."""
    choice = select(graph(), PI5.target, float16=EVERY)
    found = computes(choice)
    assert (found["a"], found["b"], found["c"]) == (HALF, HALF, "float32")
    stored = {name: choice.graph[name].storage for name in ("x", "y", "z", "out")}
    assert stored == {"x": FLOAT32, "y": FLOAT16, "z": FLOAT32, "out": FLOAT32}
    y = choice.graph["y"]
    assert tensor_bytes(y) == 2 * y.layout.elements(y.shape)
    (first,) = (layer for layer in choice.layers if layer.node.name == "a")
    assert {blob.storage for blob in first.blobs} == {FLOAT16}
    assert first.candidate
    assert first.candidate.workspace_bytes == first.workspace_bytes


def test_named_layers_alone() -> None:
    choice = select(graph(), PI5.target, float16=("b",))
    found = computes(choice)
    assert (found["a"], found["b"]) == ("float32", HALF)
    assert choice.graph["y"].storage == FLOAT32


def test_weights_beyond_its_range_stay_float32() -> None:
    own = graph()
    large = np.asarray(own["w"].constant(), np.float32) * np.float32(1e6)
    own = own.with_tensors({"w": replace(own["w"], data=large)})
    assert computes(select(own, PI5.target, float16=EVERY))["a"] == "float32"


def test_words_of_two_bytes() -> None:
    """Caches hold twice as many elements, and a vector multiply-add takes the same time."""
    target, half = PI5.target, PI5.target.of_float16
    assert half
    assert [2 * cache.size for cache in target.caches] == [cache.size for cache in half.caches]
    assert half.lanes == 2 * target.lanes
    assert half.slot_cycles == target.slot_cycles
    assert (half.element_bytes, target.element_bytes) == (2, 4)
    assert replace(target, features=frozenset()).of_float16 is None


def test_a_core_without_it(tmp_path: Path, edgeconv: Command) -> None:
    with pytest.raises(EdgeconvError, match="--float16 needs a core"):
        select(graph(), boards.load("raspberry-pi-4").target, float16=EVERY)
    text = boards.load("raspberry-pi-4").path.read_text().replace("neon", "portable")
    path = tmp_path / "raspberry-pi-4.toml"
    path.write_text(text.replace("cores = 4", "cores = 4\nfloat16 = true", 1))
    with pytest.raises(EdgeconvError, match="float16.*no kernel for portable"):
        boards.check(path)


def test_limits_are_refused(tmp_path: Path) -> None:
    model = save(residual(), tmp_path / "model.onnx")
    with pytest.raises(EdgeconvError, match="--float16 together with --min-sqnr"):
        decide(CompileOptions(model, "raspberry-pi-5", float16=True, min_sqnr=30.0))


def test_encodings_and_formats() -> None:
    assert str(FLOAT16) == "float16"
    assert str(Encoding(16)) == "flyte16"
    assert Encoding(16) != FLOAT16
    assert not {str(FLOAT16), str(TWO_WORDS)} & {*weight_formats(), *tensor_formats()}
    form = formats()["float16"]
    values = np.array([1.0, 1 / 3, 65504, 65520, 6e-8, 2.9e-8, -0.0, np.inf], np.float32)
    with np.errstate(over="ignore"):
        wanted = values.astype(np.float16).astype(np.float32)
    assert np.array_equal(form.rounded(values), wanted)


def test_instances_have_names_of_their_own() -> None:
    text = "EC_INLINE void ec_f(const float *p, int n) { ec_g(p, EC_F32, ec_min_i(n, EC_VL)); }"
    assert on_float16(text) == (
        "EC_INLINE void ec_h_f(const ec_h_real *p, int n) "
        "{ ec_h_g(p, EC_H_F16, ec_min_i(n, EC_H_VL)); }"
    )
    assert on_float16("ec_##row##_read EC_ROW_##ROW") == "ec_h_##row##_read EC_H_ROW_##ROW"


def test_sums_may_be_off_by_what_they_promise_and_no_more() -> None:
    rng = np.random.default_rng(1)
    wanted = rng.standard_normal(1000).astype(np.float32)
    largest = float(np.abs(wanted).max())
    near = wanted + rng.normal(0, 0.001 * largest, 1000).astype(np.float32)
    assert np.array_equal(_beyond_sums(near, wanted, 0.02), wanted)
    one_wrong = near.copy()
    one_wrong[7] += 0.1 * largest
    assert (
        np.abs(np.asarray(_beyond_sums(one_wrong, wanted, 0.02), np.float32) - wanted).max()
        > 0.05 * largest
    )
    all_off = wanted + np.float32(0.01 * largest)  # none by itself, but as a whole
    assert np.array_equal(_beyond_sums(all_off, wanted, 0.02), all_off)


def test_the_reference_rounds_as_numpy_does() -> None:
    """Subnormal numbers, ties, and what becomes infinite among them."""
    rng = np.random.default_rng(2)
    bits = rng.integers(0, 2**16, 4000, dtype=np.uint16).view(np.float16).astype(np.float32)
    scales = rng.choice(np.array([1, 1 + 2**-11, 1 + 2**-12, 1 - 2**-12], np.float32), bits.size)
    edges = np.array(
        [65519.996, 65520, -65520, 2**-25, 3 * 2**-26, 2**-24, 0, -0.0, np.inf], np.float32
    )
    with np.errstate(invalid="ignore", over="ignore"):
        x = np.nan_to_num(np.concatenate([bits * scales, edges]), posinf=np.inf, neginf=-np.inf)
        want = x.astype(np.float16).astype(np.float32)
    names = ("x", "y", "z")
    nodes = tuple(Node(b, "Unary", (a,), (b,)) for a, b in pairwise(names))
    own = Graph("g", nodes, {n: Tensor(n, (x.size,)) for n in names}, ("x",), ("z",))
    engine = Engine(own)
    try:
        got = engine.run({"x": x}, activations={"y": "float16"})["z"]
    finally:
        engine.close()
    assert np.array_equal(got, want)


def test_able() -> None:
    own = graph()
    a, b, c = own.nodes
    assert float16.able(a, own)
    assert float16.able(b, own)
    assert not float16.able(c, own)


def test_a_network(tmp_path: Path) -> None:
    """Emitted, built, run under QEMU, and held to its own weights in float32 layer by layer."""
    options = CompileOptions(
        save(residual(), tmp_path / "model.onnx"), "raspberry-pi-5", float16=True
    )
    project, _ = compile_model(options, tmp_path / "out")
    assert "--float16" in project.report["program"]["command"]
    layers = [layer for layer in project.report["layers"] if layer.get("compute") == HALF]
    assert layers
    assert all(0 < layer["error"] < 0.1 for layer in layers)
    assert verify_project(tmp_path / "out").passed
