"""The cheapest picks within a given arena, against all of them planned."""

from __future__ import annotations

from functools import partial
from itertools import product
from typing import Any

import numpy as np

from edgeconv.ir.activation import Activation
from edgeconv.ir.choice import Choice
from edgeconv.ir.graph import Epilogue, Graph, Node, Tensor
from edgeconv.search import choose, memory
from edgeconv.search.choose.arena_limit import Room
from edgeconv.search.choose.assignment import Assignment
from edgeconv.search.choose.layouts import _Inserter
from edgeconv.search.choose.prices import Known, Prices, Way
from edgeconv.search.choose.select import lowered
from edgeconv.target.backends import TARGETS

AVX512 = TARGETS["avx512"]
GRAPHS = 4
WIDTHS = (3, 8, 17, 20, 24, 33)  # channels of which blocks have some to spare


def random_graph(seed: int) -> Graph:
    """A chain of three convolutions, some of them depthwise, and activations, and a residual around
    some of them."""
    rng, nodes, names = np.random.default_rng(seed), [], ["x"]
    width = int(rng.choice(WIDTHS))
    tensors = {"x": Tensor("x", (1, width, 8, 8))}
    for number in range(3):
        source, result = names[-1], f"t{number}"
        before = tensors[source].shape[1]
        alike = [n for n in names[1:-1] if tensors[n].shape == tensors[source].shape]
        if number and rng.random() < 0.35:
            kind = {"kind": "relu"} if not alike else {"kind": "add"}
            inputs = (source, alike[0]) if alike else (source,)
            op, epilogue = ("Binary", Epilogue()) if alike else ("Unary", _relu())
            own: dict[str, Any] = {**kind} if alike else {}
            nodes.append(Node(result, op, inputs, (result,), own, epilogue))
            tensors[result] = Tensor(result, tensors[source].shape)
        else:
            depthwise = rng.random() < 0.5
            after = before if depthwise or rng.random() < 0.6 else int(rng.choice(WIDTHS))
            kept = [n for n in names[1:] if tensors[n].shape == (1, after, 8, 8)]
            residual = kept[0] if kept and rng.random() < 0.6 else ""
            attrs: dict[str, Any] = {
                "kernel": (3, 3),
                "strides": (1, 1),
                "dilations": (1, 1),
                "pads": (1,) * 4,
            }
            attrs["groups"] = before if depthwise else 1
            epilogue = Epilogue(Activation("relu"), residual)
            weights = np.zeros((after, before // attrs["groups"], 3, 3), np.float32)
            tensors[f"w{number}"] = Tensor(f"w{number}", weights.shape, data=weights)
            nodes.append(
                Node(result, "Conv", (source, f"w{number}", ""), (result,), attrs, epilogue)
            )
            tensors[result] = Tensor(result, (1, after, 8, 8))
        names.append(result)
    return Graph("g", tuple(nodes), tensors, ("x",), (names[-1],))


def _relu() -> Epilogue:
    return Epilogue(Activation("relu"))


def arena(graph: Graph) -> int:
    layers = tuple(lowered(node, graph, AVX512) for node in graph.nodes)
    plan = memory.plan(Choice(graph, layers, AVX512.name, AVX512.align, "caller"))
    return plan.arena_bytes


def picked(ways: dict[str, Way], node: Node, _: object) -> Way:
    return ways[node.name]


def every(graph: Graph, prices: Prices) -> list[tuple[float, int]]:
    """Of all picks the cost and the arena that they need."""
    found = []
    for some in product(*(prices.ways(node, graph) for node in graph.nodes)):
        ways = {node.name: way for node, way in zip(graph.nodes, some, strict=True)}
        made = Assignment(graph, prices, partial(picked, ways))
        found.append((made.total(), arena(_Inserter(made).graph_with_conversions())))
    return found


def test_as_cheap_as_the_cheapest_of_all_picks_that_fit() -> None:
    """At every arena that some picks need; workspaces may be smaller than those of all picks here.
    Where the arena of what is chosen is larger after all, it is a bound."""
    asked = limited = larger = 0
    for seed in range(GRAPHS):
        graph = random_graph(seed)
        tried = every(graph, Prices(graph, AVX512))
        known = Known()
        for most in sorted({size for _, size in tried}):
            expected = min(cost for cost, size in tried if size <= most)
            room = Room(most, AVX512.align, caller=True)
            made = choose.select(graph, AVX512, room=room, known=known)
            assert made.search
            assert made.search.gap == 0.0
            assert made.search.cost <= expected * (1 + 1e-9), (seed, most)
            asked += 1
            limited += expected > min(tried)[0]
            larger += memory.plan(made).arena_bytes > most
    assert limited > asked / 3
    assert larger <= asked / 20


def test_without_room_for_anything_it_is_no_limit() -> None:
    graph = random_graph(0)
    made = choose.select(graph, AVX512, room=Room(-1, AVX512.align, caller=True))
    free = choose.select(graph, AVX512)
    assert [layer.node for layer in made.layers] == [layer.node for layer in free.layers]
