"""What is printed: the result on stdout, everything else on stderr."""

from __future__ import annotations

import json
import sys
from collections.abc import Callable
from typing import Any

from rich.console import Console, RenderableType
from rich.status import Status

WIDTH = 100  # of what is printed; a narrower terminal's own


class Progress:
    """What is going on, on a terminal only."""

    def __init__(self) -> None:
        console = Console(stderr=True)
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
            self._status.update(what)


def say(first: str, *more: str) -> None:
    """Something beside the result, on stderr."""
    print("\n".join([f"edgeconv: {first}", *(f"  {line}" for line in more)]), file=sys.stderr)


def show(shown: RenderableType, document: Any, *, as_json: bool) -> None:
    """The result on stdout: ``document`` with --json, ``shown`` without."""
    if as_json:
        print(json.dumps(document, indent=2, ensure_ascii=False, allow_nan=False))
        return
    console = Console(highlight=False, emoji=False)
    console.width = min(console.width, WIDTH) if console.is_terminal else WIDTH
    console.print(shown)
