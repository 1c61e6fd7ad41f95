"""Which activations share a format, and what lies in the arena at every step in each of them."""

from __future__ import annotations

from collections.abc import Collection, Iterator, Mapping, Sequence
from dataclasses import dataclass, replace
from functools import cache, cached_property
from itertools import pairwise

from edgeconv.ir.choice import Choice
from edgeconv.ir.memory import MemoryMap
from edgeconv.kernels.storage import formats
from edgeconv.kernels.storage.base import FLOAT32
from edgeconv.search.budget.tables import Saving
from edgeconv.search.memory.alias import Sharing, share
from edgeconv.search.memory.blocks import Rect, live_bytes, rectangles
from edgeconv.search.memory.lifetimes import Span, lifetimes
from edgeconv.search.memory.program import Program, of_choice


def classes(choice: Choice) -> list[frozenset[str]]:
    """The activations, those that must share a format together, in the order of their tensors.

    A view, a slice and a part of a Concat lie in each other's bytes, and a copy in another layout
    is stored as its original.
    """
    program = of_choice(choice)
    group = {name: {name} for name in program.sizes}
    for layer in choice.layers:
        pairs = [(alias.inner, alias.outer) for alias in layer.aliases if alias.exact]
        if layer.node.op == "Convert":
            pairs.append((layer.node.inputs[0], layer.node.output))
        for a, b in pairs:
            if a in group and b in group and group[a] is not group[b]:
                group[a] |= group[b]
                for name in group[b]:
                    group[name] = group[a]
    return [frozenset(names) for names in {id(names): names for names in group.values()}.values()]


@dataclass(frozen=True)
class Liveness:
    """The arena under the order and the aliases of ``memory``, which is a plan of ``choice``.

    ``members``: by class, its tensors; ``offered``: by class, its formats.  All tensors of
    ``choice`` are float32, or of a type that has no other format.
    """

    choice: Choice
    memory: MemoryMap
    members: Sequence[frozenset[str]]
    offered: Sequence[Sequence[str]]

    @cached_property
    def program(self) -> Program:
        return of_choice(self.choice)

    @cached_property
    def spans(self) -> Mapping[str, Span]:
        return lifetimes(self.program, self.memory.order)

    @cached_property
    def _sharing(self) -> Sharing:
        return share(self.program, self.spans)

    @cached_property
    def _class(self) -> dict[str, int]:
        return {name: c for c, names in enumerate(self.members) for name in names}

    def bytes(self, chosen: int) -> list[tuple[int, ...]]:
        """By step, before the first and after the last included: bytes by format offered."""
        by_format = [self._bytes(chosen, form) for form in self.offered[chosen]]
        return list(zip(*by_format, strict=True))

    def savings(self) -> Iterator[tuple[int, Saving]]:
        """Entry of `bytes`, and what two classes share there.

        The bytes that a layer overwrites in place, and a unit of the arena's alignment in which
        one ends and another begins.  Only where both have the same format: else one would be
        overwritten before it is read.
        """
        for block in self._sharing.blocks:
            inside = sorted({self._class[name] for name in block})
            if len(inside) == 1 or self.program.buffers.keys() & block.keys():
                continue
            offered = sorted({form for c in inside for form in self.offered[c]})
            shared = {form: self._shared(block, inside, form) for form in offered}
            for at, first, second in sorted({key for found in shared.values() for key in found}):
                pairs = [
                    (a, self.offered[second].index(form), shared[form][at, first, second])
                    for a, form in enumerate(self.offered[first])
                    if form in self.offered[second] and (at, first, second) in shared[form]
                ]
                if pairs:
                    yield at, Saving(first, second, tuple(pairs))

    def _shared(
        self, block: Mapping[str, int], inside: Sequence[int], form: str
    ) -> dict[tuple[int, int, int], int]:
        """By entry of `bytes` and two classes: bytes in which both have live tensors.

        Where more than two meet, each shares with the next: the sum is what `bytes` counts more
        than once.
        """
        parts = {c: self._rectangles(block, {c}, form) for c in inside}
        cuts = sorted({cut for rects in parts.values() for r in rects for cut in (r.low, r.high)})
        found: dict[tuple[int, int, int], int] = {}
        for low, high in pairwise(cuts):
            users: dict[int, list[int]] = {}
            for c, rects in parts.items():
                for r in rects:
                    if r.low <= low < r.high:
                        for at in range(r.first + 1, r.last + 2):
                            users.setdefault(at, []).append(c)
            for at, live in users.items():
                for pair in pairwise(live):
                    found[at, *pair] = found.get((at, *pair), 0) + high - low
        return found

    def _bytes(self, chosen: int, form: str) -> list[int]:
        total = [0] * (len(self.program.reads) + 2)
        for block in self._sharing.blocks:
            if self.members[chosen].isdisjoint(block):
                continue
            buffers = self.program.buffers.keys() & block.keys()
            if buffers and (form == FLOAT32 or buffers & self.members[chosen]):
                continue  # in the caller's memory: nothing else than float32 lies there
            part = live_bytes([self._rectangles(block, {chosen}, form)], len(self.program.reads))
            total = [sum(pair) for pair in zip(total, part, strict=True)]
        return total

    def _rectangles(
        self, block: Mapping[str, int], chosen: Collection[int], form: str
    ) -> tuple[Rect, ...]:
        """What the tensors of a block that belong to some classes occupy."""
        bits = _bits(form)
        offsets = {
            name: offset * bits // 32
            for name, offset in block.items()
            if self._class[name] in chosen
        }
        sizes = {name: -(-self.program.sizes[name] * bits // 32) for name in offsets}
        return rectangles(replace(self.program, sizes=sizes), self.spans, offsets)


@cache
def _bits(form: str) -> int:
    return formats()[form].bits
