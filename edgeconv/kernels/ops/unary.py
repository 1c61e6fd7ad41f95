"""Element-wise functions of one variable; the function is the node's ``epilogue.before``."""

from __future__ import annotations

import math
from collections.abc import Callable, Sequence

from edgeconv.ir.activation import LARGEST, Activation, clamp
from edgeconv.ir.choice import Layer
from edgeconv.ir.graph import Graph, Node
from edgeconv.kernels.lowering.calls import in_place, kernel_layer
from edgeconv.kernels.lowering.images import same_everywhere
from edgeconv.kernels.lowering.integers import all_int8, with_integers
from edgeconv.kernels.lowering.lookups import looked_up
from edgeconv.kernels.lowering.options import LayoutOption, Stored
from edgeconv.kernels.lowering.tables import Bytes, of_activations, table_of
from edgeconv.kernels.lowering.work import Call
from edgeconv.kernels.ops import int16_function
from edgeconv.kernels.ops.base import ImportContext, Operator, Source
from edgeconv.kernels.ops.formula import Formula, Term, spelled_out
from edgeconv.kernels.ops.importing import make_unary, single_number
from edgeconv.target.targets import Target

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
    """Constant bounds (the float range where there is none) and the names of run-time bounds.

    NaN bounds nothing: ONNX leaves that open, and ONNX Runtime has it so.
    """
    if source.version < 11:
        return float(source.attrs["min"]), float(source.attrs["max"]), "", ""
    values, names = [-LARGEST, LARGEST], ["", ""]
    for which, name in enumerate(source.inputs[1:3]):
        bound = ctx.constant(name) if name else None
        if bound is not None:
            number = single_number(source, ctx, bound, "a bound")
            values[which] = (-math.inf, math.inf)[which] if math.isnan(number) else number
        else:
            names[which] = name
    return values[0], values[1], names[0], names[1]


def _import_clip(source: Source, ctx: ImportContext) -> Sequence[Node]:
    low, high, low_name, high_name = _clip_bounds(source, ctx)
    if low_name or high_name:  # min(max(x, low), high), in this order
        formula = Formula(source, ctx)
        lowest = Term(formula, low_name) if low_name else low
        highest = Term(formula, high_name) if high_name else high
        x = Term(formula, source.inputs[0])
        return formula.finish(x.binary("max", lowest).binary("min", highest))
    return [make_unary(source, clamp(low, high))]


def _celu(source: Source, x: Term) -> Term:
    """max(0, x) + min(0, alpha (exp(x / alpha) - 1)), of which no part leaves the range of x."""
    alpha = float(source.attrs["alpha"])
    below = (x.apply("clip", -math.inf, 0.0) / alpha).apply("elu", 1.0) * alpha
    return x.apply("relu") + below


def _import_celu(source: Source, ctx: ImportContext) -> Sequence[Node]:
    if source.attrs["alpha"] <= 0.0:
        got = f"alpha {source.attrs['alpha']:g}"
        raise ctx.reject(source, got, "alpha must be positive")
    return spelled_out(_celu)(source, ctx)


# ONNX op_type -> what it computes, where that takes several nodes.
_FORMULAS: dict[str, Callable[[Source, Term], Term]] = {
    "Selu": lambda s, x: x.apply("elu", float(s.attrs["alpha"])) * s.attrs["gamma"],
    "Softsign": lambda s, x: x / (x.apply("abs") + 1.0),
    "Swish": lambda s, x: x * (x * s.attrs["alpha"]).apply("sigmoid"),
}


def _table(node: Node, graph: Graph) -> Bytes | None:
    """What the node makes of bytes; None where memory holds no bytes, or it is no table."""
    if not all_int8(node, graph) or node.epilogue.residual:
        return None
    x, y = graph[node.inputs[0]].storage, graph[node.output].storage
    function = of_activations(node.epilogue.before, node.epilogue.after)
    return table_of(function, x, y, graph.requantise)


def layouts(node: Node, graph: Graph, target: Target) -> Sequence[LayoutOption]:
    """Any; by a table, too."""
    options = same_everywhere(node, graph, target)
    able = _table(node, graph) is not None or int16_function.of_one(node, graph) is not None
    return with_integers(node, options, options if able else ())


def lower(node: Node, graph: Graph, target: Target) -> Layer:
    """One flat loop over memory, channel padding included."""
    call, table = Call(node, graph, target), None
    if node.request.integers:
        form = int16_function.of_one(node, graph)
        if form is not None:
            return int16_function.lower_one(form, node, graph, target)
        table = _table(node, graph)
    if table is not None:
        return looked_up(call, table)
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
        "Celu": _import_celu,
        **{op_type: spelled_out(formula) for op_type, formula in _FORMULAS.items()},
    },
    lower=lower,
    layouts=layouts,
    fuses=True,
    stored=Stored.BOTH,
)
