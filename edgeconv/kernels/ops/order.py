"""Along one axis: the largest or smallest elements, sums of those before, and all as one."""

from __future__ import annotations

import math
from collections.abc import Callable, Sequence

import numpy as np

from edgeconv.ir.choice import Layer, Param
from edgeconv.ir.element_types import BOOL, element_type
from edgeconv.ir.graph import Epilogue, Graph, Node
from edgeconv.ir.layout import Shape
from edgeconv.kernels.lowering.calls import kernel_layer
from edgeconv.kernels.lowering.options import Stored
from edgeconv.kernels.lowering.work import Call
from edgeconv.kernels.ops.base import ImportContext, Importer, Operator, Source
from edgeconv.kernels.ops.elementwise import CHOICE, COPY, ELEMENTWISE, elementwise
from edgeconv.kernels.ops.formula import Formula, Term
from edgeconv.kernels.ops.importing import axis_of, check_stated, flag, single_number
from edgeconv.kernels.ops.reduced_axes import Reduction, reduced
from edgeconv.target.targets import Target

_INDEX = "int64"
_WITH_NAN = {"greater": "greater_nan_first", "less": "less_nan_last"}


def _axis(source: Source, ctx: ImportContext) -> int:
    rank = len(ctx.tensor(source.inputs[0]).shape)
    return axis_of(source, ctx, int(source.attrs["axis"]), rank)


def _first(formula: Formula, x: Term, axis: int, test: str, *, keep: bool) -> Term:
    """Which element along ``axis`` is before the others by ``test``."""
    kept = (1,) if keep else ()
    shape = (*x.shape[:axis], *kept, *x.shape[axis + 1 :])
    attrs = {"axis": axis, "function": test}
    return formula.add("First", (x,), shape, "first", Epilogue(), _INDEX, **attrs)


def _import_arg(larger: str) -> Importer:
    def importer(source: Source, ctx: ImportContext) -> Sequence[Node]:
        formula = Formula(source, ctx)
        keep = flag(source, ctx, "keepdims", 1)
        last = "_equal" if flag(source, ctx, "select_last_index") else ""
        x = Term(formula, source.inputs[0])
        return formula.finish(_first(formula, x, _axis(source, ctx), larger + last, keep=keep))

    return importer


def _import_hardmax(source: Source, ctx: ImportContext) -> Sequence[Node]:
    """1 at the first largest element, 0 elsewhere; before opset 13 of rows from ``axis`` on."""
    formula, axis = Formula(source, ctx), _axis(source, ctx)
    x, shape = Term(formula, source.inputs[0]), ctx.tensor(source.inputs[0]).shape
    if source.version < 13:
        x, axis = x.reshape(math.prod(shape[:axis]), math.prod(shape[axis:])), 1
    at = _first(formula, x, axis, "greater", keep=True)
    counted = np.arange(x.shape[axis], dtype=np.int32).reshape(
        -1, *(1,) * (len(x.shape) - 1 - axis)
    )
    equal = elementwise(formula, "equal", (at, formula.typed_constant(counted, "counted")), BOOL)
    result = elementwise(formula, COPY, (equal,), ctx.tensor(source.outputs[0]).dtype)
    return formula.finish(result)


def _import_top(source: Source, ctx: ImportContext) -> Sequence[Node]:
    """Indices by one node, values by them, in order also where ``sorted`` is 0 and ONNX leaves it
    open.  k is what the outputs' shape says."""
    formula, axis = Formula(source, ctx), _axis(source, ctx)
    x = Term(formula, source.inputs[0])
    shape = ctx.tensor(source.read).shape
    for output in filter(None, source.outputs):
        check_stated(source, ctx, output, (axis,))
        if not shape[axis] == ctx.tensor(output).shape[axis] <= x.shape[axis]:
            got = f"{shape[axis]} of {list(x.shape)} along axis {axis}"
            raise ctx.reject(source, got, "there are as many elements, and both outputs have them")
    largest = bool(source.attrs.get("largest", 1))
    attrs = {"axis": axis, "function": "greater" if largest else "less"}
    values, indices = (*source.outputs, "")[:2]
    made = Node(f"{source.name}/indices", "Top", (x.name,), (indices,), attrs)
    if not indices:
        at = formula.add("Top", (x,), shape, "indices", Epilogue(), _INDEX, **attrs)
        gathered = formula.add("GatherElements", (x, at), shape, "values", axis=axis)
        return formula.finish(gathered)
    if not values:
        return [made]
    inputs = (x.name, indices)
    return [made, Node(source.name, "GatherElements", inputs, (values,), {"axis": axis})]


def _import_cumulative(function: str) -> Importer:
    def importer(source: Source, ctx: ImportContext) -> Sequence[Node]:
        formula, axis = Formula(source, ctx), ctx.constant(source.inputs[1])
        x = Term(formula, source.inputs[0])
        rank, dtype = len(x.shape), ctx.tensor(x.name).dtype
        if not rank:
            raise ctx.reject(source, "a scalar", "a scalar has no axes")
        start = formula.typed_constant(np.asarray(int(function == "mul"), dtype), "start")
        attrs = {
            "function": function,
            "exclusive": flag(source, ctx, "exclusive"),
            "reverse": flag(source, ctx, "reverse"),
        }

        def along(of: int) -> Term:
            return formula.add("Cumulative", (x, start), x.shape, "sums", axis=of, **attrs)

        if axis is not None:
            number = int(single_number(source, ctx, axis, "axis"))
            return formula.finish(along(axis_of(source, ctx, number, rank)))
        given, result = Term(formula, source.inputs[1]), along(0)
        if math.prod(given.shape) != 1:
            rule = "axis is one number"
            raise ctx.reject(source, f"axis of shape {list(given.shape)}", rule)
        for of in range(1, rank):  # an axis of run time picks one of all results
            places = (np.asarray(at, np.int32) for at in (of, of - rank))
            tests = [
                elementwise(formula, "equal", (given, formula.typed_constant(at, "axis")), BOOL)
                for at in places
            ]
            chosen = elementwise(formula, "bitwise_or", tests, BOOL)
            result = elementwise(formula, CHOICE, (chosen, along(of), result), dtype)
        return formula.finish(result)

    return importer


def _fold(function: str) -> Reduction:
    """Elements of any type, one axis after the other."""

    def reduction(x: Term, axes: Shape, keep: bool) -> Term:
        for axis in reversed(axes):
            kept = (1,) if keep else ()
            shape = (*x.shape[:axis], *kept, *x.shape[axis + 1 :])
            x = x.formula.add("Fold", (x,), shape, function, axis=axis, function=function)
        return x

    return reduction


def _import_fold(function: str) -> Importer:
    """``of_nothing`` is the first value, from which ``function`` makes any other what it is."""

    def importer(source: Source, ctx: ImportContext) -> Sequence[Node]:
        dtype = ctx.tensor(source.inputs[0]).dtype
        low, high = (0, 1) if dtype == BOOL else (np.iinfo(dtype).min, np.iinfo(dtype).max)
        of_nothing = {"add": 0, "mul": 1, "max": low, "min": high}[function]
        return reduced(source, ctx, _fold(function), of_nothing)

    return importer


def _import_typed(prepare: Callable[[Term], Term]) -> Importer:
    """Sums of what ``prepare`` makes of whole numbers."""

    def importer(source: Source, ctx: ImportContext) -> Sequence[Node]:
        fold = _fold("add")
        return reduced(source, ctx, lambda x, axes, keep: fold(prepare(x), axes, keep), 0)

    return importer


def _import_mean(source: Source, ctx: ImportContext) -> Sequence[Node]:
    """The whole part of sum / count."""
    fold = _fold("add")

    def mean(x: Term, axes: Shape, keep: bool) -> Term:
        dtype = ctx.tensor(x.name).dtype
        count = np.asarray(math.prod(x.shape[axis] for axis in axes), dtype)
        both = fold(x, axes, keep), x.formula.typed_constant(count, "count")
        return elementwise(x.formula, "div", both, dtype)

    return reduced(source, ctx, mean, 0)


def _alike(function: str, operands: int) -> Callable[[Term], Term]:
    """``function`` of ``operands`` that are all the same."""
    return lambda x: elementwise(
        x.formula, function, (x,) * operands, x.formula.ctx.tensor(x.name).dtype
    )


def _sizes(shape: Shape, axis: int) -> dict[str, Param]:
    inner = math.prod(shape[axis + 1 :])
    return {"outer": math.prod(shape[:axis]), "n": shape[axis], "inner": inner}


def _test(node: Node, dtype: str) -> str:
    """Which of two elements is before the other.  TopK takes NaN for more than any number, as ONNX
    Runtime does and the reference; for those two comparisons of real numbers have names."""
    function = str(node.attrs["function"])
    return _WITH_NAN[function] if node.op == "Top" and element_type(dtype).is_real else function


def lower(node: Node, graph: Graph, target: Target) -> Layer:
    """Along the axis, for every other index."""
    x, call, axis = graph[node.inputs[0]], Call(node, graph, target), int(node.attrs["axis"])
    kind = element_type(x.dtype)
    adds = node.op in ("Cumulative", "Fold")
    params: dict[str, Param] = {
        **_sizes(x.shape, axis),
        "numbers": kind.numbers if adds else f"test_of_{kind.numbers}",
        "function": _test(node, x.dtype),
        "type": kind.enumerator,
        "out_type": kind.enumerator if adds else "EC_BOOL",
        "kind": {"First": "first", "Top": "few", "Cumulative": "sums", "Fold": "all"}[node.op],
        "count": 0 if adds else graph[node.output].shape[axis] if node.op == "Top" else 1,
        "exclusive": int(node.attrs.get("exclusive", False)),
        "reverse": int(node.attrs.get("reverse", False)),
    }
    pointers = dict(zip(("in", "start"), node.inputs, strict=False))
    return kernel_layer(
        call,
        "order",
        "ops/order.c.j2",
        operands=pointers,
        params=params,
        headers=(*ELEMENTWISE, "ec_order.h"),
        work=call.streams(call.in_vectors),
        epilogue=False,
    )


_IMPORTERS: dict[str, dict[str, Importer]] = {
    "First": {
        "ArgMax": _import_arg("greater"),
        "ArgMin": _import_arg("less"),
        "Hardmax": _import_hardmax,
    },
    "Top": {"TopK": _import_top},
    "Cumulative": {
        "CumSum": _import_cumulative("add"),
        "CumProd": _import_cumulative("mul"),
    },
    "Fold": {},
}
# Of whole numbers; `reduce` has those of real ones.
REDUCTIONS_OF_INTEGERS: dict[str, Importer] = {
    "ReduceSum": _import_fold("add"),
    "ReduceProd": _import_fold("mul"),
    "ReduceMax": _import_fold("max"),
    "ReduceMin": _import_fold("min"),
    "ReduceMean": _import_mean,
    "ReduceL1": _import_typed(_alike("abs", 1)),
    "ReduceSumSquare": _import_typed(_alike("mul", 2)),
}

OPERATOR = tuple(
    Operator(name=name, onnx=table, typed=table, lower=lower, stored=Stored.NOTHING)
    for name, table in _IMPORTERS.items()
)
