"""Operators of the IR in numpy, of all samples at once.

What is computed at run time has the samples as a dimension in front of its own, constants have
none.
"""

from __future__ import annotations

import math
from collections.abc import Callable, Mapping
from typing import Any

import numpy as np
import numpy.typing as npt

from edgeconv.ir.graph import Graph, Node
from edgeconv.kernels.lowering.binary_values import BINARY
from edgeconv.kernels.ops.interpolation import tables
from edgeconv.search.calibration.interpreter.windows import convolved, pooled

Array = npt.NDArray[Any]
Operands = tuple[Array | None, ...]
Evaluate = Callable[[Node, Graph, Operands], Array]
Condition = Callable[[Node, Graph], bool]


def _need(value: Array | None) -> Array:
    assert value is not None, "a required input is absent"
    return value


def _aligned(node: Node, graph: Graph, operands: Operands) -> tuple[Array, ...]:
    """Operands that broadcast as the model's do: those of run time with dimensions of one behind
    the samples."""
    rank = max(len(graph[name].shape) for name in node.inputs if name)
    found = []
    for name, value in zip(node.inputs, operands, strict=True):
        if value is None or graph[name].is_constant:
            found.append(_need(value))
            continue
        shape = graph[name].shape
        found.append(value.reshape(len(value), *(1,) * (rank - len(shape)), *shape))
    return tuple(found)


def _images(x: Array) -> Array:
    """(S, N, ...) as (S * N, ...)."""
    return x.reshape(-1, *x.shape[2:])


def _conv(node: Node, graph: Graph, operands: Operands) -> Array:
    x, weights, bias = (*operands, None)[:3]
    shape = graph[node.output].shape
    y = convolved(_images(_need(x)), _need(weights), node.attrs, shape[2:])
    if bias is not None:
        y += bias.reshape(-1, *(1 for _ in shape[2:]))
    return y.reshape(-1, *shape)


def _dense(node: Node, graph: Graph, operands: Operands) -> Array:
    x, weights, bias = (*operands, None)[:3]
    x = _need(x)
    y = x.reshape(-1, x.shape[-1]) @ _need(weights).T
    if bias is not None:
        y += bias
    return y.reshape(-1, *graph[node.output].shape)


def _matmul(node: Node, graph: Graph, operands: Operands) -> Array:
    a, b = _aligned(node, graph, operands)
    return np.asarray(np.matmul(a, b))


def _pool(node: Node, graph: Graph, operands: Operands) -> Array:
    shape = graph[node.output].shape
    return pooled(_images(_need(operands[0])), node.attrs, shape[2:]).reshape(-1, *shape)


def _binary(node: Node, graph: Graph, operands: Operands) -> Array:
    a, b = _aligned(node, graph, operands)
    return BINARY[node.attrs["kind"]](a, b)


def _affine(node: Node, graph: Graph, operands: Operands) -> Array:
    x, scale, shift = map(_need, operands)
    per_channel = (-1, *(1 for _ in graph[node.output].shape[2:]))
    y: Array = x * scale.reshape(per_channel) + shift.reshape(per_channel)
    return y


def _axis(axis: int, node: Node, graph: Graph) -> int:
    """A dimension of the first operand, behind the samples."""
    return axis % len(graph[node.inputs[0]].shape) + 1


def _softmax(node: Node, graph: Graph, operands: Operands) -> Array:
    x, axis = _need(operands[0]), _axis(node.attrs["axis"], node, graph)
    shifted = x - x.max(axis=axis, keepdims=True)
    powers = np.exp(shifted)
    total = powers.sum(axis=axis, keepdims=True)
    return np.asarray(shifted - np.log(total) if node.attrs["log"] else powers / total)


def _lrn(node: Node, graph: Graph, operands: Operands) -> Array:
    x, size = _need(operands[0]), int(node.attrs["size"])
    below, above = (size - 1) // 2, size // 2
    squares = np.square(x)
    sums = [
        squares[:, :, max(0, c - below) : c + above + 1].sum(axis=2)
        for c in range(graph[node.output].shape[1])
    ]
    base = node.attrs["bias"] + node.attrs["alpha"] / size * np.stack(sums, axis=2)
    return np.asarray(x / base ** node.attrs["beta"], np.float32)


_REDUCE: Mapping[str, Callable[..., Array]] = {
    "mean": np.mean,
    "sum": np.sum,
    "max": np.max,
    "min": np.min,
    "prod": np.prod,
    "l1": lambda x, **named: np.sum(np.abs(x), **named),
    "l2": lambda x, **named: np.sqrt(np.sum(np.square(x), **named)),
    "sum_square": lambda x, **named: np.sum(np.square(x), **named),
}


def _reduce(node: Node, graph: Graph, operands: Operands) -> Array:
    axes = tuple(_axis(axis, node, graph) for axis in node.attrs["axes"])
    reduced = _REDUCE[node.attrs["kind"]]
    return np.asarray(reduced(_need(operands[0]), axis=axes, keepdims=node.attrs["keepdims"]))


def _resize(node: Node, graph: Graph, operands: Operands) -> Array:
    y, shape = _need(operands[0]), graph[node.output].shape
    for axis, (size, scale) in enumerate(zip(shape, node.attrs["scales"], strict=True), start=1):
        if size != y.shape[axis] or scale != 1.0:
            index, weight = tables(y.shape[axis], size, scale, node.attrs)
            along = (-1, *(1 for _ in shape[axis:]))
            taps = zip(index, weight, strict=True)
            y = sum(np.take(y, at, axis) * each.reshape(along) for at, each in taps)
    return np.asarray(y)


def _concat(node: Node, graph: Graph, operands: Operands) -> Array:
    count = max(
        len(_need(value))
        for name, value in zip(node.inputs, operands, strict=True)
        if not graph[name].is_constant
    )
    given = [
        np.broadcast_to(_need(value), (count, *graph[name].shape))
        for name, value in zip(node.inputs, operands, strict=True)
    ]
    return np.concatenate(given, axis=int(node.attrs["axis"]) % len(graph[node.output].shape) + 1)


def _slice(node: Node, graph: Graph, operands: Operands) -> Array:
    cuts = []
    shape = graph[node.output].shape
    for start, step, size in zip(node.attrs["starts"], node.attrs["steps"], shape, strict=True):
        end = start + step * size
        cuts.append(slice(start, end if end >= 0 else None, step) if size else slice(0, 0))
    return _need(operands[0])[(slice(None), *cuts)]


def _transpose(node: Node, graph: Graph, operands: Operands) -> Array:
    return np.transpose(_need(operands[0]), (0, *(axis + 1 for axis in node.attrs["perm"])))


def _pad(node: Node, graph: Graph, operands: Operands) -> Array:
    x, pads, mode = _need(operands[0]), node.attrs["pads"], node.attrs["mode"]
    rank = x.ndim - 1
    widths = [(0, 0), *((pads[axis], pads[rank + axis]) for axis in range(rank))]
    if mode == "constant":
        return np.pad(x, widths, constant_values=node.attrs["value"])
    return np.asarray(np.pad(x, widths, mode=mode))


def _gather(node: Node, graph: Graph, operands: Operands) -> Array:
    x, at = map(_need, operands)
    return np.take(x, at, axis=_axis(node.attrs["axis"], node, graph))


def _expand(node: Node, graph: Graph, operands: Operands) -> Array:
    x, shape = _need(operands[0]), graph[node.output].shape
    own = graph[node.inputs[0]].shape
    ranked = x.reshape(len(x), *(1,) * (len(shape) - len(own)), *own)
    return np.broadcast_to(ranked, (len(x), *shape))


def _same(node: Node, graph: Graph, operands: Operands) -> Array:
    return _need(operands[0])


EVALUATE: Mapping[str, Evaluate] = {
    "Affine": _affine,
    "Binary": _binary,
    "Concat": _concat,
    "Conv": _conv,
    "Dense": _dense,
    "Expand": _expand,
    "Gather": _gather,
    "Identity": _same,
    "LRN": _lrn,
    "MatMul": _matmul,
    "Pad": _pad,
    "Pool": _pool,
    "Reduce": _reduce,
    "Reshape": lambda node, graph, operands: _need(operands[0]).reshape(
        -1, *graph[node.output].shape
    ),
    "Resize": _resize,
    "Slice": _slice,
    "Softmax": _softmax,
    "Tile": lambda node, graph, operands: np.tile(_need(operands[0]), (1, *node.attrs["repeats"])),
    "Transpose": _transpose,
    "Unary": _same,
}


def _inside(node: Node, graph: Graph) -> bool:
    """No padding is negative."""
    return min(node.attrs["pads"], default=0) >= 0


def _of_matrices(node: Node, graph: Graph) -> bool:
    return all(len(graph[name].shape) > 1 for name in node.inputs)


def _known_indices(node: Node, graph: Graph) -> bool:
    data, at = (graph[name] for name in node.inputs)
    if not at.is_constant or data.is_constant:
        return False
    return bool((at.constant().astype(np.int64) >= 0).all())


def _linear_kind(node: Node, graph: Graph) -> bool:
    return node.attrs["kind"] in BINARY


# What an operator must be besides for `EVALUATE`.
CONDITIONS: Mapping[str, Condition] = {
    "Binary": _linear_kind,
    "Conv": _inside,
    "Gather": _known_indices,
    "MatMul": _of_matrices,
    "Pad": _inside,
    "Pool": lambda node, graph: _inside(node, graph) and node.attrs["mode"] in ("max", "average"),
    "Reduce": lambda node, graph: node.attrs["kind"] in _REDUCE,
}


def elements(graph: Graph) -> int:
    """Numbers of all tensors of one run."""
    return sum(math.prod(tensor.shape) for tensor in graph.activations())
