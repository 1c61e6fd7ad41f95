"""What a graph rewrite is.

Each module of ``edgeconv.model.passes`` that sets ``PASS`` is one rewrite;
``edgeconv.model.passes.optimise`` finds and runs them.  A pass never changes results beyond
floating-point rounding, never removes or renames an input or output of the graph, and keeps the
ONNX name of every tensor whose value it keeps, so that layers can be compared with the reference by
name.
"""

from __future__ import annotations

from collections.abc import Callable, Mapping
from dataclasses import dataclass
from enum import IntEnum
from functools import wraps
from graphlib import TopologicalSorter

from edgeconv.ir.edit import Editor, is_swept
from edgeconv.ir.graph import Graph
from edgeconv.kernels import ops

Rewrite = Callable[[int, Editor], object]  # of the node at a position


class Stage(IntEnum):
    """Each stage reaches its fixpoint before the next begins."""

    SIMPLIFY = 0  # one spelling for each computation; constants folded into weights
    FUSE = 1  # element-wise work moved into epilogues, which later rewrites cannot look into


@dataclass(frozen=True, slots=True)
class Pass:
    """One graph rewrite.

    ``run`` returns the very graph it was given when there is nothing to do.  ``requires`` says
    what it looks for, ``ensures`` what no longer exists afterwards.  ``after`` names passes of the
    same stage that have to run earlier in each round.  ``of_sequences``: what it writes has results
    of all steps of a recurrence in memory at once, where the model may have those of one.
    ``name``: that of the module of ``run``.
    """

    run: Callable[[Graph], Graph]
    requires: str
    ensures: str
    stage: Stage = Stage.SIMPLIFY
    after: tuple[str, ...] = ()
    of_sequences: bool = False

    @property
    def name(self) -> str:
        return self.run.__module__.rpartition(".")[2]


def at_each(op: str = "") -> Callable[[Rewrite], Callable[[Graph], Graph]]:
    """Decorates the rewrite of one node: a pass that applies it to every node of operator ``op``.

    It gets the position of the node, of any operator without ``op``, and visits nodes added
    meanwhile too.
    """

    def decorated(rewrite: Rewrite) -> Callable[[Graph], Graph]:
        @wraps(rewrite)
        def run(graph: Graph) -> Graph:
            if op and all(node.op != op for node in graph.nodes) and is_swept(graph):
                return graph
            editor = Editor(graph)
            for position in editor:
                if op in ("", editor.node(position).op):
                    rewrite(position, editor)
            return editor.finish()

        return run

    return decorated


def fuses(op: str) -> bool:
    """Whether the kernels of the IR operator ``op`` apply ``Node.epilogue``."""
    operator = ops.operators().get(op)
    return operator is not None and operator.fuses


def in_order(passes: Mapping[str, Pass]) -> tuple[Pass, ...]:
    """By stage, then every pass behind those it names in ``after``, otherwise by name.

    Raises ValueError, a defect of the passes, when ``after`` names an unknown pass, one of a later
    stage, or a cycle.
    """
    for entry in passes.values():
        for name in entry.after:
            if name not in passes or passes[name].stage > entry.stage:
                raise ValueError(f"pass {entry.name!r} cannot run after {name!r}")
    sorter = TopologicalSorter({entry.name: entry.after for entry in passes.values()})
    sorter.prepare()
    ordered: list[Pass] = []
    while sorter.is_active():
        ready = sorted(sorter.get_ready())
        ordered.extend(passes[name] for name in ready)
        sorter.done(*ready)
    return tuple(sorted(ordered, key=lambda entry: entry.stage))
