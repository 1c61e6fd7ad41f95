"""AVERAGE_POOL_2D of eight bits, whose sums of integers TensorFlow Lite divides with halves away
from 0.

Both kernels that LiteRT has of it do, the reference one and XNNPACK's, where a file's real numbers
would be rounded to even: of an even number of elements many results are halves.
"""

from __future__ import annotations

from dataclasses import replace

from edgeconv.ir.graph import Graph, Node
from edgeconv.ir.grids import moves
from edgeconv.ir.loop import with_bodies
from edgeconv.ir.quantisation import AWAY, integers_of


def halves_away(graph: Graph) -> Graph:
    """``graph``, as a .tflite file is read, its averages of eight bits marked: attribute `AWAY`."""
    writers, readers = graph.producers(), graph.consumers()

    def marked(node: Node) -> Node:
        if node.op != "Pool" or node.attrs["mode"] != "average":
            return node
        source, result = writers.get(node.inputs[0]), node
        while source is not None and moves(source):
            source = writers.get(source.inputs[0])
        while result.op != "Quantise":
            behind = readers[result.output]
            if len(behind) != 1 or not (moves(behind[0]) or behind[0].op in ("Quantise", "Unary")):
                return node
            (result,) = behind
        if source is None or source.op != "Dequantise":
            return node
        x, y = integers_of(source), integers_of(result)
        alike = x.is_per_tensor and (x.scale, x.zero, x.low) == (y.scale, y.zero, y.low)
        if not alike or x.bits > 8:  # of int16 none is followed
            return node
        return replace(node, attrs={**node.attrs, AWAY: x.zero[0]})

    return with_bodies(replace(graph, nodes=tuple(map(marked, graph.nodes))), halves_away)
