"""From a plan to the parameters of its template."""

from __future__ import annotations

import numpy as np
import numpy.typing as npt

from edgeconv.ir.candidate import HALF
from edgeconv.ir.choice import Layer, Param
from edgeconv.ir.graph import Graph, Node
from edgeconv.ir.straight_line import Routine
from edgeconv.ir.winograd_form import Nested
from edgeconv.kernels.algorithms.candidate import ConvCandidate
from edgeconv.kernels.algorithms.filter_order import FilterOrder
from edgeconv.kernels.algorithms.layer import conv_layer
from edgeconv.kernels.algorithms.packing import weights_of
from edgeconv.kernels.algorithms.prefetch import HEADER
from edgeconv.kernels.algorithms.problem import ConvProblem, Geometry
from edgeconv.kernels.algorithms.winograd.candidate import WinogradCandidate
from edgeconv.kernels.algorithms.winograd.forms import described, error_of
from edgeconv.kernels.algorithms.winograd.phases import Divided, of_filters
from edgeconv.kernels.algorithms.winograd.plan import WinogradPlan, each_group, routine_of
from edgeconv.kernels.algorithms.winograd.prefetch import prefetch_distances
from edgeconv.kernels.algorithms.winograd.toom_cook import matrices, nested
from edgeconv.kernels.lowering.calls import residual_overwritten
from edgeconv.kernels.lowering.work import Call
from edgeconv.target.targets import Target

Floats = npt.NDArray[np.float32]


def transformed(form: Nested, weights: Floats) -> Floats:
    """Filters of shape (out_c, in_c, rows, columns) as they are multiplied, of the shape of a tile:
    G g G^T in float64, rounded once."""
    down, across = matrices(form.down).of_filter, matrices(form.across).of_filter
    return nested(down, across, weights).astype(np.float32)


def promised_error(layer: Layer, graph: Graph) -> float:
    """The error of a layer that `lower` has made, measured on its own filters."""
    assert isinstance(layer.candidate, ConvCandidate), layer.node.name
    weights, strides = weights_of(layer.node, graph), layer.node.attrs["strides"]
    number = np.float16 if layer.compute == HALF else np.float32
    return error_of(layer.candidate.plan.form, weights, strides, number)


def order_of(problem: ConvProblem, plan: WinogradPlan, in_c: int, lanes: int) -> FilterOrder:
    """Group; vectors of a register tile; position of the image tile; row of the filter, where these
    are summed; channel, of ``in_c`` as the micro-kernel takes them at once; filter."""
    kernel = plan.kernel
    depth = plan.form.summed * in_c * kernel.k
    full, rest = divmod(-(-problem.group_out_c // lanes), plan.vectors)
    return FilterOrder(
        groups=problem.groups,
        out_c=problem.group_out_c,
        in_c=depth,
        taps=plan.positions,
        widths=(plan.vectors * lanes,) * full + ((rest * lanes,) if rest else ()),
        nc=depth,
        block=depth,
        k=kernel.k,
        interleaves=kernel.interleaves,
    )


def _multiplied(packed: Floats, order: FilterOrder, plan: WinogradPlan) -> Floats:
    """The channels of filters in ``order`` that have products."""
    numbers = (np.arange(each.count) for each in plan.phases)
    down, across = np.meshgrid(*numbers, indexing="ij")
    kept = np.array([(down < rows) & (across < columns) for rows, columns in plan.met])
    summed = plan.form.summed
    of_phase = order.in_c // summed // down.size
    channels = np.tile(np.repeat(kept.reshape(order.taps, -1), of_phase, 1), summed)
    edges = np.cumsum([order.in_c * order.taps * width for width in order.widths])
    tiles = zip(np.split(packed, edges[:-1]), order.widths, strict=True)
    return np.concatenate(
        [tile.reshape(*channels.shape, width)[channels].reshape(-1) for tile, width in tiles]
    )


def _strided(divided: Divided, plan: WinogradPlan, lanes: int) -> dict[str, Param]:
    """What the template must know of phases that are copied."""
    own, at = divided.own, plan.workspace_floats(lanes)
    if not divided.strided:
        return {"strided": False}
    image = Geometry.of(own.in_layout, own.in_c, own.in_size)
    return {
        "strided": True,
        "source": (image.block, image.block_stride, image.batch, image.row, image.pixel),
        "source_size": (own.in_c, *own.in_size[1:]),
        "source_pads": own.pads[1:],
        "strides": own.strides[1:],
        "phases": tuple(each.count for each in divided.phases),
        "whole": tuple(each.whole for each in divided.phases),
        "phases_at": at,
    }


def _routines(form: Nested, side: str) -> tuple[Routine | None, Routine | None]:
    """The routines of a tile's columns and rows on one ``side``, where these are transformed."""
    down, across = (
        None if each.is_plain else routine_of(each, side) for each in (form.down, form.across)
    )
    return down, across


def loops(
    problem: ConvProblem,
    unit: ConvProblem,
    image: ConvProblem,
    plan: WinogradPlan,
    target: Target,
) -> dict[str, Param]:
    """Sizes and loops of ec_winograd.h; ``unit``: a group of ``problem`` as it was planned;
    ``image``: what its tiles are of."""
    form = plan.form
    return {
        "micro_kernel": plan.kernel.enumerator,
        "packed": plan.packed,
        "batch": problem.batch,
        "groups": problem.groups,
        "in_c": unit.in_c,
        "vectors": -(-problem.group_out_c // target.lanes),
        "in_size": image.in_size[1:],
        "out_size": problem.out_size[1:],
        "pads": image.pads[1:],
        "taken": form.taken,
        "made": (form.down.outputs, form.across.outputs),
        "across": plan.tiles[1],
        "tiles": plan.tiles[0] * plan.tiles[1],
        "summed": form.summed,
        "strip": plan.strip,
        "tile": (plan.rows, plan.vectors),
        "line": plan.line,
        "prefetch": plan.fetches(unit, target),
    }


def displayed(plan: WinogradPlan, lanes: int, **more: str) -> dict[str, Param]:
    """The plan as report and explain show it."""
    return {
        **described(plan.form),
        **more,
        "tiles": plan.strip,
        "mr": plan.rows,
        "nr": plan.vectors * lanes,
        "predicted_slots": round(plan.cost),
    }


def lower(candidate: WinogradCandidate, node: Node, graph: Graph, target: Target) -> Layer:
    """The kernel call of a Conv node whose layouts are decided."""
    problem, plan, lanes = candidate.problem, candidate.plan, target.lanes
    form, residual = plan.form, node.epilogue.residual
    divided = Divided(each_group(problem))
    unit = divided.unit
    image = unit if divided.strided else problem
    order = order_of(problem, plan, unit.in_c, lanes)
    phases = tuple(each.count for each in divided.phases)
    elements = problem.groups * plan.filter_floats(unit, lanes)
    copies = ("ec_phases.h",) if divided.strided else ()
    more = {"phases": f"{phases[0]}x{phases[1]}"} if divided.strided else {}
    routines = {side: _routines(form, side) for side in ("input", "output")}
    prefetch = prefetch_distances(unit, plan, target)

    def pack(weights: Floats) -> Floats:
        two = weights.reshape(problem.out_c, problem.group_in_c, *problem.kernel[1:])
        each = transformed(form, of_filters(two, problem.strides[1:]))
        if form.summed > 1:
            each = each.swapaxes(1, 2)
        packed = order.pack(each.reshape(problem.out_c, order.in_c, plan.positions))
        return packed if order.elements == elements else _multiplied(packed, order, plan)

    return conv_layer(
        candidate,
        Call(node, graph, target),
        "winograd",
        params={
            **loops(problem, unit, image, plan, target),
            **prefetch.params,
            "inputs": tuple(each.enumerator if each else "0" for each in routines["input"]),
            "outputs": tuple(each.enumerator if each else "0" for each in routines["output"]),
            "residual": bool(residual),
            "dilated": divided.dilated,
            "dilations": problem.dilations[1:],
            **_strided(divided, plan, lanes),
        },
        headers=(
            "ec_window.h",
            *copies,
            *((plan.kernel.header,) if plan.kernel.header else ()),
            "ec_micro_kernel.h",
            *((HEADER,) if prefetch.tiles else ()),
            "ec_winograd_spec.h",
            "ec_winograd.h",
        ),
        filters=(elements, pack),
        pointers=("filters", "panel"),
        routines=tuple(each for side in routines.values() for each in side if each),
        aliases=residual_overwritten(node, graph),
        fetches=prefetch.lines,
        plan=displayed(plan, lanes, **more),
    )
