"""The kernel call of a convolution, whatever algorithm computes it."""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from dataclasses import replace
from typing import Any

import numpy as np
import numpy.typing as npt

from edgeconv.algorithms.candidate import ConvCandidate
from edgeconv.algorithms.packing import bias_blob, filters_blob, storage_params
from edgeconv.ir.choice import Alias, Layer, Param
from edgeconv.ir.step import Divides
from edgeconv.ir.straight_line import Routine
from edgeconv.lowering.calls import kernel_layer
from edgeconv.lowering.work import Call

Floats = npt.NDArray[np.float32]


def conv_layer(
    candidate: ConvCandidate[Any],
    call: Call,
    template: str,
    *,
    params: Mapping[str, Param],
    headers: Sequence[str],
    filters: tuple[int, Callable[[Floats], Floats]],
    aliases: Sequence[Alias],
    plan: Mapping[str, Param],
    divides: Divides | None = None,
    pointers: tuple[str, str] = ("weights", "workspace"),
    routines: tuple[Routine, ...] = (),
) -> Layer:
    """The call of ``candidate`` for the Conv or Dense node of ``call``.

    Its pointers are ``in``, that to the filters, ``bias``, ``residual`` if there is one, ``out``,
    and that to a workspace if it takes any; ``pointers`` names the two.  The template sees
    ``params``, and what `kernel_layer` and `storage_params` say.  ``filters``: how many elements
    they take in the order of the kernel, and what brings them in it.  ``routines``: made for it.
    ``plan``: what explain and
    report.json show.
    """
    node, graph = call.node, call.graph
    problem, lanes = candidate.problem, call.target.lanes
    layer = kernel_layer(
        call,
        candidate.algorithm,
        f"conv/{template}.c.j2",
        operands={
            "in": node.inputs[0],
            pointers[0]: filters_blob(node, graph, *filters),
            "bias": bias_blob(node, graph, problem.out_c, lanes),
        },
        params={**storage_params(node, problem.out_c, lanes), **params},
        headers=headers,
        work=candidate.work,
        aliases=aliases,
        workspace_bytes=candidate.workspace_bytes,
        macs=problem.macs,
        divides=divides,
        workspace=pointers[1],
    )
    # Its filters come in more than once.
    return replace(layer, work=candidate.work, candidate=candidate, plan=plan, routines=routines)
