"""From an SConv plan to the parameters of its template."""

from __future__ import annotations

import math
from dataclasses import replace

from edgeconv.ir.activation import NONE
from edgeconv.ir.choice import Alias, Layer, Param
from edgeconv.ir.encoding import FLOAT32
from edgeconv.ir.graph import Graph, Node
from edgeconv.kernels.algorithms.cut import Cut
from edgeconv.kernels.algorithms.filter_order import FilterOrder
from edgeconv.kernels.algorithms.layer import conv_layer
from edgeconv.kernels.algorithms.problem import ConvProblem
from edgeconv.kernels.algorithms.sconv.candidate import SconvCandidate
from edgeconv.kernels.algorithms.sconv.plan import SconvPlan, decoded_bytes
from edgeconv.kernels.lowering.calls import epilogue_of
from edgeconv.kernels.lowering.work import Call
from edgeconv.target.targets import Target


def _gemm_params(problem: ConvProblem, plan: SconvPlan) -> dict[str, Param]:
    """Sizes, loops and strides of ec_gemm.h: a line is a panel of pixels, filters are rows."""
    slicing, plane = plan.slicing, math.prod(problem.out_size)
    turns = {"lines_far": slicing.k3, "tiles_far": slicing.k2}
    if not slicing.input_stationary:
        turns = {"lines_far": slicing.in_tiles, "tiles_far": slicing.k3}
    decoded = 0 if problem.filters_as == FLOAT32 else slicing.workspace // 4
    held = slicing.workspace + decoded_bytes(problem, plan)
    return {
        "micro_kernel": plan.kernel.enumerator,
        "row_multiple": plan.kernel.row_multiple,
        "packing": "EC_PACK_COLUMNS",
        "batch": problem.batch,
        "groups": problem.groups,
        "in_c": problem.group_in_c,
        "out_c": problem.group_out_c,
        "nc": slicing.nc,
        "k": plan.kernel.k,
        "waiting": plan.waiting.members(held // 4),
        "slices": 1,
        "lines": slicing.in_tiles,
        "filters": Cut.into(problem.group_out_c, slicing.n_f).members,
        "pixels": Cut(slicing.n_win, 1).members,
        "narrow_pixels": (),
        "source": (),
        "zero": 0,
        "requantise": (),
        "words_at": (),
        "panel": (),
        "last_pixels": plane % slicing.n_win,
        **turns,
        "chunk": slicing.packed_tiles,
        "tiles_near": plan.tiles_near,
        "in_batch": problem.in_c * math.prod(problem.in_size),
        "out_batch": problem.out_c * plane,
        "out_group": problem.group_out_c * plane,
        "out_slice": 0,
        "out_line": slicing.n_win,
        "out_row": plane,
        "out_vec": slicing.n_win // plan.vectors,
        "decoded_at": decoded,
    }


def lower(candidate: SconvCandidate, node: Node, graph: Graph, target: Target) -> Layer:
    """The kernel call of a Conv node whose input and output are NCHW."""
    problem, plan = candidate.problem, candidate.plan
    slicing, residual = plan.slicing, node.epilogue.residual
    order = FilterOrder(
        groups=problem.groups,
        out_c=problem.group_out_c,
        in_c=problem.group_in_c,
        taps=math.prod(problem.kernel),
        widths=plan.filter_widths,
        nc=slicing.nc,
        block=1,
        form=problem.filters_as,
    )
    # Sums that wait in the output between channel sets would overwrite a residual that lies there:
    # then it comes in with the first set, or, when it must wait for the activation, lies elsewhere.
    several = slicing.nc < problem.group_in_c
    in_place = bool(residual) and not (several and node.epilogue.before != NONE)
    residual_first = several and in_place
    finish = replace(node.epilogue, residual="") if residual_first else node.epilogue
    return conv_layer(
        candidate,
        Call(node, graph, target),
        "gemm",
        params={
            **problem.window,
            **_gemm_params(problem, plan),
            "residual": bool(residual),
            "residual_first": residual_first,
            "prefetch": target.prefetch and not plan.kernel.memory_sums,
            "epilogue": epilogue_of(replace(node, epilogue=finish), graph),
        },
        headers=(
            *("ec_decode.h", "ec_window.h", "ec_pack_columns.h"),
            *((plan.kernel.header,) if plan.kernel.header else ()),
            *("ec_micro_kernel.h", "ec_gemm_spec.h", "ec_gemm.h"),
        ),
        filters=(order.elements, order.pack),
        pieces=order.tiles,
        pointers=("filters", "panels"),
        aliases=(Alias(residual, node.output, residual),) if in_place else (),
        plan={
            "n_win": slicing.n_win,
            "n_f": slicing.n_f,
            "nc": slicing.nc,
            "k1": slicing.k1,
            "k2": slicing.k2,
            "k3": slicing.k3,
            "schedule": slicing.schedule.value,
            "predicted_slots": round(plan.cost),
        },
    )
