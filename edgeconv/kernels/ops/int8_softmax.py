"""Softmax of int8 as int8, or as the float32 that a network ends in: powers by a table."""

from __future__ import annotations

import math
from collections.abc import Sequence

import numpy as np

from edgeconv.ir.choice import Blob, Layer
from edgeconv.ir.encoding import FLOAT32
from edgeconv.ir.graph import Graph, Node
from edgeconv.ir.layout import CHANNELS_LAST, ROW_MAJOR, Layout
from edgeconv.ir.requantisation import ARITHMETICS, EXACT
from edgeconv.ir.requantisation.pair import Affine
from edgeconv.ir.requantisation.softmax import Softmax
from edgeconv.ir.requantisation.tflite_softmax import TfliteSoftmax
from edgeconv.ir.work import Work
from edgeconv.kernels.algorithms.sums import bounds_in, rounds_to
from edgeconv.kernels.lowering.calls import in_place, kernel_layer
from edgeconv.kernels.lowering.integers import in_integers, is_int8
from edgeconv.kernels.lowering.loops import PerCore
from edgeconv.kernels.lowering.options import LayoutOption
from edgeconv.kernels.lowering.tables import RESULTS
from edgeconv.kernels.lowering.work import Call
from edgeconv.target.targets import Target

# By counting in the kernel: of an element, compared, looked up twice and scaled, and of a row.
_ELEMENT, _ROW = 10.0, 120.0
# Cycles of a core without vectors, as `PerCore` has them: of an element and of a row, of integers
# and where results are float32.
_WHOLE = PerCore(153, 63, 46), PerCore(750, 175, 120)
_REALS = PerCore(760, 63, 46), PerCore(1500, 175, 120)
_MOST = 4095  # elements of a row whose powers add up in 32 bits with 19 behind the point
_NUMBERS = ("inverse", "right", "zero", "low", "high")  # of a form and of ec_int8_softmax


def applies(node: Node, graph: Graph) -> bool:
    """Whether a Softmax is one of int8, to int8 that it is rounded to, or to float32 as it is."""
    x, y = graph[node.inputs[0]], graph[node.output]
    if node.attrs.get("log") or graph[node.inputs[0]].is_constant or not is_int8(x.storage):
        return False
    if y.storage == FLOAT32:
        return y.dtype == "float32" and node.epilogue.is_empty
    return is_int8(y.storage) and form_of(node, graph) is not None


def form_of(node: Node, graph: Graph) -> Softmax | TfliteSoftmax | None:
    """What the kernel computes of int8; None where it has none."""
    x, y = graph[node.inputs[0]].storage, graph[node.output].storage
    if not node.epilogue.is_only_before or not rounds_to(node.epilogue.before, y):
        return None
    if graph.requantise != EXACT and graph[node.output].shape[node.attrs["axis"]] > _MOST:
        return None
    low, high = bounds_in(node.epilogue.before, y)
    of_x, of_y = map(Affine.of, (x, y))
    return ARITHMETICS[graph.requantise].softmax(of_x, of_y, low, high)


def layouts(node: Node, graph: Graph) -> Sequence[LayoutOption]:
    """Row-major; over channels also with these side by side."""
    if not applies(node, graph):
        return ()
    over_channels = node.attrs["axis"] == 1 and len(graph[node.output].shape) > 2
    offered = (CHANNELS_LAST, ROW_MAJOR) if over_channels else (ROW_MAJOR,)
    return [LayoutOption((layout,), (layout,)) for layout in offered]


def lower(node: Node, graph: Graph, target: Target) -> Layer:
    """The kernel call of a node that it applies to."""
    call, name = Call(node, graph, target), node.inputs[0]
    outer, n, inner = loops(node, graph, graph[node.output].layout)
    numbers, powers = _reals(node, graph)
    kernel, headers = "reals", ["ec_int8_softmax.h"]
    if graph[node.output].storage != FLOAT32:
        form = form_of(node, graph)
        assert form is not None
        words = np.array(form.powers, np.int32)
        powers = Blob("powers", len(words), lambda: words, dtype="int32")
        numbers = {"last": len(words) - 1}
        if isinstance(form, Softmax):
            kernel = "bytes"
            numbers |= {key: getattr(form, key) for key in _NUMBERS}
        else:
            kernel, headers = "twice", [*headers, "ec_int8_softmax_twice.h"]
    layer = kernel_layer(
        call,
        "int8_softmax",
        "ops/int8_softmax.c.j2",
        operands={"powers": powers, "x": name},
        params={
            "kernel_function": kernel,
            "outer": outer,
            "n": n,
            "inner": inner,
            **dict.fromkeys(_NUMBERS, 0),
            **numbers,
        },
        headers=headers,
        work=_work(call, outer * inner),
        aliases=in_place(node, graph, (name,)),
        epilogue=False,
    )
    return in_integers(layer)


def _reals(node: Node, graph: Graph) -> tuple[dict[str, int], Blob]:
    """The last difference and the powers as float32."""
    powers = np.exp(-graph[node.inputs[0]].storage.scale[0] * np.arange(RESULTS))
    exact = powers.astype(np.float32)
    return {"last": RESULTS - 1}, Blob("powers", RESULTS, lambda: exact)


def loops(node: Node, graph: Graph, layout: Layout) -> tuple[int, int, int]:
    """Rows, elements of a row and how far apart these lie."""
    shape, axis = graph[node.output].shape, int(node.attrs["axis"])
    if layout == CHANNELS_LAST:
        return math.prod(shape) // shape[axis], shape[axis], 1
    return math.prod(shape[:axis]), shape[axis], math.prod(shape[axis + 1 :])


def _work(call: Call, rows: int) -> Work:
    count = _ELEMENT * call.output.elements + _ROW * rows
    whole = call.output.storage != FLOAT32
    loops = _WHOLE if whole else _REALS
    element, row = (each.on(call.target, reals=not whole) for each in loops)
    return call.in_integers(element * call.output.elements + row * rows, 2 * count, count)
