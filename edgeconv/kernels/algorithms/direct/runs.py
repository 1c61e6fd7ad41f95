"""Runs of the input that strips read in turn: more streams than prefetchers follow."""

from __future__ import annotations

from edgeconv.ir.layout import CHANNELS_LAST
from edgeconv.kernels.algorithms.direct.footprint import Input
from edgeconv.kernels.algorithms.direct.tiles import DirectPlan, tile_kinds
from edgeconv.kernels.algorithms.problem import ConvProblem
from edgeconv.target.targets import Target


def runs_apart(problem: ConvProblem, plan: DirectPlan, target: Target) -> float:
    """Runs of neighbouring bytes that all strips read of the input, a run of one strip apart from
    that of the next, where there are too many under a strip, the streams of filters and of results
    included, for prefetchers to follow; 0 elsewhere, and on cores of which that is not known."""
    if not target.streams or plan.band:
        return 0.0
    source, total = Input.of(problem, plan, target.line_bytes), 0.0
    last = problem.out_layout == CHANNELS_LAST
    for kind in tile_kinds(problem, plan.vectors, target):
        cut = plan.segments if kind.vectors == plan.vectors else plan.tail_segments
        read, passed = kind.channels, min(plan.channels or kind.channels, kind.channels)
        for strip in cut:
            runs, at_once = (source.some(many).strip(strip.rows) for many in (read, passed))
            streams = at_once.count * at_once.groups + (1 if last else kind.vectors) + 1
            if streams > target.streams:
                total += kind.count * strip.count * runs.count * runs.groups
    return problem.batch * plan.planes * plan.rows * total
