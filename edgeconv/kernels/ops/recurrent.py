"""Recurrent layers: what is left of RNN, GRU and LSTM once the inputs are multiplied.

Recurrent: inputs x, weights, bias, h0, c0, lengths, peepholes, all but the first two possibly "".
x[length][batch][directions * gates * hidden] is the product of the inputs, biases added, by a
Dense over all steps at once; weights[directions * gates * hidden][hidden] are those of the state;
the bias [directions][hidden] is that inside of a GRU's reset; h0 and c0 are
[directions][batch][hidden], lengths [batch], peepholes [directions][3 * hidden].

Constant weights may be stored in fewer bits, with a unit per row: they are widened where they are
read, and sums are float32.

The output is [steps of Y + 1 or 2][directions][batch][hidden]: every step if ``every``, then the
last state, then the last cell state of an LSTM; `Slice` nodes are views of it.
Attributes: ``cell`` (a key of `CELLS`), ``directions`` ("forward", "backward"), ``functions``
(three of each direction, those that the cell has not are "none"), ``clip`` (0: none),
``cell_clip``: of the cell of an LSTM in every step (0: none),
``reset_behind`` and ``forgets_input`` (linear_before_reset, input_forget).
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import replace

import numpy as np

from edgeconv.ir.activation import Activation
from edgeconv.ir.choice import Blob, Layer, Param
from edgeconv.ir.encoding import Encoding
from edgeconv.ir.filters import Floats
from edgeconv.ir.graph import Graph, Node
from edgeconv.ir.work import Work
from edgeconv.kernels.algorithms.packing import (
    filters_blob,
    has_units,
    row_elements,
    storage_params,
    units_of,
    weights_of,
)
from edgeconv.kernels.algorithms.problem import filters_as
from edgeconv.kernels.lowering import cells
from edgeconv.kernels.lowering.calls import FLOAT_BYTES, kernel_layer, merge_headers
from edgeconv.kernels.lowering.cells import CELLS
from edgeconv.kernels.lowering.options import Stored
from edgeconv.kernels.lowering.work import Call
from edgeconv.kernels.ops.base import Operator
from edgeconv.kernels.ops.matmul import tile_of
from edgeconv.kernels.ops.recurrent_import import import_recurrent
from edgeconv.target.targets import Target

X, WEIGHTS, BIAS, H0, C0, LENGTHS, PEEPHOLES = range(7)
_POINTERS = ("in", "weights", "bias", "h0", "c0", "lengths", "peepholes")


def _sizes(node: Node, graph: Graph) -> tuple[int, int, int]:
    """Steps, sequences, hidden units."""
    length, batch, _ = graph[node.inputs[X]].shape
    return length, batch, graph[node.output].shape[-1]


def macs(node: Node, graph: Graph) -> int:
    """The multiply-accumulates of the state."""
    length, batch, hidden = _sizes(node, graph)
    return length * batch * graph[node.inputs[WEIGHTS]].shape[0] * hidden


def _products(node: Node) -> tuple[int, ...]:
    """The gates of each product of a step."""
    gates = CELLS[node.attrs["cell"]].gates
    apart = node.attrs["cell"] == "GRU" and not node.attrs["reset_behind"]
    return (2, 1) if apart else (gates,)


def _even(total: int, most: int) -> int:
    """What each takes of ``total``, as even as they come, none more than ``most``."""
    return -(-total // -(-total // most))


def _packed(
    weights: Floats, products: Sequence[int], hidden: int, lanes: int, width: int, form: Encoding
) -> Floats:
    """[directions * gates * hidden][hidden] as panels of ``width`` columns, those of one product
    after the other: rows are of the state, and begin with a byte of ``form``; gates are padded to
    whole vectors of ``lanes``."""
    gates = weights.reshape(-1, sum(products), hidden, hidden)
    padded = -(-hidden // lanes) * lanes
    columns = np.zeros((*gates.shape[:2], padded, hidden), np.float32)
    columns[:, :, :hidden] = gates
    panels = []
    for direction in columns:
        first = 0
        for count in products:
            matrix = direction[first : first + count].reshape(count * padded, hidden).T
            for at in range(0, count * padded, width):
                panel = matrix[:, at : at + width]
                rest = row_elements(panel.shape[1], form) - panel.shape[1]
                panels.append(np.pad(panel, ((0, 0), (0, rest))).reshape(-1))
            first += count
    return np.concatenate(panels)


def _elements(columns: int, hidden: int, width: int, form: Encoding) -> int:
    """The elements of the weights of one product, rows padded to whole bytes."""
    full, rest = divmod(columns, width)
    return hidden * (full * row_elements(width, form) + row_elements(rest, form))


def _own_units(node: Node, graph: Graph) -> Floats:
    """The unit of each row of the weights."""
    units = units_of(node, weights_of(node, graph))
    assert units is not None, node.name
    return units


def _units(units: Floats, hidden: int, padded: int) -> Floats:
    """[directions * gates * hidden] as [directions * gates * padded]."""
    gates = units.reshape(-1, hidden)
    return np.pad(gates, ((0, 0), (0, padded - hidden))).reshape(-1)


def _work(node: Node, call: Call, rows: int, weight_bytes: float) -> Work:
    """Products, and the functions of every step; weights come in once for each tile's step."""
    length, batch, hidden = _sizes(node, call.graph)
    cell, directions = CELLS[node.attrs["cell"]], len(node.attrs["directions"])
    functions: tuple[Activation, ...] = node.attrs["functions"]
    each = sum(
        count * cells.slots(functions[3 * d + i], call.target)
        for d in range(directions)
        for i, count in enumerate(cell.applied)
    )
    vectors = length * batch * -(-hidden // call.target.lanes)
    slots = macs(node, call.graph) / call.target.lanes / call.target.peak
    work = call.streams(slots + vectors * (each + directions * cell.slots))
    passes = length * -(-batch // rows)
    sums = FLOAT_BYTES * 2.0 * vectors * call.target.lanes * cell.gates * directions
    moves = work.moves + 2 * vectors * cell.gates * directions + slots / rows
    return replace(
        work,
        moves=moves,
        weight_bytes=passes * weight_bytes,
        data_bytes=work.data_bytes + sums,
    )


def lower(node: Node, graph: Graph, target: Target) -> Layer:
    """Step by step, sequences that fit a register tile side by side."""
    length, batch, hidden = _sizes(node, graph)
    cell, products = CELLS[node.attrs["cell"]], _products(node)
    inputs = dict(zip(_POINTERS, (*node.inputs, *("",) * 7), strict=False))
    lanes, together = target.lanes, 1 if inputs["lengths"] else batch
    padded = -(-hidden // lanes) * lanes
    tile = tile_of(together, products[0] * padded, target)
    rows = _even(together, tile.rows)
    vectors = _even(products[0] * padded // lanes, tile.vectors)
    weights, width = graph[inputs["weights"]], vectors * lanes
    functions: tuple[Activation, ...] = node.attrs["functions"]
    form, count = filters_as(node), len(node.attrs["directions"])
    elements = count * sum(_elements(gates * padded, hidden, width, form) for gates in products)
    operands: dict[str, str | Blob] = {name: ref for name, ref in inputs.items() if ref}
    workspace = rows * (cell.gates + len(products) - 1) * padded
    if weights.is_constant:
        operands["weights"] = filters_blob(
            node,
            graph,
            elements,
            lambda values: _packed(values, products, hidden, lanes, width, form),
        )
    else:
        workspace += elements // count
    if has_units(node):
        operands["units"] = Blob(
            "units",
            weights.shape[0] // hidden * padded,
            lambda: _units(_own_units(node, graph), hidden, padded),
        )
    params: dict[str, Param] = {
        "cell": cell.name,
        "length": length,
        "batch": batch,
        "hidden": hidden,
        "padded": padded,
        "gates": cell.gates,
        "directions": tuple(node.attrs["directions"]),
        "every": bool(node.attrs["every"]),
        "rows": rows,
        "vectors": vectors,
        "weights_as": storage_params(node, hidden, lanes)["filters_as"],
        "units": "units" if has_units(node) else "NULL",
        "clips": bool(node.attrs["clip"]),
        "clip": float(node.attrs["clip"]),
        "clips_cell": bool(node.attrs["cell_clip"]),
        "cell_clip": float(node.attrs["cell_clip"]),
        "kinds": tuple(map(cells.enumerator, functions)),
        "alphas": tuple(f.alpha for f in functions),
        "betas": tuple(f.beta for f in functions),
        "reset_behind": bool(node.attrs["reset_behind"]),
        "forgets_input": bool(node.attrs["forgets_input"]),
        "packs": not weights.is_constant,
        **{
            name: name if ref else "NULL"
            for name, ref in inputs.items()
            if name not in ("in", "weights")
        },
    }
    call = Call(node, graph, target)
    layer = kernel_layer(
        call,
        cell.name,
        "ops/recurrent.c.j2",
        operands=operands,
        params=params,
        headers=("ec_recurrent.h", f"ec_{cell.name}.h", "ec_recurrent_run.h"),
        functions=merge_headers(
            (*cells.headers(each), "ec_lanes.h", "ec_activation.h", "ec_recurrent.h")
            for each in functions
        ),
        work=call.streams(),
        workspace_bytes=workspace * FLOAT_BYTES,
        macs=macs(node, graph),
        epilogue=False,
    )
    return replace(layer, work=_work(node, call, rows, float(form.bytes_of(elements))))


OPERATOR = Operator(
    name="Recurrent",
    onnx=dict.fromkeys(CELLS, import_recurrent),
    typed=dict.fromkeys(CELLS, import_recurrent),
    lower=lower,
    macs=macs,
    stored=Stored.NOTHING,
)
