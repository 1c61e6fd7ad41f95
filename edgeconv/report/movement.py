"""What a convolution moves between the levels of memory, beside what any order has to move.

Words are of 32 bit and count both directions.  Bytes and words are rounded up.
"""

from __future__ import annotations

import math
from typing import Any

from edgeconv.algorithms import algorithms
from edgeconv.algorithms.movement import WORD_BYTES, best_blocking, conv_shape, fast_words
from edgeconv.algorithms.problem import problem_of
from edgeconv.algorithms.traffic import Crossing
from edgeconv.bounds import (
    Bound,
    ConvShape,
    Precision,
    parallel_bounds,
    sequential_bound,
    words_moved,
)
from edgeconv.cache import Cache
from edgeconv.ir.choice import Layer
from edgeconv.ir.graph import Graph
from edgeconv.storage import formats
from edgeconv.targets import Target

Document = dict[str, Any]
MEMORY = "DRAM"  # what is behind the last cache
SOURCES = ("L2", "L3", MEMORY)  # in every report
SPATIAL = ("out", "taps")  # loops that there is one of per axis


def traffic(layer: Layer, graph: Graph, target: Target) -> tuple[dict[str, int | None], int | None]:
    """Bytes to and from each of ``SOURCES``, and the fewest that any order exchanges with memory.

    None where nothing is predicted: for a layer that is no convolution, a board without caches, a
    level that the board does not have.
    """
    crossings, caches = _crossings(layer, graph, target), _caches(target)
    moved: dict[str, int | None] = dict.fromkeys(SOURCES)
    for crossing, source in zip(crossings, sources(target), strict=False):
        moved[source] = math.ceil(crossing.total)
    if not crossings:
        return moved, None
    shape, precision = conv_shape(problem_of(layer.node, graph)), precision_of(layer, graph)
    bound = sequential_bound(shape, precision, fast_words(target, caches[-1]))
    return moved, math.ceil(WORD_BYTES * bound.words)


def movement(layer: Layer, graph: Graph, target: Target, threads: int | None) -> Document | None:
    """Words behind every cache: moved, at least necessary, and those of the blocking.

    With ``threads`` also what some one of so many processors has to move, each with a memory of
    the level's size.  None where `traffic` knows nothing.
    """
    crossings = _crossings(layer, graph, target)
    if not crossings:
        return None
    shape, precision = conv_shape(problem_of(layer.node, graph)), precision_of(layer, graph)
    levels = [
        {
            "cache": f"L{cache.level}",
            "source": source,
            "memory_words": (memory := fast_words(target, cache)),
            "moved": (moved := _moved(crossing)),
            "bound": (bound := _bound(sequential_bound(shape, precision, memory))),
            "ratio": moved["words"] / bound["words"],
            "blocking": _blocking(shape, precision, memory),
            "parallel": _parallel(shape, precision, cache, threads) if threads else None,
        }
        for cache, source, crossing in zip(_caches(target), sources(target), crossings, strict=True)
    ]
    words = {"input": precision.input, "filter": precision.filter, "output": precision.output}
    return {"words_per_element": words, "levels": levels}


def precision_of(layer: Layer, graph: Graph) -> Precision:
    """Words of an element of each array of a convolution, as they are stored."""
    node = layer.node
    filters = next(blob.storage for blob in layer.blobs if blob.name == "filters")
    stored = (graph[node.inputs[0]].storage, filters, graph[node.output].storage)
    return Precision(*(formats()[name].element_bytes / WORD_BYTES for name in stored))


def sources(target: Target) -> tuple[str, ...]:
    """What is behind each of the target's caches, nearest first."""
    return (*(f"L{cache.level}" for cache in _caches(target)[1:]), MEMORY)


def _caches(target: Target) -> list[Cache]:
    return sorted(target.caches, key=lambda cache: cache.level)


def _crossings(layer: Layer, graph: Graph, target: Target) -> tuple[Crossing, ...]:
    """One for each of the target's caches, or none."""
    if layer.node.op != "Conv" or not target.caches:
        return ()
    return algorithms()[layer.algorithm].traffic(problem_of(layer.node, graph), target)


def _moved(crossing: Crossing) -> Document:
    parts = {
        "input": crossing.input,
        "packed_reads": crossing.packed,
        "packed_writes": crossing.packed_writes,
        "filters": crossing.filters,
        "sums": crossing.output_reads,
        "output": crossing.output_writes,
    }
    words = {name: math.ceil(size / WORD_BYTES) for name, size in parts.items()}
    return {"words": sum(words.values()), **words}


def _bound(bound: Bound) -> Document:
    return {
        "words": math.ceil(bound.words),
        "binding": bound.binding.name if bound.binding.words > 0 else None,
        "terms": {term.name: math.floor(term.words) for term in bound.terms},
    }


def _blocking(shape: ConvShape, precision: Precision, memory: int) -> Document:
    """The linear program's blocking, refined, in the best order of its loops."""
    blocking = best_blocking(shape, precision, memory)
    moved = words_moved(blocking, shape, precision)
    return {
        "words": math.ceil(moved.words),
        "input": math.ceil(moved.input),
        "filters": math.ceil(moved.filter),
        "output": math.ceil(moved.output),
        "batch": blocking.batch,
        "in_c": blocking.in_c,
        "out_c": blocking.out_c,
        "axes": [
            {"out": axis.out, "repeats": axis.repeats, "phases": axis.phases}
            for axis in blocking.axes
        ],
        "order": [
            f"{loop.over} {loop.axis}" if loop.over in SPATIAL else loop.over
            for loop in moved.order
        ],
    }


def _parallel(shape: ConvShape, precision: Precision, cache: Cache, threads: int) -> Document:
    words = cache.size // WORD_BYTES
    bound = parallel_bounds(shape, precision, words, threads)
    return {"processors": threads, "memory_words": words, **_bound(bound)}
