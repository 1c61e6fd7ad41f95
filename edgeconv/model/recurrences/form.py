"""How the recurrences of a model were compiled, so that it can be read again in the same way."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import asdict, dataclass
from typing import Any


@dataclass(frozen=True)
class Form:
    """``loops``: loops of the model are layers where they can be, else they are written out.
    ``sequences``: as `edgeconv.model.passes.optimise` takes it."""

    loops: bool = False
    sequences: bool = True

    def to_json(self) -> dict[str, bool]:
        """As a report has it; nothing of what is so where it says nothing."""
        return {} if self == Form() else asdict(self)

    @classmethod
    def from_json(cls, found: Mapping[str, Any]) -> Form:
        """What `to_json` made."""
        return cls(bool(found.get("loops", False)), bool(found.get("sequences", True)))
