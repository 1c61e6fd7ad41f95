"""What a convolution algorithm is: one sub-package each, found by scanning."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass

from edgeconv.algorithms.problem import ConvProblem
from edgeconv.algorithms.traffic import Crossing
from edgeconv.encoding import Encoding
from edgeconv.ir.choice import Layer
from edgeconv.ir.graph import Graph, Node
from edgeconv.ops.base import Layouts, Stored
from edgeconv.targets import Target


@dataclass(frozen=True, slots=True)
class Algorithm:
    """One way to compute a convolution.

    ``applies`` and ``cost`` look at the problem alone, layouts aside; ``cost`` predicts the time
    in multiply-add slots of the target's vector unit.  ``layouts`` lists what it reads and writes,
    best first; ``lower`` makes the kernel call once layouts are decided.  ``traffic`` predicts what
    crosses behind each of the target's caches, nearest first.  ``stored``: what its kernel does
    with tensors that are not float32 in memory.  ``filters_as``: an algorithm that computes in
    numbers of this format rather than float32, which its filters are stored in; since rounding its
    input changes results, it is there for those only who name it.  ``requires``: when it applies,
    in words for those.
    """

    name: str
    applies: Callable[[ConvProblem, Target], bool]
    cost: Callable[[ConvProblem, Target], float]
    layouts: Layouts
    lower: Callable[[Node, Graph, Target], Layer]
    traffic: Callable[[ConvProblem, Target], tuple[Crossing, ...]]
    stored: Stored = Stored.NOTHING
    filters_as: Encoding | None = None
    requires: str = ""
