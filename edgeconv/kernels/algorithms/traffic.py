"""What of memory that is touched again and again a cache has lost: for predictions of traffic."""

from __future__ import annotations

import math
from collections.abc import Sequence
from dataclasses import dataclass, replace

from edgeconv.target.cache import Cache


@dataclass(frozen=True, slots=True)
class Runs:
    """``groups`` of ``count`` stretches of memory of ``size`` bytes each.

    In a group they begin ``pitch`` bytes after each other, anywhere if that is 0; groups lie
    anywhere.
    """

    count: float
    size: float
    pitch: int = 0
    groups: float = 1

    @property
    def bytes(self) -> float:
        """All of them."""
        return self.groups * self.count * self.size


def lost(cache: Cache, own: Runs, *others: Runs) -> float:
    """The share of the lines of ``own`` that are evicted before their next use, when all of these
    runs are touched in between, ``own`` included.

    A cache replaces the line of a set that was unused for longest.  One set (``ways`` unknown)
    holds a line exactly if the bytes fit.  Of several sets, each gets so many lines of a long run
    or one more, and a line is lost where its set gets more than it has ways.
    """
    touched = own.bytes + sum(runs.bytes for runs in others)
    lines = cache.size // cache.line
    ways = cache.ways or lines
    sets = lines // ways
    if sets <= 1:
        return float(touched > cache.size)
    stride = sets * cache.line
    least, more = divmod(own.size / stride, 1)
    # Seen from a line, not from a set: sets with more lines weigh more.
    weight = more * (least + 1) / (least + more) if least + more else 0.0
    alike, apart = _siblings(own, stride)
    rest = [_Lines.of(runs, stride) for runs in (*apart, *others)]
    few, many = (_more_than(ways - n * alike, rest) for n in (int(least), int(least) + 1))
    return (1 - weight) * few + weight * many


def _siblings(own: Runs, stride: int) -> tuple[int, tuple[Runs, ...]]:
    """The runs of the group of one that begin in the same set as it does, itself included, and
    the other runs of all groups."""
    between = math.gcd(own.pitch, stride) if own.pitch else 0
    whole, rest = divmod(own.size, stride)
    if rest > between:
        return 1, (replace(own, count=own.count * own.groups - 1, groups=1),)
    alike = max(1, -(-round(own.count) * between // stride))
    # Where the others of the group begin, this one has its whole rounds of all sets only.
    return alike, (Runs(own.count - alike, whole * stride), replace(own, groups=own.groups - 1))


@dataclass(frozen=True, slots=True)
class _Lines:
    """What runs put into a set: ``always`` so many lines, and ``draws`` times ``at_once`` more by
    ``chance``."""

    always: int
    at_once: int
    chance: float
    draws: int

    @staticmethod
    def of(runs: Runs, stride: int) -> _Lines:
        """The lines of ``runs`` where sets repeat every ``stride`` bytes."""
        count = max(round(runs.count), 0)
        whole, rest = divmod(runs.size, stride)
        always, groups = count * int(whole), max(round(runs.groups), 0)
        between = math.gcd(runs.pitch, stride) if runs.pitch else 0
        if rest > between:  # runs lie side by side, as far as they are known to
            if not between:
                return _Lines(groups * always, 1, rest / stride, groups * count)
            mean = count * rest / stride
            return _Lines(groups * (always + int(mean)), 1, mean % 1, groups)
        at_once = -(-count * between // stride)  # runs that begin in the same set
        chance = count * rest / stride / at_once if at_once else 0.0
        return _Lines(groups * always, at_once, chance, groups)


def _more_than(room: int, spread: Sequence[_Lines]) -> float:
    """The chance that these put more than ``room`` lines into a set."""
    room -= sum(lines.always for lines in spread)
    if room < 0:
        return 1.0
    if sum(lines.at_once * lines.draws for lines in spread) <= room:
        return 0.0
    chances = [1.0] + [0.0] * room
    for lines in spread:
        if not lines.at_once:
            continue
        drawn = [
            _binomial(lines.draws, n // lines.at_once, lines.chance)
            if n % lines.at_once == 0
            else 0
            for n in range(room + 1)
        ]
        chances = [sum(chances[k] * drawn[n - k] for k in range(n + 1)) for n in range(room + 1)]
    return max(0.0, 1 - sum(chances))


def _binomial(count: int, n: int, chance: float) -> float:
    """The chance of ``n`` successes in ``count`` trials."""
    return math.comb(count, n) * chance**n * (1 - chance) ** (count - n) if n <= count else 0.0
