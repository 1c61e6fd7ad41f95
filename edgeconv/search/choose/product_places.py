"""Products in integers that read operands, and write results, where copies would be made.

One operand is packed by their kernels in any case, from wherever its numbers lie; rows of the other
and of the result need but be whole.  So heads of attention are neither split nor joined by copies.
"""

from __future__ import annotations

import itertools
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass, replace

from edgeconv.ir.edit import Editor
from edgeconv.ir.encoding import Encoding
from edgeconv.ir.graph import Graph, Node, Tensor, origins
from edgeconv.ir.strided import Strided, common
from edgeconv.kernels.algorithms.product_sums import PLACES, PRODUCT
from edgeconv.kernels.algorithms.products import Product, Strides
from edgeconv.kernels.lowering.nest import MOST_LOOPS, collapse
from edgeconv.kernels.ops import operators
from edgeconv.kernels.ops.matmul import has_kernel
from edgeconv.target.targets import Target

MOVES = frozenset({"Expand", "Reshape", "Slice", "Transpose"})


def with_places(
    graph: Graph,
    target: Target,
    encodings: Mapping[str, Encoding],
    among: Callable[[Node], bool] = lambda node: True,
) -> Graph:
    """``graph``, with those of its products ``among`` all in integers that then do without copies.

    ``encodings``: the integers that tensors may be stored as, beside those that are.  In a choice
    that is made again (`Described`) what its report does not describe is what was done without.
    """
    placing = _Placing(graph, target, encodings)
    for node in graph.nodes:
        if node.op == PRODUCT and among(node):
            placing.place(node)
    return placing.editor.finish() if placing.editor.changed else graph


@dataclass(frozen=True, slots=True)
class _Operand:
    """A matrix, or a stack of them, as it lies in the tensor ``name``; ``moved``: the nodes that
    need not be run for it."""

    name: str
    lies: Strided
    moved: tuple[Node, ...] = ()


class _Placing:
    def __init__(self, graph: Graph, target: Target, encodings: Mapping[str, Encoding]) -> None:
        self.editor = Editor(graph)
        self._graph, self._target = graph, target
        self._stored = graph.with_tensors(
            {name: replace(graph[name], storage=each) for name, each in encodings.items()}
        )
        self._again = any(node.request.described for node in graph.nodes)

    def place(self, node: Node) -> None:
        """Have a product read and write where the most copies are saved."""
        if any(len(self._graph[name].shape) < 2 for name in node.inputs):
            return
        a, b = (self._operand(name) for name in node.inputs)
        out = self._result(node.output)
        ways = itertools.product(*((each, each[:1]) for each in (a, b, out)))
        for chosen in ways:
            first, second, third = (each[-1] for each in chosen)
            moved = (*first.moved, *second.moved, *third.moved)
            if not moved or (self._again and any(each.request.described for each in moved)):
                continue
            product = _product(first.lies, second.lies, third.lies)
            if product is None:
                continue
            made = replace(
                node,
                inputs=(first.name, second.name),
                outputs=(third.name,),
                attrs={**node.attrs, PLACES: product},
                origin=origins(*first.moved, *second.moved, node, *third.moved),
            )
            if has_kernel(made, self._stored, self._target):
                self._put(node, made, third.moved)
                return

    def _put(self, node: Node, made: Node, behind: Sequence[Node]) -> None:
        """``made`` in place of ``node`` and of what is behind it."""
        position = self.editor.writer(node.output)
        assert position is not None
        for each in behind:
            last = self.editor.writer(each.output)
            assert last is not None
            self.editor.replace(last, None)
        self.editor.replace(position, made)
        self.editor.sweep()

    def _operand(self, name: str) -> tuple[_Operand, ...]:
        """The operand as it is, and, if that saves a copy, as it lies where it comes from."""
        plain = _Operand(name, Strided.dense(self._graph[name].shape))
        chain: list[Node] = []
        source = name
        while (node := self.editor.producer(source)) is not None and self._moves(node):
            if self.editor.sole_reader(source) is None:
                break
            chain.insert(0, node)
            source = node.inputs[0]
        while chain and not self._copies(chain[0]):
            chain.pop(0)
        if not chain:
            return (plain,)
        lies: Strided | None = Strided.dense(self._graph[chain[0].inputs[0]].shape)
        for node in chain:
            lies = _moved(node, lies, self._graph[node.output]) if lies else None
        return (plain, _Operand(chain[0].inputs[0], lies, tuple(chain))) if lies else (plain,)

    def _result(self, name: str) -> tuple[_Operand, ...]:
        """The result as it is, and, if that saves a copy, where a Transpose would bring it."""
        plain = _Operand(name, Strided.dense(self._graph[name].shape))
        reader = self.editor.sole_reader(name)
        node = self.editor.node(reader) if reader is not None else None
        if node is None or node.op != "Transpose" or not self._moves(node):
            return (plain,)
        if not self._copies(node):
            return (plain,)
        perm = node.attrs["perm"]
        there = Strided.dense(self._graph[node.output].shape)
        back = there.transposed(tuple(perm.index(axis) for axis in range(len(perm))))
        return plain, _Operand(node.output, back, (node,))

    def _moves(self, node: Node) -> bool:
        """It moves integers as they are."""
        if node.op not in MOVES or not node.epilogue.is_empty or node.output in self._graph.outputs:
            return False
        x, y = self._stored[node.inputs[0]], self._stored[node.output]
        alike = x.storage == y.storage and bool(x.storage.scale) and not x.is_constant
        return alike and not x.ring and not y.ring

    def _copies(self, node: Node) -> bool:
        lower = operators()[node.op].lower
        assert lower is not None
        layer = lower(node, self._graph, self._target)
        return not (layer.free_if_aliased and layer.aliases)


def _moved(node: Node, lies: Strided, out: Tensor) -> Strided | None:
    """The elements of the result of ``node``, whose input lies so."""
    if node.op == "Transpose":
        return lies.transposed(node.attrs["perm"])
    if node.op == "Expand":
        return lies.expanded(out.shape)
    if node.op == "Slice":
        return lies.sliced(node.attrs["starts"], node.attrs["steps"], out.shape)
    return lies.reshaped(out.shape)


def _product(a: Strided, b: Strided, out: Strided) -> Product | None:
    """The product of operands that lie so; None where kernels have no steps for them."""
    (m, k), n = a.shape[-2:], b.shape[-1]
    stacks = [replace(each, dimensions=each.dimensions[:-2]) for each in (a, b, out)]
    batch = common(stacks, len(out.dimensions) - 2)
    sizes = tuple(size for each in batch for size in each)
    if 0 in (m, k, n, *sizes):
        return None
    inner = ([(m,), (k,)], [(k,), (n,)], [(m,), (n,)])
    split = [each.split([*batch, *own]) for each, own in zip((a, b, out), inner, strict=True)]
    steps = [each.steps for each in split if each is not None]
    found = [each for each in steps if each is not None]
    if len(found) < 3 or (found[0][-1] != 1 and k > 1) or (found[2][-1] != 1 and n > 1):
        return None
    nest = collapse(sizes, *(each[:-2] for each in found))
    if len(nest.sizes) > MOST_LOOPS:
        return None
    firsts = (a.first, b.first, out.first)
    of_a, of_b, of_out = (
        Strides(first, moves, *each[-2:])
        for first, moves, each in zip(firsts, nest.strides, found, strict=True)
    )
    return Product(nest.sizes, m, k, n, of_a, of_b, of_out)
