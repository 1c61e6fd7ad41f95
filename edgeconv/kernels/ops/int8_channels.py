"""An int8 tensor, or a sum or difference of two, over one number per channel, as int8 in integers.

What a quantiser writes behind a sum in front of a depthwise layer: one scale for each channel.  And
an int8 tensor and constants of one scale, a number per channel or one for all, of which TensorFlow
Lite makes sums, differences and products.
"""

from __future__ import annotations

import math
from dataclasses import dataclass, replace
from types import MappingProxyType

import numpy as np
import numpy.typing as npt

from edgeconv.ir.choice import Blob, Layer
from edgeconv.ir.graph import Graph, Node
from edgeconv.ir.layout import Layout, Order
from edgeconv.ir.quantisation import OF_SCALE
from edgeconv.ir.requantisation import EXACT
from edgeconv.ir.requantisation.channel_lines import tflite_with_constants
from edgeconv.ir.requantisation.channel_pairs import NOTHING, WORDS, ChannelPairs, channel_pairs
from edgeconv.ir.requantisation.pair import Affine
from edgeconv.kernels.algorithms.sums import bounds_in, rounds_to
from edgeconv.kernels.lowering.calls import in_place, kernel_layer
from edgeconv.kernels.lowering.integers import all_int8, in_integers
from edgeconv.kernels.lowering.loops import PerCore
from edgeconv.kernels.lowering.work import Call
from edgeconv.target.targets import Target

ALGORITHM = "int8_channels"
OVER = "over"  # attribute of a Binary add or sub: an `Over`; it has no kernel in float32
_SIGNS = MappingProxyType({"add": 1.0, "sub": -1.0})
# Slots of a vector and cycles of an element, as those of `int8_binary`, with words loaded.
_SLOTS = 11.0
_CYCLES = 16.0
_LOOP = PerCore(96, 49, 37)
_WORD_BYTES = 4


@dataclass(frozen=True, slots=True)
class Over:
    """What is divided by: float32 ``numbers``, one for each index of ``axis``.  ``positive``: what
    is below 0 is 0 first."""

    axis: int
    numbers: tuple[float, ...]
    positive: bool = False

    @staticmethod
    def of(name: str, out: str, graph: Graph) -> Over | None:
        """The operand of the constant ``name`` in front of the result ``out``; None of others,
        among them a single number."""
        constant, shape = graph[name].constant(), graph[out].shape
        numbers = constant.astype(np.float64)
        aligned = (1,) * (len(shape) - numbers.ndim) + numbers.shape
        axes = [axis for axis, size in enumerate(aligned) if size != 1]
        if len(aligned) != len(shape) or len(axes) != 1 or constant.dtype != np.float32:
            return None
        if aligned[axes[0]] != shape[axes[0]]:
            return None
        if not np.isfinite(numbers).all() or np.less_equal(numbers, 0).any():
            return None
        return Over(axes[0], tuple(map(float, numbers.reshape(-1))))


@dataclass(frozen=True, slots=True)
class Operands:
    """``a`` and, unless it is "", ``b``, both of the result's shape; ``sign`` of ``b``."""

    a: str
    b: str
    over: Over
    sign: float = 1.0

    @property
    def axis(self) -> int:
        """The dimension that the numbers are along."""
        return self.over.axis


def operands_of(node: Node, graph: Graph) -> Operands | None:
    """The operands of a Binary node; None of others."""
    shape, kind = graph[node.output].shape, node.attrs["kind"]
    a, b = node.inputs
    if OVER in node.attrs:
        same = graph[a].shape == graph[b].shape == shape
        return Operands(a, b, node.attrs[OVER], _SIGNS[kind]) if same else None
    if kind != "div" or not graph[b].is_constant or graph[a].is_constant:
        return None
    over = Over.of(b, node.output, graph)
    return Operands(a, "", over) if over and graph[a].shape == shape else None


@dataclass(frozen=True, slots=True)
class Constants:
    """A tensor ``a`` of the result's shape and constants, whole ``numbers`` of a ``scale``: one for
    each index of ``axis``, or one for all, then of the first axis.  ``kind``: as
    `tflite_with_constants` has it."""

    a: str
    kind: str
    axis: int
    numbers: tuple[int, ...]
    scale: float


def constants_of(node: Node, graph: Graph) -> Constants | None:
    """The operands of a Binary node; None of others."""
    kind, shape, scale = str(node.attrs["kind"]), graph[node.output].shape, node.attrs.get(OF_SCALE)
    first, second = node.inputs
    swapped = graph[first].is_constant
    a, name = (second, first) if swapped else (first, second)
    if scale is None or kind not in ("add", "sub", "mul") or not graph[name].is_constant:
        return None
    if graph[a].is_constant or graph[a].shape != shape or not shape:
        return None
    value = graph[name].constant().astype(np.float64)
    aligned = (1,) * (len(shape) - value.ndim) + value.shape
    axes = [axis for axis, size in enumerate(aligned) if size != 1]
    if len(axes) > 1:
        return None
    numbers = np.rint(value / scale).reshape(-1)
    kind = "sub_from" if kind == "sub" and swapped else kind
    return Constants(a, kind, axes[0] if axes else 0, tuple(map(int, numbers)), scale)


def form_of(node: Node, graph: Graph) -> ChannelPairs | None:
    """What the kernel computes, proven; None where it has none."""
    if not all_int8(node, graph) or not node.epilogue.is_only_before:
        return None
    if not rounds_to(node.epilogue.before, graph[node.output].storage):
        return None
    return (_over if graph.requantise == EXACT else _with_constants)(node, graph)


def _with_constants(node: Node, graph: Graph) -> ChannelPairs | None:
    operands, y = constants_of(node, graph), graph[node.output].storage
    if operands is None:
        return None
    a, bounds = Affine.of(graph[operands.a].storage), bounds_in(node.epilogue.before, y)
    of = operands.kind, a, operands.numbers, operands.scale
    return tflite_with_constants(*of, Affine.of(y), *bounds)


def _over(node: Node, graph: Graph) -> ChannelPairs | None:
    operands, y = operands_of(node, graph), graph[node.output].storage
    if operands is None:
        return None
    spacings = tuple(number * y.scale[0] for number in operands.over.numbers)  # exact
    a = Affine.of(graph[operands.a].storage)
    b = NOTHING
    if operands.b:
        b = Affine.of(graph[operands.b].storage)
        b = replace(b, scale=operands.sign * b.scale)
    low, high = bounds_in(node.epilogue.before, y)
    low = max(low, y.zero[0]) if operands.over.positive else low
    return channel_pairs(a, b, spacings, y.zero[0], low, max(low, high))


def suits(node: Node, graph: Graph, layout: Layout) -> bool:
    """Whether the kernel takes tensors so."""
    constants = constants_of(node, graph) if graph.requantise != EXACT else None
    if constants is not None and len(constants.numbers) == 1:
        return True
    operands = constants or operands_of(node, graph)
    last = layout.order is Order.CHANNELS_LAST
    return operands is not None and (operands.axis == 1 if last else layout.block == 1)


def lower(node: Node, graph: Graph, target: Target) -> Layer:
    """The kernel call of a node that has a form."""
    constants = constants_of(node, graph) if graph.requantise != EXACT else None
    operands = constants or operands_of(node, graph)
    form, call = form_of(node, graph), Call(node, graph, target)
    assert operands is not None, node.name
    assert form is not None, node.name
    out, b = graph[node.output], operands.b if isinstance(operands, Operands) else ""
    channels = form.offset.size
    room = -(-channels // target.lanes) * target.lanes
    last = out.layout.order is Order.CHANNELS_LAST
    inner = 1 if last else math.prod(out.shape[operands.axis + 1 :])
    if channels == 1:
        inner = out.elements

    def words() -> npt.NDArray[np.int32]:
        return np.pad(form.words, ((0, 0), (0, room - channels))).reshape(-1)

    cycles = _LOOP.on(target, reals=False) * out.elements
    layer = kernel_layer(
        call,
        ALGORITHM,
        "ops/int8_channels.c.j2",
        operands={
            "a": operands.a,
            **({"b": b} if b else {}),
            "words": Blob("words", WORDS * room, words, dtype="int32"),
        },
        params={
            "of_two": bool(b),
            "room": room,
            "low": form.low,
            "high": form.high,
            "sizes": (out.elements // (channels * inner), channels, inner),
        },
        headers=(target.integers, "ec_int8_channel_pairs.h"),
        work=call.in_integers(cycles, _CYCLES * out.elements, _SLOTS * call.out_vectors),
        aliases=in_place(node, graph, [each for each in (operands.a, b) if each]),
        epilogue=False,
    )
    return in_integers(layer)
