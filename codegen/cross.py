"""What an emitted project must know to be built on another machine than its board."""

from __future__ import annotations

from dataclasses import dataclass


@dataclass(frozen=True, slots=True)
class Cross:
    """Compilers and emulator of a board.

    ``arch``: as uname -m prints it.  ``cc``: compiler commands, best first.  ``static``: link
    statically.  ``emulator``: the command that a program's path follows, empty where there is
    none.  ``bare_metal``: no operating system; then ``compile`` are options of every source
    besides the board's, ``link`` and ``libraries`` what the image is linked with.
    """

    arch: str
    cc: tuple[str, ...]
    static: bool
    emulator: tuple[str, ...]
    bare_metal: bool = False
    compile: tuple[str, ...] = ()
    link: tuple[str, ...] = ()
    libraries: tuple[str, ...] = ()
