"""The operands of a kernel call, and how long ago each of their bytes was touched.

A byte is still in a cache when fewer distinct bytes than fit were touched since its last use.
"""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass

from edgeconv.ir.choice import ArgKind, Layer, tensor_bytes
from edgeconv.ir.graph import Tensor

# A cache is shared with code, tables and other programs, and does not replace perfectly: up to this
# part of its size everything is found again, from its full size on nothing; between, a share.
SURELY_HELD = 0.5


@dataclass(frozen=True, slots=True)
class Touched:
    """Bytes of an operand last touched ``distance`` distinct bytes ago.  ``others``: bytes that
    other cores have brought into the last cache since, which they share."""

    bytes: int
    distance: float
    others: float = 0.0


@dataclass(frozen=True, slots=True)
class Use:
    """One operand of a layer and the ages of its bytes.

    ``kind`` and ``ref`` as in `Arg`; constants are one operand.  ``bank``: the bank of the arena
    that it lies in, None for the caller's memory and for constants.  ``in_place``: an output that
    overwrites an input, so that its lines are there already.
    """

    kind: ArgKind
    ref: str
    bytes: int
    ages: tuple[Touched, ...]
    bank: int | None = None
    in_place: bool = False

    def missing(self, size: int, *, last: bool = False) -> float:
        """The bytes that a cache of ``size`` (all nearer ones included) does not hold; ``last``: it
        is the one that is shared."""
        return sum(
            age.bytes * lost(age.distance + (age.others if last else 0.0), size)
            for age in self.ages
        )


def lost(distance: float, size: int) -> float:
    """The share of bytes of this reuse distance that a cache of ``size`` has lost."""
    least = SURELY_HELD * size
    return min(1.0, max(0.0, (distance - least) / (size - least)))


def between_neighbours(
    layer: Layer, tensors: Mapping[str, Tensor], constants: int
) -> tuple[Use, ...]:
    """The operands of a layer whose place in memory is not known yet.

    Its tensors were last touched by its neighbours, taken to be as large as itself; its constants
    a run ago, with all ``constants`` of the network (bytes) in between.
    """
    own = sum(blob.bytes for blob in layer.blobs)
    sizes = [
        (
            arg,
            layer.workspace_bytes
            if arg.kind is ArgKind.WORKSPACE
            else tensor_bytes(tensors[arg.ref]),
        )
        for arg in layer.operands
    ]
    around = own + sum(size for _, size in sizes)
    found = [Use(arg.kind, arg.ref, n, (Touched(n, around),), bank=0) for arg, n in sizes]
    if own:
        found.append(Use(ArgKind.WEIGHTS, "", own, (Touched(own, max(constants, around)),)))
    return tuple(found)
