"""Functions of two tensors with numpy broadcasting."""

from __future__ import annotations

import math
from collections.abc import Sequence

import numpy as np

from edgeconv.ir.choice import Arg, ArgKind, Blob, Layer, Param
from edgeconv.ir.graph import Graph, Node, Tensor
from edgeconv.ir.layout import ROW_MAJOR, Layout, Shape
from edgeconv.lowering.calls import (
    activation_headers,
    constant_blob,
    epilogue_of,
    in_place,
    input_arg,
    merge_headers,
    output_arg,
    residual_args,
    storage_of,
)
from edgeconv.lowering.options import LayoutOption
from edgeconv.lowering.work import elementwise
from edgeconv.ops.kernels.images import layouts_of, padding
from edgeconv.ops.kernels.nest import (
    Nest,
    broadcast_strides,
    collapse,
    dense_strides,
    require_loops,
)
from edgeconv.targets import Target

# Exponents for which a power is a few multiplications or a root.
_POWERS = {1.0: "first", 2.0: "square", 3.0: "cube", 0.5: "root", -1.0: "reciprocal"}
_POW_HEADERS = ("ec_poly.h", "ec_exp.h", "ec_log.h", "ec_pow.h", "ec_binary.h")


def _operand_layout(tensor: Tensor, out: Shape, layout: Layout) -> Layout | None:
    """The layout in which the kernel reads ``tensor`` for a result in ``layout``, if there is one.

    Constants are packed by ``lower``, so they always fit.
    """
    if tensor.is_constant or layout == ROW_MAJOR:
        return ROW_MAJOR
    full = (1,) * (len(out) - len(tensor.shape)) + tensor.shape
    if full[1] == 1:
        return ROW_MAJOR
    if len(tensor.shape) == len(out):
        return layout
    beside = math.prod(full[2:]) == 1 and full[1] % layout.block == 0
    return ROW_MAJOR if beside else None


def layouts(node: Node, graph: Graph, target: Target) -> Sequence[LayoutOption]:
    """The layouts that the output's rank allows and that every operand can follow."""
    out = graph[node.output].shape
    options = []
    for layout in layouts_of(out, target):
        operands = [_operand_layout(graph[name], out, layout) for name in node.inputs]
        known = [operand for operand in operands if operand is not None]
        if len(known) == len(operands):
            reads = (*known, *((layout,) if node.epilogue.residual else ()))
            options.append(LayoutOption(reads, (layout,), padding(out, layout)))
    return options


def _kind(node: Node, graph: Graph) -> str:
    """The kind, with a constant exponent that has its own formula resolved."""
    kind = str(node.attrs["kind"])
    exponent = graph[node.inputs[1]]
    if kind == "pow" and exponent.is_constant:
        values = np.unique(exponent.constant())
        if values.size == 1:
            return _POWERS.get(float(values[0]), "pow")
    return kind


def _operand(
    name: str, c_name: str, graph: Graph, out: Tensor, blobs: list[Blob]
) -> tuple[Arg, tuple[int, ...]]:
    """The argument and its strides; a constant is packed to the output's rank and layout."""
    tensor = graph[name]
    if not tensor.is_constant:
        return (
            input_arg(graph, name, c_name),
            broadcast_strides(tensor.shape, tensor.layout, out.shape, out.layout),
        )
    full = (1,) * (len(out.shape) - len(tensor.shape)) + tensor.shape
    layout = ROW_MAJOR if len(full) < 2 or full[1] == 1 else out.layout
    blobs.append(constant_blob(c_name, tensor.constant().reshape(full), layout))
    return (
        Arg(ArgKind.WEIGHTS, c_name, c_name),
        broadcast_strides(full, layout, out.shape, out.layout),
    )


def _loop_params(node: Node, nest: Nest) -> dict[str, Param]:
    """The loops as ec_binary takes them: outer nest, rows and the innermost loop."""
    depth = len(nest.sizes)
    a, b = nest.strides
    rows = nest.sizes[-2] if depth > 1 else 1
    outer = nest.outer(max(depth - 2, 0))
    require_loops(node, len(outer.sizes))
    return {
        "sizes": outer.sizes,
        "a_outer": outer.strides[0],
        "b_outer": outer.strides[1],
        "rows": rows,
        "n": nest.sizes[-1],
        "a_row": a[-2] if depth > 1 else 0,
        "b_row": b[-2] if depth > 1 else 0,
        "a_stride": a[-1],
        "b_stride": b[-1],
    }


def lower(node: Node, graph: Graph, target: Target) -> Layer:
    """Loops over the output's memory; where the whole pattern is regular they merge into one."""
    out = graph[node.output]
    kind = _kind(node, graph)
    alone = kind in _POWERS.values()
    names = (node.inputs[0],) * 2 if alone else node.inputs
    blobs: list[Blob] = []
    a, a_strides = _operand(names[0], "a", graph, out, blobs)
    b, b_strides = (a, a_strides) if alone else _operand(names[1], "b", graph, out, blobs)
    sizes = out.layout.physical_shape(out.shape)
    # the output takes part in the merging, so that its rows stay dense
    whole = collapse(sizes, a_strides, b_strides, dense_strides(sizes))
    nest = Nest(whole.sizes, whole.strides[:2])
    return Layer(
        node=node,
        algorithm="elementwise",
        template="ops/binary.c.j2",
        params={
            "kind": kind,
            "b_name": "a" if alone else "b",
            **_loop_params(node, nest),
            **storage_of(graph, a=names[0], b=names[1]),
            "epilogue": epilogue_of(node, graph),
        },
        args=(a, *(() if alone else (b,)), *residual_args(node, graph), output_arg(node, graph)),
        headers=merge_headers(
            [
                (*activation_headers(node.epilogue), "ec_nest.h", "ec_binary.h"),
                _POW_HEADERS if kind == "pow" else (),
            ]
        ),
        work=elementwise(node, graph, target, blobs),
        blobs=tuple(blobs),
        aliases=in_place(node, graph, (*names, node.epilogue.residual)),
    )
