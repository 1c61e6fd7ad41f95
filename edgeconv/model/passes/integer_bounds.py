"""Read Clip, Min and Max of integers, between quantising and dequantising, as bounds of the grid.

Quantisers of fewer bits than a type has write them so.  Numbers on a grid that are rounded to it
again stay what they are, but for its bounds.
"""

from __future__ import annotations

from dataclasses import replace

from edgeconv.ir.activation import Activation
from edgeconv.ir.edit import Editor
from edgeconv.ir.encoding import Encoding
from edgeconv.ir.graph import Epilogue, Graph, Node
from edgeconv.ir.quantisation import INTEGERS, SUMS, integers_of, rounding_to
from edgeconv.model.passes.base import Pass

_SIDES = frozenset({"max", "min"})


def _operands(node: Node, editor: Editor) -> tuple[str, int] | None:
    """The integers that the node bounds, and the bound; None where it is something else."""
    if node.op != "Elementwise" or node.attrs["function"] not in _SIDES or len(node.inputs) != 2:
        return None
    if editor.tensors[node.output].dtype not in INTEGERS or not node.epilogue.is_empty:
        return None
    data = [name for name in node.inputs if editor.constant(name) is None]
    bounds = [value for name in node.inputs if (value := editor.constant(name)) is not None]
    if len(data) != 1 or bounds[0].size != 1 or editor.tensors[node.output].dtype == SUMS:
        return None
    same = editor.shape(data[0]) == editor.shape(node.output)
    return (data[0], int(bounds[0].reshape(()))) if same else None


def _bounded(node: Node, bound: int, encoding: Encoding) -> Activation:
    """The grid of ``encoding`` with that bound."""
    grid, index = rounding_to(encoding), float(bound - encoding.zero[0])
    if node.attrs["function"] == "max":
        return replace(grid, beta=min(max(grid.beta, index), grid.gamma))
    return replace(grid, gamma=max(min(grid.gamma, index), grid.beta))


def _has_zero(grid: Activation) -> bool:
    """As what memory keeps in integers must."""
    return grid.beta <= 0 <= grid.gamma


def _common(readers: list[int], editor: Editor) -> Encoding | None:
    """What all of them, Dequantise, take the integers to stand for: one scale for all elements."""
    nodes = [editor.node(reader) for reader in readers]
    if not nodes or any(node.op != "Dequantise" for node in nodes):
        return None
    found = {integers_of(node) for node in nodes}
    encoding = found.pop()
    return encoding if not found and encoding.is_per_tensor else None


def _in_front(position: int, readers: list[int], encoding: Encoding, editor: Editor) -> None:
    """Dequantise, then the bound, instead of the node and its readers."""
    node, found = editor.node(position), _operands(editor.node(position), editor)
    assert found is not None
    data, bound = found
    real = editor.add_real(f"{data}.real", data)
    name = editor.fresh_node(f"{node.name}.dequantised")
    attrs = {"encoding": encoding}
    editor.insert(position, Node(name, "Dequantise", (data,), (real,), attrs, origin=node.origin))
    first, *others = readers
    target = editor.node(first).outputs
    for other in others:
        editor.rename_uses(editor.node(other).output, target[0])
        editor.replace(other, None)
    editor.replace(first, None)
    epilogue = Epilogue(before=_bounded(node, bound, encoding))
    unary = replace(node, op="Unary", inputs=(real,), outputs=target, attrs={}, epilogue=epilogue)
    editor.replace(position, unary)


def _behind(position: int, quantise: Node, editor: Editor) -> None:
    """The bound, then Quantise, instead of the node behind one."""
    node, found = editor.node(position), _operands(editor.node(position), editor)
    assert found is not None
    encoding = integers_of(quantise)
    bounded = editor.add_real(f"{node.output}.real", node.output)
    epilogue = Epilogue(before=_bounded(node, found[1], encoding))
    name = editor.fresh_node(f"{node.name}.bounds")
    reads = quantise.inputs[:1]
    unary = Node(name, "Unary", reads, (bounded,), epilogue=epilogue, origin=node.origin)
    editor.insert(position, unary)
    attrs = {"encoding": encoding}
    editor.update(position, op="Quantise", inputs=(bounded,), attrs=attrs)


def _rewrite(position: int, editor: Editor) -> None:
    node = editor.node(position)
    found = _operands(node, editor)
    if found is None:
        return
    readers = editor.readers(node.output)
    encoding = _common(readers, editor)
    wanted = [node.output, *(editor.node(reader).output for reader in readers[1:])]
    outside = not any(name in editor.outputs for name in wanted)
    if encoding is not None and outside and _has_zero(_bounded(node, found[1], encoding)):
        _in_front(position, readers, encoding, editor)
        return
    writer = editor.producer(found[0])
    if writer is None or writer.op != "Quantise" or not integers_of(writer).is_per_tensor:
        return
    if _has_zero(_bounded(node, found[1], integers_of(writer))):
        _behind(position, writer, editor)


def run(graph: Graph) -> Graph:
    """Rewrite what bounds integers, where they are quantised or dequantised right next to it."""
    editor = Editor(graph)
    for position in reversed(list(editor)):  # of two bounds the second is next to the Dequantise
        _rewrite(position, editor)
    return editor.finish()


PASS = Pass(
    run=run,
    requires="the larger or the smaller of integers of 16 bits at most and one constant, that only "
    "Dequantise of one scale read, or of what a Quantise of one scale writes",
    ensures="where 0 is within the bounds, it is a Unary that rounds real numbers to the grid of "
    "these integers within them",
)
