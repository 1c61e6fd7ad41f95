"""Where the user has parts of a network lie: memories of the board, by name."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, field
from typing import Any


@dataclass(frozen=True, slots=True)
class Placement:
    """Memories of a board without an operating system, by the names of its file; "" where the plan
    chooses.

    ``weights``: that of the weight image, ``arena``: of all of the arena, ``io``: of the caller's
    inputs and outputs.  ``layers``: of the constants of single layers, by name, where that is
    another one than ``weights``.
    """

    weights: str = ""
    arena: str = ""
    io: str = ""
    layers: Mapping[str, str] = field(default_factory=dict)

    def of_layer(self, name: str) -> str:
        """The memory of the constants of a layer; "" where that is for the plan to choose."""
        return self.layers.get(name, self.weights)

    def to_json(self) -> dict[str, Any]:
        """For report.json: what is not left to the plan; `placement_of` reads it."""
        named = {"weights": self.weights, "arena": self.arena, "io": self.io}
        found: dict[str, Any] = {what: memory for what, memory in named.items() if memory}
        return found | ({"layers": dict(self.layers)} if self.layers else {})


ANYWHERE = Placement()


def placement_of(document: Mapping[str, Any]) -> Placement:
    """What `Placement.to_json` wrote."""
    return Placement(
        document.get("weights", ""),
        document.get("arena", ""),
        document.get("io", ""),
        dict(document.get("layers", {})),
    )
