"""Layers of a quantised network: each held to the original model, from the numbers that it read.

A value that lies within float32's error of the middle between two steps is rounded to one side here
and to the other there, and neither is wrong; what follows may make several steps of it.  So outputs
tell a defect from such a tie only as long as no layer in front of them has met one.  Here the model
is cut at every tensor that the program has too, and each piece of it computes from the numbers that
the program's layer had.  What a layer may then differ by is known:

    got in [Q(v - e), Q(v + e)],    e = NEAR * max |v|

with v what the piece computes in front of a QuantizeLinear Q.  Anything else is a defect.

Of what is computed in integers there is one right number: what the model says in exact arithmetic.
Such a result must be that, all of it.  Where the reference's float32 sums make another one of it,
the bound on their error has to reach from one to the other.

Where a layer differs from the reference's piece, the same piece in float64 is asked: the program
may be the nearer one.
"""

from __future__ import annotations

from collections.abc import Callable, Collection, Mapping, Sequence
from dataclasses import dataclass, field, replace
from pathlib import Path
from typing import Any

import numpy as np
import numpy.typing as npt

from edgeconv.ir.candidate import EXACTLY, IN_WHOLE_NUMBERS
from edgeconv.ir.layout import Layout
from edgeconv.ir.requantisation import EXACT
from edgeconv.run.verify.compare import Difference, compare
from edgeconv.run.verify.exact.value import Value
from edgeconv.run.verify.layers import (
    Steps,
    Unread,
    original_name,
    pieces,
    unread,
    with_unread,
)
from edgeconv.run.verify.second_opinion import is_rounding, largest_of, same_order

Array = npt.NDArray[Any]
Truths = npt.NDArray[np.bool_]
# Beside the largest of a layer's sums: what adding up float32 numbers in another order makes of
# them.  Sums of 25,088 products, the most of the networks measured, differ by a fifth of it.
NEAR = 1e-5
_FLOAT32_BYTES = 4
_FLOAT64 = 1e-9  # of a bound, which is computed in float64
# Operators between a layer and a tensor of the model that change no number.
_MOVING = frozenset(
    {
        *("Concat", "Convert", "Dequantise", "Expand", "Gather", "Identity", "Pad", "Quantise"),
        *("Reshape", "Slice", "Tile", "Transpose"),
    }
)
_COPIES = "resize_copies"  # a Resize to the nearest
AdjacentWindows = Callable[[Mapping[str, Array], float], Mapping[str, Array]]


Exactly = Callable[[Mapping[str, Array]], Mapping[str, Value]]


@dataclass(frozen=True, slots=True)
class Second:
    """The second opinion on layers.  ``in_float64``: what the model's pieces make of results there;
    nothing where no engine does.  ``as_written``: the same by that engine in the model's own types.
    ``tolerance``: of what is asked about."""

    in_float64: Callable[[Mapping[str, Array]], Mapping[str, Array]]
    as_written: Callable[[Mapping[str, Array]], Mapping[str, Array]]
    tolerance: float


@dataclass(frozen=True, slots=True)
class InIntegers:
    """A result of ``numbers``, computed in integers.  ``wrong``: how many are not what the model
    says, exactly.  ``apart``: how many the reference engine makes something else of, and
    ``unexplained`` of these beyond the bound on float32's error."""

    numbers: int
    wrong: int
    apart: int
    unexplained: int

    @property
    def right(self) -> bool:
        """It is what the model says, and the engine does not say otherwise."""
        return not self.wrong and not self.unexplained


@dataclass(frozen=True, slots=True)
class PerLayer:
    """The per-layer check of a quantised network.  ``differences``: of every result of the program,
    beyond what rounding the other way explains, by the layer's name.  ``ties``: numbers that were
    rounded the other way, of ``numbers`` in all; ``unknown``: layers whose results the model does
    not have.  ``in_float64``: the layers that were held to float64, since the reference is off.
    ``exact``: those of the results that are held to exact arithmetic too.  ``requantise``: where
    that is TensorFlow Lite's instead, to nothing else: a row of `ARITHMETICS`.  ``summed``: those
    whose sums are integers and whose results float32, which are ``wrong`` beyond the bound on
    float32's error."""

    differences: Mapping[str, Difference]
    ties: int
    numbers: int
    unknown: int
    exact: Mapping[str, InIntegers] = field(default_factory=dict)
    requantise: str = EXACT
    in_float64: tuple[str, ...] = ()
    summed: Mapping[str, InIntegers] = field(default_factory=dict)

    def defects(self, tolerance: float) -> list[str]:
        """The layers whose results are no right ones, in execution order."""
        return [
            name
            for name, found in self.differences.items()
            if (
                (name not in self.exact or self.requantise == EXACT)
                and name not in self.in_float64
                and not found.within(tolerance)
            )
            or any(name in held and not held[name].right for held in (self.exact, self.summed))
        ]


def compare_layers(
    layers: Sequence[Mapping[str, Any]],
    trace: Path,
    outputs: Mapping[str, Array],
    reference: Mapping[str, Array],
    beside: AdjacentWindows,
    exactly: Exactly,
    steps: Steps = (),
    requantise: str = EXACT,
    second: Second | None = None,
) -> PerLayer:
    """Compare what is in ``trace`` (execution order) and the program's ``outputs`` with the model.

    ``reference``: what the model computes of the same inputs, by ONNX name, for shapes and types.
    ``steps``: those of the report.  ``requantise``: whose arithmetic integers follow.
    ``beside``: what its pieces make of results, where a part of the largest magnitude is added to
    whatever is rounded (``model.frontend.reference_beside``).
    ``exactly``: what the model makes of results in exact arithmetic, as far as it is known; asked
    where a layer computes in integers.
    ``second``: what its pieces make of results in float64, asked where some differ.
    Raises EdgeconvError when the trace does not have the length that the layers state.
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
    own = beside(results, 0.0)
    left = {str(layers[n]["name"]): each for n, each in unread(steps).items()}
    found = [(n, name, with_unread(got, own[name], left.get(n))) for n, name, got in found]
    integers, real = in_integers(layers, results), exactly(results)
    others = in_integers(layers, results, IN_WHOLE_NUMBERS) - integers
    exact = _in_integers(found, own, real, integers, left)
    summed = _in_integers(found, own, real, others, left, rounded=True)
    judged = _judged(found, results, own, beside, unknown, exact)
    judged = replace(judged, requantise=requantise, summed=summed)
    return _settled(judged, found, results, own, second, left) if second else judged


def _settled(
    judged: PerLayer,
    found: Sequence[tuple[str, str, Array]],
    results: Mapping[str, Array],
    own: Mapping[str, Array],
    second: Second,
    left: Mapping[str, Unread],
) -> PerLayer:
    """``judged``, but that layers which differ from ``own`` are held to float64 where they are what
    that makes, or as near to it as other float32 results."""
    differ = set(judged.defects(second.tolerance)) - judged.exact.keys()
    wide = second.in_float64(results) if differ else {}
    written = second.as_written(results) if wide else {}
    largest = largest_of((*results.values(), *wide.values())) if wide else 0.0
    nearer: dict[str, Difference] = {}
    for layer, name, got in found:
        if layer not in differ or name not in wide:
            continue
        right = wide[name].astype(got.dtype) if got.dtype.itemsize < _FLOAT32_BYTES else wide[name]
        difference = compare(name, with_unread(got, right, left.get(layer)), right)
        theirs = compare(name, own[name], right)
        others = [compare(name, written[name], right)] if name in written else []
        near = difference.within(second.tolerance) and is_rounding(theirs, largest, others)
        if near or same_order(difference, [theirs, *others]):
            nearer[layer] = difference
    differences = {**judged.differences, **nearer}
    return replace(judged, differences=differences, in_float64=tuple(nearer))


def in_integers(
    layers: Sequence[Mapping[str, Any]],
    known: Collection[str],
    computing_as: Collection[str] = EXACTLY,
) -> frozenset[str]:
    """The tensors of ``known`` that layers of one of these types compute from others of them:
    nothing in between has more to do than to move numbers."""
    own = {str(layer["output"]): original_name(layer) for layer in layers}
    # By output, whether something is computed since tensors of ``known``, and all of it so.
    since: dict[str, tuple[bool, bool]] = {}
    found = set()
    for layer in layers:  # in the order of execution
        output, moves = str(layer["output"]), _only_moves(layer)
        through = [
            since[name]
            for name in layer["inputs"]
            if name in since and (own[name] not in known or own[name] == own[output])
        ]
        computed = not moves or any(each for each, _ in through)
        so = (moves or layer.get("compute") in computing_as) and all(each for _, each in through)
        since[output] = computed, so
        if computed and so:
            found.add(own[output])
    return frozenset(found & set(known))


def _only_moves(layer: Mapping[str, Any]) -> bool:
    return layer["op"] in _MOVING or layer.get("algorithm") == _COPIES


def _in_integers(
    found: Sequence[tuple[str, str, Array]],
    own: Mapping[str, Array],
    expected: Mapping[str, Value],
    names: Collection[str],
    left: Mapping[str, Unread],
    *,
    rounded: bool = False,
) -> dict[str, InIntegers]:
    """For every result the judgement, by the layer's name; none of a function that is no rational
    number and was not rounded.  ``left``: by layer what nobody computes.  ``rounded``:
    by float32, within the bound on whose error results are right."""
    judged = {}
    for layer, name, got in found:
        if name in names and name in expected and not np.any(expected[name].real.error):
            value = expected[name]
            exact, theirs = value.near().astype(got.dtype), own[name]
            got = with_unread(got, exact, left.get(layer))
            wrong, apart = got != exact, theirs != exact
            beyond = _beyond_bound(theirs, apart, value)
            wrong = _beyond_bound(got, wrong, value) if rounded else wrong
            counts = (int(np.count_nonzero(each)) for each in (wrong, apart, beyond))
            judged[layer] = InIntegers(got.size, *counts)
    return judged


def _beyond_bound(got: Array, differing: Truths, value: Value) -> Truths:
    """Which of the numbers that are ``differing`` no roundings of float32 explain."""
    if not differing.any():
        return differing
    beyond: Truths = np.abs(got - value.near()) > value.off * (1 + _FLOAT64)
    return differing & beyond


def _judged(
    found: Sequence[tuple[str, str, Array]],
    results: Mapping[str, Array],
    own: Mapping[str, Array],
    beside: AdjacentWindows,
    unknown: int,
    exact: Mapping[str, InIntegers],
) -> PerLayer:
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
    return PerLayer(differences, ties, numbers, unknown, exact)


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
