"""Everything in a model that edgeconv does not compile, told at once."""

from __future__ import annotations

from pathlib import Path

from edgeconv.errors import EdgeconvError
from edgeconv.names import told_apart

_NAMES = 3  # how many nodes of one kind are named
_LENGTH = 60  # characters of a name that are shown
_COMPUTED = "only float32 is computed, and quantised integers of 8 or 16 bits"


class RejectedNodeError(EdgeconvError):
    """An importer refuses a node that is valid ONNX."""


class Problems:
    """What is unsupported, counted per kind in the order of its first appearance."""

    def __init__(self) -> None:
        self._nodes: dict[tuple[str, str], list[str]] = {}
        self._types: dict[str, list[str]] = {}

    def node(self, operator: str, name: str, reason: str) -> None:
        """``operator`` (domain.op_type-version) of the node ``name`` is refused for ``reason``."""
        self._nodes.setdefault((operator, reason), []).append(name)

    def value(self, dtype: str, name: str) -> None:
        """The value ``name``, known at run time only, is of a type that is not computed."""
        self._types.setdefault(dtype, []).append(name)

    @property
    def operators(self) -> list[str]:
        """The refused operators, each once."""
        return list(dict.fromkeys(operator for operator, _ in self._nodes))

    def __bool__(self) -> bool:
        return bool(self._nodes or self._types)

    def lines(self) -> tuple[str, ...]:
        """One line per kind: what, how often, where first, why."""
        return (
            *(
                f"{operator}: {_counted('node', names)}: {reason}"
                for (operator, reason), names in self._nodes.items()
            ),
            *(
                f"{dtype} values at run time: {_counted('tensor', names)}: {_COMPUTED}"
                for dtype, names in self._types.items()
            ),
        )

    def check(self, path: Path) -> None:
        """Raise EdgeconvError when there are problems."""
        if self:
            lines = self.lines()
            kinds = f"{len(lines)} unsupported {'kind' if len(lines) == 1 else 'kinds'} of node"
            raise EdgeconvError(
                "the model cannot be compiled",
                where=str(path),
                got=f"{kinds} or value",
                details=lines,
            )


def _counted(what: str, names: list[str]) -> str:
    brief = told_apart(names[:_NAMES], _LENGTH)
    shown = ", ".join(brief[name] for name in names[:_NAMES])
    shown += ", ..." if len(names) > _NAMES else ""
    return f"{len(names)} {what}{'s' if len(names) > 1 else ''} ({shown})"
