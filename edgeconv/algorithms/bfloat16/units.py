"""Instruction sets that multiply pairs of bfloat16: one frozen row each."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass
from types import MappingProxyType

from edgeconv.targets import Target, Tile


@dataclass(frozen=True, slots=True)
class Unit:
    """``header``: beside the ISA's own.  ``pairs``: of channels, the most in a block of the panel.

    ``apart``: the same pair of neighbouring pixels lies side by side there, rather than the pairs
    of a pixel.  ``rows``: those of a tile come in multiples of this.  ``outer``: it has the tiles
    of the outer product, of which ``rate`` pairs of vectors are multiplied in a slot (the time of
    a vector multiply-add); the others have those of direct convolution.  ``latency``: slots until
    a sum can be added to.
    """

    header: str
    pairs: int
    apart: bool
    rows: int
    outer: bool
    rate: float
    latency: int

    def tiles(self, target: Target) -> tuple[Tile, ...]:
        """The register tiles, output pixels by vectors of filters."""
        return target.outer if self.outer else target.tiles


# avx512   Zen 5: two instructions per cycle, as multiply-adds, six cycles until a sum is there
#          (measured); one and one on Zen 4
# power10  as many outer products per cycle as of float32 (POWER ISA 3.1, MMA)
UNITS: Mapping[str, Unit] = MappingProxyType(
    {
        "avx512": Unit("../isa/ec_bfloat16_avx512.h", 16, False, 1, False, 1.0, 12),
        "power10": Unit("../isa/ec_bfloat16_power10.h", 64, True, 4, True, 2.0, 8),
    }
)


def unit_of(target: Target) -> Unit | None:
    """The row of ``target``; None where the board's core does not multiply bfloat16."""
    return UNITS.get(target.name) if target.bfloat16 else None
