"""Recognise activation functions that a model spells out in several nodes.

Sigmoid(x) * x is SiLU, Clip(x + 3, 0, 6) / 6 hard sigmoid, times x hard swish (Howard et al.,
"Searching for MobileNetV3", Section 5.2), x / 2 * (1 + Erf(x / sqrt 2)) GELU (Hendrycks and
Gimpel, 2016) - in whatever order a framework writes the factors.
"""

from __future__ import annotations

import math
from collections.abc import Callable, Iterator, Mapping

import numpy as np

from edgeconv.ir.activation import Activation, bounds, clamp
from edgeconv.ir.edit import Editor
from edgeconv.ir.graph import Epilogue, Node
from edgeconv.ir.quantisation import OF_SCALE
from edgeconv.ir.requantisation import TFLITE
from edgeconv.model.passes.base import Pass, at_each
from edgeconv.model.passes.clamp import compose
from edgeconv.model.passes.polynomial import close, linear_root, plain_binary, polynomial

Match = tuple[str, Activation]  # the node equals this activation of this tensor

_MAX_SCALINGS = 3
_TANH_SLOPE = math.sqrt(2 / math.pi)


def _unary(editor: Editor, name: str) -> tuple[str, Activation] | None:
    """(x, f) when ``name`` is Unary f(x)."""
    node = editor.producer(name)
    if node is None or node.op != "Unary" or not node.epilogue.is_only_before:
        return None
    return node.inputs[0], node.epilogue.before


def _near(value: float, wanted: float) -> bool:
    return math.isclose(value, wanted, rel_tol=1e-6)


def _scalings(editor: Editor, name: str) -> Iterator[tuple[float, str]]:
    """All (c, t) with ``name`` = c * t, from (1, name) upwards through multiplications."""
    factor = 1.0
    yield factor, name
    for _ in range(_MAX_SCALINGS):
        node = plain_binary(editor, name)
        tensors = [i for i in node.inputs if editor.constant(i) is None] if node else []
        step = polynomial(editor, name, tensors[0], 1) if tensors else None
        if step is None or len(step) != 2 or step[0] != 0:
            return
        factor, name = factor * step[1], tensors[0]
        yield factor, name


def _products(editor: Editor, name: str) -> Iterator[tuple[float, str, str]]:
    """All (c, p, q) with ``name`` = c * p * q of two tensors, in either order of p and q."""
    for outer, core in _scalings(editor, name):
        node = plain_binary(editor, core)
        if node is None or node.attrs["kind"] != "mul":
            continue
        if any(editor.constant(i) is not None for i in node.inputs):
            continue
        for left, p in _scalings(editor, node.inputs[0]):
            for right, q in _scalings(editor, node.inputs[1]):
                yield outer * left * right, p, q
                yield outer * left * right, q, p


def _gate(editor: Editor, factor: float, x: str, gate: str) -> Activation | None:
    """The activation ``factor * x * gate``."""
    unary = _unary(editor, gate)
    if unary is not None:
        source, function = unary
        if source == x and _near(factor, 1):
            if function.kind == "sigmoid":
                return Activation("silu")
            if function.kind == "hard_sigmoid":
                return Activation("hard_swish", function.alpha, function.beta)
        limits = bounds(function)
        line = polynomial(editor, source, x)
        if limits and limits[0] == 0 and _near(factor * limits[1], 1) and line and len(line) == 2:
            return Activation("hard_swish", factor * line[1], factor * line[0])
        return None
    root, scale, shift = linear_root(editor, gate)
    unary = _unary(editor, root)
    if unary is None or not (_near(factor * scale, 0.5) and _near(factor * shift, 0.5)):
        return None
    argument = polynomial(editor, unary[0], x)
    if unary[1].kind == "erf" and close(argument, (0, math.sqrt(0.5))):
        return Activation("gelu")
    if unary[1].kind == "tanh" and close(argument, (0, _TANH_SLOPE, 0, 0.044715 * _TANH_SLOPE)):
        return Activation("gelu_tanh")
    return None


def _product(node: Node, editor: Editor) -> Match | None:
    """silu, hard_swish and the GELUs, or a scaled clip, which is a hard sigmoid."""
    for factor, x, gate in _products(editor, node.output):
        function = _gate(editor, factor, x, gate)
        if function is not None:
            return x, function
    for factor, inner in _scalings(editor, node.output):
        match = _hard_sigmoid(editor, factor, inner)
        if match is not None:
            return match
    return None


def _hard_sigmoid(editor: Editor, factor: float, name: str) -> Match | None:
    """``factor`` * clip(a x + b, 0, 1 / factor) as hard_sigmoid of x."""
    unary = _unary(editor, name)
    limits = bounds(unary[1]) if unary else None
    if unary is None or limits is None or limits[0] != 0 or not _near(factor * limits[1], 1):
        return None
    x, scale, shift = linear_root(editor, unary[0])
    return x, Activation("hard_sigmoid", factor * scale, factor * shift)


def _extremum(node: Node, editor: Editor) -> Match | None:
    """max or min with a scalar is a clamp; with a multiple of the other operand a leaky ReLU."""
    largest = node.attrs["kind"] == "max"
    for x, other in (node.inputs, node.inputs[::-1]):
        limit = editor.scalar(other)
        if limit is not None and not math.isnan(limit):
            return x, clamp(limit, math.inf) if largest else clamp(-math.inf, limit)
        slope = polynomial(editor, other, x)
        if slope is None or len(slope) != 2 or slope[0] != 0:
            continue
        if (slope[1] <= 1) if largest else (slope[1] >= 1):
            return x, Activation("leaky_relu", slope[1])
    return None


def _prelu(node: Node, editor: Editor) -> Match | None:
    """PReLU with one slope for all channels."""
    if OF_SCALE in node.attrs and editor.graph.requantise == TFLITE:
        return None  # whose kernel has other factors than that of LEAKY_RELU
    slope = editor.constant(node.inputs[1])
    if slope is None or slope.size == 0 or np.any(slope != slope.flat[0]):
        return None
    return node.inputs[0], Activation("leaky_relu", float(slope.flat[0]))


def _quotient(node: Node, editor: Editor) -> Match | None:
    """1 / x, or a product whose last step divides by a scalar."""
    if editor.scalar(node.inputs[0]) == 1:
        return node.inputs[1], Activation("reciprocal")
    return _product(node, editor)


def _nested(node: Node, editor: Editor) -> Match | None:
    """Two clamps in a row, or clip(a x + b, 0, 1)."""
    function = node.epilogue.before
    inner = _unary(editor, node.inputs[0])
    both = compose(inner[1], function) if inner else None
    # A grid is no cheap clamp: what others read too is not computed a second time around it.
    apart = both is not None and both.kind == "grid" and editor.sole_reader(node.inputs[0]) is None
    if inner and both is not None and not apart:
        return inner[0], both
    match = _hard_sigmoid(editor, 1.0, node.output)
    return match if match and match[0] != node.inputs[0] else None


_MATCHERS: Mapping[str, Callable[[Node, Editor], Match | None]] = {
    "max": _extremum,
    "min": _extremum,
    "mul": _product,
    "div": _quotient,
    "prelu": _prelu,
}


def _match(node: Node, editor: Editor) -> Match | None:
    if node.op == "Unary" and node.epilogue.is_only_before:
        return _nested(node, editor)
    if node.op != "Binary" or not node.epilogue.is_empty:
        return None
    matcher = _MATCHERS.get(node.attrs["kind"])
    found = matcher(node, editor) if matcher else None
    # a constant x is for constant folding; a broadcast one is no activation
    if found is None or editor.constant(found[0]) is not None:
        return None
    return found if editor.shape(found[0]) == editor.shape(node.output) else None


def _origin(position: int, x: str, editor: Editor) -> tuple[str, ...]:
    """Origins of the nodes between the tensor ``x`` and the node at ``position``."""
    found: list[str] = []
    work = [position]
    while work:
        node = editor.node(work.pop())
        found.extend(node.origin)
        names = (name for name in node.reads() if name != x)
        writers = (editor.writer(name) for name in names)
        work.extend(writer for writer in writers if writer is not None)
    return tuple(dict.fromkeys(reversed(found)))


@at_each()
def run(position: int, editor: Editor) -> None:
    """Replace the last node of a spelling by one Unary; the others die unless still read."""
    while found := _match(editor.node(position), editor):
        x, function = found
        origin = _origin(position, x, editor)
        epilogue = Epilogue(before=function)
        editor.update(position, op="Unary", inputs=(x,), attrs={}, epilogue=epilogue, origin=origin)


PASS = Pass(
    run=run,
    requires="nodes without epilogue that together compute one activation function of one tensor",
    ensures="their result is one Unary of that tensor",
    after=("constant_folding",),
)
