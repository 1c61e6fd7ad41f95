"""Which storage formats a report's layers have, and what other ones would take."""

from __future__ import annotations

import math
from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass
from typing import Any

from edgeconv.ir.encoding import kind_of
from edgeconv.ir.filters import DECODED
from edgeconv.kernels.storage import formats
from edgeconv.kernels.storage.base import FLOAT32

Report = Mapping[str, Any]
Layer = Mapping[str, Any]

_FLOAT_BYTES = 4


@dataclass(frozen=True, slots=True)
class Share:
    """What is in one format: ``filters`` and ``results`` count layers; both bytes include padding,
    those of filters biases and units too.  ``exact``: how many of the filters are as the model has
    them, not rounded.
    """

    form: str
    filters: int
    filter_bytes: int
    results: int
    result_bytes: int
    exact: int


def of_filters(layer: Layer) -> str:
    """The format of a layer's filters; "" where it has none."""
    return _named(layer, "weights") if layer["op"] in DECODED and layer["weight_bytes"] else ""


def of_result(layer: Layer) -> str:
    """The format of a layer's result; float32 where the report does not say."""
    return kind_of(_named(layer, "output")) or FLOAT32


def rounds(layer: Layer) -> bool:
    """Whether storing a layer's filters or its result loses something.  Integers, at the ends of a
    quantised network, are the model's own."""
    of_weights = of_filters(layer) not in ("", FLOAT32) and not _is_exact(layer)
    return of_weights or (_named(layer, "output") in formats() and of_result(layer) != FLOAT32)


def shares(layers: Iterable[Layer]) -> tuple[Share, ...]:
    """All formats in use, those of most bits first."""
    counts: dict[str, list[int]] = {}
    for layer in layers:
        result = counts.setdefault(of_result(layer), [0] * 5)
        result[2] += 1
        result[3] += layer.get("output_bytes", 0)
        if form := of_filters(layer):
            filters = counts.setdefault(form, [0] * 5)
            filters[0] += 1
            filters[1] += layer["weight_bytes"]
            filters[4] += _is_exact(layer)
    return tuple(Share(form, *counts[form]) for form in sorted(counts, key=_fewest_bits_last))


def saved_by_filters(layers: Iterable[Layer], form: str) -> int:
    """Bytes of flash that float32 filters give up in the format called ``form``.

    A bias per output channel stays float32, and where the format has units there is one of those
    beside it.  Elements that pad channels shrink as well; what alignment then adds is not counted.
    """
    entry = formats()[form]
    saved = 0
    for layer in layers:
        if of_filters(layer) == FLOAT32:
            bias = _FLOAT_BYTES * _channels(layer)
            elements = max(0, layer["weight_bytes"] - bias) // _FLOAT_BYTES
            less = _FLOAT_BYTES * elements - entry.encoding.bytes_of(elements)
            saved += max(0, less - (bias if entry.scaled else 0))
    return saved


def _channels(layer: Layer) -> int:
    """Output channels of a Conv or Dense."""
    shape: Sequence[int] = layer.get("output_shape") or (0,)
    return int(shape[1] if layer["op"] == "Conv" and len(shape) > 1 else shape[-1])


def _named(layer: Layer, what: str) -> str:
    return str((layer.get("storage") or {}).get(what) or "")


def _is_exact(layer: Layer) -> bool:
    return bool((layer.get("storage") or {}).get("exact"))


def _fewest_bits_last(form: str) -> tuple[float, str]:
    known = formats().get(form)
    return (-known.bits if known else math.inf, form)
