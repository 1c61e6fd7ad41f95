"""What crosses between the levels of memory for a layer: alone, and in a run among runs."""

from __future__ import annotations

import math
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from functools import lru_cache
from types import MappingProxyType

from edgeconv.algorithms.movement import WORD_BYTES, conv_shape, fast_words
from edgeconv.algorithms.problem import ConvProblem, problem_of
from edgeconv.bounds import Precision, sequential_bound
from edgeconv.cache import Cache
from edgeconv.ir.choice import ArgKind, Layer
from edgeconv.ir.graph import Graph
from edgeconv.ir.work import Crossing
from edgeconv.predict.residency import Use
from edgeconv.targets import Target

MEMORY = "DRAM"  # what is behind the last cache
SOURCES = ("L2", "L3", MEMORY)  # in every report
SUM_WORDS = 1.0  # what is summed is float32, whatever is stored


@dataclass(frozen=True, slots=True)
class Traffic:
    """Bytes to and from each of ``SOURCES`` for a layer that finds all caches empty, and the
    fewest that any order exchanges with memory.

    None where nothing is predicted: on a board without caches, for a level that it does not have.
    """

    bytes: Mapping[str, int | None]
    lower_bound: int | None


@dataclass(frozen=True, slots=True)
class Flow:
    """Bytes behind one cache for a layer of a network that runs again and again.

    ``filters`` and ``data`` (inputs, packed panels, sums, and the lines that outputs are written
    to) come in; ``total`` counts what is written back as well.
    """

    filters: float
    data: float
    total: float


def sources(target: Target) -> tuple[str, ...]:
    """What is behind each of the target's caches, nearest first."""
    return (*(f"L{cache.level}" for cache in caches_of(target)[1:]), MEMORY)


def caches_of(target: Target) -> list[Cache]:
    """By level."""
    return sorted(target.caches, key=lambda cache: cache.level)


def precision_of(layer: Layer, graph: Graph) -> Precision:
    """Words of an element of each array of a convolution, as they are stored; sums are float32."""
    node = layer.node
    filters = next(blob.storage for blob in layer.blobs if blob.name == "filters")
    read, written = graph[node.inputs[0]].storage, graph[node.output].storage
    sizes = [form.bits / (8 * WORD_BYTES) for form in (read, filters, written)]
    return Precision(sizes[0], sizes[1], sizes[2], sums=SUM_WORDS)


def crossings(layer: Layer) -> tuple[Crossing, ...]:
    """What a convolution moves behind each of the target's caches; none for other layers."""
    return layer.candidate.traffic if layer.candidate else ()


@lru_cache(maxsize=4096)
def _least(problem: ConvProblem, precision: Precision, words: int) -> int:
    """Bytes that any order exchanges with memory behind so many words."""
    return math.ceil(WORD_BYTES * sequential_bound(conv_shape(problem), precision, words).words)


def traffic(layer: Layer, graph: Graph, target: Target, operands: Sequence[Use]) -> Traffic:
    """The traffic of a layer with these operands.

    What is not a convolution is taken to move every operand once, which nothing undercuts.
    """
    moved: dict[str, int | None] = dict.fromkeys(SOURCES)
    if not target.caches:
        return Traffic(MappingProxyType(moved), None)
    found = crossings(layer)
    if found:
        words = fast_words(target, caches_of(target)[-1])
        bound = _least(problem_of(layer.node, graph), precision_of(layer, graph), words)
        totals = [math.ceil(crossing.total) for crossing in found]
    else:
        bound = sum(use.bytes for use in operands if use.kind is not ArgKind.WORKSPACE)
        totals = [bound] * len(target.caches)
    moved.update(
        (source, total)
        for source, total in zip(sources(target), totals, strict=True)
        if source in moved
    )
    return Traffic(MappingProxyType(moved), bound)


def flows(layer: Layer, target: Target, operands: Sequence[Use]) -> list[Flow]:
    """One for each of the target's caches, nearest first.

    An algorithm's prediction begins with empty caches, and brings each operand in once at least.
    Instead of that first time, what a cache has lost since the layer before comes in.
    """
    found: Sequence[Crossing | None] = crossings(layer) or [None] * len(target.caches)
    sizes = [cache.size for cache in caches_of(target)]
    return [
        _flow(crossing, layer, operands, sum(sizes[: number + 1]))
        for number, crossing in enumerate(found)
    ]


def _flow(crossing: Crossing | None, layer: Layer, operands: Sequence[Use], size: int) -> Flow:
    missing = {
        kind: sum(use.missing(size) for use in operands if use.kind is kind) for kind in ArgKind
    }
    kept = sum(use.missing(size) for use in operands if use.in_place)
    filters = missing[ArgKind.WEIGHTS]
    fetched = missing[ArgKind.INPUT] + missing[ArgKind.WORKSPACE]
    written = missing[ArgKind.OUTPUT]
    if crossing:
        own = {kind: sum(u.bytes for u in operands if u.kind is kind) for kind in ArgKind}
        source = sum(use.bytes for use in operands if use.ref == layer.node.inputs[0])
        filters += max(0.0, crossing.filters - own[ArgKind.WEIGHTS])
        fetched += max(0.0, crossing.input - source) + crossing.output_reads
        fetched += max(0.0, crossing.packed - own[ArgKind.WORKSPACE])
        written += max(0.0, crossing.output_writes - own[ArgKind.OUTPUT]) + crossing.packed_writes
    fills = fetched + written - kept
    return Flow(filters=filters, data=fills, total=filters + fetched + written)
