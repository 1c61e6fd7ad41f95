"""The sweep by hand: python -m tests.convbench ISA [options]."""

from __future__ import annotations

import argparse
import sys
import time
from pathlib import Path

import pytest

from edgeconv.kernels.algorithms import algorithms
from edgeconv.target.backends import TARGETS
from tests.convbench.sweep import Report, Scope, sweep
from tests.convbench.table import SAMPLE, VARIABLE, read, whole_table
from tests.kernels import builds


def _arguments() -> argparse.Namespace:
    parser = argparse.ArgumentParser("python -m tests.convbench", description=__doc__)
    parser.add_argument("isa", choices=TARGETS)
    parser.add_argument("--algorithm", choices=algorithms(), default="", help="all that apply")
    parser.add_argument("--layouts", choices=("first", "all"), default="first")
    parser.add_argument("--max-macs", type=float, default=float("inf"))
    parser.add_argument("--csv", type=Path, help=f"a table; ${VARIABLE}, else the sample")
    parser.add_argument("--jobs", type=int, default=1)
    parser.add_argument("--sanitize", action="store_true", help="as the kernel tests, not at -O2")
    return parser.parse_args()


def main() -> int:
    """Print a line per failure and a summary; the exit status."""
    arguments = _arguments()
    rows = read(arguments.csv or whole_table() or SAMPLE)
    rows = [row for row in rows if row.macs <= arguments.max_macs]
    try:
        options = () if arguments.sanitize else ("-O2",)
        build = builds.find(TARGETS[arguments.isa], "gcc", options)
    except pytest.skip.Exception as reason:
        print(reason, file=sys.stderr)
        return 3
    report, start = Report(), time.monotonic()
    scope = Scope(arguments.algorithm, arguments.layouts == "all")
    for part in sweep(build, rows, scope, arguments.jobs):
        report.add(part)
        for result in part.failures:
            print(result, flush=True)
        if sys.stderr.isatty():
            print(f"\r{report.convolutions} of {len(rows)}", end="\r", file=sys.stderr)
    print(f"{build.name}: {report.summary()}; {time.monotonic() - start:.0f} s in all")
    return 1 if report.failures else 0


if __name__ == "__main__":
    sys.exit(main())
