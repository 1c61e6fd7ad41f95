"""What depends on decisions, and what these read."""

from __future__ import annotations

import pytest

from edgeconv.ir.activation import Activation
from edgeconv.ir.decisions import decisions
from edgeconv.ir.graph import Epilogue, Graph, Node, Tensor

FLOAT, INDEX, TEST = "float32", "int64", "bool"


def network(*nodes: tuple[Node, str]) -> Graph:
    """``nodes`` and the types of their results, behind a float input "x" and an int64 input "i"."""
    tensors = {"x": Tensor("x", (4,)), "i": Tensor("i", (4,), INDEX)}
    tensors |= {node.output: Tensor(node.output, (4,), dtype) for node, dtype in nodes}
    outputs = tuple(node.output for node, _ in nodes)
    return Graph("net", tuple(node for node, _ in nodes), tensors, ("x", "i"), outputs)


def node(op: str, inputs: str, output: str, *, function: str = "", before: str = "none") -> Node:
    attrs = {"function": function} if function else {}
    epilogue = Epilogue(Activation(before))
    return Node(output, op, tuple(inputs.split()), (output,), attrs, epilogue)


def test_what_follows_a_decision_depends_on_it() -> None:
    found = decisions(
        network(
            (node("Conv", "x", "sums"), FLOAT),
            (node("First", "sums", "best"), INDEX),
            (node("Conv", "x", "boxes"), FLOAT),
            (node("GatherElements", "boxes best", "box"), FLOAT),
            (node("Unary", "box", "far"), FLOAT),
            (node("Unary", "sums", "scores"), FLOAT),
        )
    )
    assert found.decided == {"best", "box", "far"}
    assert found.read == ("sums", "boxes")


@pytest.mark.parametrize(
    ("made", "dtype", "jumps"),
    [
        (node("Elementwise", "y", "z", function="greater"), TEST, True),
        (node("Elementwise", "y", "z", function="copy"), INDEX, True),
        (node("Elementwise", "y", "z", function="sign"), FLOAT, True),
        (node("Elementwise", "y", "z", function="abs"), FLOAT, False),
        (node("Unary", "y", "z", before="floor"), FLOAT, True),
        (node("Unary", "y", "z", before="relu"), FLOAT, False),
        (node("Quantise", "y", "z"), "int8", False),
        (node("Elementwise", "i", "z", function="greater"), TEST, False),
    ],
)
def test_what_jumps(made: Node, dtype: str, jumps: bool) -> None:
    found = decisions(network((node("Conv", "x", "y"), FLOAT), (made, dtype)))
    assert found.decided == ({"z"} if jumps else set())
    assert found.read == (("y",) if jumps else ())


def test_inputs_of_the_network_are_no_ones_to_judge() -> None:
    found = decisions(network((node("First", "x", "best"), INDEX)))
    assert found.decided == {"best"}
    assert found.read == ()
