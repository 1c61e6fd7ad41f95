"""Pools of int8 and int16, channels last: maxima, and averages of int32 sums."""

from __future__ import annotations

import math
from collections.abc import Mapping
from dataclasses import replace

import numpy as np

from edgeconv.ir.choice import ArgKind, Blob, Layer, Param
from edgeconv.ir.encoding import INT16
from edgeconv.ir.graph import Graph, Node
from edgeconv.ir.quantisation import AWAY
from edgeconv.ir.requantisation import ARITHMETICS, EXACT, tflite_averages
from edgeconv.ir.requantisation.averages import WHOLE, Average, averages
from edgeconv.ir.requantisation.forms import Words
from edgeconv.ir.requantisation.pair import Affine
from edgeconv.ir.requantisation.wide import Wide
from edgeconv.ir.step import Divides
from edgeconv.ir.work import Work
from edgeconv.kernels.algorithms.sums import bounds_in, rounds_to
from edgeconv.kernels.algorithms.wide_functions import wide_averages
from edgeconv.kernels.lowering.calls import kernel_layer
from edgeconv.kernels.lowering.integers import all_int8, in_int16, in_integers, with_int16
from edgeconv.kernels.lowering.loops import PerCore
from edgeconv.kernels.lowering.work import Call
from edgeconv.target.targets import THUMB_1, Target

_MOST_COUNTED = 256  # numbers of a window where windows differ: a table has a place for each count
# Slots, counted: of a vector under a kernel position, of one that is finished, and of a window.
_MAX, _SUM, _RESULT, _WINDOW = 2.0, 2.0, 14.0, 12.0
# Of a result of 64 bits of fixed point, which are finished one by one; cycles on a Cortex-M0.
_EACH, _NARROW_EACH = 16.0, 130.0
_CYCLES, _WINDOW_CYCLES = 3.0, 60.0  # of portable C: of a vector, of a window
# Cycles of a core without vectors, as `PerCore` has them: of a window, of each of its pixels, of a
# vector there, and of one that is finished; of averages, and of maxima by words and one by one.
_AVERAGE = (PerCore(60, 60, 60), PerCore(26, 14, 14), PerCore(7.5, 3, 3), PerCore(15, 15, 15))
_BY_WORD = (PerCore(130, 130, 150), PerCore(4, 4, 8), PerCore(3, 3, 3), PerCore(10, 10, 20))
_BY_BYTE = (PerCore(60, 60, 60), PerCore(60, 20, 20), PerCore(17, 6, 6), PerCore(30, 46, 46))
_WORD_BYTES = 4  # of a sum
_SUMMED = {"mean": tflite_averages.mean, "total": tflite_averages.total}
_NUMBERS = ("offset", "right", "low", "high", "zero")
_HEADERS = ("ec_window.h", "ec_pool_op.h", "ec_integer_pool.h")


def applies(node: Node, graph: Graph) -> bool:
    """A maximum that rounds nothing, or an average that is proven."""
    epilogue = node.epilogue
    whole = all_int8(node, graph) or with_int16(node, graph)
    if not whole or not 3 <= len(graph[node.output].shape) <= 5:
        return False
    if node.attrs["mode"] == "max":
        same = graph[node.inputs[0]].storage == graph[node.output].storage
        return same and epilogue.is_empty
    return average_of(node, graph) is not None


def counts_of(node: Node, graph: Graph) -> tuple[int, ...]:
    """How many numbers its windows count, each once."""
    size, out = graph[node.inputs[0]].shape[2:], graph[node.output].shape[2:]
    attrs, rank = node.attrs, len(size)
    counted = np.ones(1, np.int64)
    for axis in range(rank):
        pads = attrs["pads"][axis], attrs["pads"][rank + axis]
        own = pads if attrs.get("count_include_pad") else (0, 0)
        first = np.arange(out[axis]) * attrs["strides"][axis] - pads[0]
        taps = first[:, None] + np.arange(attrs["kernel"][axis]) * attrs["dilations"][axis]
        inside = ((taps >= -own[0]) & (taps < size[axis] + own[1])).sum(axis=1)
        counted = np.unique(np.multiply.outer(counted, inside))
    return tuple(map(int, counted))


def average_of(node: Node, graph: Graph) -> Average | Wide | None:
    """What becomes of its sums; None where nothing is proven."""
    x, y = graph[node.inputs[0]].storage, graph[node.output].storage
    if not node.epilogue.is_only_before or not rounds_to(node.epilogue.before, y):
        return None
    if any(node.attrs["pads"]) and node.attrs.get("count_include_pad") and x.zero[0]:
        return None  # padding is the zero point, which no sum has
    low, high = bounds_in(node.epilogue.before, y)
    counts = counts_of(node, graph)
    if counts[0] < 1 or (len(counts) > 1 and counts[-1] > _MOST_COUNTED):
        return None
    of_x, of_y = map(Affine.of, (x, y))
    if with_int16(node, graph):
        return _of_int16(node, graph, counts)
    if (zero := node.attrs.get(AWAY)) is not None:  # TensorFlow Lite's, however others are rounded
        if of_x.scale != of_y.scale:
            return None
        # Of the model's integers themselves, where those that are stored are so much more: bounds
        # of an activation may have changed zero points.
        whole = (replace(WHOLE, zero=each.zero - zero) for each in (of_x, of_y))
        return averages(counts, *whole, low, high, away=True)
    says = ARITHMETICS[graph.requantise]
    if node.attrs.get("total"):
        return says.total(counts[0], of_x, of_y, low, high)
    if node.attrs.get("mean"):  # which may round otherwise than a pool
        return says.mean(counts[0], of_x, of_y, low, high)
    return says.average(counts, of_x, of_y, low, high)


def _of_int16(node: Node, graph: Graph, counts: tuple[int, ...]) -> Average | Wide | None:
    """What becomes of sums of int16."""
    x, y = graph[node.inputs[0]].storage, graph[node.output].storage
    low, high = bounds_in(node.epilogue.before, y)
    if graph.requantise == EXACT:
        return None if node.attrs.get("total") else wide_averages(counts, x, y, low, high)
    says = next((_SUMMED[name] for name in _SUMMED if node.attrs.get(name)), None)
    of_x, of_y = map(Affine.of, (x, y))
    if says:
        return says(counts[0], of_x, of_y, low, high, INT16.bits)
    if of_x != of_y or of_x.zero:
        return None  # the kernel knows one grid
    if all(count % 2 for count in counts):  # of which there are no halves
        return wide_averages(counts, x, y, low, high)
    shifted = tflite_averages.short_pool(counts, low, high)
    return shifted or wide_averages(counts, x, y, low, high, away=True)


def lower(
    node: Node,
    graph: Graph,
    target: Target,
    window: Mapping[str, Param],
    divides: Divides | None,
) -> Layer:
    """The kernel call; ``window``: the members of ec_pool."""
    x, out, call = graph[node.inputs[0]], graph[node.output], Call(node, graph, target)
    maximum = node.attrs["mode"] == "max"
    operands: dict[str, str | Blob] = {}
    wide, bytes_each = with_int16(node, graph), x.element_bytes
    numbers: dict[str, Param] = {"bytes": bytes_each, "wide": ()}
    if not maximum:
        form, counts = average_of(node, graph), counts_of(node, graph)
        assert form is not None
        words = words_of(form, counts)
        operands["words"] = Blob("words", words.size, lambda: words, dtype="int32")
        numbers |= {"vary": len(counts) > 1, **numbers_of(form)}
        if isinstance(form, Wide):
            result = (form.shift, form.tie, form.zero, form.low, form.high, out.element_bytes)
            numbers["wide"] = result
        elif wide:
            numbers["wide"] = (0, 0, 0, form.low, form.high, out.element_bytes)
    accumulates = divides is not None and divides.accumulates and x.ring > 0
    scaling = ("ec_int16_scaling.h",) if wide else ()
    header = target.byte_vectors.header if maximum else target.integers
    layer = kernel_layer(
        call,
        "int16_pool" if wide else "int8_pool",
        "ops/integer_pool.c.j2",
        operands={**operands, "in": x.name},
        params={
            **window,
            **numbers,
            "images": x.shape[0],
            "channels": x.shape[1] * (bytes_each if maximum else 1),
            "in_ring": x.ring,
            "out_ring": out.ring,
            "accumulates": accumulates,
            "pitch": x.held[-1],
            "patch": bool(node.request.patch),
        },
        headers=(*_HEADERS, f"ec_integer_pool_{'max' if maximum else 'average'}.h"),
        functions=(header,) if maximum else (header, *scaling, "ec_int8_average.h"),
        work=_work(call, maximum, accumulates=accumulates),
        workspace_bytes=_sums_bytes(x.shape[1], target) if accumulates else 0,
        divides=divides,
        epilogue=False,
    )
    if accumulates:
        columns = ("ec_columns.h",) if node.request.patch else ()
        layer = replace(layer, headers=(*layer.headers, *columns, "ec_integer_pool_sums.h"))
    if not wide:
        return in_integers(layer)
    args = (
        replace(arg, c_type="int32_t") if arg.kind is ArgKind.WORKSPACE else arg
        for arg in layer.args
    )
    return in_int16(replace(layer, args=tuple(args)))


def _sums_bytes(channels: int, target: Target) -> int:
    """Bytes of a sum per channel, rounded up to whole vectors."""
    return _WORD_BYTES * math.ceil(channels / target.lanes) * target.lanes


def numbers_of(form: Average | Wide) -> dict[str, Param]:
    """The members of ec_int8_average but for `vary`."""
    if isinstance(form, Wide):
        return {"scaling": "wide_away" if form.away else "wide", **dict.fromkeys(_NUMBERS, 0)}
    return {"scaling": form.scaling, **{name: getattr(form, name) for name in _NUMBERS}}


def words_of(form: Average | Wide, counts: tuple[int, ...]) -> Words:
    """Start and factor, or a `Wide`'s words, by count where there are several."""
    known = np.stack(form.words, axis=1)
    if len(counts) == 1:
        return known.reshape(-1)
    words = np.zeros((counts[-1] + 1, known.shape[1]), np.int32)
    words[list(counts)] = known
    return words.reshape(-1)


def _work(call: Call, maximum: bool, *, accumulates: bool) -> Work:
    shape, bytes_each = call.output.shape, call.inputs[0].element_bytes
    windows, taps = shape[0] * math.prod(shape[2:]), math.prod(call.node.attrs["kernel"])
    wide = max(1, call.target.byte_vectors.count // bytes_each) if maximum else call.target.lanes
    vectors = -(-shape[1] // wide)
    moved = float(taps * windows * shape[1] * bytes_each + call.out_bytes)
    finished = _NARROW_EACH if THUMB_1 in call.target.features else _EACH
    alone = shape[1] * finished if with_int16(call.node, call.graph) and not maximum else 0.0
    loops = (_BY_BYTE if wide == 1 else _BY_WORD) if maximum else _AVERAGE
    window, pixel, tap, result = (each.on(call.target, reals=False) for each in loops)
    if accumulates:  # sums are read and written in every row
        result += 2 * tap * call.inputs[0].shape[-2]
    each = _MAX * taps + 2 if maximum else _SUM * taps + (0.0 if alone else _RESULT)
    return call.in_integers(
        windows * (window + alone + taps * (pixel + vectors * tap) + vectors * result),
        windows * (_WINDOW_CYCLES + alone + vectors * (_CYCLES * taps + 8)),
        windows * (_WINDOW + alone + vectors * each),
        moved,
    )
