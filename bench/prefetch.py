"""Software prefetch on a model of an in-order core: cycles by how far ahead it is done.

    python bench/prefetch.py [KIND ...] [--boards raspberry-pi-3,quartz64-a] [--fills 3]
        [--streams N --prefetch N]

Convolutions of the sizes that networks have are compiled for a board with the distances that it
gets, with none, half of them and double, and run once under QEMU, whose plugin ``inorder/core.c``
passes every instruction and address of the kernel through a model of the core: two instructions a
cycle in order, the board's caches, latencies and bandwidth, ``--fills`` lines on their way at a
time.  Filters and results come from memory, the input has just been written.  ``--streams``: a
prefetcher in hardware follows so many, ``--prefetch`` lines ahead; none where nothing is said.

Printed are thousands of cycles, those that are spent waiting in parentheses, and what fetching adds
to the instructions.  Half of a distance of one step is that step.  The model has no other cores, no
TLB and no branch that is predicted wrongly; stores never wait.
"""

from __future__ import annotations

import argparse
import sys
import tempfile
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import replace
from pathlib import Path
from types import MappingProxyType
from typing import Any, cast

from cachesim.cases import Case, Spec
from convtime.cases import Candidate, CaseOptions, candidates
from inorder.program import LINE_BYTES, Core, Cycles, Program, build, source
from int8_counts import in_few_products
from rich.console import Console
from rich.table import Table

from edgeconv.base.errors import EdgeconvError
from edgeconv.ir.choice import Layer
from edgeconv.kernels import algorithms
from edgeconv.kernels.algorithms.candidate import ConvCandidate
from edgeconv.kernels.algorithms.prefetch import NOTHING, PrefetchDistances
from edgeconv.target import board as boards
from edgeconv.target.targets import Target

FLOAT_BYTES = 4
KINDS: Mapping[str, tuple[Spec, str]] = MappingProxyType(
    {
        "3x3, 64": (Spec(64, (28, 28), 64, (3, 3)), "direct"),
        "3x3, 256": (Spec(256, (14, 14), 256, (3, 3)), "direct"),
        "3x3, 512": (Spec(512, (7, 7), 512, (3, 3)), "direct"),
        "1x1, 64": (Spec(64, (56, 56), 64, (1, 1)), "direct"),
        "1x1, 512": (Spec(512, (14, 14), 512, (1, 1)), "direct"),
        "depthwise, 144": (Spec(144, (56, 56), 144, (3, 3), groups=144), "depthwise"),
        "depthwise /2": (Spec(144, (56, 56), 144, (3, 3), stride=2, groups=144), "depthwise"),
        "depthwise, 576": (Spec(576, (14, 14), 576, (3, 3), groups=576), "depthwise"),
        "depthwise, 960": (Spec(960, (7, 7), 960, (3, 3), groups=960), "depthwise"),
        "dense": (Spec(1024, (1, 1), 1000, (1, 1)), "direct"),
        "in few products, 64": (Spec(64, (56, 56), 64, (3, 3)), "winograd"),
        "in few products, 128": (Spec(128, (28, 28), 128, (3, 3)), "winograd"),
        "in few products, 256": (Spec(256, (14, 14), 256, (3, 3)), "winograd"),
    }
)
WAYS: Mapping[str, float] = MappingProxyType({"none": 0.0, "half": 0.5, "chosen": 1.0, "double": 2})


def scaled(prefetch: PrefetchDistances, by: float) -> PrefetchDistances:
    """``by`` times as far, at least a line or a block of what is fetched at all."""
    lines, blocks = prefetch.filters * by / LINE_BYTES, prefetch.input * by
    return PrefetchDistances(
        filters=LINE_BYTES * max(1, round(lines)) if lines else 0,
        input=max(1, round(blocks)) if blocks else 0,
    )


def cases(kind: str, target: Target) -> Iterator[tuple[str, Case]]:
    """The kind's convolution in every way, with the distances in words."""
    spec, algorithm = KINDS[kind]
    convolution = spec.convolution()
    few = in_few_products(convolution, target)
    found = [*few, *candidates(convolution, target, CaseOptions())]
    made = next(candidate for candidate in found if candidate.name == algorithm)
    chosen = distances_of(made)
    for by in WAYS.values():
        prefetch = scaled(chosen, by) if by else NOTHING
        layer = with_prefetch(made, prefetch, target)
        sizes = {blob.name: FLOAT_BYTES * blob.elements for blob in layer.blobs}
        sizes |= {name: FLOAT_BYTES * made.graph[name].elements for name in ("x", "y")}
        sizes[""] = layer.workspace_bytes
        case = Case(
            kind, convolution.label, algorithm, layer, (), tuple(sizes[a.ref] for a in layer.args)
        )
        of = "B" if made.name == "winograd" else "blocks"
        yield f"{prefetch.filters} B, {prefetch.input} {of}", case


def with_prefetch(made: Candidate, prefetch: PrefetchDistances, target: Target) -> Layer:
    """The kernel call with these; those of depthwise convolution are rows, of its input alone, and
    Winograd's bytes of tiles."""
    own_names = {"depthwise": {"prefetch_input": prefetch.input}}
    own_names["winograd"] = {"prefetch_filters": prefetch.filters, "prefetch_tiles": prefetch.input}
    if made.name in own_names:
        return replace(made.layer, params={**made.layer.params, **own_names[made.name]})
    own = cast("ConvCandidate[Any]", made.layer.candidate)
    planned = replace(own, plan=replace(own.plan, prefetch=prefetch))
    lower = algorithms.algorithms()[made.name].lower
    return lower(planned, made.layer.node, made.graph, target)


def distances_of(made: Candidate) -> PrefetchDistances:
    """Those that the board got."""
    of_input = "prefetch_tiles" if made.name == "winograd" else "prefetch_input"
    filters, blocks = (made.layer.params.get(name, 0) for name in ("prefetch_filters", of_input))
    assert isinstance(filters, int)
    assert isinstance(blocks, int)
    return PrefetchDistances(filters, blocks)


def cell(cycles: Cycles) -> str:
    """Thousands of cycles, those of waiting in parentheses."""
    return f"{cycles.all / 1000:,.0f} ({cycles.waiting / 1000:,.0f})"


def parsed(arguments: Sequence[str] | None) -> argparse.Namespace:
    text = (__doc__ or "").partition("\n")[0]
    parser = argparse.ArgumentParser(description=text)
    parser.add_argument("kinds", nargs="*", metavar="KIND", help=f"of {'; '.join(KINDS)}")
    parser.add_argument("--boards", default="raspberry-pi-3,quartz64-a", metavar="NAMES")
    parser.add_argument("--fills", type=int, default=3, metavar="N")
    parser.add_argument("--streams", type=int, default=0, metavar="N")
    parser.add_argument("--prefetch", type=int, default=4, metavar="N")
    asked = parser.parse_args(arguments)
    if unknown := set(asked.kinds) - set(KINDS):
        parser.error(f"unknown kinds: {', '.join(sorted(unknown))}")
    return asked


def main(arguments: Sequence[str] | None = None) -> None:
    """See the module's text."""
    asked = parsed(arguments)
    core = Core(asked.fills, asked.streams, asked.prefetch if asked.streams else 0)
    with tempfile.TemporaryDirectory() as name:
        folder = Path(name)
        plugin = build(folder)
        for board in map(boards.load, asked.boards.split(",")):
            table = Table("kind", "convolution", "filters, input ahead", *WAYS, "instructions")
            for kind in asked.kinds or KINDS:
                ways = list(cases(kind, board.target))
                programs = (
                    Program(source(case, board), board, folder / "case") for _, case in ways
                )
                found = [program.cycles(plugin, core) for program in programs]
                more = found[2].instructions / found[0].instructions - 1
                table.add_row(kind, ways[0][1].label, ways[2][0], *map(cell, found), f"{more:+.1%}")
            Console(width=160).print(f"{board.name}: {core}", table)


if __name__ == "__main__":
    try:
        main()
    except EdgeconvError as error:
        sys.exit(str(error))
