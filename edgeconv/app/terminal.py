"""What is printed: the result on stdout, everything else on stderr."""

from __future__ import annotations

import sys
import threading
import time
from collections.abc import Iterable
from typing import Any

from rich.console import RenderableType
from rich.markup import escape
from rich.status import Status

from edgeconv.base.names import shortened
from edgeconv.base.progress import Progress, Share
from edgeconv.base.visible import VisibleConsole, json_text, visible

EVERY = 15.0  # seconds between lines about what is going on, where there is no terminal
_WHAT_WIDTH = 60  # beside the bar
_BAR, _BAR_WIDTH = "\N{BOX DRAWINGS HEAVY HORIZONTAL}", 20
WIDTH = 100  # of what is printed; a narrower terminal's own


class ProgressDisplay:
    """What is going on: all of it on a terminal, elsewhere a line on stderr every now and then, so
    that a log of minutes is not silent and one of seconds is not full."""

    def __init__(self) -> None:
        console = VisibleConsole(stderr=True)
        self._status = Status("starting", console=console) if console.is_terminal else None
        self._what, self._begun = "starting", time.monotonic()
        self._over = threading.Event()
        self._watch = threading.Thread(target=self._show_progress, daemon=True)

    def __enter__(self) -> Progress:
        if self._status:
            self._status.start()
        else:
            self._watch.start()
        return self._begin

    def __exit__(self, *_: object) -> None:
        if self._status:
            self._status.stop()
        else:
            self._over.set()
            self._watch.join()

    def _begin(self, what: str) -> None:
        self._what = f"{_share(what)}{shortened(str(what), _WHAT_WIDTH)}"
        if self._status:
            self._status.update(f"{_bar(what)}{escape(visible(self._what))}")

    def _show_progress(self) -> None:
        """A line each time that ``EVERY`` seconds have passed."""
        while not self._over.wait(EVERY):
            say(f"{self._what} ({time.monotonic() - self._begun:.0f} s)")


def _bar(what: str) -> str:
    """How much is done, as a bar; nothing of what has no share."""
    if not isinstance(what, Share):
        return ""
    done = round(_BAR_WIDTH * min(max(what.done, 0.0), 1.0))
    return f"[green]{_BAR * done}[/][dim]{_BAR * (_BAR_WIDTH - done)}[/]"


def _share(what: str) -> str:
    return f"{what.done:4.0%}  " if isinstance(what, Share) else ""


def say(first: str, *more: str) -> None:
    """Something beside the result, on stderr."""
    lines = [f"edgeconv: {first}", *(f"  {line}" for line in more)]
    print("\n".join(map(visible, lines)), file=sys.stderr)


def show_lines(lines: Iterable[str], document: Any, *, as_json: bool) -> None:
    """As `show`, for lines that stay whole however long they are: other programs read them."""
    if as_json:
        print(json_text(document))
        return
    for line in lines:
        print(visible(line))


def show(shown: RenderableType, document: Any, *, as_json: bool) -> None:
    """The result on stdout: ``document`` with --json, ``shown`` without."""
    if as_json:
        print(json_text(document))
        return
    console = VisibleConsole(highlight=False, emoji=False)
    console.width = min(console.width, WIDTH) if console.is_terminal else WIDTH
    console.print(shown, crop=False)  # a table may need more, and a terminal breaks lines
