"""Scalar arithmetic spelled out in nodes, read back as a polynomial in one tensor.

Exporters write ``0.5 * x * (1 + tanh(k * (x + c * x^3)))`` with any association and any choice of
mul, div and pow.  Comparing polynomials instead of node patterns recognises all of them.
"""

from __future__ import annotations

import math
from collections.abc import Sequence

import numpy as np

from edgeconv.ir.edit import Editor
from edgeconv.ir.graph import Node

Coefficients = tuple[float, ...]  # of 1, x, x^2, ...; without trailing zeros

_MAX_DEPTH = 8
_MAX_DEGREE = 4
_X: Coefficients = (0.0, 1.0)


def plain_binary(editor: Editor, name: str) -> Node | None:
    """The Binary without epilogue that computes ``name``, of the shape of its result.

    An operand that broadcasts other than a one-element constant makes it no scalar arithmetic.
    """
    node = editor.made_by(name, "Binary")
    if node is None:
        return None
    shape = editor.shape(name)
    same = (editor.shape(i) == shape or editor.scalar(i) is not None for i in node.inputs)
    return node if all(same) else None


def polynomial(editor: Editor, name: str, x: str, depth: int = _MAX_DEPTH) -> Coefficients | None:
    """``name`` as a polynomial in the tensor ``x``; None when it is none of low degree."""
    if name == x:
        return _X
    constant = editor.scalar(name)
    if constant is not None:
        return _trim((constant,))
    node = plain_binary(editor, name)
    if node is None or depth == 0:
        return None
    left = polynomial(editor, node.inputs[0], x, depth - 1)
    right = polynomial(editor, node.inputs[1], x, depth - 1) if left is not None else None
    if left is None or right is None:
        return None
    return _combine(node.attrs["kind"], left, right)


def _combine(kind: str, left: Coefficients, right: Coefficients) -> Coefficients | None:
    if kind in ("add", "sub"):
        sign = 1.0 if kind == "add" else -1.0
        size = max(len(left), len(right))
        padded = (np.pad(part, (0, size - len(part))) for part in (left, right))
        a, b = padded
        return _trim((a + sign * b).tolist())
    if kind == "mul":
        return _trim(np.convolve(left, right).tolist()) if left and right else ()
    if kind == "div" and len(right) == 1:
        return _trim([value / right[0] for value in left])
    if kind == "pow" and len(right) == 1 and right[0] in (2.0, 3.0):
        square = _combine("mul", left, left)
        return square if right[0] == 2.0 or square is None else _combine("mul", square, left)
    return None


def _trim(values: Sequence[float]) -> Coefficients | None:
    """Without trailing zeros; None above the largest degree or beyond finite numbers."""
    kept = list(values)
    while kept and kept[-1] == 0:
        kept.pop()
    if len(kept) > _MAX_DEGREE + 1 or not all(map(math.isfinite, kept)):
        return None
    return tuple(kept)


def close(found: Coefficients | None, wanted: Sequence[float]) -> bool:
    """Whether two polynomials agree to the precision of float32 constants."""
    if found is None or len(found) != len(wanted):
        return False
    pairs = zip(found, wanted, strict=True)
    return all(math.isclose(a, b, rel_tol=1e-6, abs_tol=1e-9) for a, b in pairs)


def linear_root(editor: Editor, name: str) -> tuple[str, float, float]:
    """(x, a, b) with ``name`` = a * x + b; the steps in between serve ``name`` only."""
    root, scale, shift = name, 1.0, 0.0
    for _ in range(_MAX_DEPTH):
        node = plain_binary(editor, root)
        if node is None or (root != name and editor.sole_reader(root) is None):
            break
        tensors = [i for i in node.inputs if editor.constant(i) is None]
        step = polynomial(editor, root, tensors[0], 1) if tensors else None
        if step is None or len(step) != 2:
            break
        root, scale, shift = tensors[0], scale * step[1], shift + scale * step[0]
    return root, scale, shift
