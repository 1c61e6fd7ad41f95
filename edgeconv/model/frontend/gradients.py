"""Gradient of ai.onnx.preview.training: the derivative of a tensor of the graph by others, as nodes
(reverse accumulation: Griewank and Walther, Evaluating derivatives, 2008, chapter 3)."""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from types import MappingProxyType
from typing import Any

import numpy as np
import onnx
from onnx import helper

from edgeconv.ir.layout import Shape
from edgeconv.model.frontend.definitions import DEFINED_IN
from edgeconv.model.frontend.visit import Visit
from edgeconv.model.frontend.walking import Walking, shape_of

_DOMAIN = "ai.onnx.preview.training"


class _RefusedError(Exception):
    """Why the node is not compiled."""


def _is_gradient(node: onnx.NodeProto) -> bool:
    return node.domain == _DOMAIN and node.op_type == "Gradient"


def reading_results(nodes: Sequence[onnx.NodeProto]) -> list[onnx.NodeProto]:
    """``nodes``, of which those that differentiate a tensor read it too, so that it comes first."""
    found = []
    for node in nodes:
        if _is_gradient(node):
            copy = onnx.NodeProto()
            copy.CopyFrom(node)
            copy.input.append(_text(node, "y"))
            node = copy
        found.append(node)
    return found


def _text(node: onnx.NodeProto, name: str) -> str:
    return next((a.s.decode() for a in node.attribute if a.name == name), "")


def _texts(node: onnx.NodeProto, name: str) -> list[str]:
    found = (a.strings for a in node.attribute if a.name == name)
    return [each.decode() for each in next(found, [])]


class _Tape:
    """Writes the nodes of one Gradient.  ``node``: the one that is differentiated."""

    def __init__(self, walk: Walking, visit: Visit) -> None:
        self._walk, self._visit = walk, visit
        self.node = visit.node
        opset = max(visit.scope.opsets.get("", 0), DEFINED_IN)
        self._opsets = {**visit.scope.opsets, "": opset}

    def add(self, op_type: str, *inputs: str, **attrs: Any) -> str:
        """Write a node; returns the name of its result."""
        name = self._walk.fresh(f"{self._visit.name}/{op_type}")
        node = helper.make_node(op_type, [*inputs], [name], name, **attrs)
        inside = self._walk.run_inside(self._visit, [node], self._opsets, [name])
        if inside:
            raise _RefusedError("; ".join(inside.operators or inside.lines()))
        return name

    def constant(self, value: Any, dtype: Any = np.int64) -> str:
        return self._walk.add_constant(f"{self._visit.name}/constant", np.asarray(value, dtype))

    def number(self, value: float) -> str:
        return self.constant(value, np.float32)

    def known(self, name: str) -> Any:
        return self._walk.constant(name) if name else None

    def shape(self, name: str) -> Shape:
        found = shape_of(self._walk, name)
        if found is None:
            raise _RefusedError(f"the shape of {name} is not known")
        return found

    def sized(self, gradient: str, name: str) -> str:
        """The sum of ``gradient`` over what ``name`` was broadcast along."""
        have, want = self.shape(gradient), self.shape(name)
        if have == want:
            return gradient
        more = len(have) - len(want)
        axes = [*range(more)]
        axes += [i + more for i, n in enumerate(want) if n == 1 and have[i + more] > 1]
        if axes:
            gradient = self.add("ReduceSum", gradient, self.constant(axes), keepdims=1)
        return self.add("Reshape", gradient, self.constant(want))

    def attrs(self) -> dict[str, Any]:
        return {a.name: helper.get_attribute_value(a) for a in self.node.attribute}


# From the derivative by a node's result, g, to those by its inputs.
_Rule = Callable[[_Tape, str], Sequence[str]]


def _mul(t: _Tape, g: str) -> Sequence[str]:
    a, b = t.node.input
    return t.add("Mul", g, b), t.add("Mul", g, a)


def _div(t: _Tape, g: str) -> Sequence[str]:
    part = t.add("Div", g, t.node.input[1])
    return part, t.add("Neg", t.add("Mul", part, t.node.output[0]))


def _pow(t: _Tape, g: str) -> Sequence[str]:
    x, power = t.node.input
    known = t.known(power)
    if known is None:
        raise _RefusedError("a Pow whose exponent is computed at run time")
    factor = np.asarray(known, np.float32)  # exponents may be integers, x is none
    less = np.where(factor == 0, 1, factor) - 1  # 0 times x^0: x^-1 is infinite at 0
    power_less = t.add("Pow", x, t.constant(less, np.float32))
    return (t.add("Mul", g, t.add("Mul", t.constant(factor, np.float32), power_less)),)


def _sigmoid(t: _Tape, g: str) -> Sequence[str]:
    y = t.node.output[0]
    return (t.add("Mul", g, t.add("Mul", y, t.add("Sub", t.number(1.0), y))),)


def _tanh(t: _Tape, g: str) -> Sequence[str]:
    y = t.node.output[0]
    return (t.add("Mul", g, t.add("Sub", t.number(1.0), t.add("Mul", y, y))),)


def _relu(t: _Tape, g: str) -> Sequence[str]:
    return (t.add("Where", t.add("Greater", t.node.input[0], t.number(0.0)), g, t.number(0.0)),)


def _matmul(t: _Tape, g: str) -> Sequence[str]:
    shapes = [t.shape(name) for name in t.node.input]
    if min(map(len, shapes)) < 2:
        raise _RefusedError("a MatMul of a vector")
    turned = []
    for name, shape in zip(t.node.input, shapes, strict=True):
        perm = [*range(len(shape) - 2), len(shape) - 1, len(shape) - 2]
        turned.append(t.add("Transpose", name, perm=perm))
    return t.add("MatMul", g, turned[1]), t.add("MatMul", turned[0], g)


def _reduced(t: _Tape, g: str) -> Sequence[str]:
    x, attrs = t.node.input[0], t.attrs()
    shape, axes = t.shape(x), attrs.get("axes")
    if axes is None and len(t.node.input) > 1 and t.node.input[1]:
        given = t.known(t.node.input[1])
        if given is None:
            raise _RefusedError(f"a {t.node.op_type} along axes computed at run time")
        axes = given.tolist()
    if not axes and attrs.get("noop_with_empty_axes"):
        return (g,)
    along = {axis % len(shape) for axis in axes} if axes else {*range(len(shape))}
    kept = [1 if i in along else n for i, n in enumerate(shape)]
    wide = t.add("Expand", t.add("Reshape", g, t.constant(kept)), t.constant(shape))
    if t.node.op_type == "ReduceMean":
        count = int(np.prod([shape[i] for i in along], dtype=np.int64))
        wide = t.add("Div", wide, t.number(count))
    return (wide,)


def _transposed(t: _Tape, g: str) -> Sequence[str]:
    rank = len(t.shape(g))
    perm = t.attrs().get("perm", [*reversed(range(rank))])
    return (t.add("Transpose", g, perm=[int(i) for i in np.argsort(perm)]),)


_RULES: Mapping[str, _Rule] = MappingProxyType(
    {
        "Add": lambda t, g: (g, g),
        "Div": _div,
        "Exp": lambda t, g: (t.add("Mul", g, t.node.output[0]),),
        "Identity": lambda t, g: (g,),
        "Log": lambda t, g: (t.add("Div", g, t.node.input[0]),),
        "MatMul": _matmul,
        "Mul": _mul,
        "Neg": lambda t, g: (t.add("Neg", g),),
        "Pow": _pow,
        "ReduceMean": _reduced,
        "ReduceSum": _reduced,
        "Relu": _relu,
        "Reshape": lambda t, g: (t.add("Reshape", g, t.constant(t.shape(t.node.input[0]))),),
        "Sigmoid": _sigmoid,
        "Sqrt": lambda t, g: (t.add("Div", g, t.add("Mul", t.number(2.0), t.node.output[0])),),
        "Sub": lambda t, g: (g, t.add("Neg", g)),
        "Tanh": _tanh,
        "Transpose": _transposed,
    }
)


def take(walk: Walking, visit: Visit, own: Sequence[Visit]) -> bool:
    """Whether the node of ``visit`` is a Gradient: then it is written, or refused.  ``own``: the
    nodes of the model so far, in order."""
    if not _is_gradient(visit.node):
        return False
    try:
        _write(walk, visit, [each.node for each in own])
    except _RefusedError as error:
        walk.refuse(visit, str(error))
    return True


def _write(walk: Walking, visit: Visit, before: Sequence[onnx.NodeProto]) -> None:
    node, tape = visit.node, _Tape(walk, visit)
    by, y = _texts(node, "xs"), _text(node, "y")
    beside = _texts(node, "zs")
    if [*node.input[:-1]] != [*by, *beside]:
        raise _RefusedError("it is taken where the graph computes: its inputs are xs, then zs")
    if len(node.output) > len(by):
        raise _RefusedError(f"{len(node.output)} outputs, of {len(by)} xs")
    reached = set(by)
    for each in before:
        if reached.intersection(each.input) and not set(beside).intersection(each.output):
            reached.update(each.output)
    ones = np.ones(tape.shape(y), np.float32)
    terms: dict[str, list[str]] = {y: [tape.constant(ones, np.float32)]}
    for each in reversed(before):
        wanted = [name for name in each.input if name in reached]
        held = [name for name in each.output if name in terms and name in reached]
        if not wanted or not held or set(by).intersection(held):
            continue
        rule = _RULES.get(each.op_type) if each.domain in ("", "ai.onnx") else None
        if rule is None:
            known = ", ".join(_RULES)
            raise _RefusedError(f"{each.op_type} is not differentiated: {known} are")
        tape.node = each
        made = rule(tape, _total(tape, terms[each.output[0]]))
        for name, gradient in zip(each.input, made, strict=False):
            if name in reached:
                terms.setdefault(name, []).append(tape.sized(gradient, name))
    for name, output in zip(by, node.output, strict=False):  # the last may be left out
        if not output:
            continue
        zeros = [tape.constant(np.zeros(tape.shape(name)), np.float32)]
        total = _total(tape, terms.get(name) or zeros)
        copy = helper.make_node("Identity", [total], [output], f"{output}/gradient")
        walk.run_inside(visit, [copy], {**visit.scope.opsets, "": DEFINED_IN}, [output])


def _total(tape: _Tape, terms: Sequence[str]) -> str:
    total = terms[0]
    for term in terms[1:]:
        total = tape.add("Add", total, term)
    return total
