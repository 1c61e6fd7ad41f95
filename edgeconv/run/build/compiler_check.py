"""Whether a compiler builds what is emitted: a small program of the same kind, built with it.

That a command of some name is there says little: a cross compiler may lack its C library, its own
library, or the processor of a board.
"""

from __future__ import annotations

import os
import tempfile
from dataclasses import dataclass
from functools import cache
from pathlib import Path

from edgeconv.kernels.headers import include_flags
from edgeconv.run.build.firmware import FIRMWARE_FLAGS, FIRMWARE_LIBRARIES, FIRMWARE_LINK, RESET
from edgeconv.run.build.output import first_error, output_of
from edgeconv.target.board import Board

# What main.c of a project needs of a C library.
_HOSTED = """\
#define _POSIX_C_SOURCE 200809L
#include <math.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <time.h>
{includes}
int main(int argc, char **argv)
{{
    struct timespec now;
    return clock_gettime(CLOCK_MONOTONIC, &now) || strlen(argv[0]) > 4096 ||
           printf("%g\\n", fabs(-(double)argc)) < 0;
}}
"""
# What firmware needs: no C library, but floating point and division where the core has none.
_BARE = """\
#include <stddef.h>
#include <stdint.h>
{includes}
void {reset}(void);
volatile float product = 1.5f;
volatile uint64_t quotient = 1000;
void {reset}(void)
{{
    for (;;) {{
        product = product * product / 3.0f;
        quotient /= (uint64_t)product;
    }}
}}
"""


@dataclass(frozen=True, slots=True)
class Sample:
    """A small program.  ``header``: of the instruction set, "" for none.  ``flags``: the board's.
    ``bare``: firmware.  ``static``: linked statically."""

    header: str = ""
    flags: tuple[str, ...] = ()
    bare: bool = False
    static: bool = False

    @property
    def text(self) -> str:
        """The program in C."""
        names = ("ec_common.h", self.header) if self.header else ()
        includes = "\n".join(f'#include "{name}"' for name in names)
        return (_BARE if self.bare else _HOSTED).format(includes=includes, reset=RESET)

    @property
    def arguments(self) -> tuple[str, ...]:
        """The arguments of the compiler, which reads the program from its standard input."""
        if self.bare:
            entry = f"-Wl,--entry={RESET}"
            link: tuple[str, ...] = (*FIRMWARE_FLAGS, *FIRMWARE_LINK, entry)
        else:
            link = ("-static",) * self.static
        libraries = FIRMWARE_LIBRARIES if self.bare else ("-lm",)
        return ("-std=c11", *self.flags, "-x", "c", "-", *link, *libraries)


def sample_of(board: Board) -> Sample:
    """As projects for ``board`` are built."""
    static = board.toolchain.static and not board.bare_metal
    return Sample(board.target.header, board.flags, board.bare_metal, static)


def try_build(command: tuple[str, ...], sample: Sample) -> str:
    """Build ``sample`` with the compiler ``command``; "" or what is wrong.

    Asked once for each compiler while the program runs.
    """
    try:
        changed = os.stat(command[0]).st_mtime_ns  # noqa: PTH116 - of a compiler just installed
    except OSError as error:
        return str(error.strerror)
    return _try_build(command, sample, changed)


@cache
def _try_build(command: tuple[str, ...], sample: Sample, _changed: int) -> str:
    with tempfile.TemporaryDirectory() as folder:
        out = str(Path(folder) / "sample")
        whole = (*command, *include_flags(), *sample.arguments, "-o", out)
        done = output_of(whole, sample.text)
    if done.status == 0:
        return ""
    return first_error(done.stderr) or f"exit status {done.status}"
