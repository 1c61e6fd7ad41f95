"""How a command may end."""

from __future__ import annotations

import errno
import os
import signal
import sys
import threading
import traceback
from collections.abc import Sequence
from contextlib import suppress

import click

from edgeconv.app.cli import completion
from edgeconv.app.cli.commands import usage_error
from edgeconv.app.cli.program import NAME, program
from edgeconv.app.terminal import say, show
from edgeconv.base import limits
from edgeconv.base.errors import EdgeconvError, Exit

DEBUG_VARIABLE = "EDGECONV_DEBUG"
INTERRUPTED = 130  # by SIGINT
SIGNALLED = 128  # plus the signal's number, as shells count

# What the file system may refuse at any time, and no fault of the program.
_REFUSALS = (
    errno.EACCES,
    errno.EPERM,
    errno.EROFS,
    errno.ENOSPC,
    errno.EDQUOT,
    errno.ENOTDIR,
    errno.ENAMETOOLONG,
)


def main(arguments: Sequence[str] | None = None) -> int:
    """Run one command; returns its exit status (``edgeconv.base.errors.Exit``)."""
    _clean_up_when_terminated()
    words = list(sys.argv[1:] if arguments is None else arguments)
    try:
        status = _run(words)
        sys.stdout.flush()
        return status
    except KeyboardInterrupt:
        return INTERRUPTED
    except BrokenPipeError:  # the reader has seen enough
        os.dup2(os.open(os.devnull, os.O_WRONLY), sys.stdout.fileno())
        return int(Exit.OK)
    except Exception as error:
        return _signalled(error) or _failed(error, as_json=_wants_json(words))


def _signalled(error: BaseException | None) -> int:
    """The exit status of a signal that ``error`` came of, 0 where it came of none: extension
    modules that are being imported make an ImportError of what a signal raises in them."""
    seen = set[int]()  # what a clean-up raises again may be its own context's
    while error is not None and id(error) not in seen:
        seen.add(id(error))
        if isinstance(error, KeyboardInterrupt):
            return INTERRUPTED
        if isinstance(error, SystemExit) and isinstance(error.code, int):
            return error.code if error.code > SIGNALLED else 0
        error = error.__cause__ or error.__context__
    return 0


def _wants_json(words: list[str]) -> bool:
    """Also of a command line that cannot be parsed."""
    return "--json" in words[: words.index("--") if "--" in words else None]


def _failed(error: Exception, *, as_json: bool) -> int:
    """Says what went wrong; with --json on stdout too, as the one document."""
    name = "error"
    if isinstance(error, OSError) and error.errno in _REFUSALS:
        where = str(error.filename or "the output")
        error = EdgeconvError("cannot write", where=where, got=str(error.strerror))
    if isinstance(error, MemoryError):
        hint = f"a lower {limits.OPTION}, as folded-bytes=1G, refuses what takes the most of it"
        error = EdgeconvError("out of memory", rule="this machine has too little", hint=hint)
    if not isinstance(error, EdgeconvError):
        if os.environ.get(DEBUG_VARIABLE):
            traceback.print_exception(error)
        name = f"internal error, please report it with the output of {DEBUG_VARIABLE}=1"
        error = EdgeconvError(" ".join(f"{type(error).__name__}: {error}".split()))
    say(f"{name}: {error.one_line()}", *error.details)
    if as_json:
        with suppress(BrokenPipeError):
            show("", {"error": error.to_json()}, as_json=True)
    return int(error.code)


def _run(arguments: list[str]) -> int:
    """As click's own ``main``, but that words errors as click does and writes them itself."""
    if instruction := os.environ.get(completion.VARIABLE):
        return completion.answer(program, NAME, instruction)
    try:
        with program.make_context(NAME, arguments) as context:
            return int(program.invoke(context))
    except click.exceptions.Exit as done:  # --help, --version
        return done.exit_code
    except click.UsageError as error:
        raise usage_error(error) from None


def _clean_up_when_terminated() -> None:
    """Other signals unwind as Ctrl-C does, so that nothing half-written stays behind.

    What the caller ignores, as ``nohup`` does SIGHUP, stays ignored.
    """
    if threading.current_thread() is not threading.main_thread():
        return
    for number in (signal.SIGTERM, signal.SIGHUP):
        if signal.getsignal(number) != signal.SIG_IGN:
            signal.signal(number, lambda arrived, _: sys.exit(SIGNALLED + arrived))
