"""Layouts by turns: where a case takes long to compile, every third operation is tried, in a few
of the layouts that it has, the next one in others.

Every operation with every layout is what programs with sizes at run time try, which cost nothing.
"""

from __future__ import annotations

from collections import Counter
from collections.abc import Hashable, Sequence
from itertools import groupby

from tests.kernels.cases import Case

OPERATIONS = 3  # of a test's operations one in so many is taken, from the first on
EVERY = 4  # of an operation's cases one in so many is taken, the number rounded up


def _way(case: Case) -> Hashable:
    """The kernel and the layouts of what it reads and writes."""
    layer = case.layer
    layouts = tuple(case.graph[name].layout for name in (*layer.node.reads(), layer.node.output))
    return layer.algorithm, layer.template, layouts


def taken(cases: Sequence[Case]) -> list[Case]:
    """Of neighbouring cases that must compute the same, one operation's, those whose kernel and
    layouts were tried least; and the first of those kernels and layouts that nobody tried."""
    tried: Counter[Hashable] = Counter()
    found: set[int] = set()

    def take(case: Case) -> None:
        tried[_way(case)] += 1
        found.add(id(case))

    operations = [list(same) for _, same in groupby(cases, key=lambda case: id(case.expected))]
    for operation in operations[::OPERATIONS]:
        for _ in range(-(-len(operation) // EVERY)):
            rest = (case for case in operation if id(case) not in found)
            take(min(rest, key=lambda case: tried[_way(case)]))
    for case in cases:
        if not tried[_way(case)]:
            take(case)
    return [case for case in cases if id(case) in found]
