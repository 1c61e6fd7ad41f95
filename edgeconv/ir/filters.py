"""The constants of a layer with filters, and putting others in their place."""

from __future__ import annotations

from collections import Counter
from collections.abc import Mapping
from dataclasses import dataclass, replace

import numpy as np
import numpy.typing as npt

from edgeconv.ir.channel_scales import CHANNEL_SCALES
from edgeconv.ir.encoding import FLOAT32, INT4, INT8, Encoding
from edgeconv.ir.graph import Graph, Node, Tensor

WEIGHTED = ("Conv", "Dense")  # operators that have filters, and a bias per output channel
# Operators whose kernels decode the constants of their second input: weights of the state, too.
RECURRENT = "Recurrent"
DECODED = (*WEIGHTED, RECURRENT)
# The same of inputs that are quantised at run time, whose filters are the model's integers.
DYNAMIC = {"Conv": "DynamicConv", "Dense": "DynamicDense"}
SCALES_LIE = "scales_lie"  # attribute of one whose filters have scales, but none of output channels
ALONG_IN_C, IN_BLOCKS = "along in_c", "in blocks"
Floats = npt.NDArray[np.float32]
# Smallest first; the last has all numbers of 17 bits: flyte16 has 8 significant bits, flyte24 16.
_OF_INTEGERS = (INT4, INT8, Encoding(16), Encoding(24))


@dataclass(frozen=True, slots=True, eq=False)
class Filters:
    """What one layer computes with.  Told apart by identity: not to be changed.

    ``weights``: in the shape of the node's second input.  ``bias``: one per output channel, or
    None to keep what the node has, as recurrent layers do.  ``storage``: what is stored of the
    weights, the units of their output channels included.
    """

    weights: Floats
    bias: Floats | None = None
    storage: Encoding = FLOAT32


def format_of_integers(low: int, high: int, bits: int) -> Encoding | None:
    """The smallest storage format of at least ``bits`` bits whose elements can be all whole numbers
    from ``low`` to ``high``, its scales left open; None where there is none."""
    return next((f for f in _OF_INTEGERS if f.bits >= bits and _has(f, low, high)), None)


def _has(form: Encoding, low: int, high: int) -> bool:
    most = form.high if form.affine else 1 << (form.bits - 8)
    return (form.low if form.affine else -most) <= low and high <= most


def decodes(node: Node, graph: Graph) -> bool:
    """Whether the kernel of ``node`` reads filters in any storage format."""
    return node.op in DECODED and graph[node.inputs[1]].is_constant


def undecoded(graph: Graph) -> dict[str, Counter[str]]:
    """By operator and layer, the bytes of constant matrices of float32 that kernels read as they
    are."""
    found: dict[str, Counter[str]] = {}
    for node in graph.nodes:
        for name in dict.fromkeys(filter(None, node.inputs)) if node.op not in DECODED else ():
            tensor = graph[name]
            matrix = len(tensor.shape) > 1 and min(sorted(tensor.shape)[-2:]) > 1
            if tensor.is_constant and tensor.dtype == "float32" and matrix:
                found.setdefault(node.op, Counter())[node.name] += tensor.constant().nbytes
    return found


def filters_of(node: Node, graph: Graph) -> Filters:
    """A layer's own filters and bias in float32, zeros where it has none."""
    weights = graph[node.inputs[1]].constant().astype(np.float32, copy=False)
    if node.op not in WEIGHTED:
        return Filters(weights)
    name = node.inputs[2] if len(node.inputs) > 2 else ""
    bias = graph[name].constant() if name else np.zeros(len(weights))
    return Filters(weights, bias.astype(np.float32))


def replace_filters(graph: Graph, layers: Mapping[str, Filters]) -> Graph:
    """The graph with the constants of ``layers`` (by node name) replaced.

    A node without a bias gets one where there is one to give.  Constants that other nodes read too
    stay as they are for those.
    """
    tensors = dict(graph.tensors)
    nodes = []
    for node in graph.nodes:
        filters = layers.get(node.name)
        nodes.append(_replaced(node, filters, tensors) if filters else node)
    read = {name for node in nodes for name in (*node.reads(), *node.outputs)}
    keep = read | set(graph.inputs) | set(graph.outputs)
    left = {name: tensor for name, tensor in tensors.items() if name in keep}
    return replace(graph, nodes=tuple(nodes), tensors=left)


def _replaced(node: Node, filters: Filters, tensors: dict[str, Tensor]) -> Node:
    inputs = list(node.inputs)
    inputs[1] = _add(tensors, f"{inputs[1]} of {node.name}", filters.weights)
    if filters.bias is not None:
        old = inputs[2] if len(inputs) > 2 and inputs[2] else "bias"
        inputs[2:3] = [_add(tensors, f"{old} of {node.name}", filters.bias)]
    plain = without_storage(replace(node, inputs=tuple(inputs)))
    if filters.storage == FLOAT32:
        return plain
    return replace(plain, attrs={**plain.attrs, "storage": filters.storage})


def without_storage(node: Node) -> Node:
    """A node whose filters are float32, whatever the model or who asks says."""
    attrs = {k: v for k, v in node.attrs.items() if k not in ("storage", "exact", CHANNEL_SCALES)}
    return replace(node, attrs=attrs, request=replace(node.request, storage=None, exact=False))


def _add(tensors: dict[str, Tensor], name: str, value: Floats) -> str:
    while name in tensors:
        name += "'"
    tensors[name] = Tensor(name, value.shape, data=np.ascontiguousarray(value, np.float32))
    return name
