"""Regular expressions in RE2's syntax as deterministic automata over bytes of UTF-8: Thompson's
construction, then sets of its states (Aho, Sethi and Ullman, Compilers, 3.7), which know what byte
was before, for what asserts something between two characters."""

from __future__ import annotations

import re
import warnings
from collections.abc import Callable, Iterable, Sequence
from dataclasses import dataclass, field
from re import _constants as codes  # type: ignore[attr-defined]
from re import _parser as parser  # type: ignore[attr-defined]
from typing import Any

import numpy as np
import numpy.typing as npt

from edgeconv.model.frontend.data_dependent.node import RefusedError

_END = -1  # in place of a byte, in front of the first one and behind the last
_MOST_STATES = 1000
_WORD = frozenset(b"abcdefghijklmnopqrstuvwxyzABCDEFGHIJKLMNOPQRSTUVWXYZ0123456789_")
_DIGITS, _SPACES = frozenset(b"0123456789"), frozenset(b"\t\n\f\r ")
_ASCII, _NEWLINE = frozenset(range(1, 128)), frozenset(b"\n")
_LATER = frozenset(range(0x80, 0xC0))  # bytes of a character behind its first
_FIRST = (  # of characters beyond ASCII, and how many bytes follow
    (frozenset(range(0xC2, 0xE0)), 1),
    (frozenset(range(0xE0, 0xF0)), 2),
    (frozenset(range(0xF0, 0xF5)), 3),
)
# What Python's parser takes for something else than RE2 does, without an error.
_READ_OTHERWISE = re.compile(r"\[:\^?\w+:\]|(?<!\\)\{,\d*\}|\(\?#|\\Z")
_CATEGORIES = {
    codes.CATEGORY_WORD: (_WORD, False),
    codes.CATEGORY_NOT_WORD: (_ASCII - _WORD, True),
    codes.CATEGORY_DIGIT: (_DIGITS, False),
    codes.CATEGORY_NOT_DIGIT: (_ASCII - _DIGITS, True),
    codes.CATEGORY_SPACE: (_SPACES, False),
    codes.CATEGORY_NOT_SPACE: (_ASCII - _SPACES, True),
}
# What holds between a byte and the next.
_ASSERTIONS: dict[Any, Callable[[int, int], bool]] = {
    codes.AT_BEGINNING: lambda before, _: before == _END,
    codes.AT_BEGINNING_STRING: lambda before, _: before == _END,
    codes.AT_END: lambda _, after: after == _END,
    codes.AT_END_STRING: lambda _, after: after == _END,
    codes.AT_BOUNDARY: lambda before, after: (before in _WORD) != (after in _WORD),
    codes.AT_NON_BOUNDARY: lambda before, after: (before in _WORD) == (after in _WORD),
}


@dataclass(frozen=True, slots=True)
class Automaton:
    """``following``: [states, 256], the state behind each byte, where byte 0 changes nothing;
    ``accepting``: the states in which a text may end.  It starts in state 0."""

    following: npt.NDArray[np.int32]
    accepting: npt.NDArray[np.bool_]


@dataclass(slots=True)
class _Nfa:
    """``free``: by state where one may go without a byte, and what must hold there; ``by``: the
    bytes that lead on, and where to."""

    free: list[list[tuple[int, Any]]] = field(default_factory=list)
    by: list[list[tuple[frozenset[int], int]]] = field(default_factory=list)

    def state(self) -> int:
        self.free.append([])
        self.by.append([])
        return len(self.free) - 1

    def after(self, start: int, bytes_: Iterable[int]) -> int:
        """A state behind one of ``bytes_``."""
        end = self.state()
        self.by[start].append((frozenset(bytes_), end))
        return end

    def skip(self, start: int, end: int, assertion: Any = None) -> None:
        self.free[start].append((end, assertion))

    def characters(self, start: int, ascii_: Iterable[int], others: bool) -> int:
        """A state behind a character: one of ``ascii_``, or any beyond ASCII."""
        end = self.after(start, ascii_)
        for first, more in _FIRST if others else ():
            at = self.after(start, first)
            for _ in range(more):
                at = self.after(at, _LATER)
            self.skip(at, end)
        return end

    def items(self, start: int, items: Sequence[Any]) -> int:
        """A state behind all of ``items``, as Python's parser has them."""
        for code, value in items:
            start = self.item(start, code, value)
            if len(self.free) > _MOST_STATES:
                raise RefusedError(f"a pattern of more than {_MOST_STATES} states")
        return start

    def item(self, start: int, code: Any, value: Any) -> int:
        if code is codes.LITERAL:
            for byte in chr(value).encode():
                start = self.after(start, (byte,))
            return start
        if code is codes.ANY:
            return self.characters(start, _ASCII - _NEWLINE, True)
        if code is codes.NOT_LITERAL and value < 128:
            return self.characters(start, _ASCII - {value}, True)
        if code is codes.IN:
            return self.characters(start, *_members(value))
        if code is codes.SUBPATTERN and not value[1] and not value[2]:
            return self.items(start, value[3])
        if code is codes.BRANCH:
            end = self.state()
            for branch in value[1]:
                self.skip(self.items(start, branch), end)
            return end
        if code is codes.AT and value in _ASSERTIONS:
            end = self.state()
            self.skip(start, end, value)
            return end
        if code in (codes.MAX_REPEAT, codes.MIN_REPEAT):  # greed changes no full match
            return self.repeated(start, *value)
        raise RefusedError(f"a pattern with {str(code).lower()}, which no automaton of states has")

    def repeated(self, start: int, least: int, most: int, items: Sequence[Any]) -> int:
        for _ in range(least):
            start = self.items(start, items)
        end = self.state()
        if most is codes.MAXREPEAT:
            loop = self.state()
            self.skip(start, loop)
            self.skip(self.items(loop, items), loop)
            self.skip(loop, end)
            return end
        self.skip(start, end)
        for _ in range(most - least):
            start = self.items(start, items)
            self.skip(start, end)
        return end

    def closed(self, states: Iterable[int], before: int, after: int) -> frozenset[int]:
        """With all that is reached between two bytes."""
        found = set(states)
        left = list(found)
        while left:
            for end, assertion in self.free[left.pop()]:
                holds = assertion is None or _ASSERTIONS[assertion](before, after)
                if holds and end not in found:
                    found.add(end)
                    left.append(end)
        return frozenset(found)


def _members(items: Sequence[Any]) -> tuple[frozenset[int], bool]:
    """The characters of ASCII of a class, and whether it has those beyond."""
    negated, found, others = False, frozenset[int](), False
    for code, value in items:
        if code is codes.NEGATE:
            negated = True
        elif code is codes.LITERAL and value < 128:
            found |= {value}
        elif code is codes.RANGE and value[1] < 128:
            found |= frozenset(range(value[0], value[1] + 1))
        elif code is codes.CATEGORY and value in _CATEGORIES:
            more, beyond = _CATEGORIES[value]
            found, others = found | more, others or beyond
        else:
            raise RefusedError("a pattern with a class of characters beyond ASCII")
    return (_ASCII - found, not others) if negated else (found, others)


def automaton(pattern: str) -> Automaton:
    """The automaton of the texts that ``pattern`` matches as a whole.

    Raises RefusedError for what is no regular expression of RE2's, or needs more than states.
    """
    other = _READ_OTHERWISE.search(pattern)
    if other:
        raise RefusedError(f"a pattern with {other.group()!r}, which is written in another way")
    try:
        with warnings.catch_warnings():  # of sets in sets, which RE2 does not have
            warnings.simplefilter("ignore", FutureWarning)
            parsed = parser.parse(pattern, re.ASCII)
    except (re.error, OverflowError, RecursionError) as error:
        raise RefusedError(f"a pattern that cannot be read: {error}") from None
    if parsed.state.flags & ~re.ASCII:
        raise RefusedError("a pattern with flags")
    nfa = _Nfa()
    first = nfa.state()
    last = nfa.items(first, list(parsed))
    start, kinds = (frozenset({first}), _END), _alike(nfa)
    known, rows, accepting = {start: 0}, list[list[int]](), list[bool]()
    waiting = [start]
    while len(rows) < len(waiting):
        states, before = waiting[len(rows)]
        accepting.append(last in nfa.closed(states, before, _END))
        row = [len(rows)] * 256
        for alike in kinds:
            byte = alike[0]
            now = nfa.closed(states, before, byte)
            then = frozenset(
                end for state in now for bytes_, end in nfa.by[state] if byte in bytes_
            )
            # Of the byte before no more is asked than whether it is of a word.
            key = (then, ord("a") if byte in _WORD else 0)
            if key not in known:
                known[key] = len(waiting)
                waiting.append(key)
            for each in alike:
                row[each] = known[key]
        rows.append(row)
        if len(waiting) > _MOST_STATES:
            raise RefusedError(f"a pattern of more than {_MOST_STATES} states")
    return _smallest(np.array(rows, np.int32), np.array(accepting))


def _alike(nfa: _Nfa) -> list[list[int]]:
    """All bytes but 0, together those that no way and no assertion tells apart."""
    sets = {_WORD, *(bytes_ for ways in nfa.by for bytes_, _ in ways)}
    found: dict[tuple[bool, ...], list[int]] = {}
    for byte in range(1, 256):
        found.setdefault(tuple(byte in each for each in sets), []).append(byte)
    return [*found.values()]


def _smallest(following: npt.NDArray[np.int32], accepting: npt.NDArray[np.bool_]) -> Automaton:
    """States that no text tells apart as one (Moore's algorithm), in the order of the first."""
    kinds = accepting.astype(np.int64)
    while True:
        told = np.column_stack([kinds, kinds[following]])
        _, first, finer = np.unique(told, axis=0, return_index=True, return_inverse=True)
        finer = finer.reshape(-1)
        if len(first) == len(set(kinds.tolist())):
            break
        kinds = finer
    order = np.argsort(first)
    place = np.empty(len(order), np.int64)
    place[order] = np.arange(len(order))
    kept, number = first[order], place[finer]
    return Automaton(number[following[kept]].astype(np.int32), accepting[kept])
