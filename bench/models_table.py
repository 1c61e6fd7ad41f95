"""A table with a line per model, as the benches of quantised networks print it."""

from __future__ import annotations

import argparse
from collections.abc import Callable, Sequence
from pathlib import Path


def print_table(
    doc: str | None, columns: Sequence[str], measure: Callable[[Path, str, int], str]
) -> None:
    """Read MODEL... [--board NAME] [--inputs N] from the command line, and print what ``measure``
    says of each model, the board and the number of inputs: a line under ``columns``."""
    parser = argparse.ArgumentParser(description=doc)
    parser.add_argument("models", type=Path, nargs="+")
    parser.add_argument("--board", default="host")
    parser.add_argument("--inputs", type=int, default=20)
    options = parser.parse_args()
    print(f"| {' | '.join(columns)} |\n{'|---' * len(columns)}|")
    for model in options.models:
        print(measure(model, options.board, options.inputs), flush=True)
