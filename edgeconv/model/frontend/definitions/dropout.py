"""Dropout in training mode, which Monte Carlo estimates of uncertainty run at inference (Gal and
Ghahramani, Dropout as a Bayesian approximation, 2016): what the seed draws is constant."""

from __future__ import annotations

from collections.abc import Mapping

import numpy as np
import onnx
from onnx import TensorProto

from edgeconv.model.frontend.definitions.definition import Definition, Row
from edgeconv.model.frontend.definitions.fused import number

_SEEDS = 2**32  # of numpy's generator
_RULE = "dropping elements draws numbers, which are those of the seed"
_HINT = "export the model in eval mode, or set the attribute seed"


def _dropout(d: Definition) -> None:
    """Elements whose draw is below the ratio are 0, and others are divided by 1 - ratio.

    Draws are those of ONNX's evaluator: numpy's RandomState(seed), rounded down to float32, which
    leaves what a ratio of float32 decides as it is.
    """
    training, shape = d.constant(2), d.shape(0)
    if training is not None and not training.any():
        _copied(d)
        return
    seed = d.attr("seed")
    if seed is None or not 0 <= int(seed) < _SEEDS:
        got = "training mode" if training is not None else "a training mode computed at run time"
        more = " without a seed" if seed is None else f" with seed {seed}"
        raise d.rejected(got + more, _RULE, _HINT)
    if shape is None:
        raise d.rejected("data of an unknown shape", "as many numbers are drawn as it has elements")
    drawn = np.random.RandomState(int(seed)).uniform(0.0, 1.0, shape)
    near = drawn.astype(np.float32)
    near = np.where(near > drawn, np.nextafter(near, np.float32(0)), near)
    given = d.input(1)
    ratio = number(d, "ratio", 0.5)
    if given:
        ratio = d.add("Cast", [given], to=TensorProto.FLOAT)
    kept = d.add("GreaterOrEqual", [d.add_constant("drawn", near), ratio])
    one = number(d, "one", 1.0)
    scale = d.add("Div", [one, d.add("Sub", [one, ratio])])
    if training is None:
        kept = d.add("Or", [kept, d.add("Not", [d.input(2)])])
        scale = d.add("Where", [d.input(2), scale, one])
    if d.output(0):
        zero = d.add("CastLike", [number(d, "zero", 0.0), d.input(0)])
        left = d.add("Where", [kept, d.input(0), zero])
        d.add("Mul", [left, d.add("CastLike", [scale, d.input(0)])], d.output(0))
    if d.output(1):
        d.add("Identity", [kept], d.output(1))


def _copied(d: Definition) -> None:
    """At inference."""
    if d.output(0):
        d.add("Identity", [d.input(0)], d.output(0))
    if d.output(1):
        shape = d.shape(0)
        if shape is None:
            raise d.rejected("data of an unknown shape", "its mask has as many elements")
        d.add("Identity", [d.add_constant("kept", np.ones(shape, np.bool_))], d.output(1))


def may_train(node: onnx.NodeProto) -> bool:
    """Whether a Dropout has a training mode, known or not."""
    return len(node.input) > 2 and bool(node.input[2])


ROWS: Mapping[str, Row] = {
    "Dropout": Row("data ratio? training_mode?", _dropout, integers=False, when=may_train)
}
