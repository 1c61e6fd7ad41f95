"""QONNX: quantisers of any number of bits, as Brevitas writes them and hls4ml and FINN read them.

Pappalardo et al. 2022, "QONNX: Representing Arbitrary-Precision Quantized Neural Networks"; where
the paper leaves a choice, numbers are those of qonnx's executor.  A result is a real number that
was rounded.  Where its numbers are whole multiples of one spacing, integers are written beside:
a constant as DequantizeLinear of them, what is computed at run time with QuantizeLinear and
DequantizeLinear behind it, between which a Clip has the bounds, as in the QCDQ format.
"""

from __future__ import annotations

from collections.abc import Callable, Mapping
from dataclasses import dataclass
from typing import Any

import ml_dtypes
import numpy as np

from edgeconv.model.frontend.definitions.definition import Definition, Row, Values
from edgeconv.model.frontend.definitions.fused import number, text

DOMAINS = ("qonnx.custom_op.general", "finn.custom_op.general", "onnx.brevitas")
_WHOLE = tuple(  # of constants, the smallest first
    np.dtype(kind) for kind in (ml_dtypes.int4, np.int8, np.int16, np.int32)
)
_MOST_THRESHOLDS = 255
Kind = np.dtype[Any]
Ends = tuple[np.float32, np.float32]


@dataclass(frozen=True, slots=True)
class _Mode:
    """A way of rounding to whole numbers: ``array`` of float32, and ``write`` as nodes."""

    array: Callable[[Values], Values]
    write: Callable[[Definition, str], str]


def _plain(array: Callable[[Values], Values], op: str) -> _Mode:
    return _Mode(array, lambda d, x: d.add(op, [x]))


def _of_magnitude(array: Callable[[Values], Values], op: str, offset: float = 0.0) -> _Mode:
    """The mode that rounds the magnitude plus ``offset`` and puts the sign back."""

    def rounded(x: Values) -> Values:
        return np.asarray(np.sign(x) * array(np.abs(x) + np.float32(offset)))

    def write(d: Definition, x: str) -> str:
        size = d.add("Abs", [x])
        size = d.add("Add", [size, number(d, "offset", offset)]) if offset else size
        return d.add("Mul", [d.add("Sign", [x]), d.add(op, [size])])

    return _Mode(rounded, write)


_HALF_EVEN = _plain(np.rint, "Round")
_MODES: Mapping[str, _Mode] = {
    "ROUND": _HALF_EVEN,
    "HALF_EVEN": _HALF_EVEN,
    "CEIL": _plain(np.ceil, "Ceil"),
    "FLOOR": _plain(np.floor, "Floor"),
    "UP": _of_magnitude(np.ceil, "Ceil"),
    "DOWN": _of_magnitude(np.floor, "Floor"),
    "HALF_UP": _of_magnitude(np.floor, "Floor", 0.5),
    "HALF_DOWN": _of_magnitude(np.ceil, "Ceil", -0.5),
}


def _mode(d: Definition, default: str) -> _Mode:
    name = text(d, "rounding_mode").upper() or default
    if name not in _MODES:
        raise d.rejected(f"rounding_mode {name!r}", f"it is one of {', '.join(_MODES)}")
    return _MODES[name]


def _given(d: Definition, index: int) -> Values:
    """The numbers of an input that is constant, as float32."""
    value, what = d.constant(index), d.operands[index]
    if value is None:
        raise d.rejected(f"{what} computed at run time", f"{what} is constant")
    if not value.size or value.dtype.kind not in "fiu" or not np.isfinite(value).all():
        got = f"{what} {list(value.shape)} of {value.dtype}"
        raise d.rejected(got, f"{what} has elements, which are finite numbers")
    return value.astype(np.float32)


def _one(d: Definition, index: int) -> np.float32:
    """The number that an input is."""
    value = _given(d, index)
    if value.size != 1:
        what = d.operands[index]
        raise d.rejected(f"{what} {list(value.shape)}", f"{what} is one number")
    return np.float32(value.reshape(()))


def _scale(d: Definition, index: int) -> Values:
    """The scale at an input, which divides what is rounded."""
    scale = _given(d, index)
    if not (scale >= np.finfo(np.float32).tiny).all():
        got = f"{d.operands[index]} {scale.min():g}"
        raise d.rejected(got, "scales are positive and not subnormal")
    return scale


def _bounds(d: Definition, bits: np.float32) -> Ends:
    """The smallest and the largest number before rounding; of bits that are no whole number they
    are none either."""
    if not 0 < bits <= 64:
        raise d.rejected(f"a bit width of {bits:g}", "bit widths are from 1 to 64")
    signed, narrow = bool(d.integer("signed", 1)), bool(d.integer("narrow", 0))
    two, one = np.float32(2), np.float32(1)
    if signed:
        half = two ** (bits - one)
        return -half + one if narrow else -half, half - one
    return np.float32(0), two**bits - (two if narrow else one)


def _quant(d: Definition) -> None:
    """(round(min(max(x / scale + zero point, low), high)) - zero point) scale; of one bit with a
    sign 1 or -1 instead of what is rounded, 1 of 0."""
    d.check_real(0)
    scale, zero, bits = _scale(d, 1), _given(d, 2), _one(d, 3)
    mode = _mode(d, "ROUND")
    low, high = _bounds(d, bits)
    sign = bool(bits == 1 and d.integer("signed", 1))
    x = d.constant(0)
    if x is not None:
        steps = x.astype(np.float32) / scale + zero
        whole = _sign(steps) if sign else mode.array(np.clip(steps, low, high))
        _write_constant(d, whole, zero, scale)
        return
    ends = np.array((-1.0, 1.0) if sign else mode.array(np.array((low, high))))
    spread = (float(ends[0] - zero.max()), float(ends[1] - zero.min()))
    whole_zero = bool((zero == np.rint(zero)).all())
    if mode is _HALF_EVEN and not zero.any() and not sign and _integers(spread):
        _rounded(d, d.input(0), scale, spread)  # QuantizeLinear rounds so itself
        return
    if sign and not zero.any():
        _signed(d, scale)
        return
    y = _divided(d, scale, zero)
    y = _write_sign(d, y) if sign else mode.write(d, _clipped(d, y, (low, high)))
    _scaled(d, y, zero, scale, spread if whole_zero else None)


def _sign(x: Values) -> Values:
    return np.where(x < 0, np.float32(-1), np.float32(1))


def _write_sign(d: Definition, x: str, size: float = 1.0) -> str:
    below = d.add("Less", [x, number(d, "nought", 0.0)])
    return d.add("Where", [below, number(d, "minus", -size), number(d, "plus", size)])


def _signed(d: Definition, scale: Values) -> None:
    """Make the scale with the sign of input 0, which no positive scale changes, what the node
    writes."""
    zero, spread = np.zeros((), np.float32), (-1.0, 1.0)
    if scale.size == 1:
        _rounded(d, _write_sign(d, d.input(0), float(scale.reshape(()))), scale, spread)
    else:
        _scaled(d, _write_sign(d, d.input(0)), zero, scale, spread)


def _divided(d: Definition, scale: Values, zero: Values) -> str:
    """Input 0 divided by ``scale``, plus ``zero``."""
    y = d.add("Div", [d.input(0), d.add_constant("scale", scale)])
    return d.add("Add", [y, d.add_constant("zero", zero)]) if zero.any() else y


def _clipped(d: Definition, x: str, ends: Ends) -> str:
    low, high = map(float, ends)
    return d.add("Clip", [x, number(d, "low", low), number(d, "high", high)])


def _scaled(
    d: Definition, y: str, zero: Values, scale: Values, spread: tuple[float, float] | None
) -> None:
    """Make (``y`` - ``zero``) ``scale`` what the node writes.  ``spread``: the whole numbers that
    the difference is between, None where it is none."""
    if zero.any():
        y = d.add("Sub", [y, d.add_constant("zero", zero)])
    factors = [y, d.add_constant("scale", scale)]
    if spread is None or not _integers(spread) or (scale.size > 1 and _axis(scale) is None):
        d.add("Mul", factors, d.node.output[0])
    else:
        _rounded(d, d.add("Mul", factors), scale, spread)


def _axis(scale: Values) -> int | None:
    """The axis, from the back, along which a scale of several numbers lies; None for several."""
    along = [axis - scale.ndim for axis in range(scale.ndim) if scale.shape[axis] > 1]
    return along[0] if len(along) == 1 else None


def _integers(spread: tuple[float, float]) -> tuple[Kind, int] | None:
    """The integers, and their zero point, that whole numbers from the first to the second of
    ``spread`` are; None where there are more, or 0 is not among them."""
    low, high = map(int, spread)
    if low > 0 or high < 0:
        return None
    kinds: tuple[Kind, ...] = (*map(np.dtype, ("int8", "uint8", "int16", "uint16")),)
    for kind in kinds:
        limits = np.iinfo(kind)
        if limits.min <= low and high <= limits.max:
            return kind, 0
        if limits.min == 0 and high - low <= limits.max:
            return kind, -low
    return None


def _rounded(d: Definition, x: str, scale: Values, spread: tuple[float, float]) -> None:
    """Make ``x``, rounded to multiples of ``scale`` within ``spread``, what the node writes."""
    found = _integers(spread)
    assert found is not None
    kind, origin = found
    axis = _axis(scale)
    if scale.size > 1 and axis is None:
        got = f"{d.operands[1]} {list(scale.shape)}"
        raise d.rejected(got, "scales are one number, or one per index of an axis")
    units = scale.reshape(-1 if scale.size > 1 else ())
    zeros = np.full(units.shape, origin, kind)
    scaling = [d.add_constant("scale", units), d.add_constant("zero", zeros)]
    attrs: dict[str, Any] = {} if axis is None else {"axis": axis}
    steps = d.add("QuantizeLinear", [x, *scaling], **attrs)
    low, high = (int(end) + origin for end in spread)
    if (low, high) != (np.iinfo(kind).min, np.iinfo(kind).max):
        ends = (np.asarray(end, kind) for end in (low, high))
        names = [d.add_constant(f"end{i}", end) for i, end in enumerate(ends)]
        steps = d.add("Clip", [steps, *names])
    d.add("DequantizeLinear", [steps, *scaling], d.node.output[0], **attrs)


def _write_constant(d: Definition, whole: Values, zero: Values, scale: Values) -> None:
    """Make (``whole`` - ``zero``) ``scale`` what the node writes, as integers where they are."""
    steps, y = whole - zero, d.node.output[0]
    axis = _axis(scale)
    kind = _smallest(steps)
    if kind is None or (scale.size > 1 and axis is None) or d.folds:
        real = np.asarray(steps * scale, np.float32)
        d.add("Identity", [d.add_constant("real", real)], y)
        return
    units = d.add_constant("scale", scale.reshape(-1 if scale.size > 1 else ()))
    inputs = [d.add_constant("steps", steps.astype(kind)), units]
    attrs: dict[str, Any] = {} if axis is None else {"axis": axis}
    d.add("DequantizeLinear", inputs, y, **attrs)


def _smallest(whole: Values) -> Kind | None:
    """The smallest type of integers that has ``whole``; None where there is none."""
    if not whole.size or not np.isfinite(whole).all() or (whole != np.rint(whole)).any():
        return None
    low, high = float(whole.min()), float(whole.max())
    held = (kind for kind in _WHOLE if ml_dtypes.iinfo(kind).min <= low)
    return next((kind for kind in held if high <= ml_dtypes.iinfo(kind).max), None)


def _bipolar_quant(d: Definition) -> None:
    """scale where x is at least 0, -scale elsewhere."""
    d.check_real(0)
    scale, x = _scale(d, 1), d.constant(0)
    if x is not None:
        _write_constant(d, _sign(x), np.zeros((), np.float32), scale)
        return
    _signed(d, scale)


def _trunc(d: Definition) -> None:
    """Bits left out.

    Version 1 of the domain, with five inputs: (f(round(x / s + z) / 2^(bits - fewer)) - z) s.
    Version 2, with six: of t = 2^round(log2(s2 / s)), f(clip(round(x / s + z) / t)) less z / t,
    times s2.
    """
    d.check_real(0)
    scale, zero = _scale(d, 1), _given(d, 2)
    mode, ends = _mode(d, "FLOOR"), None
    if d.input(5):
        unit = _scale(d, 4)
        times = np.asarray(np.exp2(np.rint(np.log2(unit / scale))), np.float32)
        ends = _bounds(d, _one(d, 5))
        origin = np.asarray(zero / times, np.float32)
    else:
        unit, origin = scale, zero
        times = np.asarray(np.exp2(_one(d, 3) - _one(d, 4)), np.float32)
    x = d.constant(0)
    if x is not None:
        steps = np.rint(x.astype(np.float32) / scale + zero) / times
        _write_constant(d, mode.array(np.clip(steps, *ends) if ends else steps), origin, unit)
        return
    y = d.add("Round", [_divided(d, scale, zero)])
    y = d.add("Div", [y, d.add_constant("times", times)])
    y = _clipped(d, y, ends) if ends else y
    spread = None
    if ends is not None and (origin == np.rint(origin)).all():
        low, high = map(float, mode.array(np.array(ends)))
        spread = (low - float(origin.max()), high - float(origin.min()))
    _scaled(d, mode.write(d, y), origin, unit, spread)


_FEWEST_MANTISSA_BITS, _MOST_MANTISSA_BITS, _MOST_EXPONENT_BITS = 0, 10, 5


def _float_quant(d: Definition) -> None:
    """A float of few bits: f(x / (s u)) u s, no larger than ``max_val`` s, where u is the distance
    between neighbours, 2^(floor(log2 |x / s|) - mantissa bits), but no smaller than that of
    subnormal numbers."""
    d.check_real(0)
    scale = _scale(d, 1)
    exponent, mantissa, bias, most = (_one(d, index) for index in range(2, 6))
    mode = _mode(d, "ROUND")
    whole = all(each == np.rint(each) for each in (exponent, mantissa, bias))
    fits = _FEWEST_MANTISSA_BITS <= mantissa <= _MOST_MANTISSA_BITS
    if not whole or not fits or not 1 <= exponent <= _MOST_EXPONENT_BITS:
        got = f"{exponent:g} bits of exponent, {mantissa:g} of mantissa, bias {bias:g}"
        rule = f"at most {_MOST_EXPONENT_BITS} and {_MOST_MANTISSA_BITS} are rounded to"
        raise d.rejected(got, rule)
    if not d.integer("saturation", 1):
        raise d.rejected("saturation 0", "numbers that are too large become the largest")
    finest = int(1 - bias - mantissa)
    last = 2**exponent - 1 - bias
    largest = min((2 - np.exp2(-mantissa)) * np.exp2(last), most)
    x = d.constant(0)
    if x is not None:
        y = x.astype(np.float32) / scale
        _, above = np.frexp(y)  # of 0 it is 0
        unit = np.exp2(np.maximum(above - 1 - mantissa, finest)).astype(np.float32)
        real = np.clip(mode.array(y / unit) * unit, -largest, largest) * scale
        d.add("Identity", [d.add_constant("real", real.astype(np.float32))], d.node.output[0])
        return
    scaled = d.add("Div", [d.input(0), d.add_constant("scale", scale)])
    distance = _neighbours(d, scaled, int(1 - bias), int(last), finest)
    rounded = mode.write(d, d.add("Div", [scaled, distance]))
    ends = [number(d, "low", -largest), number(d, "high", largest)]
    clipped = d.add("Clip", [d.add("Mul", [rounded, distance]), *ends])
    d.add("Mul", [clipped, d.add_constant("scale", scale)], d.node.output[0])


def _neighbours(d: Definition, x: str, first: int, last: int, finest: int) -> str:
    """The distance between neighbours at ``x``: 2^finest times 2^(e - first), where e is the
    exponent of x, from ``first`` to ``last``.

    An exponent that is one off for an x next to a power of two leaves the result as it is: that
    power is a multiple of both distances."""
    size = d.add("Max", [d.add("Abs", [x]), number(d, "smallest", 2.0 ** (first - 1))])
    power = d.add("Mul", [d.add("Log", [size]), number(d, "log2e", 1 / np.log(2))])
    above = d.add("Sub", [d.add("Floor", [power]), number(d, "first", first)])
    ends = [number(d, "none", 0.0), number(d, "most", last - first)]
    distance = d.add_constant("powers", np.exp2(finest + np.arange(last - first + 1.0)))
    d.constants[distance] = d.constants[distance].astype(np.float32)
    index = d.add("Cast", [d.add("Clip", [above, *ends])], to=7)  # int64
    return d.add("Gather", [distance, index])


def _multi_threshold(d: Definition) -> None:
    """out_scale times the number of thresholds that x reaches, plus out_bias."""
    d.check_real(0)
    steps, shape, layout = _given(d, 1), d.shape(0), text(d, "data_layout")
    if steps.ndim != 2 or steps.shape[1] > _MOST_THRESHOLDS or not shape:
        got = f"thresholds {list(steps.shape)}"
        raise d.rejected(got, f"they have a row per channel, of at most {_MOST_THRESHOLDS}")
    layout = layout or {2: "NC", 3: "NWC"}.get(len(shape), "")
    axis = layout.index("C") if "C" in layout else min(1, len(shape) - 1)
    if axis >= len(shape) or steps.shape[0] not in (1, shape[axis]):
        got = f"thresholds {list(steps.shape)} of {list(shape)}"
        raise d.rejected(got, "they have one row, or one per channel")
    spread = [-1 if i == axis else 1 for i in range(len(shape))]
    total = ""
    for threshold in np.sort(steps, axis=1).T:
        below = d.add("Less", [d.input(0), d.add_constant("threshold", threshold.reshape(spread))])
        reached = d.add("Where", [below, number(d, "out", 0.0), number(d, "in", 1.0)])
        total = d.add("Add", [total, reached]) if total else reached
    y = d.add("Mul", [total, number(d, "out_scale", d.number("out_scale", 1.0))])
    bias = number(d, "out_bias", d.number("out_bias", 0.0))
    d.add("Add", [y, bias], d.node.output[0])


def _row(names: str, write: Callable[[Definition], None]) -> Row:
    return Row(names, write, engine_differs=True)


_QUANT = _row("X scale zero_point bit_width", _quant)
_TRUNC = "X scale zero_point input_bit_width"
ROWS: Mapping[str, Row] = {
    "Quant": _QUANT,
    "IntQuant": _QUANT,
    "BipolarQuant": _row("X scale", _bipolar_quant),
    "Trunc": _row(f"{_TRUNC} output output_bit_width?", _trunc),
    "FloatQuant": _row(
        "X scale exponent_bit_width mantissa_bit_width exponent_bias max_val", _float_quant
    ),
    "MultiThreshold": _row("X thresholds", _multi_threshold),
}
