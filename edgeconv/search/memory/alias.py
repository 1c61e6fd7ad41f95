"""Which aliases to grant: tensors that share bytes form blocks of fixed relative offsets.

The rule behind every grant: when a layer writes bytes, no tensor that lies there may be live at
that step, except the one input that an in-place layer consumes.  A layer does not write the part
of its output that a granted exact alias covers, since the values are there already.  By induction
every live tensor is intact: prefix Concats, slices of Concats, views of views need no further
rule.  An exact alias therefore holds exactly when both tensors lie in one block at the stated
distance; the only decision is which blocks to join.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence, Set
from dataclasses import dataclass
from itertools import chain
from math import inf

import numpy as np
import numpy.typing as npt

from edgeconv.ir.choice import Alias
from edgeconv.ir.memory import Region
from edgeconv.search.memory.blocks import live_bytes, rectangles
from edgeconv.search.memory.lifetimes import Span
from edgeconv.search.memory.program import Program


@dataclass(frozen=True, slots=True)
class Sharing:
    """Every tensor in exactly one block, and the aliases that this honours.

    ``blocks``: tensor -> offset in bytes, from the caller's buffer if the block holds one and from
    the block's lowest tensor otherwise.  ``granted``: (layer index, alias index).
    """

    blocks: tuple[Mapping[str, int], ...]
    granted: frozenset[tuple[int, int]]


def share(
    program: Program,
    spans: Mapping[str, Span],
    *,
    in_place: bool = True,
    enough: float = inf,
    refused: Set[tuple[int, int]] = frozenset(),
) -> Sharing:
    """Grant aliases for the order that gave ``spans``; without ``in_place`` exact ones only.

    Exact aliases come first, the largest first, because each one saves a copy; then layers work
    in place, those at the steps with most live bytes first.  Results reach beyond their inputs only
    at steps with most live bytes of all, where these are more than ``enough``: tensors at fixed
    distances are harder to place.  ``refused``: aliases that are not granted, as `Sharing.granted`.
    """
    groups = _Groups(program, spans)
    candidates = [
        (i, k, alias)
        for i in range(len(program.aliases))
        for k, alias in program.offers(i)
        if (i, k) not in refused
    ]
    exact = [alias for _, _, alias in candidates if alias.exact]
    for alias in sorted(exact, key=lambda a: (-program.sizes[a.inner], spans[a.output].first)):
        groups.join(alias)
    if in_place:
        load = _load(program, spans, groups.blocks())
        overwriting = [
            (spans[alias.output].first, alias)
            for i, _, alias in candidates
            if not (alias.exact or alias.overlaps) and program.reads[i].count(alias.input) == 1
        ]
        for _, alias in sorted(overwriting, key=lambda c: (-load[c[0] + 1], c[0])):
            groups.join_in_place(alias)
        if enough < inf:
            offers = [alias for _, _, alias in candidates if alias.overlaps]
            _overlap(program, spans, groups, offers, enough)
    granted = frozenset((i, k) for i, k, alias in candidates if groups.holds(alias))
    return Sharing(groups.blocks(), granted)


def _overlap(
    program: Program,
    spans: Mapping[str, Span],
    groups: _Groups,
    offers: Sequence[Alias],
    enough: float,
) -> None:
    """Take of ``offers`` those at the steps with most live bytes, until there are none, or none
    has more than is ``enough``."""
    left, spaces = list(offers), [0] * (len(program.reads) + 2)
    for layers in program.steps:
        start = min((spans[name].first for i in layers for name in program.writes[i]), default=0)
        lasting = [layer for layer in layers if layer in program.lasting]
        for position, layer in enumerate(layers, start):
            spaces[position + 1] = program.workspace_of({layer, *lasting})
    while left:
        live = _load(program, spans, groups.blocks())
        load = [size + space for size, space in zip(live, spaces, strict=True)]
        most = max(load)
        if most <= enough:
            return
        at_most = [
            alias
            for alias in left
            if most in load[spans[alias.output].first + 1 : spans[alias.input].last + 2]
        ]
        left = [alias for alias in left if alias not in at_most]
        joined = [groups.join_in_place(alias) for alias in at_most]
        if not any(joined):
            return


def _load(
    program: Program, spans: Mapping[str, Span], blocks: tuple[Mapping[str, int], ...]
) -> list[int]:
    """Live arena bytes per step; see live_bytes."""
    own = [block for block in blocks if not program.buffers.keys() & block.keys()]
    steps = len(program.reads)
    return live_bytes((rectangles(program, spans, block) for block in own), steps)


class _Groups:
    """Union-find with offsets.  The smaller block moves, so that a look-up is one step.

    Numbers of tensors are in arrays: what a block that grows to thousands of tensors is asked for
    each new one is then a comparison of arrays.
    """

    def __init__(self, program: Program, spans: Mapping[str, Span]) -> None:
        self._program = program
        self._names = list(program.sizes)
        self._number = {name: number for number, name in enumerate(self._names)}
        count = len(self._names)
        self._size = np.array([program.sizes[name] for name in self._names], np.int64)
        self._itemsize = np.array([program.itemsizes[name] for name in self._names], np.int64)
        self._first = np.array([spans[name].first for name in self._names], np.int64)
        self._last = np.array([spans[name].last for name in self._names], np.int64)
        lengths = {
            name: len(step) for step in program.steps for i in step for name in program.writes[i]
        }  # of the step that writes it
        self._end = self._first + [lengths.get(name, 1) - 1 for name in self._names]
        self._block = np.arange(count)
        self._offset = np.zeros(count, np.int64)  # from the block's first tensor
        self._members = [[number] for number in range(count)]
        self._buffer = [
            n if name in program.buffers else None for n, name in enumerate(self._names)
        ]
        self._one_itemsize = len(set(program.itemsizes.values())) == 1
        self._overwrites: dict[int, int] = {}  # output -> the input whose bytes it takes
        # Output -> exact aliases of its layer, by their input.
        self._exact: dict[int, dict[int, list[Alias]]] = {}
        for i, aliases in enumerate(program.aliases):
            for alias in aliases:
                if alias.exact and alias.input in program.sizes:
                    assert alias.output in program.writes[i]
                    mine = self._exact.setdefault(self._number[alias.output], {})
                    mine.setdefault(self._number[alias.input], []).append(alias)
        self._kept: set[int] = set()  # blocks that states lie in
        self._states = {self._number[name] for pair in program.states for name in pair}
        every = (*program.inputs, *program.outputs)
        self._ports = {self._number[name] for name in every} - self._states
        self._place_states()

    def _place_states(self) -> None:
        """Have every state where the run before has left it.  What it is made of may lie there too,
        at any distance: Keep moves it, if it has to be encoded no otherwise."""
        program = self._program
        for names in program.states:
            before, after = (self._number[name] for name in names)
            self._block[after] = before
            self._kept.add(before)
            self._members[before], self._members[after] = [before, after], []
            keep = program.producer[names[1]]
            source = self._number[program.reads[keep][0]]
            if program.aliases[keep] and self._last[source] == self._first[after]:
                self._overwrites[after] = source

    def join(self, alias: Alias) -> bool:
        """Make one block of two, with ``inner`` at its place in ``outer``.

        False, and nothing changes, when they are one already or when that would clobber a live
        tensor, misalign elements or leave a caller's buffer, and when a state would lie in one.
        """
        inner, outer = self._number[alias.inner], self._number[alias.outer]
        keep, move = int(self._block[outer]), int(self._block[inner])
        shift = int(self._offset[outer]) + alias.offset - int(self._offset[inner])
        if keep == move or not (self._buffer[keep] is None or self._buffer[move] is None):
            return False
        if self._one_buffer(keep, move) is not None and {keep, move} & self._kept:
            return False
        if len(self._members[keep]) < len(self._members[move]):
            keep, move, shift = move, keep, -shift
        moved, stays = self._members[move], self._block == keep
        self._relabel(moved, keep, shift)
        if (
            self._aligned(keep, shift, self._one_buffer(keep, move))
            and self._within(keep, move)
            and self._confined(keep)
            and not self._conflict(moved, stays)
        ):
            self._buffer[keep] = self._one_buffer(keep, move)
            self._kept |= {keep} if move in self._kept else set()
            self._members[keep] += moved
            self._members[move] = []
            return True
        self._relabel(moved, move, -shift)
        return False

    def join_in_place(self, alias: Alias) -> bool:
        """Let the output of ``alias`` take bytes of its input if that is dead afterwards; whether
        it does."""
        name, sizes = alias.output, self._program.sizes
        output, source = self._number[name], self._number[alias.input]
        start = alias.offset if name == alias.inner else -alias.offset
        inside = start >= 0 and start + sizes[name] <= self._program.round_up(sizes[alias.input])
        dies = self._last[source] == self._end[output]
        if not ((inside or alias.overlaps) and dies) or output in self._overwrites:
            return False
        self._overwrites[output] = source
        if self._block[output] == self._block[source] or not self.join(alias):
            del self._overwrites[output]
            return False
        return True

    def holds(self, alias: Alias) -> bool:
        """Whether ``alias`` is granted."""
        if alias.exact:
            return self._in_position(alias)
        taken = self._overwrites.get(self._number[alias.output])
        return taken == self._number[alias.input] and self._in_position(alias)

    def blocks(self) -> tuple[Mapping[str, int], ...]:
        """The blocks in the order of their first tensors; see Sharing."""
        found = []
        for members, buffer in zip(self._members, self._buffer, strict=True):
            if members:
                offsets = self._offset[members].tolist()
                base = min(offsets) if buffer is None else int(self._offset[buffer])
                named = zip(members, offsets, strict=True)
                found.append({self._names[number]: offset - base for number, offset in named})
        return tuple(found)

    def _in_position(self, alias: Alias) -> bool:
        inner, outer = self._number[alias.inner], self._number[alias.outer]
        return bool(
            self._block[inner] == self._block[outer]
            and self._offset[inner] - self._offset[outer] == alias.offset
        )

    def _relabel(self, members: list[int], block: int, shift: int) -> None:
        self._block[members] = block
        self._offset[members] += shift

    def _one_buffer(self, *blocks: int) -> int | None:
        return next((b for b in (self._buffer[block] for block in blocks) if b is not None), None)

    def _aligned(self, block: int, shift: int, buffer: int | None) -> bool:
        """Whether every element lies on a multiple of its size; buffers promise their own only."""
        if self._one_itemsize:
            return shift % int(self._itemsize[0]) == 0
        members = self._block == block
        sizes, offsets = self._itemsize[members], self._offset[members]
        base = offsets.min() if buffer is None else self._offset[buffer]
        if buffer is not None and (sizes > self._itemsize[buffer]).any():
            return False
        return not ((offsets - base) % sizes).any()

    def _within(self, keep: int, move: int) -> bool:
        """Whether what joins a caller's buffer lies inside and none of it writes to an input.

        What was in the buffer's block before does: nothing that joins makes a layer write more.
        """
        buffer = self._one_buffer(keep, move)
        if buffer is None:
            return True
        low, high = self._range(buffer)
        read_only = self._program.buffers[self._names[buffer]][0] is Region.INPUT
        for number in self._members[keep if self._buffer[keep] is None else move]:
            start, end = self._range(number)
            if start < low or end > high or (read_only and self._written(number)):
                return False
        return True

    def _confined(self, block: int) -> bool:
        """Whether nothing in ``block`` reaches beyond a state that has to lie apart, or is the
        caller's."""
        if not self._program.confined:
            return True
        members = set(np.flatnonzero(self._block == block).tolist())
        kept = [number for number in self._states if number in members]
        ports = self._ports & members
        ranges = {self._range(number) for number in kept}
        if not kept:
            return True
        low, high = min(ranges)
        inside = all(low <= at and end <= high for at, end in map(self._range, members))
        return len(ranges) == 1 and inside and not ports

    def _conflict(self, moved: list[int], stays: npt.NDArray[np.bool_]) -> bool:
        """Whether a write to a tensor of one block hits a live one of the other."""
        for number in moved:
            low, high = self._range(number)
            meets = (
                stays & (self._first <= self._last[number]) & (self._last >= self._first[number])
            )
            meets &= (self._offset < high) & (self._offset + self._size > low)
            for other in np.flatnonzero(meets).tolist():
                if self._clobbers(number, other) or self._clobbers(other, number):
                    return True
        return False

    def _clobbers(self, writer: int, other: int) -> bool:
        """Whether the layer that writes ``writer`` destroys bytes of ``other`` while in use."""
        step = self._first[writer]
        used = self._first[other] <= step <= self._last[other]
        if not used or self._overwrites.get(writer) == other:
            return False
        if any(map(self._in_position, self._exact.get(writer, {}).get(other, ()))):
            return False  # the values are there already
        low, high = self._range(other)
        return any(start < high and low < end for start, end in self._written(writer))

    def _written(self, number: int) -> list[tuple[int, int]]:
        """The byte ranges that the producer of a tensor writes: what no exact alias covers."""
        written = [self._range(number)]
        for alias in chain.from_iterable(self._exact.get(number, {}).values()):
            if self._in_position(alias):
                low, high = self._range(self._number[alias.inner])
                parts = [part for s, e in written for part in ((s, min(e, low)), (max(s, high), e))]
                written = [(start, end) for start, end in parts if start < end]
        return [(start, end) for start, end in written if start < end]

    def _range(self, number: int) -> tuple[int, int]:
        offset = int(self._offset[number])
        return offset, offset + int(self._size[number])
