"""What a float32 network is predicted to take as it is, int8 throughout, and with those results in
float32 that integers would cost more than they save; grids and units have no meaning here, so that
it needs no samples.

    python bench/int8_prices.py mlperf-tiny-vww.onnx --board raspberry-pi-4 --board mps2-an500
"""

from __future__ import annotations

import argparse
import sys
from pathlib import Path

from telling import errors_told

from edgeconv.app.deciding import int8_model
from edgeconv.app.deciding.decider import Decider
from edgeconv.app.deciding.less_ram import ways
from edgeconv.app.deciding.planning import Decision
from edgeconv.ir.graph import Graph
from edgeconv.search.budget.tables import Objective
from edgeconv.search.options import CompileOptions
from edgeconv.search.quantising.by_price import Costs, border, kept_real


def line(what: str, decided: Decision) -> str:
    """Time, or the price where the board predicts none, and bytes."""
    predicted = decided.predicted
    time = f"{predicted.price:.3e}" if predicted.ms is None else f"{predicted.ms:.4g} ms"
    weights = decided.report["flash"]["weights"]
    return f"  {what:30} {time:>12}  arena {decided.memory.arena_bytes:11,}  weights {weights:11,}"


def print_ways(model: Path, board: str) -> None:
    """A line for each."""
    with Decider(CompileOptions(model, board)) as decider:
        planner, graph, target = decider.planner, decider.graph, decider.board.target

        def planned(graph: Graph) -> Decision:
            allowed = next(iter(ways(graph, decider.board)))
            return planner.decided(planner.draft(graph, allowed, {}))

        real, whole = planned(graph), planned(int8_model.pretended_int8(graph, {}))
        costs = Costs(*(int8_model.by_layer(each, Objective.LATENCY) for each in (real, whole)))
        between = border(graph, target, planner.machine)
        kept = kept_real(graph, {}, costs, between)
        print(f"{model.name}, {board}")
        print(line("float32", real))
        print(line("int8 throughout", whole))
        if kept:
            mixed = planned(int8_model.pretended_int8(graph, {}, kept))
            print(line(f"{len(kept)} tensors in float32", mixed), flush=True)


def main() -> int:
    parser = argparse.ArgumentParser(description=(__doc__ or "").split("\n\n")[0])
    parser.add_argument("model", type=Path, metavar="MODEL.onnx")
    parser.add_argument("--board", action="append", required=True)
    args = parser.parse_args()
    with errors_told():
        for board in args.board:
            print_ways(args.model, board)
    return 0


if __name__ == "__main__":
    sys.exit(main())
