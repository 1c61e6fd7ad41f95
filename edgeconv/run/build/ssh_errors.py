"""What ssh says when it fails, and what to do about it."""

from __future__ import annotations

import re

from edgeconv.base.errors import Exit
from edgeconv.run.build.program_files import PlaceError

_LOG_IN = "`ssh {where}` must log in without a password: ssh-copy-id {where}"
# What ssh prints -> what failed, the way out.
_CAUSES = (
    (
        r"could not resolve hostname",
        "unknown host",
        "correct it, or add it to ~/.ssh/config",
    ),
    (
        r"host identification has changed|host key verification failed",
        "the board is not known by its key",
        "log in once with `ssh {where}`; of a board set up anew ssh says which key to remove",
    ),
    (r"permission denied|too many authentication", "the board refuses the key", _LOG_IN),
    (
        r"connection refused|timed out|no route to host|network is unreachable|not responding",
        "the board does not answer",
        "is it on, with sshd running?",
    ),
    (r"bad configuration option|unknown option", "ssh does not take its options", ""),
    (
        r"no space left|read-only file system|cannot create|failed to create|no such file",
        "no folder for programs on the board",
        "name one with run.folder of the board's file",
    ),
)
_NOISE = re.compile(r"^(?:Warning: Permanently added|Killed by signal|Shared connection).*$", re.M)


def lost(where: str, said: str, by_ssh: bool) -> PlaceError:
    """The error of a connection that was not made; ``by_ssh``: it is ssh that failed."""
    said = _NOISE.sub("", said).strip()
    for pattern, what, hint in _CAUSES:
        if re.search(pattern, said, re.IGNORECASE):
            return _error(what, where, said, hint.format(where=where))
    what = "cannot reach the board" if by_ssh else "the board's shell failed"
    return _error(what, where, said, _LOG_IN.format(where=where))


def dropped(where: str, said: str) -> PlaceError:
    """The error of a connection that was there and is gone."""
    said = _NOISE.sub("", said).strip()
    hint = "say it again when the board is back; what it had in its folder goes with the connection"
    return _error("the connection to the board dropped", where, said, hint)


def not_started(where: str, folder: str, said: str) -> PlaceError:
    """The error of a program that the board does not start."""
    hint = "" if said else "it was built for another kind of machine"
    if re.search(r"permission denied|cannot execute|exec format", said, re.IGNORECASE):
        hint = f"is {folder} on a file system that runs programs (run.folder), and the arch right?"
    elif re.search(r"not found|no such file", said, re.IGNORECASE):
        hint = "the board may lack the C library that it was linked to: toolchain.static = true"
    return _error("the program cannot be started on the board", where, said, hint)


def _error(what: str, where: str, said: str, hint: str) -> PlaceError:
    lines = said.splitlines()
    return PlaceError(
        what,
        where=where,
        got=lines[-1].strip() if lines else "no message",
        hint=hint,
        details=tuple(line.strip() for line in lines[:-1] if line.strip()),
        code=Exit.UNSATISFIED,
    )
