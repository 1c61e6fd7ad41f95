"""What a convolution moves between the levels of memory, beside what any order has to move.

Words are of 32 bit and count both directions.  Bytes and words are rounded up.
"""

from __future__ import annotations

import math
from collections.abc import Sequence
from typing import Any

from edgeconv.ir.choice import Layer
from edgeconv.ir.graph import Graph
from edgeconv.ir.step import Share
from edgeconv.ir.work import CacheTraffic
from edgeconv.kernels.algorithms.movement import WORD_BYTES, best_blocking, conv_shape, fast_words
from edgeconv.kernels.algorithms.problem import problem_of
from edgeconv.kernels.lowering.splits import splits_of
from edgeconv.search.predict.traffic import precision_of
from edgeconv.target.bounds import (
    Bound,
    ConvShape,
    Precision,
    parallel_bounds,
    sequential_bound,
    words_moved,
)
from edgeconv.target.price.machine import caches_of, sources
from edgeconv.target.price.operands import between_neighbours
from edgeconv.target.price.sharing import most_needed
from edgeconv.target.targets import Target

Document = dict[str, Any]
SPATIAL = ("out", "taps")  # loops that there is one of per axis


def movement(
    layer: Layer, graph: Graph, target: Target, threads: int | None, shares: Sequence[Share] = ()
) -> Document | None:
    """Words behind every cache: moved, at least necessary, and those of the blocking.

    With ``threads`` also what some one of so many processors has to move, each with as much
    memory in front of what lies behind the level, and what the one of ``shares`` needs that needs
    most.  None for a layer that is no convolution, and on
    a board without caches.
    """
    found = layer.traffic
    if not found:
        return None
    shape, precision = conv_shape(problem_of(layer.node, graph)), precision_of(layer, graph)
    busiest = _busiest(layer, graph, target, shares) if threads else {}
    levels = [
        {
            "cache": f"L{cache.level}",
            "source": source,
            "memory_words": (memory := fast_words(target, cache)),
            "moved": (moved := _moved(level_traffic)),
            "bound": (bound := _bound(sequential_bound(shape, precision, memory))),
            "ratio": moved["words"] / bound["words"],
            "blocking": _blocking(shape, precision, memory),
            "parallel": _parallel(shape, precision, memory, threads) | busiest if threads else None,
        }
        for cache, source, level_traffic in zip(
            caches_of(target), sources(target), found, strict=True
        )
    ]
    words = {"input": precision.input, "filter": precision.filter, "output": precision.output}
    return {"words_per_element": words, "levels": levels}


def _moved(level_traffic: CacheTraffic) -> Document:
    parts = {
        "input": level_traffic.input,
        "packed_reads": level_traffic.packed,
        "packed_writes": level_traffic.packed_writes,
        "filters": level_traffic.filters,
        "sums": level_traffic.output_reads,
        "output": level_traffic.output_writes,
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


def _busiest(layer: Layer, graph: Graph, target: Target, shares: Sequence[Share]) -> Document:
    """Words of tensors and filters that one worker needs, each once: of the one who needs most."""
    operands = between_neighbours(layer, graph.tensors, 0)
    size = most_needed(splits_of(layer, target.name), shares, operands)
    return {"workers": max(1, len(shares)), "moved": math.ceil(size / WORD_BYTES)}


def _parallel(shape: ConvShape, precision: Precision, memory: int, threads: int) -> Document:
    bound = parallel_bounds(shape, precision, memory, threads)
    return {"processors": threads, "memory_words": memory, **_bound(bound)}
