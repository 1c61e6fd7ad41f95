"""What a quantised model says, in exact arithmetic: the reference of layers in integers.

The graph is the one that the frontend reads, in front of all passes.  Every operator is computed in
real arithmetic of what the integers stand for; a Quantise rounds once, ties to even.  Tensors that
the program has too are cut: what follows reads the program's numbers.
"""

from __future__ import annotations

import math
from collections.abc import Mapping
from contextlib import suppress
from typing import Any

import numpy as np
import numpy.typing as npt

from edgeconv.ir.filters import WEIGHTED
from edgeconv.ir.graph import Graph, Node
from edgeconv.ir.grids import rounded_to
from edgeconv.ir.quantisation import AWAY, INTEGERS, integers_of
from edgeconv.ir.requantisation import TFLITE
from edgeconv.ir.requantisation.exact_reals import Reals, UndecidedError, multiples, numbers
from edgeconv.run.verify.exact import tflite
from edgeconv.run.verify.exact.functions import activated, added
from edgeconv.run.verify.exact.movement import moves
from edgeconv.run.verify.exact.operators import computed
from edgeconv.run.verify.exact.value import NoExactValueError, Value, constant, stored

Array = npt.NDArray[Any]


def expected(graph: Graph, given: Mapping[str, Array]) -> dict[str, Value]:
    """What each tensor of ``given`` would be, were all others what they are there.

    ``graph``: as loaded; where its results are to be TensorFlow Lite's, what its kernels make takes
    the place of exact arithmetic.  ``given``: the inputs, and results of a program, by name.  Left
    out are inputs, and what is not computed exactly: of other numbers than whole multiples of
    scales, and by operators that have no row in ``operators``.
    """
    writers = graph.producers()
    grids = {n: grid.alpha for n, grid in rounded_to(graph).items() if math.isfinite(grid.beta)}
    values: dict[str, Value] = {}
    for name in graph.inputs:
        _put(values, name, _as_given(given[name], None))
    found: dict[str, Value] = {}
    for node in graph.nodes:
        made = _result(node, graph, writers, values)
        name = node.output
        if name in given:
            if made is not None:
                found[name] = made
            made = _as_given(given[name], _spacing(node, made, grids.get(name)))
        _put(values, name, made)
    return found


def _result(
    node: Node, graph: Graph, writers: Mapping[str, Node], values: Mapping[str, Value]
) -> Value | None:
    """The output of ``node``; None where it is not to be had."""
    epilogue = node.epilogue
    with suppress(NoExactValueError, UndecidedError, KeyError):
        if node.op == "Quantise" and (graph.requantise == TFLITE or _divides(node, writers)):
            return tflite.quantised(node, graph, writers, values)
        weighted = node.op in WEIGHTED  # whose constants are read as what they are multiples of
        names = node.inputs[:1] if weighted else [name for name in node.inputs if name]
        operands = [values[n] if n in values else _constant(graph, n) for n in names]
        y = activated(epilogue.before, computed(node, operands, graph))
        if epilogue.residual:
            y = added(y, values[epilogue.residual])
        return activated(epilogue.after, y)
    return None


def _divides(node: Node, writers: Mapping[str, Node]) -> bool:
    """Whether an average is in front of a Quantise that rounds halves away from 0."""
    behind = writers.get(node.inputs[0])
    while behind is not None and (behind.op == "Unary" or moves(behind)) and behind.op != "Pool":
        behind = writers.get(behind.inputs[0])
    return behind is not None and AWAY in behind.attrs


def _constant(graph: Graph, name: str) -> Value:
    data = graph[name].data
    if data is None:
        raise NoExactValueError
    if str(data.dtype) in INTEGERS:
        return Value(multiples(data.astype(np.int64)), lambda: np.zeros(data.shape))
    return constant(data, data.shape)


def _put(values: dict[str, Value], name: str, made: Value | None) -> None:
    if made is not None:
        values[name] = made


def _spacing(node: Node, made: Value | None, alpha: float | None) -> Reals | float | None:
    """What the numbers of a result are multiples, as far as the model tells."""
    if node.op == "Dequantise" and integers_of(node).is_per_tensor:
        return integers_of(node).scale[0]
    if made is not None and len(made.real.terms) == 1:
        (term,) = made.real.terms
        if len(term.factors) == 1 and np.array_equal(term.over, 1):
            return term.factors[0]
    return alpha


def _as_given(array: Array, spacing: Reals | float | None) -> Value | None:
    """Numbers that memory holds: integers, float32 numbers nearest to multiples of ``spacing``, or
    any finite ones."""
    if array.dtype.kind in "iu":
        return Value(multiples(array.astype(np.int64)), lambda: np.zeros(array.shape))
    if array.dtype.kind != "f" or not np.isfinite(array).all():
        return None
    if spacing is not None:
        whole = np.rint(array.astype(np.float64) / spacing)
        if np.array_equal((whole * spacing).astype(np.float32), array):
            return stored(multiples(whole.astype(np.int64), spacing))
    return Value(numbers(array), lambda: np.zeros(array.shape))
