"""One thread and several in turn, and how many cores the machine gives meanwhile.

    python bench/threads.py MODEL.onnx [MODEL.onnx ...] [--threads 2] [--rounds 9] [--runs 9]
        [--share 0.95] [--board host] [--folder FOLDER]

A virtual machine has two processors at one moment and two halves of one at the next.  Each round
times the program with one thread and with N (medians of ``--runs`` inferences, in milliseconds,
the first of the two in turn), and before and after them what N cores do at once: a loop of
independent multiply-adds on registers, one copy alone and N together, each on a core of its own.
``gives`` is the least, before and after, of what a copy reached alone and of what one reached on
the average of N, in parts of the best that one alone reached in any round.

Every round is printed.  The medians at the end are of the rounds in which the machine gave at least
``--share``; "least" are the least times of those rounds.  No such round: exit status 1.
``--folder``: programs stay there, and one that is there is not compiled again.

The last line of a network is what N cores could take at best: of each layer, timed with one thread,
that time by N, or what its filters take to come from memory as fast as N cores read together, if
that is longer (and all filters are more than the last cache holds).
"""

from __future__ import annotations

import argparse
import statistics
import sys
import tempfile
from collections.abc import Sequence
from dataclasses import dataclass
from pathlib import Path

from cores import Cores, Rates
from telling import errors_told

from edgeconv.app.pipeline import compile_model
from edgeconv.base.errors import EdgeconvError, Exit
from edgeconv.run.bench import bench
from edgeconv.run.build.project import Project
from edgeconv.search.options import CompileOptions
from edgeconv.target import board as boards
from edgeconv.target.board import RunKind

SHARE = 0.95


@dataclass(frozen=True, slots=True)
class Round:
    """``one``, ``several``: median milliseconds with one thread and with several.  ``least``: of
    the runs of each.  ``before``, ``after``: what the cores did."""

    one: float
    several: float
    least: tuple[float, float]
    before: Rates
    after: Rates

    def gives(self, best: float) -> float:
        """The share of the cores that the machine gave before and after."""
        return min(rates.share(best) for rates in (self.before, self.after))


def best_of(rounds: Sequence[Round]) -> float:
    """GFLOP/s of a core that nothing else takes from."""
    return max(rates.alone for each in rounds for rates in (each.before, each.after))


def given(rounds: Sequence[Round], share: float) -> list[Round]:
    """Those in which the machine gave that share of its cores."""
    best = best_of(rounds)
    return [each for each in rounds if each.gives(best) >= share]


def ratio_lines(rounds: Sequence[Round], share: float) -> list[str]:
    """What is printed of them at the end."""
    counted = given(rounds, share)
    head = f"{len(counted)} of {len(rounds)} rounds gave {share:.0%} of the cores"
    if not counted:
        return [head]
    one, several = (
        statistics.median(numbers)
        for numbers in zip(*((r.one, r.several) for r in counted), strict=True)
    )
    ratio = statistics.median(each.one / each.several for each in counted)
    least = [min(each.least[i] for each in counted) for i in range(2)]
    return [
        f"{head}: medians {one:.3f} and {several:.3f} ms, of their ratios {ratio:.3f}",
        f"least {least[0]:.3f} and {least[1]:.3f} ms, {least[0] / least[1]:.3f}",
    ]


def bound_line(project: Project, cores: Cores) -> str:
    """What ``project``, of one thread, could take on all ``cores``."""
    rates = cores.reading(max(cache.size for cache in cores.board.caches))
    read = sum(rates.together)
    filters = {each["name"]: each["weight_bytes"] for each in project.report["layers"]}
    layers = bench(project, layers=True).layers
    from_memory = sum(filters.values()) > max(cache.size for cache in cores.board.caches)
    one = sum(each.median_ms for each in layers)
    several = sum(
        max(each.median_ms / cores.threads, from_memory * filters[each.name] / read / 1e6)
        for each in layers
    )
    return (
        f"memory: {rates.alone:.1f} GB/s alone, {read:.1f} together: "
        f"at best {several:.3f} of {one:.3f} ms, {one / several:.3f}"
    )


def timed(projects: Sequence[Project], cores: Cores, number: int, runs: int) -> Round:
    """A round: the program of one thread goes first in every second."""
    before = cores.measure()
    order = projects if number % 2 == 0 else projects[::-1]
    times = {id(each): bench(each, runs=runs) for each in order}
    one, several = (times[id(each)] for each in projects)
    least = (one.min_ms, several.min_ms)
    return Round(one.median_ms, several.median_ms, least, before, cores.measure())


def measured(model: Path, arguments: argparse.Namespace, cores: Cores, folder: Path) -> bool:
    """Prints the rounds of a network; whether the machine ever gave what is asked."""
    projects = []
    for threads in (1, arguments.threads):
        options = CompileOptions(model, arguments.board, name="net", threads=threads)
        path = folder / f"{model.stem}-{threads}"
        projects.append(Project.open(path) if path.exists() else compile_model(options, path)[0])
        bench(projects[-1], runs=1)
    rounds: list[Round] = []
    print(model.stem)
    for number in range(arguments.rounds):
        rounds.append(timed(projects, cores, number, arguments.runs))
        each = rounds[-1]
        at_once = [
            " + ".join(f"{rate:.1f}" for rate in r.together) for r in (each.before, each.after)
        ]
        print(
            f"  {each.one:9.3f} ms  {each.several:9.3f} ms  {each.one / each.several:6.3f}   "
            f"at once {at_once[0]}, {at_once[1]} of {each.before.alone:.1f}, "
            f"{each.after.alone:.1f} GFLOP/s alone: gives {each.gives(best_of(rounds)):.2f}",
            flush=True,
        )
    lines = [*ratio_lines(rounds, arguments.share), bound_line(projects[0], cores)]
    print(*(f"  {line}" for line in lines), sep="\n", flush=True)
    return bool(given(rounds, arguments.share))


def main() -> int:
    """Print the rounds, and what follows of them."""
    parser = argparse.ArgumentParser(description=(__doc__ or "").splitlines()[0])
    parser.add_argument("models", nargs="+", type=Path, metavar="MODEL.onnx")
    parser.add_argument("--board", default="host")
    parser.add_argument("--threads", type=int, default=2)
    parser.add_argument("--rounds", type=int, default=9)
    parser.add_argument("--runs", type=int, default=9)
    parser.add_argument("--share", type=float, default=SHARE)
    parser.add_argument("--folder", type=Path)
    arguments = parser.parse_args()
    with errors_told(), tempfile.TemporaryDirectory() as temporary:
        folder = Path(temporary)
        board = boards.load(arguments.board)
        if board.run.kind is not RunKind.NATIVE:
            raise EdgeconvError(
                "only native times mean anything", where=f"board {board.name}", code=Exit.USAGE
            )
        cores, programs = Cores(board, arguments.threads, folder), arguments.folder or folder
        found = [measured(model, arguments, cores, programs) for model in arguments.models]
    return 0 if all(found) else 1


if __name__ == "__main__":
    sys.exit(main())
