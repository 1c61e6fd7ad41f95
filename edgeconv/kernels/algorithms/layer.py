"""The kernel call of a convolution, whatever algorithm computes it."""

from __future__ import annotations

from collections.abc import Callable, Iterable, Mapping, Sequence
from dataclasses import replace
from typing import Any

import numpy as np
import numpy.typing as npt

from edgeconv.ir.choice import Alias, Arg, ArgKind, Blob, Layer, Param
from edgeconv.ir.requantisation import Form
from edgeconv.ir.step import Divides
from edgeconv.ir.straight_line import Routine
from edgeconv.kernels.algorithms.candidate import ConvCandidate
from edgeconv.kernels.algorithms.packing import bias_blob, filters_blob, storage_params
from edgeconv.kernels.algorithms.scaling import scaled_form, scaling_of
from edgeconv.kernels.algorithms.sums import requantised, result_of
from edgeconv.kernels.lowering.calls import (
    activation_headers,
    blob_arg,
    input_arg,
    kernel_layer,
    output_arg,
    residual_args,
    residual_overwritten,
)
from edgeconv.kernels.lowering.work import Call

Floats = npt.NDArray[np.float32]
Words = npt.NDArray[np.int32]


def conv_layer(
    candidate: ConvCandidate[Any],
    call: Call,
    template: str,
    *,
    params: Mapping[str, Param],
    headers: Sequence[str],
    filters: tuple[int, Callable[[Floats], Floats]],
    pieces: Callable[[Floats], Iterable[Floats]] | None = None,
    aliases: Sequence[Alias],
    plan: Mapping[str, Param],
    divides: Divides | None = None,
    pointers: tuple[str, str] = ("weights", "workspace"),
    routines: tuple[Routine, ...] = (),
    fetches: float = 0.0,
) -> Layer:
    """The call of ``candidate`` for the Conv or Dense node of ``call``.

    Its pointers are ``in``, that to the filters, ``bias``, ``residual`` if there is one, ``out``,
    and that to a workspace if it takes any; ``pointers`` names the two.  The template sees
    ``params``, and what `kernel_layer` and `storage_params` say.  ``filters``: how many elements
    they take in the order of the kernel, and what brings them in it; ``pieces``: in pieces of whole
    bytes.  ``routines``: made for it.  ``plan``: what explain and report.json show.  ``fetches``:
    lines that are prefetched; those of all filters where the template is told to fetch them.
    """
    node, graph = call.node, call.graph
    problem, lanes = candidate.problem, call.target.lanes
    layer = kernel_layer(
        call,
        candidate.algorithm,
        f"conv/{template}.c.j2",
        operands={
            "in": node.inputs[0],
            pointers[0]: filters_blob(node, graph, *filters, pieces=pieces),
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
    fetches += _fetched(call, params, sum(blob.bytes for blob in layer.blobs))
    work = replace(candidate.work, fetches=fetches)
    # Its filters come in more than once.
    return replace(layer, work=work, candidate=candidate, plan=plan, routines=routines)


def _fetched(call: Call, params: Mapping[str, Param], constants: int) -> float:
    """Lines of so many bytes of ``constants`` that the template is told to prefetch, on cores
    that else wait for each."""
    asked = params.get("prefetch") and call.target.in_order
    return constants / call.target.line_bytes if asked else 0.0


def integer_layer(
    candidate: ConvCandidate[Any],
    call: Call,
    template: str,
    *,
    params: Mapping[str, Param],
    headers: Sequence[str],
    words: tuple[int, Callable[[Form], Words]],
    plan: Mapping[str, Param],
    divides: Divides | None = None,
    workspace: str,
    routines: tuple[Routine, ...] = (),
) -> Layer:
    """The call of ``candidate``, in integers, for the Conv node of ``call``, whose form is proven.

    Its pointers are ``in``, ``words``, ``residual`` if there is one, ``out`` and that to the
    workspace, which is called so.  The template sees ``params``, and how sums become the result.
    ``words``: how many make the constants of the layer, and what makes them of the form.
    ``headers``: behind those of the epilogue.  ``routines``: made for it.  ``plan``: what explain
    and report.json show.
    """
    node, graph, problem = call.node, call.graph, candidate.problem
    form, result = scaled_form(node, graph), result_of(node, graph)
    assert result is not None, node.name
    residual, (count, words_of) = node.epilogue.residual, words
    blob = Blob("channels", count, lambda: words_of(form), dtype="int32")
    return Layer(
        node=node,
        algorithm=candidate.algorithm,
        template=f"conv/{template}.c.j2",
        params={
            "residual": bool(residual),
            "zero": problem.in_as.zero[0],
            "requantise": requantised(node, graph, form),
            "result_scale": result.scale[0],
            **params,
        },
        args=(
            input_arg(graph, node.inputs[0]),
            blob_arg("words", blob),
            *residual_args(node, graph),
            output_arg(node, graph),
            Arg(ArgKind.WORKSPACE, workspace),
        ),
        headers=(*activation_headers(node.epilogue), *headers),
        work=replace(candidate.work, fetches=_fetched(call, params, blob.bytes)),
        blobs=(blob,),
        aliases=residual_overwritten(node, graph),
        workspace_bytes=candidate.workspace_bytes,
        macs=problem.macs,
        divides=divides,
        candidate=candidate,
        plan=plan,
        scaling=scaling_of(graph),
        routines=routines,
    )
