"""The engine packs filters as the plan of their layer reads them, whatever caches that is for."""

from __future__ import annotations

from dataclasses import replace
from types import SimpleNamespace

import numpy as np
import pytest

from edgeconv.base.errors import EdgeconvError
from edgeconv.ir.filters import Filters
from edgeconv.ir.graph import Graph, Node, Tensor
from edgeconv.ir.request import Request
from edgeconv.kernels.algorithms.problem import problem_of
from edgeconv.kernels.algorithms.sconv.candidate import candidates
from edgeconv.search.calibration import engine as engines
from edgeconv.search.calibration.engine import Engine
from edgeconv.target import board as boards
from edgeconv.target.backends import TARGETS
from edgeconv.target.board import Board
from edgeconv.target.cache import Cache
from tests.kernels.builds import runs_here

pytestmark = pytest.mark.usefixtures("unoptimised")

# A board of every instruction set.
BOARDS = ("host", "generic-c", "x86-64-v3", "zen4", "jetson-tx1", "odroid-xu3", "power10-s1024")
# Input channels, filters, kernel, groups, algorithm: several tiles of filters on every target.
CONVOLUTIONS = (
    (16, 512, 3, 1, "sconv"),
    (3, 512, 7, 1, "sconv"),
    (64, 160, 5, 1, "sconv"),
    (96, 96, 3, 2, "sconv"),
    (37, 130, 3, 1, "direct"),
    (40, 40, 3, 40, "depthwise"),
)
CACHES = (Cache(1, 24 * 1024, 64), Cache(2, 2 * 1024 * 1024, 64))
SIZE = 8


def network() -> Graph:
    """The convolutions beside each other, each with an input of its own."""
    rng = np.random.default_rng(5)
    tensors: dict[str, Tensor] = {}
    nodes, inputs, outputs = [], [], []
    for number, (in_c, out_c, kernel, groups, algorithm) in enumerate(CONVOLUTIONS):
        x, w, b, y = (f"{name}{number}" for name in "xwby")
        shape = (out_c, in_c // groups, kernel, kernel)
        tensors[x] = Tensor(x, (1, in_c, SIZE, SIZE))
        tensors[w] = Tensor(w, shape, data=rng.integers(-3, 4, shape).astype(np.float32))
        tensors[b] = Tensor(b, (out_c,), data=rng.integers(-3, 4, out_c).astype(np.float32))
        tensors[y] = Tensor(y, (1, out_c, SIZE, SIZE))
        attrs = {
            "kernel": (kernel, kernel),
            "strides": (1, 1),
            "dilations": (1, 1),
            "pads": (kernel // 2,) * 4,
            "groups": groups,
        }
        asked = Request(algorithm)
        nodes.append(Node(f"c{number}", "Conv", (x, w, b), (y,), attrs, request=asked))
        inputs.append(x)
        outputs.append(y)
    return Graph("filters", tuple(nodes), tensors, tuple(inputs), tuple(outputs))


@pytest.fixture(params=BOARDS)
def board(request: pytest.FixtureRequest, monkeypatch: pytest.MonkeyPatch) -> Board:
    """A board that runs here, with caches unlike those that are assumed where none are named; the
    engine computes on it."""
    name = str(request.param)
    try:
        found = replace(boards.load(name), caches=CACHES)
    except EdgeconvError as error:
        pytest.skip(str(error))
    if not runs_here(found.target):
        pytest.skip(f"this CPU has no {found.target.name}")
    monkeypatch.setattr(engines, "BOARDS", (name,))
    monkeypatch.setattr(engines, "boards", SimpleNamespace(load=lambda _: found))
    return found


def doubled(own: Filters) -> Filters:
    return Filters(2 * own.weights, None if own.bias is None else 2 * own.bias)


def test_own_filters_change_nothing(board: Board) -> None:
    graph = network()
    rng = np.random.default_rng(6)
    x = {name: rng.integers(-3, 4, graph[name].shape).astype(np.float32) for name in graph.inputs}
    with Engine(graph) as engine:
        before = engine.run(x)
        given = {name: engine.parameters(name) for name in engine.layers}
        after = engine.run(x, parameters=given)
        double = {name: doubled(own) for name, own in given.items()}
        twice = engine.run(x, parameters=double)
    for name, value in before.items():
        assert np.abs(value).max() > 0
        np.testing.assert_array_equal(after[name], value, err_msg=name)
        np.testing.assert_array_equal(twice[name], 2 * value, err_msg=name)


def test_caches_make_another_plan(board: Board) -> None:
    """What the test above relies on: without the board's caches filters would lie elsewhere."""
    graph, bare = network(), TARGETS[board.isa]
    apart = []
    for node in graph.nodes:
        if node.request.algorithm == "sconv":
            problem = problem_of(node, graph)
            found = (*candidates(problem, board.target), *candidates(problem, bare))
            with_caches, without = (candidate.plan.slicing for candidate in found)
            assert with_caches.filter_tiles > 1
            apart.append(with_caches.nc != without.nc)
    assert any(apart)
