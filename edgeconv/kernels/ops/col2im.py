"""Col2Im: blocks added up to an image."""

from __future__ import annotations

import math
from collections.abc import Sequence

from edgeconv.ir.choice import Layer, Param
from edgeconv.ir.graph import Graph, Node
from edgeconv.kernels.lowering.calls import kernel_layer
from edgeconv.kernels.lowering.options import Stored
from edgeconv.kernels.lowering.work import Call
from edgeconv.kernels.ops.base import ImportContext, Operator, Source
from edgeconv.kernels.ops.importing import ints, make_node
from edgeconv.target.targets import Target

_MOST = 5  # spatial dimensions
_SLOTS = 10  # of an element, by counting in the kernel


def _import(source: Source, ctx: ImportContext) -> Sequence[Node]:
    """Blocks are of one shape, which may be computed at run time; how many elements they have the
    shapes say."""
    x, out = (ctx.tensor(name).shape for name in (source.inputs[0], source.outputs[0]))
    dtype, rank = ctx.tensor(source.inputs[0]).dtype, len(out) - 2
    block = ctx.tensor(source.inputs[2]).shape
    fits = len(x) == 3 and 1 <= rank <= _MOST and block == (rank,)
    if dtype != "float32" or not fits or (x[0], x[1] % out[1]) != (out[0], 0):
        got = f"input {list(x)} of {dtype}, image {list(out)}"
        rule = f"columns are float32, images have up to {_MOST} dimensions"
        raise ctx.reject(source, got, rule)
    attrs = {
        "strides": ints(source.attrs.get("strides") or [1] * rank),
        "dilations": ints(source.attrs.get("dilations") or [1] * rank),
        "pads": ints(source.attrs.get("pads") or [0] * (2 * rank)),
    }
    if [len(attrs[name]) for name in ("strides", "dilations", "pads")] != [rank, rank, 2 * rank]:
        rule = f"an image of {rank} dimensions has a stride, a dilation and two pads for each"
        raise ctx.reject(source, str(attrs), rule)
    if min((*attrs["strides"], *attrs["dilations"])) < 1 or min(attrs["pads"]) < 0:
        raise ctx.reject(
            source, str(attrs), "strides and dilations are positive, pads not negative"
        )
    return [make_node(source, "Col2Im", (source.inputs[0], source.inputs[2]), **attrs)]


def lower(node: Node, graph: Graph, target: Target) -> Layer:
    """Block by block into all planes."""
    x, out = graph[node.inputs[0]].shape, graph[node.output].shape
    call, rank = Call(node, graph, target), len(out) - 2
    params: dict[str, Param] = {
        "planes": math.prod(out[:2]),
        "taps": x[1] // out[1],
        "blocks": x[2],
        "sizes": out[2:],
        "stride": tuple(node.attrs["strides"]),
        "dilation": tuple(node.attrs["dilations"]),
        "begin": tuple(node.attrs["pads"][:rank]),
        "end": tuple(node.attrs["pads"][rank:]),
    }
    return kernel_layer(
        call,
        "col2im",
        "ops/col2im.c.j2",
        operands=dict(zip(("in", "shape"), node.inputs, strict=True)),
        params=params,
        headers=("ec_col2im.h",),
        work=call.streams(float(_SLOTS * math.prod(x))),
        epilogue=False,
    )


OPERATOR = Operator(
    name="Col2Im",
    onnx={"Col2Im": _import},
    typed={"Col2Im": _import},
    lower=lower,
    stored=Stored.NOTHING,
)
