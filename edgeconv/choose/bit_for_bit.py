"""Networks whose results are to be TensorFlow Lite's, bit by bit: every rounding in integers, by a
kernel that follows its arithmetic, or refused."""

from __future__ import annotations

from collections.abc import Mapping, Sequence

from edgeconv.algorithms import algorithms
from edgeconv.errors import EdgeconvError
from edgeconv.ir.activation import Activation
from edgeconv.ir.candidate import EXACTLY
from edgeconv.ir.choice import Choice, Layer
from edgeconv.ir.graph import Graph, Node
from edgeconv.ir.grids import rounded_to
from edgeconv.ir.quantisation import integers_of, rounding_to
from edgeconv.lowering.integers import COMPUTE
from edgeconv.lowering.options import LayoutOption
from edgeconv.requantisation import EXACT

# Operators whose kernels in integers are those of `ir.Graph.requantise`.
FOLLOWING = frozenset({"Binary", "Conv", "Dense", "Pool", "Reduce", "Resize", "Softmax", "Unary"})
_MOVEMENT = frozenset({"Identity", "Reshape", "Transpose"})


def following(node: Node, graph: Graph, options: Sequence[LayoutOption]) -> Sequence[LayoutOption]:
    """``options`` of ``node``; those in integers alone where the network is to be bit for bit what
    others compute and there are any."""
    if graph.requantise == EXACT or node.op not in FOLLOWING:
        return options
    return [option for option in options if _in_integers(option)] or options


def _in_integers(option: LayoutOption) -> bool:
    if option.attrs.get(COMPUTE) in EXACTLY:
        return True
    entry = algorithms().get(str(option.attrs.get("algorithm")))
    return entry is not None and entry.compute in EXACTLY


def require_kernels(graph: Graph) -> None:
    """Raises EdgeconvError where ``graph``, as loaded, has an operator whose kernel of uint8
    computes in float32: what that rounds no integers tell."""
    if graph.requantise == EXACT:
        return
    writers, known = graph.producers(), rounded_to(graph)
    for node in graph.nodes:
        if node.op != "Quantise" or integers_of(node).low < 0:
            continue
        writer = writers.get(node.inputs[0])
        while writer is not None and writer.op in _MOVEMENT:
            writer = writers.get(writer.inputs[0])
        if writer is not None and _in_float32(writer, rounding_to(integers_of(node)), known):
            raise EdgeconvError(
                f"--requantise {graph.requantise}",
                where=writer.name,
                got=f"{writer.op} of uint8",
                rule="TensorFlow Lite's reference kernel of it computes in float32",
                hint="quantise the model to int8, leave --requantise out, or cut the network in "
                "front of it with --output",
            )


def _in_float32(node: Node, rounding: Activation, known: Mapping[str, Activation]) -> bool:
    """RESIZE_BILINEAR; CONCATENATION where an operand is on another grid than the result."""
    if node.op == "Concat":
        return any(known.get(name) not in (None, rounding) for name in node.inputs)
    return node.op == "Resize" and node.attrs["mode"] == "linear"


def require(choice: Choice) -> None:
    """Raises EdgeconvError where a layer rounds otherwise than `ir.Graph.requantise` says."""
    graph = choice.graph
    if graph.requantise == EXACT:
        return
    rounding = roundings(graph)
    others = [
        layer for layer in choice.layers if layer.node.name in rounding and not _follows(layer)
    ]
    if not others:
        return
    raise EdgeconvError(
        f"--requantise {graph.requantise}",
        where=others[0].node.name,
        got=f"{others[0].node.op} and {len(others) - 1} more" if others[1:] else others[0].node.op,
        rule="its result would not be bit for bit that of TensorFlow Lite's reference kernels",
        hint="leave --requantise out, or cut the network in front of it with --output; "
        "docs/tflite.md lists what is followed",
        details=tuple(f"{layer.node.name}: {layer.node.op}" for layer in others[1:]),
    )


def _follows(layer: Layer) -> bool:
    integers = layer.candidate is not None and layer.candidate.compute in EXACTLY
    return integers and layer.node.op in FOLLOWING


def roundings(graph: Graph) -> frozenset[str]:
    """The nodes that bring computed numbers to a grid where they do not lie.  What the caller gives
    as float32 is not computed."""
    known = rounded_to(graph)

    def rounds(node: Node) -> bool:
        if node.op != "Quantise":
            return "grid" in (node.epilogue.before.kind, node.epilogue.after.kind)
        grid, encoding = known.get(node.inputs[0]), integers_of(node)
        there = grid is not None and encoding.is_per_tensor and grid.alpha == encoding.scale[0]
        return node.inputs[0] not in graph.inputs and not there

    return frozenset(node.name for node in graph.nodes if rounds(node))
