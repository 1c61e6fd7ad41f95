"""``python -m tests.fuzz``."""

from __future__ import annotations

import argparse
import sys
from collections import Counter
from pathlib import Path

from tests.fuzz.subject import all_subjects
from tests.fuzz.worker import Outcome, made, outcomes


def main() -> int:
    """Run, and print every kind of failure once, with a case to repeat it by."""
    parser = argparse.ArgumentParser(prog="python -m tests.fuzz")
    parser.add_argument("subjects", nargs="*", metavar="SUBJECT", help=", ".join(all_subjects()))
    parser.add_argument("--seconds", type=float, default=60.0, help="for each subject (60)")
    parser.add_argument("--cases", type=int, default=1 << 62, metavar="N")
    parser.add_argument("--first", type=int, default=1, metavar="N", help="number of a case (1)")
    parser.add_argument("--keep", type=Path, metavar="DIR", help="leave files that fail there")
    options = parser.parse_args()
    failed = 0
    for name in options.subjects or all_subjects():
        subject = all_subjects()[name]
        words: Counter[str] = Counter()
        kinds: dict[str, list[Outcome]] = {}
        for outcome in outcomes(subject, options.first, options.cases, options.seconds):
            words[outcome.word or "FAILED"] += 1
            if outcome.failure:
                kinds.setdefault(outcome.kind, []).append(outcome)
                if options.keep and len(kinds[outcome.kind]) == 1:
                    folder = options.keep / f"{name}-{outcome.case}"
                    folder.mkdir(parents=True, exist_ok=True)
                    made(subject, int(outcome.case), folder)
        print(f"{name}: {sum(words.values())} cases:", dict(words.most_common()))
        for found in sorted(kinds.values(), key=len, reverse=True):
            numbers = " ".join(outcome.case for outcome in found[:8])
            print(f"-- {len(found)} x (case {numbers}) {found[0].failure}")
        failed += len(kinds)
    return 1 if failed else 0


if __name__ == "__main__":
    sys.exit(main())
