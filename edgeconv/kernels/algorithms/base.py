"""What a convolution algorithm is: one sub-package each, found by scanning."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass
from typing import Any

from edgeconv.ir.candidate import FLOAT
from edgeconv.ir.choice import Layer
from edgeconv.ir.graph import Graph, Node
from edgeconv.kernels.algorithms.candidate import ConvCandidate
from edgeconv.kernels.algorithms.problem import ConvProblem
from edgeconv.kernels.lowering.options import Layouts, Stored
from edgeconv.target.targets import Target


@dataclass(frozen=True, slots=True)
class Algorithm:
    """One way to compute a convolution.

    ``candidates``: its plans for a problem, none where it does not apply.  ``layouts`` lists what
    it reads and writes, best first; ``lower`` makes the kernel call of a candidate once layouts are
    decided.  ``stored``: what its kernel does with tensors that are not float32 in memory.
    ``compute``: the type that it multiplies.  If it rounds to that type, its filters are stored in
    the format of its operands, and since rounding its input changes results, it is there for those
    only who name it.  ``requires``: when it applies, in words for those.
    ``float16``: its kernel takes the bytes of an element from its type, so that it can be one on
    vectors of float16.
    ``retiled``: a candidate with the same sums, to the bit, whose loops so many workers share more
    evenly; None where there is none.
    """

    name: str
    candidates: Callable[[ConvProblem, Target], tuple[ConvCandidate[Any], ...]]
    layouts: Layouts
    lower: Callable[[ConvCandidate[Any], Node, Graph, Target], Layer]
    stored: Stored = Stored.NOTHING
    compute: str = FLOAT
    requires: str = ""
    float16: bool = False
    retiled: Callable[[ConvCandidate[Any], Target, int], ConvCandidate[Any] | None] | None = None
