"""Layers whose results or inputs are rounded: each judged by the inputs that it had."""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence
from pathlib import Path
from typing import Any, Protocol

import numpy as np
import numpy.typing as npt

from edgeconv.ir.candidate import HALF
from edgeconv.ir.layout import Layout
from edgeconv.kernels.storage import format_called
from edgeconv.kernels.storage.base import StorageFormat
from edgeconv.run.verify.compare import Difference, compare
from edgeconv.run.verify.layers import Steps, original_name, pieces, unread, with_unread

Array = npt.NDArray[np.generic]
Doubles = npt.NDArray[np.float64]


class RoundedReference(Protocol):
    """The project's network in float32, with the constants that the project ships."""

    @property
    def results_stored(self) -> bool:
        """Whether the project rounds some layer's result, or what a layer computes with."""
        ...

    def outputs(self, feeds: Mapping[str, Array]) -> Mapping[str, Array]:
        """Its outputs."""
        ...

    def beside(
        self, feeds: Mapping[str, Array], results: Mapping[str, Array]
    ) -> Mapping[str, Array]:
        """What each tensor of ``results`` would be, were all others what they are there."""
        ...


def compare_beside(
    layers: Sequence[Mapping[str, Any]],
    trace: Path,
    rounded_reference: RoundedReference,
    feeds: Mapping[str, Array],
    *,
    steps: Steps = (),
    truncate: bool = False,
) -> Iterator[Difference]:
    """How far every traced result is from the rounded_reference's, beyond what its format rounds
    (``truncate``: toward zero).  ``steps``: those of the report.

    Raises EdgeconvError when the trace does not have the length that the layers state.
    """
    results: dict[str, Array] = {}
    stored: dict[str, StorageFormat] = {}
    summed: dict[str, float] = {}
    left = {original_name(layers[n]): each for n, each in unread(steps).items()}
    for layer, memory in zip(layers, pieces(layers, trace, steps), strict=True):
        name, shape = original_name(layer), tuple(layer["output_shape"])
        if name not in results:
            results[name] = Layout.parse(layer["layout_out"]).unpack(memory, shape)
            stored[name] = format_called(layer["storage"]["output"])
            summed[name] = layer["error"] if layer.get("compute") == HALF else 0.0
    for name, wanted in rounded_reference.beside(feeds, results).items():
        moved: Array = _beyond_rounding(results[name], wanted, stored[name], truncate)
        if summed[name]:
            moved = _beyond_sums(moved, wanted, summed[name])
        moved = with_unread(moved, wanted, left.get(name))
        yield compare(name, moved, wanted)


def _beyond_sums(got: Array, wanted: Array, error: float) -> Array:
    """``got``, nearer to ``wanted`` by what sums in float16 may be off; as it is, where it is
    farther off as a whole than such errors are: a sixth of the most that one is."""
    mine, theirs = got.astype(np.float64), wanted.astype(np.float64)
    finite = np.isfinite(theirs)
    largest = np.abs(theirs[finite]).max(initial=0.0)
    with np.errstate(invalid="ignore"):
        off = mine - theirs
    spread = np.sqrt(np.mean(np.square(off), where=np.isfinite(off))) if off.size else 0.0
    if spread > error * largest / 6:
        return got
    moved = theirs + np.sign(off) * np.maximum(np.abs(off) - error * largest, 0.0)
    exact = (mine == theirs) | ~np.isfinite(off)
    return np.where(exact, mine, moved).astype(np.float32)


def _beyond_rounding(
    got: Array, wanted: Array, form: StorageFormat, truncate: bool
) -> npt.NDArray[np.float32]:
    """``got``, nearer to ``wanted`` by what the format may round; truncation only makes smaller."""
    mine, theirs = got.astype(np.float64), wanted.astype(np.float64)
    error = form.truncation_error if truncate else form.relative_error
    may = error * np.maximum(np.abs(theirs), form.smallest)
    with np.errstate(invalid="ignore"):
        off = mine - theirs
        may = np.where(truncate & (off * theirs > 0), 0.0, may)
        moved = theirs + np.sign(off) * np.maximum(np.abs(off) - may, 0.0)
    exact = (mine == theirs) | ~np.isfinite(off)
    return np.where(exact, mine, moved).astype(np.float32)
