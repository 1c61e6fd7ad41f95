"""From a plan to the parameters of its template."""

from __future__ import annotations

import numpy as np
import numpy.typing as npt

from edgeconv.algorithms.candidate import ConvCandidate
from edgeconv.algorithms.filter_order import FilterOrder
from edgeconv.algorithms.layer import conv_layer
from edgeconv.algorithms.packing import weights_of
from edgeconv.algorithms.problem import ConvProblem
from edgeconv.algorithms.winograd.candidate import WinogradCandidate
from edgeconv.algorithms.winograd.forms import described, error_of
from edgeconv.algorithms.winograd.plan import WinogradPlan, each_group, routine_of
from edgeconv.algorithms.winograd.toom_cook import matrices, nested
from edgeconv.ir.choice import Layer
from edgeconv.ir.graph import Graph, Node
from edgeconv.ir.minimal_filter import Nested
from edgeconv.ir.straight_line import Routine
from edgeconv.lowering.calls import residual_overwritten
from edgeconv.lowering.work import Call
from edgeconv.targets import Target

Floats = npt.NDArray[np.float32]


def transformed(form: Nested, weights: Floats) -> Floats:
    """Filters of shape (out_c, in_c, rows, columns) as they are multiplied, of the shape of a tile:
    G g G^T in float64, rounded once."""
    down, across = matrices(form.down).of_filter, matrices(form.across).of_filter
    return nested(down, across, weights).astype(np.float32)


def promised_error(layer: Layer, graph: Graph) -> float:
    """The error of a layer that `lower` has made, measured on its own filters."""
    assert isinstance(layer.candidate, ConvCandidate), layer.node.name
    return error_of(layer.candidate.plan.form, weights_of(layer.node, graph))


def _order(problem: ConvProblem, plan: WinogradPlan, lanes: int) -> FilterOrder:
    """Group; vectors of a register tile; position of the image tile; row of the filter, where these
    are summed; channel; filter."""
    depth = plan.form.summed * problem.group_in_c
    full, rest = divmod(-(-problem.group_out_c // lanes), plan.vectors)
    return FilterOrder(
        groups=problem.groups,
        out_c=problem.group_out_c,
        in_c=depth,
        taps=plan.positions,
        widths=(plan.vectors * lanes,) * full + ((rest * lanes,) if rest else ()),
        nc=depth,
        block=depth,
    )


def _routines(form: Nested, side: str) -> tuple[Routine | None, Routine | None]:
    """Those of a tile's columns and rows on one ``side``, where these are transformed."""
    down, across = (
        None if each.is_plain else routine_of(each, side) for each in (form.down, form.across)
    )
    return down, across


def lower(candidate: WinogradCandidate, node: Node, graph: Graph, target: Target) -> Layer:
    """The kernel call of a Conv node whose layouts are decided."""
    problem, plan, lanes = candidate.problem, candidate.plan, target.lanes
    form, residual = plan.form, node.epilogue.residual
    order = _order(problem, plan, lanes)
    routines = {side: _routines(form, side) for side in ("input", "output")}

    def pack(weights: Floats) -> Floats:
        two = weights.reshape(problem.out_c, problem.group_in_c, *problem.kernel[1:])
        each = transformed(form, two)
        if form.summed > 1:
            each = each.swapaxes(1, 2)
        return order.pack(each.reshape(problem.out_c, order.in_c, plan.positions))

    return conv_layer(
        candidate,
        Call(node, graph, target),
        "winograd",
        params={
            "micro_kernel": plan.kernel.enumerator,
            "packed": plan.packed,
            "batch": problem.batch,
            "groups": problem.groups,
            "in_c": problem.group_in_c,
            "vectors": -(-problem.group_out_c // lanes),
            "in_size": problem.in_size[1:],
            "out_size": problem.out_size[1:],
            "pads": problem.pads[1:],
            "taken": form.taken,
            "made": (form.down.outputs, form.across.outputs),
            "inputs": tuple(each.enumerator if each else "0" for each in routines["input"]),
            "outputs": tuple(each.enumerator if each else "0" for each in routines["output"]),
            "across": plan.tiles[1],
            "tiles": plan.tiles[0] * plan.tiles[1],
            "summed": form.summed,
            "strip": plan.strip,
            "tile": (plan.rows, plan.vectors),
            "line": plan.line,
            "prefetch": plan.fetches(each_group(problem), target),
            "residual": bool(residual),
        },
        headers=("ec_window.h", "ec_micro_kernel.h", "ec_winograd.h"),
        filters=(order.elements, pack),
        pointers=("filters", "panel"),
        routines=tuple(each for side in routines.values() for each in side if each),
        aliases=residual_overwritten(node, graph),
        plan={
            **described(form),
            "tiles": plan.strip,
            "mr": plan.rows,
            "nr": plan.vectors * lanes,
            "predicted_slots": round(plan.cost),
        },
    )
