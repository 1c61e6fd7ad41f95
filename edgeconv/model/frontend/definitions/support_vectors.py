"""Support vectors of ai.onnx.ml as standard operators
(https://onnx.ai/onnx/operators/index.html#ai-onnx-ml).

Of a classifier every pair of classes i < j has a score of its own, above 0 for the first: the
coefficients of the vectors of both by their kernels, and rho.  Labels are by most votes.  Where
the specification is silent, results are ONNX Runtime's.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from itertools import combinations

import numpy as np
import onnx
from onnx import TensorProto, helper

from edgeconv.kernels.ops.coupling import MOST_CLASSES, attributes_of
from edgeconv.model.frontend.definitions.definition import Definition, Row, Values
from edgeconv.model.frontend.definitions.ensembles import DOMAIN
from edgeconv.model.frontend.definitions.features import features, labels
from edgeconv.model.frontend.definitions.fused import number, text
from edgeconv.model.frontend.definitions.learned import LABELS, transformed, two_dimensional, two_of

_KERNELS = ("LINEAR", "POLY", "RBF", "SIGMOID")


def _products(d: Definition, x: str, vectors: Values) -> str:
    """For rows and support vectors what ``kernel_type`` says: [samples, vectors]."""
    kind = text(d, "kernel_type") or "LINEAR"
    gamma, offset, degree = [*d.numbers("kernel_params"), 0.0, 0.0, 0.0][:3]
    if kind not in _KERNELS:
        raise d.rejected(f"kernel_type {kind!r}", f"it is one of {', '.join(_KERNELS)}")
    if kind == "RBF":  # by differences: a difference of squares would lose what matters
        rows = d.add("Unsqueeze", [x, d.add_constant("axes", np.array([1]))])
        apart = d.add("Sub", [rows, d.add_constant("vectors", vectors[None])])
        axes = d.add_constant("axes", np.array([-1]))
        total = d.add("ReduceSumSquare", [apart, axes], keepdims=0)
        return d.add("Exp", [d.add("Mul", [total, number(d, "gamma", -gamma)])])
    product = d.add("Gemm", [x, d.add_constant("vectors", vectors)], transB=1)
    if kind == "LINEAR":
        return product
    scaled = d.add("Mul", [product, number(d, "gamma", gamma)])
    moved = d.add("Add", [scaled, number(d, "offset", offset)])
    if kind == "SIGMOID":
        return d.add("Tanh", [moved])
    return d.add("Pow", [moved, number(d, "degree", degree)])


def _support_regressor(d: Definition) -> None:
    """The sum of coefficient times kernel over the support vectors, and rho."""
    count, supports = features(d), d.integer("n_supports", 0)
    coefficients, rho = d.numbers("coefficients"), d.numbers("rho")
    given, x = d.numbers("support_vectors"), two_dimensional(d)
    wanted = supports or count
    if len(given) != supports * count or len(coefficients) != wanted or len(rho) != 1:
        got = f"{len(given)} numbers of {supports} vectors, {len(coefficients)} coefficients"
        raise d.rejected(got, f"vectors have {count} numbers, each has a coefficient; rho is one")
    values = x
    if supports:
        values = _products(d, x, np.asarray(given, np.float32).reshape(supports, count))
    weights = np.asarray(coefficients, np.float32).reshape(1, -1)
    operands = [
        d.add_constant("coefficients", weights),
        d.add_constant("rho", np.asarray(rho, np.float32)),
    ]
    total = d.add("Gemm", [values, *operands], transB=1)
    if d.flag("one_class"):
        inside = d.add("Greater", [total, number(d, "zero", 0.0)])
        signs = [number(d, name, value) for name, value in (("in", 1.0), ("out", -1.0))]
        total = d.add("Where", [inside, *signs])
    transformed(d, total, 1, text(d, "post_transform") or "NONE", d.node.output[0])


def _support_classifier(d: Definition) -> None:
    """Labels, and the pairs' scores or, where prob_a and prob_b say how, probabilities."""
    count = max(len(d.attr(name, ())) for name in LABELS)
    each = d.numbers("vectors_per_class", int)
    if not each:
        raise d.rejected("no support vectors", "engines disagree on the labels of what is left")
    if len(each) != count or count < 2 or min(each) < 0:
        got = f"{len(each)} vectors_per_class of {count} labels"
        raise d.rejected(got, "there are two labels or more, and each has its vectors")
    scores = _pair_scores(d, each)
    pairs = list(combinations(range(count), 2))
    best = d.add("ArgMax", [_votes(d, scores, pairs, count)], axis=-1, keepdims=0)
    labels(d, best, LABELS, d.output(0) or d.add("Identity", [best]))
    if not d.output(1):
        return
    kind = text(d, "post_transform") or "NONE"
    if d.attr("prob_a") is not None:
        transformed(d, _coupled(d, scores, count), count, kind, d.output(1))
    elif count == 2 and kind != "NONE":
        got = f"post_transform {kind!r} of the score of two classes"
        raise d.rejected(got, "engines disagree on it", "write the model with post_transform NONE")
    elif count == 2:
        d.add("Identity", [two_of(d, scores, "opposite")], d.output(1))
    else:
        transformed(d, scores, len(pairs), kind, d.output(1))


def _pair_scores(d: Definition, each: Sequence[int]) -> str:
    """[samples, pairs]: of classes i < j row j - 1 of the coefficients has those of the vectors of
    i, and row i those of the vectors of j."""
    wide, total, count = features(d), sum(each), len(each)
    given, rho = d.numbers("support_vectors"), d.numbers("rho")
    coefficients, pairs = d.numbers("coefficients"), list(combinations(range(count), 2))
    rows = len(coefficients), len(rho)
    if len(given) != total * wide or rows != ((count - 1) * total, len(pairs)):
        got = f"{len(given)} numbers of {total} vectors, {rows[0]} coefficients, {rows[1]} rho"
        rule = f"vectors have {wide} numbers and {count - 1} coefficients, {len(pairs)} pairs a rho"
        raise d.rejected(got, rule)
    table = np.asarray(coefficients, np.float32).reshape(count - 1, total)
    starts = np.cumsum([0, *each])
    weights = np.zeros((len(pairs), total), np.float32)
    for row, (i, j) in zip(weights, pairs, strict=True):
        for own, other in ((i, j - 1), (j, i)):
            row[starts[own] : starts[own + 1]] = table[other, starts[own] : starts[own + 1]]
    vectors = np.asarray(given, np.float32).reshape(total, wide)
    operands = [
        _products(d, two_dimensional(d), vectors),
        d.add_constant("coefficients", weights),
        d.add_constant("rho", np.asarray(rho, np.float32)),
    ]
    return d.add("Gemm", operands, transB=1)


def _votes(d: Definition, scores: str, pairs: Sequence[tuple[int, int]], count: int) -> str:
    """[samples, classes]: how many pairs are won."""
    won = np.zeros((len(pairs), count), np.float32)
    lost = np.zeros(count, np.float32)
    for row, (i, j) in zip(won, pairs, strict=True):
        row[i], row[j] = 1, -1
        lost[j] += 1
    first = d.add("Greater", [scores, number(d, "zero", 0.0)])
    counts = d.add("Cast", [first], to=TensorProto.FLOAT)
    return d.add("Gemm", [counts, d.add_constant("won", won), d.add_constant("lost", lost)])


def _coupled(d: Definition, scores: str, count: int) -> str:
    """[samples, classes]: Platt's 1 / (1 + exp(a s + b)) of every pair, coupled: what is left is a
    classifier of the log odds -(a s + b), which `kernels/ops/coupling.py` compiles."""
    a, b = d.numbers("prob_a"), d.numbers("prob_b")
    pairs = count * (count - 1) // 2
    if len(a) != pairs or len(b) != pairs:
        rule = f"each of {pairs} pair{'s' * (pairs > 1)} of classes has one"
        raise d.rejected(f"{len(a)} prob_a and {len(b)} prob_b", rule)
    if count > MOST_CLASSES:
        got, rule = f"prob_a of {count} classes", f"up to {MOST_CLASSES} classes are coupled"
        raise d.rejected(got, rule, "end the network at its label, or convert it without them")
    factors = d.add_constant("prob_a", -np.asarray(a, np.float32))
    scaled = d.add("Mul", [scores, factors])
    odds = d.add("Sub", [scaled, d.add_constant("prob_b", np.asarray(b, np.float32))])
    return d.add_second("SVMClassifier", [odds], domain=DOMAIN, **attributes_of(count))


def _is_more(node: onnx.NodeProto) -> bool:
    """Whether a classifier is more than the coupling of its features."""
    found = {each.name: helper.get_attribute_value(each) for each in node.attribute}
    if set(found.get("prob_a", ())) != {-1.0} or found.get("kernel_type") != b"LINEAR":
        return True
    count = len(found.get("classlabels_ints", ()))
    if not 2 <= count <= MOST_CLASSES:
        return True
    own = {k: v.encode() if isinstance(v, str) else v for k, v in attributes_of(count).items()}
    return found != own


ROWS: Mapping[str, Row] = {
    "SVMRegressor": Row("X", _support_regressor, integers=False),
    "SVMClassifier": Row("X", _support_classifier, integers=False, when=_is_more),
}
