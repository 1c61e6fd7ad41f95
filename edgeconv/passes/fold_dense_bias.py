"""Fold arithmetic with a constant row or scalar into the weights and bias of a Dense."""

from __future__ import annotations

from typing import Any

import numpy as np
import numpy.typing as npt

from edgeconv.ir.edit import Editor
from edgeconv.ir.graph import Array, Graph, Node
from edgeconv.passes.base import Pass
from edgeconv.passes.units import rescaled

Reals = npt.NDArray[np.float64]


def _row(value: Array, rank: int, out_c: int) -> Reals | None:
    """``value`` as one float64 per output of a Dense; None when it varies along another axis."""
    if value.dtype.kind != "f" or value.ndim > rank or value.size not in (1, out_c):
        return None
    if value.size != 1 and value.shape[-1] != out_c:
        return None
    return np.broadcast_to(value.reshape(-1), (out_c,)).astype(np.float64)


def _folded(node: Node, which: int, row: Reals, bias: Reals) -> tuple[Reals, Reals] | None:
    """Factors of the weights' rows, and the bias after ``node``, whose input ``which`` is the
    constant ``row``."""
    one, kind = np.ones_like(bias), node.attrs["kind"]
    if kind == "add":
        return one, bias + row
    if kind == "sub":
        return (one, bias - row) if which == 1 else (-one, row - bias)
    if kind == "mul":
        return row, bias * row
    if kind == "div" and which == 1 and np.all(row != 0):
        return 1 / row, bias / row
    return None


def _fold(position: int, editor: Editor) -> None:
    node = editor.node(position)
    shape = editor.shape(node.output)
    for which, name in enumerate(node.inputs):
        value, tensor = editor.constant(name), node.inputs[1 - which]
        dense = editor.writer(tensor)
        if value is None or dense is None or editor.shape(tensor) != shape:
            continue
        producer = editor.node(dense)
        if (
            producer.op != "Dense"
            or not producer.epilogue.is_empty
            or editor.sole_reader(tensor) != position
        ):
            continue
        weights = editor.constant(producer.inputs[1])
        has_bias = len(producer.inputs) > 2 and bool(producer.inputs[2])
        bias = editor.constant(producer.inputs[2]) if has_bias else np.zeros(shape[-1])
        row = _row(value, len(shape), shape[-1])
        if weights is None or bias is None or row is None:
            continue
        new = _folded(node, which, row, bias.astype(np.float64))
        if new is not None:
            scaled, attrs = rescaled(producer, weights.astype(np.float64), new[0])
            _store(dense, position, (scaled, new[1]), attrs, editor)
            return


def _store(
    dense: int, reader: int, new: tuple[Reals, Reals], attrs: dict[str, Any], editor: Editor
) -> None:
    producer = editor.node(dense)
    dtype = editor.tensors[producer.inputs[1]].dtype
    with np.errstate(over="ignore"):
        weights, bias = (part.astype(dtype) for part in new)
    if np.isinf(weights).any() or np.isinf(bias).any():
        return
    name = producer.inputs[1]
    if not np.array_equal(weights, editor.tensors[name].constant(), equal_nan=True):
        name = editor.add_constant(f"{name}.folded", weights)
    inputs = (producer.inputs[0], name, editor.add_constant(f"{name}.folded_bias", bias))
    epilogue = editor.node(reader).epilogue
    editor.absorb(dense, reader, inputs=inputs, attrs=attrs, epilogue=epilogue)


def run(graph: Graph) -> Graph:
    """Fold Binary add, sub, mul, div behind a Dense that nothing else reads."""
    editor = Editor(graph)
    for position in editor:
        if editor.node(position).op == "Binary":
            _fold(position, editor)
    return editor.finish()


PASS = Pass(
    name="fold_dense_bias",
    run=run,
    requires="Binary add, sub, mul or div of a constant (a scalar or one value per output) with "
    "the result of a Dense without epilogue that nothing else reads",
    ensures="the Binary is part of the Dense's weights and bias",
    after=("constant_folding", "recognise_activations"),
)
