"""Whether the compiler of a board builds what its file promises, where that compiler is here."""

from __future__ import annotations

from pathlib import Path
from tempfile import TemporaryDirectory

from edgeconv.base.errors import EdgeconvError, Exit, UsageError
from edgeconv.run.build.abi import check_object
from edgeconv.run.build.output import first_error, output_of
from edgeconv.run.build.toolchain import command_lines, program_named
from edgeconv.target.board import Board

_CODE = "float product(float a, float b) { return a * b; }\n"


def try_flags(board: Board) -> None:
    """Compile a function with the first compiler of ``board`` that is installed; without one there
    is nothing to be said.

    Raises EdgeconvError (exit status 2): the compiler refuses the board's flags, or what it makes
    of them does not run on the board's arch.
    """
    for program, *arguments in command_lines(board):
        path = program_named(program)
        if path is not None:
            _compile([path, *arguments], board)
            return


def _compile(command: list[str], board: Board) -> None:
    with TemporaryDirectory() as folder:
        out = Path(folder) / "product.o"
        whole = [*command, *board.flags, "-x", "c", "-", "-c", "-o", str(out)]
        done = output_of(whole, _CODE)
        if done.status != 0 or "conflicts with" in done.stderr:
            raise UsageError(
                "invalid board file",
                where=f"{board.path}: toolchain.flags",
                got=first_error(done.stderr),
                rule=f"{Path(command[0]).name} does not take {' '.join(board.flags)}",
            )
        try:
            check_object(out, board)
        except EdgeconvError as error:
            error.code = Exit.USAGE
            raise
