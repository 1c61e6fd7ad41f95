"""Local response normalisation across channels."""

from __future__ import annotations

import math
from collections.abc import Sequence

from edgeconv.ir.choice import Layer, Param
from edgeconv.ir.graph import Graph, Node, Tensor
from edgeconv.ir.layout import Order
from edgeconv.kernels.lowering.calls import FLOAT_BYTES, kernel_layer, residual_in_place
from edgeconv.kernels.lowering.images import pixels, same_everywhere
from edgeconv.kernels.lowering.options import Stored
from edgeconv.kernels.lowering.work import Call
from edgeconv.kernels.ops.base import ImportContext, Operator, Source
from edgeconv.kernels.ops.importing import make_node, with_channels
from edgeconv.target.targets import Target

_SLOTS = 16  # of a vector, beside one for each of its neighbours: by counting in ec_lrn.h
_PIXELS = 8  # EC_LRN_PIXELS of ec_lrn.h
_POWERS = {0.75: "three_quarters", 0.5: "half", 1.0: "one"}


def _import_lrn(source: Source, ctx: ImportContext) -> Sequence[Node]:
    with_channels(source, ctx)
    size = int(source.attrs["size"])
    if size < 1:
        raise ctx.reject(source, f"size {size}", "size must be positive")
    factors = {name: float(source.attrs[name]) for name in ("alpha", "beta", "bias")}
    return [make_node(source, "LRN", size=size, **factors)]


def _strides(x: Tensor, lanes: int) -> dict[str, Param]:
    """Where channels lie side by side: from image to image, pixel to pixel, vector to vector."""
    count, c = pixels(x.shape), x.shape[1]
    if x.layout.order is Order.CHANNELS_LAST:
        return {"strides": (count * c, c, lanes), "padded": False}
    blocks = math.ceil(c / lanes)
    return {"strides": (blocks * count * lanes, lanes, count * lanes), "padded": True}


def lower(node: Node, graph: Graph, target: Target) -> Layer:
    """Vectors of pixels in row-major order, vectors of channels elsewhere."""
    x, call = graph[node.inputs[0]], Call(node, graph, target)
    size, beta = int(node.attrs["size"]), float(node.attrs["beta"])
    power = _POWERS.get(beta, "pow")
    rows = x.layout.order is Order.ROW_MAJOR
    strides: dict[str, Param] = {"strides": ()} if rows else _strides(x, target.lanes)
    length = 0 if rows else math.ceil(x.shape[1] / target.lanes) * target.lanes + size - 1
    return kernel_layer(
        call,
        "lrn",
        "ops/lrn.c.j2",
        operands={"in": x.name},
        params={
            "size": size,
            "below": (size - 1) // 2,
            "scale": float(node.attrs["alpha"]) / size,
            "bias": float(node.attrs["bias"]),
            "power": power,
            "beta": beta,
            "images": x.shape[0],
            "channels": x.shape[1],
            "pixels": pixels(x.shape),
            "length": length,
            **strides,
        },
        headers=("ec_lrn.h",),
        functions=("ec_poly.h", "ec_exp.h", "ec_log.h") if power == "pow" else (),
        work=call.streams((_SLOTS + size) * call.out_vectors),
        aliases=residual_in_place(node, graph),
        workspace_bytes=_PIXELS * length * FLOAT_BYTES,
    )


OPERATOR = Operator(
    name="LRN",
    onnx={"LRN": _import_lrn},
    lower=lower,
    layouts=same_everywhere,
    fuses=True,
    stored=Stored.BOTH,
)
