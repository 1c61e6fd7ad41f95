"""Layers of a quantised network: each held to the original model, from the numbers that it read.

A value that lies within float32's error of the middle between two steps is rounded to one side here
and to the other there, and neither is wrong; what follows may make several steps of it.  So outputs
tell a defect from such a tie only as long as no layer in front of them has met one.  Here the model
is cut at every tensor that the program has too, and each piece of it computes from the numbers that
the program's layer had.  What a layer may then differ by is known:

    got in [Q(v - e), Q(v + e)],    e = NEAR * max |v|

with v what the piece computes in front of a QuantizeLinear Q.  Anything else is a defect.
"""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import numpy as np
import numpy.typing as npt

from edgeconv.ir.layout import Layout
from edgeconv.verify.compare import Difference, compare
from edgeconv.verify.layers import Steps, original_name, pieces

Array = npt.NDArray[Any]
# Beside the largest of a layer's sums: what adding up float32 numbers in another order makes of
# them.  Sums of 25,088 products, the most of the networks measured, differ by a fifth of it.
NEAR = 1e-5
Beside = Callable[[Mapping[str, Array], float], Mapping[str, Array]]


@dataclass(frozen=True, slots=True)
class Pieces:
    """``differences``: of every result of the program, beyond what rounding the other way explains,
    by the layer's name.  ``ties``: numbers that were rounded the other way, of ``numbers`` in all;
    ``unknown``: layers whose results the model does not have."""

    differences: Mapping[str, Difference]
    ties: int
    numbers: int
    unknown: int


def compare_pieces(
    layers: Sequence[Mapping[str, Any]],
    trace: Path,
    outputs: Mapping[str, Array],
    reference: Mapping[str, Array],
    beside: Beside,
    steps: Steps = (),
) -> Pieces:
    """Compare what is in ``trace`` (execution order) and the program's ``outputs`` with the model.

    ``reference``: what the model computes of the same inputs, by ONNX name, for shapes and types.
    ``steps``: those of the report.
    ``beside``: what its pieces make of results, where a part of the largest magnitude is added to
    whatever is rounded (``frontend.reference_beside``).  Raises EdgeconvError when the trace does
    not have the length that the layers state.
    """
    results: dict[str, Array] = {}
    found: list[tuple[str, str, Array]] = []
    for layer, memory in zip(layers, pieces(layers, trace, steps), strict=True):
        name, shape = original_name(layer), tuple(layer["output_shape"])
        wanted = reference.get(name)
        if wanted is not None and wanted.shape == shape:
            got = Layout.parse(layer["layout_out"]).unpack(memory, shape)
            found.append((str(layer["name"]), name, np.array(got, wanted.dtype, order="C")))
            results.setdefault(name, found[-1][2])
    unknown = len(layers) - len(found)
    for name, values in outputs.items():
        found.append((f"output {name}", name, values))
        results.setdefault(name, values)
    return _judged(found, results, beside, unknown)


def _judged(
    found: Sequence[tuple[str, str, Array]],
    results: Mapping[str, Array],
    beside: Beside,
    unknown: int,
) -> Pieces:
    own = beside(results, 0.0)
    low = high = own
    if any(not np.array_equal(got, own[name], equal_nan=True) for _, name, got in found):
        low, high = beside(results, -NEAR), beside(results, NEAR)
    differences: dict[str, Difference] = {}
    ties = numbers = 0
    for layer, name, got in found:
        bounds = (own[name], low[name], high[name])
        least, most = np.minimum.reduce(bounds), np.maximum.reduce(bounds)
        moved, otherwise = _beyond(got, own[name], least, most)
        differences[layer] = compare(name, moved, own[name])
        ties += otherwise
        numbers += got.size
    return Pieces(differences, ties, numbers, unknown)


def _beyond(got: Array, own: Array, least: Array, most: Array) -> tuple[Array, int]:
    """``got``, nearer to ``own`` by what lies between ``least`` and ``most``; and how many of its
    numbers are another step within them."""
    mine, wanted = got.astype(np.float64), own.astype(np.float64)
    low, high = least.astype(np.float64), most.astype(np.float64)
    with np.errstate(invalid="ignore"):
        moved = wanted + (mine - np.clip(mine, low, high))
    moved = np.where(np.isfinite(mine) & np.isfinite(wanted), moved, mine)
    otherwise = (mine != wanted) & (moved == wanted)
    return moved, int(otherwise.sum())
