"""Which aliases to grant: tensors that share bytes form blocks of fixed relative offsets.

The rule behind every grant: when a layer writes bytes, no tensor that lies there may be live at
that step, except the one input that an in-place layer consumes.  A layer does not write the part
of its output that a granted exact alias covers, since the values are there already.  By induction
every live tensor is intact: prefix Concats, slices of Concats, views of views need no further
rule.  An exact alias therefore holds exactly when both tensors lie in one block at the stated
distance; the only decision is which blocks to join.
"""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass

from edgeconv.ir.choice import Alias
from edgeconv.ir.memory import Region
from edgeconv.memory.blocks import live_bytes, rectangles
from edgeconv.memory.lifetimes import Span
from edgeconv.memory.program import Program


@dataclass(frozen=True, slots=True)
class Sharing:
    """Every tensor in exactly one block, and the aliases that this honours.

    ``blocks``: tensor -> offset in bytes, from the caller's buffer if the block holds one and from
    the block's lowest tensor otherwise.  ``granted``: (layer index, alias index).
    """

    blocks: tuple[Mapping[str, int], ...]
    granted: frozenset[tuple[int, int]]


def share(program: Program, spans: Mapping[str, Span], *, in_place: bool = True) -> Sharing:
    """Grant aliases for the order that gave ``spans``; without ``in_place`` exact ones only.

    Exact aliases come first, the largest first, because each one saves a copy; then layers work
    in place, those at the steps with most live bytes first.
    """
    groups = _Groups(program, spans)
    candidates = [
        (i, k, alias)
        for i, aliases in enumerate(program.aliases)
        for k, alias in enumerate(aliases)
        if alias.input in program.sizes
    ]
    exact = [alias for _, _, alias in candidates if alias.exact]
    for alias in sorted(exact, key=lambda a: (-program.sizes[a.inner], spans[_output(a)].first)):
        groups.join(alias)
    if in_place:
        load = _load(program, spans, groups.blocks())
        overwriting = [
            (spans[_output(alias)].first, alias)
            for i, _, alias in candidates
            if not alias.exact and program.reads[i].count(alias.input) == 1
        ]
        for _, alias in sorted(overwriting, key=lambda c: (-load[c[0] + 1], c[0])):
            groups.join_in_place(alias)
    granted = frozenset((i, k) for i, k, alias in candidates if groups.holds(alias))
    return Sharing(groups.blocks(), granted)


def _load(
    program: Program, spans: Mapping[str, Span], blocks: tuple[Mapping[str, int], ...]
) -> list[int]:
    """Live arena bytes per step; see live_bytes."""
    own = [block for block in blocks if not program.buffers.keys() & block.keys()]
    steps = len(program.reads)
    return live_bytes((rectangles(program, spans, block) for block in own), steps)


class _Groups:
    """Union-find with offsets.  The smaller block moves, so that a look-up is one step."""

    def __init__(self, program: Program, spans: Mapping[str, Span]) -> None:
        self._program = program
        self._spans = spans
        self._block = {name: i for i, name in enumerate(program.sizes)}
        self._members = [[name] for name in program.sizes]
        self._offset = dict.fromkeys(program.sizes, 0)  # from the block's first tensor
        self._buffer = [name if name in program.buffers else None for name in program.sizes]
        self._one_itemsize = len(set(program.itemsizes.values())) == 1
        self._overwrites: dict[str, str] = {}  # output -> the input whose bytes it takes
        self._exact: dict[str, list[Alias]] = {}  # output -> exact aliases of its layer
        for i, aliases in enumerate(program.aliases):
            for alias in aliases:
                if alias.exact and alias.input in program.sizes:
                    output = _output(alias)
                    assert output in program.writes[i]
                    self._exact.setdefault(output, []).append(alias)

    def join(self, alias: Alias) -> bool:
        """Make one block of two, with ``inner`` at its place in ``outer``.

        False, and nothing changes, when they are one already or when that would clobber a live
        tensor, misalign elements or leave a caller's buffer.
        """
        keep, move = self._block[alias.outer], self._block[alias.inner]
        shift = self._offset[alias.outer] + alias.offset - self._offset[alias.inner]
        if keep == move or (self._buffer[keep] and self._buffer[move]):
            return False
        if len(self._members[keep]) < len(self._members[move]):
            keep, move, shift = move, keep, -shift
        moved, stayed = self._members[move], self._members[keep]
        buffer = self._buffer[keep] or self._buffer[move]
        self._relabel(moved, keep, shift)
        joined = [*stayed, *moved]
        if (
            self._aligned(joined, buffer, shift)
            and (buffer is None or self._within(joined, buffer))
            and not self._conflict(moved, stayed)
        ):
            self._members[keep], self._members[move] = joined, []
            self._buffer[keep] = buffer
            return True
        self._relabel(moved, move, -shift)
        return False

    def join_in_place(self, alias: Alias) -> None:
        """Let the output of ``alias`` take the bytes of its input if that is dead afterwards."""
        output, sizes = _output(alias), self._program.sizes
        start = alias.offset if output == alias.inner else -alias.offset
        fits = start >= 0 and start + sizes[output] <= self._program.round_up(sizes[alias.input])
        dies = self._spans[alias.input].last == self._spans[output].first
        if fits and dies and output not in self._overwrites:
            self._overwrites[output] = alias.input
            if self._block[alias.inner] == self._block[alias.outer] or not self.join(alias):
                del self._overwrites[output]

    def holds(self, alias: Alias) -> bool:
        """Whether ``alias`` is granted."""
        if alias.exact:
            return self._in_position(alias)
        return self._overwrites.get(_output(alias)) == alias.input and self._in_position(alias)

    def blocks(self) -> tuple[Mapping[str, int], ...]:
        """The blocks in the order of their first tensors; see Sharing."""
        found = []
        for members, buffer in zip(self._members, self._buffer, strict=True):
            if members:
                base = self._offset[buffer] if buffer else self._lowest(members)
                found.append({name: self._offset[name] - base for name in members})
        return tuple(found)

    def _in_position(self, alias: Alias) -> bool:
        same = self._block[alias.inner] == self._block[alias.outer]
        return same and self._offset[alias.inner] - self._offset[alias.outer] == alias.offset

    def _relabel(self, names: list[str], block: int, shift: int) -> None:
        for name in names:
            self._block[name] = block
            self._offset[name] += shift

    def _aligned(self, members: list[str], buffer: str | None, shift: int) -> bool:
        """Whether every element lies on a multiple of its size; buffers promise their own only."""
        sizes = self._program.itemsizes
        if self._one_itemsize:
            return shift % sizes[members[0]] == 0
        base = self._offset[buffer] if buffer else self._lowest(members)
        if buffer and any(sizes[name] > sizes[buffer] for name in members):
            return False
        return all((self._offset[name] - base) % sizes[name] == 0 for name in members)

    def _within(self, members: list[str], buffer: str) -> bool:
        """Whether all lie inside the caller's buffer and none writes to an input."""
        low, high = self._range(buffer)
        read_only = self._program.buffers[buffer][0] is Region.INPUT
        for name in members:
            start, end = self._range(name)
            if start < low or end > high:
                return False
            if read_only and name != buffer and self._written(name):
                return False
        return True

    def _conflict(self, moved: list[str], stayed: list[str]) -> bool:
        """Whether a write to a tensor of one list hits a live one of the other."""
        spans = self._spans
        others = [(*spans[name], *self._range(name), name) for name in stayed]
        for name in moved:
            first, last = spans[name]
            low, high = self._range(name)
            for other_first, other_last, other_low, other_high, other in others:
                if (
                    first <= other_last
                    and other_first <= last
                    and low < other_high
                    and other_low < high
                    and (self._clobbers(name, other) or self._clobbers(other, name))
                ):
                    return True
        return False

    def _clobbers(self, writer: str, other: str) -> bool:
        """Whether the layer that writes ``writer`` destroys bytes of ``other`` while in use."""
        step, used = self._spans[writer].first, self._spans[other]
        if not used.first <= step <= used.last or self._overwrites.get(writer) == other:
            return False
        low, high = self._range(other)
        return any(start < high and low < end for start, end in self._written(writer))

    def _written(self, name: str) -> list[tuple[int, int]]:
        """The byte ranges that the producer of ``name`` writes: what no exact alias covers."""
        written = [self._range(name)]
        for alias in self._exact.get(name, ()):
            if self._in_position(alias):
                low, high = self._range(alias.inner)
                parts = [part for s, e in written for part in ((s, min(e, low)), (max(s, high), e))]
                written = [(start, end) for start, end in parts if start < end]
        return [(start, end) for start, end in written if start < end]

    def _range(self, name: str) -> tuple[int, int]:
        offset = self._offset[name]
        return offset, offset + self._program.sizes[name]

    def _lowest(self, members: list[str]) -> int:
        return min(self._offset[name] for name in members)


def _output(alias: Alias) -> str:
    return alias.outer if alias.input == alias.inner else alias.inner
