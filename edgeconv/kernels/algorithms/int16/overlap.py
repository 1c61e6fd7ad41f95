"""How far a result of 16 bits, or of eight of them, may lie over the input that its kernel reads
meanwhile."""

from __future__ import annotations

from edgeconv.ir.choice import Alias
from edgeconv.ir.graph import Node
from edgeconv.kernels.algorithms.candidate import ConvCandidate
from edgeconv.kernels.algorithms.int16.candidate import PIXELS, Int16Plan, is_plain
from edgeconv.kernels.algorithms.overlap import in_tiles, over_input


def overlapping(candidate: ConvCandidate[Int16Plan], node: Node) -> tuple[Alias, ...]:
    """Permission for the result to overwrite the input of ``node``, as far in front as is needed.

    Windows of a tile are copied, then its results are written, filters by filters.  Where a window
    is a pixel's own channels it is read where it lies, once for every few filters; so is that of a
    depthwise layer, for every few channels.
    """
    problem, plan = candidate.problem, candidate.plan
    added = node.epilogue.residual == node.inputs[0]
    depthwise = plan.kernel == "depthwise"

    def bytes_apart() -> int | None:
        if problem.groups > 1 and not depthwise:
            return None  # the last one reads all pixels when those before are written
        again = depthwise or (plan.kernel != "convolve" and is_plain(problem, plan.numbers))
        return in_tiles(problem, tile_of(plan), again=again, added=added)

    return over_input(problem, node, bytes_apart)


def tile_of(plan: Int16Plan) -> int:
    """Pixels that are taken at a time."""
    return PIXELS if plan.kernel == "convolve" else plan.pixels
