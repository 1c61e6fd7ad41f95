"""Element-wise functions of one variable; the function is the node's ``epilogue.before``."""

from __future__ import annotations

from collections.abc import Callable, Sequence

import numpy as np

from edgeconv.ir.activation import Activation
from edgeconv.ir.choice import Layer
from edgeconv.ir.graph import Graph, Node
from edgeconv.lowering.calls import in_place, kernel_layer
from edgeconv.lowering.images import same_everywhere
from edgeconv.lowering.work import Call
from edgeconv.ops.base import ImportContext, Operator, Source
from edgeconv.ops.importing import Chain, make_node, make_unary, single_number
from edgeconv.targets import Target

_LARGEST = float(np.finfo(np.float32).max)

_PARAMETERLESS = (
    *("Relu", "Sigmoid", "Tanh", "Softplus", "Erf", "Exp", "Log", "Sqrt"),
    *("Abs", "Neg", "Reciprocal", "Floor", "Ceil", "Round"),
)

# ONNX op_type -> its activation from the attributes (schema defaults included).
_PARAMETRIC: dict[str, Callable[[Source], Activation]] = {
    "LeakyRelu": lambda s: Activation("leaky_relu", float(s.attrs["alpha"])),
    "Elu": lambda s: Activation("elu", float(s.attrs["alpha"])),
    "HardSigmoid": lambda s: Activation(
        "hard_sigmoid", float(s.attrs["alpha"]), float(s.attrs["beta"])
    ),
    "HardSwish": lambda s: Activation("hard_swish", 1 / 6, 0.5),
    "Gelu": lambda s: Activation("gelu_tanh" if s.attrs["approximate"] == "tanh" else "gelu"),
}


def _import_parameterless(source: Source, ctx: ImportContext) -> Sequence[Node]:
    del ctx
    return [make_unary(source, Activation(source.op_type.lower()))]


def _import_parametric(source: Source, ctx: ImportContext) -> Sequence[Node]:
    del ctx
    return [make_unary(source, _PARAMETRIC[source.op_type](source))]


def _clip_bounds(source: Source, ctx: ImportContext) -> tuple[float, float, str, str]:
    """Constant bounds (the float range where there is none) and the names of run-time bounds."""
    if source.version < 11:
        return float(source.attrs["min"]), float(source.attrs["max"]), "", ""
    values, names = [-_LARGEST, _LARGEST], ["", ""]
    for which, name in enumerate(source.inputs[1:3]):
        bound = ctx.constant(name) if name else None
        if bound is not None:
            number = single_number(source, ctx, bound, "a bound")
            values[which] = min(max(number, -_LARGEST), _LARGEST)
        else:
            names[which] = name
    return values[0], values[1], names[0], names[1]


def _import_clip(source: Source, ctx: ImportContext) -> Sequence[Node]:
    low, high, low_name, high_name = _clip_bounds(source, ctx)
    if low_name or high_name:  # min(max(x, low), high), in this order
        chain = Chain(source, ctx)
        shape = ctx.tensor(source.inputs[0]).shape
        lower = low_name or chain.constant("min", low)
        x = chain.add("above", "Binary", (source.inputs[0], lower), shape, kind="max")
        return chain.finish("Binary", (x, high_name or chain.constant("max", high)), kind="min")
    if high >= _LARGEST and low in (0.0, -_LARGEST):
        if low != 0.0:
            return [make_node(source, "Identity", source.inputs[:1])]
        return [make_unary(source, Activation("relu"))]
    return [make_unary(source, Activation("clip", low, high))]


def _scaled_elu(
    source: Source,
    ctx: ImportContext,
    before: float,
    alpha: float,
    after: float,
) -> Sequence[Node]:
    """y = after * elu(before * x; alpha)."""
    chain = Chain(source, ctx)
    x = source.inputs[0]
    shape = ctx.tensor(x).shape
    elu = Activation("elu", alpha)
    if before != 1.0:
        x = chain.add("in", "Binary", (x, chain.constant("before", before)), shape, kind="mul")
    if after == 1.0:
        return chain.finish_unary(elu, x)
    y = chain.unary("elu", elu, x)
    return chain.finish("Binary", (y, chain.constant("after", after)), kind="mul")


def _import_selu(source: Source, ctx: ImportContext) -> Sequence[Node]:
    return _scaled_elu(source, ctx, 1.0, float(source.attrs["alpha"]), float(source.attrs["gamma"]))


def _import_celu(source: Source, ctx: ImportContext) -> Sequence[Node]:
    alpha = float(source.attrs["alpha"])
    if alpha <= 0.0:
        raise ctx.reject(source, f"alpha {alpha:g}", "alpha must be positive")
    return _scaled_elu(source, ctx, 1.0 / alpha, 1.0, alpha)


def _import_swish(source: Source, ctx: ImportContext) -> Sequence[Node]:
    """y = x * sigmoid(alpha * x)."""
    alpha, x = float(source.attrs["alpha"]), source.inputs[0]
    if alpha == 1.0:
        return [make_unary(source, Activation("silu"))]
    chain = Chain(source, ctx)
    factor = chain.constant("alpha", alpha)
    scaled = chain.add("scaled", "Binary", (x, factor), ctx.tensor(x).shape, kind="mul")
    gate = chain.unary("gate", Activation("sigmoid"), scaled)
    return chain.finish("Binary", (x, gate), kind="mul")


def _import_softsign(source: Source, ctx: ImportContext) -> Sequence[Node]:
    """y = x / (1 + |x|)."""
    chain, x = Chain(source, ctx), source.inputs[0]
    magnitude = chain.unary("abs", Activation("abs"), x)
    one = chain.constant("one", 1.0)
    total = chain.add("sum", "Binary", (magnitude, one), ctx.tensor(x).shape, kind="add")
    return chain.finish("Binary", (x, total), kind="div")


def lower(node: Node, graph: Graph, target: Target) -> Layer:
    """One flat loop over memory, channel padding included."""
    call = Call(node, graph, target)
    return kernel_layer(
        call,
        "elementwise",
        "ops/unary.c.j2",
        operands={"x": node.inputs[0]},
        params={"elements": graph[node.output].elements},
        headers=("ec_unary.h",),
        work=call.elementwise(),
        aliases=in_place(node, graph, (node.inputs[0], node.epilogue.residual)),
    )


OPERATOR = Operator(
    name="Unary",
    onnx={
        **dict.fromkeys(_PARAMETERLESS, _import_parameterless),
        **dict.fromkeys(_PARAMETRIC, _import_parametric),
        "Clip": _import_clip,
        "Selu": _import_selu,
        "Celu": _import_celu,
        "Swish": _import_swish,
        "Softsign": _import_softsign,
    },
    lower=lower,
    layouts=same_everywhere,
    fuses=True,
)
