"""Sums, differences and products of two int8 tensors as int8, in integers."""

from __future__ import annotations

import math
from collections.abc import Mapping
from dataclasses import dataclass, replace
from types import MappingProxyType

from edgeconv.ir.choice import Blob, Layer, Param
from edgeconv.ir.graph import Graph, Node
from edgeconv.ir.layout import Layout, Order, Shape
from edgeconv.ir.requantisation import ARITHMETICS, Fixed
from edgeconv.ir.requantisation.by_value import ByValue
from edgeconv.ir.requantisation.double_rounding import Twice
from edgeconv.ir.requantisation.pair import Affine, PairSum
from edgeconv.ir.requantisation.scalings import TIES
from edgeconv.ir.work import Work
from edgeconv.kernels.algorithms.sums import bounds_in, rounds_to
from edgeconv.kernels.lowering.calls import in_place, kernel_layer
from edgeconv.kernels.lowering.images import pixels
from edgeconv.kernels.lowering.integers import all_int8, in_integers
from edgeconv.kernels.lowering.loops import PerCore
from edgeconv.kernels.lowering.work import Call
from edgeconv.target.targets import Target

KINDS = frozenset({"add", "sub", "mul"})
# Slots of a vector, counted in ec_int8_pair.h: loads that widen, arithmetic, a share of the store.
_PAIR_SUM, _PRODUCT, _LINEAR = 7.0, 14.0, 5.0
_CYCLES = 12.0  # of an element of portable C
_WORDS = 512
_WORD_BYTES = 4
_SCALING = ("start", "multiplier", "shift")
Form = PairSum | Fixed | Twice | ByValue
# Cycles of an element on a core without vectors, as `PerCore` has them.
_LOOPS: Mapping[type[Form], PerCore] = MappingProxyType(
    {
        PairSum: PerCore(76, 41, 31),
        Fixed: PerCore(137, 43, 33),
        Twice: PerCore(210, 64, 50),
        ByValue: PerCore(56, 29, 23),
    }
)


@dataclass(frozen=True, slots=True)
class Operands:
    """``a`` has the shape of the result; of ``b`` an element is for all pixels of a channel where
    ``by_channel``.  ``swapped``: they are the node's second and first."""

    a: str
    b: str
    by_channel: bool
    swapped: bool


def operands_of(node: Node, graph: Graph) -> Operands | None:
    """The operands of a Binary node that has a kernel; None of others."""
    if node.attrs["kind"] not in KINDS or any(graph[n].is_constant for n in node.inputs):
        return None
    shape = graph[node.output].shape
    first, second = node.inputs
    for a, b, swapped in ((first, second, False), (second, first, True)):
        if graph[a].shape == shape:
            if graph[b].shape == shape:
                return Operands(a, b, by_channel=False, swapped=swapped)
            if _is_of_channels(graph[b].shape, shape):
                return Operands(a, b, by_channel=True, swapped=swapped)
    return None


def _is_of_channels(b: Shape, out: Shape) -> bool:
    same_rank = len(b) == len(out) >= 3
    return same_rank and b[1] == out[1] and b[0] in (1, out[0]) and math.prod(b[2:]) == 1


def form_of(node: Node, graph: Graph) -> Form | None:
    """What the kernel computes, proven; None where it has none."""
    operands = operands_of(node, graph)
    if operands is None or not all_int8(node, graph) or not node.epilogue.is_only_before:
        return None
    y = graph[node.output].storage
    if not rounds_to(node.epilogue.before, y):
        return None
    kind = str(node.attrs["kind"])
    kind = "sub_from" if kind == "sub" and operands.swapped else kind
    says, bounds = ARITHMETICS[graph.requantise], bounds_in(node.epilogue.before, y)
    a, b, result = (
        Affine.of(graph[name].storage) for name in (operands.a, operands.b, node.output)
    )
    if operands.by_channel:
        linear = says.by_value(kind, a, b, result, *bounds)
        if linear is not None or kind != "mul":
            return linear
    if kind == "mul":
        return says.product(a, b, result, *bounds)
    return says.pair(a, replace(b, scale=-b.scale) if kind == "sub" else b, result, *bounds)


def suits(node: Node, graph: Graph, layout: Layout) -> bool:
    """Whether the kernel takes tensors so."""
    operands = operands_of(node, graph)
    if operands is None or not operands.by_channel:
        return operands is not None
    linear = isinstance(form_of(node, graph), ByValue)
    return layout.order is not Order.BLOCKED if linear else layout.order is Order.CHANNELS_LAST


def lower(node: Node, graph: Graph, target: Target) -> Layer:
    """The kernel call of a node that has a form."""
    operands, form, call = operands_of(node, graph), form_of(node, graph), Call(node, graph, target)
    assert operands is not None
    assert form is not None
    shape, layout = graph[node.output].shape, graph[node.output].layout
    lanes = target.lanes
    linear = isinstance(form, ByValue)
    room = -(-shape[1] // lanes) * lanes if operands.by_channel else 0
    planar = layout.order is not Order.CHANNELS_LAST
    workspace = 2 * room * _WORD_BYTES if linear and not planar else 0
    pointers: dict[str, str | Blob] = {"a": operands.a, "b": operands.b}
    if isinstance(form, ByValue):
        words = form.words
        pointers["words"] = Blob("words", _WORDS, lambda: words, dtype="int32")
    layer = kernel_layer(
        call,
        "int8_binary",
        "ops/int8_binary.c.j2",
        operands=pointers,
        params={
            **_numbers(form, graph, operands),
            "by_channel": operands.by_channel,
            "planar": planar,
            "elements": graph[node.output].elements,
            **_images(graph[operands.b].shape, shape, room),
        },
        headers=(target.integers, "ec_int8_pair.h"),
        work=_work(form, call),
        aliases=in_place(node, graph, dict.fromkeys((operands.a, operands.b))),
        workspace_bytes=workspace,
        epilogue=False,
    )
    tied = isinstance(form, PairSum) and form.ties
    return replace(in_integers(layer), scaling=TIES if tied else "")


def _images(b: Shape, shape: Shape, room: int) -> dict[str, Param]:
    if not room:
        return {}
    sizes = {"images": shape[0], "pixels": pixels(shape), "channels": shape[1], "room": room}
    return {**sizes, "b_image": shape[1] if b[0] > 1 else 0}


def _numbers(form: Form, graph: Graph, operands: Operands) -> dict[str, Param]:
    """The members of ec_int8_pair."""
    numbers: dict[str, Param] = {"right": form.right, "low": form.low, "high": form.high}
    if isinstance(form, PairSum):
        numbers |= {"by_a": form.by_a, "by_b": form.by_b, "offset": form.offset}
        numbers |= {"ties": form.ties}
    elif isinstance(form, Fixed | Twice):
        zeros = (graph[name].storage.zero[0] for name in (operands.a, operands.b))
        numbers |= dict(zip(("zero_a", "zero_b"), zeros, strict=True))
        numbers |= {"product": True, "offset": form.offset}
        numbers |= dict(zip(_SCALING, (int(each[0]) for each in form.words), strict=False))
    return numbers


def _work(form: Form, call: Call) -> Work:
    slots = {PairSum: _PAIR_SUM, Fixed: _PRODUCT, Twice: _PRODUCT, ByValue: _LINEAR}[type(form)]
    cycles, elements = _LOOPS[type(form)].on(call.target, reals=False), call.output.elements
    return call.in_integers(cycles * elements, _CYCLES * elements, slots * call.out_vectors)
