"""Where attention is found, and that it means what it stands for (by the float64 interpreter)."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from dataclasses import replace
from pathlib import Path
from typing import Any

import numpy as np
import onnx
import pytest
from onnx import TensorProto, helper

from edgeconv.ir.graph import Graph, Node
from edgeconv.ir.request import NO_WORKSPACE, Request, Workspace
from edgeconv.kernels.ops.attention import ATTENTION, plan_of
from edgeconv.model import frontend, passes
from edgeconv.search.choose.attention import as_decided, with_attention
from edgeconv.target.backends import TARGETS
from tests.attention_models import ONE_WAY, STYLES, TIMM, transformer
from tests.imported_models import node_model
from tests.ir_interpreter import evaluate
from tests.onnx_models import save

TARGET = TARGETS["avx2"]


def optimised(source: onnx.ModelProto, folder: Path) -> Graph:
    return passes.optimise(frontend.load(save(source, folder / "model.onnx")))


def attentions(graph: Graph) -> list[Node]:
    return [node for node in graph.nodes if node.op == ATTENTION]


def same(graph: Graph) -> Graph:
    """``graph`` with attention wherever it can be; it computes the same."""
    made = with_attention(graph, TARGET, minimum_ram=True)
    rng = np.random.default_rng(3)
    feeds = {
        name: rng.normal(size=graph[name].shape).astype(np.float32)
        if graph[name].dtype == "float32"
        else rng.random(graph[name].shape) > 0.4
        for name in graph.inputs
    }
    wanted, got = evaluate(graph, feeds), evaluate(made, feeds)
    for name in graph.outputs:
        np.testing.assert_allclose(got[name], wanted[name], rtol=1e-5, atol=1e-6)
    again = as_decided(graph, {node.name for node in attentions(made)})
    assert again.nodes == made.nodes
    return made


@pytest.mark.parametrize("style", STYLES)
def test_as_exported(style: str, tmp_path: Path) -> None:
    """Nothing moves but what a Transpose of three dimensions would: heads are read where they lie,
    and written side by side."""
    source = transformer(style, tokens=9, heads=2, d=4, blocks=2, batch=2)
    made = same(optimised(source, tmp_path))
    assert len(attentions(made)) == 2
    moving = {"Transpose", "Slice", "MatMul", "Softmax"}
    assert not [node.op for node in made.nodes if node.op in moving]
    assert all(
        node.attrs["behind"] == (0 if style == ONE_WAY else None) for node in attentions(made)
    )
    if style == TIMM:
        assert all(len(set(node.inputs[:3])) == 1 for node in attentions(made))


def attention(
    opset: int, *shapes: Sequence[int], outputs: int = 1, **attrs: Any
) -> onnx.ModelProto:
    """ONNX's Attention of inputs that are called as in its definition, by their number; a mask of
    bool where its name says so."""
    boolean = attrs.pop("boolean", False)
    made = node_model("Attention", opset, shapes, outputs=outputs, **attrs)
    if boolean:
        made.graph.input[3].type.tensor_type.elem_type = TensorProto.BOOL
    return made


WAYS: dict[str, tuple[Callable[[], onnx.ModelProto], int]] = {
    "plain": (lambda: attention(23, (2, 3, 5, 4), (2, 3, 7, 4), (2, 3, 7, 6)), 1),
    "of three dimensions": (
        lambda: attention(
            23, (2, 5, 12), (2, 7, 4), (2, 7, 6), q_num_heads=6, kv_num_heads=2, scale=0.3
        ),
        1,
    ),
    "one head of keys for two of queries": (
        lambda: attention(24, (2, 4, 5, 3), (2, 2, 7, 3), (2, 2, 7, 3)),
        1,
    ),
    "one way": (lambda: attention(23, (1, 2, 7, 4), (1, 2, 7, 4), (1, 2, 7, 4), is_causal=1), 1),
    "mask": (lambda: attention(23, (1, 2, 5, 4), (1, 2, 7, 4), (1, 2, 7, 4), (5, 7)), 1),
    "mask of bool": (
        lambda: attention(23, (1, 2, 5, 4), (1, 2, 7, 4), (1, 2, 7, 4), (1, 5, 7), boolean=True),
        1,
    ),
    "capped": (
        lambda: attention(23, (1, 2, 5, 4), (1, 2, 7, 4), (1, 2, 7, 4), softcap=2.0),
        1,
    ),
    "past and present": (
        lambda: attention(
            23,
            *((1, 2, 3, 4), (1, 2, 3, 4), (1, 2, 3, 4), (3, 9), (1, 2, 6, 4), (1, 2, 6, 4)),
            outputs=3,
        ),
        1,
    ),
    "products of scores": (
        lambda: attention(23, (1, 2, 5, 4), (1, 2, 7, 4), (1, 2, 7, 4), outputs=4),
        0,
    ),
}


@pytest.mark.parametrize("name", WAYS)
def test_of_onnx(name: str, tmp_path: Path) -> None:
    """Every form; with the scores as an output it stays written out."""
    make, count = WAYS[name]
    source = make()
    if len(source.graph.output) > 1:
        for node in source.graph.node:
            if name == "products of scores":
                node.output[1] = node.output[2] = ""
        kept = [each for each in source.graph.output if each.name in source.graph.node[0].output]
        del source.graph.output[:]
        source.graph.output.extend(kept)
    graph = optimised(source, tmp_path)
    assert len(attentions(same(graph))) == count


def _written_out(**more: Any) -> onnx.ModelProto:
    """Attention whose parts are changed by name."""
    parts = {
        "scores": helper.make_node("MatMul", ["q", "k"], ["s"], "scores"),
        "softmax": helper.make_node("Softmax", ["s"], ["p"], "softmax", axis=-1),
        "mixed": helper.make_node("MatMul", ["p", "v"], ["y"], "mixed"),
        **more,
    }
    shapes = {"q": (1, 2, 7, 7), "k": (1, 2, 7, 7), "v": (1, 2, 7, 7)}
    inputs = [
        helper.make_tensor_value_info(name, TensorProto.FLOAT, shape)
        for name, shape in shapes.items()
    ]
    outputs = more.pop("outputs", ["y"])
    parts.pop("outputs", None)
    ends = [helper.make_tensor_value_info(name, TensorProto.FLOAT, None) for name in outputs]
    graph = helper.make_graph([*parts.values()], "test", inputs, ends)
    return helper.make_model(graph, opset_imports=[helper.make_opsetid("", 18)], ir_version=9)


@pytest.mark.parametrize(
    "more",
    [
        {"softmax": helper.make_node("Softmax", ["s"], ["p"], "softmax", axis=2)},
        {"softmax": helper.make_node("LogSoftmax", ["s"], ["p"], "softmax", axis=-1)},
        {"mixed": helper.make_node("MatMul", ["v", "p"], ["y"], "mixed")},
        {"mixed": helper.make_node("MatMul", ["p", "p"], ["y"], "mixed")},
        {"outputs": ["y", "p"]},
        {"outputs": ["y", "s"]},
    ],
    ids=["other axis", "logarithm", "weights behind", "weights twice", "weights", "scores"],
)
def test_what_is_none(more: dict[str, Any], tmp_path: Path) -> None:
    graph = optimised(_written_out(**more), tmp_path)
    assert with_attention(graph, TARGET, minimum_ram=True) is graph


def test_what_is_asked_for_stays(tmp_path: Path) -> None:
    graph = optimised(_written_out(), tmp_path)
    assert attentions(with_attention(graph, TARGET, minimum_ram=True))
    for name in ("scores", "softmax", "mixed"):
        assert with_attention(graph, TARGET, kept=frozenset({name}), minimum_ram=True) is graph


def test_by_price(tmp_path: Path) -> None:
    """Many queries of a vision transformer by blocks; one query, whose scores are few, written
    out."""
    many = optimised(transformer(TIMM, tokens=197, heads=3, d=64), tmp_path)
    one = optimised(attention(23, (1, 3, 1, 64), (1, 3, 20, 64), (1, 3, 20, 64)), tmp_path)
    target = TARGETS["avx512"]
    assert len(attentions(with_attention(many, target))) == 1
    assert not attentions(with_attention(one, target))


@pytest.mark.parametrize("isa", TARGETS)
@pytest.mark.parametrize("sizes", [(197, 197, 64, 64), (1, 448, 64, 64), (4096, 4096, 40, 40)])
def test_workspace_is_bounded(isa: str, sizes: tuple[int, int, int, int]) -> None:
    """By caches, not by the numbers of queries and keys; with less, if less is asked for."""
    target, node = TARGETS[isa], Node("node", ATTENTION, (), (), {"sizes": sizes})
    whole = plan_of(node, target).workspace_floats(*sizes[2:], target.lanes)
    assert 4 * whole <= 128 * 1024
    limited = replace(node, request=Request(workspace=Workspace(2 * whole)))
    small = plan_of(limited, target)
    least = plan_of(replace(node, request=Request(workspace=NO_WORKSPACE)), target)
    assert small.workspace_floats(*sizes[2:], target.lanes) <= max(
        whole // 2, least.workspace_floats(*sizes[2:], target.lanes)
    )
    assert (least.keys, least.panels) == (least.key_rows, 1)
