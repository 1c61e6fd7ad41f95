"""Maximum and average pooling over one to three spatial dimensions."""

from __future__ import annotations

import math
from collections.abc import Sequence

from edgeconv.errors import EdgeconvError
from edgeconv.ir.choice import Arg, ArgKind, Layer, Param
from edgeconv.ir.graph import Graph, Node
from edgeconv.ir.layout import Layout, Order, Shape
from edgeconv.ir.work import Work
from edgeconv.lowering.calls import (
    FLOAT_BYTES,
    activation_headers,
    epilogue_of,
    input_arg,
    output_arg,
    residual_args,
    residual_in_place,
    storage_of,
)
from edgeconv.lowering.options import LayoutOption
from edgeconv.lowering.work import Call, width
from edgeconv.ops.kernels.images import pixels, same_everywhere, volume
from edgeconv.targets import Target

MOST_SPATIAL = 3
# Slots of an output vector, by counting in the kernels: start, last multiplication or none, store,
# addresses.
_STRIP = 4


def layouts(node: Node, graph: Graph, target: Target) -> Sequence[LayoutOption]:
    """Channels side by side are best: a pixel of the window is one vector load.

    Row-major writes and reads a line of its own for every output row.
    """
    x, out = graph[node.inputs[0]], graph[node.output]
    lines = x.size / max(int(node.attrs["strides"][-2]) if len(x.shape) > 3 else 1, 1)

    def penalty(layout: Layout) -> float:
        return lines + out.size if layout.order is Order.ROW_MAJOR and target.lanes > 1 else 0.0

    return same_everywhere(node, graph, target, penalty)


def _is_global(node: Node, shape: Shape) -> bool:
    """Whether one window covers exactly the whole input."""
    return tuple(node.attrs["kernel"]) == shape[2:] and not any(node.attrs["pads"])


def _window_params(node: Node, x: Shape, out: Shape) -> dict[str, Param]:
    """The members of ec_pool."""
    rank = len(x) - 2
    if rank > MOST_SPATIAL:
        raise EdgeconvError(
            "unsupported pooling",
            where=node.name,
            got=f"{rank} spatial dimensions",
            rule=f"pooling kernels take 1 to {MOST_SPATIAL}",
        )
    pads = tuple(node.attrs["pads"])
    begins, ends = pads[:rank], pads[rank:]
    padding_counts = bool(node.attrs.get("count_include_pad"))
    size = x[2:]
    counted = zip(size, ends, strict=True)
    return {
        "maximum": node.attrs["mode"] == "max",
        "in_size": volume(size, 1),
        "out_size": volume(out[2:], 1),
        "kernel": volume(tuple(node.attrs["kernel"]), 1),
        "strides": volume(tuple(node.attrs["strides"]), 1),
        "dilations": volume(tuple(node.attrs["dilations"]), 1),
        "pads": volume(begins, 0),
        "first": volume(tuple(-p if padding_counts else 0 for p in begins), 0),
        "end": volume(tuple(n + p if padding_counts else n for n, p in counted), 1),
    }


def _line_floats(params: dict[str, Param]) -> int:
    """Workspace of ec_pool_rows: the padded line, and for an average a factor per column."""
    columns = {name: value[2] for name, value in params.items() if isinstance(value, tuple)}
    out_w = int(columns["out_size"])
    reach = (out_w - 1) * int(columns["strides"])
    length = reach + (int(columns["kernel"]) - 1) * int(columns["dilations"]) + 1
    return length + (0 if params["maximum"] else out_w)


def _windows(call: Call) -> Work:
    """A load and an instruction per tap of an output vector."""
    taps, source = math.prod(call.node.attrs["kernel"]) * call.out_vectors, call.inputs[0]
    decoded = taps * call.stored(source).vector + call.encoded
    return Work(
        slots=taps + _STRIP * call.out_vectors + call.epilogue + decoded,
        moves=taps if call.target.single_issue else 0.0,
        weight_bytes=0.0,
        data_bytes=width(source.storage) * call.target.lanes * taps + call.out_bytes,
        decoding=decoded,
    )


def _line_windows(call: Call) -> Work:
    """Columns first, over whole rows, then along the row, where vectors with a stride are gathered
    element by element."""
    source, lanes = call.inputs[0], call.target.lanes
    kernel, stride = call.node.attrs["kernel"], call.node.attrs["strides"][-1]
    rows = math.prod(call.output.shape[:-1])
    columns = rows * math.prod(kernel[:-1]) * source.shape[-1] / lanes
    gathered = kernel[-1] * call.out_vectors * (lanes if stride > 1 else 1)
    loads = columns + gathered
    decoded = columns * call.stored(source).vector + call.encoded
    return Work(
        slots=loads + _STRIP * call.out_vectors + call.epilogue + decoded,
        moves=loads if call.target.single_issue else 0.0,
        weight_bytes=0.0,
        data_bytes=lanes * (columns * width(source.storage) + loads * FLOAT_BYTES) + call.out_bytes,
        decoding=decoded,
    )


def lower(node: Node, graph: Graph, target: Target) -> Layer:
    """One of three kernels: whole images, vectors of channels, or rows of one channel."""
    x, out = graph[node.inputs[0]], graph[node.output]
    row_major = x.layout.order is Order.ROW_MAJOR
    n, c = x.shape[0], x.shape[1]
    blocks = math.ceil(c / x.layout.block)
    images, channels = (
        (n, c) if x.layout.order is Order.CHANNELS_LAST else (n * blocks, x.layout.block)
    )
    params: dict[str, Param]
    call, workspace = Call(node, graph, target), 0
    if _is_global(node, x.shape):
        kernel, header = ("global_rows" if row_major else "global_lanes"), "ec_pool_global.h"
        work = call.streams(call.in_vectors)
        params = {"maximum": node.attrs["mode"] == "max", "pixels": pixels(x.shape)}
    else:
        kernel, header = ("rows", "ec_pool_rows.h") if row_major else ("lanes", "ec_pool_lanes.h")
        work = (_line_windows if row_major else _windows)(call)
        params = _window_params(node, x.shape, out.shape)
        workspace = _line_floats(params) * FLOAT_BYTES if row_major else 0
    return Layer(
        node=node,
        algorithm=f"pool_{kernel}",
        template=f"ops/pool{'_global' if header == 'ec_pool_global.h' else ''}.c.j2",
        params={
            **params,
            "kernel_function": kernel,
            "images": images,
            "channels": channels,
            **storage_of(graph, **{"in": x.name}),
            "epilogue": epilogue_of(node, graph),
        },
        args=(
            input_arg(graph, x.name),
            *residual_args(node, graph),
            output_arg(node, graph),
            *((Arg(ArgKind.WORKSPACE, "workspace"),) if workspace else ()),
        ),
        headers=(*activation_headers(node.epilogue), "ec_pool_op.h", header),
        work=work,
        aliases=residual_in_place(node, graph),
        workspace_bytes=workspace,
    )
