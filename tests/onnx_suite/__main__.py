"""How many of ONNX's own cases pass: python -m tests.onnx_suite [--board B] [--sanitize]."""

from __future__ import annotations

import argparse
import re
import sys
import tempfile
from collections import Counter, defaultdict
from collections.abc import Iterable
from concurrent.futures import ProcessPoolExecutor
from pathlib import Path

from edgeconv.target import board as boards
from edgeconv.target.board import RunKind
from tests.compilers import SANITIZERS
from tests.onnx_suite import emulated, programs
from tests.onnx_suite.cases import STATED, cases
from tests.onnx_suite.outcomes import CRASH, PASS, REFUSED, WRONG, Outcome
from tests.onnx_suite.passing import PASSING
from tests.onnx_suite.sanitized import under_sanitizers

_BATCH = 64


def run(
    names: Iterable[str], board: str, flags: tuple[str, ...] = (), jobs: int = 1
) -> list[Outcome]:
    """The outcomes of the named cases."""
    wanted = list(names)
    chunks = (wanted[i : i + _BATCH] for i in range(0, len(wanted), _BATCH))
    batches = [(chunk, board, flags) for chunk in chunks]
    if jobs == 1:
        return [outcome for batch in batches for outcome in _batch(*batch)]
    with ProcessPoolExecutor(jobs) as pool:
        return [o for found in pool.map(_batch, *zip(*batches, strict=True)) for o in found]


def _batch(names: list[str], board: str, flags: tuple[str, ...]) -> list[Outcome]:
    known = cases()
    print(f"{names[0]} ...", file=sys.stderr, flush=True)
    with tempfile.TemporaryDirectory(prefix="edgeconv-suite-") as folder:
        given = (known[name] for name in names)
        if boards.load(board).run.kind is RunKind.NATIVE:
            return [*programs.outcomes(given, Path(folder), board, flags)]
        return [*emulated.outcomes(given, Path(folder), board)]


def summary(found: Iterable[Outcome], *, most: int) -> Iterable[str]:
    """Lines of text: how many of each kind, and of those that do not pass the reasons."""
    outcomes_ = list(found)
    kinds = Counter(outcome.kind for outcome in outcomes_)
    yield f"{len(outcomes_)} cases: " + ", ".join(
        f"{kinds[kind]} {kind}" for kind in (PASS, WRONG, CRASH, REFUSED)
    )
    stated = sum(outcome.name in STATED for outcome in outcomes_ if outcome.kind == PASS)
    if stated:
        yield f"{stated} of those that pass with inputs whose value is stated (--input-value)"
    for kind in (WRONG, CRASH):
        for outcome in outcomes_:
            if outcome.kind == kind:
                yield f"{kind}: {outcome.name}: {'; '.join(outcome.reasons)}"
    by_reason: dict[str, list[Outcome]] = defaultdict(list)
    for outcome in outcomes_:
        if outcome.kind == REFUSED:
            for reason in outcome.reasons:
                by_reason[reason].append(outcome)
    alone = {r: sum(len(o.reasons) == 1 for o in group) for r, group in by_reason.items()}
    for reason in sorted(by_reason, key=lambda r: -alone[r])[:most]:
        group = by_reason[reason]
        yield f"{len(group):5} ({alone[reason]} for this alone) {reason}: {group[0].name}"


def main() -> int:
    parser = argparse.ArgumentParser(prog="python -m tests.onnx_suite", description=__doc__)
    parser.add_argument("--board", default="host")
    parser.add_argument("--only", default="", help="names that match this pattern")
    parser.add_argument("--flags", default="", help="for compiler and linker")
    parser.add_argument("--sanitize", action="store_true", help="accesses and operations checked")
    parser.add_argument("--every", type=int, default=1, help="so many-th of the names alone")
    parser.add_argument("--jobs", type=int, default=1)
    parser.add_argument("--reasons", type=int, default=60, help="of refusals, to be shown")
    parser.add_argument("--write", type=Path, help="the names of those that pass")
    asked = parser.parse_args()
    flags: tuple[str, ...] = programs.OPTIMISED
    if asked.sanitize:
        under_sanitizers("tests.onnx_suite", sys.argv[1:])
        flags = SANITIZERS
    flags = (*flags, *asked.flags.split())
    names = [name for name in cases() if re.search(asked.only, name)][:: asked.every]
    found = run(names, asked.board, flags, asked.jobs)
    passed = sorted(outcome.name for outcome in found if outcome.kind == PASS)
    if asked.write:
        asked.write.write_text("".join(f"{name}\n" for name in passed))
    for line in summary(found, most=asked.reasons):
        print(line)
    lost = sorted({*PASSING}.intersection(names) - set(passed))
    for name in lost:
        print(f"passed before: {name}")
    return 1 if lost else 0


if __name__ == "__main__":
    sys.exit(main())
