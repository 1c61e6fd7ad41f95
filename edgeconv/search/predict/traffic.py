"""The traffic of a layer that finds all caches empty, and the least that any order exchanges."""

from __future__ import annotations

import math
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from functools import lru_cache
from types import MappingProxyType

from edgeconv.ir.choice import ArgKind, Layer
from edgeconv.ir.encoding import INT8
from edgeconv.ir.graph import Graph
from edgeconv.kernels.algorithms.movement import WORD_BYTES, conv_shape, fast_words
from edgeconv.kernels.algorithms.problem import ConvProblem, problem_of
from edgeconv.target.bounds import Precision, sequential_bound
from edgeconv.target.price.machine import MEMORY, caches_of, sources
from edgeconv.target.price.operands import Use
from edgeconv.target.targets import Target

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


def precision_of(layer: Layer, graph: Graph) -> Precision:
    """Words of an element of each array of a convolution, as they are stored; sums are float32."""
    node = layer.node
    # Those that are packed with other words of their channels are int8.
    named = (blob.storage for blob in layer.blobs if blob.name == "filters")
    filters = next(named, INT8)
    read, written = graph[node.inputs[0]].storage, graph[node.output].storage
    sizes = [form.bits / (8 * WORD_BYTES) for form in (read, filters, written)]
    return Precision(sizes[0], sizes[1], sizes[2], sums=SUM_WORDS)


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
    found = layer.traffic
    if found:
        words = fast_words(target, caches_of(target)[-1])
        bound = _least(problem_of(layer.node, graph), precision_of(layer, graph), words)
        totals = [math.ceil(level_traffic.total) for level_traffic in found]
    else:
        bound = sum(use.bytes for use in operands if use.kind is not ArgKind.WORKSPACE)
        totals = [bound] * len(target.caches)
    moved.update(
        (source, total)
        for source, total in zip(sources(target), totals, strict=True)
        if source in moved
    )
    return Traffic(MappingProxyType(moved), bound)
