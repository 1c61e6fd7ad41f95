"""Memory of which some words are known: constants of an image, and what a program has written."""

from __future__ import annotations

from bisect import bisect_right
from collections.abc import Sequence
from dataclasses import dataclass
from pathlib import Path

from elftools.elf.constants import SH_FLAGS

from edgeconv.run.build.elf import open_elf

MASK = 0xFFFF_FFFF
_KNOWN = 32  # of a word: above its number a bit for each byte that is known
_WHOLE = 0b1111 << _KNOWN


@dataclass(frozen=True, slots=True)
class Region:
    """``waits``: cycles that an access of ``line`` bytes, aligned, takes longer than one without
    wait states.  ``has_code``: instructions are fetched from there, so that an access of data may
    cost the line that they come from."""

    name: str
    base: int
    size: int
    waits: int = 0
    line: int = 4
    has_code: bool = False

    def waiting(self, accesses: int) -> int:
        """Cycles that so many accesses of data wait, one after the other."""
        return self.waits * (accesses + self.has_code)


@dataclass(frozen=True, slots=True)
class Constants:
    """Bytes of the image that nothing writes to."""

    address: int
    data: bytes


def constants_of(image: Path) -> tuple[Constants, ...]:
    """The sections of an ELF file that are loaded and never written to."""
    with open_elf(image) as elf:
        return tuple(
            Constants(section["sh_addr"], section.data())
            for section in elf.iter_sections()
            if section["sh_flags"] & SH_FLAGS.SHF_ALLOC
            and not section["sh_flags"] & SH_FLAGS.SHF_WRITE
            and section["sh_type"] != "SHT_NOBITS"
        )


class Memory:
    """``words``: what is known of memory that is written to, by aligned address: a number, in which
    bytes that are unknown are 0, and above it a bit for each byte that is known; all else of it is
    unknown.  ``extra``: cycles of misaligned accesses and wait states so far.  ``misaligned``:
    cycles of an access of 4 or 2 bytes for each place that it lies behind a multiple of its size.
    """

    def __init__(
        self, constants: Sequence[Constants], regions: Sequence[Region], misaligned: Sequence[int]
    ) -> None:
        self._constants = sorted(constants, key=lambda each: each.address)
        self._starts = [each.address for each in self._constants]
        self._regions = regions
        self._misaligned = tuple(misaligned)
        self._slowest = max(regions, key=lambda each: each.waiting(1))
        self._most_waits = self._slowest.waits
        self.words: dict[int, int] = {}
        self.extra = 0
        self.log: dict[int, int | None] | None = None

    def constant(self, address: int, size: int) -> bytes | None:
        """Bytes of the image; None where they are none of it."""
        index = bisect_right(self._starts, address) - 1
        if index < 0:
            return None
        piece = self._constants[index]
        data = piece.data[address - piece.address : address - piece.address + size]
        return data if len(data) == size else None

    def region(self, address: int) -> Region | None:
        """The region of the board that has the address."""
        for each in self._regions:
            if each.base <= address < each.base + each.size:
                return each
        return None

    def penalty(self, address: int | None, size: int) -> int:
        """Cycles that an access of ``size`` bytes takes longer than an aligned one without wait
        states; of an unknown address at most."""
        if address is None:
            late = max(self._misaligned[:size]) if size > 1 else 0
            return late + self._slowest.waiting(late + 1)
        late = self._misaligned[address % size] if size in (2, 4) else 0
        if not self._most_waits:
            return late
        region = self.region(address)
        return late + (region or self._slowest).waiting(late + 1)

    def load(self, address: int | None, size: int) -> int | None:
        """The number of ``size`` bytes, unsigned; None when unknown."""
        if address is None or self._most_waits or address & size - 1:
            self.extra += self.penalty(address, size)
        return self.known(address, size)

    def known(self, address: int | None, size: int) -> int | None:
        """What a load would find, without its cycles."""
        if address is None:
            return None
        word = self.words.get(address & -4)
        if word is not None:
            place = address & 3
            needed = (1 << size) - 1 << place
            if word >> _KNOWN & needed == needed:
                return word >> 8 * place & (1 << 8 * size) - 1
        data = self.constant(address, size)
        return None if data is None else int.from_bytes(data, "little")

    def store(self, address: int | None, value: int | None, size: int) -> None:
        """Writes a number of ``size`` bytes.  What an unknown address may have is forgotten."""
        if address is None or self._most_waits or address & size - 1:
            self.extra += self.penalty(address, size)
        if address is None:
            self.forget_all()
            return
        at, place = address & -4, address & 3
        if size == 4 and not place:
            self._write(at, None if value is None else value | _WHOLE)
        elif place + size > 4:
            self.forget(address, size)
        else:
            self._write_bytes(at, place, value, size)

    def maybe_store(self, address: int | None, value: int | None, size: int) -> None:
        """A store that may not happen: what differs is unknown afterwards."""
        before = self.load(address, size)
        self.store(address, value if before == value else None, size)

    def forget(self, address: int, size: int) -> None:
        """Makes ``size`` bytes unknown."""
        first, end = address & -4, address + size
        if end - first > 4 * len(self.words):
            found = [at for at in self.words if first <= at < end]
        else:
            found = [at for at in range(first, end, 4) if at in self.words]
        for at in found:
            place = max(address - at, 0)
            self._write_bytes(at, place, None, min(end - at, 4) - place)

    def forget_all(self) -> None:
        """Makes all that can be written to unknown."""
        for at in list(self.words):
            self._write(at, None)

    def _write_bytes(self, at: int, place: int, value: int | None, size: int) -> None:
        """Some bytes of the word ``at``, from its byte ``place`` on."""
        numbers, known = (1 << 8 * size) - 1 << 8 * place, (1 << size) - 1 << _KNOWN + place
        word = self.words.get(at, 0) & ~(numbers | known)
        if value is not None:
            word |= value << 8 * place & numbers | known
        self._write(at, word or None)

    def _write(self, at: int, word: int | None) -> None:
        log = self.log
        if log is not None and at not in log:
            log[at] = self.words.get(at)
        if word is None:
            self.words.pop(at, None)
        else:
            self.words[at] = word

    def rolled_back(self, log: dict[int, int | None]) -> dict[int, int | None]:
        """Undoes what ``log`` has noted; returns what was there."""
        after = {at: self.words.get(at) for at in log}
        self.write_all(log)
        return after

    def write_all(self, values: dict[int, int | None]) -> None:
        """Sets known and unknown words; notes nothing."""
        for at, value in values.items():
            if value is None:
                self.words.pop(at, None)
            else:
                self.words[at] = value

    def merge(
        self,
        first: dict[int, int | None],
        first_log: dict[int, int | None],
        second_log: dict[int, int | None],
    ) -> None:
        """Behind two paths, of which the second has been executed now: words that are not the same
        as ``first`` has them are unknown."""
        words, outer = self.words, self.log
        for at in {**first_log, **second_log}:
            before = first_log[at] if at in first_log else second_log[at]
            if outer is not None and at not in outer:
                outer[at] = before
            value = first.get(at, before)
            if value != words.get(at):
                words.pop(at, None)
