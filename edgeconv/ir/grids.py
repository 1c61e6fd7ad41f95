"""Which tensors a quantised model has rounded, and to which numbers: its one analysis."""

from __future__ import annotations

import math
from collections.abc import Mapping
from dataclasses import replace

import numpy as np

from edgeconv.ir.activation import NONE, ONTO_GRIDS, Activation, bounds, grid
from edgeconv.ir.encoding import INT8, INT16, Encoding, int8, int16
from edgeconv.ir.graph import Graph, Node
from edgeconv.ir.quantisation import DEQUANTISES, integers_of, rounding_to
from edgeconv.ir.ranges import ZERO

# Operators whose results are some of their operands' numbers.
_MOVES = frozenset(
    {
        *("Concat", "Convert", "Expand", "Gather", "Identity", "Pad", "Reshape", "Slice", "Tile"),
        "Transpose",
    }
)
_SELECTS = {"Pool": "max", "Resize": "nearest"}  # the mode in which others are such, too


def rounded_to(graph: Graph) -> dict[str, Activation]:
    """Tensor -> the grid that it was rounded to last: whole multiples from ``beta`` to ``gamma`` of
    the spacing ``alpha``, as float32.

    Of integers the spacing is 1.  Where spacings differ within a tensor, or something else was
    joined to it, ``alpha`` is the largest of them and the bounds are infinite.
    """
    found: dict[str, Activation] = {}
    for node in graph.nodes:
        known = _grid(node, graph, found)
        if known:
            found[node.output] = known
    return found


def spacings_of(graph: Graph) -> dict[str, float]:
    """Tensor -> the distance between neighbouring values, for those that QuantizeLinear ended in:
    the unit in which results may differ."""
    return {name: known.alpha for name, known in rounded_to(graph).items()}


def rounds(graph: Graph) -> bool:
    """Whether what the network computes is rounded to grids: then neighbouring values are as right.

    Not where integers come in alone, as the pixels of an image do.
    """
    given = {*graph.inputs, *(t.name for t in graph.tensors.values() if t.is_constant)}
    for node in graph.nodes:
        sources = moved(node) if moves(node) else node.inputs[:1]
        if (node.op == "Dequantise" or moves(node)) and given.issuperset(sources):
            given.add(node.output)
    return not given.issuperset(rounded_to(graph))


def encodings_of(graph: Graph) -> dict[str, Encoding]:
    """Run-time float32 tensor -> the encoding that loses nothing, for those rounded to eight bits
    or 16.

    Values are exactly the float32 ``(integer - zero) * scale`` of an int8, or an int16.
    What is moved has the encoding of the result.
    """
    rounded, found = rounded_to(graph), dict[str, Encoding]()
    rounded |= _joined(graph, rounded)
    for node in graph.nodes:
        known = rounded.get(node.output)
        stored = integers_for(known) if known and graph[node.output].dtype == "float32" else None
        sources = moved(node) if moves(node) else ()
        if stored and all(found.get(name) == stored for name in sources):
            found[node.output] = stored
    return found


def _joined(graph: Graph, rounded: Mapping[str, Activation]) -> dict[str, Activation]:
    """What a Concat joins, and all that is moved with it, on one grid of eight bits.

    A ReLU leaves half of a symmetric grid, whose lowest number -128 stands for elsewhere; beside
    numbers of both signs its integers are those of the whole grid, so that bytes can be copied.
    """
    groups: dict[str, set[str]] = {}
    for node in graph.nodes:
        names = [node.output, *moved(node)] if moves(node) else []
        members = set().union(*(groups.get(name, {name}) for name in names))
        groups |= dict.fromkeys(members, members)
    writers = {node.output: node.op for node in graph.nodes}
    found: dict[str, Activation] = {}
    for members in {id(each): each for each in groups.values()}.values():  # each once
        grids = [rounded[name] for name in members if name in rounded]
        if len(grids) < len(members) or len({each.alpha for each in grids}) > 1:
            continue
        low, high = min(each.beta for each in grids), max(each.gamma for each in grids)
        whole = replace(grids[0], beta=low, gamma=high)
        given = [rounded[name] for name in members if writers[name] == "Dequantise"]
        form = integers_for(whole)
        if form and form.bits == INT8.bits and all(integers_for(each) == form for each in given):
            found |= dict.fromkeys(members, whole)
    return found


def integers_for(known: Activation) -> Encoding | None:
    """The integers that stand for a grid: of eight bits, the lowest multiple as -128; else of 16,
    the multiples themselves where they fit, or the lowest as -32768.  None where there are more, no
    0 among them, or no grid at all."""
    if known.kind not in ONTO_GRIDS or known.gamma - known.beta > INT16.high - INT16.low:
        return None
    if known.beta != round(known.beta):
        return None
    if known.gamma - known.beta <= INT8.high - INT8.low:
        found = int8(known.alpha, INT8.low - round(known.beta))
    elif INT16.low <= known.beta and known.gamma <= INT16.high:
        found = int16(known.alpha, 0)  # sums of both signs reach half as far
    else:
        found = int16(known.alpha, INT16.low - round(known.beta))
    return found if found.is_stored else None


def _grid(node: Node, graph: Graph, found: dict[str, Activation]) -> Activation | None:
    if node.op in ("Quantise", "Dequantise"):
        encoding = integers_of(node)
        if node.op == "Quantise":
            return grid(1.0, float(encoding.low), float(encoding.high))
        return rounding_to(encoding) if encoding.is_per_tensor else _mixed(*encoding.scale)
    if node.op == ZERO:
        return grid(1.0, 0.0, 255.0)
    if DEQUANTISES in node.attrs and node.epilogue.is_empty:
        return _mixed(*node.attrs[DEQUANTISES])
    last = last_activation(node)
    if last.kind in ONTO_GRIDS:
        return replace(last, kind="grid")
    taken = _taken(node, graph, found)
    if taken is None or node.epilogue.residual:
        return None
    within = image(taken, node.epilogue.before)
    return image(within, node.epilogue.after) if within else None


def _taken(node: Node, graph: Graph, found: dict[str, Activation]) -> Activation | None:
    """The grid of what a node takes of its operands, in front of its epilogue."""
    if node.op == "Unary":
        return found.get(node.inputs[0])
    if node.op == "Binary":
        return _larger_or_smaller(node, graph, found)
    if not takes(node):
        return None
    sources = [name for name in moved(node) if not graph[name].is_constant]
    if not sources or not found.keys() >= set(sources):
        return None
    grids = [found[name] for name in sources]
    low, high = min(each.beta for each in grids), max(each.gamma for each in grids)
    if len({each.alpha for each in grids}) > 1 or _adds_others(node, graph):
        return _mixed(*(each.alpha for each in grids))
    if node.op == "Pad":  # what it adds is on every grid when it is 0
        low, high = min(low, 0.0), max(high, 0.0)
    return replace(grids[0], beta=low, gamma=high)


def _larger_or_smaller(node: Node, graph: Graph, found: dict[str, Activation]) -> Activation | None:
    """The grid of the larger or the smaller of two numbers that both lie on it."""
    extreme = {"max": max, "min": min}.get(str(node.attrs["kind"]))
    one, other = (found.get(name) for name in node.inputs)
    if extreme is None or not one or not other or one.alpha != other.alpha:
        return None
    if not all(math.isfinite(each.gamma - each.beta) for each in (one, other)):
        return None
    return replace(one, beta=extreme(one.beta, other.beta), gamma=extreme(one.gamma, other.gamma))


def image(known: Activation, function: Activation) -> Activation | None:
    """The grid that ``function`` makes of numbers on the grid ``known``, of the same spacing; None
    where it may make others."""
    if function == NONE:
        return known
    if not math.isfinite(known.gamma - known.beta):
        return None
    if function.kind in ("neg", "abs"):
        low, high = -known.gamma, -known.beta
        if function.kind == "neg":
            return replace(known, beta=low, gamma=high)
        nearest = max(low, known.beta, 0.0)
        return replace(known, beta=nearest, gamma=max(high, known.gamma))
    within = bounds(function)
    if within is None:
        return None
    first, last = (_bounded(known, within, end) for end in (known.beta, known.gamma))
    return None if first is None or last is None else replace(known, beta=first, gamma=last)


def _bounded(known: Activation, within: tuple[float, float], end: float) -> float | None:
    """The multiple of the spacing that a clamp makes of the multiple ``end``; None where it makes
    another number of it."""
    with np.errstate(over="ignore", invalid="ignore"):
        value = float(np.float32(end) * np.float32(known.alpha))
        bounded = min(max(value, within[0]), within[1])
        if bounded == value:
            return end
        whole = float(np.rint(np.float32(bounded) / np.float32(known.alpha)))
        same = np.float32(whole) * np.float32(known.alpha) == np.float32(bounded)
    return whole if same else None


def _mixed(*spacings: float) -> Activation:
    return grid(max(spacings), -math.inf, math.inf)


def last_activation(node: Node) -> Activation:
    """What a result went through last: `NONE` after a residual or without an epilogue."""
    epilogue = node.epilogue
    return epilogue.before if epilogue.after == NONE and not epilogue.residual else epilogue.after


def takes(node: Node) -> bool:
    """The results are some of the operands' numbers, in front of the epilogue."""
    return node.op in _MOVES or node.attrs.get("mode") == _SELECTS.get(node.op, "")


def moves(node: Node) -> bool:
    """The results are some of the operands' numbers: no epilogue changes them."""
    return takes(node) and last_activation(node) == NONE and not node.epilogue.residual


def moved(node: Node) -> tuple[str, ...]:
    """The inputs of a node that moves numbers whose elements come into the result: not indices, nor
    the shapes of others."""
    return tuple(filter(None, node.inputs)) if node.op == "Concat" else node.inputs[:1]


def _adds_others(node: Node, graph: Graph) -> bool:
    """Constants come into the result, or a number to pad with other than 0."""
    constants = any(graph[name].is_constant for name in moved(node))
    return constants or (node.op == "Pad" and float(node.attrs.get("value", 0.0)) != 0.0)
