"""Layers of quantised models that are computed in float32: each has its reason, and no other."""

from __future__ import annotations

import math
import re
from collections.abc import Mapping
from dataclasses import replace
from pathlib import Path
from typing import Any

import numpy as np
import onnx
import pytest

from edgeconv.app.choice_notes import float32_notes
from edgeconv.app.deciding import Decider, Decision
from edgeconv.ir.activation import Activation, grid
from edgeconv.ir.encoding import FLOAT32, int8, int16
from edgeconv.ir.filters import ALONG_IN_C, IN_BLOCKS, SCALES_LIE
from edgeconv.ir.graph import Epilogue, Graph, Node, Tensor
from edgeconv.kernels.algorithms import no_integers as table
from edgeconv.search.choose.in_float32 import EVERY_REASON, in_integers
from edgeconv.search.choose.storage import weight_formats
from edgeconv.search.options import CompileOptions
from edgeconv.target import board as boards
from tests import quantised_models
from tests.command import Command
from tests.models import random_quantised

SCALAR, VECTORS, WITHOUT_FPU = "mps2-an500", "generic-c", "microbit"
NAMES = frozenset(reason.name for reason in EVERY_REASON)
# `random_quantised` draws every operator and type within these.
SEEDS = range(20)


def decided(
    model: onnx.ModelProto, folder: Path, board: str = WITHOUT_FPU, **asked: Any
) -> Decision:
    onnx.save(model, folder / "net.onnx")
    with Decider(CompileOptions(folder / "net.onnx", board, **asked)) as decider:
        return decider.decide()


def reasons(found: Decision) -> dict[str, str]:
    """By layer in float32 with multiply-accumulates its reason's name."""
    layers = found.report["layers"]
    return {each["name"]: each["in_float32"]["reason"] for each in layers if "in_float32" in each}


@pytest.mark.parametrize("board", [SCALAR, VECTORS, WITHOUT_FPU])
@pytest.mark.parametrize("dtype", ["", "int16"])
def test_float32_has_a_reason_and_integers_have_none(
    board: str, dtype: str, tmp_path: Path
) -> None:
    """Of random networks; and what is said to be faster in float32 can be asked for in integers."""
    for seed in SEEDS if board == SCALAR else SEEDS[:8]:
        found = decided(random_quantised.network(seed, dtype), tmp_path, board)
        named = reasons(found)
        layers = [layer for layer in found.choice.layers if layer.macs]
        assert named.keys() == {each.node.name for each in layers if not in_integers(each)}, seed
        assert NAMES.issuperset(named.values())
        assert found.report["integers"]["of_layers"] == len(layers)
        convs = {each.node.name for each in layers if each.node.op == "Conv"}
        faster = [name for name, why in named.items() if why == "faster" and name in convs]
        if faster and board == SCALAR:
            algorithm = "int16" if dtype else "integer"
            asked = dict.fromkeys(faster, algorithm)
            again = decided(random_quantised.network(seed, dtype), tmp_path, algorithms=asked)
            assert not set(faster) & reasons(again).keys(), seed


def one_layer(kind: str) -> onnx.ModelProto:
    """A convolution between two roundings, of which ``kind`` says what is otherwise."""
    net = quantised_models.Network(opset=21)
    q = net.dequantise("image", 0.02, 3)
    if kind == "input":
        q = net.node("Sigmoid", [q], "sigmoid")
    axis = 1 if kind == "filter-scales" else 0
    zero = 40 if kind == "zero-points" else 0
    dtype = {"filter-bits": "int16", "zero-points": "uint8", "four-bits": "int4"}.get(kind, "int8")
    w = net.filters("w", (8, 4, 3, 3), axis=axis, dtype=dtype, zero=zero)
    if kind == "filters":
        w = net.constant("real", net.rng.normal(size=(8, 4, 3, 3)).astype("float32"))
    y = net.node("Conv", [q, w], "y", pads=[1, 1, 1, 1])
    if kind == "activation":
        y = net.node("Sigmoid", [y], "activation")
    if kind == "result":
        y = net.node("Sigmoid", [y], "end")
        net.node("Identity", [y], "scores")
        return net.model({"image": ("int8", (1, 4, 6, 6))}, {"scores": ("float32", (1, 8, 6, 6))})
    net.node("Identity", [net.quantise(y, 0.05, -5)], "scores")
    return net.model({"image": ("int8", (1, 4, 6, 6))}, {"scores": ("int8", (1, 8, 6, 6))})


@pytest.mark.parametrize("board", [SCALAR, VECTORS, WITHOUT_FPU])
@pytest.mark.parametrize("kind", ["", "zero-points", "four-bits"])
def test_what_is_as_it_should_be_has_no_reason(kind: str, board: str, tmp_path: Path) -> None:
    """But that float32 is faster, on cores with an FPU: filters are int8 elsewhere, with zero
    points where they have any."""
    found = decided(one_layer(kind), tmp_path, board)
    if board != WITHOUT_FPU:
        assert set(reasons(found).values()) <= {"faster"}
        return
    assert not reasons(found)
    assert found.report["integers"]["macs"] == found.report["model"]["macs"] > 0
    assert not [note for note in found.notes if "float32" in note]


@pytest.mark.parametrize("kind", ["activation", "result"])
def test_float32_results_of_sums_have_none(kind: str, tmp_path: Path) -> None:
    """Sums are integers, whatever stands in front of the rounding, or if there is none."""
    found = decided(one_layer(kind), tmp_path, WITHOUT_FPU)
    assert not reasons(found)
    (layer,) = (each for each in found.report["layers"] if each["op"] == "Conv")
    assert layer["compute"] == "int8 to float32"
    assert found.report["integers"]["macs"] == found.report["model"]["macs"]


_LOST = {"storage": None}
_WIDE = {"storage": weight_formats()["flyte16"].encoding.scaled((0.1,))}
_NARROW = {"storage": weight_formats()["int4"].encoding.scaled((0.1,))}
_WHOLE, _STEPS = grid(0.1, -128.0, 127.0), grid(0.1, -0.5, 254.5)
_TANH = Activation("tanh")
# By reason: attributes of the layer, what its input is rounded to, its epilogue, and which of
# input, residual and result are in memory as float32; "o": the input is an output, too;
# "w": the input has 16 bits.
ALONE: Mapping[str, tuple[Mapping[str, Any], Activation | None, Epilogue, str]] = {
    "filter-scales": (_LOST | {SCALES_LIE: ALONG_IN_C}, _WHOLE, Epilogue(_WHOLE), ""),
    "filter-blocks": (_LOST | {SCALES_LIE: IN_BLOCKS}, _WHOLE, Epilogue(_WHOLE), ""),
    "filters": (_LOST, _WHOLE, Epilogue(_WHOLE), ""),
    "filter-bits": (_WIDE, _WHOLE, Epilogue(_WHOLE), ""),
    "small-filters": (_NARROW, _WHOLE, Epilogue(_WHOLE), ""),
    "input": ({}, None, Epilogue(_WHOLE), "x"),
    "input-scales": ({}, grid(0.1, -math.inf, math.inf), Epilogue(_WHOLE), "x"),
    "input-range": ({}, _STEPS, Epilogue(_WHOLE), "x"),
    "input-output": ({}, _WHOLE, Epilogue(_WHOLE), "xo"),
    "input-storage": ({}, _WHOLE, Epilogue(_WHOLE), "x"),
    "result": ({}, _WHOLE, Epilogue(), ""),
    "sum-not-rounded": ({}, _WHOLE, Epilogue(residual="r", after=_WHOLE), ""),
    "activation": ({}, _WHOLE, Epilogue(_TANH, after=_WHOLE), ""),
    "residual": ({}, _WHOLE, Epilogue(_WHOLE, "r", _WHOLE), "r"),
    "result-range": ({}, _WHOLE, Epilogue(_STEPS), "y"),
    "wide-input": ({}, _WHOLE, Epilogue(grid(0.5, -128.0, 127.0)), "yw"),
    "no-form": ({}, _WHOLE, Epilogue(_WHOLE), ""),
}


# Of a product of two tensors: what the second is rounded to, and whether it is a constant or in
# memory as float32.
OF_TWO: Mapping[str, tuple[Activation | None, str]] = {
    "product-constant": (None, "constant"),
    "product-input": (None, "float32"),
    "product-scales": (grid(0.1, -math.inf, math.inf), "float32"),
    "product-bits": (_STEPS, ""),
    "product-wide": (grid(0.1, -30000.0, 30000.0), "int16"),
    "product-storage": (_WHOLE, "float32"),
    "product-form": (_WHOLE, ""),
}
# Those that tensors in front of the layer have (test_channel_grids.py).
IN_OTHERS = {"input-zeros", "input-joined"}


def test_every_reason_of_sums_stands_alone_somewhere() -> None:
    named = {reason.name for reason in table.REASONS}
    assert ALONE.keys() | OF_TWO.keys() | IN_OTHERS == named


@pytest.mark.parametrize("name", OF_TWO)
def test_a_condition_of_a_product_that_does_not_hold_has_its_reason(
    name: str, monkeypatch: pytest.MonkeyPatch
) -> None:
    for form in ("form_of_product", "unit_of_product", "wide_product_of"):
        monkeypatch.setattr(table, form, lambda *_: None)
    rounding, how = OF_TWO[name]
    known = Tensor("a", (2, 3, 4), storage=int8(0.1, 0))
    stored = {"": int8(0.1, 0), "int16": int16(0.1, 0)}.get(how, FLOAT32)
    other, y = Tensor("b", (2, 4, 5), storage=stored), int8(0.1, 0)
    y = FLOAT32 if how == "int16" else y
    if how == "constant":
        other = replace(other, data=np.ones((2, 4, 5), np.float32))
    tensors = {"a": known, "b": other, "y": Tensor("y", (2, 3, 5), storage=y)}
    node = Node("layer", "MatMul", ("a", "b"), ("y",), {}, Epilogue(_WHOLE))
    graph = Graph("net", (node,), tensors, ("a", "b"), ("y",))
    roundings = {"a": _WHOLE} if rounding is None else {"a": _WHOLE, "b": rounding}
    reason = table.no_integers(node, graph, roundings)
    assert reason is not None
    assert reason.name == name


@pytest.mark.parametrize("name", ALONE)
def test_a_condition_that_does_not_hold_has_its_reason(
    name: str, monkeypatch: pytest.MonkeyPatch
) -> None:
    """Of a layer of which no form is found, all else being as it should."""
    for form in ("form_of", "wide_sums_of", "real_sums_of"):
        monkeypatch.setattr(table, form, lambda *_: None)
    attrs, rounding, epilogue, plain = ALONE[name]
    kept = {each: int8(0.1, 0) for each in "xry" if each not in plain}
    if "w" in plain:
        kept["x"] = int16(0.1, 0)
    tensors = {each: Tensor(each, (1, 4, 6, 6)) for each in "xry"}
    tensors |= {each: replace(tensors[each], storage=kept[each]) for each in kept}
    tensors["w"] = Tensor("w", (4, 4, 3, 3))
    stored = {"storage": weight_formats()["int8"].encoding.scaled((0.1,))}
    known = {key: value for key, value in {**stored, **attrs}.items() if value is not None}
    node = Node("layer", "Conv", ("x", "w", ""), ("y",), known, epilogue)
    outputs = ("y", "x") if "o" in plain else ("y",)
    graph = Graph("net", (node,), tensors, ("x", "r"), outputs)
    roundings = {} if rounding is None else {"x": rounding}
    reason = table.no_integers(node, graph, roundings)
    assert reason is not None
    assert reason.name == name


@pytest.mark.parametrize("kind", ["input", "filters", "filter-bits", "filter-scales"])
def test_a_model_has_the_reason_that_it_was_given(kind: str, tmp_path: Path) -> None:
    found = decided(one_layer(kind), tmp_path)
    assert list(reasons(found).values()) == [kind]
    (why,) = (each for each in EVERY_REASON if each.name == kind)
    (note,) = (note for note in found.notes if "is computed in float32" in note)
    assert note.endswith(f"'y_node' is computed in float32: {why}")


@pytest.mark.parametrize(
    ("asked", "words"),
    [
        ({"algorithms": {"*": "direct"}}, "--algorithm"),
        ({"storage": {"*": "flyte16"}}, "--storage"),
        ({"storage": {"*:output": "float32"}}, "--storage"),
    ],
)
def test_what_the_user_asked_for_is_the_reason(
    asked: Mapping[str, Any], words: str, tmp_path: Path
) -> None:
    found = decided(one_layer(""), tmp_path, **asked)
    (layer,) = (each for each in found.report["layers"] if each["op"] == "Conv")
    assert layer["in_float32"]["reason"] == "asked"
    assert layer["in_float32"]["why"].startswith(words)


@pytest.mark.parametrize("scale", [3e38, float("nan"), float("inf"), 0.0, -1.0])
@pytest.mark.filterwarnings("error::RuntimeWarning")
def test_filters_that_are_no_numbers_have_no_integers(scale: float, tmp_path: Path) -> None:
    """Nor what multiplies them beyond float32."""
    model = one_layer("")
    (port,) = (each for each in model.graph.initializer if each.name == "w_scale")
    port.CopyFrom(onnx.numpy_helper.from_array(np.full(8, scale, np.float32), "w_scale"))
    (layer,) = (each for each in decided(model, tmp_path).report["layers"] if each["op"] == "Conv")
    assert layer.get("compute") is None


def test_filters_that_are_widened_are_not_too_small(tmp_path: Path) -> None:
    """Where float32 is faster that is the reason, unless their format is asked for."""
    model = one_layer("small-filters")
    assert set(reasons(decided(model, tmp_path, VECTORS)).values()) == {"faster"}
    asked = decided(model, tmp_path, VECTORS, storage={"*": "int4"})
    assert set(reasons(asked).values()) == {"asked"}


def test_layers_of_one_reason_are_one_note(tmp_path: Path) -> None:
    model, _ = quantised_models.tiny()
    choice = decided(model, tmp_path).choice
    names = [layer.node.name for layer in choice.layers if layer.macs]
    first, *others = (replace(EVERY_REASON[0], name=name) for name in ("one", "other", "other"))
    whys = dict(zip(names, (first, *others), strict=True))
    notes = float32_notes(choice, whys)
    assert notes == (
        f"Conv 'y1_node' is computed in float32: {first}",
        f"Conv 'y2_node' and 1 more are computed in float32: {others[0]}",
    )


def test_a_float32_model_has_no_reasons(tmp_path: Path) -> None:
    model = one_layer("filters")
    del model.graph.node[:]
    model.graph.node.append(onnx.helper.make_node("Conv", ["image", "real"], ["scores"], "conv"))
    for port in (model.graph.input[0], model.graph.output[0]):
        port.type.tensor_type.elem_type = onnx.TensorProto.FLOAT
    for size in model.graph.output[0].type.tensor_type.shape.dim[2:]:
        size.dim_value = 4
    found = decided(model, tmp_path)
    assert not reasons(found)
    assert "integers" not in found.report


def test_require_int8_refuses_before_anything_is_written(edgeconv: Command, tmp_path: Path) -> None:
    onnx.save(one_layer("filter-scales"), tmp_path / "net.onnx")
    (why,) = (each for each in EVERY_REASON if each.name == "filter-scales")
    options = ("--board", WITHOUT_FPU, "-o", tmp_path / "net", "--require-int8")
    done = edgeconv("compile", tmp_path / "net.onnx", *options)
    assert done.status == 1
    assert f"Conv 'y_node': {why.why}" in " ".join(done.stderr.split())
    assert not (tmp_path / "net").exists()
    onnx.save(one_layer(""), tmp_path / "net.onnx")
    edgeconv.ok("compile", tmp_path / "net.onnx", *options)
    assert (tmp_path / "net").exists()


def test_a_board_that_states_no_rate_computes_in_integers(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    shipped = boards.load(WITHOUT_FPU).path.read_text()
    lines = [line for line in shipped.splitlines() if not line.startswith("macs_per_cycle")]
    assert len(lines) < len(shipped.splitlines())
    text = "\n".join(lines).replace(f'name = "{WITHOUT_FPU}"', 'name = "silent"', 1)
    (tmp_path / "silent.toml").write_text(text)
    monkeypatch.setenv("EDGECONV_BOARDS", str(tmp_path))
    assert not reasons(decided(one_layer(""), tmp_path, "silent"))


def test_explain_lists_every_layer(edgeconv: Command, tmp_path: Path) -> None:
    onnx.save(one_layer("filter-scales"), tmp_path / "net.onnx")
    done = edgeconv.ok("explain", tmp_path / "net.onnx", "--board", SCALAR)
    text = " ".join(done.stdout.split())
    assert "0 of 10,368 multiply-accumulates (0 %) in integers, 0 of 1 layers" in text
    assert "in float32: Conv y_node" in text.replace("'", "")


def test_the_page_lists_every_reason() -> None:
    page = Path(__file__).parents[2] / "docs" / "quantised.md"
    section = page.read_text().partition("| `reason` |")[2].partition("\n\n")[0]
    assert set(re.findall(r"`([a-z-]+)`", section)) >= NAMES
