"""Reference engines, each model run in a process that is not this one.

An engine may crash, write to the terminal what nobody reads there, or take all of the time that
there is.  None of that is the end of what asks it: the process is one that can be ended, and the
next model gets another.
"""

from __future__ import annotations

import atexit
import signal
import subprocess
import sys
import tempfile
import weakref
from collections.abc import Mapping, Sequence
from contextlib import suppress
from itertools import count
from multiprocessing import Pipe
from pathlib import Path
from typing import Any

import numpy.typing as npt

from edgeconv.base.closing import Closing
from edgeconv.model.frontend import engine_process
from edgeconv.model.frontend.engine_process import DONE, NO_MEMORY

Values = npt.NDArray[Any]
_PROGRAM = Path(engine_process.__file__)
_LAST_WORDS = 2000  # bytes of what a process has written before it crashed


class RefusedError(Exception):
    """The engine does not run the model, or has crashed; the text says which."""


class TooLongError(RefusedError):
    """It has had all of its time."""


class Session(Closing):
    """A model in an engine.  ``engine``: what that calls itself, with its version.

    Raises RefusedError; MemoryError.
    """

    _numbers = count()

    def __init__(
        self,
        engine: str,
        data: bytes,
        constants: Mapping[str, Values],
        folder: Path,
        names: Sequence[str],
        seconds: float | None = None,
    ) -> None:
        self._process = _running()
        self._number = next(Session._numbers)
        self._forget = weakref.finalize(self, self._process.forgotten.append, self._number)
        asked = ("open", self._number, engine, data, dict(constants), str(folder), list(names))
        self.engine: str = self._process.ask(asked, seconds)

    def run(self, feeds: Mapping[str, Any], seconds: float | None = None) -> list[Any]:
        """The values of the names that it was made for.  ``seconds``: the most that may take.

        Raises RefusedError; MemoryError.
        """
        found: list[Any] = self._process.ask(("run", self._number, dict(feeds)), seconds)
        return found

    def close(self) -> None:
        """Forget the model, as is done with one that nobody can ask any more."""
        self._forget()


class _Process:
    """One that answers one question after the other.  ``forgotten``: models that nobody asks
    about any more, which it is told with the next question."""

    def __init__(self) -> None:
        self.forgotten: list[int] = []
        self._connection, other = Pipe()
        self._written = tempfile.TemporaryFile()  # noqa: SIM115 - as long as the process
        with other:
            self._process = subprocess.Popen(
                [sys.executable, "-I", str(_PROGRAM), str(other.fileno())],
                stdin=subprocess.DEVNULL,
                stdout=self._written,
                stderr=self._written,
                pass_fds=[other.fileno()],
            )
        self._send(sys.path)

    @property
    def alive(self) -> bool:
        return self._process.poll() is None

    def ask(self, question: tuple[Any, ...], seconds: float | None) -> Any:
        """The answer.  Whatever is raised meanwhile, Ctrl-C included, ends the process."""
        if self._connection.closed:
            raise RefusedError("its process has ended")
        try:
            forgotten, self.forgotten[:] = list(self.forgotten), []
            self._send((forgotten, *question))
            if not self._connection.poll(seconds):
                raise TooLongError(f"still running after {seconds:g} s")
            kind, answer = self._connection.recv()
        except (EOFError, ConnectionError):
            raise RefusedError(self._crash()) from None
        except BaseException:
            self.end()
            raise
        if kind == NO_MEMORY:
            raise MemoryError
        if kind != DONE:
            raise RefusedError(" ".join(str(answer).split()).rstrip("."))
        return answer

    def end(self) -> None:
        """End it, at once."""
        self._process.kill()
        self._process.wait()
        self._connection.close()
        self._written.close()

    def _send(self, question: Any) -> None:
        self._connection.send(question)

    def _crash(self) -> str:
        """How it has ended, and the last that it wrote."""
        status = self._process.wait()
        self._written.seek(max(0, self._written.seek(0, 2) - _LAST_WORDS))
        lines = self._written.read().decode(errors="replace").split("\n")
        last = next((line.strip() for line in reversed(lines) if line.strip()), "")
        self.end()
        by = f"exit status {status}"
        with suppress(ValueError):
            by = signal.Signals(-status).name if status < 0 else by
        return f"it crashed: {by}" + (f", {last}" if last else "")


class _Shared:
    """The process that serves whoever asks, once somebody has."""

    process: _Process | None = None

    def end(self) -> None:
        if self.process and self.process.alive:
            self.process.end()


_shared = _Shared()
atexit.register(_shared.end)


def _running() -> _Process:
    if _shared.process is None or not _shared.process.alive:
        _shared.process = _Process()
    return _shared.process
