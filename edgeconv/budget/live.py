"""Which activations share a format, and what lies in the arena at every step in each of them."""

from __future__ import annotations

from collections.abc import Collection, Iterator, Mapping, Sequence
from dataclasses import dataclass, replace
from functools import cache, cached_property

from edgeconv.budget.tables import Saving
from edgeconv.ir.choice import Choice
from edgeconv.ir.memory import MemoryMap
from edgeconv.memory.alias import Sharing, share
from edgeconv.memory.blocks import live_bytes, rectangles
from edgeconv.memory.lifetimes import Span, lifetimes
from edgeconv.memory.program import Program, of_choice
from edgeconv.storage import formats

FLOAT32 = "float32"


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
class Live:
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
        """Entry of `bytes`, and what two classes share there because a layer works in place.

        Only where both have the same format: else one would be overwritten before it is read.
        """
        for layer, k in sorted(self.memory.granted):
            alias = self.choice.layers[layer].aliases[k]
            output = alias.inner if alias.input == alias.outer else alias.outer
            first, second = self._class[alias.input], self._class[output]
            block = next(block for block in self._sharing.blocks if output in block)
            if alias.exact or first == second or self.program.buffers.keys() & block.keys():
                continue
            at = self.spans[output].first + 1
            pairs = []
            for a, form in enumerate(self.offered[first]):
                if form in self.offered[second]:
                    parts = [self._part(block, {c}, form)[at] for c in (first, second)]
                    size = sum(parts) - self._part(block, {first, second}, form)[at]
                    if size > 0:
                        pairs.append((a, self.offered[second].index(form), size))
            if pairs:
                yield at, Saving(first, second, tuple(pairs))

    def _bytes(self, chosen: int, form: str) -> list[int]:
        total = [0] * (len(self.program.reads) + 2)
        for block in self._sharing.blocks:
            if self.members[chosen].isdisjoint(block):
                continue
            buffers = self.program.buffers.keys() & block.keys()
            if buffers and (form == FLOAT32 or buffers & self.members[chosen]):
                continue  # in the caller's memory: nothing else than float32 lies there
            part = self._part(block, {chosen}, form)
            total = [sum(pair) for pair in zip(total, part, strict=True)]
        return total

    def _part(self, block: Mapping[str, int], chosen: Collection[int], form: str) -> list[int]:
        """Live bytes of the tensors of a block that belong to some classes, by step."""
        bits = _bits(form)
        offsets = {
            name: offset * bits // 32
            for name, offset in block.items()
            if self._class[name] in chosen
        }
        sizes = {name: -(-self.program.sizes[name] * bits // 32) for name in offsets}
        scaled = replace(self.program, sizes=sizes)
        return live_bytes([rectangles(scaled, self.spans, offsets)], len(self.program.reads))


@cache
def _bits(form: str) -> int:
    return formats()[form].bits
