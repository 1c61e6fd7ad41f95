"""ONNX's RNN, GRU and LSTM: a Dense over all steps, and a Recurrent node
(``kernels/ops/recurrent.py``)."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass, replace
from typing import Any

import numpy as np

from edgeconv.ir.activation import NONE, Activation
from edgeconv.ir.encoding import INT4, INT8
from edgeconv.ir.graph import Node
from edgeconv.ir.layout import Shape
from edgeconv.kernels.lowering.cells import CELL_FUNCTIONS, CELLS, Cell
from edgeconv.kernels.ops.base import ImportContext, Source
from edgeconv.kernels.ops.formula import Formula, Term
from edgeconv.kernels.ops.importing import flag, optional_input

_DIRECTIONS = {
    "forward": ("forward",),
    "reverse": ("backward",),
    "bidirectional": ("forward", "backward"),
}
_BY_NAME = {name.lower(): row for name, row in CELL_FUNCTIONS.items()}
CELL_CLIP = "edgeconv.cell_clip"  # of an LSTM; no attribute of ONNX's
_RESET = 2  # the gate of a GRU whose bias stands inside of its reset


@dataclass(frozen=True, slots=True)
class _Layer:
    """An ONNX node and what is known of it."""

    source: Source
    ctx: ImportContext
    formula: Formula
    cell: Cell
    directions: tuple[str, ...]
    hidden: int
    batch_first: bool

    @property
    def count(self) -> int:
        return len(self.directions)

    @property
    def columns(self) -> int:
        """Products of the inputs, of all directions."""
        return self.count * self.cell.gates * self.hidden

    def term(self, index: int) -> Term | None:
        name = optional_input(self.source, index)
        return Term(self.formula, name) if name else None

    def shaped(self, index: int, what: str, shape: Shape) -> Term | None:
        """Operand ``index``.  Rejects another shape."""
        term = self.term(index)
        if term is not None and term.shape != shape:
            rule = f"{what} is {list(shape)}"
            raise self.ctx.reject(self.source, f"{what} of shape {list(term.shape)}", rule)
        return term


def import_recurrent(source: Source, ctx: ImportContext) -> Sequence[Node]:
    """W, R and B hold the numbers of each direction, and in it of each gate, side by side."""
    named = next(name for name in source.outputs if name)
    formula = Formula(replace(source, outputs=(named,)), ctx)
    layer = _layer(source, ctx, formula)
    x = layer.term(0)
    assert x is not None
    if layer.batch_first:
        x = x.transpose(1, 0, 2)
    length, batch, _ = x.shape
    # Of one step Y is the last state, but for sequences that have none.
    every = bool(source.outputs[0]) and (length > 1 or layer.term(4) is not None)
    bias, inner = _biases(layer)
    products = _products(layer, x, bias)
    inputs = (
        products.name,
        _flat(layer, 2, layer.shaped(2, "R", _weights_shape(layer))),
        inner,
        *(
            _state(layer, index, what, batch)
            for index, what in ((5, "initial_h"), (6, "initial_c"))
        ),
        _lengths(layer, batch),
        _flat(layer, 7, layer.shaped(7, "P", (layer.count, 3 * layer.hidden))),
    )
    is_lstm = source.op_type == "LSTM"
    held = length * every + 1 + is_lstm
    whole = formula.add(
        "Recurrent",
        inputs,
        (held, layer.count, batch, layer.hidden),
        "states",
        cell=source.op_type,
        directions=layer.directions,
        functions=_functions(layer),
        clip=_clip(layer),
        cell_clip=float(source.attrs.get(CELL_CLIP, 0.0)),
        reset_behind=flag(source, ctx, "linear_before_reset"),
        forgets_input=flag(source, ctx, "input_forget"),
        every=every,
        **_stored(layer),
    )
    places = ((0, length if every else 1), (length * every, 1), (length * every + 1, 1))
    results = zip((*source.outputs, "", "")[:3], places, strict=True)
    for output, (start, count) in results:
        if output:
            _give(layer, whole, output, start, count)
    return formula.nodes


def _layer(source: Source, ctx: ImportContext, formula: Formula) -> _Layer:
    cell, direction = CELLS[source.op_type], str(source.attrs["direction"])
    if direction not in _DIRECTIONS:
        rule = f"direction is {', '.join(_DIRECTIONS)}"
        raise ctx.reject(source, f"direction {direction!r}", rule)
    directions = _DIRECTIONS[direction]
    recurrence = ctx.tensor(source.inputs[2]).shape
    if len(recurrence) != 3 or not recurrence[-1]:
        rule = "R is [directions, gates * hidden_size, hidden_size]"
        raise ctx.reject(source, f"R {list(recurrence)}", rule)
    hidden = recurrence[-1]
    given = int(source.attrs.get("hidden_size", hidden))
    if given != hidden:
        rule = "the last dimension of R is hidden_size"
        raise ctx.reject(source, f"hidden_size {given}, R for {hidden}", rule)
    batch_first = flag(source, ctx, "layout")
    return _Layer(source, ctx, formula, cell, directions, hidden, batch_first)


def _stored(layer: _Layer) -> dict[str, Any]:
    """Attributes of the weights R where the model stores integers that kernels widen: one scale,
    or those of each gate's units, which both directions have in common."""
    stored = layer.ctx.stored_as(layer.source.inputs[2], 1, layer.source.name)
    form = stored.get("storage")
    if form is None or any(form.zero) or form.element not in (INT4, INT8):
        return {}
    return {**stored, "storage": form.scaled(form.scale * layer.count)}


def _weights_shape(layer: _Layer) -> Shape:
    return (layer.count, layer.cell.gates * layer.hidden, layer.hidden)


def _flat(layer: _Layer, index: int, term: Term | None) -> str:
    """Operand ``index``, R or P, as the kernel takes it: the first two dimensions as one."""
    if term is None:
        return ""
    value = layer.ctx.constant(term.name)
    shape = (-1, layer.hidden) if index == 2 else term.shape
    if value is not None:
        return layer.ctx.add_constant(f"{term.name}/flat", value.reshape(shape))
    return term.reshape(layer.columns, layer.hidden).name if index == 2 else term.name


def _products(layer: _Layer, x: Term, bias: Term | None) -> Term:
    """W x + bias of all steps: [length][sequences][directions * gates * hidden]."""
    formula, ctx = layer.formula, layer.ctx
    length, batch, channels = x.shape
    shape = (layer.count, layer.cell.gates * layer.hidden, channels)
    w = layer.shaped(1, "W", shape)
    assert w is not None
    weights, out = ctx.constant(w.name), (length, batch, layer.columns)
    constant_bias = bias is None or ctx.constant(bias.name) is not None
    if weights is None or not constant_bias:
        turned = w.reshape(layer.columns, channels).transpose(1, 0)
        product = formula.add("MatMul", (x, turned), out, "products")
        return product if bias is None else product + bias
    stored = ctx.stored_as(w.name, 1, f"{layer.source.name}/products") if layer.count == 1 else {}
    flat = ctx.add_constant(f"{w.name}/flat", weights.reshape(layer.columns, channels))
    return formula.add("Dense", (x, flat, bias or ""), out, "products", **stored)


def _biases(layer: _Layer) -> tuple[Term | None, str]:
    """What is added to the products of the inputs, and to that which a GRU resets ("": nothing).

    B has the biases of the inputs' products of all gates, then those of the state's.
    """
    gates, hidden, count = layer.cell.gates, layer.hidden, layer.count
    term = layer.shaped(3, "B", (count, 2 * gates * hidden))
    if term is None:
        return None, ""
    apart = layer.source.op_type == "GRU" and flag(layer.source, layer.ctx, "linear_before_reset")
    value = layer.ctx.constant(term.name)
    if value is None:
        return _run_time_biases(layer, term, apart=apart)
    given = value.astype(np.float32).reshape(count, 2, gates, hidden)
    outer = given[:, 0] + given[:, 1]
    if apart:
        outer[:, _RESET] = given[:, 0, _RESET]
    inner = layer.formula.constant(given[:, 1, _RESET], "reset_bias").name if apart else ""
    return layer.formula.constant(outer.reshape(-1), "bias"), inner


def _run_time_biases(layer: _Layer, term: Term, *, apart: bool) -> tuple[Term, str]:
    gates, hidden, count = layer.cell.gates, layer.hidden, layer.count
    whole = term.reshape(count, 2, gates, hidden)

    def cut(side: int, first: int, number: int) -> Term:
        return layer.formula.add(
            "Slice",
            (whole,),
            (count, 1, number, hidden),
            "bias",
            starts=(0, side, first, 0),
            steps=(1, 1, 1, 1),
        )

    if not apart:
        return (cut(0, 0, gates) + cut(1, 0, gates)).reshape(layer.columns), ""
    both = cut(0, 0, _RESET) + cut(1, 0, _RESET)
    shape = (count, 1, gates, hidden)
    outer = layer.formula.add("Concat", (both, cut(0, _RESET, 1)), shape, "bias", axis=2)
    return outer.reshape(layer.columns), cut(1, _RESET, 1).reshape(count, hidden).name


def _state(layer: _Layer, index: int, what: str, batch: int) -> str:
    """The first state of all directions, "" where it is zero."""
    if index == 6 and layer.source.op_type != "LSTM":
        return ""
    own = (layer.count, batch, layer.hidden)
    term = layer.shaped(index, what, (own[1], own[0], own[2]) if layer.batch_first else own)
    if term is None:
        return ""
    value = layer.ctx.constant(term.name)
    if value is not None and not value.any():
        return ""
    return term.transpose(1, 0, 2).name if layer.batch_first else term.name


def _lengths(layer: _Layer, batch: int) -> str:
    """Steps of each sequence, "" where all have all of them."""
    term = layer.shaped(4, "sequence_lens", (batch,))
    if term is None:
        return ""
    value, x = layer.ctx.constant(term.name), layer.term(0)
    assert x is not None
    length = x.shape[1 if layer.batch_first else 0]
    if value is None:
        return term.name
    if value.min() < 0 or value.max() > length:
        got = f"sequence_lens {value.tolist()}"
        raise layer.ctx.reject(layer.source, got, f"a sequence has 0 to {length} steps")
    return "" if (value == length).all() else term.name


def _clip(layer: _Layer) -> float:
    """0: none."""
    clip = layer.source.attrs.get("clip")
    if clip is not None and not clip > 0:
        raise layer.ctx.reject(layer.source, f"clip {clip:g}", "clip is positive")
    return float(clip) if clip is not None and np.isfinite(np.float32(clip)) else 0.0


def _functions(layer: _Layer) -> tuple[Activation, ...]:
    """Three of each direction."""
    source, each = layer.source, len(layer.cell.functions)
    names = [str(n) for n in source.attrs.get("activations") or layer.cell.functions * layer.count]
    del names[each * layer.count :]  # RNN's default is for both directions
    if len(names) < each * layer.count:
        rule = f"{source.op_type} has {each} of each direction"
        raise layer.ctx.reject(source, f"{len(names)} activations", rule)
    alphas = list(source.attrs.get("activation_alpha") or ())
    betas = list(source.attrs.get("activation_beta") or ())
    found: list[Activation] = []
    for i, name in enumerate(names):
        row = _BY_NAME.get(name.lower())
        if row is None:
            rule = f"activations are {', '.join(CELL_FUNCTIONS)}"
            raise layer.ctx.reject(source, f"activation {name!r}", rule)
        taken = [(row.alpha, alphas), (row.beta, betas)]
        if row.stated and any(default is not None and not given for default, given in taken):
            rule = "engines differ in what its activation_alpha and activation_beta are by default"
            raise layer.ctx.reject(source, f"activation {name} without them", rule)
        numbers = [
            0.0 if default is None else float(given.pop(0)) if given else default
            for default, given in taken
        ]
        found.append(Activation(row.kind, *numbers))
        if (i + 1) % each == 0:
            found += [NONE] * (3 - each)
    return tuple(found)


def _give(layer: _Layer, whole: Term, output: str, start: int, count: int) -> None:
    """``output``: ``count`` steps of all states, from ``start`` on, as ONNX orders them."""
    formula, shape = layer.formula, (count, *whole.shape[1:])
    attrs = {"starts": (start, 0, 0, 0), "steps": (1, 1, 1, 1)}
    view = formula.add("Slice", (whole,), shape, "view", **attrs)
    if layer.batch_first:
        view = view.transpose(2, 0, 1, 3)
    name = f"{layer.source.name}/{output}"
    formula.nodes.append(Node(name, "Reshape", (view.name,), (output,)))
