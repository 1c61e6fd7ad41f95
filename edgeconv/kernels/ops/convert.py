"""Change of layout or storage; inserted by ``choose``, never imported."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import replace

from edgeconv.ir.choice import Layer, Param
from edgeconv.ir.graph import Graph, Node, Tensor
from edgeconv.ir.layout import ROW_MAJOR, Layout, Order, Shape
from edgeconv.ir.step import Divides
from edgeconv.ir.work import Work
from edgeconv.kernels.lowering.calls import kernel_layer
from edgeconv.kernels.lowering.images import layouts_of, pixels
from edgeconv.kernels.lowering.loops import PerCore
from edgeconv.kernels.lowering.moves import flat_copy
from edgeconv.kernels.lowering.nest import is_blocked
from edgeconv.kernels.lowering.options import LayoutOption, Stored
from edgeconv.kernels.lowering.work import Call, width
from edgeconv.kernels.ops.base import Operator
from edgeconv.target.targets import Target

_IMAGE = 4  # dimensions of what has rows
_COLUMNS = ("ec_window.h", "ec_columns.h", "ec_convert_columns.h")
_BYTE, _WORD = 8, 32  # bits of what is copied as it is
_HALF_WORD = PerCore(530, 12, 12)  # of an int16 beside the copy, there and back
_NAMES = {Order.ROW_MAJOR: "nchw", Order.CHANNELS_LAST: "nhwc", Order.BLOCKED: "blocks"}


def layouts(node: Node, graph: Graph, target: Target) -> Sequence[LayoutOption]:
    """Every pair of different layouts; ``choose`` inserts the one that it needs."""
    offered = layouts_of(graph[node.output].shape, target)
    return [LayoutOption((a,), (b,)) for a in offered for b in offered if a != b]


def _is_prefix(shape: Shape, have: Layout, want: Layout) -> bool:
    """Whether the wanted bytes are the first ones of what is there."""
    if have.canonical(shape) == want.canonical(shape):
        return True
    dense = want.canonical(shape) == ROW_MAJOR
    return is_blocked(have) and dense and shape[0] == 1 and pixels(shape) == 1


def lower(node: Node, graph: Graph, target: Target) -> Layer:
    """A view where the bytes are the same ones, else transpositions image by image."""
    x, out, call = graph[node.inputs[0]], graph[node.output], Call(node, graph, target)
    have, want, shape = x.layout, out.layout, x.shape
    if _is_prefix(shape, have, want):
        return flat_copy(node, graph, target, out.elements)
    if x.storage != out.storage:
        raise ValueError(f"{node.name}: a conversion keeps the format")
    if is_blocked(have) and is_blocked(want):
        raise ValueError(f"{node.name}: no conversion from {have} to {want}")
    return kernel_layer(
        call,
        "convert",
        "ops/convert.c.j2",
        operands={"in": x.name},
        params={
            "source": _NAMES[have.order],
            "target": _NAMES[want.order],
            "images": shape[0],
            "channels": shape[1],
            "pixels": pixels(shape),
            "block": max(have.block, want.block),
            **_rows(x, out),
            "pitches": (x.held[-1], out.held[-1]) if node.request.patch else (),
        },
        headers=(
            *("ec_lanes.h", "ec_copy.h", "ec_transpose.h", "ec_convert.h"),
            *(_COLUMNS if node.request.patch else ()),
        ),
        work=_work(call),
        epilogue=False,
        divides=_divides(x, out, target),
    )


def _rows(x: Tensor, out: Tensor) -> dict[str, Param]:
    """Pixels of a row, and the rows that memory holds of both."""
    width = x.shape[-1]
    held = {"in_rows": x.ring, "out_rows": out.ring}
    height = pixels(x.shape) // width if width else 0
    return {"width": width, **{name: rows or height for name, rows in held.items()}}


def _divides(x: Tensor, out: Tensor, target: Target) -> Divides | None:
    """The division into rows of one image.  Vectors transpose as many pixels as they have lanes,
    whichever rows these are in."""
    image = len(x.shape) == _IMAGE and x.shape[0] == 1
    if is_blocked(x.layout) or is_blocked(out.layout) or not image or not target.is_scalar:
        return None
    return Divides(x.shape[-2], columns=Divides(x.shape[-1]))


def _work(call: Call) -> Work:
    """As bytes where the kernel does so; others pass through float32 one by one."""
    storage, target = call.output.storage, call.target
    if not target.is_scalar:
        return _sweeps(call, call.streams()) if target.streams else call.streams()
    if storage.bits in (_BYTE, _WORD):
        return call.copies()
    if not storage.scale:
        return call.streams()
    decoded = _HALF_WORD.on(target) / target.slot_cycles * call.output.elements
    return replace(call.copies(), decoding=decoded)


def _sweeps(call: Call, work: Work) -> Work:
    """``work`` with the lines of channels last that each block of channels visits once more."""
    x, out = call.inputs[0], call.output
    blocked, last = (x, out) if is_blocked(x.layout) else (out, x)
    if not is_blocked(blocked.layout) or last.layout.order is not Order.CHANNELS_LAST:
        return work
    line, each = call.target.line_bytes, width(x.storage)
    count, block = x.shape[0] * pixels(x.shape), blocked.layout.block
    swept = count * min(line, each * x.shape[1])  # bytes of lines, by a block
    again = max(0.0, -(-x.shape[1] // block) * swept - each * count * x.shape[1])
    sweep = swept + each * count * block
    if last is x:
        return replace(work, sweep=sweep, read_again=again)
    return replace(work, sweep=sweep, written_again=again)


OPERATOR = Operator(name="Convert", lower=lower, layouts=layouts, stored=Stored.BOTH)
