"""From a matrix of rationals to straight-line code with its common sub-expressions shared.

Every output is a sum of inputs with factors.  What two of them have in common, up to one factor
(its sign included), becomes a sum of its own, of which later ones are made in turn; as Winogen does
it (Section 6.9), but pair by pair: of all pairs of terms the one that most sums have, until none
occurs twice.  Then each such sum is given the scale and sign with which most terms need no factor.
"""

from __future__ import annotations

from collections import Counter
from dataclasses import replace
from fractions import Fraction
from itertools import combinations

from edgeconv.ir.straight_line import Elements, Matrix, Routine, Sum, Terms

_Row = dict[str, Fraction]
_Pair = tuple[str, str, Fraction]  # two names, and the factor of the second over that of the first


def routine(name: str, does: str, matrix: Matrix, of: Elements = Elements.FLOAT32) -> Routine:
    """``matrix`` times a vector as code, proven to be it, in factors that ``of`` has."""
    rows = [{f"x{j}": factor for j, factor in enumerate(row) if factor} for row in matrix]
    sums, outputs = _shared(rows), []
    for i, row in enumerate(rows):
        (first, factor), *more = row.items()
        alone = not more and factor == 1
        outputs.append(first if alone else f"y{i}")
        sums += [] if alone else [Sum(f"y{i}", _ordered(row))]
    made = _rescaled(Routine(name, does, len(matrix[0]), tuple(sums), tuple(outputs), of))
    assert made.matrix() == matrix, name
    factors = (factor for each in made.sums for factor, _ in each.terms)
    assert of is Elements.FLOAT32 or all(factor.denominator == 1 for factor in factors), name
    return made


def _shared(rows: list[_Row]) -> list[Sum]:
    """Sums that several of ``rows`` have in common, in whose place these then name them."""
    sums: list[Sum] = []
    while True:
        counts = Counter(pair for row in rows for pair in _pairs(row))
        # Pairs that need no factor first, then in the order of the matrix.
        pair = max(counts, key=lambda p: (counts[p], abs(p[2]) == 1), default=None)
        if pair is None or counts[pair] < 2:
            return sums
        first, second, ratio = pair
        name = f"t{len(sums)}"
        for row in rows:
            if pair in _pairs(row):
                row[name] = row.pop(first)
                del row[second]
        sums.append(Sum(name, _ordered({first: Fraction(1), second: ratio})))


def _pairs(row: _Row) -> list[_Pair]:
    return [(a, b, row[b] / row[a]) for a, b in combinations(sorted(row), 2)]


def _ordered(row: _Row) -> Terms:
    """A positive one that needs no factor begins, if there is any; those that do come next."""
    terms = sorted(((factor, name) for name, factor in row.items()), key=lambda term: -term[0])
    plain = [term for term in terms if abs(term[0]) == 1]
    scaled = [term for term in terms if abs(term[0]) != 1]
    first = plain[:1] if plain and plain[0][0] > 0 else []
    return (*first, *scaled, *plain[len(first) :])


def _rescaled(code: Routine) -> Routine:
    """Shared sums multiplied by what leaves the fewest operations, one after the other."""
    best, before = code, code.operations + 1
    while best.operations < before:
        before = best.operations
        for shared in [each.name for each in best.sums if each.name.startswith("t")]:
            used = {f for each in best.sums for f, name in each.terms if name == shared}
            own = {1 / f for each in best.sums if each.name == shared for f, _ in each.terms}
            for scale in sorted(used | own | {-f for f in used | own}):
                tried = _scaled(best, shared, scale)
                best = tried if tried.operations < best.operations else best
    return best


def _scaled(code: Routine, shared: str, scale: Fraction) -> Routine:
    sums = []
    for each in code.sums:
        own = scale if each.name == shared else Fraction(1)
        row = {n: own * f / (scale if n == shared else 1) for f, n in each.terms}
        sums.append(Sum(each.name, _ordered(row)))
    return replace(code, sums=tuple(sums))
