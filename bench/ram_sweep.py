"""Predicted time against the budget of RAM: whether little more RAM makes a program much faster.

    python bench/ram_sweep.py MODEL [MODEL ...] [--board mps2-an500 ...] [--step 5] [--io caller]

A line for each budget, from the least RAM that `--objective memory` comes to up to that of the
fastest program, each so many per cent larger than the one before: the bytes that the program takes,
those of its arena, milliseconds predicted, the share of multiply-accumulates in integers, seconds
to decide, and how many times as long it takes as the program of the next budget.  ``-``: refused.
The last line of a network is the largest of these.
"""

from __future__ import annotations

import argparse
import sys
import time
from collections.abc import Iterator
from pathlib import Path

from telling import errors_told

from edgeconv.app.deciding import Decider, Decision
from edgeconv.base.errors import EdgeconvError
from edgeconv.search.options import CompileOptions

CLIFF = 1.3  # times the time of the next budget, from which on it is one


def budgets(least: int, most: int, step: float) -> Iterator[int]:
    """From ``least`` bytes up to ``most``, each ``step`` per cent larger."""
    budget = float(least)
    while budget < most:
        yield int(budget)
        budget *= 1 + step / 100
    yield most


def decided(options: CompileOptions) -> Decision | None:
    """What a budget leads to; None where that is nothing."""
    try:
        with Decider(options) as own:
            return own.decide()
    except EdgeconvError:
        return None


def swept(model: Path, board: str, step: float, io: str) -> float:
    """Print a line for each budget of a network on a board; the largest ratio of neighbours."""
    ends = [
        decided(CompileOptions(model, board, io=io, objective=objective))
        for objective in ("memory", "latency")
    ]
    if not ends[0] or not ends[1]:
        print(f"{model.stem} on {board}: refused")
        return 0.0
    print(f"{model.stem} on {board}")
    print(f"{'budget':>12}{'RAM':>12}{'arena':>12}{'ms':>12}{'integers':>10}{'s':>7}{'times':>7}")
    rows: list[tuple[str, float]] = []
    least, most = ends[0].sizes.ram.total, ends[1].sizes.ram.total
    for budget in budgets(least, most, step):
        began = time.process_time()
        found = decided(CompileOptions(model, board, io=io, ram=budget))
        took = time.process_time() - began
        if found is None:
            rows.append((f"{budget:12,}{'-':>12}{'-':>12}{'-':>12}{'-':>10}{took:7.1f}", 0.0))
            continue
        integers = found.report.get("integers", {})
        share = integers.get("macs", 0) / max(1, integers.get("of_macs", 0))
        ram, arena, price = found.sizes.ram.total, found.memory.arena_bytes, found.predicted.price
        ms = found.predicted.ms or 0.0
        cells = f"{budget:12,}{ram:12,}{arena:12,}{ms:12.3f}{share:10.2f}{took:7.1f}"
        rows.append((cells, price))
    worst = 0.0
    for (cells, price), (_, following) in zip(rows, [*rows[1:], rows[-1]], strict=True):
        times = price / following if following else 0.0
        worst = max(worst, times)
        print(f"{cells}{times:7.2f}{'  cliff' if times > CLIFF else ''}", flush=True)
    print(f"largest {worst:.2f}")
    return worst


def main() -> int:
    parser = argparse.ArgumentParser(description=(__doc__ or "").splitlines()[0])
    parser.add_argument("models", nargs="+", type=Path, metavar="MODEL")
    parser.add_argument("--board", nargs="+", default=["mps2-an500"])
    parser.add_argument("--step", type=float, default=5.0, metavar="PERCENT")
    parser.add_argument("--io", choices=("caller", "arena"), default="caller")
    given = parser.parse_args()
    worst = [
        swept(model, board, given.step, given.io) for model in given.models for board in given.board
    ]
    return int(max(worst) > CLIFF)


if __name__ == "__main__":
    with errors_told():
        sys.exit(main())
