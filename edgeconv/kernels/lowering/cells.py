"""Recurrent cells: their gates, and the functions of one variable that ONNX lists for them."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass

from edgeconv.ir.activation import Activation
from edgeconv.kernels.lowering.activations import FUNCTIONS
from edgeconv.kernels.lowering.loops import function_cycles
from edgeconv.target.targets import Target


@dataclass(frozen=True, slots=True)
class Cell:
    """A recurrent cell.  ``gates``: how many products of the state there are.  ``functions``: by
    default, as ONNX calls them.  ``slots``: of a vector of units in a step, beside products and
    functions, counted in the cell's header; ``applied``: how often each function is, of f, g and
    h."""

    name: str
    gates: int
    functions: tuple[str, ...]
    slots: int
    applied: tuple[int, ...]


CELLS: Mapping[str, Cell] = {
    "RNN": Cell("rnn", 1, ("Tanh",), 1, (1,)),
    "GRU": Cell("gru", 3, ("Sigmoid", "Tanh"), 8, (2, 1)),
    "LSTM": Cell("lstm", 4, ("Sigmoid", "Tanh", "Tanh"), 10, (3, 1, 1)),
}


@dataclass(frozen=True, slots=True)
class CellFunction:
    """A function as ONNX has it: the ``kind`` of `Activation`, or of those that cells alone have;
    defaults of what it takes of ``activation_alpha`` and ``activation_beta``, None where it takes
    nothing.  ``stated``: engines differ in the defaults.  ``slots``, ``headers``: of kinds that
    cells alone have."""

    kind: str
    alpha: float | None = None
    beta: float | None = None
    stated: bool = False
    slots: int = 0
    headers: tuple[str, ...] = ()


_TANH = FUNCTIONS["tanh"]

# By ONNX's names, of which engines ignore the case; defaults are those of the operators of these
# names.
CELL_FUNCTIONS: Mapping[str, CellFunction] = {
    "Affine": CellFunction("affine", 1.0, 0.0, stated=True, slots=1),
    "Elu": CellFunction("elu", 1.0),
    "HardSigmoid": CellFunction("hard_sigmoid", 0.2, 0.5),
    "LeakyRelu": CellFunction("leaky_relu", 0.01),
    "Relu": CellFunction("relu"),
    "ScaledTanh": CellFunction(
        "scaled_tanh", 1.0, 1.0, stated=True, slots=_TANH.slots + 2, headers=_TANH.headers
    ),
    "Sigmoid": CellFunction("sigmoid"),
    "Softplus": CellFunction("softplus"),
    "Softsign": CellFunction("softsign", slots=6),
    "Tanh": CellFunction("tanh"),
    "ThresholdedRelu": CellFunction("thresholded_relu", 1.0, stated=True, slots=2),
}

_OWN = {each.kind: each for each in CELL_FUNCTIONS.values() if each.kind not in FUNCTIONS}


def enumerator(function: Activation) -> str:
    """What C calls the kind."""
    prefix = "EC_CELL" if function.kind in _OWN else "EC_ACT"
    return f"{prefix}_{function.kind.upper()}"


def headers(function: Activation) -> tuple[str, ...]:
    """The headers of what it computes, in order of inclusion."""
    own = _OWN.get(function.kind)
    return own.headers if own else FUNCTIONS[function.kind].headers


def slots(function: Activation, target: Target) -> float:
    """Vector instructions, or on a core without vectors the time that it takes in these."""
    own = _OWN.get(function.kind)
    if target.is_scalar:
        kind = "tanh" if own and own.headers == _TANH.headers else function.kind
        return function_cycles(kind, target) / target.slot_cycles
    return own.slots if own else FUNCTIONS[function.kind].slots
