"""Reading files that someone else named: regular ones only, and no more of them than is allowed.

A FIFO blocks whoever opens it, a device may never end, and /proc/kcore has 128 TiB.
"""

from __future__ import annotations

import errno
import os
import stat
from collections.abc import Callable
from pathlib import Path
from typing import Any, BinaryIO

from edgeconv.base import limits

_KINDS: tuple[tuple[Callable[[int], bool], str], ...] = (
    (stat.S_ISFIFO, "a pipe"),
    (stat.S_ISSOCK, "a socket"),
    (stat.S_ISCHR, "a device"),
    (stat.S_ISBLK, "a device"),
)


class NotRegularError(OSError):
    """What is there is neither a file nor a directory; ``strerror`` says what."""


def opened(path: Path) -> BinaryIO:
    """``path`` open for reading; never waits for anyone.

    Raises OSError: IsADirectoryError for a directory, NotRegularError for a pipe, socket or device.
    """
    try:
        _require_regular(path.stat().st_mode, path)  # opening some devices has an effect
        handle = os.open(path, os.O_RDONLY | os.O_NONBLOCK | os.O_CLOEXEC)
    except ValueError:  # what Python says of a path with a NUL
        raise NotRegularError(errno.EINVAL, "a path with a NUL character", str(path)) from None
    try:
        _require_regular(os.fstat(handle).st_mode, path)
        return os.fdopen(handle, "rb")
    except BaseException:
        os.close(handle)
        raise


def content(path: Path, limit: str) -> bytes:
    """All bytes of ``path``, which are no more than the limit of that name.

    Raises OSError as ``opened``, and EdgeconvError where there are more.
    """
    with opened(path) as stream:
        most = limits.limit(limit)
        limits.held(limit, os.fstat(stream.fileno()).st_size, str(path))
        found = stream.read(most + 1)  # some files under /proc say that they have none
    if len(found) > most:
        raise limits.exceeded(limit, f"more than {most}", str(path))
    return found


def nested(parse: Callable[[], Any], limit: str, where: str) -> Any:
    """What ``parse`` makes of a JSON or TOML text, no deeper than the limit of that name.

    Parsers recurse, and so does what looks at their result: both give up somewhere in the depth.
    Raises EdgeconvError there, and what ``parse`` raises.
    """
    try:
        found = parse()
    except RecursionError:
        raise limits.exceeded(limit, f"more than {limits.limit(limit)}", where) from None
    waiting, depth = [found], 0
    while waiting:
        inner: list[Any] = []
        for value in waiting:
            if isinstance(value, dict):
                inner += value.values()
            elif isinstance(value, list):
                inner += value
        containers = any(isinstance(value, dict | list) for value in waiting)
        depth = limits.held(limit, depth + containers, where)
        waiting = inner
    return found


def _require_regular(mode: int, path: Path) -> None:
    if stat.S_ISDIR(mode):
        raise IsADirectoryError(errno.EISDIR, "a directory", str(path))
    if not stat.S_ISREG(mode):
        kind = next((word for test, word in _KINDS if test(mode)), "something else")
        raise NotRegularError(errno.EINVAL, f"{kind}, and no file", str(path))
