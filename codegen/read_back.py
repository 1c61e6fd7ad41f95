"""The filters and biases that a weight image holds, as the network computes with them.

`verify` compares a program whose weights were rounded with the same network in float32: the
rounded weights are read from the image that is shipped, however they came about.
"""

from __future__ import annotations

from collections.abc import Sequence

import numpy as np
import numpy.typing as npt

from edgeconv.codegen.weights import HEADER, Header, PlacedBlob, defect_of, layout
from edgeconv.ir.candidate import EXACTLY, HALF
from edgeconv.ir.choice import Blob, Choice, Layer
from edgeconv.ir.encoding import FLOAT32
from edgeconv.ir.filters import DYNAMIC, RECURRENT, WEIGHTED, Filters
from edgeconv.kernels.algorithms.widening import is_asymmetric
from edgeconv.kernels.storage import format_of

Bytes = npt.NDArray[np.uint8]
Floats = npt.NDArray[np.float32]
# Positions pass through `Blob.arrange` as float32, which holds integers up to 2^24: in two halves.
_HALF = 1 << 12
_OWN = ("channels", "addends")  # blobs whose words are proven


def read_back(choice: Choice, order: Sequence[int], image: Bytes) -> dict[str, Filters]:
    """Layer's name -> its constants, of layers whose filters are stored in other formats; their
    ``storage`` is float32, since that is what they are now.

    ``choice`` and ``order`` are the decisions the image was written for.  Raises ForeignImageError
    when it was written for other ones, or is damaged.
    """
    places = layout(choice, order)
    if image.nbytes != places.bytes or defect_of(image.data):
        raise ForeignImageError
    if Header.of(image[: HEADER.size].tobytes()).layout_hash != places.layout_hash:
        raise ForeignImageError
    found: dict[str, Filters] = {}
    for index in order:
        layer = choice.layers[index]
        stored = {blob.name: places.places[index, blob.name] for blob in layer.blobs}
        rounded = "filters" in stored and stored["filters"].blob.storage != FLOAT32
        whole = layer.candidate and layer.candidate.compute in EXACTLY
        if layer.compute == HALF and layer.routines:
            continue  # its filters are transformed, and rounded then
        if rounded or (whole and layer.node.op in {*WEIGHTED, *DYNAMIC.values()}):
            found[layer.node.name] = _filters(layer, choice, stored, image)
    return found


class ForeignImageError(Exception):
    """The image was packed for other kernels."""


def _filters(layer: Layer, choice: Choice, stored: dict[str, PlacedBlob], data: Bytes) -> Filters:
    shape = choice.graph[layer.node.inputs[1]].shape
    out_c = shape[0]
    if layer.node.op == RECURRENT:
        return _recurrent(layer, stored, data, shape)
    if "bias" not in stored:
        return _integers(layer, choice, stored, data)
    bias = _values(stored["bias"], data)
    weights = _unarranged(stored["filters"].blob, _values(stored["filters"], data), shape)
    units = layer.params.get("units", 0)  # floats from a channel's bias to its unit
    assert isinstance(units, int)
    if units:
        weights = weights * bias[units : units + out_c].reshape(-1, *(1,) * (len(shape) - 1))
    return Filters(weights.astype(np.float32), bias[:out_c])


def _recurrent(
    layer: Layer, stored: dict[str, PlacedBlob], data: Bytes, shape: tuple[int, ...]
) -> Filters:
    """The weights of the state, whose units lie apart, in whole vectors for each gate."""
    weights = _unarranged(stored["filters"].blob, _values(stored["filters"], data), shape)
    if "units" in stored:
        units = _values(stored["units"], data).reshape(shape[0] // shape[1], -1)
        weights *= units[:, : shape[1]].reshape(-1, 1)
    return Filters(weights)


def _integers(layer: Layer, choice: Choice, stored: dict[str, PlacedBlob], data: Bytes) -> Filters:
    """Filters and bias of a layer that computes in integers: what becomes of its sums must be the
    very words that are proven for the model's bias; no others are like it, so that NaN stands for
    its bias then."""
    node, graph = layer.node, choice.graph
    weights = np.asarray(graph[node.inputs[1]].constant(), np.float32)
    if "filters" in stored:
        multiples = _unarranged(
            stored["filters"].blob, _values(stored["filters"], data), weights.shape
        )
        rows = (-1, *(1,) * (weights.ndim - 1))
        units = np.asarray(node.storage.scale, np.float32)
        zeros = np.asarray(node.storage.zero, np.float32)
        weights = (multiples - zeros.reshape(rows)) * units.reshape(rows)
    own = [stored[blob] for blob in _OWN if blob in stored]
    if is_asymmetric(node.storage) and "filters" in stored:
        own.append(stored["filters"])  # zero points lie among them
    same = all(np.array_equal(_words(words, data), words.blob.pack()) for words in own)
    name = node.inputs[2] if len(node.inputs) > 2 else ""
    bias = graph[name].constant().astype(np.float32) if name else np.zeros(len(weights), np.float32)
    if not same:
        return Filters(np.full_like(weights, np.nan), np.full_like(bias, np.nan))
    return Filters(weights, bias)


def _words(placed: PlacedBlob, data: Bytes) -> npt.NDArray[np.generic]:
    raw = data[placed.offset : placed.offset + placed.blob.bytes].tobytes()
    return format_of(placed.blob.format).decode(raw)[: placed.blob.elements]


def _values(placed: PlacedBlob, data: Bytes) -> Floats:
    values = _words(placed, data).astype(np.float32)
    return placed.blob.restored(values) if placed.blob.restored else values


def _unarranged(blob: Blob, values: Floats, shape: tuple[int, ...]) -> Floats:
    """``values`` in the blob's order, brought back to an array of ``shape``."""
    if blob.arrange is None:
        raise ValueError(f"blob {blob.name!r} has no arrangement")
    position = np.arange(1, int(np.prod(shape)) + 1, dtype=np.int64)
    high, low = (
        np.asarray(blob.arrange(half.astype(np.float32).reshape(shape))).reshape(-1)
        for half in (position // _HALF, position % _HALF)
    )
    at = high.astype(np.int64) * _HALF + low.astype(np.int64) - 1  # -1: padding
    logical = np.zeros(position.size, np.float32)
    logical[at[at >= 0]] = values[at >= 0]
    return logical.reshape(shape)
