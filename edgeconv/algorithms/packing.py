"""Parts of weight packing that every convolution algorithm has."""

from __future__ import annotations

import numpy as np
import numpy.typing as npt

from edgeconv.ir.choice import Blob
from edgeconv.ir.graph import Graph, Node


def pack_bias(bias: npt.NDArray[np.float32] | None, elements: int) -> npt.NDArray[np.float32]:
    """The bias (zero without one), padded with zeros to ``elements``."""
    padded = np.zeros(elements, np.float32)
    if bias is not None:
        padded[: bias.size] = bias
    return padded


def bias_blob(node: Node, graph: Graph, out_c: int, lanes: int) -> Blob:
    """The bias of a Conv or Dense node (its third input, if any) as whole vectors of ``lanes``."""
    name = node.inputs[2] if len(node.inputs) > 2 else ""
    bias = graph[name].constant().astype(np.float32) if name else None
    elements = -(-out_c // lanes) * lanes
    return Blob("bias", elements, lambda: pack_bias(bias, elements))


def weights_of(node: Node, graph: Graph) -> npt.NDArray[np.float32]:
    """The filters of a Conv or Dense node (its second input) as float32."""
    return graph[node.inputs[1]].constant().astype(np.float32, copy=False)
