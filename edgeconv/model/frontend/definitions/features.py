"""Operators of ai.onnx.ml that prepare features, and those that name classes, as standard ones
(https://onnx.ai/onnx/operators/index.html#ai-onnx-ml)."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import Any

import numpy as np
import onnx
from onnx import TensorProto, numpy_helper

from edgeconv.model.frontend.definitions.definition import Definition, Row, Values
from edgeconv.model.frontend.definitions.fused import number, text

_FEATURES = "features are numbers in the last dimension"
_STRINGS = "strings are not computed"
_TEXTS = ("object", "str", "")


def real(d: Definition, index: int) -> str:
    """An input as float32."""
    if d.dtype(index) in ("float32", "float16", "bfloat16", "float64"):
        return d.input(index)
    if d.dtype(index) in _TEXTS:
        raise d.rejected(f"{d.operands[index]} of strings", _STRINGS)
    return d.add("Cast", [d.input(index)], to=TensorProto.FLOAT)


def features(d: Definition, index: int = 0) -> int:
    """How many an input has."""
    shape = d.shape(index)
    if not shape:
        raise d.rejected(f"{d.operands[index]} of shape {list(shape or ())}", _FEATURES)
    return shape[-1]


def per_feature(d: Definition, name: str, default: float) -> str:
    """A constant: a number for all features, or one for each."""
    given, count = d.numbers(name) or [default], features(d)
    if len(given) not in (1, count):
        raise d.rejected(f"{len(given)} numbers in {name}", f"there are {count} features")
    return d.add_constant(name, np.asarray(given, np.float32))


def _scaler(d: Definition) -> None:
    """(X - offset) * scale."""
    offset, scale = per_feature(d, "offset", 0.0), per_feature(d, "scale", 1.0)
    d.add("Mul", [d.add("Sub", [real(d, 0), offset]), scale], d.node.output[0])


_NORMS = {"MAX": "ReduceMax", "L1": "ReduceL1", "L2": "ReduceL2"}


def _normaliser(d: Definition) -> None:
    """Rows divided by their largest element, the sum of their magnitudes or their length; a row of
    which that is 0 stays."""
    norm, x = text(d, "norm") or "MAX", real(d, 0)
    if norm not in _NORMS or len(d.shape(0) or ()) not in (1, 2):
        got = f"norm {norm!r} of {len(d.shape(0) or ())} dimensions"
        raise d.rejected(got, f"it is {', '.join(_NORMS)} of one or two dimensions")
    axes = d.add_constant("axes", np.array([-1]))
    size = d.add(_NORMS[norm], [x, axes], keepdims=1)
    none = d.add("Equal", [size, number(d, "zero", 0.0)])
    divisor = d.add("Where", [none, number(d, "one", 1.0), size])
    d.add("Div", [x, divisor], d.node.output[0])


def _imputer(d: Definition) -> None:
    """What is missing, NaN unless stated otherwise, becomes a number of each feature's own."""
    whole = bool(d.numbers("imputed_value_int64s", int))
    given = d.numbers("imputed_value_int64s", int) if whole else d.numbers("imputed_value_floats")
    count, kind = features(d), d.dtype(0)
    if len(given) not in (1, count) or whole != (kind == "int64"):
        got = f"{len(given)} numbers for {count} features of {kind or 'strings'}"
        raise d.rejected(got, "there is one number, or one for each feature, of their type")
    imputed = d.add_constant("imputed", np.asarray(given, kind))
    missing = d.attr("replaced_value_int64" if whole else "replaced_value_float", 0)
    if missing != missing:
        absent = d.add("IsNaN", [d.input(0)])
    else:
        absent = d.add("Equal", [d.input(0), d.add_constant("missing", np.asarray(missing, kind))])
    d.add("Where", [absent, imputed, d.input(0)], d.node.output[0])


def _binariser(d: Definition) -> None:
    """1 above the threshold, 0 elsewhere."""
    above = d.add("Greater", [real(d, 0), number(d, "threshold", d.number("threshold", 0.0))])
    d.add("CastLike", [above, d.input(0)], d.node.output[0])


def _extractor(d: Definition) -> None:
    """Features by their indices."""
    indices = d.add("Reshape", [d.input(1), d.add_constant("flat", np.array([-1]))])
    shape = d.shape(0)
    if not shape:
        raise d.rejected(f"X of shape {list(shape or ())}", _FEATURES)
    x = d.input(0)
    if len(shape) == 1:
        x = d.add("Unsqueeze", [x, d.add_constant("axes", np.array([0]))])
    d.add("Gather", [x, indices], d.node.output[0], axis=-1)


def _vectoriser(d: Definition) -> None:
    """Features of all inputs side by side, of each as many as stated, 0 where it has fewer."""
    sizes = d.numbers("inputdimensions", int)
    if len(sizes) != len(d.node.input):
        got = f"{len(sizes)} inputdimensions of {len(d.node.input)} inputs"
        raise d.rejected(got, "each input has one")
    rows = [_rows(d, index, size) for index, size in enumerate(sizes)]
    d.add("Concat", rows, d.node.output[0], axis=1)


def _rows(d: Definition, index: int, size: int) -> str:
    """``size`` features of an input, [rows, size]."""
    shape, x = d.shape(index), real(d, index)
    if shape is None or len(shape) not in (1, 2) or size < 1:
        got = f"{size} features of shape {list(shape or ())}"
        raise d.rejected(got, "inputs have one or two dimensions")
    have = 1 if len(shape) == 1 else shape[1]
    if len(shape) == 1:
        x = d.add("Unsqueeze", [x, d.add_constant("axes", np.array([1]))])
    if size > have:
        return d.add("Pad", [x, d.add_constant("pads", np.array([0, 0, 0, size - have]))])
    if size < have:
        bounds = (np.array([0]), np.array([size]), np.array([1]))
        return d.add("Slice", [x, *(d.add_constant("bounds", value) for value in bounds)])
    return x


def _listed(d: Definition, what: str) -> Values | None:
    """Keys or values of a LabelEncoder, whichever attribute has them."""
    tensor = d.attr(f"{what}_tensor")
    if isinstance(tensor, onnx.TensorProto):
        return numpy_helper.to_array(tensor).reshape(-1)
    kinds: Sequence[tuple[str, Any]] = (("int64s", np.int64), ("floats", np.float32))
    for suffix, kind in kinds:
        given = d.attr(f"{what}_{suffix}")
        if given is not None:
            return np.asarray(given, kind)
    given = d.attr(f"{what}_strings")
    return None if given is None else np.asarray([each.decode() for each in given], object)


def _default(d: Definition, values: Values) -> Values:
    """What a LabelEncoder makes of what is no key."""
    tensor = d.attr("default_tensor")
    if isinstance(tensor, onnx.TensorProto):
        return numpy_helper.to_array(tensor).reshape(-1)[:1]
    if values.dtype == object:
        return np.asarray([(d.attr("default_string") or b"_Unused").decode()], object)
    if values.dtype.kind in "iu":
        return np.asarray([d.integer("default_int64", -1)], values.dtype)
    return np.asarray([d.number("default_float", -0.0)], values.dtype)


def _one_hot(d: Definition) -> None:
    """1 in the column of the category that an element is, of real numbers the whole part.

    Elements that are none have zeros, also where ``zeros`` is 0 and engines raise an error."""
    texts = d.dtype(0) in _TEXTS
    names = [each.decode() for each in d.attr("cats_strings") or ()]
    if names and not texts:
        raise d.rejected("cats_strings of numbers", "categories are of the type of X")
    categories: Sequence[Any] = names if texts else d.numbers("cats_int64s", int)
    if not categories or len(set(categories)) < len(categories):
        which = "cats_strings" if texts else "cats_int64s"
        raise d.rejected(f"{len(categories)} {which}", "there are some, each once")
    whole = d.input(0)
    if not texts and d.dtype(0) != "int64":
        whole = d.add("Cast", [whole], to=TensorProto.INT64)
    last = d.add("Unsqueeze", [whole, d.add_constant("axes", np.array([-1]))])
    kinds = object if texts else np.int64
    same = d.add("Equal", [last, d.add_constant("categories", np.asarray(categories, kinds))])
    d.add("Cast", [same], d.node.output[0], to=TensorProto.FLOAT)


def _encoder(d: Definition) -> None:
    """The value of the first key that an element is equal to; NaN counts as equal to NaN."""
    keys, values = _listed(d, "keys"), _listed(d, "values")
    classes = d.attr("classes_strings")
    if classes is not None:  # version 1: from a number to the string that it counts
        values = np.asarray([each.decode() for each in classes], object)
        keys = np.arange(len(values))
    if keys is None or values is None or len(keys) != len(values) or not len(keys):
        raise d.rejected("keys and values that are not pairs", "each key has a value")
    texts = keys.dtype.kind in "OSU"
    if texts != (d.dtype(0) in _TEXTS):
        raise d.rejected(f"keys of {keys.dtype.name} for an input of another kind", "it is theirs")
    if not texts:
        keys = keys.astype(d.dtype(0))
    table = d.add_constant("values", np.concatenate([values, _default(d, values)]))
    d.add("Gather", [table, _which(d, keys)], d.node.output[0], axis=0)


def _mapped(d: Definition) -> None:
    """The whole number of a string, or the string of a whole number."""
    names = [each.decode() for each in d.attr("cats_strings") or ()]
    numbers = d.numbers("cats_int64s", int)
    if not names or len(names) != len(numbers):
        got = f"{len(names)} cats_strings, {len(numbers)} cats_int64s"
        raise d.rejected(got, "each string has a number")
    pair = np.asarray(names, object), np.asarray(numbers, np.int64)
    text = (d.attr("default_string") or b"_Unused").decode()
    keys, values, other = (*pair, np.asarray([d.integer("default_int64", -1)]))
    if d.dtype(0) not in _TEXTS:
        keys, values, other = (*pair[::-1], np.asarray([text], object))
    table = d.add_constant("values", np.concatenate([values, other]))
    d.add("Gather", [table, _which(d, keys)], d.node.output[0], axis=0)


def _which(d: Definition, keys: Values) -> str:
    """Which key an element of X is, or how many there are where it is none."""
    count, x = len(keys), d.input(0)
    run = keys.dtype.kind in "iu" and np.array_equal(keys - keys[0], np.arange(count))
    if run:  # keys in order: the difference to the first
        place = d.add("Sub", [x, d.add_constant("first", keys[0])])
        low, high = (d.add_constant("end", np.asarray(n, keys.dtype)) for n in (0, count))
        inside = d.add("And", [d.add("GreaterOrEqual", [place, low]), d.add("Less", [place, high])])
        return d.add("Where", [inside, place, high])
    last = d.add("Unsqueeze", [x, d.add_constant("axes", np.array([-1]))])
    same = d.add("Equal", [last, d.add_constant("keys", keys)])
    if keys.dtype.kind == "f" and np.isnan(keys).any():
        missing = d.add("And", [d.add("IsNaN", [last]), d.add_constant("nan", np.isnan(keys))])
        same = d.add("Or", [same, missing])
    found = d.add("Cast", [same], to=TensorProto.INT32)
    shape = d.shape(0)
    if shape is None:
        raise d.rejected("X of an unknown shape", "its shape is known")
    none = d.add_constant("none", np.ones((*shape, 1), np.int32))
    return d.add("ArgMax", [d.add("Concat", [found, none], axis=-1)], axis=-1, keepdims=0)


def labels(d: Definition, index: str, names: Sequence[str], output: str) -> None:
    """Make ``output`` the labels that the attributes ``names`` list, by their index; the index
    itself where there are none."""
    for name in names:
        given = d.attr(name)
        if given is not None and len(given):
            texts = isinstance(given[0], bytes)
            table = [each.decode() for each in given] if texts else given
            value = np.asarray(table, object if texts else np.int64)
            d.add("Gather", [d.add_constant("labels", value), index], output, axis=0)
            return
    d.add("Identity", [index], output)


def _refused_map(d: Definition) -> None:
    raise d.rejected("a map", "tensors are computed", "end the network in front of it")


ROWS: Mapping[str, Row] = {
    name: Row(inputs, write, more, integers=False)
    for name, inputs, write, more in (
        ("Scaler", "X", _scaler, ""),
        ("Normalizer", "X", _normaliser, ""),
        ("Imputer", "X", _imputer, ""),
        ("Binarizer", "X", _binariser, ""),
        ("ArrayFeatureExtractor", "X Y", _extractor, ""),
        ("FeatureVectorizer", "", _vectoriser, "X"),
        ("CategoryMapper", "X", _mapped, ""),
        ("LabelEncoder", "X", _encoder, ""),
        ("OneHotEncoder", "X", _one_hot, ""),
        ("ZipMap", "X", _refused_map, ""),
    )
}
