"""Fourier transforms as products with matrices of sines and cosines, and the windows before them.

A transform of n numbers takes n^2 multiply-adds, which microcontrollers' frames of some hundred
samples can afford, through the micro-kernels of dense layers.
"""

from __future__ import annotations

import math
from collections.abc import Callable, Sequence
from dataclasses import dataclass
from functools import partial

import numpy as np
import numpy.typing as npt

from edgeconv.ir.array_types import array_type
from edgeconv.ir.element_types import BOOL
from edgeconv.ir.graph import Node
from edgeconv.kernels.lowering.options import Stored
from edgeconv.kernels.ops.base import ImportContext, Importer, Operator, Source
from edgeconv.kernels.ops.elementwise import CHOICE, elementwise
from edgeconv.kernels.ops.formula import Formula, Term
from edgeconv.kernels.ops.importing import axis_of, flag, optional_input, single_number
from edgeconv.kernels.ops.run_time_bounds import index_of, number

Matrix = npt.NDArray[np.float64]


@dataclass(frozen=True, slots=True)
class _Transform:
    """A Fourier transform.  ``size``: numbers that are read; ``channels``: 2 where they are
    complex; ``count``: numbers that are written; ``length``: of the signal, padded with zeros; the
    inverse of half of a spectrum (``half``) is real."""

    size: int
    channels: int
    count: int
    length: int
    inverse: bool = False
    half: bool = False

    def matrix(self) -> Matrix:
        """From [size, channels] to [count, 2], or to [count] where the result is real."""
        given, made = np.arange(min(self.size, self.length)), np.arange(self.count)
        sign = 1 if self.inverse else -1
        angles = 2 * np.pi * ((given[:, None] * made) % self.length) / self.length
        turned = np.exp(sign * 1j * angles) / (self.length if self.inverse else 1)
        if self.inverse and self.half:  # the other half is its conjugate
            twice = np.where((given > 0) & (2 * given != self.length), 2.0, 1.0)[:, None]
            rows = np.stack([turned.real * twice, -turned.imag * twice], axis=1)[:, : self.channels]
            return self._padded(rows.reshape(-1, self.count))
        real = np.stack([turned.real, turned.imag], axis=-1)
        imaginary = np.stack([-turned.imag, turned.real], axis=-1)
        rows = np.stack([real, imaginary], axis=1)[:, : self.channels]
        return self._padded(rows.reshape(-1, 2 * self.count))

    def _padded(self, rows: Matrix) -> Matrix:
        more = self.channels * self.size - len(rows)
        return np.pad(rows, ((0, more), (0, 0)))


def _transformed(x: Term, axis: int, transform: _Transform) -> Term:
    """``x`` [..., channels] along ``axis``."""
    formula, rank = x.formula, len(x.shape)
    order = [*(d for d in range(rank) if d not in (axis, rank - 1)), axis, rank - 1]
    turned = x.transpose(*order) if order != list(range(rank)) else x
    outer = turned.shape[:-2]
    matrix = transform.matrix().T.astype(np.float32)
    columns = matrix.shape[0] // transform.count
    rows = turned.reshape(math.prod(outer), matrix.shape[1])
    weights = formula.constant(np.ascontiguousarray(matrix), f"transform{axis}")
    product = formula.add("Dense", (rows, weights, ""), (math.prod(outer), matrix.shape[0]))
    result = product.reshape(*outer, transform.count, columns)
    back = [order.index(d) for d in range(rank)]
    return result.transpose(*back) if back != list(range(rank)) else result


def _length(source: Source, ctx: ImportContext, index: int, size: int) -> int | None:
    """The input that says how long a signal is; ``size`` where it is absent, None of run time."""
    name = optional_input(source, index)
    value = ctx.constant(name) if name else np.asarray(size)
    return None if value is None else int(single_number(source, ctx, value, "a length"))


def _import_dft(source: Source, ctx: ImportContext) -> Sequence[Node]:
    """An axis of run time picks one of the results that have the shape that the model states."""
    formula, out = Formula(source, ctx), ctx.tensor(source.outputs[0]).shape
    x, rank = Term(formula, source.inputs[0]), len(out)
    if len(x.shape) != rank or x.shape[-1:] not in ((1,), (2,)):
        got = f"{list(x.shape)} to {list(out)}"
        raise ctx.reject(source, got, "the last dimension is that of real and imaginary parts")
    inverse, half = flag(source, ctx, "inverse"), flag(source, ctx, "onesided")
    at = optional_input(source, 2) if source.version >= 20 else ""
    known = ctx.constant(at) if at else np.asarray(source.attrs.get("axis", -2))
    axes: Sequence[int] = range(rank - 1)
    if known is not None:
        at_axis = int(single_number(source, ctx, known, "the axis"))
        axes = [axis_of(source, ctx, at_axis, rank)]
    found = {}
    for axis in axes:
        given = x.shape[axis] if not (inverse and half) else 2 * (x.shape[axis] - 1)
        length = _length(source, ctx, 1, given)
        count = out[axis]
        if length is None:  # which the shape tells, but for a half
            length = count if not half or inverse else x.shape[axis]
        made = _Transform(x.shape[axis], x.shape[-1], count, length, inverse, half)
        whole = length // 2 + 1 if half and not inverse else length
        others = all(x.shape[d] == out[d] for d in range(rank - 1) if d != axis)
        if whole == count and others:
            found[axis] = _transformed(x, axis, made)
    if not found:
        got = f"{list(x.shape)} to {list(out)}"
        raise ctx.reject(source, got, "no axis and length lead to the shape that the model states")
    result = next(iter(found.values()))
    for axis, other in [*found.items()][1:]:
        places = formula.typed_constant(np.array([axis, axis - rank]), f"axis{axis}")
        equal = elementwise(formula, "equal", (Term(formula, at), places), BOOL)
        chosen = formula.add("Fold", (equal,), (), f"is{axis}", axis=0, function="max")
        result = elementwise(formula, CHOICE, (chosen, other, result), "float32")
    return formula.finish(result)


def _import_stft(source: Source, ctx: ImportContext) -> Sequence[Node]:
    """Frames of the signal, each weighed by the window and transformed; a length of run time picks
    one of those that lead to the shape that the model states."""
    formula, out = Formula(source, ctx), ctx.tensor(source.outputs[0]).shape
    signal = ctx.tensor(source.inputs[0]).shape
    if len(signal) not in (2, 3) or len(out) != 4:
        got = f"a signal {list(signal)}, spectra {list(out)}"
        raise ctx.reject(
            source, got, "they are [batch, time, 1 or 2] and [batch, frame, frequency, 2]"
        )
    window = optional_input(source, 2)
    half = flag(source, ctx, "onesided", 1)
    length = ctx.tensor(window).size if window else _length(source, ctx, 3, 0)
    if length is not None:
        if length < 1 or out[2] != (length // 2 + 1 if half else length):
            got = f"frames of {length} numbers, {out[2]} frequencies"
            raise ctx.reject(source, got, "a frame has all of its frequencies, or half")
        return formula.finish(_spectra(formula, length))
    lengths = (2 * out[2] - 2, 2 * out[2] - 1) if half else (out[2],)
    found = [(each, _spectra(formula, each)) for each in lengths]
    result = found[0][1]
    for each, other in found[1:]:
        given = Term(formula, source.inputs[3])
        chosen = elementwise(formula, "equal", (given, number(formula, each, "length")), BOOL)
        chosen = chosen.reshape() if chosen.shape else chosen
        result = elementwise(formula, CHOICE, (chosen, other, result), "float32")
    return formula.finish(result)


def _spectra(formula: Formula, length: int) -> Term:
    """The spectra of frames of that ``length``."""
    source, ctx = formula.source, formula.ctx
    out, signal = ctx.tensor(source.outputs[0]).shape, Term(formula, source.inputs[0])
    if len(signal.shape) == 2:
        signal = signal.reshape(*signal.shape, 1)
    if len(signal.shape) != 3:
        rule = "it is [batch, numbers, 1], or 2 of complex ones"
        raise ctx.reject(source, f"a signal of shape {list(signal.shape)}", rule)
    batch, _, channels = signal.shape
    counted = formula.typed_constant(np.arange(out[1]).reshape(-1, 1), "frame")
    within = formula.typed_constant(np.arange(length), "within")
    step = Term(formula, source.inputs[1])
    starts = index_of(formula, "mul", counted, step)
    places = index_of(formula, "add", starts, within)
    last = number(formula, signal.shape[1] - 1, "last")  # of a length that is not chosen
    index = index_of(formula, "min", places, last).reshape(out[1] * length)
    shape = (batch, out[1] * length, channels)
    cut = formula.add("Pick", (signal, index), shape, "frames", axis=1)
    rows = cut.reshape(batch, out[1], length, channels)
    if window := optional_input(source, 2):
        rows = rows * Term(formula, window).reshape(length, 1)
    return _transformed(rows, 2, _Transform(length, channels, out[2], length))


def _window(source: Source, ctx: ImportContext, weights: Callable[[Matrix], Matrix]) -> list[Node]:
    """As long as the model states, ``weights`` of angles from 0 to 2 pi."""
    out = ctx.tensor(source.outputs[0])
    periodic = flag(source, ctx, "periodic", 1)
    size = out.size if periodic else max(out.size - 1, 1)
    values = weights(2 * np.pi * np.arange(out.size) / size)
    return stated(source, ctx, values)


def stated(source: Source, ctx: ImportContext, values: npt.NDArray[np.generic]) -> list[Node]:
    """The constant that follows from the shape that a model states.

    Raises EdgeconvError where the operator's result has not as many dimensions."""
    formula, out = Formula(source, ctx), ctx.tensor(source.outputs[0])
    if len(out.shape) != values.ndim:
        rule = f"the result of {source.op_type} has {values.ndim} dimension(s)"
        raise ctx.reject(source, f"a result stated as {list(out.shape)}", rule)
    constant = formula.typed_constant(values.astype(array_type(out.dtype)), "stated")
    return formula.finish(formula.add("Identity", (constant,), out.shape))


_HAMMING = 25 / 46
_WINDOWS: dict[str, Callable[[Matrix], Matrix]] = {
    "HannWindow": lambda angle: 0.5 - 0.5 * np.cos(angle),
    "HammingWindow": lambda angle: _HAMMING - (1 - _HAMMING) * np.cos(angle),
    "BlackmanWindow": lambda angle: 0.42 - 0.5 * np.cos(angle) + 0.08 * np.cos(2 * angle),
}
_TABLE: dict[str, Importer] = {
    "DFT": _import_dft,
    "STFT": _import_stft,
    **{op_type: partial(_window, weights=weights) for op_type, weights in _WINDOWS.items()},
}

OPERATOR = Operator(name="Spectrum", onnx=_TABLE, typed=_TABLE, stored=Stored.BOTH)
