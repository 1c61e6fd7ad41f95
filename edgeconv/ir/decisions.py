"""Where a network decides: numbers that jump where what they are computed from moves by a rounding.

An ArgMax of two sums that differ by less than float32's error picks one of them here and the other
one there, and neither is wrong.  So what depends on decisions tells nothing of how near a program
is to its model; what decisions read does.
"""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass
from types import MappingProxyType

from edgeconv.ir.element_types import element_type
from edgeconv.ir.graph import Graph, Node

# Functions from floats to floats that jump, by operator.
_JUMPING: Mapping[str, frozenset[str]] = MappingProxyType(
    {"Elementwise": frozenset({"sign", "modulo", "remainder", "threshold", "hard_shrink"})}
)
_GRIDS = frozenset({"Quantise", "DynamicQuantise"})
_ACTIVATIONS = frozenset({"ceil", "floor", "round"})


@dataclass(frozen=True, slots=True)
class Decisions:
    """The decisions that a network makes of floats.  ``decided``: every tensor that depends on a
    decision.  ``read``: the floats that decisions read, and what is read beside something decided;
    they depend on none."""

    decided: frozenset[str]
    read: tuple[str, ...]


def decisions(graph: Graph) -> Decisions:
    """The decisions of ``graph``."""
    decided: set[str] = set()
    read: dict[str, None] = {}
    for node in graph.nodes:
        names = node.reads()
        if _decides(node, graph) or any(name in decided for name in names):
            decided.update(name for name in node.outputs if name)
            own = (name for name in names if name not in decided and _is_float(graph, name))
            read.update(dict.fromkeys(name for name in own if name not in graph.inputs))
    return Decisions(frozenset(decided), tuple(read))


def _decides(node: Node, graph: Graph) -> bool:
    """Whether results of ``node`` jump: integers and tests of floats, and functions that do.

    Not those on a grid, whose steps `verify` knows."""
    if node.op in _GRIDS or not any(_is_float(graph, name) for name in node.reads()):
        return False
    whole = any(not element_type(graph[name].dtype).is_real for name in node.outputs if name)
    applied = {node.epilogue.before.kind, node.epilogue.after.kind}
    jumps = node.attrs.get("function") in _JUMPING.get(node.op, ())
    return whole or jumps or not applied.isdisjoint(_ACTIVATIONS)


def _is_float(graph: Graph, name: str) -> bool:
    """Whether it is made of floats that are computed at run time."""
    return not graph[name].is_constant and element_type(graph[name].dtype).is_real
