"""Linear interpolation of int8 as int8: int32 sums with weights that are whole numbers."""

from __future__ import annotations

import math
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass
from typing import Any

import numpy as np
import numpy.typing as npt

from edgeconv.ir.choice import Blob, Layer, Param
from edgeconv.ir.graph import Graph, Node
from edgeconv.ir.requantisation import ARITHMETICS, EXACT, TFLITE
from edgeconv.ir.requantisation.averages import Average
from edgeconv.ir.requantisation.pair import Affine
from edgeconv.ir.requantisation.tflite_averages import ONE, places
from edgeconv.ir.work import Work
from edgeconv.kernels.algorithms.sums import bounds_in, rounds_to
from edgeconv.kernels.lowering.calls import kernel_layer
from edgeconv.kernels.lowering.integers import all_int8, in_integers
from edgeconv.kernels.lowering.loops import PerCore
from edgeconv.kernels.lowering.work import Call
from edgeconv.kernels.ops.integer_pool import numbers_of, words_of
from edgeconv.kernels.ops.interpolation import PLACES, tables, whole_weights
from edgeconv.target.targets import Target

Words = npt.NDArray[np.int32]
_Dimension = tuple[Words, Words, int]  # indices, weights, what these add up to
# Slots, counted in the kernel: of a vector under a tap, of one that is finished, and of a pixel.
_TAP, _RESULT, _PIXEL = 4.0, 10.0, 8.0
_CYCLES = 6.0  # of a tap of an element of portable C
# Cycles of a core without vectors, as `PerCore` has them, where an element has so many taps: of an
# element, and of a pixel beside its channels.
_TAPS = 4
_ELEMENT_CYCLES, _PIXEL_CYCLES = PerCore(205, 52, 40), PerCore(100, 250, 205)


@dataclass(frozen=True, slots=True)
class Taps:
    """By spatial dimension the indices of taps and their weights; ``over``: the denominator of the
    products of these."""

    index: tuple[Words, ...]
    whole: tuple[Words, ...]
    over: int


def taps_of(node: Node, graph: Graph) -> Taps | None:
    """The taps of a linear Resize of pixels alone; None of others, and of weights with no small
    denominator."""
    x, out = graph[node.inputs[0]].shape, graph[node.output].shape
    scales = node.attrs["scales"]
    if node.attrs["mode"] != "linear" or node.attrs.get("exclude_outside") or not 3 <= len(x) <= 5:
        return None
    if x[:2] != out[:2] or any(scale != 1 for scale in scales[:2]):
        return None
    indices, wholes, over = [], [], 1
    for size, wanted, scale in zip(x[2:], out[2:], scales[2:], strict=True):
        found = _DIMENSIONS[graph.requantise](size, wanted, float(scale), node.attrs)
        if found is None:
            return None
        index, whole, own = found
        indices.append(index)
        wholes.append(whole)
        over *= own
    return Taps(tuple(indices), tuple(wholes), over)


def _exact_taps(size: int, out: int, scale: float, attrs: Mapping[str, Any]) -> _Dimension | None:
    index, weight = tables(size, out, scale, attrs)
    found = whole_weights(weight)
    return None if found is None else (index, *found)


def _tflite_taps(size: int, out: int, scale: float, attrs: Mapping[str, Any]) -> _Dimension | None:
    """As `tables`, one tap where nothing is resized."""
    how = attrs["coordinate_transformation_mode"]
    if how not in PLACES:
        return None
    corners, half_pixel = PLACES[how]
    lower, upper, above = places(size, out, corners=corners, half_pixel=half_pixel)
    index, whole = np.stack([lower, upper]), np.stack([ONE - above, above])
    if size == out and scale == 1.0:
        index, whole = index[:1], whole[:1]
    return index.astype(np.int32), whole.astype(np.int32), ONE


# Of sizes, scale and attributes.
_DIMENSIONS: Mapping[str, Callable[[int, int, float, Mapping[str, Any]], _Dimension | None]] = {
    EXACT: _exact_taps,
    TFLITE: _tflite_taps,
}


def form_of(node: Node, graph: Graph) -> Average | None:
    """What becomes of its sums; None where nothing is proven."""
    if not all_int8(node, graph) or not node.epilogue.is_only_before:
        return None
    x, y = graph[node.inputs[0]].storage, graph[node.output].storage
    taps = taps_of(node, graph)
    if taps is None or not rounds_to(node.epilogue.before, y):
        return None
    low, high = bounds_in(node.epilogue.before, y)
    says = ARITHMETICS[graph.requantise]
    return says.interpolation(taps.over, Affine.of(x), Affine.of(y), low, high)


def lower(node: Node, graph: Graph, target: Target, sizes: Mapping[str, Param]) -> Layer:
    """The kernel call of a node that has a form; ``sizes``: those of ec_resize."""
    call, form, taps = Call(node, graph, target), form_of(node, graph), taps_of(node, graph)
    assert form is not None
    assert taps is not None
    words, shape = words_of(form, (taps.over,)), graph[node.output].shape
    table = np.concatenate([*_padded(taps.index, 0), *_padded(taps.whole, 1)]).astype(np.int32)
    layer = kernel_layer(
        call,
        "int8_resize",
        "ops/int8_resize.c.j2",
        operands={
            "words": Blob("words", words.size, lambda: words, dtype="int32"),
            "taps": Blob("taps", table.size, lambda: table, dtype="int32"),
            "in": node.inputs[0],
        },
        params={**sizes, **numbers_of(form), "outer": shape[0], "inner": shape[1]},
        headers=("ec_resize_sizes.h", "ec_int8_resize.h"),
        functions=(target.integers, "ec_int8_average.h"),
        work=_work(call, math.prod(len(index) for index in taps.index)),
        epilogue=False,
    )
    return in_integers(layer)


def _padded(dimensions: Sequence[Words], fill: int) -> list[Words]:
    """Flat tables of three dimensions, the first of which may have one place."""
    missing = [np.array([fill], np.int32)] * (3 - len(dimensions))
    return [*missing, *(each.ravel() for each in dimensions)]


def _work(call: Call, taps: int) -> Work:
    shape = call.output.shape
    pixels = shape[0] * math.prod(shape[2:])
    moved = float(taps * call.output.elements + call.out_bytes)
    element = _ELEMENT_CYCLES.on(call.target, reals=False) * shape[1]
    pixel = _PIXEL_CYCLES.on(call.target, reals=False)
    vectors = -(-shape[1] // call.target.lanes)
    return call.in_integers(
        pixels * (pixel + element) * max(1.0, taps / _TAPS),
        _CYCLES * taps * call.output.elements,
        pixels * (_PIXEL + vectors * (_TAP * taps + _RESULT)),
        moved,
    )
