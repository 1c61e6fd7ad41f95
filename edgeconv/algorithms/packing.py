"""Parts of weight packing that every convolution algorithm has."""

from __future__ import annotations

from collections.abc import Callable

import numpy as np
import numpy.typing as npt

from edgeconv.algorithms.problem import FLOAT32, filters_as
from edgeconv.ir.choice import Arg, ArgKind, Blob, Param
from edgeconv.ir.graph import Graph, Node
from edgeconv.storage import formats
from edgeconv.storage.base import StorageFormat
from edgeconv.storage.int8 import channel_scales, quantised

Floats = npt.NDArray[np.float32]


def pack_bias(bias: Floats | None, elements: int) -> Floats:
    """The bias (zero without one), padded with zeros to ``elements``."""
    padded = np.zeros(elements, np.float32)
    if bias is not None:
        padded[: bias.size] = bias
    return padded


def bias_blob(node: Node, graph: Graph, out_c: int, lanes: int) -> Blob:
    """The bias of a Conv or Dense node (its third input, if any) as whole vectors of ``lanes``,
    and behind it the units of the filters where they have any."""
    name = node.inputs[2] if len(node.inputs) > 2 else ""
    bias = graph[name].constant().astype(np.float32) if name else None
    elements, form = _padded(out_c, lanes), _format(node)
    if not form.scaled:
        return Blob("bias", elements, lambda: pack_bias(bias, elements))

    def pack() -> Floats:
        units = units_of(weights_of(node, graph), form)
        return np.concatenate([pack_bias(bias, elements), pack_bias(units, elements)])

    return Blob("bias", 2 * elements, pack)


def filters_blob(node: Node, graph: Graph, elements: int, pack: Callable[[Floats], Floats]) -> Blob:
    """The filters of a Conv or Dense node in its storage format; ``pack`` brings them in order."""
    form = _format(node)

    def packed() -> Floats:
        weights = weights_of(node, graph)
        units = units_of(weights, form)
        return pack(weights if units is None else quantised(weights, units))

    return Blob("filters", elements, packed, storage=form.name)


def storage_params(node: Node, out_c: int, lanes: int) -> dict[str, Param]:
    """What the template must know of filters that are not float32; nothing otherwise.

    ``filters_as``: the format as C names it; ``filter_bytes``; ``units``: floats from a channel's
    bias to its unit, 0 without units.
    """
    form = _format(node)
    if form.name == FLOAT32:
        return {}
    return {
        "filters_as": form.enumerator,
        "filter_bytes": form.element_bytes,
        "units": _padded(out_c, lanes) if form.scaled else 0,
    }


def weights_arg(node: Node) -> Arg:
    """The pointer to the filters."""
    c_type = "float" if filters_as(node) == FLOAT32 else "unsigned char"
    return Arg(ArgKind.WEIGHTS, "weights", "filters", c_type)


def units_of(weights: Floats, form: StorageFormat) -> Floats | None:
    """The unit of each filter (first axis); None where they are stored as they are."""
    return channel_scales(weights) if form.scaled else None


def rounded(weights: Floats, form: StorageFormat) -> Floats:
    """What the weights are once they have been stored."""
    units = units_of(weights, form)
    if units is None:
        return form.rounded(weights).astype(np.float32)
    stored = form.rounded(quantised(weights, units)).astype(np.float32)
    return stored * units.reshape(-1, *(1,) * (weights.ndim - 1))


def weights_of(node: Node, graph: Graph) -> Floats:
    """The filters of a Conv or Dense node (its second input) as float32.

    The attribute ``rounded`` names a format: then they are what storing them so would leave.
    """
    weights = graph[node.inputs[1]].constant().astype(np.float32, copy=False)
    kind = node.attrs.get("rounded")
    return rounded(weights, formats()[kind]) if kind else weights


def _format(node: Node) -> StorageFormat:
    return formats()[filters_as(node)]


def _padded(out_c: int, lanes: int) -> int:
    """Channels in whole vectors."""
    return -(-out_c // lanes) * lanes
