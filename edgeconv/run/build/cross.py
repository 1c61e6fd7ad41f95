"""A board as any other machine sees it, whatever the running one is."""

from __future__ import annotations

from dataclasses import replace

from edgeconv.codegen.cross import Cross
from edgeconv.run.build.firmware import FIRMWARE_FLAGS, FIRMWARE_LIBRARIES, FIRMWARE_LINK
from edgeconv.run.build.run import QEMU_SYSTEM_ARGUMENTS
from edgeconv.target import board as boards
from edgeconv.target.board import Board, RunKind
from edgeconv.target.host import running

_NO_ARCH = ""  # of a machine on which every board is a foreign one


def cross(board: Board) -> Cross | None:
    """How to build for ``board`` elsewhere; None for a board that is the running machine.

    The same on every machine, the board itself included, so that what is emitted is too.
    """
    foreign = boards.check(board.path, replace(running(), arch=_NO_ARCH))
    if foreign.arch == _NO_ARCH:  # arch = "host"
        return None
    bare = foreign.bare_metal
    return Cross(
        arch=foreign.arch,
        cc=foreign.toolchain.cc,
        static=foreign.toolchain.static and not bare,
        emulator=_emulator(foreign),
        bare_metal=bare,
        compile=FIRMWARE_FLAGS if bare else (),
        link=FIRMWARE_LINK if bare else (),
        libraries=FIRMWARE_LIBRARIES if bare else (),
    )


def _emulator(board: Board) -> tuple[str, ...]:
    """What stands before the path of a program."""
    system = QEMU_SYSTEM_ARGUMENTS if board.run.kind is RunKind.QEMU_SYSTEM else ()
    emulated = board.run.command and not board.run.on_board
    return (*board.run.command, *system) if emulated else ()
