"""Everything in a model that edgeconv does not compile, told at once."""

from __future__ import annotations

from collections.abc import Callable, Collection
from pathlib import Path

from edgeconv.base.errors import EdgeconvError
from edgeconv.base.names import told_apart
from edgeconv.model.frontend import hints

_NAMES = 3  # how many nodes of one kind are named
_LENGTH = 60  # characters of a name that are shown
_COMPUTED = "real numbers, integers of 2 to 64 bits and bool are computed"

_OUTPUTS = "no type that is computed; it is the same in every run: name the others with --output"


_SUMS = "they may be beyond 2^24, up to which float32 is exact: end the network behind their Cast"


class RejectedNodeError(EdgeconvError):
    """An importer refuses a node that is valid ONNX."""


class Problems:
    """What is unsupported, counted per kind in the order of its first appearance."""

    def __init__(self) -> None:
        self._nodes: dict[tuple[str, str], list[str]] = {}
        self._types: dict[str, list[str]] = {}
        self._outputs: dict[str, list[str]] = {}
        self._sums: list[str] = []

    def node(self, operator: str, name: str, reason: str) -> None:
        """``operator`` (domain.op_type-version) of the node ``name`` is refused for ``reason``."""
        self._nodes.setdefault((operator, reason), []).append(name)

    def value(self, dtype: str, name: str) -> None:
        """The value ``name``, known at run time only, is of a type that is not computed."""
        self._types.setdefault(dtype, []).append(name)

    def output(self, dtype: str, name: str) -> None:
        """The output ``name`` is a constant of ``dtype``, which is not computed."""
        kind = "string" if dtype == "object" or dtype.startswith("str") else dtype
        self._outputs.setdefault(kind, []).append(name)

    def take_values(self, inner: Problems, names: Collection[str]) -> None:
        """Make those values of ``inner`` that are among ``names`` problems of their own here."""
        for dtype, found in [*inner._types.items()]:
            for name in set(found).intersection(names):
                self.value(dtype, name)
            inner._types[dtype] = [name for name in found if name not in names]
            if not inner._types[dtype]:
                del inner._types[dtype]

    def sums(self, name: str) -> None:
        """The output ``name`` is sums of int32, of which float32 has the nearest only."""
        self._sums.append(name)

    @property
    def operators(self) -> list[str]:
        """The refused operators, each once."""
        return list(dict.fromkeys(operator for operator, _ in self._nodes))

    def __bool__(self) -> bool:
        return bool(self._nodes or self._types or self._outputs or self._sums)

    @property
    def refused_nodes(self) -> frozenset[str]:
        """The names of the refused nodes."""
        return frozenset(name for names in self._nodes.values() for name in names)

    @property
    def refused_values(self) -> frozenset[str]:
        """The names of the refused values."""
        return frozenset(name for names in self._types.values() for name in names)

    def lines(self) -> tuple[str, ...]:
        """One line per kind: what, how often, where first, why."""
        return (
            *(
                _line(operator, "node", names, reason, hints.of_operator(operator))
                for (operator, reason), names in self._nodes.items()
            ),
            *(
                _line(f"{dtype} values at run time", "tensor", names, _COMPUTED, "")
                for dtype, names in self._types.items()
            ),
            *(
                f"{dtype} constants as outputs: {_counted('tensor', names)}: {_OUTPUTS}"
                for dtype, names in self._outputs.items()
            ),
            *((f"int32 outputs: {_counted('tensor', self._sums)}: {_SUMS}",) if self._sums else ()),
        )

    def check(self, path: Path, cut: Callable[[], str]) -> None:
        """Raise EdgeconvError when there are problems; ``cut`` tells which part has none."""
        if self:
            lines = self.lines()
            kinds = f"{len(lines)} unsupported {'kind' if len(lines) == 1 else 'kinds'} of node"
            raise EdgeconvError(
                "the model cannot be compiled",
                where=str(path),
                got=f"{kinds} or value",
                hint=cut(),
                details=lines,
            )


def _line(what: str, kind: str, names: list[str], reason: str, way_out: str) -> str:
    return f"{what}: {_counted(kind, names)}: {'; '.join(filter(None, (reason, way_out)))}"


def _counted(what: str, names: list[str]) -> str:
    brief = told_apart(names[:_NAMES], _LENGTH)
    shown = ", ".join(brief[name] for name in names[:_NAMES])
    shown += ", ..." if len(names) > _NAMES else ""
    return f"{len(names)} {what}{'s' if len(names) > 1 else ''} ({shown})"
