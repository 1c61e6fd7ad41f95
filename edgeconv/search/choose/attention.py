"""Two products with a Softmax between them in one kernel, which never has all scores in memory.

    softmax(cap(scale q k') + mask) v

as ONNX's Attention is written out and as exporters leave it: factors may stand at q, at k or behind
their product; the mask is what is added last before the Softmax.  The kernel reads q, k and v where
they lie before they are reshaped, transposed, sliced and repeated, and writes what a Transpose
makes of the result.
"""

from __future__ import annotations

import math
from collections.abc import Callable, Collection, Sequence
from dataclasses import dataclass, replace
from typing import Any

import numpy as np

from edgeconv.ir.edit import Editor
from edgeconv.ir.encoding import FLOAT32
from edgeconv.ir.graph import Graph, Node, Tensor, origins
from edgeconv.ir.strided import Strided, common
from edgeconv.kernels.lowering.nest import MOST_LOOPS
from edgeconv.kernels.ops.attention import ATTENTION
from edgeconv.search.choose.prices import is_cheaper
from edgeconv.target.price import Machine
from edgeconv.target.targets import Target

May = Callable[[Sequence[str]], bool]  # whether the nodes of these names may become one
_VANISHES = -1e30  # what is added to scores of float32 that nothing is to be left of
_VIEWS = frozenset({"Reshape", "Transpose", "Slice", "Expand"})


@dataclass(frozen=True, slots=True)
class _Operand:
    """A tensor, where in it the elements of an operand lie, and what they are multiplied by."""

    name: str
    place: Strided
    factor: float = 1.0


@dataclass(frozen=True, slots=True)
class _Scores:
    """What a Softmax reads: cap(scale a b) + mask, of a product; ``nodes`` that make it of that."""

    product: Node
    scale: float
    cap: float
    mask: str
    nodes: tuple[Node, ...]


def with_attention(
    graph: Graph,
    target: Target,
    machine: Machine | None = None,
    kept: frozenset[str] = frozenset(),
    *,
    minimum_ram: bool = False,
) -> Graph:
    """``graph`` with Attention nodes where they are predicted to cost less than what they stand
    for; with ``minimum_ram`` wherever they can stand.  Layers whose names are in ``kept`` stay."""
    for name in _softmaxes(graph):
        made = _with(graph, name, kept.isdisjoint)
        if made is None:
            continue
        cheaper = is_cheaper(made, graph, target, machine)
        graph = made if minimum_ram or cheaper else graph
    return graph


def as_decided(graph: Graph, layers: Collection[str]) -> Graph:
    """``graph`` with the Attention nodes of these names, as `with_attention` had it."""
    for name in _softmaxes(graph) if layers else ():
        graph = _with(graph, name, lambda names: names[0] in layers) or graph
    return graph


def _softmaxes(graph: Graph) -> list[str]:
    return [node.output for node in graph.nodes if node.op == "Softmax"]


def _with(graph: Graph, softmax: str, may: May) -> Graph | None:
    """``graph`` with an Attention for the Softmax that writes this tensor; None where none is."""
    editor = Editor(graph)
    first = editor.writer(softmax)
    if first is None:
        return None
    node = editor.node(first)
    rank = len(editor.shape(softmax))
    if node.attrs["axis"] != rank - 1 or node.attrs["log"] or not node.epilogue.is_empty:
        return None
    scores = _scores(first, editor)
    last = _product(first, editor)
    if scores is None or last is None:
        return None
    names = (
        editor.node(last[0]).name,
        *(each.name for each in (*scores.nodes, scores.product, node)),
    )
    return _attention(scores, node, *last, editor) if may(names) else None


def _product(softmax: int, editor: Editor) -> tuple[int, Node | None] | None:
    """The position of the MatMul that alone reads the weights, first, and a node between them that
    makes all weights of some queries zero."""
    weights, chosen = editor.node(softmax).output, None
    reader = editor.sole_reader(weights)
    if reader is not None and _empties_rows(editor.node(reader), weights, editor):
        chosen = editor.node(reader)
        weights = chosen.output
        reader = editor.sole_reader(weights)
    if reader is None:
        return None
    node = editor.node(reader)
    plain = node.op == "MatMul" and node.epilogue.is_empty and node.inputs[0] == weights
    if not plain or node.inputs[1] == weights or not _is_real(node, editor):
        return None
    condition = editor.constant(chosen.inputs[0]) if chosen else None
    return reader, None if condition is not None and not condition.any() else chosen


def _empties_rows(node: Node, name: str, editor: Editor) -> bool:
    """Whether ``node`` is zero for some queries, and ``name`` for the others."""
    if node.op != "Elementwise" or node.attrs.get("function") != "where":
        return False
    condition, zero, other = node.inputs
    rows = editor.shape(condition)[-1:] in ((), (1,)) and editor.scalar(zero) == 0.0
    return rows and other == name and editor.shape(node.output) == editor.shape(name)


def _is_real(node: Node, editor: Editor) -> bool:
    tensors = (editor.tensors[name] for name in (*node.reads(), *node.outputs))
    return all(tensor.dtype == "float32" and tensor.storage == FLOAT32 for tensor in tensors)


def _scores(softmax: int, editor: Editor) -> _Scores | None:
    """What the Softmax at this position reads, if nothing else does."""
    position, name = softmax, editor.node(softmax).inputs[0]
    mask, scale, cap = "", 1.0, 0.0
    nodes: list[Node] = []
    while (writer := editor.private_writer(name, position)) is not None:
        node = editor.node(writer)
        if node.op == "MatMul":
            whole = node.epilogue.is_empty and _is_real(node, editor)
            return _Scores(node, scale, cap, mask, tuple(nodes)) if whole else None
        factor = _factor(node, editor)
        if factor is not None and not node.epilogue.is_empty:
            # cap * tanh(s * factor), of which cap was met before
            if node.epilogue.before.kind != "tanh" or not node.epilogue.is_only_before:
                return None
            if cap or scale == 1.0:
                return None
            cap, scale = scale, factor[1] * scale
        elif factor is not None:
            scale *= factor[1]
        elif (added := _added(node, editor)) and not (mask or nodes):
            factor, mask = (added[0], 1.0), added[1]
        else:
            return None
        nodes.append(node)
        position, name = writer, factor[0]
    return None


def _factor(node: Node, editor: Editor) -> tuple[str, float] | None:
    """The tensor that ``node`` multiplies by one number, and that number."""
    if node.op != "Binary" or node.attrs["kind"] not in ("mul", "div"):
        return None
    x, other = node.inputs
    if node.attrs["kind"] == "mul" and editor.scalar(x) is not None:
        x, other = other, x
    number = editor.scalar(other)
    if number is None or editor.shape(x) != editor.shape(node.output):
        return None
    if node.attrs["kind"] == "mul":
        return x, number
    return (x, 1.0 / number) if number else None


def _added(node: Node, editor: Editor) -> tuple[str, str] | None:
    """The scores and the mask that ``node`` adds."""
    if node.op != "Binary" or node.attrs["kind"] != "add" or not node.epilogue.is_empty:
        return None
    shape = editor.shape(node.output)
    for x, mask in (node.inputs, node.inputs[::-1]):
        made = editor.producer(x)
        of_product = made is not None and made.op in ("MatMul", "Binary")
        if of_product and x != mask and editor.shape(x) == shape and _is_real(node, editor):
            return x, mask
    return None


def _attention(
    scores: _Scores, softmax: Node, last: int, emptied: Node | None, editor: Editor
) -> Graph | None:
    """The graph with one node in place of these, and of a Transpose behind them."""
    product = editor.node(last)
    a, b = scores.product.inputs
    v, out = product.inputs[1], product.output
    shape = editor.shape(out)
    if min(len(editor.shape(name)) for name in (a, b, v)) < 2:
        return None
    (m, columns), (d, n) = shape[-2:], editor.shape(b)[-2:]
    nodes, written = [product], Strided.dense(shape)
    turned = editor.sole_reader(out)
    if turned is not None and not emptied and _turns(editor.node(turned)):
        nodes.append(editor.node(turned))
        perm = nodes[-1].attrs["perm"]
        back = tuple(perm.index(axis) for axis in range(len(perm)))
        written = Strided.dense(editor.shape(nodes[-1].output)).transposed(back)
    behind = _causal(scores.mask, m, n, editor)
    mask = "" if behind is not None else scores.mask
    operands = [_operand(a, editor), _operand(b, editor), _operand(v, editor, scaled=False)]
    if mask:
        operands.append(_Operand(mask, Strided.dense(editor.shape(mask))))
    placed = _placed([each.place for each in operands], written, (m, n, d, columns))
    if placed is None:
        return None
    scale = scores.scale * math.prod(each.factor for each in operands)
    made = Node(
        product.name,
        ATTENTION,
        (*(each.name for each in operands[:3]), mask),
        nodes[-1].outputs,
        {**placed, "scale": float(np.float32(scale)), "cap": scores.cap, "behind": behind},
        origin=origins(scores.product, *reversed(scores.nodes), softmax, *nodes),
    )
    if emptied:
        whole = editor.add_tensor(f"{out}/of all queries", shape, editor.tensors[out])
        made = replace(made, outputs=(whole,))
        inputs = (*emptied.inputs[:2], whole)
        editor.insert(last, replace(emptied, inputs=inputs, outputs=product.outputs))
    if len(nodes) > 1 and turned is not None:
        editor.replace(turned, None)
    editor.replace(last, made)
    return editor.finish()


def _turns(node: Node) -> bool:
    """Whether it is a Transpose that leaves rows whole."""
    perm = node.attrs.get("perm", ())
    return node.op == "Transpose" and node.epilogue.is_empty and perm[-1] == len(perm) - 1


def _placed(
    operands: Sequence[Strided], out: Strided, sizes: tuple[int, int, int, int]
) -> dict[str, Any] | None:
    """The sizes and steps of an Attention of these operands; None where it has no such steps."""
    m, n, d, columns = sizes
    inner = [[(m,), (d,)], [(d,), (n,)], [(n,), (columns,)], [(m,), (n,)]]
    rank = len(out.dimensions) - 2
    stacks = [replace(each, dimensions=each.dimensions[:-2]) for each in (*operands, out)]
    batch = common(stacks, rank)
    if not min(sizes) or any(0 in each for each in batch):
        return None
    steps = [
        each.split([*batch, *own])
        for each, own in zip(operands, inner[: len(operands)], strict=True)
    ]
    written = out.split([*batch, (m,), (columns,)])
    found = [each.steps if each else None for each in (*steps, written)]
    if None in found:
        return None
    q, k, v, *masked, to = (each for each in found if each is not None)
    loops = tuple(size for each in batch for size in each)
    if (to[-1] != 1 and columns > 1) or len(loops) > MOST_LOOPS:
        return None
    first = [each.first for each in operands]
    return {
        "batch": loops,
        "sizes": sizes,
        "q": (first[0], *q),
        "k": (first[1], *k[:-2], k[-1], k[-2]),
        "v": (first[2], *v),
        "mask": masked[0] if masked else (),
        "out": to[:-1],
    }


def _operand(name: str, editor: Editor, *, scaled: bool = True) -> _Operand:
    """Where the elements of a matrix, or a stack of them, lie, as far back as they only move and,
    where they may be ``scaled``, are multiplied by a number."""
    chain: list[Node] = []
    source = name
    while (node := editor.producer(source)) is not None and node.epilogue.is_empty:
        factor = _factor(node, editor) if scaled else None
        before = factor[0] if factor else node.inputs[0]
        if (factor is None and node.op not in _VIEWS) or not _is_plain(editor.tensors[before]):
            break
        chain.append(node)
        source = before
    for begin in range(len(chain), 0, -1):
        found = _moved(chain[:begin][::-1], editor)
        if found is not None:
            return found
    return _Operand(name, Strided.dense(editor.shape(name)))


def _is_plain(tensor: Tensor) -> bool:
    return tensor.dtype == "float32" and tensor.storage == FLOAT32


def _moved(nodes: Sequence[Node], editor: Editor) -> _Operand | None:
    """What ``nodes``, one after the other, make of what the first of them reads; None where no
    steps lead from element to element."""
    first = _factor(nodes[0], editor)
    source = first[0] if first else nodes[0].inputs[0]
    place: Strided | None = Strided.dense(editor.shape(source))
    product = 1.0
    for node in nodes:
        out, factor = editor.shape(node.output), _factor(node, editor)
        if place is None:
            return None
        if factor:
            product *= factor[1]
        elif node.op == "Transpose":
            place = place.transposed(node.attrs["perm"])
        elif node.op == "Expand":
            place = place.expanded(out)
        elif node.op == "Slice":
            place = place.sliced(node.attrs["starts"], node.attrs["steps"], out)
        else:
            place = place.reshaped(out)
    return _Operand(source, place, product) if place else None


def _causal(mask: str, m: int, n: int, editor: Editor) -> int | None:
    """How many keys more than its number a query meets, where that is all that a constant mask
    says; else None.  Where every query meets a key, a large number is as good as infinity."""
    value = editor.constant(mask) if mask else None
    if value is None or value.size != m * n:
        return None
    rows = value.astype(np.float64).reshape(m, n)
    behind = int((rows[0] == 0).sum()) - 1
    late = np.arange(n) > np.arange(m)[:, np.newaxis] + behind
    most = _VANISHES if behind >= 0 else -np.inf
    return behind if (rows[late] <= most).all() and (rows[~late] == 0).all() else None
