"""GridSample: an image at the positions that another tensor holds."""

from __future__ import annotations

import math
from collections.abc import Sequence

from edgeconv.ir.choice import Layer, Param
from edgeconv.ir.graph import Graph, Node
from edgeconv.kernels.lowering.calls import kernel_layer
from edgeconv.kernels.lowering.options import Stored
from edgeconv.kernels.lowering.work import Call
from edgeconv.kernels.ops.base import ImportContext, Operator, Source
from edgeconv.kernels.ops.importing import flag, make_node
from edgeconv.target.targets import Target

_MODES = {
    "nearest": "nearest",
    "linear": "linear",
    "cubic": "cubic",
    "bilinear": "linear",
    "bicubic": "cubic",  # of versions before 20
}
_PADDING = ("zeros", "border", "reflection")
_MOST = 3  # dimensions
_TAPS = {"nearest": 1, "linear": 2, "cubic": 4}
_TAP_SLOTS = 8  # of an element, by counting in the kernel


def _import(source: Source, ctx: ImportContext) -> Sequence[Node]:
    x, at = (ctx.tensor(name).shape for name in source.inputs[:2])
    dims, mode = len(x) - 2, str(source.attrs["mode"])
    padding = str(source.attrs["padding_mode"])
    if not 1 <= dims <= _MOST or len(at) != len(x) or at[-1] != dims or at[0] != x[0]:
        got = f"input {list(x)}, grid {list(at)}"
        rule = f"images have up to {_MOST} dimensions, and a position one number for each"
        raise ctx.reject(source, got, rule)
    if mode not in _MODES or padding not in _PADDING:
        got = f"mode {mode!r}, padding_mode {padding!r}"
        rule = f"mode is one of {', '.join(_MODES)}; padding_mode of {', '.join(_PADDING)}"
        raise ctx.reject(source, got, rule)
    aligned = flag(source, ctx, "align_corners")
    return [make_node(source, "GridSample", mode=_MODES[mode], padding=padding, aligned=aligned)]


def lower(node: Node, graph: Graph, target: Target) -> Layer:
    """A position at a time, of all channels."""
    shape, positions = (graph[name].shape for name in node.inputs)
    call = Call(node, graph, target)
    mode = str(node.attrs["mode"])
    params: dict[str, Param] = {
        "images": shape[0],
        "channels": shape[1],
        "count": math.prod(positions[1:-1]),
        "sizes": shape[2:],
        "mode": mode,
        "padding": str(node.attrs["padding"]),
        "aligned": int(node.attrs["aligned"]),
    }
    taps = _TAPS[mode] ** (len(shape) - 2)
    return kernel_layer(
        call,
        "sampling",
        "ops/sampling.c.j2",
        operands=dict(zip(("in", "positions"), node.inputs, strict=True)),
        params=params,
        headers=("ec_sampling.h",),
        work=call.streams(float(_TAP_SLOTS * taps * graph[node.output].size)),
        epilogue=False,
    )


OPERATOR = Operator(
    name="GridSample", onnx={"GridSample": _import}, lower=lower, stored=Stored.NOTHING
)
