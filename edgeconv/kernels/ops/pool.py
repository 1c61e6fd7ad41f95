"""Max and average pooling, local and global."""

from __future__ import annotations

import math
from collections.abc import Sequence
from dataclasses import replace

import numpy as np

from edgeconv.base.errors import EdgeconvError
from edgeconv.ir.choice import Layer, Param
from edgeconv.ir.element_types import FLOAT32
from edgeconv.ir.graph import Graph, Node, Tensor
from edgeconv.ir.layout import CHANNELS_LAST, Layout, Order, Shape
from edgeconv.ir.quantisation import AWAY
from edgeconv.ir.step import Divides
from edgeconv.ir.work import Work
from edgeconv.kernels.lowering.calls import FLOAT_BYTES, kernel_layer, residual_in_place
from edgeconv.kernels.lowering.images import pixels, same_everywhere, volume
from edgeconv.kernels.lowering.integers import with_integers
from edgeconv.kernels.lowering.options import LayoutOption, Stored
from edgeconv.kernels.lowering.work import Call, width
from edgeconv.kernels.ops import integer_pool
from edgeconv.kernels.ops.base import ImportContext, Operator, Source
from edgeconv.kernels.ops.conv import convolution
from edgeconv.kernels.ops.formula import Formula, Term
from edgeconv.kernels.ops.importing import Window, flag, ints, make_node, window_of, with_channels
from edgeconv.kernels.ops.max_indices import largest_at
from edgeconv.target.targets import Target

MOST_SPATIAL = 3
# Slots of an output vector, by counting in the kernels: start, last multiplication or none, store,
# addresses.
_STRIP = 4
_CHAINS = 4  # sums of an average that are kept at once: EC_POOL_CHAINS


def _check_windows(source: Source, ctx: ImportContext, window: Window, out: Shape) -> None:
    """Reject a window that covers padding only: its maximum or average does not exist."""
    spatial = ctx.tensor(source.inputs[0]).shape[2:]
    for axis, (size, count) in enumerate(zip(spatial, out, strict=True)):
        stride, dilation, pad = window.strides[axis], window.dilations[axis], window.pads[axis]
        # A window that begins in the input covers its first tap; one that begins in front of it,
        # the first tap that does not lie in front.
        first = np.arange(min(count, -(-pad // stride))) * stride - pad
        tap = -(first // dilation)
        inside = (tap < window.kernel[axis]) & (first + tap * dilation < size)
        if not inside.all() or (count - 1) * stride - pad >= size:
            got = f"input {list(spatial)}, kernel {list(window.kernel)}, pads {list(window.pads)}"
            raise ctx.reject(source, got, "every window must cover at least one input element")


def _counts(source: Source, ctx: ImportContext, window: Window) -> Shape:
    """Windows of each dimension.

    With ``ceil_mode`` those count that begin before the padding at the end and reach beyond it.  A
    kernel larger than its padded input, by less than a stride, has one window, of what there is of
    it, as onnx's shape inference and ONNX Runtime round towards zero.  Rejects a larger one.
    """
    spatial, ceil = ctx.tensor(source.inputs[0]).shape[2:], flag(source, ctx, "ceil_mode")
    counts = []
    for axis, (size, stride) in enumerate(zip(spatial, window.strides, strict=True)):
        before = size + window.begins[axis]
        room = before + window.ends[axis] - window.spans[axis]
        count = (-(-room // stride) if ceil else math.trunc(room / stride)) + 1
        if ceil and (count - 1) * stride >= before:
            count -= 1
        if size and count < 1:
            got = f"{window.spans[axis]} pixels of kernel over {room + window.spans[axis]}"
            raise ctx.reject(source, f"{got} of axis {axis + 2}", "a kernel fits into its input")
        counts.append(count)
    return tuple(counts)


def _shape(source: Source, ctx: ImportContext) -> Shape:
    window = window_of(source, ctx, ints(source.attrs["kernel_shape"]))
    return (*ctx.tensor(source.inputs[0]).shape[:2], *_counts(source, ctx, window))


def _local(source: Source, ctx: ImportContext, mode: str) -> Sequence[Node]:
    window = window_of(source, ctx, ints(source.attrs["kernel_shape"]))
    whole = ctx.tensor(source.read).shape
    out = whole[2:]
    _check_windows(source, ctx, window, out)
    counted = flag(source, ctx, "count_include_pad")
    if not any(source.outputs[1:]):
        return _pooled(source, ctx, window, mode, counted=counted)
    made = make_node(source, "Pool", mode=mode, **window.attrs(), count_include_pad=counted)
    if (dtype := ctx.tensor(source.inputs[0]).dtype) != FLOAT32:
        got = f"Indices of {dtype}"
        raise ctx.reject(source, got, "places are those of real numbers", "cast to float")
    formula = Formula(source, ctx)
    columns_first = flag(source, ctx, "storage_order")
    x = Term(formula, source.inputs[0])
    indices = largest_at(formula, x, window, whole, columns_first=columns_first)
    return [made, *indices] if source.outputs[0] else indices


def _pooled(
    source: Source, ctx: ImportContext, window: Window, mode: str, *, counted: bool
) -> Sequence[Node]:
    """By a Pool of as many dimensions as its kernels have; dimensions beyond, along which windows
    are single elements, are seen as channels."""
    attrs = {"mode": mode, "count_include_pad": counted}
    formula = Formula(source, ctx)
    x, rank = Term(formula, source.inputs[0]), len(window.kernel)
    each = zip(window.kernel, window.strides, window.begins, window.ends, strict=True)
    single = [d for d, entries in enumerate(each) if entries == (1, 1, 0, 0)]
    if rank <= MOST_SPATIAL or rank - len(single) > MOST_SPATIAL:
        return [make_node(source, "Pool", **window.attrs(), **attrs)]
    apart = [d for d in range(rank) if d not in single] or [single.pop()]
    order = [0, 1, *(2 + d for d in single), *(2 + d for d in apart)]
    count, n = 2 + len(single), x.shape[0]
    inner, out = x.transpose(*order), ctx.tensor(source.outputs[0]).shape
    channels = math.prod(inner.shape[1:count])
    flat = inner.reshape(n, channels, *inner.shape[count:])
    kept = _of_dimensions(window, apart)
    sizes = tuple(out[2 + d] for d in apart)
    y = formula.add("Pool", (flat,), (n, channels, *sizes), **kept.attrs(), **attrs)
    y = y.reshape(*inner.shape[:count], *sizes)
    return formula.finish(y.transpose(*(order.index(d) for d in range(2 + rank))))


def _of_dimensions(window: Window, chosen: Sequence[int]) -> Window:
    """The window along those spatial dimensions alone."""
    parts = (window.kernel, window.strides, window.dilations, window.begins, window.ends)
    kernel, strides, dilations, begins, ends = (tuple(p[d] for d in chosen) for p in parts)
    return Window(kernel, strides, dilations, (*begins, *ends))


def _import_typed_max(source: Source, ctx: ImportContext) -> Sequence[Node]:
    """Indices are integers; of integers as data there is the pool alone."""
    return _local(source, ctx, "max")


def _import_lp(source: Source, ctx: ImportContext) -> Sequence[Node]:
    """(sum of |x|^p)^(1/p); the sum is a convolution by ones, of each channel by itself.  What lies
    behind the padding counts as nothing, as the padding does."""
    p, formula = float(source.attrs.get("p", 2)), Formula(source, ctx)
    x = Term(formula, source.inputs[0])
    if p <= 0:
        raise ctx.reject(source, f"p {p:g}", "p is positive")
    kernel, channels = source.attrs.get("kernel_shape"), with_channels(source, ctx)[1]
    window = _reaching(source, ctx, ints(kernel) if kernel else x.shape[2:])
    ones = formula.constant(np.ones((channels, 1, *window.kernel), np.float32), "ones")
    size = x.apply("abs")
    powers = size if p == 1 else size * size if p == 2 else size.binary("pow", p)
    sums = convolution(formula, (powers.name, ones.name), "", window, channels)
    if p == 1:
        return formula.finish(sums)
    root = sums.apply("sqrt") if p == 2 else sums.binary("pow", 1 / p)
    return formula.finish(root)


def _reaching(source: Source, ctx: ImportContext, kernel: Shape) -> Window:
    """The window of ``source``, padded at the end as far as the last one reaches."""
    spatial, window = ctx.tensor(source.inputs[0]).shape[2:], window_of(source, ctx, kernel)
    each = zip(_counts(source, ctx, window), window.strides, window.spans, strict=True)
    reach = ((count - 1) * stride + span for count, stride, span in each)
    inside = zip(reach, spatial, window.begins, strict=True)
    ends = (max(0, end - size - begin) for end, size, begin in inside)
    return replace(window, pads=(*window.begins, *ends))


def _global(source: Source, ctx: ImportContext, mode: str) -> Sequence[Node]:
    kernel = with_channels(source, ctx)[2:]
    ones = (1,) * len(kernel)
    window = Window(kernel, ones, ones, (0,) * (2 * len(kernel)))
    return [make_node(source, "Pool", mode=mode, **window.attrs(), count_include_pad=False)]


def layouts(node: Node, graph: Graph, target: Target) -> Sequence[LayoutOption]:
    """Channels side by side are best: a pixel of the window is one vector load.

    Row-major writes and reads a line of its own for every output row.
    """
    x, out = graph[node.inputs[0]], graph[node.output]
    lines = x.size / max(int(node.attrs["strides"][-2]) if len(x.shape) > 3 else 1, 1)

    def penalty(layout: Layout) -> float:
        return lines + out.size if layout.order is Order.ROW_MAJOR and target.lanes > 1 else 0.0

    options = same_everywhere(node, graph, target, penalty)
    if not integer_pool.applies(node, graph):
        return options
    able = [replace(each, penalty=0.0) for each in options if each.writes[0] == CHANNELS_LAST]
    # Which rounding it is says the node, whatever it takes.
    return with_integers(node, [] if AWAY in node.attrs and able else options, able)


def _is_global(node: Node, shape: Shape) -> bool:
    """Whether one window covers exactly the whole input."""
    return tuple(node.attrs["kernel"]) == shape[2:] and not any(node.attrs["pads"])


def window_params(node: Node, x: Shape, out: Shape) -> dict[str, Param]:
    """The members of ec_pool and of its window."""
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


def _divides(node: Node, graph: Graph, target: Target) -> Divides | None:
    """The division into rows of one image: those of the result, whose windows are parts of it, or
    of the input, where one window is all of it."""
    x, out = graph[node.inputs[0]].shape, graph[node.output].shape
    if len(out) != 4 or out[0] > 1:
        return None
    if _is_global(node, x):
        return _accumulating(node, graph, target)
    kernel, dilation = node.attrs["kernel"][0], node.attrs["dilations"][0]
    reach, stride = (kernel - 1) * dilation + 1, node.attrs["strides"][0]
    return Divides(out[-2], reach, stride, node.attrs["pads"][0])


def _accumulating(node: Node, graph: Graph, target: Target) -> Divides | None:
    """The division of an image over all of whose pixels is pooled.  Vectors of real numbers are of
    channels: along rows they would go on in the next one."""
    x = graph[node.inputs[0]]
    height, columns = x.shape[-2], x.shape[-1]
    if height < 2:
        return None
    if node.request.integers:
        able = node.attrs["mode"] == "average"
        return Divides(height, columns=Divides(columns), accumulates=True) if able else None
    able = not _along_rows(x) or target.lanes == 1
    return Divides(height, accumulates=True) if able else None


def _along_rows(x: Tensor) -> bool:
    return x.layout.order is Order.ROW_MAJOR


def _lines(x: Tensor) -> tuple[int, ...]:
    """The members of ec_pool_lines, where memory holds a ring of rows of an image."""
    _, channels, rows, width = x.held
    if x.layout.order is Order.CHANNELS_LAST:
        return width, rows, width * channels, channels, 1
    block = x.layout.block
    return width, rows, width * block, block, rows * width


def lower(node: Node, graph: Graph, target: Target) -> Layer:
    """One of three kernels: whole images, vectors of channels, or rows of one channel."""
    x, out, divides = graph[node.inputs[0]], graph[node.output], _divides(node, graph, target)
    if node.request.integers:
        window = window_params(node, x.shape, out.shape)
        return integer_pool.lower(node, graph, target, window, divides)
    row_major = _along_rows(x)
    n, c = x.shape[0], x.shape[1]
    blocks = math.ceil(c / x.layout.block)
    images, channels = (
        (n, c) if x.layout.order is Order.CHANNELS_LAST else (n * blocks, x.layout.block)
    )
    params: dict[str, Param]
    headers: tuple[str, ...]
    call, workspace = Call(node, graph, target), 0
    if _is_global(node, x.shape):
        kernel = "global_rows" if row_major else "global_lanes"
        headers = ("ec_pool_global.h",)
        work = call.streams(call.in_vectors)
        lines = _lines(x) if x.ring else ()
        params = {
            "maximum": node.attrs["mode"] == "max",
            "pixels": pixels(x.shape),
            "accumulates": lines,
        }
        if lines:
            headers, images, channels = (*headers, "ec_pool_sums.h"), 1, images * channels
            vectors = math.ceil(channels / target.lanes)
            workspace = _CHAINS * vectors * target.lanes * FLOAT_BYTES
    else:
        kernel = "rows" if row_major else "lanes"
        headers = (f"ec_pool_{kernel}.h",)
        work = (_line_windows if row_major else _windows)(call)
        params = window_params(node, x.shape, out.shape)
        workspace = _line_floats(params) * FLOAT_BYTES if row_major else 0
    return kernel_layer(
        call,
        f"pool_{kernel}",
        f"ops/pool{'_global' if 'ec_pool_global.h' in headers else ''}.c.j2",
        operands={"in": x.name},
        params={
            **params,
            "kernel_function": kernel,
            "images": images,
            "channels": channels,
            "in_ring": x.ring,
            "out_ring": out.ring,
        },
        headers=("ec_window.h", "ec_pool_op.h", *headers),
        work=work,
        aliases=residual_in_place(node, graph),
        workspace_bytes=workspace,
        divides=divides,
    )


OPERATOR = Operator(
    name="Pool",
    onnx={
        "LpPool": _import_lp,
        "GlobalLpPool": _import_lp,
        "MaxPool": lambda source, ctx: _local(source, ctx, "max"),
        "AveragePool": lambda source, ctx: _local(source, ctx, "average"),
        "GlobalMaxPool": lambda source, ctx: _global(source, ctx, "max"),
        "GlobalAveragePool": lambda source, ctx: _global(source, ctx, "average"),
    },
    typed={"MaxPool": _import_typed_max},
    shapes=dict.fromkeys(("AveragePool", "LpPool", "MaxPool"), _shape),
    lower=lower,
    layouts=layouts,
    fuses=True,
    stored=Stored.BOTH,
)
