"""Kernel calls that look results up in a table of 256."""

from __future__ import annotations

from edgeconv.ir.choice import Layer, Number
from edgeconv.ir.encoding import Encoding
from edgeconv.ir.work import Work
from edgeconv.kernels.lowering.calls import in_place, kernel_layer
from edgeconv.kernels.lowering.integers import in_integers
from edgeconv.kernels.lowering.tables import Bytes, bytes_blob, floats_blob
from edgeconv.kernels.lowering.work import Call
from edgeconv.target.targets import DSP, DUAL_ISSUE, THUMB_1, Target

_INDEX = 6.0  # slots of a vector: its loads, the numbers of steps and their bounds
_ELEMENT = 4.0  # and of each of its lanes, which is looked up alone

_WORD = 4  # bytes that a core without vectors takes at once, at most
# Cycles of a byte that is loaded, looked up and stored, a quarter of the loop's end among them.
# Sources: those of `kernels.algorithms.integer.cycles`; the loop in C counted as it is.
_SINGLE, _DUAL, _OTHER, _NARROW = 4.75, 3.0, 6.0, 7.7


def lookups(elements: int, target: Target) -> Work:
    """The work of looking up so many bytes."""
    row = target.byte_vectors
    vectors = elements / row.count
    if row.count <= _WORD:
        cycles = _OTHER if DSP not in target.features else _SINGLE
        cycles = _NARROW if THUMB_1 in target.features else cycles
        cycles = _DUAL if DUAL_ISSUE in target.features else cycles
        return Work(0.0, cycles * elements, 0.0, 2.0 * elements)
    moves = 2 * vectors if target.single_issue else 0.0
    return Work(row.lookup * vectors, moves, 0.0, 2.0 * elements)


def looked_up(call: Call, table: Bytes) -> Layer:
    """The kernel call of int8 to int8, element by element in memory, whatever the layout."""
    node, graph = call.node, call.graph
    layer = kernel_layer(
        call,
        "table",
        "ops/table.c.j2",
        operands={"table": bytes_blob("table", table), "in": node.inputs[0]},
        params={"elements": graph[node.output].elements},
        headers=(call.target.byte_vectors.header, "ec_int8_table.h"),
        work=lookups(graph[node.output].elements, call.target),
        aliases=in_place(node, graph, node.inputs[:1]),
        epilogue=False,
    )
    return in_integers(layer)


def looked_up_as_floats(call: Call, table: Bytes, x: Encoding, y: Encoding) -> Layer:
    """The kernel call of tensors that memory holds in any format, whose numbers are those of ``x``,
    to those of ``y``."""
    node, graph = call.node, call.graph
    vectors, lanes = call.out_vectors, call.target.lanes
    return kernel_layer(
        call,
        "table_of_floats",
        "ops/table_of_floats.c.j2",
        operands={"table": floats_blob("table", table, y), "in": node.inputs[0]},
        params={
            "elements": graph[node.output].elements,
            "inverse": Number(1.0 / x.scale[0]),
            "zero": Number(float(x.zero[0])),
        },
        headers=("ec_lanes.h", "ec_table.h"),
        work=call.streams(vectors * (_INDEX + _ELEMENT * lanes)),
        aliases=in_place(node, graph, node.inputs[:1]),
        epilogue=False,
    )
