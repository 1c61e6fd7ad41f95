"""Networks whose results are to be TensorFlow Lite's, bit by bit: every rounding in integers, by a
kernel that follows its arithmetic, or refused."""

from __future__ import annotations

from collections.abc import Mapping, Sequence

from edgeconv.base.errors import EdgeconvError
from edgeconv.ir.activation import Activation
from edgeconv.ir.candidate import EXACTLY
from edgeconv.ir.choice import Choice, Layer
from edgeconv.ir.edit import Editor
from edgeconv.ir.element_types import FLOAT32
from edgeconv.ir.graph import Graph, Node
from edgeconv.ir.grids import integers_for, last_activation, rounded_to
from edgeconv.ir.quantisation import integers_of, rounding_to
from edgeconv.ir.ranges import ZERO
from edgeconv.ir.requantisation import EXACT
from edgeconv.kernels.algorithms import algorithms
from edgeconv.kernels.lowering.options import LayoutOption

# Operators whose kernels in integers are those of `ir.Graph.requantise`.
FOLLOWING = frozenset(
    {"Binary", "Conv", "Dense", "MatMul", "Pool", "Reduce", "Resize", "Softmax", "Unary"}
)
_MOVEMENT = frozenset({"Identity", "Reshape", "Transpose"})
_ROUNDS_ALONE = _MOVEMENT | {"Unary"}  # where they bring what they read to a grid, and no more


def following(node: Node, graph: Graph, options: Sequence[LayoutOption]) -> Sequence[LayoutOption]:
    """``options`` of ``node``; those in integers alone where the network is to be bit for bit what
    others compute and there are any."""
    if graph.requantise == EXACT or node.op not in FOLLOWING:
        return options
    return [option for option in options if _in_integers(option)] or options


def _in_integers(option: LayoutOption) -> bool:
    if option.request is None:
        return False
    entry = algorithms().get(option.request.algorithm)
    return option.request.integers or (entry is not None and entry.compute in EXACTLY)


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


def with_integer_results(graph: Graph) -> Graph:
    """``graph``, its passes done, where each float32 output that a kernel in integers rounds is a
    copy of a tensor of its own, which memory can hold as these integers: a model that ends in
    DEQUANTIZE, as TensorFlow's converter makes it by default."""
    if graph.requantise == EXACT:
        return graph
    editor, rounding = Editor(graph), roundings(graph)
    for name in dict.fromkeys(graph.outputs):
        writer = editor.writer(name)
        if writer is None or graph[name].dtype != FLOAT32:
            continue
        node = editor.node(writer)
        if node.name not in rounding or node.op not in FOLLOWING or len(node.outputs) > 1:
            continue
        inner = editor.add_tensor(f"{name}/rounded", graph[name].shape, graph[name])
        editor.rename_uses(name, inner)
        editor.update(writer, outputs=(inner,))
        copy = editor.fresh_node(f"{node.name}/dequantised")
        editor.insert(writer, Node(copy, "Identity", (inner,), (name,), origin=node.origin))
    return editor.finish()


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
    named = [_named(layer.node) for layer in others]
    raise EdgeconvError(
        f"--requantise {graph.requantise}",
        where=others[0].node.name,
        got=f"{named[0]} and {len(named) - 1} more" if named[1:] else named[0],
        rule="its result would not be bit for bit that of TensorFlow Lite's reference kernels",
        hint="leave --requantise out, or cut the network in front of it with --output; "
        "docs/tflite.md lists what is followed",
        details=tuple(
            f"{layer.node.name}: {name}" for layer, name in zip(others[1:], named[1:], strict=True)
        ),
    )


def _named(node: Node) -> str:
    """The operator, what it does where it is one of several, and the type of its result."""
    said = (node.attrs.get(name) for name in ("kind", "mode", "function"))
    which = next((str(each) for each in said if each), "")
    if node.op == "Unary":
        which = node.epilogue.before.kind
    grid = integers_for(last_activation(node)) if node.op != "Quantise" else integers_of(node)
    of_type = f" of int{grid.bits}" if grid is not None else ""
    return f"{node.op} ({which}){of_type}" if which else f"{node.op}{of_type}"


def _follows(layer: Layer) -> bool:
    integers = layer.candidate is not None and layer.candidate.compute in EXACTLY
    return integers and layer.node.op in FOLLOWING


def roundings(graph: Graph) -> frozenset[str]:
    """The nodes that bring computed numbers to a grid where they do not lie.  What the caller gives
    as float32 is not computed, and integers by a scale of run time are those of that."""
    known, given, writers = rounded_to(graph), set(graph.inputs), graph.producers()
    for node in graph.nodes:
        if node.inputs[:1] and node.inputs[0] in given and node.op in _MOVEMENT:
            given |= {node.output} if node.epilogue.is_empty else set()

    def by_run_time(node: Node) -> bool:
        made = [writers[name].op for name in node.inputs if name in writers]
        return node.op == "Binary" and ZERO in made

    def rounds(node: Node) -> bool:
        if by_run_time(node):
            return False
        if node.op != "Quantise":
            kinds = node.epilogue.before.kind, node.epilogue.after.kind
            as_given = node.op in _ROUNDS_ALONE and node.inputs[0] in given
            return "grid" in kinds and not (as_given and kinds == ("grid", "none"))
        grid, encoding = known.get(node.inputs[0]), integers_of(node)
        there = grid is not None and encoding.is_per_tensor and grid.alpha == encoding.scale[0]
        return node.inputs[0] not in given and not there

    return frozenset(node.name for node in graph.nodes if rounds(node))
