"""Element-wise functions of two variables, with numpy broadcasting."""

from __future__ import annotations

import functools
from collections.abc import Sequence

import numpy as np

from edgeconv.ir.choice import Layer, Param
from edgeconv.ir.graph import Graph, Node
from edgeconv.ir.quantisation import OF_SCALE
from edgeconv.ir.requantisation.tflite_short import Doubled
from edgeconv.kernels.lowering.calls import in_place, kernel_layer, storage_of
from edgeconv.kernels.lowering.integers import with_integers
from edgeconv.kernels.lowering.nest import Nest, collapse, dense_strides, require_loops
from edgeconv.kernels.lowering.operands import operand, operand_layouts
from edgeconv.kernels.lowering.options import LayoutOption, Stored
from edgeconv.kernels.lowering.work import Call
from edgeconv.kernels.ops import int8_binary, int8_channels, int16_function, tflite_functions
from edgeconv.kernels.ops.base import ImportContext, Importer, Operator, Source
from edgeconv.kernels.ops.formula import Term, spelled_out
from edgeconv.kernels.ops.importing import broadcast, make_node
from edgeconv.target.targets import Target

# Exponents for which a power is a few multiplications or a root.
_POWERS = {1.0: "first", 2.0: "square", 3.0: "cube", 0.5: "root", -1.0: "reciprocal"}
_POW_FUNCTIONS = ("ec_poly.h", "ec_exp.h", "ec_log.h", "ec_pow.h")


def _pairwise(kind: str) -> Importer:
    def imported(source: Source, ctx: ImportContext) -> Sequence[Node]:
        scales = (ctx.scale_of(name) for name in source.inputs)
        known = [scale for scale in scales if scale is not None]
        attrs = {OF_SCALE: known[0]} if len(known) == 1 else {}
        return [make_node(source, "Binary", kind=kind, **attrs)]

    return imported


def _combined(kind: str, *operands: Term) -> Term:
    """n operands by n - 1 nodes, from left to right."""
    return functools.reduce(lambda left, right: left.binary(kind, right), operands)


def _variadic(kind: str) -> Importer:
    return spelled_out(lambda source, *operands: _combined(kind, *operands))


def _mean(source: Source, *operands: Term) -> Term:
    return _combined("add", *operands) * (1.0 / len(operands))


def _import_prelu(source: Source, ctx: ImportContext) -> Sequence[Node]:
    """The slope must not be wider than the data; runtimes that allow it widen the output."""
    x, slope = (ctx.tensor(name).shape for name in source.inputs)
    if broadcast(source, ctx, x, slope) != x:
        got = f"slope {list(slope)}, data {list(x)}"
        raise ctx.reject(source, got, "the slope must broadcast to the data's shape")
    return _pairwise("prelu")(source, ctx)


def _import_pow(source: Source, ctx: ImportContext) -> Sequence[Node]:
    """The exponent may be of another type than the base: a constant one becomes float32."""
    base, exponent = source.inputs
    value = ctx.constant(exponent)
    if value is not None and value.dtype != np.float32:
        exponent = ctx.add_constant(f"{exponent}/float", value.astype(np.float32))
    return [make_node(source, "Binary", (base, exponent), kind="pow")]


def layouts(node: Node, graph: Graph, target: Target) -> Sequence[LayoutOption]:
    """The layouts that the output's rank allows and that every operand can follow."""
    options = operand_layouts(node, graph, target)
    if int16_function.of_pair(node, graph) is not None:
        return with_integers(node, options, options)
    if int8_channels.form_of(node, graph) is not None:
        able = [each for each in options if int8_channels.suits(node, graph, each.writes[0])]
        return with_integers(node, () if int8_channels.OVER in node.attrs else options, able)
    if int8_binary.form_of(node, graph) is None:
        return options
    able = [each for each in options if int8_binary.suits(node, graph, each.writes[0])]
    return with_integers(node, options, able)


def _kind(node: Node, graph: Graph) -> str:
    """The kind, with a constant exponent that has its own formula resolved."""
    kind = str(node.attrs["kind"])
    exponent = graph[node.inputs[1]]
    if kind == "pow" and exponent.is_constant:
        values = np.unique(exponent.constant())
        if values.size == 1:
            return _POWERS.get(float(values[0]), "pow")
    return kind


def _loop_params(
    node: Node, graph: Graph, a_moves: Sequence[int], b_moves: Sequence[int]
) -> dict[str, Param]:
    """The loops as ec_binary takes them, outer nest, rows and the innermost loop, of operands that
    move so with each physical dimension of the output."""
    out = graph[node.output]
    sizes = out.layout.physical_shape(out.shape)
    # the output takes part in the merging, so that its rows stay dense
    whole = collapse(sizes, a_moves, b_moves, dense_strides(sizes))
    nest, depth = Nest(whole.sizes, whole.strides[:2]), len(whole.sizes)
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
    form = int16_function.of_pair(node, graph) if node.request.integers else None
    if node.request.integers and form is None:
        if int8_channels.form_of(node, graph) is not None:
            return int8_channels.lower(node, graph, target)
        return int8_binary.lower(node, graph, target)
    doubled = form is not None and isinstance(form.form, Doubled)
    if form is not None and not doubled and any(graph[n].is_constant for n in node.inputs):
        return int16_function.lower_one(form, node, graph, target)
    out, call = graph[node.output], Call(node, graph, target)
    kind = _kind(node, graph)
    alone = kind in _POWERS.values()
    names = {"a": node.inputs[0]} if alone else dict(zip("ab", node.inputs, strict=True))
    tensors = {pointer: graph[name] for pointer, name in names.items()}
    if doubled:
        for pointer, tensor in tensors.items():
            if tensor.is_constant:
                whole = tflite_functions.whole_constant(tensor.name, node, graph)
                assert whole is not None, node.name
                tensors[pointer] = whole
    read = {pointer: operand(pointer, tensor, out) for pointer, tensor in tensors.items()}
    operands = {pointer: given for pointer, (given, _) in read.items()}
    strides = [moves for _, moves in read.values()]
    loops = _loop_params(node, graph, strides[0], strides[-1])
    if form is not None:
        return int16_function.lower_pair(form, operands, loops, node, graph, target)
    return kernel_layer(
        call,
        "elementwise",
        "ops/binary.c.j2",
        operands=operands,
        params={
            "kind": kind,
            "b_name": "a" if alone else "b",
            **storage_of(graph, b=operands["a" if alone else "b"]),
            **loops,
        },
        headers=("ec_nest.h", "ec_binary.h"),
        functions=_POW_FUNCTIONS if kind == "pow" else (),
        work=call.elementwise(kind),
        aliases=in_place(node, graph, (*names.values(), node.epilogue.residual)),
    )


OPERATOR = Operator(
    name="Binary",
    onnx={
        "Add": _pairwise("add"),
        "Sub": _pairwise("sub"),
        "Mul": _pairwise("mul"),
        "Div": _pairwise("div"),
        "PRelu": _import_prelu,
        "Pow": _import_pow,
        "Sum": _variadic("add"),
        "Min": _variadic("min"),
        "Max": _variadic("max"),
        "Mean": spelled_out(_mean),
    },
    lower=lower,
    layouts=layouts,
    fuses=True,
    stored=Stored.BOTH,
)
