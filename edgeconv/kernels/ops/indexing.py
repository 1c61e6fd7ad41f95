"""Elements by indices that are known at run time: Gather and Scatter in all their forms.

An index outside of what it counts in, which ONNX does not allow, becomes the nearest one.
"""

from __future__ import annotations

import math
from collections.abc import Mapping, Sequence

from edgeconv.ir.choice import Layer, Param
from edgeconv.ir.element_types import element_type
from edgeconv.ir.graph import Graph, Node
from edgeconv.kernels.lowering.calls import in_place, kernel_layer
from edgeconv.kernels.lowering.nest import dense_strides, require_loops
from edgeconv.kernels.lowering.options import Lower, Stored
from edgeconv.kernels.lowering.work import Call
from edgeconv.kernels.ops.base import ImportContext, Importer, Operator, Source
from edgeconv.kernels.ops.elementwise import COPY, ELEMENTWISE
from edgeconv.kernels.ops.importing import axis_of, make_node
from edgeconv.target.targets import Target

_HEADERS = (*ELEMENTWISE, "ec_indices.h")
_REDUCTIONS = {"none": COPY, "add": "add", "mul": "mul", "min": "min", "max": "max"}


def combination(numbers: str, function: str, dtype: str, out: str = "") -> str:
    """The initialiser of an ec_elementwise whose operands are of ``dtype``."""
    kind, result = (element_type(name).enumerator for name in (dtype, out or dtype))
    return (
        f"{{.numbers = EC_{numbers.upper()}, .function = EC_OF_{function.upper()}, "
        f".a_as = {kind}, .b_as = {kind}, .c_as = {kind}, .out_as = {result}}}"
    )


def _importer(op: str) -> Importer:
    """The importer of an operator whose inputs are those of the node ``op``."""

    def importer(source: Source, ctx: ImportContext) -> Sequence[Node]:
        rank = len(ctx.tensor(source.inputs[0]).shape)
        attrs: dict[str, object] = {}
        if "axis" in source.attrs:
            attrs["axis"] = axis_of(source, ctx, source.attrs["axis"], rank)
        if op.startswith("Scatter"):
            attrs["function"] = _REDUCTIONS[source.attrs.get("reduction", "none")]
        if "batch_dims" in source.attrs:
            attrs["batch"] = int(source.attrs["batch_dims"])
        _check_operands(source, ctx, op)
        return [make_node(source, op, **attrs)]

    return importer


def _check_operands(source: Source, ctx: ImportContext, op: str) -> None:
    """Reject indices of another number of dimensions than what they are indices of, and updates
    that are not as many as the indices say: kernels take them as they are."""
    data, index, *updates = (ctx.tensor(name).shape for name in source.inputs)
    if op.endswith("ND"):
        left = len(data) - int(source.attrs.get("batch_dims", 0))
        fits = bool(index) and 0 < index[-1] <= left
        want = (*index[:-1], *data[index[-1] :]) if fits else ()
    else:
        fits, want = len(index) == len(data), index
    if not fits:
        got = f"indices {list(index)} of {list(data)}"
        raise ctx.reject(source, got, "indices have as many dimensions as what they index")
    if updates and updates[0] != want:
        got = f"updates {list(updates[0])}"
        raise ctx.reject(source, got, f"they are {list(want)}, as many as the indices say")


def _common(node: Node, graph: Graph) -> dict[str, Param]:
    out = graph[node.output]
    function = str(node.attrs.get("function", COPY))
    return {
        "scatters": node.op.startswith("Scatter"),
        "index_type": element_type(graph[node.inputs[1]].dtype).enumerator,
        "bytes": out.element_bytes,
        "total": out.size * out.element_bytes,
        "update": combination(element_type(out.dtype).numbers, function, out.dtype),
    }


def _layer(node: Node, graph: Graph, target: Target, kind: str, params: dict[str, Param]) -> Layer:
    call = Call(node, graph, target)
    scatters = node.op.startswith("Scatter")
    pointers = dict(zip(("in", "index", "updates"), node.inputs, strict=False))
    first = graph[node.inputs[0]]
    apart = node.inputs[0] not in node.inputs[1:] and not first.is_constant
    return kernel_layer(
        call,
        "scatter" if scatters else "gather",
        f"ops/{kind}.c.j2",
        operands=pointers,
        params=params,
        headers=_HEADERS,
        work=call.streams(),
        aliases=in_place(node, graph, node.inputs[:1]) if scatters and apart else (),
        epilogue=False,
    )


def lower_pick(node: Node, graph: Graph, target: Target) -> Layer:
    """Whole slices along one axis, which are runs of bytes."""
    data, axis = graph[node.inputs[0]], int(node.attrs["axis"])
    inner = math.prod(data.shape[axis + 1 :])
    params: dict[str, Param] = {
        "index_type": element_type(graph[node.inputs[1]].dtype).enumerator,
        "outer": math.prod(data.shape[:axis]),
        "size": data.shape[axis],
        "count": graph[node.inputs[1]].size,
        "bytes": inner * graph[node.output].element_bytes,
    }
    return _layer(node, graph, target, "pick", params)


def lower_along(node: Node, graph: Graph, target: Target) -> Layer:
    """An index for every element."""
    data, index, axis = graph[node.inputs[0]], graph[node.inputs[1]], int(node.attrs["axis"])
    strides = dense_strides(data.shape)
    require_loops(node, len(index.shape))
    moves = tuple(0 if d == axis else stride for d, stride in enumerate(strides))
    params: dict[str, Param] = {
        "sizes": index.shape,
        "data": moves,
        "stride": strides[axis],
        "size": data.shape[axis],
    }
    return _layer(node, graph, target, "along", params | _common(node, graph))


def lower_tuples(node: Node, graph: Graph, target: Target) -> Layer:
    """A tuple of indices for every slice."""
    data, index = graph[node.inputs[0]].shape, graph[node.inputs[1]].shape
    batch, dims = int(node.attrs.get("batch", 0)), index[-1]
    require_loops(node, dims)
    strides = dense_strides(data)
    batches = math.prod(index[:batch])
    params: dict[str, Param] = {
        "sizes": data[batch : batch + dims],
        "strides": strides[batch : batch + dims],
        "batches": batches,
        "rows": math.prod(index[:-1]) // max(batches, 1),
        "batch": math.prod(data[batch:]),
        "run": math.prod(data[batch + dims :]),
    }
    return _layer(node, graph, target, "tuples", params | _common(node, graph))


# Operator -> its names in ONNX, what lowers it.
_OPERATORS: Mapping[str, tuple[tuple[str, ...], Lower]] = {
    "GatherElements": (("GatherElements",), lower_along),
    "GatherND": (("GatherND",), lower_tuples),
    "ScatterElements": (("ScatterElements", "Scatter"), lower_along),
    "ScatterND": (("ScatterND",), lower_tuples),
}

OPERATOR = (
    Operator(name="Pick", lower=lower_pick, stored=Stored.NOTHING),
    *(
        Operator(
            name=name,
            onnx=dict.fromkeys(op_types, _importer(name)),
            typed=dict.fromkeys(op_types, _importer(name)),
            lower=lower,
            stored=Stored.NOTHING,
        )
        for name, (op_types, lower) in _OPERATORS.items()
    ),
)
