"""Fully connected layer: y = x w^T + b with constant weights."""

from __future__ import annotations

import math
from collections.abc import Sequence
from dataclasses import replace
from typing import Any

import numpy as np

from edgeconv.algorithms.direct.candidate import candidates
from edgeconv.algorithms.direct.lower import lower as lower_direct
from edgeconv.algorithms.problem import ConvProblem, Finish, filters_as
from edgeconv.ir.choice import Layer
from edgeconv.ir.graph import Graph, Node
from edgeconv.ir.layout import CHANNELS_LAST
from edgeconv.ops.base import ImportContext, Operator, Source
from edgeconv.ops.importing import Chain, Values, flag, make_node, optional_input
from edgeconv.targets import Target


def _scaled(value: Values, factor: float) -> Values:
    return value if factor == 1.0 else np.asarray(value * np.float32(factor))


def _dense_bias(chain: Chain, c: Values, beta: float, features: int) -> str:
    """The constant ``beta * c`` as a bias [features]; "" when ``c`` is no row."""
    if c.size not in (1, features) or (c.ndim and c.shape[-1] != c.size):
        return ""
    row = np.broadcast_to(_scaled(c, beta).reshape(-1), (features,))
    return chain.constant("bias", row)


Product = tuple[str, tuple[str, ...], dict[str, Any]]  # operator, inputs, attributes


def _gemm_product(chain: Chain, a: str, alpha: float) -> Product:
    """Alpha A' B'; what is constant is scaled and transposed here."""
    source, ctx = chain.source, chain.ctx
    b = source.inputs[1]
    weights = ctx.constant(b)
    transposed = flag(source, ctx, "transB")
    if weights is not None:
        w = _scaled(weights if transposed else weights.T, alpha)
        rows = 0 if transposed else 1
        stored = ctx.stored_as(b, rows, source.name) if alpha == 1.0 else {}
        return "Dense", (a, b if w is weights else ctx.add_constant(f"{b}/w", w)), stored
    if transposed:
        b = chain.add("b", "Transpose", (b,), ctx.tensor(b).shape[::-1], perm=(1, 0))
    if alpha != 1.0:
        factor = chain.constant("alpha", alpha)
        a = chain.add("scaled", "Binary", (a, factor), ctx.tensor(a).shape, kind="mul")
    return "MatMul", (a, b), {}


def _import_gemm(source: Source, ctx: ImportContext) -> Sequence[Node]:
    """Y = alpha A' B' + beta C, as Dense where B is constant and C a constant row."""
    chain = Chain(source, ctx)
    a, c = source.inputs[0], optional_input(source, 2)
    alpha, beta = float(source.attrs["alpha"]), float(source.attrs["beta"])
    shape = ctx.tensor(source.outputs[0]).shape
    if flag(source, ctx, "transA"):
        a = chain.add("a", "Transpose", (a,), ctx.tensor(a).shape[::-1], perm=(1, 0))
    op, inputs, stored = _gemm_product(chain, a, alpha)
    addend = ctx.constant(c) if c else None
    bias = _dense_bias(chain, addend, beta, shape[1]) if addend is not None else ""
    if op == "Dense" and (bias or not c):
        return chain.finish(op, (*inputs, bias), **stored)
    inputs = (*inputs, "") if op == "Dense" else inputs
    if not c:
        return chain.finish(op, inputs, **stored)
    y = chain.add("product", op, inputs, shape, **stored)
    if addend is not None:
        c = chain.constant("c", _scaled(addend, beta))
    elif beta != 1.0:
        factor = chain.constant("beta", beta)
        c = chain.add("c", "Binary", (c, factor), ctx.tensor(c).shape, kind="mul")
    return chain.finish("Binary", (y, c), kind="add")


def _import_matmul(source: Source, ctx: ImportContext) -> Sequence[Node]:
    a, b = source.inputs
    weights = ctx.constant(b)
    if weights is None or weights.ndim != 2:
        return [make_node(source, "MatMul")]
    stored = ctx.stored_as(b, 1, source.name)
    return [make_node(source, "Dense", (a, ctx.add_constant(f"{b}/w", weights.T), ""), **stored)]


def _macs(node: Node, graph: Graph) -> int:
    return graph[node.output].size * graph[node.inputs[1]].shape[1]


def lower(node: Node, graph: Graph, target: Target) -> Layer:
    """y[m, n] = sum_k x[m, k] w[n, k] + b[n]: the rows m are pixels, k and n channels."""
    x, w = graph[node.inputs[0]], graph[node.inputs[1]]
    rows = (1, 1, math.prod(x.shape[:-1]))
    problem = ConvProblem(
        batch=1,
        in_c=w.shape[1],
        out_c=w.shape[0],
        groups=1,
        in_size=rows,
        out_size=rows,
        kernel=(1, 1, 1),
        strides=(1, 1, 1),
        dilations=(1, 1, 1),
        pads=(0, 0, 0),
        in_layout=CHANNELS_LAST,
        out_layout=CHANNELS_LAST,
        filters_as=filters_as(node),
        in_as=x.storage,
        out_as=graph[node.output].storage,
        finish=Finish.of(node, graph),
    )
    (candidate,) = candidates(problem, target)
    # What it moves is taken to be every operand once, as for all that is no convolution.
    dense = replace(candidate, algorithm="dense", crossings=tuple)
    return lower_direct(dense, node, graph, target)


OPERATOR = Operator(
    name="Dense",
    onnx={"Gemm": _import_gemm, "MatMul": _import_matmul},
    lower=lower,
    macs=_macs,
    fuses=True,
)
