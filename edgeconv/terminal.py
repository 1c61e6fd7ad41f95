"""What is printed: the result on stdout, everything else on stderr."""

from __future__ import annotations

import sys
from collections.abc import Callable
from typing import Any

from rich.console import RenderableType
from rich.markup import escape
from rich.status import Status

from edgeconv.visible import VisibleConsole, json_text, visible

WIDTH = 100  # of what is printed; a narrower terminal's own


class Progress:
    """What is going on, on a terminal only."""

    def __init__(self) -> None:
        console = VisibleConsole(stderr=True)
        self._status = Status("starting", console=console) if console.is_terminal else None

    def __enter__(self) -> Callable[[str], None]:
        if self._status:
            self._status.start()
        return self._step

    def __exit__(self, *_: object) -> None:
        if self._status:
            self._status.stop()

    def _step(self, what: str) -> None:
        if self._status:
            self._status.update(escape(visible(what)))


def say(first: str, *more: str) -> None:
    """Something beside the result, on stderr."""
    lines = [f"edgeconv: {first}", *(f"  {line}" for line in more)]
    print("\n".join(map(visible, lines)), file=sys.stderr)


def show(shown: RenderableType, document: Any, *, as_json: bool) -> None:
    """The result on stdout: ``document`` with --json, ``shown`` without."""
    if as_json:
        print(json_text(document))
        return
    console = VisibleConsole(highlight=False, emoji=False)
    console.width = min(console.width, WIDTH) if console.is_terminal else WIDTH
    console.print(shown)
