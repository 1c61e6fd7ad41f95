"""Live bytes as a function of the set of layers that have run: what the order search minimises."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from itertools import pairwise
from typing import NamedTuple

from edgeconv.search.memory.program import Program


class Need(NamedTuple):
    """Bytes in use while a layer runs and after it."""

    peak: int
    live: int


class _Use(NamedTuple):
    """Who writes and reads a tensor, as bit masks of layers.

    The caller, who reads the graph outputs, is the bit after the last layer's.
    """

    producer: int  # 0 for a graph input
    readers: int

    def live(self, done: int) -> bool:
        return done & self.producer == self.producer and self.readers & ~done != 0


class _Victim(NamedTuple):
    """An input that a layer may overwrite."""

    use: _Use
    mates: list[_Use]  # tensors that share bytes with it
    saving: int  # bytes


class LivenessModel:
    """The memory of a partial execution; ``done`` is the bit mask of the layers that have run.

    Tensors that share bytes by exact aliases do so as under the model's own order.  An in-place
    alias is taken at the layer's step if its input has no other reader left and shares its bytes
    with nothing else that is live.  What an order really needs is measured afterwards by granting
    aliases for that order: the two differ where an alias is legal in one order only, and where
    working in place moves a tensor to the caller's output buffer.

    ``needs``: by layer, the mask of the layers that it comes after: whose results it reads, and
    who read the state that it writes anew.  ``users``: by layer, those that come after it.
    """

    def __init__(self, program: Program, blocks: Sequence[Mapping[str, int]]) -> None:
        self._program = program
        self._uses = _uses(program)
        self.needs = [sum({self._uses[name].producer for name in names}) for names in program.reads]
        users = [{r for name in names for r in program.readers[name]} for names in program.writes]
        for before, after in program.states:  # whose old value others have to read first
            taking = program.producer[after]
            for reader in program.readers[before]:
                self.needs[taking] |= 1 << reader
                users[reader].add(taking)
        self.users: list[list[int]] = [sorted(each) for each in users]
        self._atom_bytes: list[int] = []
        self._holders: list[list[str]] = []  # by atom: the tensors that contain it
        self._atoms: dict[str, list[int]] = {name: [] for name in program.sizes}
        for block in blocks:
            if not program.buffers.keys() & block.keys():
                self._cut(block)
        self._holder_uses = [[self._uses[name] for name in names] for names in self._holders]
        both = zip(program.reads, program.writes, strict=True)
        self._touched = [sorted({a for n in (*r, *w) for a in self._atoms[n]}) for r, w in both]
        self._written = [sorted({a for n in w for a in self._atoms[n]}) for w in program.writes]
        self._victims = [self._victims_of(layer) for layer in range(len(program.reads))]
        self._workspace = [program.round_up(size) for size in program.workspaces]

    def live(self, done: int) -> int:
        """Bytes in use between two layers."""
        return sum(size for atom, size in enumerate(self._atom_bytes) if self._held(atom, done))

    def need(self, layer: int, done: int, live: int) -> Need:
        """Run ``layer`` when ``live`` bytes are in use after the layers ``done``."""
        after = done | 1 << layer
        during, left, saved = live, 0, 0
        for atom in self._written[layer]:
            if not self._held(atom, done):
                during += self._atom_bytes[atom]
        for atom in self._touched[layer]:
            if not self._held(atom, after):
                left += self._atom_bytes[atom]
        for use, mates, saving in self._victims[layer]:
            if saving > saved and not use.live(after) and not any(m.live(done) for m in mates):
                saved = saving
        return Need(during - saved + self._workspace[layer], during - left)

    def least(self, layer: int) -> int:
        """Bytes that ``layer`` needs in any order."""
        touched = sum(self._atom_bytes[atom] for atom in self._touched[layer])
        saved = max((victim.saving for victim in self._victims[layer]), default=0)
        return touched - saved + self._workspace[layer]

    def ancestors(self) -> list[int]:
        """By layer: the mask of the layers whose results it needs, directly or not."""
        found: list[int] = []
        for needs in self.needs:
            mask = rest = needs
            while rest:
                lowest = rest & -rest
                mask |= found[lowest.bit_length() - 1]
                rest ^= lowest
            found.append(mask)
        return found

    def descendants(self) -> list[int]:
        """By layer: the mask of the layers that need its results, directly or not."""
        found = [0] * len(self.users)
        for layer in reversed(range(len(self.users))):
            for user in self.users[layer]:
                found[layer] |= found[user] | 1 << user
        return found

    def _held(self, atom: int, done: int) -> bool:
        """Whether a live tensor contains ``atom``."""
        for producer, readers in self._holder_uses[atom]:
            if done & producer == producer and readers & ~done:
                return True
        return False

    def _cut(self, block: Mapping[str, int]) -> None:
        """Cut a block into atoms: ranges of bytes that the same tensors contain."""
        program = self._program
        ranges = {
            name: (program.round_down(offset), program.round_up(offset + program.sizes[name]))
            for name, offset in block.items()
        }
        for low, high in pairwise(sorted({cut for pair in ranges.values() for cut in pair})):
            holders = [name for name, (start, end) in ranges.items() if start <= low < end]
            for name in holders:
                self._atoms[name].append(len(self._holders))
            self._atom_bytes.append(high - low)
            self._holders.append(holders)

    def _victims_of(self, layer: int) -> list[_Victim]:
        program, found = self._program, []
        for alias in program.aliases[layer]:
            name = alias.input
            once = program.reads[layer].count(name) == 1
            if alias.exact or not once or not self._atoms[name] or not self._atoms[alias.output]:
                continue
            size, room = program.sizes[alias.output], program.round_up(program.sizes[name])
            if alias.offset == 0 and size <= room:
                mates = {mate for atom in self._atoms[name] for mate in self._holders[atom]}
                uses = [self._uses[mate] for mate in sorted(mates - {name})]
                found.append(_Victim(self._uses[name], uses, program.round_up(size)))
        return found


def _uses(program: Program) -> dict[str, _Use]:
    caller = 1 << len(program.reads)
    kept = program.staying.union(program.outputs)
    uses = {}
    for name in program.sizes:
        producer = 1 << program.producer[name] if name in program.producer else 0
        readers = sum(1 << layer for layer in program.readers[name])
        uses[name] = _Use(producer, readers | (caller if name in kept else 0))
    return uses
