"""Local response normalisation across channels."""

from __future__ import annotations

import math
from collections.abc import Sequence

from edgeconv.ir.choice import Arg, ArgKind, Layer, Param
from edgeconv.ir.graph import Graph, Node, Tensor
from edgeconv.ir.layout import Order
from edgeconv.lowering.calls import (
    FLOAT_BYTES,
    activation_headers,
    epilogue_of,
    input_arg,
    merge_headers,
    output_arg,
    residual_args,
    residual_in_place,
    storage_of,
)
from edgeconv.lowering.options import LayoutOption
from edgeconv.lowering.work import Call
from edgeconv.ops.kernels.images import pixels, same_everywhere
from edgeconv.targets import Target

_SLOTS = 16  # of a vector, beside one for each of its neighbours: by counting in ec_lrn.h
_PIXELS = 8  # EC_LRN_PIXELS of ec_lrn.h
_POWERS = {0.75: "three_quarters", 0.5: "half", 1.0: "one"}


def layouts(node: Node, graph: Graph, target: Target) -> Sequence[LayoutOption]:
    """Any, the same for input and output."""
    return same_everywhere(node, graph, target)


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
    steps: dict[str, Param] = {} if rows else _strides(x, target.lanes)
    length = 0 if rows else math.ceil(x.shape[1] / target.lanes) * target.lanes + size - 1
    return Layer(
        node=node,
        algorithm="lrn",
        template=f"ops/lrn_{'rows' if rows else 'lanes'}.c.j2",
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
            **steps,
            **storage_of(graph, **{"in": x.name}),
            "epilogue": epilogue_of(node, graph),
        },
        args=(
            input_arg(graph, node.inputs[0]),
            *residual_args(node, graph),
            output_arg(node, graph),
            *(() if rows else (Arg(ArgKind.WORKSPACE, "workspace"),)),
        ),
        headers=merge_headers(
            [
                (*activation_headers(node.epilogue), "ec_lrn.h"),
                ("ec_poly.h", "ec_exp.h", "ec_log.h", "ec_lrn.h") if power == "pow" else (),
            ]
        ),
        work=call.streams((_SLOTS + size) * call.out_vectors),
        aliases=residual_in_place(node, graph),
        workspace_bytes=_PIXELS * length * FLOAT_BYTES,
    )
