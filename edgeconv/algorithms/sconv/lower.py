"""From an SConv plan to the parameters of its template."""

from __future__ import annotations

import math
from dataclasses import replace

from edgeconv.algorithms.packing import bias_blob, filters_blob, storage_params, weights_arg
from edgeconv.algorithms.problem import ConvProblem
from edgeconv.algorithms.sconv.candidate import SconvCandidate
from edgeconv.algorithms.sconv.packing import pack_filters, packed_elements
from edgeconv.algorithms.sconv.plan import SconvPlan
from edgeconv.encoding import FLOAT32
from edgeconv.ir.activation import NONE
from edgeconv.ir.choice import Alias, Arg, ArgKind, Layer, Param
from edgeconv.ir.graph import Graph, Node
from edgeconv.lowering.calls import (
    activation_headers,
    epilogue_of,
    output_arg,
    residual_args,
)
from edgeconv.targets import Target


def _slicing_params(problem: ConvProblem, plan: SconvPlan) -> dict[str, Param]:
    slicing = plan.slicing
    taps = math.prod(problem.kernel)
    return {
        "in_c": problem.group_in_c,
        "out_c": problem.group_out_c,
        "nc": slicing.nc,
        "k1": slicing.k1,
        "k2": slicing.k2,
        "k3": slicing.k3,
        "input_stationary": slicing.input_stationary,
        "in_tiles": slicing.in_tiles,
        "filter_tiles": slicing.filter_tiles,
        "n_f": slicing.n_f,
        "vectors": plan.vectors,
        "last_filters": slicing.last_n_f,
        "last_rows": plan.last_rows,
        "last_pixels": slicing.last_n_win,
        "last_vectors": plan.last_vectors,
        "in_step": problem.group_in_c * math.prod(problem.in_size),
        "filter_step": packed_elements(
            problem.group_in_c, taps, slicing.nc, plan.filter_widths, problem.filters_as
        ),
        "out_step": problem.group_out_c * math.prod(problem.out_size),
    }


def _decoding_params(problem: ConvProblem, plan: SconvPlan) -> dict[str, Param]:
    """Where decoded filters lie: behind the packed panels."""
    if problem.filters_as == FLOAT32:
        return {}
    return {"panel_floats": plan.slicing.workspace // 4}


def lower(candidate: SconvCandidate, node: Node, graph: Graph, target: Target) -> Layer:
    """The kernel call of a Conv node whose input and output are NCHW."""
    problem, plan = candidate.problem, candidate.plan
    slicing, residual = plan.slicing, node.epilogue.residual
    widths, taps = plan.filter_widths, math.prod(problem.kernel)
    step = packed_elements(problem.group_in_c, taps, slicing.nc, widths, problem.filters_as)
    # Sums that wait in the output between channel sets would overwrite a residual that lies there:
    # then it comes in with the first set, or, when it must wait for the activation, lies elsewhere.
    several = slicing.nc < problem.group_in_c
    in_place = bool(residual) and not (several and node.epilogue.before != NONE)
    residual_first = several and in_place
    finish = replace(node.epilogue, residual="") if residual_first else node.epilogue
    return Layer(
        node=node,
        algorithm=candidate.algorithm,
        template="conv/sconv.c.j2",
        params={
            "batch": problem.batch,
            "groups": problem.groups,
            **problem.window,
            "has_residual": bool(residual),
            "residual_first": residual_first,
            "prefetch": target.prefetch,
            "epilogue": epilogue_of(replace(node, epilogue=finish), graph),
            **_slicing_params(problem, plan),
            **_decoding_params(problem, plan),
            **storage_params(node, problem.out_c, target.lanes),
        },
        args=(
            Arg(ArgKind.INPUT, "in", node.inputs[0]),
            weights_arg(node, "filters"),
            Arg(ArgKind.WEIGHTS, "bias", "bias"),
            *residual_args(node, graph),
            output_arg(node, graph),
            Arg(ArgKind.WORKSPACE, "panels"),
        ),
        headers=(
            *activation_headers(node.epilogue),
            *("ec_decode.h", "ec_sconv_pack.h", "ec_sconv.h"),
        ),
        work=candidate.work,
        blobs=(
            filters_blob(
                node,
                graph,
                problem.groups * step,
                lambda weights: pack_filters(
                    weights, problem.groups, slicing.nc, widths, problem.filters_as
                ),
            ),
            bias_blob(node, graph, problem.out_c, target.lanes),
        ),
        aliases=(Alias(residual, node.output, residual),) if in_place else (),
        workspace_bytes=candidate.workspace_bytes,
        macs=problem.macs,
        candidate=candidate,
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
