"""Compile and link the sources of one project for one board."""

from __future__ import annotations

import shlex
import subprocess
from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Any

from edgeconv.base.arguments import SIZE, SPEED
from edgeconv.base.errors import EdgeconvError
from edgeconv.run.build.elf import Sections, read_sections
from edgeconv.run.build.firmware import FIRMWARE_FLAGS, link_firmware
from edgeconv.run.build.output import first_error
from edgeconv.run.build.toolchain import Compiler, find_compiler
from edgeconv.target.board import Board

BASE_FLAGS = ("-std=c11", "-O3", "-ffp-contract=fast", "-Wall", "-Wextra", "-Wpedantic")
_OPTIMISED = {SPEED: "-O3", SIZE: "-Os"}  # what a program is optimised for -> the option
# Frame sizes go to .su files beside the objects: build.stack adds them up.
MEASURE_FLAGS = ("-fstack-usage",)


@dataclass(frozen=True, slots=True)
class Binary:
    """A linked program.  ``objects``: source name -> its object file."""

    path: Path
    board: Board
    compiler: Compiler
    objects: Mapping[str, Path]

    def sections(self, sources: Iterable[str] | None = None) -> Sections:
        """Sizes of the named sources' objects, or of the whole program with its C library."""
        if sources is None:
            return read_sections(self.path)
        return sum((read_sections(self.objects[name]) for name in sources), Sections())


def optimised_for(program: Mapping[str, Any]) -> str:
    """What the compiler optimises a report's program for, one of `CODE`."""
    return str(program.get("code", SPEED))


def optimisation(program: Mapping[str, Any]) -> str:
    """The compiler's option for a report's program."""
    return _OPTIMISED[optimised_for(program)]


def compile_project(
    directory: Path,
    board: Board,
    *,
    sources: Sequence[str],
    out: Path,
    extra_flags: Sequence[str] = (),
    warnings_as_errors: bool = False,
    compiler: Compiler | None = None,
    linker_script: str = "",
    code: str = SPEED,
) -> Binary:
    """Build ``sources`` (relative to ``directory``, C or assembly) into the program ``out``.

    The compilers run in ``directory``, which is also the include path of C and of ``.incbin``.
    Objects go to ``<out>.objects/`` and what the compilers print to ``<out>.log``.  ``extra_flags``
    go to every compilation and to the link.  With a ``linker_script`` (relative to ``directory``)
    it is firmware: see build.firmware.  ``code``: what the compiler optimises for, one of `CODE`.
    Raises EdgeconvError: no compiler (exit status 3), a source that does not compile or link (1),
    with the first error and the log's path.
    """
    compiler = compiler or find_compiler(board)
    out = out.resolve()
    folder = out.with_name(f"{out.name}.objects")
    folder.mkdir(parents=True, exist_ok=True)
    log = out.with_name(f"{out.name}.log")
    log.write_text("")
    options = [_OPTIMISED[code] if word == _OPTIMISED[SPEED] else word for word in BASE_FLAGS]
    common = [*compiler.command, *options, *MEASURE_FLAGS, *board.flags, *extra_flags]
    common += [*FIRMWARE_FLAGS] if linker_script else []
    common += ["-Werror"] if warnings_as_errors else []
    objects: dict[str, Path] = {}
    for source in sources:
        objects[source] = folder / f"{source.replace('/', '_')}.o"
        arguments = ["-I.", "-c", source, "-o", str(objects[source])]
        _call([*common, *arguments], directory, log, f"{source} does not compile")

    def link(arguments: Sequence[str]) -> None:
        files = [*map(str, objects.values()), *arguments, "-o", str(out)]
        _call([*common, *files], directory, log, f"{out.name} does not link")

    if linker_script:
        link_firmware(link, directory, linker_script, out, objects.values())
    else:
        link(["-static"] * board.toolchain.static)
    return Binary(out, board, compiler, objects)


def _call(command: Sequence[str], directory: Path, log: Path, failure: str) -> None:
    """Run one compiler, its command line and output appended to ``log``."""
    done = subprocess.run(
        command,
        cwd=directory,
        text=True,
        errors="replace",
        stdout=subprocess.PIPE,
        stderr=subprocess.STDOUT,
        check=False,
    )
    with log.open("a") as stream:
        stream.write(f"$ {shlex.join(command)}\n{done.stdout}")
    if done.returncode != 0:
        raise EdgeconvError(
            failure,
            got=first_error(done.stdout) or f"exit status {done.returncode}",
            hint=f"all of it is in {log}",
        )
