"""Sets of points for forms F(m, r) of Winograd, by the error that they make and the operations that
they take: what the table in `edgeconv/kernels/algorithms/winograd/forms.py` was chosen from.

    python bench/winograd_points.py 5 3
    python bench/winograd_points.py 4 7 --one-dimension
"""

from __future__ import annotations

import argparse
import statistics
from collections.abc import Iterator
from fractions import Fraction
from itertools import combinations

import numpy as np

from edgeconv.ir.winograd_form import Nested, WinogradForm, plain
from edgeconv.kernels.algorithms.winograd.error import relative_error
from edgeconv.kernels.algorithms.winograd.plan import routine_of

CHANNELS, FILTERS, SEEDS = 64, 16, 3
MAGNITUDES = [
    Fraction(text) for text in ("2", "1/2", "3", "1/3", "3/2", "2/3", "4/3", "3/4", "4", "1/4")
]


def sets_of(count: int) -> Iterator[tuple[Fraction, ...]]:
    """``count`` points: 0, 1 and -1, then pairs of a number and its negative or its negative
    reciprocal, and one more where that is needed."""
    small = (Fraction(0), Fraction(1), Fraction(-1))
    if count <= len(small):
        yield small[:count]
        return
    pairs = {frozenset((m, other)) for m in MAGNITUDES for other in (-m, -1 / m)}
    ordered = sorted(pairs, key=sorted)
    half, odd = divmod(count - len(small), 2)
    singles = [(m,) for m in MAGNITUDES] if odd else [()]
    for chosen in combinations(ordered, half):
        rest = tuple(point for pair in chosen for point in sorted(pair, reverse=True))
        for single in singles:
            points = (*small, *rest, *single)
            if len(set(points)) == count:
                yield points


def error_of(form: Nested) -> float:
    """The median over some filters and inputs, all normally distributed."""
    shape = (FILTERS, CHANNELS, form.down.taps, form.across.taps)
    draws = [np.random.default_rng(seed).standard_normal(shape) for seed in range(SEEDS)]
    found = [relative_error(form, w.astype(np.float32), seed) for seed, w in enumerate(draws)]
    return statistics.median(found)


def main() -> int:
    parser = argparse.ArgumentParser(description=(__doc__ or "").split("\n\n")[0])
    parser.add_argument("outputs", type=int)
    parser.add_argument("taps", type=int)
    parser.add_argument("--one-dimension", action="store_true", help="a filter of one row")
    parser.add_argument("--best", type=int, default=8, help="print so many")
    args = parser.parse_args()
    found = []
    for points in sets_of(args.outputs + args.taps - 2):
        across = WinogradForm(args.outputs, args.taps, points)
        form = Nested(plain(1) if args.one_dimension else across, across)
        operations = [routine_of(across, side).operations for side in ("input", "output")]
        found.append((error_of(form), operations, points))
    for error, operations, points in sorted(found)[: args.best]:
        count = f"{operations[0]:3} + {operations[1]:2} operations"
        print(f"{error:.2e}  {count}  {', '.join(map(str, points))}")
    return 0


if __name__ == "__main__":
    raise SystemExit(main())
