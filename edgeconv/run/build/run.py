"""Run a built program: directly, under the emulator of its board, or on the board."""

from __future__ import annotations

import shutil
import signal
import subprocess
from collections.abc import Sequence
from pathlib import Path

from edgeconv.base.errors import EdgeconvError, Exit
from edgeconv.run.build.output import Completed, printed
from edgeconv.run.build.probe import run_image
from edgeconv.run.build.program_files import Argument, as_here, still_running
from edgeconv.run.build.ssh import session_of
from edgeconv.target.board import Board, RunKind
from edgeconv.target.board.checks import IMAGE


def find_emulator(board: Board) -> tuple[str, ...]:
    """The command that a program's path follows; empty when the board is this machine.

    Raises EdgeconvError (exit status 3) when the emulator is not installed, or when there is none.
    """
    if board.run.kind is RunKind.NATIVE:
        return ()
    if not board.run.command:
        raise EdgeconvError(
            "programs of this board cannot run here",
            where=f"board {board.name}",
            rule=f"it is {board.arch} and names no emulator",
            hint="flash it and look at firmware_result with a debugger"
            if board.bare_metal
            else f"run on a {board.arch} machine, or add run.command to {board.path.name}",
            code=Exit.MISSING_TOOL,
        )
    program, *arguments = board.run.command
    path = shutil.which(program)
    if path is None:
        raise EdgeconvError(
            "no emulator" if not board.run.on_board else "cannot reach the board",
            where=f"board {board.name}",
            rule=f"needs {program}",
            hint=board.run.install,
            code=Exit.MISSING_TOOL,
        )
    return (path, *arguments)


# After the machine: no window, no serial console, the host's files through semihosting.
_SYSTEM = ("-display", "none", "-monitor", "none", "-serial", "none")
_SEMIHOSTING = ("-semihosting-config", "enable=on,target=native", "-kernel")
QEMU_SYSTEM_ARGUMENTS = (*_SYSTEM, *_SEMIHOSTING)  # the path of the image follows


def run_command(path: Path, board: Board, arguments: Sequence[Argument] = ()) -> list[str]:
    """The command line that runs the program ``path`` from here; raises as ``find_emulator``.

    An image that boots on a machine takes no arguments.
    """
    emulator = find_emulator(board)
    program = str(path.resolve())
    if board.run.kind is RunKind.QEMU_SYSTEM:
        return [*emulator, *QEMU_SYSTEM_ARGUMENTS, program]
    if board.run.kind is RunKind.PROBE:
        return [word.replace(IMAGE, program) for word in emulator]
    return [*emulator, program, *as_here(arguments)]


def run_binary(
    path: Path,
    board: Board,
    arguments: Sequence[Argument] = (),
    *,
    cwd: Path | None = None,
    timeout: float | None = None,
) -> Completed:
    """Run the program ``path`` with ``arguments`` in ``cwd`` for at most ``timeout`` seconds.

    On a board it runs in a folder of its own, and only what the arguments name (`InputFile`,
    `OutputFile`) is there.  A non-zero exit status is the caller's to judge.  Raises EdgeconvError:
    no emulator (exit status 3); the program cannot be started, was killed by a signal, or ran out
    of time (1); the board cannot be reached, over ssh or through a probe (1: `PlaceError`).
    """
    if board.run.kind is RunKind.SSH:
        find_emulator(board)
        try:
            done_there = session_of(board).run(path, arguments, timeout)
        except OSError as error:
            raise _failed(path, board, str(error.strerror)) from error
        if done_there.status in _SIGNALS:
            raise _failed(path, board, _SIGNALS[done_there.status])
        return done_there
    command = run_command(path, board, arguments)
    try:
        if board.run.kind is RunKind.PROBE:
            return run_image(command, path, board, cwd, timeout)
        done = printed(command, cwd=cwd, timeout=timeout)
    except subprocess.TimeoutExpired as error:
        raise still_running(f"{path} on board {board.name}", timeout or 0.0) from error
    except OSError as error:
        raise _failed(path, board, str(error.strerror)) from error
    if done.status < 0:
        raise _failed(path, board, signal.Signals(-done.status).name)
    return done


# What a shell says of a program that a signal ended.
_SIGNALS = {128 + each.value: each.name for each in signal.Signals}


def _failed(path: Path, board: Board, got: str) -> EdgeconvError:
    return EdgeconvError("the program failed", where=f"{path} on board {board.name}", got=got)
