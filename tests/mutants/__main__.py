"""Mistakes of one line, and whether the tests that are meant to see them do.

    python -m tests.mutants [--count 60] [--seconds 600] [--seed N] [--only PART] [--least 0.75]
                            [--verbose]

Mutants are those of universalmutator, drawn at random from the files of ``subjects``; each is tried
in a copy of the project.  One that does not compile counts for nothing, and so does one that is
known to mean the same (``equivalent.txt``: file, tab, the changed line).  Survivors are printed
with their line, and make the run fail where fewer than ``least`` of all are noticed.
"""

from __future__ import annotations

import argparse
import secrets
import sys
import tempfile
import time
from collections import Counter, defaultdict
from collections.abc import Collection, Iterable
from pathlib import Path

from tests.mutants.mutant import drawn
from tests.mutants.run_mutant import Trial
from tests.mutants.subjects import SUBJECTS

OUTCOMES = ("killed", "survived", "equivalent", "invalid")


def equivalent() -> set[tuple[str, str]]:
    text = (Path(__file__).parent / "equivalent.txt").read_text()
    rows = (line.split("\t") for line in text.splitlines() if line and not line.startswith("#"))
    return {(source, changed.strip()) for source, changed in rows}


def main() -> int:
    parser = argparse.ArgumentParser(prog="python -m tests.mutants", description=__doc__)
    parser.add_argument("--count", type=int, default=60)
    parser.add_argument("--seconds", type=float, default=600)
    parser.add_argument("--seed", type=int, default=secrets.randbits(32))
    parser.add_argument("--only", default="", metavar="PART", help="files with this in their path")
    parser.add_argument("--least", type=float, default=0.75)
    parser.add_argument("--verbose", action="store_true", help="every mutant, as it is judged")
    given = parser.parse_args()
    subjects = [subject for subject in SUBJECTS if given.only in subject.source]
    if not subjects:
        sys.exit(f"no file of tests/mutants/subjects.py has {given.only!r} in its name")
    print(f"seed {given.seed}", flush=True)
    counts: dict[str, Counter[str]] = defaultdict(Counter)
    known, end = equivalent(), time.monotonic() + given.seconds
    with tempfile.TemporaryDirectory() as folder:
        trial = Trial(Path(folder))
        for mutant in drawn(subjects, given.seed):
            if _tried(counts.values()) >= given.count or time.monotonic() > end:
                break
            same = (mutant.subject.source, mutant.text.strip()) in known
            outcome = "equivalent" if same else trial.outcome(mutant)
            counts[str(Path(mutant.subject.source).parent)][outcome] += 1
            if given.verbose or outcome == "survived":
                print(f"{outcome}: {mutant}", flush=True)
    for part in sorted(counts):
        print(f"{part}: {_summary([counts[part]])}")
    print(_summary(counts.values()))
    tried = _tried(counts.values())
    return int(not tried or _count(counts.values(), "killed") < given.least * tried)


def _count(counts: Iterable[Counter[str]], *outcomes: str) -> int:
    return sum(count[outcome] for count in counts for outcome in outcomes)


def _tried(counts: Iterable[Counter[str]]) -> int:
    return _count(counts, "killed", "survived")


def _summary(counts: Collection[Counter[str]]) -> str:
    found = ", ".join(f"{_count(counts, name)} {name}" for name in OUTCOMES)
    return f"{found}; {_count(counts, 'killed') / max(_tried(counts), 1):.1%} noticed"


if __name__ == "__main__":
    sys.exit(main())
