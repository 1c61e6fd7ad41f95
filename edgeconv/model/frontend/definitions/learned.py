"""Linear models of ai.onnx.ml as standard operators
(https://onnx.ai/onnx/operators/index.html#ai-onnx-ml).

Where the specification is silent, scores and labels are ONNX Runtime's; where engines disagree, the
node is refused.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence

import numpy as np
from onnx import TensorProto

from edgeconv.model.frontend.definitions.definition import Definition, Row
from edgeconv.model.frontend.definitions.features import features, labels, real
from edgeconv.model.frontend.definitions.fused import number, text

_ELEMENT_WISE = {"NONE": "Identity", "LOGISTIC": "Sigmoid"}
_NEXT_TO_NONE = 1e-7  # scores up to here are none to SOFTMAX_ZERO


def transformed(d: Definition, scores: str, count: int, kind: str, output: str = "") -> str:
    """Make ``output`` of ``scores`` [rows, count] by a post_transform; returns its name."""
    if kind in _ELEMENT_WISE:
        if count == 1 and kind != "NONE":
            raise d.rejected(f"{kind} of one score", "engines disagree on it", _BEFORE)
        return d.add(_ELEMENT_WISE[kind], [scores], output)
    if kind == "SOFTMAX" and count > 1:
        return d.add("Softmax", [scores], output, axis=-1)
    if kind == "SOFTMAX_ZERO" and count > 1:
        return _softmax_of_others(d, scores, output)
    got = f"post_transform {kind!r} of {count} score{'s' if count > 1 else ''}"
    rule = "it is NONE, LOGISTIC, SOFTMAX or SOFTMAX_ZERO, of one score NONE"
    raise d.rejected(got, rule, _BEFORE)


_BEFORE = "write the model with post_transform NONE"


def _softmax_of_others(d: Definition, scores: str, output: str) -> str:
    """exp(s - max), of scores next to 0 s exp(-max) instead, divided by their sum."""
    most = d.add("ReduceMax", [scores, d.add_constant("axes", np.array([-1]))], keepdims=1)
    powers = d.add("Exp", [d.add("Sub", [scores, most])])
    small = d.add("Mul", [scores, d.add("Exp", [d.add("Neg", [most])])])
    some = d.add("Greater", [d.add("Abs", [scores]), number(d, "none", _NEXT_TO_NONE)])
    parts = d.add("Where", [some, powers, small])
    total = d.add("ReduceSum", [parts, d.add_constant("axes", np.array([-1]))], keepdims=1)
    return d.add("Div", [parts, total], output)


def _matrix(d: Definition, rows: int) -> str:
    """X by ``coefficients`` [rows, features], and the intercepts: [samples, rows]."""
    count, given = features(d), d.numbers("coefficients")
    if len(given) != rows * count:
        got = f"{len(given)} coefficients for {rows} rows of {count} features"
        raise d.rejected(got, "there is one for each feature of each row")
    weights = d.add_constant("coefficients", np.asarray(given, np.float32).reshape(rows, count))
    bias = d.numbers("intercepts") or [0.0] * rows
    if len(bias) != rows:
        raise d.rejected(f"{len(bias)} intercepts", f"there are {rows} rows of coefficients")
    operands = [
        two_dimensional(d),
        weights,
        d.add_constant("intercepts", np.asarray(bias, np.float32)),
    ]
    return d.add("Gemm", operands, transB=1)


def two_dimensional(d: Definition) -> str:
    """X of two dimensions."""
    shape, x = d.shape(0) or (), real(d, 0)
    if len(shape) == 1:
        return d.add("Unsqueeze", [x, d.add_constant("axes", np.array([0]))])
    if len(shape) != 2:
        raise d.rejected(f"X of shape {list(shape)}", "it is [samples, features]")
    return x


def _linear_regressor(d: Definition) -> None:
    targets = d.integer("targets", 1)
    kind = text(d, "post_transform") or "NONE"
    transformed(d, _matrix(d, targets), targets, kind, d.node.output[0])


LABELS = ("classlabels_ints", "classlabels_strings")


def _linear_classifier(d: Definition) -> None:
    kind = text(d, "post_transform") or "NONE"
    count = max(len(d.attr(name, ())) for name in LABELS)
    rows = len(d.numbers("coefficients")) // max(features(d), 1)
    scores = _matrix(d, max(rows, 1))
    if rows == 1 and count == 2:
        one = d.add("Greater", [scores, number(d, "zero", 0.0)])
        pair = "opposite" if kind == "LOGISTIC" else "complement"
        _label(d, one, LABELS)
        scores = two_of(d, scores, pair)
        kind = kind if kind == "LOGISTIC" else "NONE"
    elif rows == count and count > 1:
        best = d.add("ArgMax", [scores], axis=-1, keepdims=0)
        labels(d, best, LABELS, d.output(0) or d.add("Identity", [best]))
    else:
        got = f"{rows} rows of coefficients, {count} labels"
        raise d.rejected(got, "each label has a row, or two labels have one")
    if d.output(1):
        transformed(d, scores, count, kind, d.output(1))


def _label(d: Definition, one: str, names: Sequence[str]) -> None:
    """The second label where ``one`` [rows, 1] is true, else the first."""
    index = d.add(
        "Cast",
        [d.add("Squeeze", [one, d.add_constant("last", np.array([-1]))])],
        to=TensorProto.INT64,
    )
    labels(d, index, names, d.output(0) or d.add("Identity", [index]))


def two_of(d: Definition, score: str, pair: str) -> str:
    """The scores of two classes, of which the second has ``score``: the first has what is missing
    to 1 (``complement``), or the ``opposite``."""
    first = (
        d.add("Neg", [score])
        if pair == "opposite"
        else d.add("Sub", [number(d, "one", 1.0), score])
    )
    return d.add("Concat", [first, score], axis=-1)


def second_above(d: Definition, score: str, threshold: float, names: Sequence[str]) -> None:
    """Labels: the second one where its score is above ``threshold``."""
    _label(d, d.add("Greater", [score, number(d, "threshold", threshold)]), names)


ROWS: Mapping[str, Row] = {
    name: Row("X", write, integers=False)
    for name, write in (
        ("LinearRegressor", _linear_regressor),
        ("LinearClassifier", _linear_classifier),
    )
}
