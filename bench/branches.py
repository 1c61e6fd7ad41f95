"""What independent branches side by side could gain beside sharing each layer, before it is built.

    python bench/branches.py MODEL.onnx [MODEL.onnx ...] [--boards zen4,raspberry-pi-5]
        [--threads 2,4] [--measure ROUNDS]

A line per network, board and number of threads, all predicted, in milliseconds:

    one        one core
    shared     every step shared by all cores as ``--threads`` does
    ideal      all of ``one`` by the number of cores
    efficiency ``ideal`` over ``shared``, of all steps and of those in branches: steps that others
               neither read from nor write for
    at most    what would be gained if every step in a branch took its ideal time
    by branch  what is gained with whole branches on cores of their own where that is shorter, each
               way of handing out those between two steps that all others wait for, or wait for them

``--measure``: on a board that runs here, milliseconds of the whole network measured with one thread
and with so many, the least of so many medians of nine, and the efficiency that follows.
"""

from __future__ import annotations

import argparse
import tempfile
from collections.abc import Iterator, Sequence
from dataclasses import dataclass, replace
from itertools import pairwise, product
from pathlib import Path

from rich.console import Console
from rich.table import Table

from edgeconv.app.deciding import Decider
from edgeconv.app.deciding.planning import Decision
from edgeconv.app.pipeline import compile_model
from edgeconv.ir.choice import ArgKind, Choice
from edgeconv.run.bench import bench
from edgeconv.search.options import CompileOptions
from edgeconv.search.predict import predict
from edgeconv.target import board as boards
from edgeconv.target.board import Board
from edgeconv.target.board.team import Team, team_of

MOST_BRANCHES = 6  # of which all ways to hand them out are tried


@dataclass(frozen=True, slots=True)
class Task:
    """A step: milliseconds alone on a core beside others that work, and shared by all."""

    alone: float
    shared: float


@dataclass(frozen=True, slots=True)
class Outcome:
    """What a network takes, in milliseconds; see the module."""

    one: float
    shared: float
    branches: tuple[Task, ...]
    gained: float

    def ideal(self, threads: int) -> float:
        """Of all steps."""
        return self.one / threads


def tasks_of(decided: Decision, board: Board, team: Team) -> list[Task]:
    """Of every step, in the order of ``Choice.steps``."""
    crowd = max(1.0, len(team.speeds) / team.together)
    crowded = replace(
        board,
        memory=tuple(
            replace(each, bandwidth=each.bandwidth and each.bandwidth / crowd)
            for each in board.memory
        ),
    )
    choice = decided.choice
    alone = replace(
        choice, steps=tuple(replace(each, shares=(), workers=1) for each in choice.steps)
    )
    shared_ms = by_layer(choice, decided, board)
    alone_ms = by_layer(alone, decided, crowded)
    return [
        Task(sum(alone_ms[i] for i in step.layers), sum(shared_ms[i] for i in step.layers))
        for step in choice.steps
    ]


def by_layer(choice: Choice, decided: Decision, board: Board) -> dict[int, float]:
    """Predicted milliseconds by the number of a layer."""
    found = predict(choice, decided.memory, board).layers
    return {
        number: layer.ms or 0.0 for number, layer in zip(decided.memory.order, found, strict=True)
    }


def before(choice: Choice) -> list[set[int]]:
    """The steps that each waits for, directly or not."""
    maker: dict[str, int] = {}
    found: list[set[int]] = [set() for _ in choice.steps]
    for number, step in enumerate(choice.steps):
        layers = [choice.layers[i] for i in step.layers]
        for layer in layers:
            for arg in layer.args:
                if arg.kind is ArgKind.INPUT and arg.ref in maker and maker[arg.ref] != number:
                    found[number] |= {maker[arg.ref]} | found[maker[arg.ref]]
        maker |= {name: number for layer in layers for name in layer.node.outputs}
    return found


def regions(waits: Sequence[set[int]]) -> Iterator[list[list[int]]]:
    """Between two steps that all others wait for, or that wait for them: the steps that neither
    read from each other nor from one that does, together."""
    count = len(waits)
    after = [sum(number in each for each in waits) for number in range(count)]
    narrow = [i for i in range(count) if len(waits[i]) + after[i] == count - 1]
    bounds = [-1, *narrow, count]
    for first, last in pairwise(bounds):
        groups: list[set[int]] = []
        for number in range(first + 1, last):
            own = {number} | {each for each in waits[number] if first < each < last}
            met = [group for group in groups if group & own]
            groups = [group for group in groups if not group & own]
            groups.append(own.union(*met))
        if len(groups) > 1:
            yield [sorted(group) for group in groups]


def best_of(branches: Sequence[Sequence[Task]], team: Team) -> float:
    """Milliseconds of these branches, each shared by all or left to one core, whatever is least."""
    shared = [sum(task.shared for task in branch) for branch in branches]
    alone = [sum(task.alone for task in branch) for branch in branches]
    least = sum(shared)
    if len(branches) > MOST_BRANCHES:
        return least
    workers = range(len(team.speeds))
    for owners in product((None, *workers), repeat=len(branches)):
        each = [
            sum(t for t, owner in zip(alone, owners, strict=True) if owner == w) / team.speeds[w]
            for w in workers
        ]
        rest = sum(t for t, owner in zip(shared, owners, strict=True) if owner is None)
        least = min(least, rest + max(each) + (1e3 * team.fork_join if any(each) else 0.0))
    return least


def found_of(model: Path, name: str, threads: int) -> Outcome:
    """The numbers of a row."""
    board = boards.load(name)
    team = team_of(board, threads)
    assert team
    with Decider(CompileOptions(model, name, threads=threads)) as decider:
        decided = decider.decide()
    choice = decided.choice
    alone = replace(
        choice, steps=tuple(replace(each, shares=(), workers=1) for each in choice.steps)
    )
    one = sum(by_layer(alone, decided, board).values())
    tasks = tasks_of(decided, board, team)
    waits = before(choice)
    gained = 0.0
    for branches in regions(waits):
        own = [[tasks[i] for i in branch] for branch in branches]
        gained += sum(task.shared for branch in own for task in branch) - best_of(own, team)
    after = [sum(i in each for each in waits) for i in range(len(tasks))]
    apart = [
        task
        for i, task in enumerate(tasks)
        if task.shared and len(waits[i]) + after[i] < len(tasks) - 1
    ]
    return Outcome(one, sum(task.shared for task in tasks), tuple(apart), gained)


def measured(model: Path, board: str, threads: int, rounds: int) -> tuple[float, float]:
    """Milliseconds with one thread and with so many, programs in turn."""
    with tempfile.TemporaryDirectory() as temporary:
        asked = [CompileOptions(model, board, name="net", threads=n) for n in (1, threads)]
        folders = [Path(temporary, str(n)) for n in (1, threads)]
        projects = [compile_model(*each)[0] for each in zip(asked, folders, strict=True)]
        times = [[bench(each, runs=9).median_ms for each in projects] for _ in range(rounds)]
    one, several = (min(each) for each in zip(*times, strict=True))
    return one, several


def main() -> None:
    """Print the table."""
    parser = argparse.ArgumentParser(description=(__doc__ or "").splitlines()[0])
    parser.add_argument("models", nargs="+", type=Path, metavar="MODEL.onnx")
    parser.add_argument("--boards", default="zen4,raspberry-pi-5")
    parser.add_argument("--threads", default="2,4")
    parser.add_argument("--measure", type=int, default=0, metavar="ROUNDS")
    arguments = parser.parse_args()
    columns = ["one", "shared", "ideal", "efficiency", "in branches", "at most", "by branch"]
    columns += ["measured one", "shared", "efficiency"] if arguments.measure else []
    table = Table("network", "board", "N", *columns, box=None)
    for model in arguments.models:
        for board, n in product(
            arguments.boards.split(","), map(int, arguments.threads.split(","))
        ):
            found = found_of(model, board, n)
            own = sum(task.shared for task in found.branches)
            least = sum(min(task.shared, task.alone / n) for task in found.branches)
            cells = [f"{found.one:.3f}", f"{found.shared:.3f}", f"{found.ideal(n):.3f}"]
            cells += [f"{found.ideal(n) / found.shared:.1%}", f"{least / own:.1%}" if own else ""]
            cells += [f"{each / found.shared:.2%}" for each in (own - least, found.gained)]
            if arguments.measure:
                one, several = measured(model, board, n, arguments.measure)
                cells += [f"{one:.3f}", f"{several:.3f}", f"{one / several / n:.1%}"]
            table.add_row(model.stem, board, str(n), *cells)
    Console(width=160).print(table)


if __name__ == "__main__":
    main()
