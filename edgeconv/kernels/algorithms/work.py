"""The work of a convolution's kernel: the slots of its plan, and what plans leave out because it
does not depend on them, the epilogue and the taps on padding that kernels skip."""

from __future__ import annotations

import math

from edgeconv.ir.work import Work
from edgeconv.kernels.algorithms.axis import axes_of
from edgeconv.kernels.algorithms.problem import ConvProblem
from edgeconv.kernels.lowering.calls import FLOAT_BYTES
from edgeconv.kernels.lowering.loops import write_slots
from edgeconv.kernels.lowering.work import finish_slots, width
from edgeconv.target.targets import Target


def taps_met(problem: ConvProblem) -> float:
    """The share of the taps that lie in the input, the mean over the outputs."""
    return math.prod(axis.met for axis in axes_of(problem))


def epilogue(problem: ConvProblem, target: Target) -> float:
    """Slots of activations and residual, over all outputs."""
    return finish_slots(problem.finish.functions, target) * (problem.out_elements / target.lanes)


def encoding(problem: ConvProblem, target: Target) -> float:
    """Slots that encode the output and decode the residual."""
    residual_as = problem.finish.residual_as
    read = target.decoding(residual_as).vector if residual_as else 0.0
    return problem.out_elements / target.lanes * (write_slots(problem.out_as, target) + read)


def tiled(
    problem: ConvProblem,
    target: Target,
    tile: tuple[int, int],
    slots: float,
    *,
    met: float = 1.0,
    packed: float = 0.0,
    decoded: float | None = None,
) -> Work:
    """A register tile of so many output pixels by filters: each step loads one of each.

    ``slots``: those planned.  ``met``: the share of taps that lie in the input, where the kernel
    leaves out the others.  ``packed``: elements that packing (or decoding) reads and writes as
    float32 for the tile; without packing the tile reads the input.  ``decoded``: slots that decode
    filters into memory, None where the tile does it.  Both are among the planned slots.
    """
    pixels, filters = tile
    weights, data = problem.macs * met / pixels, problem.macs * met / filters  # elements
    source = target.decoding(problem.in_as)
    around = packed / target.lanes * source.vector + encoding(problem, target)
    element, filters_width = width(problem.in_as), width(problem.filters_as)
    if decoded is None:
        decoded = weights / target.lanes * target.decoding(problem.filters_as).vector
    else:
        filters_width = FLOAT_BYTES
    pixels_decoded = 0.0 if packed else data * source.element
    return Work(
        slots=round(slots) * met + epilogue(problem, target) + around,
        moves=weights + data if target.single_issue else 0.0,
        weight_bytes=filters_width * weights,
        data_bytes=data * (FLOAT_BYTES if packed else element)
        + packed * (element + FLOAT_BYTES)
        + problem.out_elements * width(problem.out_as),
        decoding=decoded + pixels_decoded + around,
    )
