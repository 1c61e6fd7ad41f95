"""Damaged files are read or refused with a word: those that once failed, and new ones."""

from __future__ import annotations

import os
from collections.abc import Iterator
from pathlib import Path

import pytest

from tests.fuzz.subject import all_subjects
from tests.fuzz.worker import Outcome, Runner, outcomes

KEPT = Path(__file__).parent / "kept"
SECONDS_VARIABLE = "EDGECONV_FUZZ_SECONDS"  # of the long run, all subjects together
QUICK_CASES = 30
LONG_SECONDS = 600.0


def _report(failures: list[Outcome], name: str) -> str:
    lines = [
        f"python -m tests.fuzz {name} --first {f.case} --cases 1\n{f.failure}" for f in failures
    ]
    return "\n".join(lines[:5])


@pytest.fixture(scope="module", params=all_subjects())
def runner(request: pytest.FixtureRequest) -> Iterator[Runner]:
    """Of a subject; its worker takes a second to import everything, which tests share."""
    made = Runner(all_subjects()[request.param])
    yield made
    made.close()


def test_files_that_once_failed(runner: Runner) -> None:
    name = runner.subject.name
    files = sorted(path for path in (KEPT / name).rglob("*") if path.is_file())
    if not files:
        pytest.skip(f"no file of {name} has failed yet")
    found = [runner.run(path) for path in files]
    failures = [outcome for outcome in found if outcome.failure]
    assert not failures, _report(failures, name)


def test_the_same_damaged_files_every_time(runner: Runner) -> None:
    found = [runner.run(case) for case in range(1, 1 + QUICK_CASES)]
    failures = [outcome for outcome in found if outcome.failure]
    assert not failures, _report(failures, runner.subject.name)
    assert len({outcome.word for outcome in found}) > 1, "all of them end in the same way"


@pytest.mark.slow
@pytest.mark.parametrize("name", all_subjects())
def test_new_damaged_files(name: str) -> None:
    """Other numbers in every run; a failure prints the one that repeats it."""
    first = int.from_bytes(os.urandom(4)) + QUICK_CASES
    seconds = float(os.environ.get(SECONDS_VARIABLE, LONG_SECONDS)) / len(all_subjects())
    found = list(outcomes(all_subjects()[name], first, 1 << 62, seconds))
    failures = [outcome for outcome in found if outcome.failure]
    assert not failures, _report(failures, name)
