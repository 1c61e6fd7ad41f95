"""What application cores differ in: widths, windows, latencies and prefetchers."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass
from types import MappingProxyType


@dataclass(frozen=True, slots=True)
class Streams:
    """Streams that prefetchers follow, and lines that they are ahead: in the first cache, and in
    the second with these.  ``within``: bytes of a part of memory that they do not leave."""

    count: int
    near: int
    far: int
    within: int = 4096


@dataclass(frozen=True, slots=True)
class Core:
    """A core.

    ``model``: LLVM's name of the one whose latencies and pipes it has; empty of cores in order,
    which `inorder.aarch64` has.  ``width``: instructions that enter a cycle; ``micro_operations``
    of one of these.  ``window``: instructions between entering and leaving; ``queue``: that wait
    for each pipe, 0 for no limit; ``stores`` that wait.  ``penalty``: cycles of a branch that was
    predicted wrong.  ``buffers``: lines on their way to the first cache.  ``pages``: entries and
    cycles of both TLB.  ``spacing``: cycles between two lines that a cache gives, by level.
    ``multiply_add``: latency in floats; ``chained``: from a sum to the multiply-add that adds to
    it, in floats and in integers.
    """

    model: str
    width: int
    micro_operations: float
    window: int
    queue: int
    stores: int
    penalty: int
    buffers: int
    streams: Streams
    pages: tuple[int, int, int, int]
    spacing: tuple[int, ...]
    multiply_add: int = 0
    chained: tuple[int, int] = (0, 0)

    @property
    def in_order(self) -> bool:
        """Whether nothing begins before what stands before it."""
        return not self.model


# Arm, Cortex-A57 and Cortex-A72 Software Optimization Guides: 3 instructions decoded and up to 5
# micro-operations dispatched a cycle, FMLA with the accumulator forwarded; Cortex-A76 Software
# Optimization Guide: 4 instructions and 8 micro-operations.  Entries of the TLB and line fills of
# A53, A57 and A72: Arm's Technical Reference Manuals.  Windows: LLVM 19's models.  All else is
# assumed: queues, store buffers, prefetchers, cycles of a TLB, spacing of lines, line fills of A76.
CORES: Mapping[str, Core] = MappingProxyType(
    {
        "Cortex-A53": Core(
            model="",
            width=2,
            micro_operations=1,
            window=64,
            queue=0,
            stores=8,
            penalty=7,
            buffers=3,
            streams=Streams(4, 3, 3),
            pages=(10, 3, 512, 30),
            spacing=(0, 4),
        ),
        "Cortex-A55": Core(
            model="",
            width=2,
            micro_operations=1,
            window=64,
            queue=0,
            stores=8,
            penalty=8,
            buffers=6,
            streams=Streams(4, 3, 6),
            pages=(16, 3, 1024, 30),
            spacing=(0, 4, 4),
        ),
        "Cortex-A57": Core(
            model="cortex-a57",
            width=3,
            micro_operations=5 / 3,
            window=128,
            queue=8,
            stores=16,
            penalty=15,
            buffers=6,
            streams=Streams(8, 2, 8),
            pages=(32, 5, 1024, 30),
            spacing=(0, 4),
            multiply_add=10,
            chained=(5, 1),
        ),
        "Cortex-A72": Core(
            model="cortex-a72",
            width=3,
            micro_operations=5 / 3,
            window=128,
            queue=8,
            stores=16,
            penalty=15,
            buffers=6,
            streams=Streams(8, 2, 8),
            pages=(32, 5, 1024, 30),
            spacing=(0, 4),
            multiply_add=7,
            chained=(3, 1),
        ),
        "Cortex-A76": Core(
            model="neoverse-n1",
            width=4,
            micro_operations=2,
            window=128,
            queue=16,
            stores=32,
            penalty=11,
            buffers=20,
            streams=Streams(16, 4, 16),
            pages=(48, 5, 1280, 30),
            spacing=(0, 2, 4),
            multiply_add=4,
            chained=(2, 1),
        ),
    }
)
