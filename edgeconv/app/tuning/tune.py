"""Measures what the choice for some networks asks the price of, until the time is over."""

from __future__ import annotations

from collections import Counter
from collections.abc import Iterable, Iterator, Mapping, Sequence
from contextlib import closing
from dataclasses import dataclass, replace
from pathlib import Path
from random import Random
from time import monotonic, sleep

from edgeconv.app.deciding import Decider
from edgeconv.app.tuning.candidates import Candidate, Recorder
from edgeconv.app.tuning.cluster import Cluster
from edgeconv.app.tuning.places import Here, Place
from edgeconv.app.tuning.pool import Batch, Pool
from edgeconv.app.tuning.program import Timed
from edgeconv.app.tuning.strategies import find
from edgeconv.base.errors import UsageError
from edgeconv.base.progress import Progress, Share, no_progress
from edgeconv.ir.choice import Choice
from edgeconv.ir.requantisation import EXACT
from edgeconv.search.budget.tables import Objective
from edgeconv.search.measured import Key, Row, Store, Times, described, kernel_key
from edgeconv.search.options import CompileOptions
from edgeconv.target.board import Board

_IN_A_PROGRAM = 16  # candidates at most
_PROGRAM_BYTES = 256 << 20  # their tensors and constants at most, where the board states no RAM
_OF_RAM = 4  # else a part of that
_PAUSE_S = 0.2  # where all that is left is measured by others
_SEARCHING = 0.8  # of the time; the rest is for what is chosen by measured times


@dataclass(frozen=True, slots=True)
class TuneOptions:
    """What the user asks of ``edgeconv tune``.  ``file``: where times go; ``others``: files whose
    times are taken in first.  ``seconds``: how long it may take.  ``ssh``: where the board is, ""
    for what its file says.  ``cluster``: the address of a scheduler of Dask, "" for none."""

    options: CompileOptions
    file: Path
    others: tuple[Path, ...] = ()
    seconds: float = 600.0
    strategy: str = "narrowing"
    ssh: str = ""
    cluster: str = ""
    seed: int = 0


@dataclass(frozen=True, slots=True)
class TuningResult:
    """``measured`` of ``candidates`` have a time, ``failed`` none; ``now`` were measured this time.
    ``analytic``, ``tuned``: seconds of the layers chosen by prediction and by measured times, each
    as measured, where there is a time, else as predicted; ``unmeasured``: how many of the latter
    have none.  ``left_out``: why kernel calls cannot be measured, and how many."""

    candidates: int
    measured: int
    failed: int
    now: int
    analytic: float
    tuned: float
    unmeasured: int
    board: str
    compiler: str
    place: str
    left_out: Mapping[str, int]


def tune(tune_options: TuneOptions, progress: Progress = no_progress) -> TuningResult:
    """Measure until nothing is left or the time is over.

    Whatever ends it, all that was measured is in the file.  Raises EdgeconvError as `Decider`,
    `Store` and the places (`Here`, `Cluster`) do, and for an unknown strategy or energies to be
    made small (exit status 2).
    """
    strategy = find(tune_options.strategy)
    if tune_options.options.objective == Objective.ENERGY.value:
        rule = "times are measured, and no energies"
        raise UsageError("tune", got=f"--objective {tune_options.options.objective}", rule=rule)
    board = tune_options.options.board
    place: Place = (
        Cluster(tune_options.cluster, board, tune_options.ssh)
        if tune_options.cluster
        else Here(board, tune_options.ssh)
    )
    with closing(place), Store(tune_options.file, create=True) as store:
        session = Tuning(tune_options, place, store, progress)
        rng, begun = Random(tune_options.seed), monotonic()
        end = begun + tune_options.seconds
        session.measure(Batch(session.chosen()), end)
        while monotonic() < begun + _SEARCHING * tune_options.seconds:
            session.refresh()
            batch = strategy.following(session.pool, rng)
            if not batch.candidates:
                break
            # What another process measures comes later, if that ends before it is done.
            free = session.free(batch.candidates)
            some = free[: _IN_A_PROGRAM * max(1, place.width)]
            session.measure(replace(batch, candidates=some), end)
        return session.outcome(session.settle(end))


class Tuning:
    """One model in one place; raises as `tune`."""

    def __init__(
        self, tune_options: TuneOptions, place: Place, store: Store, progress: Progress
    ) -> None:
        self.tune_options, self.place, self.store, self.progress = (
            tune_options,
            place,
            store,
            progress,
        )
        self.options = replace(tune_options.options, tuned=())
        recorder = self._recorder()
        with Decider(self.options, progress, recorder) as decider:
            self.analytic = decider.decide(streaming=False).choice
        self.board = decider.board
        for other in tune_options.others:
            self.store.merge(other)
        self.recorder = recorder
        counts = Counter(workload for workload, _ in self._described(self.analytic))
        self.pool = Pool(recorder.by_workload(), counts)
        self.pool.note(self._known())
        self.now = 0

    def chosen(self) -> list[Candidate]:
        """What prediction chooses, and nobody has measured: the start of all strategies."""
        kernels = dict.fromkeys(self._kernels(self.analytic))
        return [self.recorder.seen[k] for k in kernels if k not in self.pool.found]

    def refresh(self) -> None:
        """Take in what others have measured meanwhile."""
        self.pool.note(self._known())

    def free(self, candidates: Sequence[Candidate]) -> list[Candidate]:
        """The candidates that no other process measures now."""
        keys = {self._key(each): each for each in candidates}
        taken = self.store.claimed(list(keys))
        return [each for key, each in keys.items() if key not in taken]

    def measure(self, batch: Batch, end: float) -> None:
        """Time these candidates, some in a program, and note each program's times at once; those
        that another process measures are left to it."""
        self._say(end)
        mine: list[Key] = []
        programs = batches(batch.candidates, self.board, self.place.width)
        try:
            for timed in self.place.measure(self._claiming(programs, batch.runs, mine), batch.runs):
                self.store.add(self._rows(timed))
                self.pool.note(timed)
                self.now += sum(each.seconds is not None for each in timed)
                self._say(end)
                if monotonic() > end:
                    break
        finally:
            self.store.release(mine)
        if not mine:
            sleep(_PAUSE_S)  # until others have come further
            self.refresh()

    def _claiming(
        self, programs: Iterable[list[Candidate]], runs: int, mine: list[Key]
    ) -> Iterator[list[Candidate]]:
        """The programs without what other processes measure or have measured; what is left is
        claimed, and joins ``mine``."""
        for program in programs:
            claimed = self.store.claim([self._key(each) for each in program])
            mine += claimed
            self.refresh()
            found = self.pool.found
            left = [
                each
                for each in program
                if self._key(each) in claimed
                and not (each.kernel in found and _suffices(found[each.kernel], runs))
            ]
            if left:
                yield left

    def _key(self, candidate: Candidate) -> Key:
        return replace(self.place.key, kernel=candidate.kernel)

    def settle(self, end: float) -> Choice:
        """Choose by what is known, measure what of that has no time, and choose again, until all
        that is chosen was measured or the time is over: a predicted time may be too good."""
        while True:
            self.progress("choosing by measured times")
            key, seconds = self.place.key, self._seconds()
            recorder = self._recorder(Times(seconds, key.compiler, key.place))
            with Decider(self.options, no_progress, recorder) as decider:
                tuned = decider.decide(streaming=False).choice
            self.recorder.seen |= recorder.seen
            open_ = [k for k in self._kernels(tuned) if k not in self.pool.found]
            if not open_ or monotonic() > end:
                return tuned
            self.measure(Batch([self.recorder.seen[kernel] for kernel in open_]), end)

    def _recorder(self, times: Times | None = None) -> Recorder:
        return Recorder(times, integers=self.options.requantise == EXACT)

    def outcome(self, tuned: Choice) -> TuningResult:
        """What was gained by ``tuned``, the choice by measured times."""
        key, seconds, seen = self.place.key, self._seconds(), self.recorder.seen

        def of(choice: Choice) -> float:
            return sum(seconds.get(k) or seen[k].predicted for k in self._kernels(choice))

        return TuningResult(
            candidates=len(seen),
            measured=len(seconds),
            failed=len(self.pool.found) - len(seconds),
            now=self.now,
            analytic=of(self.analytic),
            tuned=of(tuned),
            unmeasured=sum(k not in seconds for k in self._kernels(tuned)),
            board=self.board.name,
            compiler=key.compiler,
            place=key.place,
            left_out=Counter(self.recorder.left_out.values()),
        )

    def _kernels(self, choice: Choice) -> list[str]:
        """The kernel keys of its layers that can be measured, one for each layer."""
        return [k for k in map(kernel_key, choice.layers) if k in self.recorder.seen]

    def _seconds(self) -> dict[str, float]:
        found = self.pool.found.values()
        return {each.kernel: each.seconds for each in found if each.seconds is not None}

    def _described(self, choice: Choice) -> Iterator[tuple[str, str]]:
        for layer in choice.layers:
            yield described(layer, choice.graph.tensors)

    def _known(self) -> Iterator[Timed]:
        """What the file has already."""
        for row in self.store.rows():
            kernel = row.key.kernel
            if replace(row.key, kernel="") == self.place.key and kernel in self.recorder.seen:
                yield Timed(kernel, row.seconds, row.runs, row.error)

    def _rows(self, timed: Iterable[Timed]) -> Iterator[Row]:
        for each in timed:
            seen = self.recorder.seen[each.kernel]
            yield Row(
                replace(self.place.key, kernel=each.kernel),
                each.seconds,
                each.runs,
                seen.predicted,
                seen.workload,
                seen.text,
                each.error,
            )

    def _say(self, end: float) -> None:
        done, all_of = len(self.pool.found), len(self.recorder.seen)
        left = max(0.0, end - monotonic())
        gain = gain_of(self.pool, self.analytic)
        text = f"measuring: {done} of {all_of} candidates, layers {gain:.1%} faster, {left:.0f} s"
        used = 1 - left / self.tune_options.seconds if self.tune_options.seconds else 1.0
        self.progress(Share(text, max(used, done / max(1, all_of))))


def _suffices(timed: Timed, runs: int) -> bool:
    """Whether another measurement of so many runs would tell nothing new."""
    return timed.seconds is None or timed.runs >= runs


def gain_of(pool: Pool, analytic: Choice) -> float:
    """By what part the layers that prediction chose would be shorter, each by itself, if they were
    the shortest that was measured."""
    workload_of = {each.kernel: each.workload for each in pool.candidates}
    before = after = 0.0
    for kernel in map(kernel_key, analytic.layers):
        found = pool.found.get(kernel)
        if found is None or found.seconds is None:
            continue
        best = pool.best(workload_of[kernel])
        before += found.seconds
        after += (pool.seconds(best) if best else None) or found.seconds
    return 1 - after / before if before else 0.0


def batches(
    candidates: Sequence[Candidate], board: Board, width: int = 1
) -> Iterator[list[Candidate]]:
    """Cut so that a program holds no more than it may, and that there are ``width`` of them."""
    most = min(_IN_A_PROGRAM, max(1, -(-len(candidates) // width)))
    room = board.ram_bytes // _OF_RAM if board.ram_bytes else _PROGRAM_BYTES
    batch: list[Candidate] = []
    size = 0
    for candidate in candidates:
        if batch and (len(batch) == most or size + candidate.bytes > room):
            yield batch
            batch, size = [], 0
        batch.append(candidate)
        size += candidate.bytes
    if batch:
        yield batch
