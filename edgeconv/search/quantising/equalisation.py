"""Channels of a result brought to like ranges, so that one grid serves them all.

Where y = f(W x + b) is read by V y alone and f(s z) = s f(z) for s > 0, channel i may be divided by
any s_i > 0: rows W_i / s_i and b_i / s_i, columns V_i s_i compute the same (Nagel et al.,
"Data-Free Quantization Through Weight Equalization and Bias Correction", 2019, equations 7 to 10).
Filters have a unit per output channel, so that the ranges of W's rows cost nothing; what counts are
the ranges of the channels of y, which share one grid, and those of V's columns, which share a unit
unless V is depthwise.  With r_i the range of channel i on samples and v_i that of the columns that
read it,

    s_i = (r_i / max r)^a / (v_i / max v)^(1 - a),

a between 1/2 and 1, as Xiao et al., "SmoothQuant" (2023), equation 4, share it between both; a
depthwise V has no v.

A Clip to [0, c] is kept as it is.  With s_i <= 1 it limits channel i at c s_i: exact for channels
that reach c, whose s_i is 1, and for others a quarter beyond what any sample has, as a grid does.
"""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, replace

import numpy as np
import numpy.typing as npt

from edgeconv.ir.activation import LARGEST, bounds
from edgeconv.ir.filters import WEIGHTED, Filters
from edgeconv.ir.graph import Graph, Node

Floats = npt.NDArray[np.float32]
Doubles = npt.NDArray[np.float64]
SHARES = (1.0, 0.75, 0.5)  # a of the module's text: those that are tried
_LEAST = 2.0**-6  # of a scale: what samples leave small may be larger elsewhere
_HEADROOM = 1.25  # of what a Clip leaves of a channel, over what samples have there
_CHANNEL_WISE = ("Pool", "Reshape")  # what may stand in between


@dataclass(frozen=True, slots=True)
class Pair:
    """Layers ``first`` and ``second``, and the ``tensors`` in between, each read once."""

    first: str
    second: str
    tensors: tuple[str, ...]


def pairs(graph: Graph) -> tuple[Pair, ...]:
    """All of ``graph``, in execution order.  Residuals and activations other than ReLU and Clip
    stand in nodes of their own (`unfused`)."""
    readers = graph.consumers()
    found = []
    for node in graph.nodes:
        if node.op not in WEIGHTED or not _scales(node):
            continue
        tensors = [node.output]
        while next_ := _sole(tensors[-1], graph, readers):
            if next_.op in WEIGHTED:
                if next_.inputs[0] == tensors[-1]:
                    found.append(Pair(node.name, next_.name, tuple(tensors)))
                break
            if not _keeps_channels(next_, graph):
                break
            tensors.append(next_.output)
    return tuple(found)


def _scales(node: Node) -> bool:
    """Whether what a layer does to its sums commutes with positive factors, or limits them."""
    epilogue = node.epilogue
    if epilogue.residual or epilogue.after.kind != "none":
        return False
    limits = bounds(epilogue.before)
    return epilogue.before.kind == "none" or (limits is not None and limits[0] == 0.0)


def _sole(name: str, graph: Graph, readers: Mapping[str, list[Node]]) -> Node | None:
    """The one reader of a tensor that nobody outside sees."""
    found = readers[name]
    return found[0] if len(found) == 1 and name not in graph.outputs else None


def _keeps_channels(node: Node, graph: Graph) -> bool:
    """Whether channels stay apart, and where they are."""
    if node.op not in _CHANNEL_WISE or not node.epilogue.is_empty:
        return False
    before, after = graph[node.inputs[0]].shape, graph[node.output].shape
    return before[:2] == after[:2]


def scales(first: Node, own: Doubles, second: Node, reading: Filters, share: float) -> Doubles:
    """s of the module's text, (channels,), at most 1.  ``own``: ranges of the channels;
    ``share``: a."""
    columns = _columns(second, reading.weights, len(own))
    high = (bounds(first.epilogue.before) or (0.0, LARGEST))[1]
    limited = high < LARGEST
    most = high if limited else own.max(initial=0.0)
    alive = (own > 0) & (columns > 0)
    if not alive.any():
        return np.ones_like(own)
    relative = np.where(alive, own / max(most, 1e-30), 1.0)
    wide = np.where(alive, columns / columns.max(), 1.0)
    if second.op == "Conv" and reading.weights.shape[1] == 1:  # a channel, a row, a unit
        wide = np.ones_like(wide)
    found = relative**share / wide ** (1.0 - share)
    found /= found[alive].max()
    if limited:
        found = np.maximum(found, np.minimum(_HEADROOM * relative, 1.0))
    by: Doubles = np.where(alive, np.clip(found, _LEAST, 1.0), 1.0)
    return by


def scaled(one: Filters, other: Filters, by: Doubles, second: Node) -> tuple[Filters, Filters]:
    """The filters of both layers with the channels between divided by ``by``."""
    assert one.bias is not None
    down = (1 / by).astype(np.float32)
    rows = one.weights * down.reshape(-1, *(1,) * (one.weights.ndim - 1))
    return (
        replace(one, weights=rows, bias=one.bias * down),
        replace(other, weights=_with_columns(second, other.weights, by.astype(np.float32))),
    )


def _columns(node: Node, weights: Floats, channels: int) -> Doubles:
    """The largest magnitude of the weights that read each channel."""
    groups = int(node.attrs.get("groups", 1))
    cut = np.abs(weights).reshape(groups, len(weights) // groups, channels // groups, -1)
    largest: Doubles = cut.max(axis=(1, 3)).reshape(-1).astype(np.float64)
    return largest


def _with_columns(node: Node, weights: Floats, by: Floats) -> Floats:
    groups = int(node.attrs.get("groups", 1))
    cut = weights.reshape(groups, len(weights) // groups, len(by) // groups, -1)
    made: Floats = (cut * by.reshape(groups, 1, -1, 1)).reshape(weights.shape)
    return made
