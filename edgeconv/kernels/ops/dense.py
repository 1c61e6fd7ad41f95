"""Fully connected layer: y = x w^T + b with constant weights."""

from __future__ import annotations

import math
from collections.abc import Sequence
from dataclasses import replace

import numpy as np

from edgeconv.ir.choice import Layer
from edgeconv.ir.graph import Graph, Node
from edgeconv.kernels.algorithms import algorithms, planned, within
from edgeconv.kernels.algorithms.bit_serial import ALGORITHM as BIT_BY_BIT
from edgeconv.kernels.algorithms.bit_serial.candidate import candidates as bit_serial_candidates
from edgeconv.kernels.algorithms.bit_serial.lower import lower as lower_bit_serial
from edgeconv.kernels.algorithms.direct.lower import lower as lower_direct
from edgeconv.kernels.algorithms.int8_packed import ALGORITHM as OVER_PACKED_ROWS
from edgeconv.kernels.algorithms.int8_packed.candidate import candidates as packed_candidates
from edgeconv.kernels.algorithms.int8_packed.lower import lower as lower_packed
from edgeconv.kernels.algorithms.int16 import ALGORITHM as WITH_INT16
from edgeconv.kernels.algorithms.int16.candidate import candidates as int16_candidates
from edgeconv.kernels.algorithms.int16.lower import lower as lower_int16
from edgeconv.kernels.algorithms.integer import ALGORITHM as IN_INTEGERS
from edgeconv.kernels.algorithms.integer.candidate import dense_candidate
from edgeconv.kernels.algorithms.integer.lower import lower as lower_integers
from edgeconv.kernels.algorithms.integer.real import lower_real
from edgeconv.kernels.algorithms.integer.real_candidate import dense_real_candidates
from edgeconv.kernels.algorithms.packed_filters import packed_too
from edgeconv.kernels.algorithms.problem import ConvProblem, computed
from edgeconv.kernels.algorithms.widening import widened
from edgeconv.kernels.lowering.options import LayoutOption, Stored, row_major_only
from edgeconv.kernels.ops.base import ImportContext, Operator, Source
from edgeconv.kernels.ops.formula import Formula, Term
from edgeconv.kernels.ops.importing import Values, flag, make_node
from edgeconv.kernels.ops.left_products import product_of_columns
from edgeconv.target.targets import Target

INTEGER, PACKED, INT16 = IN_INTEGERS.name, OVER_PACKED_ROWS.name, WITH_INT16.name
BIT_SERIAL = BIT_BY_BIT.name


def _scaled(value: Values, factor: float) -> Values:
    return value if factor == 1.0 else np.asarray(value * np.float32(factor))


def _dense_bias(formula: Formula, c: Values, beta: float, features: int) -> str:
    """The constant ``beta * c`` as a bias [features]; "" when ``c`` is no row."""
    if c.size not in (1, features) or (c.ndim and c.shape[-1] != c.size):
        return ""
    row = np.broadcast_to(_scaled(c, beta).reshape(-1), (features,))
    return formula.constant(row, "bias").name


def _gemm_product(a: Term, b: Term, alpha: float, bias: str) -> Term:
    """Alpha A B' + bias; what is constant is scaled and transposed here."""
    formula = a.formula
    source, ctx = formula.source, formula.ctx
    weights, shape = ctx.constant(b.name), ctx.tensor(source.outputs[0]).shape
    transposed, left = flag(source, ctx, "transB"), ctx.constant(a.name)
    turned = flag(source, ctx, "transA")
    if weights is None and left is not None and alpha == 1.0:
        columns = b.transpose(1, 0) if transposed else b
        y = product_of_columns(a.name, left.T if turned else left, columns, int(turned))
        if y is not None:
            return y
    a = a.transpose(1, 0) if turned else a
    if weights is None:
        factors = (a * alpha if alpha != 1.0 else a, b.transpose(1, 0) if transposed else b)
        return formula.add("MatMul", factors, shape)
    w = _scaled(weights if transposed else weights.T, alpha)
    rows = 0 if transposed else 1
    stored = ctx.stored_as(b.name, rows, source.name) if alpha == 1.0 else {}
    name = b.name if w is weights else ctx.add_constant(f"{b.name}/w", w)
    return formula.add("Dense", (a, name, bias), shape, **stored)


def _import_gemm(source: Source, ctx: ImportContext) -> Sequence[Node]:
    """Y = alpha A' B' + beta C, as Dense where B is constant and C a constant row."""
    formula = Formula(source, ctx)
    a, b, *c = formula.inputs()
    alpha, beta = float(source.attrs["alpha"]), float(source.attrs["beta"])
    addend, bias = ctx.constant(c[0].name) if c else None, ""
    if addend is not None and ctx.constant(b.name) is not None:
        features = ctx.tensor(source.outputs[0]).shape[1]
        bias = _dense_bias(formula, addend, beta, features)
    y = _gemm_product(a, b, alpha, bias)
    if not c or bias:
        return formula.finish(y)
    if addend is not None:
        return formula.finish(y + formula.constant(_scaled(addend, beta), "c"))
    return formula.finish(y + (c[0] * beta if beta != 1.0 else c[0]))


def _import_matmul(source: Source, ctx: ImportContext) -> Sequence[Node]:
    a, b = source.inputs
    weights, left = ctx.constant(b), ctx.constant(a)
    if weights is None and left is not None:
        formula = Formula(source, ctx)
        y = product_of_columns(a, left, Term(formula, b), left.ndim - 2)
        if y is not None:
            return formula.finish(y)
    if weights is None or weights.ndim != 2:
        return [make_node(source, "MatMul")]
    stored = ctx.stored_as(b, 1, source.name)
    return [make_node(source, "Dense", (a, ctx.add_constant(f"{b}/w", weights.T), ""), **stored)]


def _macs(node: Node, graph: Graph) -> int:
    return graph[node.output].size * graph[node.inputs[1]].shape[1]


def dense_problem(node: Node, graph: Graph) -> ConvProblem:
    """y[m, n] = sum_k x[m, k] w[n, k] + b[n]: the rows m are pixels, k and n channels."""
    out_c, in_c = graph[node.inputs[1]].shape
    problem = ConvProblem.of_rows(math.prod(graph[node.inputs[0]].shape[:-1]), in_c, out_c)
    return computed(problem, node, graph, whole=not node.epilogue.residual)


def _layouts(node: Node, graph: Graph, target: Target) -> Sequence[LayoutOption]:
    """The logical order, in integers where there is a kernel for that, or in float32."""
    (option,) = row_major_only(node, graph, target)
    wide = widened(node, graph) or node
    ways = (wide, *(packed_too(wide, graph, target) if wide is not node else ()))
    asked = [
        replace(way.request, algorithm=name)
        for way in ways
        for name in _kernels(way, graph, target)
    ]
    asked += [replace(node.request, algorithm="dense")] if asked else []
    return [replace(option, request=each) for each in asked] or [option]


def _kernels(node: Node, graph: Graph, target: Target) -> list[str]:
    """What computes ``node`` in integers."""
    problem = dense_problem(node, graph)
    if problem.wide or problem.wide_real:
        return [INT16] if int16_candidates(problem, target) else []
    if target.lanes == 1:
        real = dense_real_candidates(problem, target)
        by_bits = bit_serial_candidates(problem, target) if node.request.packed is None else ()
        whole = [INTEGER] if problem.integers or real else []
        return [*whole, *(each.algorithm for each in by_bits)]
    return [each.algorithm for each in packed_candidates(problem, target)]


def lower(node: Node, graph: Graph, target: Target) -> Layer:
    """By direct convolution, or in integers where the node says so."""
    problem, wanted = dense_problem(node, graph), node.request.algorithm
    if wanted == INTEGER and not problem.integers:
        return lower_real(dense_real_candidates(problem, target)[0], node, graph, target)
    if wanted == BIT_SERIAL:
        return lower_bit_serial(bit_serial_candidates(problem, target)[0], node, graph, target)
    if wanted == INTEGER:
        return lower_integers(dense_candidate(problem, target), node, graph, target)
    if wanted == INT16:
        return lower_int16(int16_candidates(problem, target)[0], node, graph, target)
    if wanted == PACKED:
        packed = replace(packed_candidates(problem, target)[0], cache_traffic=tuple)
        return lower_packed(packed, node, graph, target)
    candidate = within(planned(algorithms()["direct"], problem, target), node)[0]
    # What it moves is taken to be every operand once, as for all that is no convolution.
    dense = replace(candidate, algorithm="dense", cache_traffic=tuple)
    return lower_direct(dense, node, graph, target)


OPERATOR = Operator(
    name="Dense",
    onnx={"Gemm": _import_gemm, "MatMul": _import_matmul},
    lower=lower,
    layouts=_layouts,
    macs=_macs,
    fuses=True,
    stored=Stored.BOTH,
)
