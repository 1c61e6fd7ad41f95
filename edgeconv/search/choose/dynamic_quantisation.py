"""Layers whose input a model quantises at run time, in integers where that is faster, as predicted.

The frontend spells DynamicQuantizeLinear and MatMulInteger or ConvInteger out in real arithmetic:
(round(x / s) + z) - z is what a Dense or Conv reads, and a product with the scales follows.  Here
these nodes become a DynamicQuantise, which memory has as int8, and a DynamicDense or DynamicConv.
"""

from __future__ import annotations

from collections.abc import Callable, Collection, Iterator, Sequence
from dataclasses import dataclass, replace

import numpy as np

from edgeconv.ir.activation import Activation, grid
from edgeconv.ir.edit import Editor
from edgeconv.ir.encoding import INT8
from edgeconv.ir.filters import DYNAMIC, Floats, format_of_integers
from edgeconv.ir.graph import Epilogue, Graph, Node, Tensor, origins
from edgeconv.ir.ranges import RANGE, SCALE
from edgeconv.kernels.algorithms.int8_packed.run_time import STORED
from edgeconv.kernels.algorithms.widening import widened
from edgeconv.kernels.ops.dynamic_products import computable
from edgeconv.search.choose.prices import is_cheaper
from edgeconv.search.choose.run_time_ranges import ranged
from edgeconv.target.price import Machine
from edgeconv.target.targets import Target

_BYTES = grid(1.0, 0.0, 255.0)
May = Callable[[Sequence[str]], bool]  # whether a product and the nodes behind it become one
_WHOLE = Activation("round")


@dataclass(frozen=True, slots=True)
class _Integers:
    """Where a tensor of integers less their zero point comes from: ``x`` and its ``scale`` make the
    integers ``quantised`` of ``zero``."""

    x: str
    scale: str
    zero: str
    quantised: str


def in_integers(
    graph: Graph,
    target: Target,
    machine: Machine | None = None,
    kept: frozenset[str] = frozenset(),
) -> Graph:
    """``graph`` with those of its dynamically quantised layers in integers that ``target`` computes
    faster so; layers whose names are in ``kept`` stay in float32."""
    graph = ranged(graph)
    for name in quantised_at_run_time(graph):
        made = _with_integers(graph, name, target, kept.isdisjoint)
        if made and is_cheaper(made, graph, target, machine):
            graph = made
    return graph


def as_decided(graph: Graph, target: Target, layers: Collection[str]) -> Graph:
    """``graph`` with these of its dynamically quantised layers in integers, as `in_integers` had
    it."""
    graph = ranged(graph)
    for name in quantised_at_run_time(graph) if layers else ():
        graph = _with_integers(graph, name, target, lambda names: names[0] in layers) or graph
    return graph


def quantised_at_run_time(graph: Graph) -> list[str]:
    """The tensors of integers less their zero point that a product may read."""
    editor = Editor(graph)
    return [node.output for node in graph.nodes if _integers(node, editor)]


def _integers(node: Node, editor: Editor) -> _Integers | None:
    """What ``node`` subtracts the zero point of."""
    if node.op != "Binary" or node.attrs["kind"] != "sub" or not node.epilogue.is_empty:
        return None
    quantised, zero = node.inputs
    added = _binary(editor.producer(quantised), "add", _BYTES)
    if added is None or added.inputs[1] != zero or not _is_number(zero, editor):
        return None
    divided = _binary(editor.producer(added.inputs[0]), "div", _WHOLE)
    if divided is None or not _is_number(divided.inputs[1], editor):
        return None
    x, scale = divided.inputs
    return _Integers(x, scale, zero, quantised)


def _binary(node: Node | None, kind: str, rounding: Activation) -> Node | None:
    """``node`` if it is that, and rounds what it makes so."""
    if node is None or node.op != "Binary" or node.attrs["kind"] != kind:
        return None
    return node if node.epilogue == Epilogue(before=rounding) else None


def _is_range_of(x: str, scale: str, editor: Editor) -> bool:
    """Whether ``scale`` is that of the range of ``x``, of which no element is beyond 256 of it."""
    made = editor.made_by(scale, SCALE)
    bounds = editor.made_by(made.inputs[0], RANGE) if made else None
    return bounds is not None and bounds.inputs == (x,)


def _is_number(name: str, editor: Editor) -> bool:
    return editor.tensors[name].size == 1


def _with_integers(graph: Graph, name: str, target: Target, may: May) -> Graph | None:
    """The graph with the products that read ``name`` in integers, where they may be; None where
    there are none."""
    editor = Editor(graph)
    writer = editor.producer(name)
    found = _integers(writer, editor) if writer else None
    if found is None:
        return None
    like = editor.tensors[found.quantised]
    stored = editor.fresh(f"{found.quantised}/int8")
    done = False
    for position in list(editor.readers(name)):
        last = _product(position, name, stored, found, editor, graph, may)
        if last is None:
            continue
        tensors = {**editor.tensors, stored: replace(like, name=stored, storage=STORED)}
        if computable(last, replace(graph, tensors=tensors), target):
            _put(position, last, editor)
            _remove_unread(name, editor)
            done = True
    if not done:
        return None
    editor.tensors[stored] = Tensor(stored, like.shape, storage=STORED)
    assert writer is not None
    near = editor.writer(name)
    assert near is not None
    reads = (found.x, found.scale, found.zero)
    attrs = {"ranged": _is_range_of(found.x, found.scale, editor)}
    quantise = Node(f"{writer.name}/int8", "DynamicQuantise", reads, (stored,), attrs)
    editor.insert(near, replace(quantise, origin=origins(writer)))
    return editor.finish()


def _chain(node: Node, editor: Editor) -> Iterator[Node]:
    """A product and the nodes behind it, each the only reader of the one before."""
    while True:
        yield node
        reader = editor.sole_reader(node.output)
        if reader is None or not node.epilogue.is_empty:
            return
        node = editor.node(reader)


def _product(
    position: int,
    name: str,
    stored: str,
    found: _Integers,
    editor: Editor,
    graph: Graph,
    may: May,
) -> Node | None:
    """The product at ``position`` that reads ``name``, with the unit, the bias and what is added
    behind it, as one node of integers; None where it is none."""
    product = editor.node(position)
    if product.op not in DYNAMIC or product.inputs[0] != name or any(product.inputs[2:]):
        return None
    product = _with_upper_bits(product, editor)
    chain = _chain(product, editor)
    next(chain)
    product = widened(product, replace(graph, tensors=editor.tensors)) or product
    storage = product.storage
    if storage.element != INT8 or set(storage.scale) != {1.0}:
        return None
    scaled = next(chain, None)
    axis = 1 if product.op == "Conv" else len(editor.shape(product.output)) - 1
    unit = _beside(scaled, product.output, "mul", axis, editor)
    if scaled is None or not unit or editor.constant(unit) is not None:
        return None
    nodes, bias = [product, scaled], ""
    last = next(chain, None)
    if last is not None and (bias := _bias(last, scaled.output, axis, editor)):
        nodes.append(last)
    epilogue = nodes[-1].epilogue
    if added := _added(nodes[-1], editor):
        nodes.append(added[0])
        epilogue = replace(epilogue, residual=added[1], after=added[0].epilogue.before)
    if not may([node.name for node in nodes]):
        return None
    return replace(
        product,
        op=DYNAMIC[product.op],
        inputs=(stored, product.inputs[1], bias, found.zero, unit),
        outputs=nodes[-1].outputs,
        epilogue=epilogue,
        origin=origins(*nodes),
    )


def _with_upper_bits(lower: Node, editor: Editor) -> Node:
    """The product that ``lower`` is part of where the frontend sums upper and lower bits of filters
    apart, because float32 has not all of their sums (`definitions.dynamic`): int32 has."""
    upper = editor.producer(lower.epilogue.residual)
    if upper is None or lower.epilogue != Epilogue(residual=upper.output):
        return lower
    zeros = [editor.constant(bias) for bias in upper.inputs[2:] if bias]
    if any(bias is None or bias.any() for bias in zeros) or not upper.epilogue.is_empty:
        return lower
    if _but_filters(upper) != _but_filters(lower):
        return lower
    high, low = (editor.constant(each.inputs[1]) for each in (upper, lower))
    if high is None or low is None or high.shape != low.shape:
        return lower
    whole: Floats = high.astype(np.float32) + low.astype(np.float32)
    form = format_of_integers(int(whole.min()), int(whole.max()), INT8.bits)
    if form is None or (whole != np.rint(whole)).any():
        return lower
    attrs = {**lower.attrs, "storage": form.scaled((1.0,) * len(whole)), "exact": True}
    filters = editor.add_constant(f"{lower.inputs[1]}/whole", whole)
    inputs = (lower.inputs[0], filters, *lower.inputs[2:])
    return replace(lower, inputs=inputs, attrs=attrs, epilogue=Epilogue())


def _but_filters(node: Node) -> tuple[str, str, dict[str, object]]:
    """What a product is beside its filters."""
    attrs = {name: value for name, value in node.attrs.items() if name not in ("storage", "exact")}
    return node.op, node.inputs[0], attrs


def _remove_unread(name: str, editor: Editor) -> None:
    """Products of ``name`` that nothing reads any more: those with upper bits."""
    for position in list(editor.readers(name)):
        output = editor.node(position).output
        if not editor.readers(output) and output not in editor.outputs:
            editor.replace(position, None)


def _beside(node: Node | None, name: str, kind: str, axis: int, editor: Editor) -> str:
    """The other operand of a Binary of ``kind`` that reads ``name``: one number, or one per index
    of ``axis``; else ""."""
    if node is None or node.op != "Binary" or node.attrs["kind"] != kind:
        return ""
    other = node.inputs[1] if node.inputs[0] == name else node.inputs[0]
    shape, whole = editor.shape(other), editor.shape(name)
    if editor.shape(node.output) != whole or other == name:
        return ""
    aligned = (1,) * (len(whole) - len(shape)) + shape
    along = all(size == 1 for i, size in enumerate(aligned) if i != axis)
    return other if along else ""


def _bias(node: Node, name: str, axis: int, editor: Editor) -> str:
    """The constant, one number per index of ``axis``, that a node adds to ``name``; else ""."""
    if node.op == "Affine" and axis == 1:
        scale = editor.constant(node.inputs[1])
        return node.inputs[2] if scale is not None and (scale == 1).all() else ""
    found = _beside(node, name, "add", axis, editor)
    value = editor.constant(found) if found else None
    return found if value is not None and value.size == editor.shape(name)[axis] else ""


def _added(end: Node, editor: Editor) -> tuple[Node, str] | None:
    """The node that adds a tensor computed elsewhere to the result of ``end``, which nothing else
    reads, and that tensor."""
    reader = editor.sole_reader(end.output)
    node = editor.node(reader) if reader is not None else None
    if node is None or node.op != "Binary" or node.attrs["kind"] != "add":
        return None
    if not (node.epilogue.is_only_before and end.epilogue.is_only_before):
        return None
    other = node.inputs[1] if node.inputs[0] == end.output else node.inputs[0]
    shapes = {editor.shape(each) for each in (other, end.output, node.output)}
    if other == end.output or len(shapes) > 1 or editor.constant(other) is not None:
        return None
    return node, other


def _put(position: int, last: Node, editor: Editor) -> None:
    """``last`` in place of the nodes from ``position`` on that it stands for."""
    names = set(last.outputs)
    at = position
    while not names & set(editor.node(at).outputs):
        reader = editor.sole_reader(editor.node(at).output)
        assert reader is not None
        editor.replace(at, None)
        at = reader
    editor.replace(at, last)
