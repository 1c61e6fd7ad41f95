"""The LSTM of int8 and int16 in integers that TensorFlow Lite Micro computes (`tflite_lstm`).

ShortLSTM: inputs x [length, batch, inputs] or the batch first, state h and cell c [batch, hidden]
of the run before, and constants: the weights of all gates for x [4 hidden, inputs], those for h
[4 hidden, hidden], both of int8, and biases [4 hidden] of int32.  h is of the type of x, c of
int16.

The output is c and then every h, in elements of x: `Slice` and `BitCast` nodes are views of it.
Attributes: ``form`` (a `ShortLstm`), ``time_major``.
"""

from __future__ import annotations

import math
from collections.abc import Sequence
from dataclasses import replace
from itertools import chain
from typing import Any

import numpy as np
import numpy.typing as npt

from edgeconv.ir.candidate import INT16, INTEGERS
from edgeconv.ir.choice import Blob, Layer, Param
from edgeconv.ir.graph import Epilogue, Graph, Node
from edgeconv.ir.layout import Shape
from edgeconv.ir.requantisation.tflite_lstm import GATES, Factor, ShortLstm, starts
from edgeconv.ir.requantisation.tflite_short import points
from edgeconv.ir.work import Work
from edgeconv.kernels.lowering.calls import kernel_layer
from edgeconv.kernels.lowering.integers import computing
from edgeconv.kernels.lowering.loops import PerCore
from edgeconv.kernels.lowering.work import Call
from edgeconv.kernels.ops.base import ImportContext, Operator, Source
from edgeconv.kernels.ops.formula import Formula, Term
from edgeconv.target.targets import HELIUM, Target

SHORT_LSTM = "ShortLSTM"
X, H, C, WEIGHTS, RECURRENT, BIASES = range(6)
_CELL_BYTES, _SHORT = 2, 16
_K_BLOCK, _SIXTEEN = 4, 16  # numbers of a gate that lie side by side
_HEADERS = (
    *("ec_int8_channels.h", "ec_window.h", "ec_int8_panel.h", "ec_int8_sums.h"),
    *("ec_int16_doubled.h", "ec_short_sigmoid.h", "ec_short_lstm.h"),
)
# Cycles of a core without vectors, as `PerCore` has them: of a product, of a unit's step beside.
_PRODUCT, _STATE = PerCore(12.6, 2.5, 2, 7.2), PerCore(1900, 420, 330, 480)
_SLOTS, _STATE_SLOTS = 1.0, 300.0  # of the same where there are vectors


def import_short_lstm(
    source: Source, ctx: ImportContext, form: ShortLstm, *, time_major: bool
) -> Sequence[Node]:
    """Weights of all gates in one.  ``source``: its operands are those of `short_lstm.function` of
    the frontend."""
    formula = Formula(replace(source, outputs=(source.read,)), ctx)
    x, h, c = (ctx.tensor(name) for name in source.inputs[:WEIGHTS])
    kinds = (np.int8, np.int8, np.int32)
    gates = (source.inputs[at : at + len(GATES)] for at in range(WEIGHTS, len(source.inputs), 4))
    joined = [
        formula.typed_constant(_joined(ctx, names).astype(kind), what)
        for names, kind, what in zip(gates, kinds, ("weights", "recurrent", "bias"), strict=True)
    ]
    cells = c.size * _CELL_BYTES * 8 // form.bits
    shape = (*x.shape[:2], h.shape[-1])
    whole = formula.add(
        SHORT_LSTM,
        (x.name, h.name, c.name, *joined),
        (cells + math.prod(shape),),
        "states",
        form=form,
        time_major=time_major,
    )
    every, cell = source.outputs
    if every:
        _give(formula, _view(whole, cells, math.prod(shape)), every)
    if cell:
        view = _view(whole, 0, cells)
        if form.bits != _SHORT:
            view = formula.add(
                "BitCast", (view,), (c.size,), "cell", Epilogue(), c.dtype, to=c.dtype
            )
        _give(formula, view, cell)
    return formula.nodes


def _joined(ctx: ImportContext, names: Sequence[str]) -> npt.NDArray[Any]:
    found = [ctx.constant(name) for name in names]
    return np.concatenate([value for value in found if value is not None])


def _view(whole: Term, start: int, count: int) -> Term:
    return whole.formula.add("Slice", (whole,), (count,), "view", starts=(start,), steps=(1,))


def _give(formula: Formula, view: Term, output: str) -> None:
    name = f"{formula.source.name}/{output}"
    formula.nodes.append(Node(name, "Reshape", (view.name,), (output,)))


def _sizes(node: Node, graph: Graph) -> tuple[int, int, int, int]:
    """Length, sequences, inputs, hidden numbers."""
    first, second, inputs = graph[node.inputs[X]].shape
    length, batch = (first, second) if node.attrs["time_major"] else (second, first)
    return length, batch, inputs, graph[node.inputs[H]].shape[-1]


def macs(node: Node, graph: Graph) -> int:
    """The multiply-accumulates of input and state."""
    length, batch, inputs, hidden = _sizes(node, graph)
    return length * batch * len(GATES) * hidden * (inputs + hidden)


def _blocks(weights: npt.NDArray[np.int8], together: int) -> npt.NDArray[np.int8]:
    """[4 hidden, numbers] as [hidden, bytes]: ``together`` numbers of the first gate, of the
    second, of the third, of the fourth, then the next; zeros behind."""
    numbers = weights.shape[1]
    gates = weights.reshape(len(GATES), -1, numbers)
    padded = np.pad(gates, ((0, 0), (0, 0), (0, -numbers % together)))
    blocks = padded.reshape(len(GATES), gates.shape[1], -1, together)
    return blocks.transpose(1, 2, 0, 3).reshape(gates.shape[1], -1)


def _filters(node: Node, graph: Graph, together: int) -> Blob:
    """The weights of every hidden number: those for the input, then those for the state."""
    weights = [graph[node.inputs[index]] for index in (WEIGHTS, RECURRENT)]
    hidden = weights[0].shape[0] // len(GATES)
    row = sum(len(GATES) * together * math.ceil(each.shape[1] / together) for each in weights)

    def packed() -> npt.NDArray[np.int8]:
        blocks = [_blocks(each.constant().astype(np.int8), together) for each in weights]
        return np.concatenate(blocks, axis=1).reshape(-1)

    return Blob("weights", hidden * row, packed, dtype="int8")


def _starts(node: Node, graph: Graph) -> Blob:
    """What the sums of the gates of every hidden number begin with: four of the input, four of the
    state."""
    form: ShortLstm = node.attrs["form"]
    count = graph[node.inputs[BIASES]].size

    def words() -> npt.NDArray[np.int32]:
        w, r, b = (
            graph[node.inputs[index]].constant().astype(np.int64)
            for index in (WEIGHTS, RECURRENT, BIASES)
        )
        found = np.stack([starts(w, form.zero_x, b), starts(r, form.zero_h, None)])
        by_hidden = found.reshape(2, len(GATES), -1).transpose(2, 0, 1)
        return by_hidden.reshape(-1).astype(np.int32)

    return Blob("starts", 2 * count, words, dtype="int32")


def _factors(given: Sequence[Factor]) -> tuple[int, ...]:
    """The multiplier of each, the shift to the left before it and that to the right behind."""
    each = ((multiplier, max(-right, 0), max(right, 0)) for multiplier, right in given)
    return tuple(chain.from_iterable(each))


def _strides(shape: Shape, *, time_major: bool) -> tuple[int, int]:
    """From one step to the next, and from one sequence."""
    outer, inner = shape[1] * shape[2], shape[2]
    return (outer, inner) if time_major else (inner, outer)


def lower(node: Node, graph: Graph, target: Target) -> Layer:
    """The four gates of one hidden number after the other; a state is read where the step before
    has written it."""
    form: ShortLstm = node.attrs["form"]
    length, batch, inputs, hidden = _sizes(node, graph)
    call, major = Call(node, graph, target), bool(node.attrs["time_major"])
    sixteens = HELIUM in target.features and form.bits != _SHORT
    x = graph[node.inputs[X]].shape
    table = points().astype(np.uint16)
    params: dict[str, Param] = {
        "length": length,
        "batch": batch,
        "inputs": inputs,
        "hidden": hidden,
        "sixteens": sixteens,
        "bytes": form.bits // 8,
        "x_strides": _strides(x, time_major=major),
        "y_strides": _strides((*x[:2], hidden), time_major=major),
        "of_x": _factors(form.of_x),
        "of_h": _factors(form.of_h),
        "of_new": _factors([form.of_new]),
        "of_output": _factors([form.of_output]),
        "argument": _factors([form.argument]),
        "clip": form.clip,
        "zero": form.zero_h,
    }
    layer = kernel_layer(
        call,
        "short_lstm",
        "ops/short_lstm.c.j2",
        operands={
            "x": node.inputs[X],
            "h": node.inputs[H],
            "c": node.inputs[C],
            "weights": _filters(node, graph, _SIXTEEN if sixteens else _K_BLOCK),
            "starts": _starts(node, graph),
            "table": Blob("table", table.size, lambda: table, dtype="uint16"),
        },
        params=params,
        headers=_HEADERS,
        work=_work(node, call),
        macs=macs(node, graph),
        epilogue=False,
    )
    return computing(layer, INT16 if form.bits == _SHORT else INTEGERS)


def _work(node: Node, call: Call) -> Work:
    length, batch, _, hidden = _sizes(node, call.graph)
    products, made = macs(node, call.graph), length * batch * hidden
    product, state = (each.on(call.target, reals=False) for each in (_PRODUCT, _STATE))
    slots = _SLOTS * products / call.target.lanes + _STATE_SLOTS * made
    portable = _PRODUCT.single * products + _STATE.single * made
    return call.in_integers(product * products + state * made, portable, slots)


OPERATOR = Operator(name=SHORT_LSTM, lower=lower, macs=macs)
