"""Models that ask for too much are refused in words, at once and uncomputed.

Each of these once ended in a traceback, a hang, or a machine without memory.
"""

from __future__ import annotations

from collections.abc import Callable, Mapping
from pathlib import Path
from typing import Any

import numpy as np
import onnx
import pytest
from onnx import TensorProto, helper

from edgeconv.base import limits
from edgeconv.base.errors import EdgeconvError
from edgeconv.model.frontend import load
from tests.fuzz.model_corpus import nested_branches, nested_functions
from tests.hostile_models import branch, f32, i64, make, one, refused, text
from tests.onnx_models import model, relu, save


@pytest.mark.parametrize("depth", [24, 31, 300, 1500])
def test_functions_that_double_are_counted_before_they_are_written_out(
    depth: int, tmp_path: Path
) -> None:
    error = refused(nested_functions(depth, 2), tmp_path)
    assert ("model-nodes" if depth < 32 else "model-depth") in text(error)


@pytest.mark.parametrize("depth", [33, 1500])
def test_functions_within_functions_have_a_limit(depth: int, tmp_path: Path) -> None:
    assert "model-depth" in text(refused(nested_functions(depth, 1), tmp_path))


def test_functions_as_deep_as_the_limit_can_be_raised_to_are_read(tmp_path: Path) -> None:
    path = save(nested_functions(99, 1), tmp_path / "model.onnx")
    with limits.given({"model-depth": 100}):
        assert [node.op for node in load(path).nodes] == ["Unary"]


def test_functions_that_call_each_other_are_refused(tmp_path: Path) -> None:
    source = nested_functions(3, 1)
    source.functions[0].node[0].CopyFrom(make("f0", ["x"], ["y"], domain="own"))
    assert "functions must not be recursive" in text(refused(source, tmp_path))


def _field(number: int, data: bytes) -> bytes:
    """``data`` as a field of a protobuf message."""
    size, length = bytearray(), len(data)
    while length >= 128:
        size.append(length & 127 | 128)
        length >>= 7
    return bytes((number << 3 | 2, *size, length)) + data


def _deep_branches(depth: int) -> bytes:
    """As ``nested_branches``, of which protobuf itself makes 32."""
    graph = branch().SerializeToString()
    attribute = onnx.AttributeProto(name="then_branch", type=onnx.AttributeProto.GRAPH)
    other = helper.make_attribute("else_branch", branch()).SerializeToString()
    node = make("If", ["c"], ["b"]).SerializeToString() + _field(5, other)
    around = helper.make_graph([], "branch", [], list(branch().output)).SerializeToString()
    for _ in range(depth):
        inside = _field(5, attribute.SerializeToString() + _field(6, graph))
        graph = around + _field(1, node + inside)
    whole = model([], {"x": (2,)}, {}, {"c": np.array(True)})
    return whole.SerializeToString() + _field(7, graph)


@pytest.mark.parametrize("depth", [33, 40, 300, 1200])
def test_branches_within_branches_have_a_limit(depth: int, tmp_path: Path) -> None:
    (tmp_path / "model.onnx").write_bytes(_deep_branches(depth))
    with pytest.raises(EdgeconvError, match=f"{depth} subgraphs within each other"):
        load(tmp_path / "model.onnx")


def test_branches_as_deep_as_protobuf_reads_are_read(tmp_path: Path) -> None:
    path = save(nested_branches(32), tmp_path / "model.onnx")
    assert [node.op for node in load(path).nodes] == ["Unary"]


def _folded(nodes: list[onnx.NodeProto], constants: Mapping[str, Any]) -> onnx.ModelProto:
    """Constant ``nodes`` that write ``c``, the size of which is the size of a slice."""
    nodes += [make("Size", ["c"], ["n"]), make("Cast", ["n"], ["f"], to=TensorProto.FLOAT)]
    nodes += [make("Add", ["x", "f"], ["y"])]
    values = {name: np.asarray(value) for name, value in constants.items()}
    return model(nodes, {"x": (1,)}, {"y": None}, values)


FOLDED: dict[str, tuple[Callable[[], onnx.ModelProto], str]] = {
    "range": (
        lambda: _folded(
            [make("Range", ["a", "b", "s"], ["c"])],
            {"a": np.int64(0), "b": np.int64(1 << 40), "s": np.int64(1)},
        ),
        "tensor-elements",
    ),
    "constant of shape": (
        lambda: _folded([make("ConstantOfShape", ["s"], ["c"])], {"s": i64(1 << 16, 1 << 15)}),
        "folded-bytes",
    ),
    "expand": (
        lambda: _folded([make("Expand", ["v", "s"], ["c"])], {"v": f32(1), "s": i64(1 << 31)}),
        "folded-bytes",
    ),
    "tile": (
        lambda: _folded([make("Tile", ["v", "s"], ["c"])], {"v": f32(1), "s": i64(1 << 31)}),
        "folded-bytes",
    ),
    "many": (
        lambda: _folded(
            [
                *(make("ConstantOfShape", ["s"], [f"c{i}"]) for i in range(9)),
                make("Concat", [f"c{i}" for i in range(9)], ["c"], axis=0),
            ],
            {"s": i64(1 << 20)},
        ),
        "folded-bytes",
    ),
    "product": (
        lambda: _folded(
            [
                make("ConstantOfShape", ["s"], ["a"]),
                make("MatMul", ["a", "a"], ["c"]),
            ],
            {"s": i64(2000, 2000)},
        ),
        "folded-operations",
    ),
}


@pytest.mark.parametrize("name", FOLDED)
def test_what_is_evaluated_is_bounded_before_it_is(name: str, tmp_path: Path) -> None:
    source, word = FOLDED[name]
    low = {"folded-bytes": 40 << 20, "folded-operations": 1 << 30}
    with limits.given(low if name in ("many", "product") else {}):
        assert word in text(refused(source(), tmp_path))


def test_views_of_a_constant_take_no_memory(tmp_path: Path) -> None:
    names = [f"v{i}" for i in range(9)]
    nodes = [make("Identity", [a], [b]) for a, b in zip(["w", *names], names, strict=False)]
    nodes += [make("Add", ["x", names[-1]], ["y"])]
    source = model(nodes, {"x": (256,)}, {"y": None}, {"w": np.zeros(256, np.float32)})
    with limits.given({"folded-bytes": 1}):
        load(save(source, tmp_path / "model.onnx"))


def test_a_name_has_a_length(tmp_path: Path) -> None:
    source = relu(2)
    source.graph.node[0].name = "n" * 5000
    assert "name-length" in text(refused(source, tmp_path))


@pytest.mark.parametrize(
    ("board", "size", "said"),
    [
        ("stm32h743", 1 << 29, "ram: 2147483652 bytes needed"),
        ("generic-c", 1 << 62, f"the tensor 'y0', at most {(1 << 63) - 1} bytes"),
    ],
)
def test_a_tensor_is_one_that_the_board_has_or_can_address(
    board: str, size: int, said: str, tmp_path: Path
) -> None:
    """Once an array of size 0 on one board, and a MemoryError on the other."""
    source = one("Expand", (1, 1), {"s": i64(1 << 15, size >> 15)})
    with limits.given({"tensor-elements": 1 << 65}):
        error = text(refused(source, tmp_path, board))
    assert all(words in error for words in said.split(", "))


def test_tensors_that_the_board_can_address_one_by_one_share_an_arena_that_it_cannot(
    tmp_path: Path,
) -> None:
    nodes = [
        make("Expand", ["x", "s"], ["a"]),
        make("Relu", ["a"], ["b"]),
        make("Exp", ["a"], ["c"]),
    ]
    nodes += [make("ReduceMax", [n], [f"{n}y"], keepdims=1) for n in ("b", "c")]
    source = model(nodes, {"x": (1, 1)}, {"by": None, "cy": None}, {"s": i64(1 << 14, 24 << 10)})
    assert "the arena" in text(refused(source, tmp_path, "odroid-xu3"))
