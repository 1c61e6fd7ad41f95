"""Softmax of float32 one number at a time keeps its exponentials where there is room."""

from __future__ import annotations

import dataclasses
from pathlib import Path

import pytest
from onnx import helper

from edgeconv.ir.graph import Graph, Node
from edgeconv.ir.request import NO_WORKSPACE
from edgeconv.kernels.ops.softmax import lower
from edgeconv.model import frontend
from edgeconv.target import board as boards
from tests import onnx_models

_ROW = 24


def of_rows(folder: Path, op: str = "Softmax", axis: int = 2) -> tuple[Node, Graph]:
    """One node, and its graph."""
    nodes = [helper.make_node(op, ["x"], ["y"], "it", axis=axis)]
    model = onnx_models.model(nodes, {"x": [2, 3, _ROW]}, {"y": [2, 3, _ROW]}, {})
    graph = frontend.load(onnx_models.save(model, folder / "model.onnx"))
    (node,) = graph.nodes
    return node, graph


def test_a_row_is_held(tmp_path: Path) -> None:
    """In a workspace of a row, and in less time than with exponentials taken twice."""
    target = boards.load("mps2-an386").target
    node, graph = of_rows(tmp_path)
    without = dataclasses.replace(
        node, request=dataclasses.replace(node.request, workspace=NO_WORKSPACE)
    )
    held, twice = (lower(each, graph, target) for each in (node, without))
    assert (held.workspace_bytes, twice.workspace_bytes) == (4 * _ROW, 0)
    assert held.work.moves < twice.work.moves


@pytest.mark.parametrize(
    ("board", "op", "axis"),
    [
        ("mps2-an386", "LogSoftmax", 2),
        ("mps2-an386", "Softmax", 1),
        ("raspberry-pi-4", "Softmax", 2),
    ],
)
def test_nothing_is_held(board: str, op: str, axis: int, tmp_path: Path) -> None:
    """Of logarithms, which have no second exponential; across rows; and with vectors."""
    node, graph = of_rows(tmp_path, op, axis)
    assert not lower(node, graph, boards.load(board).target).workspace_bytes
