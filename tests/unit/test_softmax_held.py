"""Softmax of float32 one number at a time keeps its exponentials where there is room."""

from __future__ import annotations

import dataclasses
from pathlib import Path

import numpy as np
import pytest
from onnx import helper

from edgeconv.ir.graph import Graph, Node
from edgeconv.ir.request import NO_WORKSPACE
from edgeconv.kernels.ops.softmax import lower
from edgeconv.model import frontend
from edgeconv.target import board as boards
from tests import onnx_models
from tests.command import Command

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


def test_a_budget_of_less_ram_is_kept_without_a_row(tmp_path: Path, edgeconv: Command) -> None:
    """In float32, as without a budget, and as the least memory has it."""
    size, inner = 20_000, 4
    weights = np.random.default_rng(5).normal(size=(inner, size)).astype(np.float32)
    nodes = [
        helper.make_node("MatMul", ["x", "w"], ["a"]),
        helper.make_node("Softmax", ["a"], ["b"], axis=-1),
        helper.make_node("ReduceMax", ["b"], ["y"], axes=[1]),
    ]
    path = onnx_models.save(
        onnx_models.model(nodes, {"x": [1, inner]}, {"y": [1, 1]}, {"w": weights}),
        tmp_path / "net.onnx",
    )
    for given in (("--ram", "100K"), ("--objective", "memory", "--io", "caller")):
        folder = tmp_path / given[0].strip("-")
        edgeconv.ok("compile", path, "--board", "mps2-an386", *given, "-o", folder)
        program = (folder / "net.c").read_text()
        assert "ec_softmax_rows(epilogue, x, EC_F32," in program
        assert f"NET_ARENA_BYTES = {4 * size}" in (folder / "net.h").read_text()
