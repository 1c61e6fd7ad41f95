"""Layers of a quantised model whose sums are whole numbers: what becomes of these.

An input of int8, filters of int8 in units, and a result that nothing but rounding to int8 and
bounds stand in front of, stored as that or as float32: then a layer can be computed exactly, in
integers alone (`Fixed`, `PerChannel`, or `Twice` where a network is to be TensorFlow Lite's). With
a residual of int8 that holds in front of it, and both are added in integers (`PairSum`); so it does
where the result is rounded again to another grid, as a branch of a Concat may be. A bias is a
number of units as `in_units` has it.
"""

from __future__ import annotations

from collections.abc import Hashable
from dataclasses import dataclass, replace
from functools import lru_cache
from math import inf

import numpy as np
import numpy.typing as npt

from edgeconv.ir.activation import ONTO_GRIDS, Activation
from edgeconv.ir.channel_scales import CHANNEL_SCALES, scales_of
from edgeconv.ir.encoding import FLOAT32, INT8, Encoding, int8
from edgeconv.ir.graph import Graph, Node
from edgeconv.ir.grids import integers_for, last_activation
from edgeconv.ir.requantisation import ARITHMETICS, EXACT, Form, PerChannel, Sums
from edgeconv.ir.requantisation.double_rounding import Twice
from edgeconv.ir.requantisation.exact_reals import in_units
from edgeconv.ir.requantisation.forms import Fixed, fixed
from edgeconv.ir.requantisation.pair import Affine, PairSum
from edgeconv.ir.requantisation.scalings import right_of
from edgeconv.ir.requantisation.signs import signs
from edgeconv.kernels.algorithms.digits import Digits, digits_of

Integers = npt.NDArray[np.int64]
_LARGEST = 2**31 - 1
_LARGEST_FILTER = 2**15 - 1  # in a word of 16 bits
_MOST_JOINED = 2**23 - 1  # of a sum that is 256 times as large in 32 bits
_NONE_SPARE = -1  # a sum is not to be shifted
_MOST_RIGHT = 31  # bits that a word can be shifted by
_MOST = 4096  # layers whose forms are kept, with the constants they were made from
_known: dict[Hashable, tuple[object, Form | None, Facts, Larger | None]] = {}


def multiples(node: Node, graph: Graph) -> Integers:
    """The filters of a Conv or Dense node as the integers that they are, in their shape."""
    weights = graph[node.inputs[1]].constant().astype(np.float64)
    units = np.asarray(node.storage.scale).reshape(-1, *(1,) * (weights.ndim - 1))
    whole: Integers = np.rint(weights / units).astype(np.int64)
    return whole


def filter_rows(node: Node, graph: Graph) -> Integers:
    """`multiples`, a row for each sum."""
    return multiples(node, graph).reshape(graph[node.inputs[1]].shape[0], -1)


def filter_zeros(node: Node, graph: Graph) -> Integers:
    """The zero point of each filter of a Conv or Dense node, 0 but for asymmetric ones."""
    zeros = np.asarray(node.storage.zero, np.int64)
    return np.broadcast_to(zeros, graph[node.inputs[1]].shape[:1])


def stored_filters(node: Node, graph: Graph) -> Integers:
    """What is stored of the filters of a Conv or Dense node: `multiples` and the zero points of
    asymmetric ones."""
    zeros = filter_zeros(node, graph)
    filters = multiples(node, graph)
    return filters + zeros.reshape(-1, *(1,) * (filters.ndim - 1))


def two_fit(node: Node, graph: Graph) -> bool:
    """Any two products of the inputs, which are int8, with integers of a filter can be added in 16
    bits: -128, which no quantiser of filters makes that is symmetric, stands there at most once."""
    filters = stored_filters(node, graph)
    lowest = (filters.reshape(len(filters), -1) == INT8.low).sum(axis=1)
    return bool((lowest <= 1).all())


@dataclass(frozen=True, slots=True)
class Facts:
    """What kernels must know of a layer's sums; all 0 where it has no form.

    ``pair``: the most that filters of channels 2 i and 2 i + 1 at a position are together in
    magnitude, where two of unlike sign count alone.  ``spare_bits``: by so many bits a sum, and
    what is made of it once and exactly, can be shifted to the left and still fits 32; -1 where its
    last bit decides, as of halves of a step.  ``scaling``: that of the network
    (``scaling.scaling_of``), "" where it is not looked at.  ``joins``: two filters can be
    multiplied as one number (``integer.joined``): none has -128, and no sum, without what it starts
    with, more than 24 bits.  ``bounded``: results have other bounds than int8.  ``digits``: of
    filters of few bits.
    """

    pair: int = 0
    spare_bits: int = 0
    scaling: str = ""
    joins: bool = False
    bounded: bool = False
    digits: Digits | None = None


NO_FACTS = Facts()


@dataclass(frozen=True, slots=True)
class Larger:
    """The ``form`` of a depthwise layer's sums that are 2^``bits`` as large, as its filters are: in
    words of 16 bits these have bits to spare."""

    form: Fixed
    bits: int


def is_depthwise(node: Node, graph: Graph) -> bool:
    """Whether every channel of the input has filters of its own."""
    return node.attrs.get("groups", 1) > 1 and graph[node.inputs[1]].shape[1] == 1


def larger_of(node: Node, graph: Graph) -> Larger | None:
    """How the sums of a depthwise layer become results by a shift of as many bits as those of all
    of ``graph`` are shifted by; None where that is not stated, or there is no such form."""
    return _found(node, graph)[2]


def form_of(node: Node, graph: Graph) -> Form | None:
    """How the sums of a Conv or Dense node become its result; None where it is not as above, or no
    form is proven.  ``start`` has the zero point of the input in it: padding counts as that."""
    return _found(node, graph)[0]


def facts_of(node: Node, graph: Graph) -> Facts:
    """The facts of a Conv or Dense node."""
    return _found(node, graph)[1]


def _found(node: Node, graph: Graph) -> tuple[Form | None, Facts, Larger | None]:
    """All of these; without a form nothing is looked at."""
    x, y = graph[node.inputs[0]].storage, rounded_to(node, graph)
    stored = node.storage
    if y is None or y.element != INT8 or not _is_whole(x, stored):
        return None, NO_FACTS, None
    if not node.epilogue.is_only_before and pair_of(node, graph) is None:
        return None, NO_FACTS, None
    constants = tuple(graph[name].data for name in node.inputs[1:] if name)
    given = stored, node.attrs.get(CHANNEL_SCALES)
    right = right_of(graph.scaling)
    key = (
        *map(id, constants),
        *given,
        x,
        y,
        node.epilogue.before,
        graph.requantise,
        node.op,
        right,
    )
    if key not in _known:
        if len(_known) >= _MOST:
            _known.clear()
        finite = all(data is None or np.isfinite(data).all() for data in constants)
        form = _form(node, graph, y) if finite and are_scales(y.scale) else None
        facts = _facts(node, graph, form) if form else NO_FACTS
        larger = _larger(node, graph, y, form, right) if form and right else None
        _known[key] = constants, form, facts, larger
    return _known[key][1:]


def _facts(node: Node, graph: Graph, form: Form) -> Facts:
    filters, low = multiples(node, graph), graph[node.inputs[0]].storage.low
    pair = pair_in(stored_filters(node, graph))
    products = _reach(np.zeros(1, np.int64), filters.reshape(len(filters), -1), low)
    joins = bool(filters.min(initial=0) > INT8.low and products.max(initial=0) <= _MOST_JOINED)
    bounded = (form.low, form.high) != (INT8.low, INT8.high)
    digits = None if filter_zeros(node, graph).any() else digits_of(filters)
    if isinstance(form, Twice) or (isinstance(form, PerChannel) and form.with_ties):
        return Facts(pair, _NONE_SPARE, joins=joins, bounded=bounded, digits=digits)
    reach = _reach(form.start.astype(np.int64), filters.reshape(len(filters), -1), low)
    # The upper word of a product, which a shift makes larger as well, and what is added to it.
    words = (reach * form.multiplier.astype(np.int64) >> 32) + 1 + form.most_added
    most = max(int(reach.max(initial=0)), int(words.max(initial=0)))
    bits = min(_LARGEST.bit_length() - most.bit_length(), _MOST_RIGHT - form.right)
    if isinstance(form, PerChannel):  # twice an offset fits 32 bits
        bits = min(bits, _LARGEST.bit_length() - 1 - form.most_added.bit_length())
    return Facts(pair, max(0, bits), joins=joins, bounded=bounded, digits=digits)


def _reach(start: Integers, filters: Integers, low: int) -> Integers:
    """The most that a sum of inputs from ``low`` on with the filters (out_c, number), or a part of
    it, that begins with ``start`` is in magnitude, by channel."""
    reach: Integers = np.abs(start) - np.minimum(np.abs(filters).sum(axis=1) * low, 0)
    return reach


def pair_in(filters: Integers) -> int:
    """`Facts.pair` of filters (out_c, in_c, kernel ...)."""
    flat = filters.reshape(*filters.shape[:2], -1)
    both = np.pad(flat, ((0, 0), (0, flat.shape[1] % 2), (0, 0)))
    signs = (np.maximum(both, 0), np.maximum(-both, 0))
    return max(int((each[:, ::2] + each[:, 1::2]).max(initial=0)) for each in signs)


def rounded_to(node: Node, graph: Graph) -> Encoding | None:
    """What sums become: the result, or what is rounded again, a residual added to it or not.  None
    where that is not rounded to eight bits."""
    before = node.epilogue.before
    if node.epilogue.is_only_before:
        y = result_of(node, graph)
        return y if y and before.kind in ONTO_GRIDS and is_spaced_as(before, y) else None
    fits = before.kind == "grid" and before.gamma - before.beta <= INT8.high - INT8.low
    if not fits or before.beta != round(before.beta):
        return None
    return int8(before.alpha, INT8.low - round(before.beta))


def result_of(node: Node, graph: Graph) -> Encoding | None:
    """The integers that the result is rounded to: those stored, or those of a float32."""
    y = graph[node.output].storage
    return y if y != FLOAT32 else integers_for(last_activation(node))


def pair_of(node: Node, graph: Graph) -> PairSum | None:
    """How sums, once rounded, and the residual, if any, become the result; None without a form."""
    epilogue, y = node.epilogue, result_of(node, graph)
    x, r = rounded_to(node, graph), _residual(node, graph)
    if x is None or y is None or r is None or not rounds_to(epilogue.after, y):
        return None
    if y.element != INT8:
        return None
    bounds = bounds_in(epilogue.after, y)
    return ARITHMETICS[graph.requantise].pair(Affine.of(x), r, Affine.of(y), *bounds)


def requantised(node: Node, graph: Graph, form: Form) -> tuple[int, ...]:
    """The members of ec_requantise but for the scale: how sums become the result of a Conv node."""
    alone = (1, form.offset, form.right, form.low, form.high)
    pair = None if node.epilogue.is_only_before else pair_of(node, graph)
    added = (0,) * 8
    if pair:
        factors = bool(node.epilogue.residual), pair.by_a, pair.by_b
        added = (*factors, pair.offset, pair.right, pair.low, pair.high, pair.ties)
    result = result_of(node, graph)
    if graph[node.output].storage.affine or result is None:
        return (*alone, *added, 0, 0)
    return (*alone, *added, 1, result.zero[0])


def _residual(node: Node, graph: Graph) -> Affine | None:
    """What its integers stand for: without a residual nothing."""
    if not node.epilogue.residual:
        return Affine(0.0, 0)
    r = graph[node.epilogue.residual].storage
    return Affine.of(r) if r.element == INT8 and r.is_per_tensor else None


def _is_whole(x: Encoding, filters: Encoding) -> bool:
    scaled = x.element == INT8 and x.is_per_tensor
    return scaled and filters.element == INT8 and are_scales(x.scale) and are_scales(filters.scale)


@lru_cache(_MOST)
def are_scales(scales: tuple[float, ...]) -> bool:
    """There are some, and all are finite and above 0, as files may have others."""
    return bool(scales) and all(0 < scale < inf for scale in scales)


def rounds_to(rounding: Activation, y: Encoding) -> bool:
    """It rounds to the numbers that ``y`` has."""
    return rounding.kind == "grid" and is_spaced_as(rounding, y)


def is_spaced_as(rounding: Activation, y: Encoding) -> bool:
    """The results of ``rounding`` are whole multiples of the scale of ``y``."""
    return y.affine and y.scale == (rounding.alpha,)


def bounds_in(rounding: Activation, y: Encoding) -> tuple[int, int]:
    """The bounds of the integers that stand for what is rounded."""
    low, high = (round(bound) + y.zero[0] for bound in (rounding.beta, rounding.gamma))
    return max(y.low, min(y.high, low)), max(y.low, min(y.high, high))


def sums_in(node: Node, graph: Graph, y: Encoding) -> tuple[Sums, Integers, Integers]:
    """The sums of a Conv or Dense node that are rounded to ``y``; what each has beside its
    products, in units; and the filters as integers, a row for each sum."""
    x, arithmetic = graph[node.inputs[0]].storage, ARITHMETICS[graph.requantise]
    w = filter_rows(node, graph)
    scales = scales_of(node, graph)
    unit = arithmetic.unit(x.scale[0], scales.of_sums, node.op == "Dense")
    units, rest = in_units(np.asarray(scales.bias, np.float64), unit)
    whole = units - x.zero[0] * w.sum(axis=1)
    least = np.minimum(w * x.low, w * x.high).sum(axis=1)
    most = np.maximum(w * x.low, w * x.high).sum(axis=1)
    low, high = bounds_in(node.epilogue.before, y)
    spacing = y.scale[0] * scales.of_results
    sums = Sums(unit, rest, least + whole, most + whole, spacing, y.zero[0], low, high)
    return signs(sums, whole, w) if node.epilogue.before.kind == "sign" else sums, whole, w


def form_shifted(sums: Sums, arithmetic: str, right: int) -> Form | None:
    """The form of ``sums``, shifted by ``right`` bits at most unless there is none such, or that is
    0."""
    says = ARITHMETICS[arithmetic].sums
    found = says(replace(sums, right=right)) if right else None
    return found if isinstance(found, Fixed) else says(sums)


def _form(node: Node, graph: Graph, y: Encoding) -> Form | None:
    if node.epilogue.before.kind == "sign" and graph.requantise != EXACT:
        return None  # two steps between neighbouring sums, which a multiplier below 1 does not make
    sums, whole, w = sums_in(node, graph, y)
    found = form_shifted(sums, graph.requantise, right_of(graph.scaling))
    if found is None:
        return None
    return _started(found, found.start + whole, node, graph, w)


def _larger(node: Node, graph: Graph, y: Encoding, form: Form, right: int) -> Larger | None:
    """`larger_of` a node that has a ``form``."""
    bits = right - form.right
    if not isinstance(form, Fixed) or bits < 0 or not is_depthwise(node, graph):
        return None
    sums, whole, w = sums_in(node, graph, y)
    largest = int(np.abs(w).max(initial=0)) << bits
    if largest > _LARGEST_FILTER or filter_zeros(node, graph).any():
        return None
    least, most = sums.least << bits, sums.most << bits
    found = fixed(
        replace(sums, unit=np.ldexp(sums.unit, -bits), least=least, most=most, right=right)
    )
    if found is None or found.right != right:
        return None
    started = _started(found, found.start + (whole << bits), node, graph, w << bits)
    return Larger(started, bits) if isinstance(started, Fixed) else None


def _started(found: Form, start: Integers, node: Node, graph: Graph, w: Integers) -> Form | None:
    """``found`` with that ``start``; None where a sum with the filters ``w``, or a part of it,
    leaves 32 bits."""
    low = graph[node.inputs[0]].storage.low
    zeros = filter_zeros(node, graph)
    parts = _reach(start, w + zeros[:, None], low)
    parts -= np.abs(zeros) * w.shape[1] * low
    fits = bool((np.maximum(parts, _reach(start, w, low)) <= _LARGEST).all())
    return replace(found, start=start.astype(np.int32)) if fits else None
