"""Pools of whole rows before those along the stream: what is kept of a row is one number a channel.

An average of H x W pixels is one of H averages of W.  Of integers the inner one is the sum of W of
them, in 16 bits, and nothing is rounded before the last average.
"""

from __future__ import annotations

import math
from collections.abc import Mapping
from dataclasses import replace

import numpy as np

from edgeconv.ir.activation import grid
from edgeconv.ir.edit import Editor
from edgeconv.ir.encoding import INT8, INT16, Encoding
from edgeconv.ir.graph import Epilogue, Graph, Node
from edgeconv.ir.grids import encodings_of
from edgeconv.ir.quantisation import AWAY
from edgeconv.ir.requantisation import EXACT
from edgeconv.model.sliding.demand import Needs


def with_row_pools(graph: Graph, needs: Mapping[str, Needs]) -> Graph:
    """``graph`` with two pools for one where less is kept so, of rows of the stream."""
    encodings, editor = encodings_of(graph), Editor(graph)
    for position in list(editor):
        node = editor.node(position)
        if node.op == "Pool" and node.inputs[0] in needs:
            found = needs[node.inputs[0]]
            if found.track.axis >= 2 and len(found.inner) > len(found.fresh):
                _split(position, found.track.axis, encodings, editor)
    return editor.finish()


def _split(position: int, axis: int, encodings: Mapping[str, Encoding], editor: Editor) -> None:
    node, (name, *_) = editor.node(position), editor.node(position).inputs
    epilogue = _sums(node, axis, encodings.get(name), editor)
    if epilogue is None:
        return
    kernel, rank, d = node.attrs["kernel"], len(node.attrs["kernel"]), axis - 2
    along = [i == d for i in range(rank)]
    inner, outer = (
        {
            **node.attrs,
            **{
                entry: tuple(
                    value if own == outside else 1
                    for value, own in zip(node.attrs[entry], along, strict=True)
                )
                for entry in ("kernel", "strides", "dilations")
            },
        }
        for outside in (False, True)
    )
    before, after = editor.shape(name), editor.shape(node.output)
    shape = tuple(before[i] if i == axis else size for i, size in enumerate(after))
    if math.prod(kernel) == kernel[d] or math.prod(shape) >= math.prod(before):
        return
    single = zip(inner["strides"], after[2:], strict=True)
    inner["strides"] = tuple(stride if size > 1 else 1 for stride, size in single)
    rows = editor.add_tensor(f"{node.output}.rows", shape, editor.tensors[name])
    first = Node(
        editor.fresh_node(f"{node.name}.rows"),
        "Pool",
        (name,),
        (rows,),
        inner,
        epilogue,
        node.origin,
    )
    editor.insert(position, first)
    editor.replace(position, replace(node, inputs=(rows,), attrs=outer))


def _sums(node: Node, axis: int, encoding: Encoding | None, editor: Editor) -> Epilogue | None:
    """What ends the pool of a row: nothing, or the grid of the sums; None where two pools might
    give other numbers than one, or keep no less."""
    attrs, before, after = node.attrs, editor.shape(node.inputs[0]), editor.shape(node.output)
    if any(attrs["pads"]) or AWAY in attrs or attrs.get("mean"):
        return None
    if attrs["mode"] == "max" or encoding is None:
        return Epilogue()
    count = math.prod(attrs["kernel"])
    width = count // attrs["kernel"][axis - 2]
    low, high = (width * (end - encoding.zero[0]) for end in (encoding.low, encoding.high))
    fits = encoding.bits == INT8.bits and INT16.low <= low and high <= INT16.high
    # The middle between two steps is hit where the count is even only: there a spacing that float32
    # rounds, one that is no power of 2 of the other, would take it to one side.
    exact = count % 2 or width & (width - 1) == 0
    smaller = 2 * math.prod(after) * before[axis] < math.prod(before) * after[axis]
    if not (fits and exact and smaller and editor.graph.requantise == EXACT):
        return None
    spacing = float(np.float32(encoding.scale[0] / width))
    return Epilogue(before=grid(spacing, float(low), float(high)))
