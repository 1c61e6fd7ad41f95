"""What reading and writing a vector of a storage format takes, as compiled: one loop for each."""

from __future__ import annotations

import subprocess
from dataclasses import dataclass

from edgeconv.base.errors import EdgeconvError, Exit
from edgeconv.kernels.headers import include_flags
from edgeconv.run.build.compile import BASE_FLAGS
from edgeconv.target.targets import Target
from innerloop.assembly import Loop, functions, loops
from innerloop.syntax import SYNTAXES

INTEGERS = ("EC_I8", "EC_I4")  # nothing is stored as these
FORMATS = ("EC_F32", "EC_F24", "EC_F16", "EC_F8", *INTEGERS, "EC_Q8")  # of ec_stored.h
STORED = tuple(name for name in FORMATS if name not in INTEGERS)

# A multiply-add a round marks the loop, and takes what was read, or makes what is written.  Its
# factor is a number that no compiler knows.
_SOURCE = """\
#define EC_Q8_TABLE {{0.0235294122f, -3.0f}}
#include "ec_common.h"
#include "{header}"
#include "{stored}"

#define READ(FMT)                                                                           \\
    void read_##FMT(const float *x, const char *p, float *out, int n)                       \\
    {{                                                                                       \\
        const ec_vec f = ec_load(x);                                                        \\
        ec_vec sum = ec_set1(0.0f);                                                         \\
        EC_NO_UNROLL                                                                        \\
        for (; n != 0; n--, p += EC_STORED_SPAN(FMT, EC_VL))                                \\
            sum = ec_fma(f, ec_load_as(p, FMT), sum);                                       \\
        ec_store(out, sum);                                                                 \\
    }}
#define WRITE(FMT)                                                                          \\
    void write_##FMT(const float *x, char *p, int n)                                        \\
    {{                                                                                       \\
        const ec_vec f = ec_load(x);                                                        \\
        ec_vec sum = f;                                                                     \\
        EC_NO_UNROLL                                                                        \\
        for (; n != 0; n--, p += EC_VL * EC_STORED_BYTES(FMT)) {{                            \\
            sum = ec_fma(f, f, sum);                                                        \\
            ec_store_as(p, sum, FMT);                                                       \\
        }}                                                                                   \\
    }}
{functions}
"""


@dataclass(frozen=True, slots=True)
class Cost:
    """Instructions for one vector, those that count rounds and the multiply-add left out.

    ``read`` and ``written``: on vectors, their loads and stores included.  ``scalar``: on general
    registers, which move what is read or written.
    """

    read: int
    written: int | None
    scalar: int

    def __str__(self) -> str:
        return f"{self.read}" if self.written is None else f"{self.read}/{self.written}"


def source(target: Target) -> str:
    """C of one function per format and direction; `include_flags` tells where headers are."""
    wanted = [f"READ({name})" for name in FORMATS] + [f"WRITE({name})" for name in STORED]
    header = target.header
    return _SOURCE.format(
        header=header,
        stored=header.replace("_isa_", "_stored_"),
        functions="\n".join(wanted),
    )


def _on_vectors(loop: Loop) -> int:
    """All but the multiply-add that marks the loop."""
    return loop.loads + loop.others + loop.spills + loop.multiply_adds - 1


def _scalar_moves(loop: Loop, target: Target) -> int:
    """Loads and stores that name no vector register."""
    syntax = SYNTAXES[target.arch]
    return sum(
        (syntax.loads(i) or syntax.stores(i))
        and not any(syntax.named(i, n) for n in range(len(i.operands)))
        for i in loop.body
    )


def costs(
    target: Target, compiler: tuple[str, ...], flags: tuple[str, ...] = ()
) -> dict[str, Cost]:
    """Per format, compiled as emitted projects are.  Raises EdgeconvError where that fails."""
    command = [*compiler, *BASE_FLAGS, *target.flags, *flags, *include_flags()]
    done = subprocess.run(
        [*command, "-S", "-x", "c", "-", "-o", "-"],
        input=source(target),
        text=True,
        capture_output=True,
        check=False,
    )
    if done.returncode != 0:
        raise EdgeconvError(
            "storage formats do not compile",
            where=f"{target.name} with {compiler[0]}",
            got=done.stderr.strip().partition("\n")[0],
            code=Exit.UNSATISFIED,
        )
    found = functions(done.stdout)
    result = {}
    for name in FORMATS:
        (read,) = loops(found[f"read_{name}"], SYNTAXES[target.arch])
        written, scalar = None, _scalar_moves(read, target)
        if name in STORED:
            (write,) = loops(found[f"write_{name}"], SYNTAXES[target.arch])
            written = _on_vectors(write)
            scalar += _scalar_moves(write, target)
        result[name] = Cost(_on_vectors(read), written, scalar)
    return result
