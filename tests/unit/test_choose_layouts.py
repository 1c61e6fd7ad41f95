"""Layouts flow through the network; conversions stand only where an operator needs them."""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from dataclasses import replace
from itertools import product

import numpy as np
import pytest

from edgeconv.base.errors import EdgeconvError
from edgeconv.ir.activation import Activation
from edgeconv.ir.check import check
from edgeconv.ir.graph import Epilogue, Graph, Node, Tensor
from edgeconv.ir.layout import CHANNELS_LAST, ROW_MAJOR, blocked
from edgeconv.ir.request import Request
from edgeconv.search.choose.assignment import Assignment
from edgeconv.search.choose.cheapest import cheapest
from edgeconv.search.choose.layouts import assign
from edgeconv.search.choose.pbqp import Optimum
from edgeconv.search.choose.prices import Prices, Way
from edgeconv.target.backends import TARGETS

AVX512 = TARGETS["avx512"]


def conv(name: str, source: str, result: str, residual: str = "") -> Node:
    """A direct convolution: the algorithm that offers a choice of layouts."""
    sizes = {"kernel": (3, 3), "strides": (1, 1), "dilations": (1, 1), "pads": (1,) * 4}
    attrs = {**sizes, "groups": 1}
    epilogue = Epilogue(Activation("relu"), residual)
    inputs = (source, f"{name}.w", "")
    return Node(name, "Conv", inputs, (result,), attrs, epilogue, request=Request("direct"))


def network(
    nodes: list[Node], shapes: Mapping[str, tuple[int, ...]], outputs: tuple[str, ...]
) -> Graph:
    tensors = {name: Tensor(name, shape) for name, shape in shapes.items()}
    for node in nodes:
        if node.op == "Conv":
            out_c, in_c = shapes[node.output][1], shapes[node.inputs[0]][1]
            weights = np.zeros((out_c, in_c, 3, 3), np.float32)
            tensors[node.inputs[1]] = Tensor(node.inputs[1], weights.shape, data=weights)
    return check(Graph("g", tuple(nodes), tensors, ("x",), outputs), "test")


def converts(graph: Graph) -> list[tuple[str, str]]:
    return [(n.inputs[0], n.output) for n in graph.nodes if n.op == "Convert"]


def test_blocks_flow_from_the_first_convolution_to_the_output() -> None:
    shapes = {"x": (1, 3, 8, 8), "a": (1, 32, 8, 8), "b": (1, 32, 8, 8), "y": (1, 32, 8, 8)}
    nodes = [conv("c0", "x", "a"), conv("c1", "a", "b"), conv("c2", "b", "y", residual="a")]
    graph = check(assign(network(nodes, shapes, ("y",)), AVX512)[0], "assign")
    assert graph["x"].layout == ROW_MAJOR
    assert graph["a"].layout == graph["b"].layout == blocked(16)
    assert len(converts(graph)) == 1  # the output, as the caller wants it
    assert converts(graph)[0][1] == "y"
    assert graph["y"].layout == ROW_MAJOR


def test_free_ports_need_no_conversion() -> None:
    """A result whose blocks would be padded is written channels last."""
    shapes = {"x": (1, 32, 8, 8), "a": (1, 32, 8, 8), "y": (1, 32, 8, 8), "z": (1, 33, 8, 8)}
    nodes = [conv("c0", "x", "a"), conv("c1", "a", "y"), conv("c2", "y", "z")]
    whole = network(nodes, shapes, ("y", "z"))
    graph = check(assign(whole, AVX512, ports=frozenset("xyz"))[0], "assign")
    assert [graph[name].layout for name in "xy"] == [blocked(16)] * 2
    assert graph["z"].layout == CHANNELS_LAST
    assert converts(graph) == []
    assert {target for _, target in converts(assign(whole, AVX512)[0])} == {"y", "z"}


def test_transposed_output_is_written_channels_last() -> None:
    shapes = {"x": (1, 32, 8, 8), "a": (1, 6, 8, 8), "y": (1, 8, 8, 6)}
    nodes = [conv("c0", "x", "a"), Node("t", "Transpose", ("a",), ("y",), {"perm": (0, 2, 3, 1)})]
    graph = check(assign(network(nodes, shapes, ("y",)), AVX512)[0], "assign")
    assert graph["a"].layout == CHANNELS_LAST
    assert converts(graph) == []


def test_one_conversion_serves_every_reader() -> None:
    shapes = {"x": (1, 3, 8, 8), "a": (1, 32, 8, 8), "p": (1, 2048), "q": (1, 8, 16, 16)}
    nodes = [
        conv("c0", "x", "a"),
        Node("r", "Reshape", ("a",), ("p",)),
        Node("s", "Reshape", ("a",), ("q",)),
    ]
    graph = check(assign(network(nodes, shapes, ("p", "q")), AVX512)[0], "assign")
    assert len(converts(graph)) == 1


def test_output_read_again_inside_keeps_its_layout_there() -> None:
    shapes = {"x": (1, 3, 8, 8), "a": (1, 32, 8, 8), "y": (1, 32, 8, 8)}
    nodes = [conv("c0", "x", "a"), conv("c1", "a", "y")]
    graph = check(assign(network(nodes, shapes, ("a", "y")), AVX512)[0], "assign")
    assert graph.outputs == ("a", "y")
    assert graph["a"].layout == graph["y"].layout == ROW_MAJOR
    assert {target for _, target in converts(graph)} == {"a", "y"}
    second = next(n for n in graph.nodes if n.name == "c1")
    assert graph[second.inputs[0]].layout == blocked(16)


def test_portable_needs_no_conversion() -> None:
    shapes = {"x": (1, 3, 8, 8), "a": (1, 5, 8, 8), "y": (1, 5, 8, 8)}
    nodes = [conv("c0", "x", "a"), conv("c1", "a", "y")]
    graph, _ = assign(network(nodes, shapes, ("y",)), TARGETS["portable"])
    assert converts(graph) == []


def fan_out(width: int) -> Graph:
    """A tensor that ``width`` layers read."""
    names = tuple(f"y{number}" for number in range(width))
    shapes: dict[str, tuple[int, ...]] = dict.fromkeys(("x", "a", *names), (1, 4, 4, 4))
    nodes = [Node(f"read {name}", "Concat", ("a",), (name,), {"axis": 1}) for name in names]
    return network([conv("c0", "x", "a"), *nodes], shapes, names)


def fan_in(width: int) -> Graph:
    """``width`` tensors that one layer reads."""
    names = tuple(f"a{number}" for number in range(width))
    shapes: dict[str, tuple[int, ...]] = dict.fromkeys(("x", *names), (1, 1, 4, 4))
    shapes["y"] = (1, width, 4, 4)
    nodes = [Node(f"write {name}", "Concat", ("x",), (name,), {"axis": 1}) for name in names]
    return network([*nodes, Node("join", "Concat", names, ("y",), {"axis": 1})], shapes, ("y",))


@pytest.mark.parametrize("wide", [fan_out, fan_in])
def test_work_grows_with_the_reads_of_a_wide_network(
    wide: Callable[[int], Graph], monkeypatch: pytest.MonkeyPatch
) -> None:
    original, looked_at = Node.reads, 0

    def counted(node: Node) -> tuple[str, ...]:
        nonlocal looked_at
        names = original(node)
        looked_at += len(names)
        return names

    def work(width: int) -> int:
        nonlocal looked_at
        graph, looked_at = wide(width), 0
        assign(graph, AVX512)
        return looked_at

    monkeypatch.setattr(Node, "reads", counted)
    assert work(200) < 2.5 * work(100)


def test_a_change_costs_what_it_changes_of_the_total() -> None:
    """Of a node that reads a tensor twice, too, which does not pay for its own copies before."""
    shapes = {"x": (1, 3, 8, 8), "a": (1, 32, 8, 8), "y": (1, 32, 16, 8)}
    join = Node("j", "Concat", ("a", "a"), ("y",), {"axis": 2})
    graph = network([conv("c0", "x", "a"), join], shapes, ("y",))
    assignment = Assignment(graph, Prices(graph, AVX512))
    for current in assignment.ways(join):
        assignment.pick(join, current)
        before, cost = assignment.total(), assignment.cost(join, current)
        for way in assignment.ways(join):
            change = assignment.cost(join, way) - cost
            assignment.pick(join, way)
            assert assignment.total() - before == pytest.approx(change, rel=1e-9)
            assignment.pick(join, current)


def branches() -> Graph:
    """A residual, a Concat, a tensor read twice by one node, and one that is an output too."""
    shapes = {"x": (1, 3, 8, 8), "y": (1, 72, 8, 8)}
    shapes |= dict.fromkeys(("a", "b", "c"), (1, 32, 8, 8)) | {"d": (1, 8, 8, 8)}
    nodes = [
        conv("c0", "x", "a"),
        conv("c1", "a", "b"),
        conv("c2", "b", "c", residual="a"),
        conv("c3", "c", "d"),
        Node("j", "Concat", ("c", "c", "d"), ("y",), {"axis": 1}),
    ]
    return network(nodes, shapes, ("c", "y"))


def _picked(graph: Graph, prices: Prices, ways: Mapping[str, Way], ports: frozenset[str]) -> float:
    return Assignment(graph, prices, lambda node, _: ways[node.name], ports).total()


def conversions_worth(price: float) -> Callable[..., float]:
    """Per element."""
    return lambda self, tensor, have, want: 0.0 if have == want else price * tensor.size


@pytest.mark.parametrize("ports", ["", "xy", "c"])
@pytest.mark.parametrize("price", [None, 0.0, 1e-10, 1e-8, 1e-6])
def test_nothing_is_cheaper_than_the_choice(
    price: float | None, ports: str, monkeypatch: pytest.MonkeyPatch
) -> None:
    """However much it costs to convert an element; None: as predicted.  ``ports``: inputs and
    outputs whose layout is free."""
    if price is not None:
        monkeypatch.setattr(Prices, "conversion", conversions_worth(price))
    graph = branches()
    prices = Prices(graph, AVX512)
    free = frozenset(ports)
    found, search = cheapest(graph, prices, {}, ports=free)
    assert search.gap == search.left_nodes == 0
    names = [node.name for node in graph.nodes]
    every = product(*(prices.ways(node, graph) for node in graph.nodes))
    least = min(_picked(graph, prices, dict(zip(names, ways, strict=True)), free) for ways in every)
    assert found.total() == pytest.approx(least, rel=1e-12)


def test_without_time_for_an_exact_choice_there_is_one_and_its_gap(
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    graph = branches()
    prices = Prices(graph, AVX512)
    best, _ = cheapest(graph, prices, {})
    late = Optimum(None, np.inf, best.total() / 2, nodes=3, edges=3)
    monkeypatch.setattr("edgeconv.search.choose.cheapest.minimise", lambda _: late)
    found, search = cheapest(graph, prices, {})
    assert found.total() >= best.total()
    assert search.gap == pytest.approx(1 - best.total() / 2 / found.total())
    assert (search.left_nodes, search.left_edges) == (3, 3)


def test_a_node_without_any_way_is_named(monkeypatch: pytest.MonkeyPatch) -> None:
    """With what was asked for that left none."""
    graph = branches()
    last = graph.nodes[-1]
    ways = Prices.ways

    def without(prices: Prices, node: Node, of: Graph) -> Sequence[Way]:
        return () if node.name == last.name else ways(prices, node, of)

    monkeypatch.setattr(Prices, "ways", without)
    rounding = replace(graph, requantise="tflite")
    with pytest.raises(EdgeconvError) as caught:
        cheapest(rounding, Prices(rounding, AVX512), {})
    error = caught.value
    assert (error.where, error.got) == (last.name, last.op)
    assert "--requantise tflite" in error.rule
    assert error.hint


def test_no_ways_that_go_together_are_an_error(monkeypatch: pytest.MonkeyPatch) -> None:
    graph = branches()
    never = Optimum(None, np.inf, np.inf)
    monkeypatch.setattr("edgeconv.search.choose.cheapest.minimise", lambda _: never)
    monkeypatch.setattr("edgeconv.search.choose.cheapest._descended", lambda *_: [])
    with pytest.raises(EdgeconvError, match="no kernels fit together"):
        cheapest(graph, Prices(graph, AVX512), {})
