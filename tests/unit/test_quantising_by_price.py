"""Which results stay float32 because integers would cost more there."""

from __future__ import annotations

from itertools import product
from pathlib import Path

import numpy as np
import pytest
from onnx import helper

from edgeconv.ir.graph import Graph
from edgeconv.model import frontend, passes
from edgeconv.search.quantising import pretended
from edgeconv.search.quantising.by_price import Costs, border, cheapest, kept_real
from edgeconv.search.quantising.unfused import unfused
from edgeconv.target.backends import TARGETS
from tests.onnx_models import model, save

TARGET = TARGETS["avx2"]


@pytest.mark.parametrize("seed", range(12))
def test_no_other_choice_costs_less(seed: int) -> None:
    rng = np.random.default_rng(seed)
    count = int(rng.integers(1, 7))
    layers = []
    for _ in range(int(rng.integers(1, 8))):
        groups = {int(g) for g in rng.integers(0, count, int(rng.integers(1, 4)))}
        layers.append((groups, float(rng.normal()), float(rng.uniform(0, 1))))
    rounding = {int(rng.integers(0, count)): float(rng.uniform(0, 1))}

    def cost(chosen: frozenset[int]) -> float:
        total = sum(rounding.get(i, 0.0) for i in chosen)
        for groups, saved, apart in layers:
            if groups <= chosen:
                total -= saved
            elif groups & chosen:
                total += apart
        return total

    every = (
        frozenset(i for i in range(count) if bits[i]) for bits in product((0, 1), repeat=count)
    )
    found = cheapest(count, layers, rounding)
    assert cost(found) == pytest.approx(min(map(cost, every)), abs=1e-4)


def chain(folder: Path) -> Graph:
    """Five convolutions, one after the other."""
    rng = np.random.default_rng(2)
    weights = {f"w{i}": rng.standard_normal((8, 8, 1, 1), np.float32) for i in range(5)}
    nodes = []
    for i in range(5):
        nodes.append(helper.make_node("Conv", [f"r{i}", f"w{i}"], [f"c{i}"], f"conv{i}"))
        nodes.append(helper.make_node("Relu", [f"c{i}"], [f"r{i + 1}"], f"relu{i}"))
    made = model(nodes, {"r0": (1, 8, 6, 6)}, {"r5": None}, weights)
    return passes.optimise(frontend.load(save(made, folder / "chain.onnx")))


def kept(graph: Graph, slower: float, between: float) -> frozenset[str]:
    """Where the middle one takes so much longer in integers, and the others save 1."""
    names = [node.name for node in graph.nodes]
    real = dict.fromkeys(names, 4.0)
    whole = dict.fromkeys(names, 3.0) | {"conv2": 4.0 + slower}
    return kept_real(graph, {}, Costs(real, whole), lambda _: between)


def test_what_loses_more_than_conversions_stays_float32(tmp_path: Path) -> None:
    """A layer is in float32 where one tensor beside it is, so is the neighbour; and all of them are
    where conversions take more than the others save."""
    graph = chain(tmp_path)
    assert kept(graph, 0.5, 1.0) == frozenset()
    assert kept(graph, 3.5, 100.0) == frozenset()
    assert kept(graph, 30.0, 100.0) == {"r0", "r1", "r2", "r3", "r4"}
    found = kept(graph, 30.0, 0.1)
    assert found in ({"r2"}, {"r3"}, {"r2", "r3"})


def test_a_border_costs_more_the_larger_the_tensor(tmp_path: Path) -> None:
    graph = chain(tmp_path)
    between = border(graph, TARGET)
    assert between("r1") == between("r2") > 0


def test_kept_tensors_have_no_grid_and_their_layers_no_integers(tmp_path: Path) -> None:
    graph = chain(tmp_path)
    made = pretended(graph, {}, frozenset({"r2"}))
    rounds = {node.output for node in made.nodes if node.name.endswith("/round")}
    assert "r2" not in rounds
    assert {"r1", "r3"} <= rounds
    stored = {node.name for node in made.nodes if "storage" in node.attrs}
    assert stored == {"conv0", "conv3", "conv4"}
    assert {node.name for node in unfused(graph).nodes} <= {node.name for node in made.nodes}
