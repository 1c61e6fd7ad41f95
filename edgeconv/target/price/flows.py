"""What crosses between the levels of memory for a kernel call in a run among runs."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass

from edgeconv.ir.choice import ArgKind, Layer
from edgeconv.ir.work import CacheTraffic
from edgeconv.target.price.operands import Use, lost


@dataclass(frozen=True, slots=True)
class Flow:
    """Bytes behind one cache for a layer of a network that runs again and again.

    ``filters`` and ``data`` (inputs, packed panels, sums, and the lines that outputs are written
    to) come in; ``total`` counts what is written back as well.  Of ``data``, ``input`` is that
    which is read of the layer's inputs, and ``written`` the lines of its output.
    """

    filters: float
    data: float
    total: float
    input: float = 0.0
    written: float = 0.0

    def times(self, of_filters: float, of_data: float) -> Flow:
        """The bytes of so much of the filters, and of so much of all else."""
        data, total = self.data * of_data, self.total * of_data
        return Flow(
            self.filters * of_filters, data, total, self.input * of_data, self.written * of_data
        )


def flows(
    layer: Layer, operands: Sequence[Use], sizes: Sequence[int], calls: float = 1.0
) -> list[Flow]:
    """One for each cache of these ``sizes``, nearest first.  ``operands``: of all ``calls``.

    An algorithm's prediction begins with empty caches, and brings each operand in once at least.
    Instead of that first time, what a cache has lost since the layer before comes in.
    """
    found: Sequence[CacheTraffic | None] = layer.traffic or [None] * len(sizes)
    if calls != 1.0:
        found = [level_traffic and level_traffic.times(calls) for level_traffic in found]
    return [
        _flow(level_traffic, layer, operands, sum(sizes[:number]), calls, last=number == len(sizes))
        for number, level_traffic in enumerate(found, 1)
    ]


def _flow(
    level_traffic: CacheTraffic | None,
    layer: Layer,
    operands: Sequence[Use],
    size: int,
    calls: float,
    *,
    last: bool,
) -> Flow:
    missing = dict.fromkeys(ArgKind, 0.0)
    for use in operands:
        missing[use.kind] += use.missing(size, last=last)
    kept = sum(use.missing(size, last=last) for use in operands if use.in_place)
    filters = missing[ArgKind.WEIGHTS]
    evicted = calls * lost(layer.work.sweep, size)
    read = missing[ArgKind.INPUT] + evicted * layer.work.read_again
    written = missing[ArgKind.OUTPUT] + evicted * layer.work.written_again
    fetched = read + missing[ArgKind.WORKSPACE]
    if level_traffic:
        own = {kind: sum(u.bytes for u in operands if u.kind is kind) for kind in ArgKind}
        image = sum(use.bytes for use in operands if use.ref == layer.node.inputs[0])
        filters += max(0.0, level_traffic.filters - own[ArgKind.WEIGHTS])
        again = max(0.0, level_traffic.input - image)
        read += again
        fetched += again + level_traffic.output_reads
        fetched += max(0.0, level_traffic.packed - own[ArgKind.WORKSPACE])
        written += (
            max(0.0, level_traffic.output_writes - own[ArgKind.OUTPUT])
            + level_traffic.packed_writes
        )
    fills = fetched + written - kept
    total = filters + fetched + written
    return Flow(filters, fills, total, input=read, written=max(0.0, written - kept))
