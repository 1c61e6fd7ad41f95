"""What compilers, linkers, other tools and programs print."""

from __future__ import annotations

import os
import re
import subprocess
from collections.abc import Sequence
from dataclasses import dataclass
from pathlib import Path
from threading import Thread
from time import monotonic
from typing import IO

_ERROR_LINE = re.compile(r"(?:fatal )?error:|undefined reference|ld(?:\.\S+)?:|Error:")
_TIMEOUT_S = 60
_MOST_BYTES = 256 << 20  # of a stream of a program: the times of 10,000 layers, a thousand times
_AT_ONCE = 1 << 16


@dataclass(frozen=True, slots=True)
class Completed:
    """How a program ended: its exit status and what it printed."""

    status: int
    stdout: str
    stderr: str


def output_of(command: Sequence[str], stdin: str = "") -> Completed:
    """Run a tool for at most a minute; ``status`` is -1 when it could not be started, or hung."""
    try:
        done = subprocess.run(
            command,
            input=stdin,
            capture_output=True,
            text=True,
            errors="replace",
            timeout=_TIMEOUT_S,
            check=False,
        )
    except OSError as error:
        return Completed(-1, "", str(error.strerror))
    except subprocess.TimeoutExpired:
        return Completed(-1, "", f"still running after {_TIMEOUT_S} s")
    return Completed(done.returncode, done.stdout, done.stderr)


def first_error(output: str) -> str:
    """The line that says what failed first, or else the last one; "" of nothing."""
    lines = [line.strip() for line in output.splitlines() if line.strip()]
    return next((line for line in lines if _ERROR_LINE.search(line)), lines[-1] if lines else "")


class PrintedTooMuchError(OSError):
    """A program printed more than anybody reads."""

    def __init__(self) -> None:
        super().__init__(0, f"it printed more than {_MOST_BYTES >> 20} MiB")


def printed(
    command: Sequence[str],
    *,
    cwd: Path | None = None,
    given: IO[bytes] | None = None,
    made: IO[bytes] | None = None,
    timeout: float | None = None,
) -> Completed:
    """Run a program, which reads ``given`` and writes to ``made``, for at most ``timeout`` seconds;
    ``status`` is negative where a signal ended it.

    Raises subprocess.TimeoutExpired; OSError where it cannot be started, and PrintedTooMuchError.
    """
    end = None if timeout is None else monotonic() + timeout
    process = subprocess.Popen(
        command,
        cwd=cwd,
        stdin=given or subprocess.DEVNULL,
        stdout=made or subprocess.PIPE,
        stderr=subprocess.PIPE,
    )
    streams = [_Stream(each, process) for each in (process.stdout, process.stderr) if each]
    try:
        for each in streams:  # which end when the program and all that it started have
            each.join(None if end is None else max(0.0, end - monotonic()))
            if each.is_alive():
                raise subprocess.TimeoutExpired(command, timeout or 0.0)
        process.wait(None if end is None else max(1.0, end - monotonic()))
    except BaseException:
        process.kill()
        process.wait()  # what it started may hold the streams for ever
        raise
    if any(each.exceeded for each in streams):
        raise PrintedTooMuchError
    texts = {each.stream: each.text() for each in streams}
    stdout = "" if process.stdout is None else texts[process.stdout]
    return Completed(process.returncode, stdout, texts[process.stderr] if process.stderr else "")


class _Stream(Thread):
    """Reads one to its end, or ends the process where it has too much in it."""

    def __init__(self, stream: IO[bytes], process: subprocess.Popen[bytes]) -> None:
        super().__init__(daemon=True)
        self.stream, self._process = stream, process
        self._read = bytearray()
        self.exceeded = False
        self.start()

    def run(self) -> None:
        while more := os.read(self.stream.fileno(), _AT_ONCE):
            if len(self._read) + len(more) > _MOST_BYTES:
                self.exceeded = True
                self._process.kill()
                return
            self._read += more

    def text(self) -> str:
        self.stream.close()
        return self._read.decode(errors="replace").replace("\r\n", "\n")
