"""Operators that only move numbers, by where each comes from."""

from __future__ import annotations

from collections.abc import Callable, Mapping
from typing import Any

import numpy as np
import numpy.typing as npt

from edgeconv.ir.graph import Graph, Node
from edgeconv.ir.requantisation.exact_reals import Real, Term
from edgeconv.kernels.ops.interpolation import tables
from edgeconv.run.verify.exact.value import NoExactValueError, Value

Indices = npt.NDArray[np.int64]


def taken(x: Value, at: Indices, shape: tuple[int, ...]) -> Value:
    """The elements ``at`` these flat positions; -1 stands for 0."""

    def of(values: npt.NDArray[Any] | float, fill: float = 0) -> npt.NDArray[Any]:
        flat = np.broadcast_to(values, x.shape).reshape(-1)
        padded = np.append(flat, np.asarray(fill, flat.dtype))
        return padded[at].reshape(shape)

    terms = []
    for term in x.real.terms:
        factors = tuple(f if f.size == 1 else of(f, 1) for f in term.factors)
        over = np.asarray(term.over)
        over = over.reshape(()) if over.size == 1 else of(over, 1)
        scalars = tuple(f.reshape(()) if f.size == 1 else f for f in factors)
        terms.append(Term(of(term.whole), scalars, over))
    error = of(x.real.error) if np.any(x.real.error) else 0.0
    return Value(Real(tuple(terms), error), lambda: of(x.off))


def broadcast(x: Value, shape: tuple[int, ...]) -> Value:
    """Repeated to ``shape``."""
    if x.shape == shape:
        return x
    at = np.arange(int(np.prod(x.shape))).reshape(x.shape)
    return taken(x, np.broadcast_to(at, shape).reshape(-1), shape)


def _slice(node: Node, at: Indices, graph: Graph) -> Indices:
    for axis, size in enumerate(graph[node.output].shape):
        start, step = node.attrs["starts"][axis], node.attrs["steps"][axis]
        at = np.take(at, start + step * np.arange(size), axis)
    return at


def _pad(node: Node, at: Indices, graph: Graph) -> Indices:
    del graph
    pads, mode, rank = node.attrs["pads"], node.attrs["mode"], at.ndim
    widths = [(pads[i], pads[rank + i]) for i in range(rank)]
    if mode != "constant":
        return np.pad(at, widths, mode=mode)
    if float(node.attrs["value"]):
        raise NoExactValueError
    return np.pad(at, widths, constant_values=-1)


def _gather(node: Node, at: Indices, graph: Graph) -> Indices:
    index = graph[node.inputs[1]].constant().astype(np.int64)
    axis = node.attrs["axis"]
    return np.take(at, np.where(index < 0, index + at.shape[axis], index), axis)


def _nearest(node: Node, at: Indices, graph: Graph) -> Indices:
    for axis, size in enumerate(graph[node.output].shape):
        index, _ = tables(at.shape[axis], size, float(node.attrs["scales"][axis]), node.attrs)
        at = np.take(at, index[0], axis)
    return at


Positions = Callable[[Node, Indices, Graph], Indices]
_MOVES: Mapping[str, Positions] = {
    "Convert": lambda node, at, graph: at,
    "Expand": lambda node, at, graph: np.broadcast_to(at, graph[node.output].shape),
    "Gather": _gather,
    "Identity": lambda node, at, graph: at,
    "Pad": _pad,
    "Reshape": lambda node, at, graph: at,
    "Resize": _nearest,
    "Slice": _slice,
    "Tile": lambda node, at, graph: np.tile(at, node.attrs["repeats"]),
    "Transpose": lambda node, at, graph: np.transpose(at, node.attrs["perm"]),
}


def moves(node: Node) -> bool:
    """Whether results of ``node`` are its operand's numbers."""
    return node.op in _MOVES and (node.op != "Resize" or node.attrs["mode"] == "nearest")


def moved(node: Node, x: Value, graph: Graph) -> Value:
    """The result of a node that moves ``x``."""
    shape = graph[node.output].shape
    at = np.arange(int(np.prod(x.shape))).reshape(x.shape)
    return taken(x, _MOVES[node.op](node, at, graph).reshape(-1), shape)
