"""A fault at the n-th file operation of a block: an error, a disk that is gone, a process killed.

As SQLite is tested (https://www.sqlite.org/testing.html, "I/O Error Testing"): for every n until
the block no longer gets that far.
"""

from __future__ import annotations

import builtins
import io
import os
from collections.abc import Callable, Iterator
from contextlib import contextmanager, suppress
from typing import Any

import pytest

OPERATIONS = (
    "mkdir", "rmdir", "unlink", "remove", "rename", "replace", "link", "open", "close", "fsync",
    "scandir", "listdir", "stat", "lstat", "fstat", "chmod", "utime",
)  # fmt: skip
KILLED = 9


class Faults:
    """Counts file operations, and has ``strike`` called from the n-th on: once, or every time."""

    def __init__(self, n: int, strike: Callable[[str], None], *, lasting: bool = False) -> None:
        self.n, self.strike, self.lasting = n, strike, lasting
        self.count = 0

    @property
    def struck(self) -> bool:
        return self.count >= self.n

    def operation(self, name: str) -> None:
        self.count += 1
        if self.count == self.n or (self.lasting and self.struck):
            self.strike(name)


class _Stream:
    """A file whose writes count as operations."""

    def __init__(self, stream: Any, faults: Faults) -> None:
        self._stream, self._faults = stream, faults

    def __getattr__(self, name: str) -> Any:
        if name in ("write", "read", "readinto"):
            self._faults.operation(name)
        return getattr(self._stream, name)

    def __enter__(self) -> Any:
        return self

    def __exit__(self, *_: object) -> None:
        self._stream.close()

    def __iter__(self) -> Any:
        return iter(self._stream)


@contextmanager
def injected(faults: Faults) -> Iterator[Faults]:
    """The block runs with ``faults``."""

    def counted(name: str, function: Callable[..., Any]) -> Callable[..., Any]:
        def call(*arguments: Any, **options: Any) -> Any:
            if name == "close":  # which closes, whatever it says
                function(*arguments)
                faults.operation(name)
                return None
            faults.operation(name)
            return function(*arguments, **options)

        return call

    opened = io.open

    def open_stream(*arguments: Any, **options: Any) -> Any:
        faults.operation("open")
        return _Stream(opened(*arguments, **options), faults)

    with pytest.MonkeyPatch.context() as patch:
        for name in OPERATIONS:
            patch.setattr(os, name, counted(name, getattr(os, name)))
        patch.setattr(io, "open", open_stream)
        patch.setattr(builtins, "open", open_stream)
        yield faults


def error(number: int) -> Callable[[str], None]:
    """The operation fails with this error."""

    def strike(_: str) -> None:
        raise OSError(number, os.strerror(number))

    return strike


def killed(block: Callable[[], object], n: int) -> bool:
    """Runs ``block`` in a process that ends, as by SIGKILL, before its n-th operation; whether it
    came that far."""
    child = os.fork()
    if child == 0:
        with suppress(BaseException), injected(Faults(n, lambda _: os._exit(KILLED))):
            block()
        os._exit(0)
    return os.waitstatus_to_exitcode(os.waitpid(child, 0)[1]) == KILLED
