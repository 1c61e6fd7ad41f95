"""Softmax of int16 as int16, in TensorFlow Lite's arithmetic: two tables of 513 points."""

from __future__ import annotations

from collections.abc import Sequence

import numpy as np

from edgeconv.ir.choice import Blob, Layer
from edgeconv.ir.encoding import INT16
from edgeconv.ir.graph import Graph, Node
from edgeconv.ir.layout import ROW_MAJOR
from edgeconv.ir.requantisation import TFLITE
from edgeconv.ir.requantisation.exact import Integers
from edgeconv.ir.requantisation.tflite_short_softmax import (
    MOST,
    ShortSoftmax,
    power_points,
    reciprocal_points,
    short_softmax,
)
from edgeconv.kernels.algorithms.sums import bounds_in, rounds_to
from edgeconv.kernels.lowering.calls import in_place, kernel_layer
from edgeconv.kernels.lowering.integers import in_int16
from edgeconv.kernels.lowering.loops import PerCore
from edgeconv.kernels.lowering.options import LayoutOption
from edgeconv.kernels.lowering.work import Call
from edgeconv.kernels.ops import int8_softmax
from edgeconv.target.targets import Target

# Instructions of an element and of a row on a Cortex-M4, counted, and cycles as `PerCore` has them.
_SLOTS, _ROW_SLOTS = 45.0, 60.0
_ELEMENT, _ROW = PerCore(190, 55, 45), PerCore(150, 90, 60)
_HEADERS = ("ec_int16_doubled.h", "ec_int16_doubled_pairs.h", "ec_int16_softmax.h")


def form_of(node: Node, graph: Graph) -> ShortSoftmax | None:
    """What the kernel computes of int16; None where it has none."""
    x, y, before = graph[node.inputs[0]], graph[node.output], node.epilogue.before
    whole = all(each.storage.element == INT16 for each in (x, y)) and not x.is_constant
    if graph.requantise != TFLITE or node.attrs.get("log") or not whole:
        return None
    if not node.epilogue.is_only_before or not rounds_to(before, y.storage):
        return None
    if y.shape[node.attrs["axis"]] > MOST or not x.storage.is_per_tensor:
        return None
    return short_softmax(x.storage, y.storage, *bounds_in(before, y.storage))


def layouts(node: Node, graph: Graph) -> Sequence[LayoutOption]:
    """Row-major."""
    whole = form_of(node, graph) is not None
    return [LayoutOption((ROW_MAJOR,), (ROW_MAJOR,))] if whole else ()


def lower(form: ShortSoftmax, node: Node, graph: Graph, target: Target) -> Layer:
    """The kernel call of a node that has this form."""
    call, name = Call(node, graph, target), node.inputs[0]
    outer, n, inner = int8_softmax.loops(node, graph, ROW_MAJOR)
    count = _SLOTS * call.output.elements + _ROW_SLOTS * outer * inner
    cycles = (
        _ELEMENT.on(target, reals=False) * call.output.elements
        + _ROW.on(target, reals=False) * outer * inner
    )
    layer = kernel_layer(
        call,
        "int16_softmax",
        "ops/int16_softmax.c.j2",
        operands={
            "powers": _blob("powers", power_points()),
            "reciprocals": _blob("reciprocals", reciprocal_points()),
            "x": name,
        },
        params={
            "outer": outer,
            "n": n,
            "inner": inner,
            "factor": (form.multiplier, form.right),
        },
        headers=_HEADERS,
        work=call.in_integers(cycles, 2 * count, count),
        aliases=in_place(node, graph, (name,)),
        epilogue=False,
    )
    return in_int16(layer)


def _blob(name: str, points: Integers) -> Blob:
    return Blob(name, points.size, lambda: points.astype(np.uint16), dtype="uint16")
