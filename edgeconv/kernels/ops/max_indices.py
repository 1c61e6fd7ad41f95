"""Where MaxPool finds the largest elements."""

from __future__ import annotations

import itertools
import math
from collections.abc import Sequence

import numpy as np

from edgeconv.ir.graph import Epilogue, Node
from edgeconv.ir.layout import Shape
from edgeconv.kernels.ops.formula import Formula, Term
from edgeconv.kernels.ops.importing import Window
from edgeconv.kernels.ops.pad import padded


def largest_at(
    formula: Formula, x: Term, window: Window, out: Shape, *, columns_first: bool
) -> Sequence[Node]:
    """The nodes that make the index of each largest element in all of ``x``, as the source's second
    output; ``columns_first``: indices count as if the first spatial dimension were the last.

    The taps of the windows are slices side by side, the first largest of which is taken.
    """
    count = math.prod(out[2:])
    n, c, *size = x.shape
    places = np.arange(math.prod(size)).reshape(size, order="F" if columns_first else "C")
    reach = [
        (count_ - 1) * stride + span - have - begin
        for count_, stride, span, have, begin in zip(
            out[2:], window.strides, window.spans, size, window.begins, strict=True
        )
    ]
    ends = [max(0, each) for each in reach]
    pads = (0, 0, *window.begins, 0, 0, *ends)
    wide = padded(x, pads, "constant", -math.inf) if any(pads) else x
    numbers = np.pad(places, [*zip(window.begins, ends, strict=True)])
    taps, table = [], []
    for position in itertools.product(*map(range, window.kernel)):
        begins = [p * d for p, d in zip(position, window.dilations, strict=True)]
        cut = tuple(
            slice(b, b + (m - 1) * s + 1, s)
            for b, m, s in zip(begins, out[2:], window.strides, strict=True)
        )
        tap = formula.add(
            "Slice",
            (wide,),
            (n, c, *out[2:]),
            "tap",
            starts=(0, 0, *begins),
            steps=(1, 1, *window.strides),
        )
        taps.append(tap.reshape(n, c, 1, count))
        table.append(numbers[cut].reshape(-1))
    side = (n, c, len(taps), count)
    joined = formula.add("Concat", taps, side, "taps", axis=2) if len(taps) > 1 else taps[0]
    attrs, shape = {"axis": 2, "function": "greater"}, (n, c, 1, count)
    first = formula.add("First", (joined,), shape, "first", Epilogue(), "int64", **attrs)
    planes = np.arange(n * c).reshape(n, c, 1, 1) * places.size
    given = formula.typed_constant(planes + np.stack(table), "places")
    found = formula.add("GatherElements", (given, first), shape, "indices", axis=2)
    output = formula.source.outputs[1]
    formula.nodes.append(
        Node(f"{formula.source.name}/Indices", "Reshape", (found.name,), (output,))
    )
    return formula.nodes
