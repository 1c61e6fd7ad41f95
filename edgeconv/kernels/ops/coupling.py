"""Probabilities of classes from those of their pairs, as support vector machines have them: the
iteration of Wu, Lin and Weng, "Probability Estimates for Multi-class Classification by Pairwise
Coupling" (2004), Algorithm 2, which ends as libsvm and ONNX Runtime end it."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from itertools import combinations
from typing import Any

import numpy as np

from edgeconv.ir.activation import Activation
from edgeconv.ir.choice import Layer
from edgeconv.ir.graph import Epilogue, Graph, Node
from edgeconv.ir.layout import Shape
from edgeconv.kernels.lowering.calls import FLOAT_BYTES, kernel_layer
from edgeconv.kernels.lowering.options import Stored
from edgeconv.kernels.lowering.work import Call
from edgeconv.kernels.ops.base import ImportContext, Operator, Source
from edgeconv.kernels.ops.formula import Formula, Term
from edgeconv.target.targets import Target

MOST_CLASSES = 32  # whose pairs have a row of a table each, see `attributes_of`
LEAST = 1e-7  # probability of a class of a pair
_ROUNDS = 5  # that are priced: 4 were most of 1,680 rows of random pairs, up to 32 classes
# Of an element of a round: two divisions that wait for each other, and their products.  Slots of
# cores without vectors are longer.
_SLOTS, _SCALAR_SLOTS = 40.0, 10.0


def attributes_of(count: int) -> Mapping[str, Any]:
    """The attributes of an SVMClassifier of so many classes that does nothing but couple: its
    features are the log odds of the pairs i < j, and its scores.

    Class i has a unit vector for each pair whose first class it is, and a vector of zeros, so that
    it has one at least."""
    pairs = list(combinations(range(count), 2))
    vectors = np.zeros((len(pairs) + count, len(pairs)), np.float32)
    coefficients = np.zeros((count - 1, len(vectors)), np.float32)
    for number, (first, second) in enumerate(pairs):
        vectors[number + first, number] = coefficients[second - 1, number + first] = 1
    return {
        "classlabels_ints": list(range(count)),
        "coefficients": coefficients.ravel().tolist(),
        "kernel_params": [0.0, 0.0, 3.0],
        "kernel_type": "LINEAR",
        "post_transform": "NONE",
        "prob_a": [-1.0] * len(pairs),
        "prob_b": [0.0] * len(pairs),
        "rho": [0.0] * len(pairs),
        "support_vectors": vectors.ravel().tolist(),
        "vectors_per_class": [count - i for i in range(count)],
    }


def _shape(source: Source, ctx: ImportContext) -> Shape | None:
    return ctx.tensor(source.inputs[0]).shape[0], len(source.attrs["classlabels_ints"])


def _import(source: Source, ctx: ImportContext) -> Sequence[Node]:
    """The import of an SVMClassifier with the attributes of `attributes_of`; others are not
    imported but by their definition (`model/frontend/definitions/support_vectors.py`)."""
    _, output = source.outputs
    if source.outputs[0]:
        got, hint = "labels of a classifier of log odds", "end the network at the probabilities"
        raise ctx.reject(source, got, "they are not computed", hint)
    formula = Formula(source, ctx)
    odds = Term(formula, source.inputs[0])
    bounds = Epilogue(Activation("sigmoid"), "", Activation("clip", LEAST, 1 - LEAST))
    likely = formula.add("Unary", (odds,), odds.shape, "pairs", bounds)
    return [*formula.nodes, Node(source.name, "Coupling", (likely.name,), (output,))]


def lower(node: Node, graph: Graph, target: Target) -> Layer:
    """A row after the other."""
    rows, classes = graph[node.output].shape
    call = Call(node, graph, target)
    slots = _SLOTS if target.lanes > 1 else _SCALAR_SLOTS
    return kernel_layer(
        call,
        "coupling",
        "ops/coupling.c.j2",
        operands={"in": node.inputs[0]},
        params={"rows": rows, "classes": classes},
        headers=("ec_coupling.h",),
        work=call.streams(rows * _ROUNDS * slots * classes**2),
        workspace_bytes=FLOAT_BYTES * (classes + 1) * classes,
        epilogue=False,
    )


OPERATOR = Operator(
    name="Coupling",
    onnx={"ai.onnx.ml.SVMClassifier": _import},
    shapes={"ai.onnx.ml.SVMClassifier": _shape},
    lower=lower,
    stored=Stored.NOTHING,
)
