"""Signals that end the program, held back while a folder is between two states."""

from __future__ import annotations

import signal
import threading
from collections.abc import Iterator
from contextlib import contextmanager
from types import FrameType

# What a terminal, a shell or a service manager sends to end a program.
ENDING = (signal.SIGINT, signal.SIGTERM, signal.SIGHUP)


@contextmanager
def deferred() -> Iterator[None]:
    """Signals of ``ENDING`` that arrive inside take effect at the end.

    A signal that is ignored (``nohup``) stays so.  Only the main thread handles signals: in others
    this does nothing.
    """
    if threading.current_thread() is not threading.main_thread():
        yield
        return
    arrived: list[signal.Signals] = []

    def note(number: int, _: FrameType | None) -> None:
        arrived.append(signal.Signals(number))

    before = {number: signal.getsignal(number) for number in ENDING}
    handled = {
        number: handler
        for number, handler in before.items()
        if handler not in (signal.SIG_IGN, None)
    }
    try:
        for number in handled:
            signal.signal(number, note)
        yield
    finally:
        for number, handler in handled.items():
            signal.signal(number, handler)
        for number in dict.fromkeys(arrived):
            signal.raise_signal(number)
