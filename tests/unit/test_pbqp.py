"""The exact program of picks against trying them all."""

from __future__ import annotations

import numpy as np
import numpy.typing as npt
import pytest

from edgeconv.search.choose.elimination import Elimination
from edgeconv.search.choose.pbqp import Limit, Problem, minimise

GRAPHS = 1000


def random_problem(seed: int) -> Problem:
    """Up to seven nodes of up to four picks, from no edges to all; some picks are not allowed
    together, some by themselves; many costs are equal."""
    rng, problem = np.random.default_rng(seed), Problem()
    for _ in range(rng.integers(1, 8)):
        costs = rng.integers(0, 12, rng.integers(1, 5)).astype(float)
        costs[rng.random(costs.shape) < 0.05] = np.inf
        problem.node(costs)
    density, forbidden, free = rng.random(), rng.choice([0.0, 0.2, 0.5]), rng.random() < 0.3
    for first in range(len(problem.costs)):
        for second in range(first):
            if rng.random() < density:
                shape = len(problem.costs[first]), len(problem.costs[second])
                costs = np.zeros(shape) if free else rng.integers(0, 12, shape).astype(float)
                costs[rng.random(shape) < forbidden] = np.inf
                problem.edge(first, second, costs)
    return problem


def limited(seed: int) -> Problem:
    """The same with one to three things that picks take, more than there is when all take the
    most."""
    problem, rng = random_problem(seed), np.random.default_rng(seed)
    for _ in range(1 + seed % 3):
        taken = {
            node: 64.0 * rng.integers(1, 50, costs.shape).astype(np.float64)
            for node, costs in enumerate(problem.costs)
            if rng.random() < 0.7
        }
        most = sum(float(each.max()) for each in taken.values())
        problem.limits.append(Limit(taken, rng.choice([0.4, 0.7, 0.9]) * most))
    return problem


def least(problem: Problem) -> float:
    """Of all picks that take no more than there is."""
    count = len(problem.costs)

    def along(costs: npt.NDArray[np.float64], *nodes: int) -> npt.NDArray[np.float64]:
        return costs.reshape([len(problem.costs[n]) if n in nodes else 1 for n in range(count)])

    every = sum(along(own, node) for node, own in enumerate(problem.costs))
    every = sum((along(t, *nodes) for nodes, t in problem.edges.items()), every)
    for limit in problem.limits:
        takes = sum((along(t, node) for node, t in limit.taken.items()), np.zeros([1] * count))
        every = np.where(takes <= limit.most, every, np.inf)
    return float(np.min(every))


def test_as_good_as_the_best_of_all_picks() -> None:
    impossible = 0
    for seed in range(GRAPHS):
        problem = random_problem(seed)
        expected, found = least(problem), minimise(problem)
        assert found.cost == pytest.approx(expected, rel=1e-12), seed
        assert (found.nodes, found.gap) == (0, 0.0)
        if found.picked is None:
            impossible += 1
        else:
            assert problem.total(found.picked) == found.cost
    assert 50 < impossible < GRAPHS / 2


@pytest.mark.parametrize("seed", range(60))
def test_the_integer_program_is_as_good(seed: int) -> None:
    """What exact reductions leave when they may make no tables."""
    problem = random_problem(seed)
    found = minimise(problem, most=2)
    assert found.cost == pytest.approx(least(problem), rel=1e-9)
    assert found.gap <= 1e-9


@pytest.mark.parametrize("seed", range(120))
def test_a_limit_holds_and_nothing_within_it_is_cheaper(seed: int) -> None:
    problem = limited(seed)
    found = minimise(problem)
    assert found.cost == pytest.approx(least(problem), rel=1e-9)
    if found.picked is not None:
        for limit in problem.limits:
            takes = sum(each[found.picked[node]] for node, each in limit.taken.items())
            assert takes <= limit.most


def test_large_nodes_of_one_neighbour_stay_out_of_the_integer_program() -> None:
    """A table of all of their picks is gone through, not handed on."""
    rng, problem = np.random.default_rng(1), Problem()
    for node in range(8):
        problem.node(rng.random(4))
        for other in range(node):
            problem.edge(other, node, rng.random((4, 4)))
    for node in range(8):
        problem.edge(node, problem.node(rng.random(2000)), rng.random((4, 2000)))
    reduced = Elimination(problem.costs, problem.edges)
    reduced.run(most=1 << 20, made=64)
    assert list(reduced.left) == list(range(8))


def chain(length: int, picks: int) -> Problem:
    rng, problem = np.random.default_rng(length), Problem()
    for node in range(length):
        problem.node(rng.random(picks))
        if node:
            problem.edge(node - 1, node, rng.random((picks, picks)))
    return problem


def test_a_chain_is_dynamic_programming() -> None:
    problem = chain(300, 8)
    best = problem.costs[0]
    for node in range(1, 300):
        best = (best[:, None] + problem.edges[node - 1, node]).min(axis=0) + problem.costs[node]
    found = minimise(problem)
    assert (found.nodes, found.edges) == (0, 0)
    assert found.cost == pytest.approx(best.min(), rel=1e-12)


def test_a_node_of_thousands_of_edges_takes_no_table_of_all() -> None:
    problem, rng = Problem(), np.random.default_rng(0)
    hub = problem.node([0.0, 1.0])
    for _ in range(2000):
        problem.edge(hub, problem.node(rng.random(3)), rng.random((2, 3)))
    assert minimise(problem).nodes == 0


def test_without_time_the_bound_holds() -> None:
    rng, problem = np.random.default_rng(5), Problem()
    for node in range(40):
        problem.node(rng.random(4))
        for other in range(node):
            problem.edge(other, node, rng.random((4, 4)))
    found = minimise(problem, seconds=0.2)
    assert found.nodes == 40
    if found.picked is not None:
        assert problem.total(found.picked) == found.cost >= found.bound
        assert found.gap > 0


def test_edges_of_the_same_nodes_add_up_whichever_comes_first() -> None:
    problem = Problem()
    a, b = problem.node([0.0, 0.0]), problem.node([0.0, 0.0, 0.0])
    costs = np.arange(6.0).reshape(2, 3)
    problem.edge(a, b, costs)
    problem.edge(b, a, -2 * costs.T)
    assert minimise(problem).picked == (1, 2)
