"""The command line, called in this process."""

from __future__ import annotations

import json
from collections.abc import Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import click
import pytest

from edgeconv.app.cli import main, program

BOARD = "generic-c"


def parse(arguments: Sequence[str]) -> click.Context:
    """What the command line makes of ``arguments``, and does nothing with; raises as it does."""
    command: click.Command = program
    context = command.make_context("edgeconv", list(arguments))
    while isinstance(command, click.Group) and (words := [*context._protected_args, *context.args]):
        name, found, rest = command.resolve_command(context, words)
        assert found is not None
        command, context = found, found.make_context(name, rest, parent=context)
    return context


@dataclass(frozen=True, slots=True)
class Done:
    """How a command ended."""

    status: int
    stdout: str
    stderr: str

    def json(self) -> Any:
        """The one JSON document on stdout."""
        return json.loads(self.stdout)


class Command:
    """Calls ``edgeconv`` with ``arguments``."""

    def __init__(self, capture: pytest.CaptureFixture[str]) -> None:
        self._capture = capture

    def __call__(self, *arguments: str | Path) -> Done:
        self._capture.readouterr()
        status = main([str(argument) for argument in arguments])
        printed = self._capture.readouterr()
        return Done(status, printed.out, printed.err)

    def ok(self, *arguments: str | Path) -> Done:
        """The same, which must succeed."""
        done = self(*arguments)
        assert done.status == 0, f"{arguments}\n{done.stderr}"
        return done
