"""The program of steps: what the order search orders, since the layers of a step stay together."""

from __future__ import annotations

from collections.abc import Iterable
from dataclasses import replace
from itertools import chain

from edgeconv.search.memory.program import Program


def contracted(program: Program) -> Program:
    """``program`` with each step as one layer, which writes the rings too that nothing reads."""
    if len(program.steps) == len(program.reads):
        return program
    reads, writes = [], []
    for layers in program.steps:
        made = [*chain.from_iterable(program.writes[i] for i in layers)]
        read = chain.from_iterable(program.reads[i] for i in layers)
        reads.append(tuple(name for name in read if name not in made))
        writes.append(tuple(made))
    return replace(
        program,
        reads=tuple(reads),
        writes=tuple(writes),
        aliases=tuple(
            tuple(chain.from_iterable(program.aliases[i] for i in s)) for s in program.steps
        ),
        workspaces=tuple(map(program.workspace_of, program.steps)),
        steps=tuple((i,) for i in range(len(program.steps))),
        lasting=frozenset(),
    )


def expanded(program: Program, order: Iterable[int]) -> tuple[int, ...]:
    """The layers of an order of steps."""
    return tuple(chain.from_iterable(program.steps[step] for step in order))
