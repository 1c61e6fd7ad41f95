"""Weights that are stored as whole multiples of a unit per output channel, when a pass scales them.

The multiples stay what they are, bit by bit; the units change.
"""

from __future__ import annotations

from typing import Any

import numpy as np
import numpy.typing as npt

from edgeconv.ir.channel_scales import CHANNEL_SCALES
from edgeconv.ir.encoding import Encoding
from edgeconv.ir.filters import format_of_integers
from edgeconv.ir.graph import Node

Reals = npt.NDArray[np.float64]


def has_units(node: Node) -> bool:
    """Whether the weights of a Conv or Dense are multiples of units."""
    return bool(node.storage.scale)


def rescaled(node: Node, weights: Reals, factors: Reals) -> tuple[Reals, dict[str, Any]]:
    """Weights and attributes of ``node``, its old ``weights`` times one factor per output channel.

    A unit too large or too small for float32 leaves weights of no unit.
    """
    attrs = dict(node.attrs)
    rows = (-1, *(1,) * (weights.ndim - 1))
    if not has_units(node):
        return weights * factors.reshape(rows), attrs
    units = np.asarray(attrs["storage"].scale, np.float64)
    multiples = np.rint(weights / units.reshape(rows)) * (factors != 0).reshape(rows)
    with np.errstate(over="ignore"):
        new = np.where(factors == 0, units, units * factors).astype(np.float32)
    if not np.isfinite(new).all() or np.any(np.abs(new) < np.finfo(np.float32).tiny):
        for name in ("storage", "exact"):
            attrs.pop(name, None)
        return weights * factors.reshape(rows), attrs
    multiples, new, stored = _positive(multiples, new, attrs["storage"])
    attrs["storage"] = stored.scaled(new)
    return multiples * new.astype(np.float64).reshape(rows), attrs


def _positive(
    multiples: Reals, units: npt.NDArray[np.float32], stored: Encoding
) -> tuple[Reals, npt.NDArray[np.float32], Encoding]:
    """Multiples and positive units of equal weights, which kernels in integers ask for: of a
    BatchNorm whose factor is negative the multiples turn.  Those of int4 or int8 may need a larger
    format then: 128, which is -128 turned, is of none of them."""
    turned = multiples * np.sign(units).reshape(-1, *(1,) * (multiples.ndim - 1))
    low, high = int(turned.min(initial=0)), int(turned.max(initial=0))
    form = None if any(stored.zero) else format_of_integers(low, high, stored.bits)
    return (turned, np.abs(units), form) if form else (multiples, units, stored)


def permuted(node: Node, order: npt.NDArray[np.integer[Any]]) -> dict[str, Any]:
    """Attributes of ``node`` whose output channel ``i`` computes what ``order[i]`` did."""
    attrs = dict(node.attrs)
    if has_units(node):
        attrs["storage"] = attrs["storage"].scaled(np.asarray(attrs["storage"].scale)[order])
    if CHANNEL_SCALES in attrs:
        attrs[CHANNEL_SCALES] = attrs[CHANNEL_SCALES].permuted(order)
    return attrs
