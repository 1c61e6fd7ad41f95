"""Which strategy wins where: convolutions as `edgeconv tune` has measured them, by kind.

    python bench/strategies.py FILE.tuned [--board zen4] [--peak GFLOPS] [--each]

A strategy is an algorithm and the layout that it reads (docs/algorithms/choice.md says which of a
paper's strategies that is); of the layouts that it writes the fastest counts.  For each kind of
convolution, how many different ones were measured by two strategies or more; for each strategy, of
how many it was the fastest or within 2 % of it, how many it was measured for, and the median of its
time over the fastest; what the fastest reaches of the peak, median, least and most (by the
multiply-adds of a direct convolution, those on padding included, of which Winograd's algorithm does
without most); how much longer than the fastest the one takes that prediction puts first, median and
most.  Conversions around a layer are not in it.  ``--peak``: of the core; measured here if not
given.  ``--each``: a line per convolution before. Of the times those count that are measured where
the board's programs run, of the version of the kernels that most of them are of.
"""

from __future__ import annotations

import argparse
import re
import statistics
import sys
import tempfile
from collections import Counter, defaultdict
from collections.abc import Callable, Iterable, Mapping, Sequence
from dataclasses import dataclass
from math import prod
from pathlib import Path

from cores import Cores
from telling import errors_told

from edgeconv.base.errors import EdgeconvError, Exit
from edgeconv.search.measured.store import Row, Store
from edgeconv.target import board as boards

TIE = 1.02
_CONV = re.compile(
    r"Conv 1x(?P<input>[\dx]+) (?P<filters>[\dx]+)( \d+)?( [\dx]+)? to 1x(?P<output>[\dx]+) "
    r"\{'strides': \((?P<strides>[\d, ]+)\).*'groups': (?P<groups>\d+)"
)


@dataclass(frozen=True, slots=True)
class Convolution:
    """``filters``: output channels, input channels of a group, kernel; ``output``: channels and
    pixels."""

    channels: int
    filters: tuple[int, ...]
    output: tuple[int, ...]
    strides: tuple[int, ...]
    groups: int

    @property
    def kernel(self) -> tuple[int, ...]:
        return self.filters[2:]

    @property
    def strided(self) -> bool:
        return max(self.strides) > 1

    @property
    def macs(self) -> int:
        """Of a direct convolution, padding included."""
        return prod(self.filters) * prod(self.output[1:])


KINDS: Mapping[str, Callable[[Convolution], bool]] = {  # the first that holds
    "depthwise, stride 1": lambda c: c.groups == c.channels > 1 and not c.strided,
    "depthwise, strided": lambda c: c.groups == c.channels > 1,
    "in groups": lambda c: c.groups > 1,
    "first layer (up to 4 channels)": lambda c: c.channels <= 4,
    "1x1 of one pixel": lambda c: prod(c.output[1:]) == 1,
    "1x1, strided": lambda c: prod(c.kernel) == 1 and c.strided,
    "1x1, up to 14x14": lambda c: prod(c.kernel) == 1 and prod(c.output[1:]) <= 14 * 14,
    "1x1, larger": lambda c: prod(c.kernel) == 1,
    "3x3, stride 1": lambda c: c.kernel == (3, 3) and not c.strided,
    "3x3, strided": lambda c: c.kernel == (3, 3),
    "other kernels, stride 1": lambda c: not c.strided,
    "other kernels, strided": lambda c: True,
}


@dataclass(frozen=True, slots=True)
class Timed:
    """Of a strategy: seconds measured, and predicted for the same plan."""

    seconds: float
    predicted: float


Measured = dict[str, Timed]  # by strategy


def convolution(workload: str) -> Convolution | None:
    """What `edgeconv tune` calls a workload; None for other operators and ranks."""
    found = _CONV.match(workload)
    if not found:
        return None
    sizes = {
        name: tuple(int(size) for size in re.findall(r"\d+", found[name]))
        for name in ("input", "filters", "output", "strides")
    }
    return Convolution(
        sizes["input"][0], sizes["filters"], sizes["output"], sizes["strides"], int(found["groups"])
    )


def strategy(candidate: str) -> str:
    """Algorithm and layout read: ``direct NCHW16c``."""
    algorithm, layouts = candidate.split()[:2]
    return f"{algorithm} {layouts.split('/')[0]}"


def measurements(rows: Iterable[Row], board: str) -> dict[str, Measured]:
    """By workload, of the kernels that most of the board's rows are of."""
    ours = [
        row
        for row in rows
        if row.seconds is not None
        and row.key.place == "board"
        and row.key.board.partition(":")[0] == board
        and convolution(row.workload)
    ]
    if not ours:
        raise EdgeconvError(
            "no convolution was measured there",
            where=board,
            hint=f"`edgeconv tune MODEL --board {board} --tuned FILE` measures",
            code=Exit.USAGE,
        )
    (version, _), *_ = Counter(row.key.version for row in ours).most_common(1)
    found: dict[str, Measured] = defaultdict(dict)
    for row in ours:
        if row.key.version == version and row.seconds is not None:
            timed, name = Timed(row.seconds, row.predicted), strategy(row.candidate)
            before = found[row.workload].get(name, timed)
            found[row.workload][name] = min(before, timed, key=lambda t: t.seconds)
    return {workload: by for workload, by in found.items() if len(by) > 1}


def kind_of(each: Convolution) -> str:
    return next(name for name, holds in KINDS.items() if holds(each))


def fastest(by: Measured) -> float:
    return min(timed.seconds for timed in by.values())


def loss(by: Measured) -> float:
    """Of the strategy that prediction puts first, its time over the fastest."""
    return min(by.values(), key=lambda timed: timed.predicted).seconds / fastest(by)


def cell(name: str, of_kind: Sequence[Measured]) -> str:
    """How a strategy did there."""
    ratios = [by[name].seconds / fastest(by) for by in of_kind if name in by]
    if not ratios:
        return ""
    wins = sum(ratio <= TIE for ratio in ratios)
    return f"{wins} of {len(ratios)}, {statistics.median(ratios):.2f}"


def spread(numbers: Sequence[float], form: str) -> str:
    middle, *ends = statistics.median(numbers), min(numbers), max(numbers)
    return f"{middle:{form}} ({ends[0]:{form}} to {ends[1]:{form}})"


def table(found: Mapping[str, Measured], peak: float) -> Iterable[str]:
    """Lines of a table in Markdown; ``peak`` in GFLOP/s."""
    names = sorted({name for by in found.values() for name in by})
    yield "| convolutions | | " + " | ".join(names) + " | of the peak | predicted first |"
    yield "|---|--:|" + "---|" * (len(names) + 2)
    for kind in KINDS:
        of_kind = {w: by for w, by in found.items() if kind_of(known(w)) == kind}
        if not of_kind:
            continue
        each = list(of_kind.values())
        shares = [2e-9 * known(w).macs / fastest(by) / peak for w, by in of_kind.items()]
        losses = [loss(by) for by in each]
        cells = " | ".join(cell(name, each) for name in names)
        worst = f"{statistics.median(losses):.2f}, at most {max(losses):.2f}"
        yield f"| {kind} | {len(each)} | {cells} | {spread(shares, '.0%')} | {worst} |"


def known(workload: str) -> Convolution:
    """Of a workload that is a convolution."""
    found = convolution(workload)
    assert found
    return found


def lines(found: Mapping[str, Measured], peak: float) -> Iterable[str]:
    """A line per convolution, by kind."""
    for workload, by in sorted(found.items(), key=lambda item: kind_of(known(item[0]))):
        share = 2e-9 * known(workload).macs / fastest(by) / peak
        yield f"{kind_of(known(workload))}: {workload}: {share:.0%}"
        for name, timed in sorted(by.items(), key=lambda item: item[1].seconds):
            yield f"    {1e3 * timed.seconds:.4f} ms, predicted {1e3 * timed.predicted:.4f}: {name}"


def main() -> None:
    parser = argparse.ArgumentParser(
        description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter
    )
    parser.add_argument("tuned", type=Path)
    parser.add_argument("--board", default="zen4")
    parser.add_argument("--peak", type=float)
    parser.add_argument("--each", action="store_true")
    asked = parser.parse_args()
    with errors_told():
        with Store(asked.tuned) as store:
            found = measurements(store.rows(), asked.board)
        peak = asked.peak or measured_peak()
    if asked.each:
        print("\n".join(lines(found, peak)))
    print("\n".join(table(found, peak)))
    print(f"Peak: {peak:.1f} GFLOP/s.", file=sys.stderr)


def measured_peak() -> float:
    """GFLOP/s of a core of this machine."""
    with tempfile.TemporaryDirectory() as folder:
        return Cores(boards.load("host"), 1, Path(folder)).measure().alone


if __name__ == "__main__":
    main()
