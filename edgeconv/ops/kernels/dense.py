"""Dense (fully connected) layers: a pointwise convolution over rows that are channels-last."""

from __future__ import annotations

import math
from dataclasses import replace

from edgeconv.algorithms.direct.candidate import candidates
from edgeconv.algorithms.direct.lower import lower as lower_direct
from edgeconv.algorithms.problem import ConvProblem, Finish, filters_as
from edgeconv.ir.choice import Layer
from edgeconv.ir.graph import Graph, Node
from edgeconv.ir.layout import CHANNELS_LAST
from edgeconv.targets import Target


def lower(node: Node, graph: Graph, target: Target) -> Layer:
    """y[m, n] = sum_k x[m, k] w[n, k] + b[n]: the rows m are pixels, k and n channels."""
    x, w = graph[node.inputs[0]], graph[node.inputs[1]]
    rows = (1, 1, math.prod(x.shape[:-1]))
    problem = ConvProblem(
        batch=1,
        in_c=w.shape[1],
        out_c=w.shape[0],
        groups=1,
        in_size=rows,
        out_size=rows,
        kernel=(1, 1, 1),
        strides=(1, 1, 1),
        dilations=(1, 1, 1),
        pads=(0, 0, 0),
        in_layout=CHANNELS_LAST,
        out_layout=CHANNELS_LAST,
        filters_as=filters_as(node),
        in_as=x.storage,
        out_as=graph[node.output].storage,
        finish=Finish.of(node, graph),
    )
    (candidate,) = candidates(problem, target)
    # What it moves is taken to be every operand once, as for all that is no convolution.
    dense = replace(candidate, algorithm="dense", crossings=tuple)
    return lower_direct(dense, node, graph, target)
