"""The frontier of RAM, flash, time and SQNR: what can be had for what.

Epsilon constraints: for some levels of noise, from the least to all there is, the corners (least
time, RAM, flash, memory) and, between them, the least time within a part of the memory.  Where the
memory of two neighbouring levels differs, levels between them are tried, the farthest apart first:
each step of memory is found that the time allows.
"""

from __future__ import annotations

import itertools
import math
import time
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass, replace

from edgeconv.search.budget.fit import Plan
from edgeconv.search.budget.program import Answer, UnfinishedError, optimise
from edgeconv.search.budget.tables import Limits, Objective, Tables, noise_of, sqnr_of

CORNERS = (
    (Objective.LATENCY, Objective.MEMORY),
    (Objective.RAM, Objective.FLASH),
    (Objective.FLASH, Objective.RAM),
    (Objective.MEMORY, Objective.NOISE),
)
SECONDS = 20.0  # in total
ALLOWANCES = 5  # of noise
PROBES = 16  # further ones, between those
CLOSE = 0.23  # 1 dB, in powers of e: levels nearer to each other than that are not told apart
SAME = 1e-3  # of memory, relative: no step
NOISELESS = 1e-8  # stands for no noise, in ratios
POINTS = 32
GAP = 1e-3  # of every point
BETWEEN = (0.25, 0.6)  # parts of the way from the smallest memory to that of the fastest choice
QUIETEST_DB, LOUDEST_DB = 80.0, 10.0  # beyond these levels nobody can tell, or would want to


@dataclass(frozen=True, slots=True)
class Point:
    """One choice.  Bytes; milliseconds and millijoules, None where they are not predicted."""

    ram: int
    flash: int
    ms: float | None
    mj: float | None
    noise: float
    formats: Mapping[str, str]

    @property
    def sqnr_db(self) -> float:
        """The SQNR of the additive noise; infinite without any."""
        return sqnr_of(self.noise)

    def measures(self) -> tuple[float, ...]:
        """What is to be small."""
        return (self.ram, self.flash, self.ms or 0.0, self.noise)


def frontier(
    tables: Tables,
    limits: Limits = Limits(),  # noqa: B008 - frozen
    exact: Plan | None = None,
    *,
    points: int = POINTS,
    seconds: float = SECONDS,
) -> tuple[Point, ...]:
    """Choices of which none is better in every respect, at most ``points``, quietest first.

    ``limits`` hold for all of them.  With ``exact`` their bytes are as planned, else RAM is the
    live bytes.  After ``seconds`` of solving what was found is returned.
    """
    ends = time.monotonic() + seconds
    picked = dict.fromkeys(answer.picked for answer in _sweep(tables, limits, ends))
    found = thinned(undominated([_point(tables, each) for each in picked]), points)
    if exact is None:
        return found
    planned = [_planned(tables, point, exact) for point in found]
    kept = [point for point in planned if not limits.excess(point.ram, point.flash)]
    return tuple(undominated(kept))


def undominated(points: Sequence[Point]) -> list[Point]:
    """The points that no other beats, each set of measures once; quietest first."""
    unique = {point.measures(): point for point in points}
    kept = [
        point
        for mine, point in unique.items()
        if not any(
            other != mine and all(a <= b for a, b in zip(other, mine, strict=True))
            for other in unique
        )
    ]
    return sorted(kept, key=lambda point: (point.noise, point.flash, point.ram))


def thinned(points: list[Point], most: int) -> tuple[Point, ...]:
    """``most`` of the points: those nearest to a neighbour go first, the ends stay."""
    while len(points) > max(most, 2):
        crowd = [_distance(points[i - 1], points[i]) for i in range(1, len(points))]
        inner = range(1, len(points) - 1)
        points.pop(min(inner, key=lambda i: crowd[i - 1] + crowd[i]))
    return tuple(points)


def _distance(a: Point, b: Point) -> float:
    pairs = zip(a.measures(), b.measures(), strict=True)
    return sum(abs(math.log((x + 1e-15) / (y + 1e-15))) for x, y in pairs)


def _sweep(tables: Tables, limits: Limits, ends: float) -> Iterator[Answer]:
    smallest: dict[float, Answer] = {}  # by the level of noise
    for noise in _allowances(tables, limits, ends):
        within = Limits(limits.ram, limits.flash, noise)
        corners: dict[Objective, Answer] = {}
        for first, second in CORNERS:
            if not tables.predicts(first):
                continue
            found = _best(tables, within, (first, second), ends)
            if found:
                corners[first] = found
                yield found
        if Objective.MEMORY in corners:
            smallest[noise] = corners[Objective.MEMORY]
        fast = corners.get(Objective.LATENCY)
        if fast and Objective.MEMORY in corners:
            yield from _between(tables, within, fast, corners[Objective.MEMORY], ends)
    yield from _refined(tables, limits, smallest, ends)


def _refined(
    tables: Tables, limits: Limits, smallest: dict[float, Answer], ends: float
) -> Iterator[Answer]:
    """The least memory at further levels of noise, each between two whose memory differs."""

    def gap(quiet: float, loud: float) -> float:
        """In powers of e, from one level to the noise that the next one's choice really has."""
        more = tables.noise(smallest[loud].picked)
        steps = smallest[quiet].value > smallest[loud].value * (1 + SAME)
        return math.log(more / max(quiet, NOISELESS)) if steps and more > quiet else 0.0

    for _ in range(PROBES):
        pairs = list(itertools.pairwise(sorted(smallest)))
        quiet, loud = max(pairs, key=lambda pair: gap(*pair), default=(0.0, 0.0))
        if not pairs or gap(quiet, loud) < CLOSE:
            return
        noise = max(quiet, NOISELESS) * math.exp(gap(quiet, loud) / 2)
        order = (Objective.MEMORY, Objective.NOISE)
        found = _best(tables, Limits(limits.ram, limits.flash, noise), order, ends)
        if found is None:
            return
        smallest[noise] = found
        yield found


def _between(
    tables: Tables, within: Limits, fast: Answer, small: Answer, ends: float
) -> Iterator[Answer]:
    """The fastest in part of the memory that the fastest of all takes more than the smallest."""
    for part in BETWEEN:
        ram, flash = (
            round(measure(small.picked) + part * (measure(fast.picked) - measure(small.picked)))
            for measure in (tables.ram_bytes, tables.flash_bytes)
        )
        found = _best(
            tables, Limits(ram, flash, within.noise), (Objective.LATENCY, Objective.NOISE), ends
        )
        if found:
            yield found


def _allowances(tables: Tables, limits: Limits, ends: float) -> list[float]:
    """Noise limits, evenly spaced in dB from the least noise there is to the loudest choice."""
    quiet = _best(tables, Limits(limits.ram, limits.flash), (Objective.NOISE,), ends)
    if quiet is None:
        return []
    loud = math.fsum(max(o.noise for o in item.options) for item in tables.items)
    highest = min(loud, noise_of(LOUDEST_DB) if limits.noise is None else limits.noise)
    lowest = max(quiet.value, noise_of(QUIETEST_DB))
    if highest <= lowest:  # nobody can tell them apart, but the quietest is one end
        return list(dict.fromkeys((quiet.value, max(quiet.value, highest))))
    ratio = (highest / lowest) ** (1 / (ALLOWANCES - 1))
    return [quiet.value, *(lowest * ratio**k for k in range(1, ALLOWANCES))]


def _best(
    tables: Tables, limits: Limits, order: tuple[Objective, ...], ends: float
) -> Answer | None:
    seconds = ends - time.monotonic()
    if seconds <= 0:
        return None
    try:
        return optimise(tables, limits, order, seconds=seconds, gap=GAP)
    except UnfinishedError:
        return None


def _point(tables: Tables, picked: Sequence[int]) -> Point:
    ms = 1e3 * tables.cost(Objective.LATENCY, picked)
    mj = 1e3 * tables.cost(Objective.ENERGY, picked)
    return Point(
        ram=tables.ram_bytes(picked),
        flash=tables.flash_bytes(picked),
        ms=None if math.isnan(ms) else ms,
        mj=None if math.isnan(mj) else mj,
        noise=tables.noise(picked),
        formats=tables.formats(picked),
    )


def _planned(tables: Tables, point: Point, exact: Plan) -> Point:
    real = exact(point.formats)
    return replace(point, ram=tables.ram + real.arena, flash=real.flash)
