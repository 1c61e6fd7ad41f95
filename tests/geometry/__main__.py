"""The sweep by hand: python -m tests.geometry ISA KIND [options]."""

from __future__ import annotations

import argparse
import sys
import tempfile
import time
from pathlib import Path

from edgeconv.target.backends import TARGETS
from tests.geometry.sweep import KINDS, find_build, skipped, sweep
from tests.kernels import once

PART = 50  # geometries between two notes


def _arguments() -> argparse.Namespace:
    parser = argparse.ArgumentParser("python -m tests.geometry", description=__doc__)
    parser.add_argument("isa", choices=TARGETS)
    parser.add_argument("kind", choices=KINDS)
    parser.add_argument("--seed", type=int, default=1)
    parser.add_argument("--count", type=int, default=1000, help="geometries, from number 0 on")
    parser.add_argument("--number", type=int, help="this one geometry")
    return parser.parse_args()


def main() -> int:
    """Print the failures of every part and a summary; the exit status."""
    arguments = _arguments()
    with tempfile.TemporaryDirectory() as folder:
        once.STORE = Path(folder)
        return _swept(arguments)


def _swept(arguments: argparse.Namespace) -> int:
    if reason := skipped(arguments.isa):
        print(reason, file=sys.stderr)
        return 3
    build, start, ran, failed = find_build(arguments.isa), time.monotonic(), 0, False
    numbers = range(arguments.count)
    if arguments.number is not None:
        numbers = range(arguments.number, arguments.number + 1)
    for first in numbers[::PART]:
        part = range(first, min(first + PART, numbers.stop))
        with tempfile.TemporaryDirectory() as folder:
            try:
                ran += sweep(build, {arguments.kind: part}, arguments.seed, Path(folder))
            except AssertionError as error:
                failed = True
                print(error, flush=True)
    seconds = time.monotonic() - start
    print(f"{build.name}: {len(numbers)} of {arguments.kind}, {ran} cases passed, {seconds:.0f} s")
    return 1 if failed else 0


if __name__ == "__main__":
    sys.exit(main())
