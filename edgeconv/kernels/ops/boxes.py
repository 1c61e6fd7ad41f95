"""NonMaxSuppression: of boxes that overlap those with the best scores.

There is room for as many rows as the model states, or as there may be; those behind what is found
are zeros.  ``with_count``: the result is one vector of these rows and, last, how many were found.
"""

from __future__ import annotations

from collections.abc import Sequence

from edgeconv.ir.choice import Layer, Param
from edgeconv.ir.graph import Graph, Node
from edgeconv.kernels.lowering.calls import FLOAT_BYTES, kernel_layer
from edgeconv.kernels.lowering.options import Stored
from edgeconv.kernels.lowering.work import Call
from edgeconv.kernels.ops.base import ImportContext, Operator, Source
from edgeconv.kernels.ops.importing import flag, make_node, optional_input
from edgeconv.target.targets import Target

_POINTERS = ("boxes", "scores", "most", "limit", "least")
_FILLED = "filled"  # how many boxes there are
_NUMBERS = 5  # of a box that is kept: corners and area
_SLOTS = 3  # of a pair of boxes, by counting in the kernel, 16 at once


def _import(source: Source, ctx: ImportContext) -> Sequence[Node]:
    names = [optional_input(source, index) for index in range(len(_POINTERS))]
    boxes, scores = (ctx.tensor(name).shape for name in names[:2])
    if len(boxes) != 3 or boxes[2] != 4 or len(scores) != 3 or scores[::2] != boxes[:2]:
        got = f"boxes {list(boxes)}, scores {list(scores)}"
        rule = "boxes are [batches, count, 4], scores [batches, classes, count]"
        raise ctx.reject(source, got, rule)
    for name in filter(None, names[2:]):
        if ctx.tensor(name).size != 1:
            got = f"{name} {list(ctx.tensor(name).shape)}"
            raise ctx.reject(source, got, "it is one number")
    centred = flag(source, ctx, "center_point_box")
    return [make_node(source, "NonMaxSuppression", names, centred=centred)]


def lower(node: Node, graph: Graph, target: Target) -> Layer:
    """Each class by itself; the best that is left is taken until there are enough."""
    batches, classes, count = graph[node.inputs[1]].shape
    call, with_count = Call(node, graph, target), bool(node.attrs.get("with_count", False))
    rows = graph[node.output].size // 3
    pointers = (*_POINTERS, _FILLED)
    given = {pointer: name for pointer, name in zip(pointers, node.inputs, strict=False) if name}
    params: dict[str, Param] = {
        "batches": batches,
        "classes": classes,
        "count": count,
        "rows": rows,
        "centred": int(node.attrs["centred"]),
        "with_count": with_count,
        **{f"has_{pointer}": pointer in given for pointer in pointers[2:]},
    }
    return kernel_layer(
        call,
        "suppression",
        "ops/boxes.c.j2",
        operands=given,
        params=params,
        headers=("ec_boxes.h",),
        work=call.streams(float(_SLOTS * rows * (rows + count))),
        workspace_bytes=(count + _NUMBERS * rows) * FLOAT_BYTES,
        epilogue=False,
    )


OPERATOR = Operator(
    name="NonMaxSuppression",
    onnx={"NonMaxSuppression": _import},
    typed={"NonMaxSuppression": _import},
    lower=lower,
    stored=Stored.NOTHING,
)
