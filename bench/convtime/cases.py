"""The distinct convolutions of a model, and every way to compute each of them."""

from __future__ import annotations

import math
from collections.abc import Iterator, Sequence
from dataclasses import dataclass, replace
from pathlib import Path

import numpy as np

from convtime.baseline import im2col_gemm, part_of
from edgeconv.ir.choice import Layer
from edgeconv.ir.graph import Epilogue, Graph, Node, Tensor
from edgeconv.ir.layout import ROW_MAJOR, Order
from edgeconv.kernels import algorithms
from edgeconv.kernels.algorithms.problem import ConvProblem, Finish, problem_of
from edgeconv.kernels.lowering.options import LayoutOption
from edgeconv.model import frontend, passes
from edgeconv.search.choose.prices import algorithms_of
from edgeconv.target.targets import Target

FLOAT_BYTES = 4
SCHEDULES = ("IS", "WS")


@dataclass(frozen=True, slots=True)
class Convolution:
    """One convolution cut out of its model: batch 1, no activation, no residual, a zero bias.

    ``graph`` holds nothing else; its weights are random.  ``problem`` identifies it: equal ones
    are timed once.
    """

    problem: ConvProblem
    node: Node
    graph: Graph

    @property
    def label(self) -> str:
        """Such as "64x56x56 -> 128, 3x3 /2 p1": input, filters, kernel, stride, padding."""
        p = self.problem
        image = self.node.attrs["kernel"]

        def last(sizes: tuple[int, ...]) -> str:
            return "x".join(map(str, sizes[-len(image) :]))

        text = f"{p.in_c}x{last(p.in_size)} -> {p.out_c}, {last(p.kernel)}"
        for mark, sizes, usual in ((" /", p.strides, 1), (" d", p.dilations, 1), (" p", p.pads, 0)):
            own = sizes[-len(image) :]
            if any(size != usual for size in own):
                text += mark + (str(own[0]) if len(set(own)) == 1 else last(sizes))
        return f"{text} g{p.groups}" if p.groups > 1 else text

    @property
    def im2col_bytes(self) -> int:
        """The matrix that im2col makes of one group; 0 where the input is that matrix already."""
        p = self.problem
        if p.is_pointwise:
            return 0
        return p.group_in_c * math.prod(p.kernel) * math.prod(p.out_size) * FLOAT_BYTES


@dataclass(frozen=True, slots=True)
class Candidate:
    """One way to compute a convolution, or (``is_whole`` is false) to do a part of it.

    ``graph`` has the layouts that ``layer`` reads and writes.
    """

    name: str
    layer: Layer
    graph: Graph
    is_whole: bool = True


@dataclass(frozen=True, slots=True)
class CaseOptions:
    """What is timed beside the algorithms."""

    openblas: bool = False
    schedules: bool = False
    packing: bool = False


def distinct(model: Path) -> list[tuple[Convolution, int]]:
    """The convolutions of ``model`` after all passes, and how often each occurs.

    Raises EdgeconvError for a model that cannot be read.
    """
    graph = passes.optimise(frontend.load(model))
    found: dict[ConvProblem, list[Node]] = {}
    for node in graph.nodes:
        if node.op == "Conv":
            problem = replace(problem_of(node, graph), batch=1, finish=Finish())
            found.setdefault(problem, []).append(node)
    return [(_alone(problem, nodes[0], graph), len(nodes)) for problem, nodes in found.items()]


def _alone(problem: ConvProblem, node: Node, graph: Graph) -> Convolution:
    x, w, y = graph[node.inputs[0]], graph[node.inputs[1]], graph[node.output]
    rng = np.random.default_rng(0)
    tensors = (
        Tensor("x", (1, *x.shape[1:])),
        Tensor("w", w.shape, data=rng.standard_normal(w.shape, np.float32)),
        Tensor("b", (problem.out_c,), data=np.zeros(problem.out_c, np.float32)),
        Tensor("y", (1, *y.shape[1:])),
    )
    own = replace(node, name="conv", inputs=("x", "w", "b"), outputs=("y",), epilogue=Epilogue())
    cut = Graph("convolution", (own,), {t.name: t for t in tensors}, ("x",), ("y",))
    return Convolution(problem, own, cut)


def chosen(convolution: Convolution, target: Target) -> str:
    """The algorithm of the lowest predicted cost."""
    return next(iter(algorithms_of(convolution.node, convolution.graph, target)))


def candidates(convolution: Convolution, target: Target, asked: CaseOptions) -> Iterator[Candidate]:
    """Every algorithm that applies, by name, then what is asked for beside them."""
    node, graph = convolution.node, convolution.graph
    fitting = algorithms.applicable(node, graph, target)
    names = sorted(entry.algorithm for entry in fitting)
    for name in names:
        yield lowered(name, name, node, graph, target)
    if "sconv" in names and (asked.schedules or asked.packing):
        layer = lowered("sconv", "sconv", node, graph, target).layer
        if asked.schedules:
            other = next(name for name in SCHEDULES if name != layer.plan["schedule"])
            forced = replace(node, request=replace(node.request, schedule=other))
            yield lowered(f"sconv {other}", "sconv", forced, graph, target)
        if asked.packing:
            for name, computes in (("packing", False), ("unpacked", True)):
                part = part_of(layer, computes=computes)
                yield Candidate(name, part, graph, is_whole=False)
    if asked.openblas:
        layer = im2col_gemm(convolution.problem, node, graph, convolution.im2col_bytes)
        yield Candidate("openblas", layer, graph)


def lowered(name: str, algorithm: str, node: Node, graph: Graph, target: Target) -> Candidate:
    """``node`` of ``graph`` by the named algorithm, in the layouts that suit it best."""
    entry = algorithms.algorithms()[algorithm]
    option = _best_layouts(entry.layouts(node, graph, target))
    names = (*node.reads(), *node.outputs)
    layouts = zip(names, (*option.reads, *option.writes), strict=True)
    decided = graph.with_tensors({name: replace(graph[name], layout=to) for name, to in layouts})
    named = replace(node, request=replace(node.request, algorithm=algorithm))
    return Candidate(name, algorithms.lower(named, decided, target), decided)


def _best_layouts(options: Sequence[LayoutOption]) -> LayoutOption:
    """The option of least penalty without channels last; NCHW in where it costs nothing more (the
    few channels of a first convolution)."""

    def is_usual(option: LayoutOption) -> bool:
        ends = option.reads[0], *option.writes
        return all(layout.order is not Order.CHANNELS_LAST for layout in ends)

    usual = [option for option in options if is_usual(option)]
    return min(usual or options, key=lambda o: (o.penalty, o.reads[0] != ROW_MAJOR))
