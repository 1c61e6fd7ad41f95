"""Which layers compute on vectors of float16, and which tensors lie in memory so."""

from __future__ import annotations

from collections.abc import Collection
from dataclasses import replace

from edgeconv.base.errors import UsageError
from edgeconv.ir.candidate import HALF
from edgeconv.ir.encoding import FLOAT16, FLOAT32
from edgeconv.ir.graph import Graph, Node
from edgeconv.kernels import float16
from edgeconv.kernels.algorithms.packing import weights_of
from edgeconv.kernels.algorithms.winograd.forms import least_error
from edgeconv.search.choose.storage import EVERY_LAYER
from edgeconv.target.targets import Target

# What a form of Winograd's algorithm may be off by, in parts of a layer's largest output; sums of
# as many products in float16, one after the other, are off by a third of it.
LAYER_ERROR = 5e-2


def with_float16(graph: Graph, target: Target, layers: Collection[str]) -> Graph:
    """``graph`` with the layers of these names (``*``: all that can) computed on vectors of
    float16.  What only such layers write and read lies in memory as float16; inputs and outputs of
    the network stay float32, and so does what another layer reads.

    Raises EdgeconvError (exit status 2) where the core has no such vectors.
    """
    if not layers:
        return graph
    if target.of_float16 is None:
        raise UsageError(
            "--float16 needs a core that computes with it",
            got=target.name,
            rule="`float16 = true` in the board's file says that it does",
        )
    every = EVERY_LAYER in layers
    nodes = tuple(
        _asked(node, graph)
        if (every or node.name in layers) and float16.able(node, graph)
        else node
        for node in graph.nodes
    )
    asked = _with_inputs(replace(graph, nodes=nodes))
    fixed, readers = {*graph.inputs, *graph.outputs}, asked.consumers()
    found = {
        name: replace(asked[name], storage=FLOAT16)
        for name, node in asked.producers().items()
        if _computes(node)
        and name not in fixed
        and asked[name].storage == FLOAT32
        and all(map(_computes, readers[name]))
    }
    return asked.with_tensors(found)


def _with_inputs(graph: Graph) -> Graph:
    """``graph`` with a copy in float16 of every float32 tensor of which such convolutions make
    sums, each element of it many times."""
    nodes: list[Node] = []
    tensors = dict(graph.tensors)
    made, copies = graph.producers(), dict[str, str]()
    for node in graph.nodes:
        source = node.inputs[0] if node.op == "Conv" and _computes(node) else ""
        if source and not (source in made and _computes(made[source])):
            if source not in copies:
                copies[source] = copy = f"{source}:{HALF}"
                tensors[copy] = replace(graph[source], name=copy)
                own = Node(f"{HALF} {source}", "Unary", (source,), (copy,))
                nodes.append(replace(own, request=replace(own.request, compute=HALF)))
            node = replace(node, inputs=(copies[source], *node.inputs[1:]))
        nodes.append(node)
    return replace(graph, nodes=tuple(nodes), tensors=tensors)


def _asked(node: Node, graph: Graph) -> Node:
    """``node``, to be computed so, and of Winograd's forms in those that float16 is accurate enough
    for."""
    asked, forms = node.request, node.request.winograd_forms
    if forms:
        weights, strides = weights_of(node, graph), node.attrs["strides"]
        forms = least_error(forms, weights, strides, LAYER_ERROR)
    return replace(node, request=replace(asked, compute=HALF, winograd_forms=forms))


def _computes(node: Node) -> bool:
    return node.request.compute == HALF
