"""From an optimised graph to kernel calls."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import replace

from edgeconv.choose.layouts import assign
from edgeconv.choose.storage import store_weights
from edgeconv.errors import EdgeconvError, Exit
from edgeconv.ir.check import check
from edgeconv.ir.choice import Choice
from edgeconv.ir.graph import Graph
from edgeconv.names import did_you_mean
from edgeconv.ops import operators
from edgeconv.targets import Target


def _force_algorithms(graph: Graph, wanted: Mapping[str, str]) -> Graph:
    """Note the algorithms that the user asked for by layer name on their Conv nodes."""
    convs = {node.name for node in graph.nodes if node.op == "Conv"}
    for layer in wanted:
        if layer not in convs:
            raise EdgeconvError(
                "--algorithm names no convolution",
                got=repr(layer),
                hint=did_you_mean(layer, convs),
                code=Exit.USAGE,
            )
    nodes = tuple(
        replace(node, attrs={**node.attrs, "algorithm": wanted[node.name]})
        if node.name in wanted
        else node
        for node in graph.nodes
    )
    return replace(graph, nodes=nodes)


def select(
    graph: Graph,
    target: Target,
    *,
    io: str = "caller",
    algorithms: Mapping[str, str] | None = None,
    storage: Mapping[str, str] | None = None,
    rounded: bool = False,
) -> Choice:
    """Choose layouts and kernels for ``target``.

    ``io`` says whether inputs and outputs lie in the arena ("arena") or in the caller's memory.
    ``algorithms`` maps layer names to convolution algorithms that must be used, ``storage`` to the
    formats of their filters; with ``rounded`` those are kept as float32 once they are rounded.
    Raises EdgeconvError for an operator without a kernel, for an algorithm that does not apply, and
    as `store_weights` does.
    """
    forced = _force_algorithms(graph, algorithms or {})
    decided = assign(store_weights(forced, storage or {}, rounded=rounded), target)
    check(decided, "choose")
    layers = []
    for node in decided.nodes:
        lower = operators()[node.op].lower
        assert lower is not None  # assign() has refused operators without a kernel
        layers.append(lower(node, decided, target))
    return Choice(decided, tuple(layers), target.name, target.align, io)
