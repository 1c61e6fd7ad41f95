"""The one exception the tool raises on purpose, and its exit codes."""

from __future__ import annotations

from collections.abc import Iterator
from contextlib import contextmanager
from enum import IntEnum
from pathlib import Path
from typing import Any


class Exit(IntEnum):
    """Process exit status of the command line (docs/architecture.md, "Command line")."""

    OK = 0
    UNSATISFIED = 1  # the model or a budget cannot be satisfied, or verification failed; also what
    # is damaged, beyond a limit, in the way and not ours, or cannot be written or built
    USAGE = 2  # wrong usage: the command line, or what it names beside that is absent or of no use
    MISSING_TOOL = 3  # a compiler, emulator or reference runtime is not installed


class EdgeconvError(Exception):
    """A problem the user can act on.

    ``what`` failed, ``where`` (file, node, field), the value ``got``, the ``rule`` it breaks and
    a ``hint`` naming the way out.  Printed on one line; ``details`` may add further lines (one per
    unsupported node, say).  ``code``: the exit status, unless another one is given.
    """

    code = Exit.UNSATISFIED

    def __init__(
        self,
        what: str,
        *,
        where: str = "",
        got: str = "",
        rule: str = "",
        hint: str = "",
        details: tuple[str, ...] = (),
        code: Exit | None = None,
    ) -> None:
        self.what, self.where, self.got, self.rule, self.hint = what, where, got, rule, hint
        self.details = details
        self.code = self.code if code is None else code
        super().__init__(self.one_line())

    def with_hint(self, hint: str) -> EdgeconvError:
        """The error with another way out."""
        return self._with(self.where, hint)

    def at(self, where: str) -> EdgeconvError:
        """The error at a place that was not known where it was found."""
        return self._with(where, self.hint)

    def _with(self, where: str, hint: str) -> EdgeconvError:
        return EdgeconvError(
            self.what,
            where=where,
            got=self.got,
            rule=self.rule,
            hint=hint,
            details=self.details,
            code=self.code,
        )

    def to_json(self) -> dict[str, Any]:
        """All of it, for programs; "" of parts that it does not have."""
        return {
            "message": self.one_line(),
            "what": self.what,
            "where": self.where,
            "got": self.got,
            "rule": self.rule,
            "hint": self.hint,
            "details": list(self.details),
            "status": int(self.code),
        }

    def one_line(self) -> str:
        """``what: where: got G; rule; hint`` with the empty parts left out."""
        head = f"{self.what}: {self.where}" if self.where else self.what
        tail = [f"got {self.got}" if self.got else "", self.rule, self.hint]
        parts = [part for part in tail if part]
        return f"{head}: {'; '.join(parts)}" if parts else head


class UsageError(EdgeconvError):
    """Wrong usage: the command line, or what it names is not there or of no use."""

    code = Exit.USAGE


@contextmanager
def refused(
    what: str, path: Path, hint: str = "", kind: type[EdgeconvError] = EdgeconvError
) -> Iterator[None]:
    """What the file system refuses inside, as an error of that ``kind`` about ``path``."""
    try:
        yield
    except OSError as error:
        raise kind(what, where=str(path), got=str(error.strerror), hint=hint) from error
