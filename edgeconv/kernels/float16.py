"""Kernels on vectors of float16: the kernels of float32, instantiated on elements of two bytes.

A plan counts in elements, and what it knows of bytes are those of a float32.  So a node is lowered
as if memory had words of half the size: what is float16 there is a float32 here, what is float32
takes two words (`TWO_WORDS`), and caches hold twice as many of them.  What comes of it is brought
back to bytes.
"""

from __future__ import annotations

import math
from collections.abc import Sequence
from dataclasses import replace
from typing import Any

import numpy as np

from edgeconv.ir.candidate import HALF, Candidate
from edgeconv.ir.choice import Blob, Layer, Param
from edgeconv.ir.encoding import FLOAT16, FLOAT32, TWO_WORDS
from edgeconv.ir.filters import WEIGHTED
from edgeconv.ir.graph import Graph, Node, Tensor
from edgeconv.ir.request import Request
from edgeconv.ir.work import CacheTraffic, Work
from edgeconv.kernels.algorithms.packed_filters import with_packed
from edgeconv.kernels.algorithms.winograd.lower import promised_error as winograd_error
from edgeconv.kernels.lowering.calls import constants_as_blobs
from edgeconv.kernels.lowering.options import LayoutOption
from edgeconv.kernels.ops import operators
from edgeconv.target.targets import Target

LARGEST = float(np.finfo(np.float16).max)
ROUNDOFF = float(np.finfo(np.float16).eps) / 2  # the largest relative error of a rounding
_SIX_DEVIATIONS = 6 / math.sqrt(3)  # of an error anywhere within it
MARGIN = 2.0  # for other inputs than those that Winograd's algorithm was measured on
# What becomes of a vector without functions that are made of the bits of float32.
_FUNCTIONS = frozenset(
    {
        *("none", "relu", "clip", "leaky_relu", "hard_sigmoid", "hard_swish"),
        *("abs", "neg", "floor", "ceil", "round", "sqrt", "reciprocal"),
    }
)
_PAIRS = frozenset({"add", "sub", "mul", "div", "min", "max"})
_OPERATORS = frozenset(
    {"Conv", "Dense", "Pool", "Binary", "Unary", "Concat", "Reshape", "Convert", "Slice"}
)


def able(node: Node, graph: Graph) -> bool:
    """Whether kernels compute ``node`` on vectors of float16: its operator and functions are among
    those, and its constants, none of them quantised, are numbers of float16."""
    tensors = [graph[name] for name in (*node.reads(), *node.outputs) if name]
    kinds = {node.epilogue.before.kind, node.epilogue.after.kind, _function(node)}
    constants = [tensor.constant() for tensor in tensors if tensor.is_constant]
    return (
        node.op in _OPERATORS
        and kinds <= _FUNCTIONS
        and (node.op != "Binary" or node.attrs["kind"] in _PAIRS)
        and not (node.op in WEIGHTED and node.storage != FLOAT32)
        and all(tensor.dtype == "float32" for tensor in tensors)
        and all(each.dtype.kind != "f" or _fits(each) for each in constants)
    )


def _function(node: Node) -> str:
    return str(node.attrs.get("kind", "none")) if node.op == "Unary" else "none"


def _fits(values: Any) -> bool:
    return bool(np.all(np.abs(values) <= LARGEST))


def computes(node: Node, graph: Graph) -> bool:
    """Whether its kernel is one on vectors of float16: it is asked to be, or moves such numbers."""
    names = (*node.reads(), *node.outputs)
    return node.request.compute == HALF or any(
        graph[name].storage == FLOAT16 for name in names if name
    )


def layouts(node: Node, graph: Graph, target: Target) -> Sequence[LayoutOption]:
    """The options of ``node``, whatever its vectors hold."""
    entry = operators()[node.op]
    if not computes(node, graph):
        return entry.layouts(node, graph, target)
    found = entry.layouts(_limited(node, 2), _in_words(graph), _row(target))
    return [replace(option, request=_bytes_asked(option, node)) for option in found]


def lowered(node: Node, graph: Graph, target: Target, *, blobs: bool = False) -> Layer:
    """The kernel call of ``node``, whatever its vectors hold; ``blobs``: with the constants that
    are read as data (`constants_as_blobs`)."""
    lower = operators()[node.op].lower
    assert lower is not None, node.op
    half = computes(node, graph)
    seen, row = (_in_words(graph), _row(target)) if half else (graph, target)
    layer = with_packed(lower(_limited(node, 2) if half else node, seen, row), node, target)
    layer = constants_as_blobs(layer, seen) if blobs else layer
    return _in_bytes(layer, node) if half else layer


def _limited(node: Node, times: int) -> Node:
    """``node`` with so many ``times`` the workspace that is asked of it."""
    limit = node.request.workspace
    if not limit.most or limit.most == math.inf:
        return node
    limit = replace(limit, most=times * limit.most)
    return replace(node, request=replace(node.request, workspace=limit))


def _bytes_asked(option: LayoutOption, node: Node) -> Request | None:
    """What ``option`` asks of ``node``, its workspace in bytes."""
    asked = option.request
    return None if asked is None else replace(asked, workspace=node.request.workspace)


def promised_error(layer: Layer, graph: Graph) -> float:
    """What sums in float16 may make of a result, in parts of its largest: of n numbers that are
    added one after the other n roundings, each of at most half a unit of the largest, whose sum is
    as random as they are (Higham and Mary, "A new approach to probabilistic rounding error
    analysis", 2019), within six of its standard deviations; and what Winograd's algorithm does,
    twice as much as was measured on its own filters."""
    own = MARGIN * winograd_error(layer, graph) if layer.algorithm == "winograd" else 0.0
    outputs = max(graph[layer.node.output].size, 1)
    read = [graph[name].size for name in layer.node.inputs if name and not graph[name].is_constant]
    summed = max(layer.macs / outputs, max(read, default=1) / outputs, 1.0)
    return own + _SIX_DEVIATIONS * ROUNDOFF * math.sqrt(summed)


def _row(target: Target) -> Target:
    row = target.of_float16
    assert row is not None, target.name
    return row


def _in_words(graph: Graph) -> Graph:
    """``graph`` with elements of float16 as words, and those of float32 as two of them."""
    tensors = {name: _tensor(tensor) for name, tensor in graph.tensors.items()}
    return replace(graph, tensors=tensors)


def _tensor(tensor: Tensor) -> Tensor:
    if tensor.is_constant or tensor.dtype != "float32":
        return tensor
    if tensor.storage == FLOAT16:
        return replace(tensor, storage=FLOAT32)
    return replace(tensor, storage=TWO_WORDS) if tensor.storage == FLOAT32 else tensor


def _in_bytes(layer: Layer, node: Node) -> Layer:
    """The ``layer`` of ``node``, whose words are of two bytes."""
    work = replace(
        layer.work,
        weight_bytes=layer.work.weight_bytes / 2,
        data_bytes=layer.work.data_bytes / 2,
    )
    return replace(
        layer,
        params={name: _param(name, value) for name, value in layer.params.items()},
        blobs=tuple(map(_blob, layer.blobs)),
        work=work,
        workspace_bytes=-(-layer.workspace_bytes // 2),
        candidate=_plan(layer.candidate) if layer.candidate else None,
        node=node,
        aliases=tuple(replace(alias, offset=alias.offset // 2) for alias in layer.aliases),
        compute=HALF,
    )


def _param(name: str, value: Param) -> Param:
    """What a template appends to a number of elements of float32 (`storage_of`)."""
    return " * 4" if name.endswith("_by") and value == " * 8" else value


def _blob(blob: Blob) -> Blob:
    plain = blob.dtype == "float32" and blob.storage == FLOAT32
    return replace(blob, storage=FLOAT16) if plain else blob


def _plan(found: Candidate) -> Candidate:
    workspace = {name: -(-size // 2) for name, size in found.workspace.items()}

    def traffic() -> tuple[CacheTraffic, ...]:
        return tuple(each.times(0.5) for each in found.cache_traffic())

    work: Work = found.work
    return replace(
        found,
        workspace=workspace,
        work=replace(work, weight_bytes=work.weight_bytes / 2, data_bytes=work.data_bytes / 2),
        cache_traffic=traffic,
        compute=HALF,
    )
