"""What a tensor is quantised by at run time: `search.choose.run_time_ranges` makes these of what
DynamicQuantizeLinear is spelt out as.

DynamicRange: input x, output the smallest and the largest of its elements, 0 among them;
``positive``: none is below 0.  DynamicScale: of such a range (low, high) the scale of 256 integers,
1 where both are 0.  DynamicZero: inputs range and scale; the integer that 0 is.
"""

from __future__ import annotations

from collections.abc import Sequence

from edgeconv.ir.choice import Layer
from edgeconv.ir.encoding import FLOAT32
from edgeconv.ir.graph import Graph, Node
from edgeconv.ir.layout import ROW_MAJOR
from edgeconv.ir.ranges import RANGE, SCALE, ZERO
from edgeconv.ir.work import Work
from edgeconv.kernels.lowering.calls import kernel_layer
from edgeconv.kernels.lowering.images import layouts_of, padding
from edgeconv.kernels.lowering.loops import range_cycles
from edgeconv.kernels.lowering.options import LayoutOption, Stored, row_major_only
from edgeconv.kernels.lowering.work import Call
from edgeconv.kernels.ops.base import Operator
from edgeconv.target.targets import Target


def _range_layouts(node: Node, graph: Graph, target: Target) -> Sequence[LayoutOption]:
    """Any without padding, whose elements may be anything."""
    shape = graph[node.inputs[0]].shape
    whole = (layout for layout in layouts_of(shape, target) if not padding(shape, layout))
    return [LayoutOption((layout,), (ROW_MAJOR,)) for layout in whole]


def _lower_range(node: Node, graph: Graph, target: Target) -> Layer:
    """One flat loop over memory."""
    call, x = Call(node, graph, target), graph[node.inputs[0]]
    positive = bool(node.attrs["positive"])
    work = call.streams((1 if positive else 2) * call.in_vectors)
    if target.is_scalar:
        cycles = range_cycles(target, positive=positive)
        work = Work(work.decoding, cycles * x.elements, 0.0, work.data_bytes, work.decoding)
    return kernel_layer(
        call,
        "dynamic_range",
        "ops/dynamic_range.c.j2",
        operands={"x": node.inputs[0]},
        params={
            "elements": x.elements,
            "positive": positive,
            "by_bits": target.is_scalar and x.storage == FLOAT32,
        },
        headers=("ec_lanes.h", "ec_activation.h", "ec_dynamic_range.h"),
        work=work,
        epilogue=False,
    )


def _lower_number(node: Node, graph: Graph, target: Target) -> Layer:
    """One number of a range."""
    call = Call(node, graph, target)
    pointers = ("range", "scale")[: len(node.inputs)]
    kernel = {SCALE: "dynamic_scale", ZERO: "dynamic_zero"}[node.op]
    return kernel_layer(
        call,
        kernel,
        f"ops/{kernel}.c.j2",
        operands=dict(zip(pointers, node.inputs, strict=True)),
        params={},
        headers=("ec_lanes.h", "ec_activation.h", "ec_dynamic_range.h"),
        work=call.elementwise("div"),
        epilogue=False,
    )


OPERATOR = (
    Operator(name=RANGE, lower=_lower_range, layouts=_range_layouts, stored=Stored.READS),
    Operator(name=SCALE, lower=_lower_number, layouts=row_major_only, stored=Stored.NOTHING),
    Operator(name=ZERO, lower=_lower_number, layouts=row_major_only, stored=Stored.WRITES),
)
