"""How far ahead filters and tiles are fetched on cores that wait at the first use of a miss."""

from __future__ import annotations

from dataclasses import dataclass

from edgeconv.ir.choice import Param
from edgeconv.kernels.algorithms.prefetch import fetches, rounds
from edgeconv.kernels.algorithms.problem import ConvProblem
from edgeconv.kernels.algorithms.winograd.plan import FLOAT_BYTES, WinogradPlan
from edgeconv.target.targets import Target

CHANNELS = 4  # EC_PREFETCH_CHANNELS of ec_prefetch.h: between two fetches


@dataclass(frozen=True, slots=True)
class WinogradPrefetch:
    """Bytes from the ``filters`` and from the ``tiles`` that are multiplied to those that are
    fetched meanwhile; 0: none are.  ``lines`` of filters that memory brings in time."""

    filters: int = 0
    tiles: int = 0
    lines: float = 0.0

    @property
    def params(self) -> dict[str, Param]:
        """The parameters of the template; none where nothing is fetched, so that nothing is
        different.  Otherwise filters are not fetched by their tiles as well."""
        if not self.tiles:
            return {}
        return {"prefetch_filters": self.filters, "prefetch_tiles": self.tiles, "prefetch": False}


def prefetch_distances(
    problem: ConvProblem, plan: WinogradPlan, target: Target
) -> WinogradPrefetch:
    """The prefetch distances of a group of an image.

    Both are read one after the other, position by position, so that a distance is the latency of
    the memory over the cycles of so many channels.  Tiles are fetched wherever they come from: a
    strip and the filters that pass by it seldom fit the second cache.  Filters are where they come
    from behind it.
    """
    kernel = plan.kernel
    if not fetches(target) or not plan.packed or kernel.element_bytes or kernel.memory_sums:
        return WinogradPrefetch()
    lanes = target.lanes
    slot = lanes * target.peak / (target.macs_per_cycle or lanes * target.peak)  # cycles
    step = slot * target.tile_slots(plan.kernel, plan.rows, plan.vectors)
    channels = CHANNELS * rounds(target.memory_cycles or 0, CHANNELS * step)
    held = FLOAT_BYTES * plan.filter_floats(problem, lanes)
    far = held > target.caches[1].size
    return WinogradPrefetch(
        filters=FLOAT_BYTES * channels * plan.vectors * lanes if far else 0,
        tiles=FLOAT_BYTES * channels * plan.rows,
        lines=problem.batch * held / target.line_bytes if plan.fetches(problem, target) else 0.0,
    )
