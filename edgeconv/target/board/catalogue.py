"""All boards there are: those that can be used, and what is wrong with the files of others."""

from __future__ import annotations

from dataclasses import dataclass

from edgeconv.base.errors import EdgeconvError, Exit
from edgeconv.target import board as boards
from edgeconv.target.board import Board
from edgeconv.target.host import Host


@dataclass(frozen=True, slots=True)
class Catalogue:
    """All boards.  ``boards``: sorted by name.  ``invalid``: the errors of files that describe
    none."""

    boards: tuple[Board, ...]
    invalid: tuple[EdgeconvError, ...]

    @property
    def status(self) -> Exit:
        """The exit status of a command that shows them: wrong usage where a file is invalid."""
        return Exit.USAGE if self.invalid else Exit.OK


def load_all(host: Host | None = None) -> Catalogue:
    """Every board of every folder, as seen from ``host`` (default: the running machine).

    Raises EdgeconvError (exit status 2) for the folders themselves, as
    ``target.board_folders.files``.
    """
    found, invalid = [], []
    for name in boards.names():
        try:
            found.append(boards.load(name, host))
        except EdgeconvError as error:
            invalid.append(error)
    return Catalogue(tuple(found), tuple(invalid))
