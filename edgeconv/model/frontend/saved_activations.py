"""Activations as ONNX nodes."""

from __future__ import annotations

from collections.abc import Mapping
from types import MappingProxyType

import numpy as np

from edgeconv.ir.activation import Activation
from edgeconv.ir.encoding import INT8, integers
from edgeconv.ir.graph import Node
from edgeconv.ir.pointwise import Applied
from edgeconv.model.frontend.saved_nodes import BINARY, Written

# Kind -> operator without attributes.
_PLAIN: Mapping[str, str] = MappingProxyType(
    {
        kind.lower(): kind
        for kind in (
            *("Relu", "Sigmoid", "Tanh", "Gelu", "Softplus", "Erf", "Exp", "Log", "Sqrt"),
            *("Abs", "Neg", "Reciprocal", "Floor", "Ceil", "Round"),
        )
    }
)
_ALPHA: Mapping[str, str] = MappingProxyType({"leaky_relu": "LeakyRelu", "elu": "Elu"})
_TIMES_ITSELF: Mapping[str, str] = MappingProxyType(
    {"silu": "sigmoid", "hard_swish": "hard_sigmoid"}
)


def activation(written: Written, function: Activation, x: str, y: str) -> None:
    """The nodes that apply ``function`` to the tensor ``x``, and write ``y``."""
    kind, alpha = function.kind, function.alpha
    if kind in _PLAIN:
        written.node(_PLAIN[kind], (x,), y)
    elif kind in _ALPHA:
        written.node(_ALPHA[kind], (x,), y, alpha=alpha)
    elif kind == "gelu_tanh":
        written.node("Gelu", (x,), y, approximate="tanh")
    elif kind == "hard_sigmoid":
        written.node("HardSigmoid", (x,), y, alpha=alpha, beta=function.beta)
    elif kind in _TIMES_ITSELF:
        gate = written.fresh(f"{y}/gate")
        inner = Activation(_TIMES_ITSELF[kind], alpha, function.beta)
        activation(written, inner, x, gate)
        written.node("Mul", (x, gate), y)
    elif kind == "clip":
        written.node("Clip", (x, np.float32(alpha), np.float32(function.beta)), y)
    elif kind == "sign":
        below = written.fresh(f"{y}/below")
        written.node("Less", (x, np.float32(0)), below)
        written.node("Where", (below, np.float32(-alpha), np.float32(alpha)), y)
    elif kind == "grid":
        _round(written, function, x, y)
    else:
        raise ValueError(f"no ONNX form of {function}")


def table(written: Written, node: Node, inputs: tuple[str, ...], y: str) -> None:
    """The steps of its function."""
    steps, names = node.attrs["function"].steps, list(inputs)
    for i, step in enumerate(steps):
        name = y if i + 1 == len(steps) else written.fresh(f"{y}/{i}")
        if isinstance(step, Applied):
            activation(written, step.function, names[step.of], name)
        else:
            operands = [
                names[each] if isinstance(each, int) else np.float32(each)
                for each in (step.a, step.b)
            ]
            written.node(BINARY[step.kind], operands, name)
        names.append(name)


def _round(written: Written, grid: Activation, x: str, y: str) -> None:
    """QuantizeLinear and DequantizeLinear of the fewest bits, after bounds that these have not."""
    count = grid.gamma - grid.beta
    dtype = "int8" if count <= INT8.high - INT8.low else "int16"
    kind = integers(dtype)
    zero = kind.low - round(grid.beta)
    if not kind.low <= zero <= kind.high or count > kind.high - kind.low:
        raise ValueError(f"no ONNX form of {grid}")
    if count < kind.high - kind.low:
        least, largest = (np.float32(end * grid.alpha) for end in (grid.beta, grid.gamma))
        bounded = written.fresh(f"{y}/Clip")
        written.within("bounds", "Clip", (x, least, largest), bounded)
        x = bounded
    scaling = (
        written.constant(f"{y}/scale", np.float32(grid.alpha)),
        written.constant(f"{y}/zero_point", np.dtype(dtype).type(zero)),
    )
    whole = written.fresh(f"{y}/{dtype}")
    # A rounding that is read back has the name of its DequantizeLinear: the graph's own.
    written.within("quantised", "QuantizeLinear", (x, *scaling), whole)
    written.node("DequantizeLinear", (whole, *scaling), y)
