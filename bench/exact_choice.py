"""How algorithms and layouts of networks are found, and what coordinate descent would miss.

    python bench/exact_choice.py MODEL.onnx [MODEL.onnx ...] [--boards zen4,odroid-xu3]

A line per network and board: nodes and edges of the program and what of them exact reductions
leave, seconds to price all kernels and to solve, predicted milliseconds of the choice (before it is
known where tensors lie) and by how much another might be better, and by how much it is better than
coordinate descent.
"""

from __future__ import annotations

import argparse
import time
from pathlib import Path

from rich.console import Console
from rich.table import Table

from edgeconv.ir.graph import Graph
from edgeconv.model import frontend, passes
from edgeconv.search.choose.assignment import Assignment
from edgeconv.search.choose.pbqp import minimise
from edgeconv.search.choose.prices import Prices
from edgeconv.search.choose.program import Program
from edgeconv.search.choose.storage import encodings_for, lossless
from edgeconv.search.choose.winograd import (
    LAYER_ERROR,
    convolutions,
    forms_within,
    with_winograd_forms,
)
from edgeconv.target import board as boards

BOARDS = "zen4,odroid-xu3,power10-s1024,generic-c"
COLUMNS = ("network", "board", "nodes", "edges", "left", "price s", "solve s", "ms", "gap", "gain")


def row(graph: Graph, board: str) -> list[str]:
    """The line of a network on a board."""
    target = boards.load(board).target
    able = lossless(graph)
    free = encodings_for(graph, able.keys()) if able else {}
    prices = Prices(graph, target)
    began = time.perf_counter()
    program = Program(graph, prices, free)
    priced = time.perf_counter()
    found = minimise(program.problem)
    solved = time.perf_counter()
    descended = Assignment(graph, prices)
    descended.descend()
    return [
        f"{len(program.problem.costs)}",
        f"{len(program.problem.edges)}",
        f"{found.nodes}, {found.edges}",
        f"{priced - began:.2f}",
        f"{solved - priced:.2f}",
        f"{found.cost * 1e3:.4f}",
        f"{found.gap:.1%}",
        f"{descended.total() / found.cost - 1:.2%}",
    ]


def main() -> None:
    """Print the table."""
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument("models", nargs="+", type=Path, metavar="MODEL.onnx")
    parser.add_argument("--boards", default=BOARDS)
    arguments = parser.parse_args()
    table = Table(*COLUMNS, box=None)
    for model in arguments.models:
        graph = passes.optimise(frontend.load(model))
        limits = dict.fromkeys((node.name for node in convolutions(graph)), LAYER_ERROR)
        allowed = with_winograd_forms(graph, forms_within(graph, limits))
        for board in arguments.boards.split(","):
            table.add_row(model.stem, board, *row(allowed, board))
    Console(width=140).print(table)


if __name__ == "__main__":
    main()
