"""The convolution algorithms, and the choice among them for one node."""

from __future__ import annotations

import sys
from collections.abc import Collection, Sequence
from dataclasses import replace
from functools import cache, lru_cache
from typing import Any

from edgeconv.base.errors import UsageError
from edgeconv.base.registry import lookup, scan
from edgeconv.ir.candidate import EXACTLY, FLOAT, HALF, IN_WHOLE_NUMBERS
from edgeconv.ir.choice import Layer
from edgeconv.ir.encoding import FLOAT32
from edgeconv.ir.graph import Graph, Node
from edgeconv.ir.requantisation import EXACT
from edgeconv.kernels.algorithms.base import Algorithm
from edgeconv.kernels.algorithms.candidate import ConvCandidate
from edgeconv.kernels.algorithms.packed_filters import packed_too
from edgeconv.kernels.algorithms.problem import ConvProblem, problem_of
from edgeconv.kernels.algorithms.widening import widened
from edgeconv.kernels.lowering.calls import FLOAT_BYTES
from edgeconv.kernels.lowering.options import LayoutOption, Stored
from edgeconv.target.targets import Target


@cache
def algorithms() -> dict[str, Algorithm]:
    """Algorithm name -> Algorithm."""
    return scan(sys.modules[__name__], "ALGORITHM", Algorithm)


@lru_cache(maxsize=4096)  # networks repeat their convolutions, searches their networks
def planned(
    entry: Algorithm, problem: ConvProblem, target: Target
) -> tuple[ConvCandidate[Any], ...]:
    """The candidates of one algorithm, the fastest first: that of most workspace, and, where it
    takes any, the one that is made for as little as there can be."""
    fast = entry.candidates(problem, target)
    least = min((candidate.workspace_bytes for candidate in fast), default=0)
    if not least:
        return fast
    without_workspace = entry.candidates(problem, replace(target, workspaces=False))
    return (
        *fast,
        *(candidate for candidate in without_workspace if candidate.workspace_bytes < least),
    )


def within(found: Sequence[ConvCandidate[Any]], node: Node) -> list[ConvCandidate[Any]]:
    """Candidates of at most as much workspace as is asked of the node; where all take more, those
    that take least: some kernels in integers do without in no way."""
    limit = node.request.workspace
    if limit.of_each:
        least: dict[str, int] = {}
        for each in found:
            size = each.workspace_bytes
            least[each.algorithm] = min(size, least.get(each.algorithm, size))
        return [each for each in found if each.workspace_bytes == least[each.algorithm]]
    most = max(limit.most, min((each.workspace_bytes for each in found), default=0))
    return [each for each in found if each.workspace_bytes <= most]


def applicable(
    node: Node, graph: Graph, target: Target, only: str = ""
) -> list[ConvCandidate[Any]]:
    """The ways to compute ``node``, in the order of the algorithms' names; those of one alone with
    ``only``, which spares the planning of others."""
    problem, needs = problem_of(node, graph), _needs(node, graph)
    return [
        candidate
        for entry in algorithms().values()
        if needs in entry.stored and only in ("", entry.name)
        if entry.float16 or target.element_bytes == FLOAT_BYTES
        for candidate in planned(entry, problem, target)
    ]


def _needs(node: Node, graph: Graph) -> Stored:
    """What a kernel for ``node`` must do with tensors that are not float32 in memory."""
    read = {graph[name].storage for name in node.reads()} - {FLOAT32}
    written = {graph[name].storage for name in node.outputs} - {FLOAT32}
    return (Stored.READS if read else Stored.NOTHING) | (
        Stored.WRITES if written else Stored.NOTHING
    )


def candidates(node: Node, graph: Graph, target: Target) -> list[ConvCandidate[Any]]:
    """The candidates that the layout search may pick from: those of the algorithm that is asked of
    the node, else all applicable ones that round nothing; `within` its workspace.

    Raises EdgeconvError when the named one does not exist or cannot compute this convolution.
    """
    wanted = node.request.algorithm
    if not wanted:
        fitting = applicable(node, graph, target)
        lossless = [entry for entry in fitting if entry.compute in (FLOAT, *IN_WHOLE_NUMBERS)]
        if graph.requantise != EXACT:  # which no float32 is
            lossless = [entry for entry in lossless if entry.compute in EXACTLY] or lossless
        return within(lossless, node)
    algorithm = lookup("convolution algorithm", wanted, algorithms())
    chosen = applicable(node, graph, target, algorithm.name)
    if not chosen:
        fitting = applicable(node, graph, target)
        raise UsageError(
            "algorithm does not apply",
            where=node.name,
            got=repr(wanted),
            rule=algorithm.requires,
            hint=f"here: {', '.join(dict.fromkeys(entry.algorithm for entry in fitting))}",
        )
    return within(chosen, node)


def layouts(node: Node, graph: Graph, target: Target) -> Sequence[LayoutOption]:
    """Layout options of all algorithms that have a candidate, each with its name for `lower`; those
    of integers also of filters that are `widened`, packed in memory or not."""
    wide = widened(node, graph)
    ways: tuple[Node, ...] = () if wide is None else (wide,)
    if wide is not None or node.request.algorithm:  # of one that is asked for they are widened
        ways += packed_too(wide or node, graph, target)
    of_wide = (each for way in ways for each in _options(way, graph, target, EXACTLY))
    return [*_options(node, graph, target), *of_wide]


def _options(
    node: Node, graph: Graph, target: Target, only: Collection[str] = ()
) -> list[LayoutOption]:
    """The layout options of ``node``, of algorithms that compute in ``only`` these types, if any
    are given."""
    able = dict.fromkeys(entry.algorithm for entry in candidates(node, graph, target))
    return [
        replace(option, request=replace(node.request, algorithm=name))
        for name in able
        if not only or algorithms()[name].compute in only
        for option in algorithms()[name].layouts(node, graph, target)
    ]


def retiled(layer: Layer, graph: Graph, target: Target, workers: int) -> Layer | None:
    """The call of a convolution with loops that so many ``workers`` share more evenly, and the same
    results; None where its algorithm knows none."""
    if layer.compute == HALF:
        return None
    entry = algorithms().get(layer.algorithm) if layer.node.op == "Conv" else None
    if entry is None or entry.retiled is None:
        return None
    assert isinstance(layer.candidate, ConvCandidate), layer.node.name
    found = entry.retiled(layer.candidate, target, workers)
    return entry.lower(found, layer.node, graph, target) if found else None


def lower(node: Node, graph: Graph, target: Target) -> Layer:
    """Kernel call of the algorithm that the node names, for the layouts decided in ``graph``."""
    chosen = candidates(node, graph, target)[0]
    return algorithms()[chosen.algorithm].lower(chosen, node, graph, target)
