"""What is known of all candidates while they are measured."""

from __future__ import annotations

from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass, field

from edgeconv.app.tuning.candidates import Candidate
from edgeconv.app.tuning.program import Timed

RUNS = 9  # of a candidate, where a strategy asks for no other number


@dataclass(frozen=True, slots=True)
class Batch:
    """Candidates that a strategy wants measured next, the most wanted first."""

    candidates: Sequence[Candidate]
    runs: int = RUNS


@dataclass(slots=True)
class Pool:
    """All candidates and their times so far.  ``workloads``: their candidates, the predicted
    shortest first.  ``counts``: how many layers compute each workload.  ``found``: by kernel."""

    workloads: Mapping[str, Sequence[Candidate]]
    counts: Mapping[str, int]
    found: dict[str, Timed] = field(default_factory=dict)

    def note(self, timed: Iterable[Timed]) -> None:
        """Keeps, of several results of a kernel, that of most runs."""
        for each in timed:
            before = self.found.get(each.kernel)
            if before is None or each.runs >= before.runs:
                self.found[each.kernel] = each

    @property
    def candidates(self) -> list[Candidate]:
        """All of them."""
        return [each for found in self.workloads.values() for each in found]

    def open(self) -> list[Candidate]:
        """The candidates that nobody has tried."""
        return [each for each in self.candidates if each.kernel not in self.found]

    def seconds(self, candidate: Candidate) -> float | None:
        """Its measured time, if it has one."""
        found = self.found.get(candidate.kernel)
        return found.seconds if found else None

    def best(self, workload: str) -> Candidate | None:
        """The shortest that was measured."""
        timed = [each for each in self.workloads[workload] if self.seconds(each)]
        return min(timed, key=lambda each: self.seconds(each) or 0.0, default=None)

    def weight(self, workload: str) -> float:
        """The seconds that the networks spend on a workload, as far as is known: what there is to
        gain."""
        best = self.best(workload)
        first = self.workloads[workload][0].predicted
        seconds = self.seconds(best) if best else None
        return (seconds or first) * max(1, self.counts.get(workload, 0))

    def by_gain(self) -> list[str]:
        """Workloads with candidates that nobody has tried: those with most to gain for each that
        was tried already come first."""

        def tried(workload: str) -> int:
            return sum(each.kernel in self.found for each in self.workloads[workload])

        left = {each.workload for each in self.open()}
        return sorted(left, key=lambda each: (-self.weight(each) / (1 + tried(each)), each))
