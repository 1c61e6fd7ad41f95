"""The least memory that a model needs: what a refusal names, and what fits a budget of as much.

What is decided within a budget is found by ways that have no order among budgets: kernels for the
room that there is, formats of the least error that fits.  So the least is what such decisions come
down to when each is asked for a byte less than the one before, from the smallest plans there are;
it does not depend on the budgets that were asked for.
"""

from __future__ import annotations

from collections.abc import Callable, Iterator, Sequence
from dataclasses import dataclass
from itertools import product

from edgeconv.app.choice_notes import integers_of
from edgeconv.app.deciding.planning import Decision, NetworkPlan, Planner
from edgeconv.base.errors import EdgeconvError
from edgeconv.ir.filters import WEIGHTED
from edgeconv.ir.graph import Graph
from edgeconv.kernels.ops import operators
from edgeconv.report.text import budget_lines
from edgeconv.search.budget.infeasible import beyond
from edgeconv.search.budget.tables import Limits
from edgeconv.search.fitting import UnfitError
from edgeconv.search.memory.link import kept_free
from edgeconv.search.memory.sizes import Budgets

# Multiply-adds of a network, and elements of its tensors, with which a search for formats takes no
# second.
_SOON_PLANNED = 2_000_000
_ATTEMPTS = 24  # at a byte less
_LARGE_ATTEMPTS = 1  # of larger networks, of which each takes seconds


@dataclass(frozen=True, slots=True)
class MinimumFootprint:
    """The least memory that a network needs.  ``ram`` and ``flash``: decisions with the least bytes
    of each, whatever the other.

    ``exact``: with a byte less nothing is decided.
    """

    ram: Decision
    flash: Decision
    exact: bool

    def nearest(self, limits: Limits) -> Decision:
        """The one that exceeds the budgets by the smaller part."""

        def excess(decided: Decision) -> tuple[float, int]:
            sizes = decided.sizes
            return beyond(limits, sizes.ram.total, sizes.flash.total)

        return min((self.ram, self.flash), key=excess)


def soon_decided(graph: Graph) -> bool:
    """Whether the network is so small that many formats of it can be planned and measured."""
    macs = sum(operators()[node.op].macs(node, graph) for node in graph.nodes)
    return max(macs, sum(tensor.size for tensor in graph.tensors.values())) < _SOON_PLANNED


def attempts(graph: Graph) -> int:
    """The attempts that a network is worth."""
    return _ATTEMPTS if soon_decided(graph) else _LARGE_ATTEMPTS


def smaller(budgets: Budgets, least: tuple[int, int], enough: tuple[int, int]) -> Iterator[Budgets]:
    """Sizes that memories have (powers of two, and one and a half of these) within ``budgets``, or
    one of these with the other budget, the largest first.  Those below the ``least`` bytes of RAM
    and flash lead to nothing, those beyond what is ``enough`` for everything to nothing else.

    Where this is asked whenever ``budgets`` themselves lead to nothing, what is found for such
    sizes is found for larger ones too: what is asked depends on nothing else.
    """
    sides = [
        [None] if most is None else [most, *_sizes(low, min(most - 1, high))]
        for most, low, high in zip((budgets.ram, budgets.flash), least, enough, strict=True)
        if most is None or most >= low
    ]
    if len(sides) < len(least):
        return
    for ram, flash in product(*sides):
        if (ram, flash) != (budgets.ram, budgets.flash):
            yield Budgets(ram, flash)


def _sizes(low: int, most: int) -> list[int | None]:
    """Sizes of memories from ``low`` to ``most``, the largest first."""
    powers = [1 << exponent for exponent in range(1, most.bit_length())]
    every = {*powers, *(power * 3 // 2 for power in powers)}
    return [*sorted((size for size in every if low <= size <= most), reverse=True)]


def minimum_footprint_of(
    starts: Sequence[Decision],
    size: Callable[[Decision], int],
    within: Callable[[int], Decision | None],
    most: int,
) -> tuple[Decision, bool]:
    """The smallest by ``size`` of ``starts`` and of what ``within`` decides in fewer bytes, None
    where that is nothing; and whether a byte less was refused, which ``most`` attempts may not
    come to."""
    best, decided = min(starts, key=size), False
    for _ in range(most):
        found = within(size(best) - 1)
        # A start; what is decided within as much may take less, which is asked of small networks.
        if found is None and not decided and most > 1:
            found, decided = within(size(best)), True
            if found is None or size(found) == size(best):
                return best, True
        if found is None:
            return best, True
        best, decided = found, True
    return best, False


def unfit(error: UnfitError, plain: NetworkPlan, planner: Planner) -> UnfitError:
    """``error``, with what float32 would take, and no hint that the board cannot follow."""
    board = planner.board
    lossless = "without rounding" if integers_of(plain.choice) else "in float32"
    lines = tuple(f"{lossless}, {line}" for line in budget_lines(plain.sizes))
    if board.bare_metal:
        kept, region = kept_free(board), board.ram[0].name
        stack = "are kept free for stack and variables, which --build tells"
        lines += (f"{kept:,} bytes of {region} {stack}",)
    sizes = (("RAM", board.ram_bytes), ("flash", board.flash_bytes))
    lacks = [
        f"the board has {has:,} bytes of {name}"
        for (name, has), needed in zip(sizes, error.nearest, strict=False)
        if board.bare_metal and has is not None and needed > has
    ]
    hint = f"{' and '.join(lacks)}: no budget helps" if lacks else error.hint
    ram, filters = planner.budgets.ram, any(x.node.op in WEIGHTED for x in plain.choice.layers)
    short = ram is not None and any(needed > ram for needed in error.nearest[:1])
    if short and filters and not integers_of(plain.choice):  # formats alone are decoded to float32
        hint = "; ".join(
            filter(None, (hint, "quantised by samples (--int8 X.npz) it takes less RAM"))
        )
    why = EdgeconvError(error.what, got=error.got, rule=error.rule, hint=hint)
    return UnfitError(
        EdgeconvError(
            "does not fit",
            where=f"{planner.options.model.name} on board {board.name}",
            rule=why.one_line(),
            details=(*lines, *error.details),
        )
    )
