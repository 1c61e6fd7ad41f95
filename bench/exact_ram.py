"""Kernels and layouts under a budget of RAM: exactly for that room, against less workspace alone.

    python bench/exact_ram.py MODEL.onnx [MODEL.onnx ...] [--boards zen4,stm32h743]
        [--budgets 90,75,60]

A line per network, board and budget, which is that per cent of the arena of the fastest kernels
without turns, beside inputs and outputs: bytes of arena, predicted milliseconds and seconds to
decide with `less_ram.fastest_within` and as it was before that (first less workspace for the layers
that find no room, then none, then turns whatever they take), and the gap between the choice and
what is proven to be needed.  ``-``: nothing fits without rounding.
"""

from __future__ import annotations

import argparse
import time
from pathlib import Path
from unittest.mock import patch

from rich.console import Console
from rich.table import Table

from edgeconv.app.deciding import formats, less_ram
from edgeconv.app.deciding.decider import Decider
from edgeconv.app.deciding.formats import Formats
from edgeconv.app.deciding.planning import Allowed, NetworkPlan, Planner
from edgeconv.base.errors import EdgeconvError
from edgeconv.ir.graph import Graph
from edgeconv.search.options import CompileOptions
from edgeconv.search.predict import predict

COLUMNS = ("network", "board", "budget", "before", "ms", "s", "exact", "ms", "s", "gap", "time")


def before(
    planner: Planner, graph: Graph, draft: NetworkPlan, *, streaming: bool
) -> NetworkPlan | None:
    """Instead of `less_ram.fastest_within`."""
    del streaming
    return less_ram.tightened(planner, graph, draft)


def decided(options: CompileOptions) -> tuple[list[str], float | None, float]:
    """Arena, milliseconds and seconds; the price, and the gap."""
    began = time.process_time()
    with Decider(options) as own, patch.object(Formats, "searched", side_effect=EdgeconvError("")):
        try:
            found = own.decide()
        except EdgeconvError:
            return ["-", "-", f"{time.process_time() - began:.1f}"], None, 0.0
    took = time.process_time() - began
    ms, search = found.predicted.ms, found.choice.search
    cells = [f"{found.memory.arena_bytes:,}", f"{ms:.4f}" if ms else "", f"{took:.1f}"]
    return cells, found.predicted.price, search.gap if search else 0.0


def rows(model: Path, board: str, shares: list[int]) -> list[list[str]]:
    """Those of a network on a board."""
    own = Decider(CompileOptions(model, board))
    plain = own.planner.draft(own.graph, Allowed(), {})
    arena, total = plain.memory.arena_bytes, plain.sizes.ram.total
    ms = predict(plain.choice, plain.memory, own.board).ms
    found = [[model.stem, board, "all", f"{arena:,}", f"{ms:.4f}" if ms else ""]]
    for share in shares:
        options = CompileOptions(model, board, ram=total - arena + arena * share // 100)
        with patch.object(formats, "fastest_within", before):
            old, old_price, _ = decided(options)
        new, price, gap = decided(options)
        gain = f"{old_price / price - 1:+.2%}" if price and old_price else ""
        found.append(["", "", f"{share} %", *old, *new, f"{gap:.1%}", gain])
    return found


def main() -> None:
    """Print the table."""
    parser = argparse.ArgumentParser(description=(__doc__ or "").splitlines()[0])
    parser.add_argument("models", nargs="+", type=Path, metavar="MODEL.onnx")
    parser.add_argument("--boards", default="zen4,stm32h743")
    parser.add_argument("--budgets", default="90,75,60")
    arguments = parser.parse_args()
    table = Table(*COLUMNS, box=None)
    shares = [int(each) for each in arguments.budgets.split(",")]
    for model in arguments.models:
        for board in arguments.boards.split(","):
            for row in rows(model, board, shares):
                table.add_row(*row)
    Console(width=140).print(table)


if __name__ == "__main__":
    main()
