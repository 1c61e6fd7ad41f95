"""Operators that only move numbers, by where each comes from."""

from __future__ import annotations

from collections.abc import Callable, Mapping
from typing import Any

import numpy as np
import numpy.typing as npt

from edgeconv.ir.graph import Graph, Node
from edgeconv.requantisation.reals import Real, Term
from edgeconv.verify.exact.value import NoExactValueError, Value

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
        over = term.over if np.size(term.over) == 1 else of(np.asarray(term.over), 1)
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


def _slice(node: Node, at: Indices, shape: tuple[int, ...]) -> Indices:
    for axis, size in enumerate(shape):
        start, step = node.attrs["starts"][axis], node.attrs["steps"][axis]
        at = np.take(at, start + step * np.arange(size), axis)
    return at


def _pad(node: Node, at: Indices, shape: tuple[int, ...]) -> Indices:
    del shape
    pads, mode, rank = node.attrs["pads"], node.attrs["mode"], at.ndim
    widths = [(pads[i], pads[rank + i]) for i in range(rank)]
    if mode != "constant":
        return np.pad(at, widths, mode=mode)
    if float(node.attrs["value"]):
        raise NoExactValueError
    return np.pad(at, widths, constant_values=-1)


Positions = Callable[[Node, Indices, tuple[int, ...]], Indices]
_MOVES: Mapping[str, Positions] = {
    "Convert": lambda node, at, shape: at,
    "Expand": lambda node, at, shape: np.broadcast_to(at, shape),
    "Identity": lambda node, at, shape: at,
    "Pad": _pad,
    "Reshape": lambda node, at, shape: at,
    "Slice": _slice,
    "Tile": lambda node, at, shape: np.tile(at, node.attrs["repeats"]),
    "Transpose": lambda node, at, shape: np.transpose(at, node.attrs["perm"]),
}


def moves(op: str) -> bool:
    """Whether results of ``op`` are its operand's numbers."""
    return op in _MOVES


def moved(node: Node, x: Value, graph: Graph) -> Value:
    """The result of a node that moves ``x``."""
    shape = graph[node.output].shape
    at = np.arange(int(np.prod(x.shape))).reshape(x.shape)
    return taken(x, _MOVES[node.op](node, at, shape).reshape(-1), shape)
