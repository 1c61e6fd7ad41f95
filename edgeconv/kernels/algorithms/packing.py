"""Parts of weight packing that every convolution algorithm has."""

from __future__ import annotations

from collections.abc import Callable, Iterable, Mapping, Sequence
from dataclasses import replace
from typing import TypeVar

import numpy as np
import numpy.typing as npt

from edgeconv.ir.choice import Blob, Param
from edgeconv.ir.encoding import FLOAT32, Encoding
from edgeconv.ir.filters import Filters, replace_filters
from edgeconv.ir.graph import Graph, Node
from edgeconv.ir.request import Request
from edgeconv.kernels.algorithms.problem import filters_as
from edgeconv.kernels.storage import format_of, formats
from edgeconv.kernels.storage.base import StorageFormat

Floats = npt.NDArray[np.float32]
Element = TypeVar("Element", bound=np.generic)


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
    elements = _padded(out_c, lanes)
    if not has_units(node):
        return Blob(
            "bias",
            elements,
            lambda: pack_bias(bias, elements),
            arrange=lambda given: pack_bias(given, elements),
        )

    def pack() -> Floats:
        units = units_of(node, weights_of(node, graph))
        return np.concatenate([pack_bias(bias, elements), pack_bias(units, elements)])

    return Blob("bias", 2 * elements, pack)


def filters_blob(
    node: Node,
    graph: Graph,
    elements: int,
    pack: Callable[[Floats], Floats],
    arrange: Callable[[Floats], Floats] | None = None,
    pieces: Callable[[Floats], Iterable[Floats]] | None = None,
) -> Blob:
    """The filters of a Conv or Dense node in its storage format; ``pack`` brings them in order, as
    ``arrange`` does without the numbers that it puts between them, if any.  ``pieces``: what
    ``pack`` gives, in pieces of whole bytes."""
    form = _format(node)

    def stored() -> Floats:
        weights = weights_of(node, graph)
        # Those with units of their own are multiples of them already.
        truncate = node.request.truncate and not node.storage.scale
        units = units_of(node, weights)
        return in_units(weights, form, units, truncate=truncate, zeros=_zeros(node))

    return Blob(
        "filters",
        elements,
        lambda: pack(stored()),
        storage=form.encoding,
        arrange=arrange or pack,
        pieces=pieces and (lambda: pieces(stored())),
    )


def joined(
    pieces: Iterable[npt.NDArray[Element]], whole: npt.NDArray[Element]
) -> npt.NDArray[Element]:
    """``pieces`` one after the other in ``whole``, which they fill."""
    at = 0
    for piece in pieces:
        whole[at : at + piece.size] = piece
        at += piece.size
    assert at == whole.size, (at, whole.size)
    return whole


def _zeros(node: Node) -> Sequence[int]:
    """The zero points of its filters, where they have any; else none."""
    zeros = node.storage.zero
    return zeros if any(zeros) else ()


def storage_params(node: Node, out_c: int, lanes: int) -> dict[str, Param]:
    """What the template must know of the filters' format.

    ``filters_as``: as C names it; ``units``: floats from a channel's bias to its unit, 0 without
    units.
    """
    form = _format(node)
    return {
        "filters_as": form.enumerator,
        "units": _padded(out_c, lanes) if has_units(node) else 0,
    }


def row_elements(filters: int, form: Encoding) -> int:
    """Elements that a row of ``filters`` takes, which begins with a byte."""
    per_byte = max(1, 8 // form.bits)
    return -(-filters // per_byte) * per_byte


def has_units(node: Node) -> bool:
    """The filters of a Conv or Dense node are stored in units of a scale per output channel: those
    that it has, or what the format takes by itself."""
    form = _format(node)
    return form.encoding != FLOAT32 and (bool(node.storage.scale) or form.scaled)


def units_of(node: Node, weights: Floats) -> Floats | None:
    """The unit of each filter (first axis) of ``node``; None where they are stored as they are."""
    if not has_units(node):
        return None
    given, form = node.storage.scale, _format(node)
    if given:
        return np.asarray(given, np.float32)
    return form.units(weights) if form.units else None


def in_units(
    weights: Floats,
    form: StorageFormat,
    units: Floats | None,
    *,
    truncate: bool = False,
    zeros: Sequence[int] = (),
) -> Floats:
    """What is stored of ``weights``: values that ``form`` has, in their units if there are any,
    from the ``zeros`` of their output channels on, if any.

    Divided in double precision, so that of what was rounded before, the same values come back (but
    not if that is truncated again: a quotient may be just below the value).
    """
    if form.encoding == FLOAT32:
        return weights
    if units is None:
        return form.rounded(weights, truncate=truncate).astype(np.float32)
    shape = (-1, *(1,) * (weights.ndim - 1))
    counts = weights / units.astype(np.float64).reshape(shape)
    if zeros:
        counts += np.asarray(zeros).reshape(shape)
    return form.rounded(counts, truncate=truncate).astype(np.float32)


def rounded(weights: Floats, form: StorageFormat, units: Floats | None = None) -> Floats:
    """What the weights are once they have been stored, in these units or the format's own."""
    if units is None and form.units:
        units = form.units(weights)
    stored = in_units(weights, form, units)
    return stored if units is None else stored * units.reshape(-1, *(1,) * (weights.ndim - 1))


def rounded_weights(graph: Graph, wanted: Mapping[str, str]) -> Graph:
    """The graph with the constants of the layers that ``wanted`` names as the named formats leave
    them, to be computed with in float32."""
    layers = {}
    for node in graph.nodes:
        form = formats()[wanted[node.name]] if node.name in wanted else None
        if form and form.encoding != FLOAT32:
            weights = weights_of(node, graph)
            units = units_of(replace(node, request=Request(storage=form.encoding)), weights)
            layers[node.name] = Filters(rounded(weights, form, units))
    return replace_filters(graph, layers)


def weights_of(node: Node, graph: Graph) -> Floats:
    """The filters of a Conv or Dense node (its second input) as float32."""
    return graph[node.inputs[1]].constant().astype(np.float32, copy=False)


def _format(node: Node) -> StorageFormat:
    return format_of(filters_as(node))


def _padded(out_c: int, lanes: int) -> int:
    """Channels in whole vectors."""
    return -(-out_c // lanes) * lanes
