"""Finding, ordering and running the passes; random graphs through all of them."""

from __future__ import annotations

import random
from collections.abc import Callable
from dataclasses import replace

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from edgeconv.ir.check import InvariantError
from edgeconv.ir.graph import Graph
from edgeconv.kernels.ops.base import Operator
from edgeconv.model.passes import optimise, passes
from edgeconv.model.passes.base import Pass, Stage, fuses, in_order
from tests.examples import examples
from tests.ir_builder import GraphBuilder, assert_same_results, ops


def _pass(
    name: str,
    *after: str,
    stage: Stage = Stage.SIMPLIFY,
    run: Callable[[Graph], Graph] = lambda graph: graph,
) -> Pass:
    """One of a module that is called ``name``."""

    def of_module(graph: Graph) -> Graph:
        return run(graph)

    of_module.__module__ = f"passes.{name}"
    return Pass(of_module, "", "", stage, after)


def _order(*entries: Pass) -> list[str]:
    return [entry.name for entry in in_order({entry.name: entry for entry in entries})]


def test_order_follows_stage_then_after_then_name() -> None:
    fuse = _pass("a", "d", stage=Stage.FUSE)
    assert _order(fuse, _pass("c", "d"), _pass("d"), _pass("b")) == ["b", "d", "c", "a"]


@pytest.mark.parametrize(
    "entries",
    [
        (_pass("a", "b"), _pass("b", "a")),
        (_pass("a", "nothing"),),
        (_pass("a", "b"), _pass("b", stage=Stage.FUSE)),
    ],
    ids=["cycle", "unknown", "later stage"],
)
def test_impossible_orders_are_refused(entries: tuple[Pass, ...]) -> None:
    with pytest.raises(ValueError, match=r"cannot run after|cycle"):
        _order(*entries)


def test_every_pass_is_found_and_says_what_it_does() -> None:
    found = passes()
    assert {"remove_identity", "dead_code", "fold_batch_norm", "fuse_residual"} <= {
        entry.name for entry in found
    }
    for entry in found:
        assert entry.run.__module__ == f"edgeconv.model.passes.{entry.name}"
        assert entry.requires
        assert entry.ensures
        assert entry.run.__doc__


def test_fuses_asks_the_registry(monkeypatch: pytest.MonkeyPatch) -> None:
    table = {"Conv": Operator("Conv", fuses=True), "Concat": Operator("Concat")}
    monkeypatch.setattr("edgeconv.kernels.ops.operators", lambda: table)
    assert [fuses(op) for op in ("Conv", "Concat", "Unheard")] == [True, False, False]


def test_a_pass_that_breaks_the_graph_is_named(monkeypatch: pytest.MonkeyPatch) -> None:
    b = GraphBuilder()
    graph = b.graph(b.unary(b.input(1, 2), "relu"))
    broken = _pass("breaks_it", run=lambda graph: replace(graph, nodes=()))
    monkeypatch.setattr("edgeconv.model.passes.passes", lambda: (broken,))
    with pytest.raises(InvariantError, match="breaks_it"):
        optimise(graph)


def _noting(name: str, old: str, new: str, stage: Stage = Stage.SIMPLIFY) -> Pass:
    """A pass that makes the note ``new`` of the note ``old``."""

    def run(graph: Graph) -> Graph:
        return replace(graph, notes=(new,)) if graph.notes == (old,) else graph

    return _pass(name, stage=stage, run=run)


@pytest.mark.parametrize("stage", Stage)
def test_passes_that_undo_each_other_are_named(
    stage: Stage, monkeypatch: pytest.MonkeyPatch
) -> None:
    b = GraphBuilder()
    graph = b.graph(b.unary(b.input(1, 2), "relu"))
    table = (_noting("once", "", "a"), _noting("to", "a", "b"), _noting("fro", "b", "a", stage))
    monkeypatch.setattr("edgeconv.model.passes.passes", lambda: table)
    with pytest.raises(InvariantError, match="fro, to: never leave the graph"):
        optimise(replace(graph, notes=("",)))


def test_as_many_rounds_as_nodes_enable_one_another(monkeypatch: pytest.MonkeyPatch) -> None:
    b = GraphBuilder()
    x = b.input(1, 2)
    for _ in range(100):
        x = b.unary(x, "relu")
    chain = [_noting(f"{n:03}", str(n), str(n + 1)) for n in reversed(range(100))]
    monkeypatch.setattr("edgeconv.model.passes.passes", lambda: tuple(chain))
    assert optimise(replace(b.graph(x), notes=("0",))).notes == ("100",)


@pytest.fixture
def _fusing_operators(monkeypatch: pytest.MonkeyPatch) -> None:
    names = ("Conv", "Dense", "Affine", "Binary", "Pool", "Unary", "MatMul")
    table = {name: Operator(name, fuses=True) for name in names}
    monkeypatch.setattr("edgeconv.kernels.ops.operators", lambda: table)


def _residual_block(b: GraphBuilder, x: str) -> str:
    y = b.unary(b.affine(b.conv(x, 4, 3, pad=1, bias=False)), "relu")
    y = b.affine(b.conv(y, 4, 3, pad=1, bias=False))
    return b.unary(b.binary("add", y, x), "relu")


@pytest.mark.usefixtures("_fusing_operators")
def test_a_residual_block_becomes_two_convolutions() -> None:
    b = GraphBuilder()
    before = b.graph(_residual_block(b, b.unary(b.input(1, 4, 5, 5), "relu")))
    after = optimise(before)
    assert ops(after) == ["Unary", "Conv", "Conv"]
    assert_same_results(before, after)
    assert optimise(after) is after


_STEPS: tuple[Callable[[GraphBuilder, str, random.Random], str], ...] = (
    lambda b, x, r: b.unary(x, r.choice(("relu", "tanh", "sigmoid", "abs", "softplus", "none"))),
    lambda b, x, r: b.unary(x, "clip", r.choice((-1, 0)), r.choice((1, 6))),
    lambda b, x, r: b.binary(r.choice(("add", "mul", "sub", "max", "min")), x, r.choice((2, 0.5))),
    lambda b, x, r: b.binary(r.choice(("add", "mul")), b.normal(b.shape(x)[1], 1, 1), x),
    lambda b, x, r: b.affine(x),
    lambda b, x, r: b.conv(x, r.choice((4, 6)), bias=r.random() < 0.5),
    lambda b, x, r: b.conv(x, b.shape(x)[1], 3, pad=1, groups=b.shape(x)[1]),
    lambda b, x, r: b.pool(x, r.choice(("max", "average")), 3, 1, 1, r.random() < 0.5),
    lambda b, x, r: b.slice(b.pad(x, (0, 0, 1, 1, 0, 0, 1, 1)), 2, 1, b.shape(x)[2]),
    lambda b, x, r: b.pool(b.pad(x, (0, 0, 1, 1, 0, 0, 1, 1)), "max", 3),
    lambda b, x, r: b.conv(b.pad(x, (0, 0, 1, 1, 0, 0, 1, 1)), 4, 3),
    lambda b, x, r: b.transpose(x, *r.choice(((0, 1, 3, 2), (0, 2, 3, 1), (0, 3, 1, 2)))),
    lambda b, x, r: b.shuffle(x, 2) if b.shape(x)[1] % 2 == 0 else x,
    lambda b, x, r: b.gather(x, r.sample(range(b.shape(x)[1]), r.randint(1, b.shape(x)[1]))),
    lambda b, x, r: b.concat(1, x, x),
    lambda b, x, r: b.binary("mul", x, b.unary(x, "sigmoid")),
    lambda b, x, r: b.binary("mul", x, b.unary(b.reduce(x, "mean", 2, 3), "sigmoid")),
)


def _random_graph(seed: int, length: int) -> Graph:
    """Steps on random earlier tensors, now and then the sum of two, all ends made outputs."""
    r = random.Random(seed)
    b = GraphBuilder(seed)
    known = [b.input(1, 4, 4, 4), b.input(1, 6, 4, 4)]
    for _ in range(length):
        x = r.choice(known[-4:])
        if b.shape(x)[1] > 16:
            x = b.slice(x, 1, 2, 6)
        same = [name for name in known if b.shape(name) == b.shape(x) and name != x]
        joins = same and r.random() < 0.3
        y = b.binary("add", x, r.choice(same)) if joins else r.choice(_STEPS)(b, x, r)
        known.append(y)
    read = {name for node in b.nodes for name in node.reads()}
    written = [node.output for node in b.nodes]
    ends = [name for name in written if name not in read]
    extra = r.sample(written, min(2, len(written)))
    return b.graph(*dict.fromkeys((*ends, *extra)))


@pytest.mark.usefixtures("_fusing_operators")
@settings(max_examples=examples(150))
@given(seed=st.integers(0, 2**32 - 1), length=st.integers(1, 14))
def test_random_graphs_keep_their_results_and_reach_a_fixpoint(seed: int, length: int) -> None:
    before = _random_graph(seed, length)
    after = optimise(before)
    assert_same_results(before, after, seed)
    assert optimise(after) is after
    assert len(after.nodes) <= 2 * len(before.nodes)
