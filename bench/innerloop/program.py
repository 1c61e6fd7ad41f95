"""The micro-kernels of a target, one function per register tile, compiled to assembly."""

from __future__ import annotations

import functools
import shutil
import subprocess
from collections.abc import Iterable, Iterator
from dataclasses import dataclass

from edgeconv.base.errors import EdgeconvError, Exit
from edgeconv.kernels.headers import include_flags
from edgeconv.run.build.compile import BASE_FLAGS
from edgeconv.run.build.toolchain import program_named
from edgeconv.target.backends import TARGETS
from edgeconv.target.micro_kernel import Lies, MicroKernel, Tile
from edgeconv.target.targets import PANELS, STRIPS, Target
from innerloop.assembly import Loop, functions, loops
from innerloop.syntax import SYNTAXES

_TRIPLES = {
    "x86_64": "x86_64-linux-gnu",
    "aarch64": "aarch64-linux-gnu",
    "armv7l": "arm-linux-gnueabihf",
    "ppc64le": "powerpc64le-linux-gnu",
}

# As in the kernels: sums stay in the tile while kc steps pass, and are stored afterwards.  The
# pixels of the direct tile lie one block of channels apart.
_SOURCE = """\
#include "ec_common.h"
#include "{header}"
{headers}
EC_INLINE void store(const ec_vec *rows, float *out, ptrdiff_t out_row, int mr, int nv)
{{
    EC_UNROLL
    for (int p = 0; p < mr; p++) {{
        EC_UNROLL
        for (int j = 0; j < nv; j++)
            ec_store(out + p * out_row + j * EC_VL, rows[p * nv + j]);
    }}
}}

#define PANELS(KIND, ROW, MR, NV, A_ROW, A_K)                                                \\
    void KIND##_##MR##_##NV(const void *a, const void *b, float *out, ptrdiff_t row, int kc)  \\
    {{                                                                                       \\
        ec_##ROW##_sums tile;                                                               \\
        ec_vec rows[EC_TILE_VECS];                                                          \\
        ec_##ROW##_init(&tile, NULL, 0, MR, NV);                                            \\
        ec_##ROW##_mac(&tile, a, A_ROW, A_K, b, kc, MR, NV);                                \\
        ec_##ROW##_read(&tile, rows, MR, NV);                                               \\
        store(rows, out, row, MR, NV);                                                      \\
    }}

#define DIRECT(MR, NV)                                                                      \\
    void direct_##MR##_##NV(const float *a, const float *b, const float *bias, float *out,  \\
                            ptrdiff_t row, int kc)                                          \\
    {{                                                                                       \\
        ec_tile tile;                                                                       \\
        ec_vec rows[EC_TILE_VECS];                                                          \\
        ec_tile_init(&tile, bias, MR, NV);                                                  \\
        ec_tile_mac(&tile, a, {pixels}, EC_VL, 1, b, {filters}, kc, MR, NV, 0, MR);         \\
        ec_tile_read(&tile, rows, MR, NV);                                                  \\
        store(rows, out, row, MR, NV);                                                      \\
    }}

{kernels}
"""


@dataclass(frozen=True, slots=True)
class Kernel:
    """``kind``: "outer" (SConv), "direct", or the prefix of another row of the table.  ``slides``:
    each row is the one before, shifted."""

    kind: str
    tile: Tile
    slides: bool = False

    @property
    def name(self) -> str:
        """Its kind, and whether it slides."""
        return f"{self.kind}_sliding" if self.slides else self.kind

    @property
    def function(self) -> str:
        """The name of its function."""
        return f"{self.name}_{self.tile.rows}_{self.tile.vectors}"

    def row(self, target: Target) -> MicroKernel:
        """Its row of the table."""
        return target.kernel({"outer": PANELS, "direct": STRIPS}.get(self.kind, self.kind))

    def products(self, target: Target) -> int:
        """Multiply-adds of one step; an instruction of a matrix unit does ``step`` rows."""
        row = self.row(target)
        return self.tile.rows // (row.row_multiple if row.rate > 1 else 1) * self.tile.vectors

    def macro(self, target: Target) -> str:
        """The call that makes its function; strided rows lie a cache line apart."""
        shape = f"{self.tile.rows}, {self.tile.vectors}"
        if self.kind == "direct":
            return f"DIRECT({shape})"
        row = self.row(target)
        strides = "64, 4" if row.lies is Lies.STRIDED else f"4, {4 * self.tile.rows}"
        if self.slides:
            strides = f"{4 * row.sliding_groups}, 4"
        return f"PANELS({self.name}, {row.prefix}, {shape}, {strides})"

    def __str__(self) -> str:
        return f"{self.name} {self.tile.rows} x {self.tile.vectors}"


def kernels(target: Target) -> Iterator[Kernel]:
    """All of a target, each kind in the order of the table of micro-kernels."""
    yield from (Kernel("outer", tile) for tile in target.kernel(PANELS).tiles)
    yield from (Kernel("direct", tile) for tile in target.tiles)


def further(target: Target) -> Iterator[Kernel]:
    """Those of numbers other than float32, whatever cores of its ISA may lack."""
    for row in TARGETS[target.name].kernels:
        yield from (Kernel(row.prefix, tile) for tile in row.tiles if row.header)
        yield from (Kernel(row.prefix, tile, True) for tile in row.tiles if row.sliding_groups)


@functools.cache
def find_compiler(target: Target, family: str) -> tuple[str, ...] | None:
    """The command of "gcc" or "clang" that compiles for ``target`` here; None without one."""
    triple = _TRIPLES[target.arch]
    if family == "gcc":
        command: tuple[str, ...] = (f"{triple}-gcc",)
    else:
        command = (program_named("clang") or "clang", f"--target={triple}")
    return command if shutil.which(command[0]) and _compiles(command) else None


def _compiles(command: tuple[str, ...]) -> bool:
    """It has the headers of a C library."""
    headers = "#include <stdint.h>\n#include <string.h>\n"
    done = subprocess.run(
        [*command, "-fsyntax-only", "-x", "c", "-"],
        input=headers,
        text=True,
        capture_output=True,
        check=False,
    )
    return done.returncode == 0


def source(
    target: Target, every: Iterable[Kernel], filters: str = "EC_F32", pixels: str = "EC_F32"
) -> str:
    """C of one function per micro-kernel; `include_flags` tells where headers are.

    ``filters``, ``pixels``: storage formats of the direct tiles' operands, as C names them.
    """
    every = tuple(every)
    rows = dict.fromkeys(kernel.row(target) for kernel in every)
    more = ["ec_lanes.h", *(row.header for row in rows if row.header)]
    return _SOURCE.format(
        header=target.header,
        headers="".join(f'#include "{name}"\n' for name in more),
        kernels="\n".join(kernel.macro(target) for kernel in every),
        filters=filters,
        pixels=pixels,
    )


def inner_loops(
    target: Target,
    compiler: tuple[str, ...],
    flags: tuple[str, ...] = (),
    only: tuple[Kernel, ...] = (),
    filters: str = "EC_F32",
    pixels: str = "EC_F32",
) -> dict[Kernel, list[Loop]]:
    """Per micro-kernel (all, or ``only`` these) its innermost loops, the longest first.

    Compiled as emitted projects are, with ``flags`` after those of the target.  Raises
    EdgeconvError when the compiler fails.
    """
    every = only or tuple(kernels(target))
    own = dict.fromkeys(flag for kernel in every for flag in kernel.row(target).flags)
    if "clang" not in compiler[0]:
        own["-fno-ipa-icf"] = None  # rows may be alike
    command = [*compiler, *BASE_FLAGS, *target.flags, *own, *flags, *include_flags()]
    done = subprocess.run(
        [*command, "-S", "-x", "c", "-", "-o", "-"],
        input=source(target, every, filters, pixels),
        text=True,
        capture_output=True,
        check=False,
    )
    if done.returncode != 0:
        raise EdgeconvError(
            "micro-kernels do not compile",
            where=f"{target.name} with {compiler[0]}",
            got=done.stderr.strip().partition("\n")[0],
            code=Exit.UNSATISFIED,
        )
    found = functions(done.stdout)
    syntax = SYNTAXES[target.arch]
    return {kernel: loops(found[kernel.function], syntax) for kernel in every}
