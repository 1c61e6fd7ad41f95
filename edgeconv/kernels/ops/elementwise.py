"""Element-wise functions of tensors of any type: arithmetic of integers, comparisons, logic,
choice, conversion.

Arithmetic of float32 alone is `unary`'s and `binary`'s, which are fused and vectorised by hand.
A function is a row of ``FUNCTIONS``; its meaning is in ec_elementwise.h.
"""

from __future__ import annotations

import functools
import math
from collections.abc import Mapping, Sequence
from dataclasses import dataclass

import numpy as np

from edgeconv.ir.choice import Layer, Param
from edgeconv.ir.element_types import BOOL, FLOAT32, element_type
from edgeconv.ir.graph import Epilogue, Graph, Node, Tensor
from edgeconv.kernels.lowering.calls import in_place, kernel_layer
from edgeconv.kernels.lowering.nest import collapse, dense_strides, require_loops
from edgeconv.kernels.lowering.operands import narrowed, operand, operand_layouts
from edgeconv.kernels.lowering.options import Stored
from edgeconv.kernels.lowering.work import Call
from edgeconv.kernels.ops.base import ImportContext, Importer, Operator, Source
from edgeconv.kernels.ops.formula import Formula, Term
from edgeconv.kernels.ops.importing import broadcast, flag, make_node, optional_input
from edgeconv.target.targets import Target

_WHOLE = frozenset({"whole", "natural"})
_ANY = _WHOLE | {"single", "double"}
CHOICE, COPY = "where", "copy"
# To small floats: what is too large overflows, or becomes the largest number; a scale, which is
# a power of two, is rounded as a Cast says.
OVERFLOWING, DOWN, NEAREST = "copy_overflowing", "copy_down", "copy_nearest"
_COPIES = frozenset({COPY, OVERFLOWING, DOWN, NEAREST})
ELEMENTWISE = (
    *("ec_nest.h", "ec_small_floats.h", "ec_elements.h", "ec_trigonometry.h"),
    "ec_elementwise.h",
)
_ANGLES = (
    *("Sin", "Cos", "Tan", "Asin", "Acos", "Atan"),
    *("Sinh", "Cosh", "Asinh", "Acosh", "Atanh"),
)


@dataclass(frozen=True, slots=True)
class Function:
    """An element-wise function.  ``operands``: how many.  ``numbers``: of what kernels compute it.
    ``tests``: it is bool."""

    operands: int
    numbers: frozenset[str] = _ANY
    tests: bool = False


FUNCTIONS: Mapping[str, Function] = {
    **dict.fromkeys(("bitwise_and", "bitwise_or", "bitwise_xor"), Function(2, _WHOLE)),
    **dict.fromkeys(("shift_left", "shift_right", "power"), Function(2, _WHOLE)),
    **dict.fromkeys(("bitwise_not", "not"), Function(1, _WHOLE)),
    **dict.fromkeys(("add", "sub", "mul", "div", "modulo", "remainder", "min", "max"), Function(2)),
    **dict.fromkeys(("neg", "abs", "sign"), Function(1)),
    **dict.fromkeys(
        ("threshold", "hard_shrink", "soft_shrink"), Function(2, frozenset({"single"}))
    ),
    **dict.fromkeys(
        ("equal", "less", "less_equal", "greater", "greater_equal"), Function(2, tests=True)
    ),
    **dict.fromkeys(
        ("is_nan", "is_infinite", "is_positive_infinite", "is_negative_infinite"),
        Function(1, frozenset({"single"}), tests=True),
    ),
    CHOICE: Function(3),
    **dict.fromkeys(_COPIES, Function(1)),
    **{op_type.lower(): Function(1, frozenset({"single"})) for op_type in _ANGLES},
}


def elementwise(
    formula: Formula, function: str, operands: Sequence[Term | str], dtype: str
) -> Term:
    """``function`` of ``operands``, of any types; the result is of ``dtype``."""
    names = [each.name if isinstance(each, Term) else each for each in operands]
    shape = broadcast(formula.source, formula.ctx, *(formula.ctx.tensor(n).shape for n in names))
    return formula.add(
        "Elementwise", operands, shape, function, Epilogue(), dtype, function=function, to=dtype
    )


def _node(source: Source, ctx: ImportContext, function: str, *names: str) -> Node:
    dtype = ctx.tensor(source.outputs[0]).dtype
    return make_node(source, "Elementwise", names, function=function, to=dtype)


def _plain(function: str) -> Importer:
    """All inputs are operands."""
    return lambda source, ctx: [_node(source, ctx, function, *source.inputs)]


def _variadic(function: str) -> Importer:
    def importer(source: Source, ctx: ImportContext) -> Sequence[Node]:
        formula = Formula(source, ctx)
        dtype = ctx.tensor(source.outputs[0]).dtype
        first, *others = formula.inputs()
        total = functools.reduce(
            lambda left, right: elementwise(formula, function, (left, right), dtype), others, first
        )
        return formula.finish(total)

    return importer


def _import_modulo(source: Source, ctx: ImportContext) -> Sequence[Node]:
    function = "remainder" if flag(source, ctx, "fmod") else "modulo"
    return [_node(source, ctx, function, *source.inputs)]


def _import_shift(source: Source, ctx: ImportContext) -> Sequence[Node]:
    function = "shift_left" if source.attrs["direction"] == "LEFT" else "shift_right"
    return [_node(source, ctx, function, *source.inputs)]


def _import_is_infinite(source: Source, ctx: ImportContext) -> Sequence[Node]:
    signs = flag(source, ctx, "detect_positive", 1), flag(source, ctx, "detect_negative", 1)
    names = {
        (True, True): "is_infinite",
        (True, False): "is_positive_infinite",
        (False, True): "is_negative_infinite",
    }
    if signs in names:
        return [_node(source, ctx, names[signs], *source.inputs)]
    never = ctx.add_constant(f"{source.name}/never", np.zeros((), np.int8))
    ones = np.ones(ctx.tensor(source.inputs[0]).shape, np.int8)
    return [_node(source, ctx, "equal", never, ctx.add_constant(f"{source.name}/one", ones))]


def _import_power(source: Source, ctx: ImportContext) -> Sequence[Node]:
    """Whole numbers to whole powers; of float32, whatever the exponent's type.  Whole numbers to a
    real power: the whole part, exact where the power is whole."""
    base, exponent = (ctx.tensor(name) for name in source.inputs)
    if not element_type(base.dtype).is_real and not element_type(exponent.dtype).is_real:
        return [_node(source, ctx, "power", *source.inputs)]
    formula = Formula(source, ctx)
    x, y = formula.inputs()
    if element_type(base.dtype).is_real:
        return formula.finish(x.binary("pow", elementwise(formula, COPY, (y,), base.dtype)))
    real = elementwise(formula, COPY, (x,), "float32").binary("pow", y)
    exact = elementwise(
        formula, "power", (x, elementwise(formula, COPY, (y,), "int64")), base.dtype
    )
    whole = elementwise(formula, "equal", (y, y.apply("floor")), BOOL)
    other = elementwise(formula, COPY, (real,), base.dtype)
    return formula.finish(elementwise(formula, CHOICE, (whole, exact, other), base.dtype))


def _import_clip(source: Source, ctx: ImportContext) -> Sequence[Node]:
    """min(max(x, low), high), in this order."""
    formula, dtype = Formula(source, ctx), ctx.tensor(source.outputs[0]).dtype
    x = Term(formula, source.inputs[0])
    for index, function in ((1, "max"), (2, "min")):
        if bound := optional_input(source, index):
            x = elementwise(formula, function, (x, bound), dtype)
    return formula.finish(x)


def _import_relu(source: Source, ctx: ImportContext) -> Sequence[Node]:
    dtype = ctx.tensor(source.outputs[0]).dtype
    zero = ctx.add_constant(f"{source.name}/zero", np.zeros((), dtype))
    return [_node(source, ctx, "max", source.inputs[0], zero)]


def _with_number(function: str, attribute: str) -> Importer:
    """The second operand is an attribute."""

    def importer(source: Source, ctx: ImportContext) -> Sequence[Node]:
        number = np.asarray(source.attrs[attribute], np.float32)
        name = ctx.add_constant(f"{source.name}/{attribute}", number)
        return [_node(source, ctx, function, source.inputs[0], name)]

    return importer


def _import_shrink(source: Source, ctx: ImportContext) -> Sequence[Node]:
    """x + bias below -lambd, x - bias above lambd, else 0."""
    limit, bias = float(source.attrs["lambd"]), float(source.attrs["bias"])
    if bias in (0.0, limit):
        return _with_number("soft_shrink" if bias else "hard_shrink", "lambd")(source, ctx)
    if not (limit >= 0.0 and math.isfinite(bias)):
        rule = "lambd is not negative and bias finite, or bias is 0 or lambd"
        raise ctx.reject(source, f"bias {bias:g}, lambd {limit:g}", rule)
    formula = Formula(source, ctx)
    x, edge = Term(formula, source.inputs[0]), formula.constant(limit, "lambd")
    far = elementwise(formula, "hard_shrink", (x, edge), FLOAT32)
    return formula.finish(far - elementwise(formula, "sign", (far,), FLOAT32) * bias)


def numbers_of(function: str, operands: Sequence[Tensor], out: Tensor) -> str:
    """As what the kernel reads and writes: a name of ec_numbers, in lower case."""
    have, want = element_type(operands[-1].dtype), element_type(out.dtype)
    if function not in _COPIES:
        whole = "whole" if function == CHOICE and have.numbers == "natural" else have.numbers
        kind = "choice_of_" if function == CHOICE else ""
        return ("test_of_" if FUNCTIONS[function].tests else kind) + whole
    if have.is_real and want.name == BOOL:
        return "real_to_bool"
    if have.is_real == want.is_real:
        return "real_to_real" if have.is_real else "whole"
    source = "real" if have.is_real else have.numbers
    return f"{source}_to_{'real' if want.is_real else want.numbers}"


def lower(node: Node, graph: Graph, target: Target) -> Layer:
    """Loops over the output's memory; where the whole pattern is regular they merge into one."""
    out, call, function = graph[node.output], Call(node, graph, target), str(node.attrs["function"])
    tensors = [graph[name] for name in node.inputs]
    pointers = dict(zip("abc", map(narrowed, tensors), strict=False))
    read = {pointer: operand(pointer, tensor, out) for pointer, tensor in pointers.items()}
    names = [pointer if pointer in read else "a" for pointer in "abc"]
    sizes = out.layout.physical_shape(out.shape)
    strides = [read[name][1] for name in names]
    whole = collapse(sizes, *strides, dense_strides(sizes))
    depth = len(whole.sizes) - 1
    outer = whole.outer(depth)
    require_loops(node, len(outer.sizes))
    params: dict[str, Param] = {}
    for position, (pointer, name) in enumerate(zip("abc", names, strict=True)):
        params |= {
            f"{pointer}_name": name,
            f"{pointer}_outer": outer.strides[position],
            f"{pointer}_stride": whole.strides[position][-1],
            f"{pointer}_type": element_type(pointers[name].dtype).enumerator,
        }
    return kernel_layer(
        call,
        "elementwise",
        "ops/elementwise.c.j2",
        operands={pointer: given for pointer, (given, _) in read.items()},
        params={
            "numbers": numbers_of(function, tensors, out),
            "function": COPY if function == CHOICE else function,
            "sizes": outer.sizes,
            "n": whole.sizes[-1],
            "out_type": element_type(out.dtype).enumerator,
            **params,
        },
        headers=ELEMENTWISE,
        work=call.elementwise(function),
        aliases=in_place(node, graph, node.inputs),
        epilogue=False,
    )


_TESTS = {
    "Equal": "equal",
    "Less": "less",
    "LessOrEqual": "less_equal",
    "Greater": "greater",
    "GreaterOrEqual": "greater_equal",
    "IsNaN": "is_nan",
}
# ONNX op_type -> function of whole numbers; of float32 other operators compute it.
_ARITHMETIC = {
    "Add": "add",
    "Sub": "sub",
    "Mul": "mul",
    "Div": "div",
    "Neg": "neg",
    "Abs": "abs",
}
_LOGIC = {
    "And": "bitwise_and",
    "Or": "bitwise_or",
    "Xor": "bitwise_xor",
    "Not": "not",
    "BitwiseAnd": "bitwise_and",
    "BitwiseOr": "bitwise_or",
    "BitwiseXor": "bitwise_xor",
    "BitwiseNot": "bitwise_not",
}

OPERATOR = Operator(
    name="Elementwise",
    onnx={
        "Sign": _plain("sign"),
        "Mod": _import_modulo,
        "ThresholdedRelu": _with_number("threshold", "alpha"),
        "Shrink": _import_shrink,
        **{op_type: _plain(op_type.lower()) for op_type in _ANGLES},
    },
    typed={
        **{op_type: _plain(function) for op_type, function in {**_TESTS, **_LOGIC}.items()},
        "Where": _plain(CHOICE),
        "Sign": _plain("sign"),
        "Mod": _import_modulo,
        "BitShift": _import_shift,
        "IsInf": _import_is_infinite,
        **{op_type: _plain(function) for op_type, function in _ARITHMETIC.items()},
        "Min": _variadic("min"),
        "Max": _variadic("max"),
        "Clip": _import_clip,
        "Pow": _import_power,
        "Relu": _import_relu,
    },
    lower=lower,
    layouts=operand_layouts,
    stored=Stored.NOTHING,
)
