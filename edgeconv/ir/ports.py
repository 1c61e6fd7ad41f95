"""What a caller must know of the network's inputs and outputs beside shape and type."""

from __future__ import annotations

from dataclasses import dataclass, replace

from edgeconv.ir.encoding import Encoding
from edgeconv.ir.graph import DataDependentOutput, Graph, Node, Texts
from edgeconv.ir.grids import spacings_of
from edgeconv.ir.preprocessing import PREPROCESS
from edgeconv.ir.quantisation import INTEGERS, integers_of

# Operators whose result's axes are those of their first input.
_ELEMENTWISE = frozenset(
    {
        *("Affine", "Binary", "Concat", "Convert", "Dequantise", "Identity", "LRN", "Pad"),
        *("Quantise", "Resize", "Slice", "Table", "Unary"),
    }
)
_IMAGES = frozenset({"Conv", "Pool"})  # of [N, C, H, W], whatever lies in memory
NCHW, NHWC = "NCHW", "NHWC"
_TO_NCHW, _TO_NHWC = (0, 3, 1, 2), (0, 2, 3, 1)


@dataclass(frozen=True, slots=True)
class PortFacts:
    """What is known of one graph input or output.

    ``scaling``: number = (stored - zero) * scale, None where the elements are float32 or no single
    QuantizeLinear or DequantizeLinear says it.  ``axes``: "NCHW", "NHWC", or "" where the network
    does not tell.  ``spacing``: between neighbouring values of a quantised one, else 0.
    ``data_dependent``: how much of an output means something, where that is data-dependent.
    ``text``: what its strings are, where the model has strings.
    ``frame``: what an input that is a camera's frame is, in words.
    """

    scaling: Encoding | None
    axes: str
    spacing: float
    data_dependent: DataDependentOutput | None = None
    text: Texts | None = None
    frame: str = ""


def free_ports(graph: Graph) -> frozenset[str]:
    """Inputs and outputs that a caller might as well have in another layout: images and volumes,
    channels first in the model.  What is both an input and an output is none."""
    facts = port_facts(graph)
    return frozenset(
        name
        for name in {*graph.input_ports} ^ {*graph.output_ports}
        if len(graph[name].shape) > 3 and facts[name].axes != NHWC and not graph[name].is_constant
    )


def port_facts(graph: Graph) -> dict[str, PortFacts]:
    """The facts of every graph input and output, by name."""
    consumers, producers, spacings = graph.consumers(), graph.producers(), spacings_of(graph)
    found = {}
    for name in graph.inputs:
        readers = consumers[name]
        axes = _axes_of_input(graph, consumers, name)
        scaling = _scaling(graph, name, readers, "Dequantise")
        frame = _frame(readers)
        axes = NHWC if frame and len(graph[name].shape) == len(NHWC) else axes
        found[name] = PortFacts(scaling, axes, spacings.get(name, 0.0), frame=frame)
    for name in graph.outputs:
        writer = producers.get(name)  # none: an input that is an output
        axes = _axes_of_output(graph, producers, name)
        scaling = _scaling(graph, name, [writer] if writer else [], "Quantise")
        found.setdefault(name, PortFacts(scaling, axes, spacings.get(name, 0.0)))
    for each in graph.data_dependent:
        found[each.name] = replace(found[each.name], data_dependent=each)
    for text in graph.texts:
        if text.name in found:
            found[text.name] = replace(found[text.name], text=text)
    return found


def _frame(readers: list[Node]) -> str:
    """What those that read a camera's frame know of it; "" of other inputs."""
    found = (node.attrs["preprocessing"] for node in readers if node.op == PREPROCESS)
    return next((str(made.frame) for made in found), "")


def _scaling(graph: Graph, name: str, nodes: list[Node], op: str) -> Encoding | None:
    """What all of ``nodes`` that are of the operator ``op`` agree on."""
    if graph[name].dtype not in INTEGERS:
        return None
    said = {integers_of(node) for node in nodes if node.op == op}
    return said.pop() if len(said) == 1 else None


def _axes_of_input(graph: Graph, consumers: dict[str, list[Node]], name: str) -> str:
    if len(graph[name].shape) != len(NCHW):
        return ""
    said, seen = set(), {name}
    left = [(name, NCHW)]  # tensors, and what the input is where they are NCHW
    while left:
        tensor, axes = left.pop()
        for node in consumers[tensor]:
            if node.op in _IMAGES:
                said.add(axes)
            turned = axes == NCHW and _permutes(node, _TO_NCHW)
            if (turned or node.op in _ELEMENTWISE) and node.output not in seen:
                seen.add(node.output)
                left.append((node.output, NHWC if turned else axes))
    return said.pop() if len(said) == 1 else ""


def _axes_of_output(graph: Graph, producers: dict[str, Node], name: str) -> str:
    axes, node = NCHW, producers.get(name)
    if len(graph[name].shape) != len(NCHW):
        return ""
    while node and node.op not in _IMAGES:
        turned = axes == NCHW and _permutes(node, _TO_NHWC)
        if not turned and node.op not in _ELEMENTWISE:
            return ""
        axes = NHWC if turned else axes
        node = producers.get(node.inputs[0])
    return axes if node else ""


def _permutes(node: Node, axes: tuple[int, ...]) -> bool:
    return node.op == "Transpose" and tuple(node.attrs["perm"]) == axes
