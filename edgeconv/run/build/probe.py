"""Run an image through a debugger and its probe, which are let go of whatever happens here.

A debugger holds the probe for as long as it runs, and may run for ever.  So it is the leader of a
group of processes, in which a shell waits for the end of a pipe whose other end this process has:
where this one ends, by ``kill -9`` too, the group is asked to end, and two seconds later killed.
"""

from __future__ import annotations

import os
import re
import signal
import subprocess
from collections.abc import Sequence
from contextlib import suppress
from pathlib import Path
from tempfile import TemporaryFile
from typing import IO

from edgeconv.run.build.output import Completed
from edgeconv.run.build.program_files import PlaceError
from edgeconv.target.board import Board

_GRACE_S = 2  # for a debugger that is asked to end: it lets the core run, and the probe go
_GUARD = f"""exec 3<&0
{{ trap '' TERM; cat; kill 0; sleep {_GRACE_S}; kill -9 0; }} <&3 >/dev/null 2>&1 &
exec 3<&-
exec "$@" </dev/null"""
_EXIT = re.compile(r"exit ([0-9]{1,10})$")
_MOST_BYTES = 16 << 20  # of what a debugger prints: the last ones


def run_image(
    command: Sequence[str], path: Path, board: Board, cwd: Path | None, timeout: float | None
) -> Completed:
    """Run ``command`` in ``cwd``, which runs the image ``path`` on ``board``, and return how that
    ended, as it says itself: debuggers print to either stream, and their own exit status is seldom
    that of the image.

    Raises PlaceError: the debugger was killed, ran longer than ``timeout`` seconds, or ended before
    the image did; OSError where it cannot be started.
    """
    where = f"{path} on board {board.name}"
    with TemporaryFile() as out, TemporaryFile() as errors:
        status = _run(command, cwd, timeout, (out, errors))
        printed = "".join(_tail(each) for each in (out, errors)).replace("\4", "")
    lines = [line for line in printed.splitlines() if line.strip()]
    last, details = lines[-1].strip() if lines else "no message", tuple(lines[-8:-1])
    if status is None:
        hint = "is the board connected? What is above is the last that the debugger printed"
        what, rule = "the probe did not end", f"still running after {timeout:g} s"
        raise PlaceError(what, where=where, got=last, rule=rule, hint=hint, details=details)
    if status < 0:
        what, rule = "the debugger was killed", signal.Signals(-status).name
        raise PlaceError(what, where=where, got=last, rule=rule, details=details)
    for number in reversed(range(len(lines))):
        if found := _EXIT.search(lines[number]):
            return Completed(int(found[1]), "\n".join(lines), lines[number - 1] if number else "")
    raise PlaceError(
        "the probe did not run the image",
        where=where,
        got=last,
        hint="is the board connected, and run.command right? It ended before the firmware did",
        details=details,
    )


def _run(
    command: Sequence[str],
    cwd: Path | None,
    timeout: float | None,
    streams: tuple[IO[bytes], IO[bytes]],
) -> int | None:
    """The exit status; None where there was no time for one.  Nobody of the group is left."""
    waits, held = os.pipe()
    try:
        process = subprocess.Popen(
            ["/bin/sh", "-c", _GUARD, "sh", *command],
            cwd=cwd,
            stdin=waits,
            stdout=streams[0],
            stderr=streams[1],
            start_new_session=True,
        )
    except BaseException:
        os.close(held)
        raise
    finally:
        os.close(waits)
    try:
        return process.wait(timeout)
    except subprocess.TimeoutExpired:
        return None
    finally:
        os.close(held)
        with suppress(subprocess.TimeoutExpired):
            process.wait(2 * _GRACE_S)
        with suppress(ProcessLookupError):
            os.killpg(process.pid, signal.SIGKILL)
        process.wait()


def _tail(stream: IO[bytes]) -> str:
    size = stream.seek(0, os.SEEK_END)
    stream.seek(max(0, size - _MOST_BYTES))
    return stream.read().decode(errors="replace")
