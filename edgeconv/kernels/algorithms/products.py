"""Products of two int8 tensors: where operands lie, and each as the problem of a convolution."""

from __future__ import annotations

import math
from dataclasses import dataclass, replace
from typing import Any

from edgeconv.ir.encoding import INT8
from edgeconv.ir.graph import Graph, Node
from edgeconv.ir.layout import ROW_MAJOR
from edgeconv.kernels.algorithms.problem import ConvProblem, Finish
from edgeconv.kernels.algorithms.product_sums import (
    PLACES,
    depth_of,
    form_of_product,
    unit_of_product,
)
from edgeconv.kernels.algorithms.scaling import scaling_of
from edgeconv.kernels.algorithms.sums import Facts
from edgeconv.kernels.lowering.nest import broadcast_strides, collapse, dense_strides

_LARGEST_PAIR = 256  # of two neighbours of a column, as large as int8 has them


@dataclass(frozen=True, slots=True)
class Strides:
    """Where a matrix of a stack lies in its tensor, in elements: the ``first`` one, steps along the
    ``batch``, from ``row`` to row, and from ``column`` to column."""

    first: int
    batch: tuple[int, ...]
    row: int
    column: int


@dataclass(frozen=True, slots=True)
class Product:
    """A stack of ``sizes`` of products (m, k) by (k, n); columns of ``a`` and of ``out`` are
    neighbours."""

    sizes: tuple[int, ...]
    m: int
    k: int
    n: int
    a: Strides
    b: Strides
    out: Strides

    @property
    def count(self) -> int:
        """The number of products of the stack."""
        return math.prod(self.sizes)

    @property
    def packed(self) -> int:
        """How often a matrix b is packed: not again for neighbours that share it."""
        sizes = list(self.sizes)
        while sizes and not self.b.batch[len(sizes) - 1]:
            sizes.pop()
        return math.prod(sizes)


def product_of(node: Node, graph: Graph) -> Product:
    """The product of a MatMul node; a vector operand is a matrix of one row (a) or one column
    (b)."""
    if PLACES in node.attrs:
        found: Product = node.attrs[PLACES]
        return found
    a, b = (graph[name].shape for name in node.inputs)
    a_full = a if len(a) > 1 else (1, *a)
    b_full = b if len(b) > 1 else (*b, 1)
    (m, k), n = a_full[-2:], b_full[-1]
    out = graph[node.output].shape
    stack = out[: len(out) - (len(a) > 1) - (len(b) > 1)]
    a_moves = broadcast_strides(a_full[:-2], ROW_MAJOR, stack, ROW_MAJOR)
    b_moves = broadcast_strides(b_full[:-2], ROW_MAJOR, stack, ROW_MAJOR)
    batch = collapse(stack, a_moves, b_moves, dense_strides(stack))
    of_a, of_b, of_out = batch.strides

    def times(moves: tuple[int, ...], by: int) -> tuple[int, ...]:
        return tuple(step * by for step in moves)

    return Product(
        batch.sizes,
        *(m, k, n),
        Strides(0, times(of_a, m * k), k, 1),
        Strides(0, times(of_b, k * n), n, 1),
        Strides(0, times(of_out, m * n), n, 1),
    )


def product_problem(node: Node, graph: Graph) -> ConvProblem | None:
    """One of the products of a MatMul node: rows of a are pixels, columns of b filters.  None where
    they are not summed as integers."""
    form, unit = form_of_product(node, graph), unit_of_product(node, graph)
    if form is None and unit is None:
        return None
    product, out = product_of(node, graph), graph[node.output].storage
    whole = form is not None
    return replace(
        ConvProblem.of_rows(product.m, depth_of(node, graph), product.n),
        filters_as=INT8,
        in_as=graph[node.inputs[0]].storage,
        out_as=out,
        finish=Finish.of(node, graph),
        integers=whole and out.affine and node.epilogue.is_only_before,
        whole_sums=whole,
        sum_facts=Facts(_LARGEST_PAIR, scaling=scaling_of(graph) if whole else ""),
        real_sums=unit is not None,
        asymmetric=graph[node.inputs[1]].storage.zero[0] != 0,
    )


def nested(product: Product) -> dict[str, Any]:
    """What templates must know of the stack and its operands."""
    return {
        "sizes": product.sizes,
        "a_batch": product.a.batch,
        "b_batch": product.b.batch,
        "out_strides": product.out.batch,
        "first": (product.a.first, product.b.first),
        "b_strides": (product.b.row, product.b.column),
        "m": product.m,
        "depth": product.k,
        "n": product.n,
    }
