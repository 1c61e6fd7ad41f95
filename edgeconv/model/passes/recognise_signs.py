"""Recognise a number with the sign of a tensor, as QONNX's BipolarQuant is spelled out in ONNX."""

from __future__ import annotations

from collections.abc import Mapping

from edgeconv.ir.activation import Activation, sign
from edgeconv.ir.edit import Editor
from edgeconv.ir.element_types import FLOAT32
from edgeconv.ir.graph import Epilogue, Node, origins
from edgeconv.model.passes.base import Pass, at_each

# Comparison with 0 -> whether what is chosen where it holds is that of numbers below 0.
_TESTS: Mapping[str, bool] = {"less": True, "greater_equal": False}


def _chosen(node: Node, editor: Editor) -> tuple[str, Activation, Node] | None:
    """(x, f, test) where the node is f(x), and ``test`` asks whether x is below 0."""
    if node.attrs["function"] != "where" or editor.tensors[node.output].dtype != FLOAT32:
        return None
    test = editor.producer(node.inputs[0])
    if test is None or test.op != "Elementwise" or test.attrs["function"] not in _TESTS:
        return None
    x, zero = test.inputs
    held, other = (editor.scalar(name) for name in node.inputs[1:])
    if editor.tensors[x].dtype != FLOAT32 or editor.constant(x) is not None:
        return None
    if editor.scalar(zero) != 0 or held is None or other is None or held != -other:
        return None
    size = other if _TESTS[test.attrs["function"]] else held
    same = editor.shape(x) == editor.shape(node.output)
    return (x, sign(size), test) if size > 0 and same else None


@at_each("Elementwise")
def run(position: int, editor: Editor) -> None:
    """Make a choice between two numbers by the sign of a tensor one Unary."""
    node = editor.node(position)
    found = _chosen(node, editor)
    if found is None:
        return
    x, function, test = found
    epilogue = Epilogue(before=function)
    origin = origins(test, node)
    editor.update(position, op="Unary", inputs=(x,), attrs={}, epilogue=epilogue, origin=origin)


PASS = Pass(
    run=run,
    requires="a choice between a number and its negative by whether elements of a float32 tensor "
    "of that shape are below 0",
    ensures="it is one Unary of that tensor",
    after=("constant_folding",),
)
