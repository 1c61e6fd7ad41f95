"""Sums, differences and products of two int8 tensors, one of which may be a constant, as int8, in
integers."""

from __future__ import annotations

import math
from collections.abc import Mapping
from dataclasses import dataclass, replace
from types import MappingProxyType

import numpy as np
import numpy.typing as npt

from edgeconv.ir.choice import Blob, Layer, Param, Whole
from edgeconv.ir.encoding import INT8
from edgeconv.ir.graph import Graph, Node
from edgeconv.ir.layout import Layout, Order, Shape
from edgeconv.ir.quantisation import OF_SCALE
from edgeconv.ir.requantisation import ARITHMETICS, Fixed
from edgeconv.ir.requantisation.by_value import ByValue
from edgeconv.ir.requantisation.double_rounding import Twice
from edgeconv.ir.requantisation.pair import Affine, PairSum
from edgeconv.ir.requantisation.scalings import TIES
from edgeconv.ir.work import Work
from edgeconv.kernels.algorithms.sums import bounds_in, rounds_to
from edgeconv.kernels.lowering.calls import in_place, kernel_layer
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
    """``a`` has the shape of the result, and so has ``b``, or an element for each index of ``axis``
    and, of the second axis, of the first one too.  ``swapped``: they are the node's second and
    first."""

    a: str
    b: str  # a tensor, or a constant
    axis: int | None
    swapped: bool

    @property
    def by_channel(self) -> bool:
        """Whether an element of ``b`` is for many of ``a``."""
        return self.axis is not None


def operands_of(node: Node, graph: Graph) -> Operands | None:
    """The operands of a Binary node that has a kernel; None of others."""
    if node.attrs["kind"] not in KINDS:
        return None
    shape = graph[node.output].shape
    if any(graph[name].is_constant for name in node.inputs):
        return _with_constant(node, graph)
    first, second = node.inputs
    for a, b, swapped in ((first, second, False), (second, first, True)):
        if graph[a].shape == shape:
            if _same_order(graph[b].shape, shape):
                return Operands(a, b, None, swapped)
            axis = _axis_of(graph[b].shape, shape)
            if axis is not None:
                return Operands(a, b, axis, swapped)
    return None


def _same_order(b: Shape, out: Shape) -> bool:
    """Elements of ``b`` lie as those of a result of this shape: there are as many, in a dimension
    that no other stands beside where shapes differ."""
    return b == out or (math.prod(b) == math.prod(out) == max(out, default=1))


def _with_constant(node: Node, graph: Graph) -> Operands | None:
    """A tensor of the result's shape and a constant that stands for eight bits; None of others."""
    first, second = node.inputs
    swapped = graph[first].is_constant
    a, b = (second, first) if swapped else (first, second)
    if graph[a].is_constant or graph[a].shape != graph[node.output].shape:
        return None
    return Operands(a, b, None, swapped) if _stored(node, graph, b) else None


def _stored(node: Node, graph: Graph, b: str) -> tuple[Affine, npt.NDArray[np.int64]] | None:
    """The integers of eight bits that the constant ``b`` stands for, in the result's shape, and
    what they stand for; None where there are none."""
    scale = node.attrs.get(OF_SCALE)
    if scale is None:
        return None
    whole = np.rint(graph[b].constant().astype(np.float64) / scale).astype(np.int64)
    low, high = int(whole.min(initial=0)), int(whole.max(initial=0))
    if high - low > INT8.high - INT8.low:
        return None
    zero = 0 if low >= INT8.low and high <= INT8.high else INT8.low - low
    return Affine(scale, zero), np.broadcast_to(whole + zero, graph[node.output].shape)


def _affine(node: Node, graph: Graph, name: str) -> Affine:
    """What the integers of an operand stand for."""
    stored = _stored(node, graph, name) if graph[name].is_constant else None
    return stored[0] if stored else Affine.of(graph[name].storage)


def _axis_of(b: Shape, out: Shape) -> int | None:
    """The axis along which an operand has elements; None where there are several, or none."""
    if len(b) == len(out) >= 3 and b[1] == out[1] and b[0] == out[0] and math.prod(b[2:]) == 1:
        return 1
    aligned = (1,) * (len(out) - len(b)) + b
    axes = [axis for axis, size in enumerate(aligned) if size != 1]
    return axes[0] if len(axes) == 1 and aligned[axes[0]] == out[axes[0]] else None


def form_of(node: Node, graph: Graph) -> Form | None:
    """What the kernel computes, proven; None where it has none."""
    found = _kernel_of(node, graph)
    return found[1] if found else None


def _kernel_of(node: Node, graph: Graph) -> tuple[Operands, Form] | None:
    """The operands as the kernel takes them, and what it computes."""
    operands = operands_of(node, graph)
    if operands is None or not all_int8(node, graph) or not node.epilogue.is_only_before:
        return None
    form = _form(operands, node, graph)
    if form is None and operands.axis is None:  # by number, of which there is a table
        axis = _axis_of(graph[operands.b].shape, graph[node.output].shape)
        if graph[operands.b].is_constant or axis is None:
            return None
        operands = replace(operands, axis=axis)
        form = _form(operands, node, graph)
    return (operands, form) if form else None


def _form(operands: Operands, node: Node, graph: Graph) -> Form | None:
    y = graph[node.output].storage
    if not rounds_to(node.epilogue.before, y):
        return None
    kind = str(node.attrs["kind"])
    kind = "sub_from" if kind == "sub" and operands.swapped else kind
    says, bounds = ARITHMETICS[graph.requantise], bounds_in(node.epilogue.before, y)
    a, b, result = (_affine(node, graph, name) for name in (operands.a, operands.b, node.output))
    if operands.by_channel:
        linear = says.by_value(kind, a, b, result, *bounds)
        if linear is not None or kind != "mul":
            return linear
    if kind == "mul":
        return says.product(a, b, result, *bounds)
    if kind == "sub_from":  # the first factor of a form is above 0
        made = says.pair(b, replace(a, scale=-a.scale), result, *bounds)
        return replace(made, by_a=made.by_b, by_b=made.by_a) if made else None
    return says.pair(a, replace(b, scale=-b.scale) if kind == "sub" else b, result, *bounds)


def suits(node: Node, graph: Graph, layout: Layout) -> bool:
    """Whether the kernel takes tensors so."""
    found = _kernel_of(node, graph)
    if found is None:
        return False
    operands, form = found
    if not operands.by_channel:
        alike = graph[operands.a].shape == graph[operands.b].shape
        return alike or graph[operands.b].is_constant or layout.order is not Order.BLOCKED
    if layout.order is Order.BLOCKED or (
        layout.order is not Order.ROW_MAJOR and operands.axis != 1
    ):
        return False
    return isinstance(form, ByValue) or _inner(operands, graph[node.output].shape, layout) == 1


def _inner(operands: Operands, shape: Shape, layout: Layout) -> int:
    """How many elements that lie side by side have one of ``b``."""
    assert operands.axis is not None
    last = layout.order is Order.CHANNELS_LAST
    return 1 if last else math.prod(shape[operands.axis + 1 :])


def lower(node: Node, graph: Graph, target: Target) -> Layer:
    """The kernel call of a node that has a form."""
    found, call = _kernel_of(node, graph), Call(node, graph, target)
    assert found is not None
    operands, form = found
    shape, layout = graph[node.output].shape, graph[node.output].layout
    lanes = target.lanes
    linear = isinstance(form, ByValue)
    room = -(-shape[operands.axis] // lanes) * lanes if operands.axis is not None else 0
    planar = operands.by_channel and _inner(operands, shape, layout) > 1
    workspace = 2 * room * _WORD_BYTES if linear and not planar else 0
    pointers: dict[str, str | Blob] = {"a": operands.a, "b": operands.b}
    stored = _stored(node, graph, operands.b) if graph[operands.b].is_constant else None
    if stored is not None:
        values, elements = stored[1], graph[node.output].elements
        pointers["b"] = Blob(
            "b", elements, lambda: layout.pack(values.astype(np.float32)), storage=INT8
        )
    if isinstance(form, ByValue):
        words = form.words
        pointers["words"] = Blob("words", _WORDS, lambda: words, dtype="int32")
    layer = kernel_layer(
        call,
        "int8_binary",
        "ops/int8_binary.c.j2",
        operands=pointers,
        params={
            **_numbers(form, node, graph, operands),
            "by_channel": operands.by_channel,
            "planar": planar,
            "elements": graph[node.output].elements,
            **_images(operands, graph, layout, room),
        },
        headers=(target.integers, "ec_int8_pair.h"),
        work=_work(form, call),
        aliases=in_place(
            node,
            graph,
            [
                name
                for name in dict.fromkeys((operands.a, operands.b))
                if not graph[name].is_constant
            ],
        ),
        workspace_bytes=workspace,
        epilogue=False,
    )
    tied = isinstance(form, PairSum) and form.ties
    return replace(in_integers(layer), scaling=TIES if tied else "")


def _images(operands: Operands, graph: Graph, layout: Layout, room: int) -> dict[str, Param]:
    """Images of pixels of channels, or of channels of pixels where these lie apart."""
    axis = operands.axis
    if axis is None:
        return {}
    b, shape = graph[operands.b].shape, graph[operands.a].shape
    inner = _inner(operands, shape, layout)
    images, pixels = math.prod(shape[:axis]), inner
    if (
        inner == 1
    ):  # all that lie in front of it are pixels but for images with numbers of their own
        images, pixels = (
            (shape[0], math.prod(shape) // (shape[0] * shape[axis])) if axis else (1, 1)
        )
    own = axis == 1 and len(b) == len(shape) and b[0] > 1
    sizes = {"images": images, "pixels": pixels, "channels": shape[axis], "room": room}
    return {**sizes, "b_image": shape[1] if own else 0}


def _numbers(form: Form, node: Node, graph: Graph, operands: Operands) -> dict[str, Param]:
    """The members of ec_int8_pair."""
    numbers: dict[str, Param] = {"right": form.right, "low": form.low, "high": form.high}
    own: dict[str, int] = {}  # what layers that are alike otherwise differ in
    if isinstance(form, PairSum):
        own |= {"by_a": form.by_a, "by_b": form.by_b, "offset": form.offset}
        numbers |= {"ties": form.ties}
    elif isinstance(form, Fixed | Twice):
        zeros = (_affine(node, graph, name).zero for name in (operands.a, operands.b))
        own |= dict(zip(("zero_a", "zero_b"), zeros, strict=True))
        numbers |= {"product": True}
        own |= {"offset": form.offset}
        start, multiplier, *shift = (int(each[0]) for each in form.words)
        own |= {"start": start, "multiplier": multiplier}
        numbers |= {"shift": shift[0]} if shift else {}
    return {**numbers, **{name: Whole(value) for name, value in own.items()}}


def _work(form: Form, call: Call) -> Work:
    slots = {PairSum: _PAIR_SUM, Fixed: _PRODUCT, Twice: _PRODUCT, ByValue: _LINEAR}[type(form)]
    cycles, elements = _LOOPS[type(form)].on(call.target, reals=False), call.output.elements
    return call.in_integers(cycles * elements, _CYCLES * elements, slots * call.out_vectors)
