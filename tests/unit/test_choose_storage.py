"""Formats of filters: who gets which, what that changes in a project, and what is refused."""

from __future__ import annotations

import json
import re
from dataclasses import replace
from pathlib import Path

import numpy as np
import onnx
import pytest
from onnx import TensorProto, helper

from edgeconv.app.pipeline import CompileOptions, decide
from edgeconv.base.errors import EdgeconvError
from edgeconv.codegen.emit import weight_image
from edgeconv.codegen.equal_constants import encoded
from edgeconv.ir.encoding import FLOAT32, INT4, INT8, Encoding
from edgeconv.ir.graph import Graph, Node, Tensor
from edgeconv.kernels.algorithms.packing import (
    has_units,
    in_units,
    rounded,
    rounded_weights,
    units_of,
)
from edgeconv.kernels.storage import formats
from edgeconv.search.choose.storage import (
    has_storage,
    store_weights,
    stored_formats,
    weight_formats,
)
from tests import onnx_models
from tests.command import BOARD, Command
from tests.recurrent_models import Recurrent

CONVOLUTIONS = ("direct", "depthwise", "sconv", "dense")


def graph(weights: float = 1.0) -> Graph:
    """A convolution, an activation, a dense layer."""
    tensors = {
        "x": Tensor("x", (1, 2, 3, 3)),
        "w": Tensor("w", (4, 2, 1, 1), data=np.full((4, 2, 1, 1), weights, np.float32)),
        "v": Tensor("v", (5, 36), data=np.ones((5, 36), np.float32)),
    }
    nodes = (
        Node("a", "Conv", ("x", "w"), ("y",)),
        Node("b", "Unary", ("y",), ("z",)),
        Node("c", "Dense", ("z", "v"), ("p",)),
    )
    return Graph("g", nodes, tensors, ("x",), ("p",))


def stored(of: Graph) -> dict[str, str]:
    return {n.name: str(n.storage) for n in of.nodes if has_storage(n)}


def test_formats_of_weights() -> None:
    assert set(weight_formats()) == {"float32", "flyte24", "flyte16", "flyte8", "int8", "int4"}
    assert stored_formats() == set(weight_formats()) - {"float32"}


def test_every_layer_and_named_ones() -> None:
    assert stored(store_weights(graph(), {})) == {}
    assert stored(store_weights(graph(), {"*": "int8"})) == {"a": "int8", "c": "int8"}
    both = {"*": "int8", "c": "float32"}
    assert stored(store_weights(graph(), both)) == {"a": "int8", "c": "float32"}
    assert stored(store_weights(graph(), {"c": "flyte8"})) == {"c": "flyte8"}


def test_rounded_weights_are_float32() -> None:
    twin = rounded_weights(graph(), {"c": "flyte8"})
    assert stored(twin) == {}
    got = {
        node.name: twin[node.inputs[1]].constant() for node in twin.nodes if len(node.inputs) > 1
    }
    np.testing.assert_array_equal(got["a"], graph()["w"].constant())
    np.testing.assert_array_equal(
        got["c"], rounded(graph()["v"].constant().astype(np.float32), formats()["flyte8"])
    )


def with_units(units: tuple[float, ...]) -> Node:
    return Node("a", "Conv", ("x", "w"), ("y",), {"storage": Encoding(8).scaled(units)})


def test_units_of_the_node_come_first() -> None:
    weights = np.array([[1.0], [3.0], [0.0], [-5.0]], np.float32).reshape(4, 1, 1, 1)
    node = with_units((0.5, 1.5, 1.0, 2.5))
    units = units_of(node, weights)
    assert units is not None
    np.testing.assert_array_equal(units, [0.5, 1.5, 1.0, 2.5])
    assert has_units(node)
    stored = in_units(weights, formats()["flyte8"], units)
    np.testing.assert_array_equal(stored.ravel(), [2, 2, 0, -2])
    flyte16 = replace(node, attrs={"storage": Encoding(16)})
    assert units_of(flyte16, weights) is None
    assert has_units(replace(node, attrs={"storage": Encoding(16).scaled((1.0,) * 4)}))
    assert not has_units(replace(node, attrs={**node.attrs, "storage": FLOAT32}))


def test_units_of_one_format_are_none_of_another() -> None:
    """A layer of a quantised model, which --storage names another format for."""
    own = Node(
        "a", "Conv", ("x", "w"), ("y",), {"storage": INT8.scaled((0.25,) * 4), "exact": True}
    )
    model = graph(weights=0.3)
    model = replace(model, nodes=(own, *model.nodes[1:]))
    asked = store_weights(model, {"a": "int4"}).nodes[0]
    assert asked.storage == INT4
    assert not asked.exact
    (found,) = (n for n in rounded_weights(model, {"a": "int4"}).nodes if n.name == "a")
    weights = rounded_weights(model, {"a": "int4"})[found.inputs[1]].constant()
    np.testing.assert_array_equal(
        weights, rounded(model["w"].constant().astype(np.float32), formats()["int4"])
    )


@pytest.mark.parametrize("name", sorted(stored_formats()))
def test_what_was_rounded_in_units_is_stored_exactly(name: str) -> None:
    """Rounding, and encoding again what a network then computes with: the same bytes."""
    rng, form = np.random.default_rng(4), formats()[name]
    units = rng.uniform(0.01, 3, 6).astype(np.float32)
    weights = rng.normal(size=(6, 50)).astype(np.float32)
    once = rounded(weights, form, units)
    data = form.encode(in_units(weights, form, units))
    assert form.encode(in_units(once, form, units)) == data


@pytest.mark.parametrize(
    ("wanted", "words"),
    [
        ({"d": "int8"}, ["no layer", "'d'", "a, c"]),
        ({"b": "int8"}, ["without filters", "b", "Unary", "Conv, Dense, Recurrent"]),
        ({"a": "int9"}, ["unknown storage format", "did you mean int8"]),
        ({"*": "int32"}, ["unknown storage format", "'int32'"]),
    ],
)
def test_refused(wanted: dict[str, str], words: list[str]) -> None:
    with pytest.raises(EdgeconvError) as caught:
        store_weights(graph(), wanted)
    assert caught.value.code == 2
    assert all(word in caught.value.one_line() for word in words)


@pytest.mark.parametrize("weights", [np.inf, np.nan])
def test_units_need_finite_weights(weights: float) -> None:
    store_weights(graph(weights), {"a": "flyte16", "c": "int8"})
    with pytest.raises(EdgeconvError, match="finite") as caught:
        store_weights(graph(weights), {"a": "int8"})
    assert "a" in caught.value.one_line()


@pytest.mark.parametrize("name", sorted(stored_formats()))
def test_rounding_twice_is_rounding_once(name: str) -> None:
    rng = np.random.default_rng(3)
    weights = rng.standard_normal((5, 3, 2, 2)).astype(np.float32)
    weights[2] = 0.0
    once, form = rounded(weights, formats()[name]), formats()[name]
    most = np.abs(weights).max(axis=(1, 2, 3), keepdims=True)
    bound = most / (2 * min(form.largest, 2.0**30)) * 1.0001
    assert (np.abs(once - weights) <= np.maximum(bound, form.relative_error * abs(weights))).all()
    np.testing.assert_allclose(rounded(once, form), once, rtol=1e-6)


@pytest.mark.parametrize("name", sorted(weight_formats()))
def test_image_and_report_count_bytes_of_the_format(residual_model: Path, name: str) -> None:
    form = formats()[name]
    plain = decide(CompileOptions(residual_model, BOARD)).choice.layers
    chosen = decide(CompileOptions(residual_model, BOARD, storage={"*": name}))
    layers = {layer["name"]: layer for layer in chosen.report["layers"]}
    seen = 0
    for before, layer in zip(plain, chosen.choice.layers, strict=True):
        if before.algorithm not in CONVOLUTIONS:
            continue
        seen += 1
        filters, bias = layer.blobs
        assert filters.bytes == form.encoding.bytes_of(filters.elements) == len(encoded(filters))
        # Rows of int4 begin with a byte: of an odd number of taps or filters.
        most = before.blobs[0].elements // (4 if name == "int4" else 1 << 30)
        assert 0 <= filters.elements - before.blobs[0].elements <= most
        assert bias.bytes == (1 + form.scaled) * before.blobs[1].bytes == len(encoded(bias))
        told = layers[layer.node.name]
        assert told["storage"] == {"weights": name, "output": "float32"}
        assert told["weight_bytes"] == filters.bytes + bias.bytes
    assert seen > 3


def test_sconv_takes_stored_filters(residual_model: Path) -> None:
    """Decoded to memory, behind the packed panels."""
    algorithms = {"stem": "sconv"}
    made = {}
    for name in ("float32", "flyte16"):
        options = CompileOptions(
            residual_model, BOARD, algorithms=algorithms, storage={"stem": name}
        )
        layers = decide(options).choice.layers
        made[name] = next(layer for layer in layers if layer.algorithm == "sconv")
    assert made["flyte16"].workspace_bytes > made["float32"].workspace_bytes
    assert made["flyte16"].blobs[0].bytes == made["float32"].blobs[0].bytes // 2


def test_command_and_comments_name_the_formats(
    edgeconv: Command, residual_model: Path, tmp_path: Path
) -> None:
    formats_of = ("--storage", "stem=int8", "--storage", "*=flyte16")
    edgeconv.ok("compile", residual_model, "--board", BOARD, *formats_of, "-o", tmp_path / "out")
    text = " ".join((tmp_path / "out" / "net.c").read_text().split())
    assert "--storage '*=flyte16' --storage stem=int8" in text
    assert re.search(r'Conv "stem, [^*]*bytes of weights, filters in int8 \*/', text)
    assert text.count("filters in flyte16 */") > 2


def test_only_programs_that_decode_have_decoders(
    edgeconv: Command, residual_model: Path, tmp_path: Path
) -> None:
    for name, found in (("float32", False), ("flyte8", True)):
        out = tmp_path / name
        options = ("--board", BOARD, "--storage", f"*={name}", "-o", out)
        edgeconv.ok("compile", residual_model, *options)
        assert ("EC_F24" in (out / "net_runtime.h").read_text()) is found


def test_naming_float32_changes_nothing(
    edgeconv: Command, residual_model: Path, tmp_path: Path
) -> None:
    texts = []
    for extra in ((), ("--storage", "*=float32")):
        out = tmp_path / str(len(extra))
        edgeconv.ok("compile", residual_model, "--board", BOARD, *extra, "-o", out)
        texts.append(re.sub(r"  command .*", "", (out / "net.c").read_text()))
    assert texts[0] == texts[1]


def test_layout_hash_tells_formats_apart(residual_model: Path) -> None:
    hashes = set()
    for name in weight_formats():
        chosen = decide(CompileOptions(residual_model, BOARD, storage={"*": name}))
        hashes.add(weight_image(chosen.choice, chosen.memory).layout_hash)
    assert len(hashes) == len(weight_formats())


def test_traffic_follows_the_format(tmp_path: Path) -> None:
    """A layer with 2.25 MiB of filters behind the last cache: they are most of what it moves.

    Winograd's algorithm, which is for float32 alone, has filters of its own.
    """
    path = onnx_models.save(
        onnx_models.convolution(256, 256, (1, 256, 7, 7)), tmp_path / "far.onnx"
    )
    moved = {}
    for name in ("float32", "flyte16"):
        options = CompileOptions(path, "x86-64-v3", storage={"*": name}, winograd_error=0.0)
        (layer,) = [each for each in decide(options).report["layers"] if each["op"] == "Conv"]
        moved[name] = layer["traffic_bytes"]["DRAM"], layer["traffic_lower_bound_bytes"]
    filters = 4 * 256 * 256 * 9
    for before, after in zip(moved["float32"], moved["flyte16"], strict=True):
        # Decoding in blocks takes the input past them in other pieces.
        assert before - after == pytest.approx(filters / 2, rel=0.1)


def test_weights_that_keep_their_format_are_said(edgeconv: Command, tmp_path: Path) -> None:
    """``*`` does not mean a table of words, which no kernel decodes."""
    node = helper.make_node("Gather", ["table", "words"], ["y"])
    table = {"table": np.ones((6, 4), np.float32)}
    onnx.save(
        onnx_models.model(
            [node], {"words": (3,)}, {"y": (3, 4)}, table, input_type=TensorProto.INT64
        ),
        tmp_path / "words.onnx",
    )
    compiled = ("compile", tmp_path / "words.onnx", "--board", BOARD, "-o", tmp_path / "words")
    note = "stay float32 (96 bytes): formats are for constant weights of Conv, Dense"
    assert note not in edgeconv.ok(*compiled).stderr
    said = edgeconv.ok(*compiled, "--storage", "*=int8").stderr
    assert re.search(rf"weights of Pick '[^']+' {re.escape(note)}", said)


def test_weights_of_recurrent_states_are_stored_and_verified(
    edgeconv: Command, tmp_path: Path
) -> None:
    """In units of a row each, held to the layer in float32 with the weights in the image."""
    model, _ = Recurrent("GRU", (3, 1, 4, 12), {"linear_before_reset": 1}).built()
    onnx.save(model, tmp_path / "gru.onnx")
    asked = ("--board", "generic-c", "--storage", "*=int8", "--build", "--verify", "-o")
    said = edgeconv.ok("compile", tmp_path / "gru.onnx", *asked, tmp_path / "gru").stderr
    assert "stay float32" not in said
    report = json.loads((tmp_path / "gru" / "report.json").read_text())
    stored = {each["op"]: each for each in report["layers"] if each["weight_bytes"]}
    assert {stored[op]["storage"]["weights"] for op in ("Dense", "Recurrent")} == {"int8"}
    rows = 3 * 12
    assert stored["Recurrent"]["weight_bytes"] == rows * 12 + 4 * rows + 4 * 12  # units, bias
    verified = edgeconv.ok("verify", tmp_path / "gru").stdout
    assert "Y_h against the same weights in float32: relative error" in verified
