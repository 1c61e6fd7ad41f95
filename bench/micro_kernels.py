"""The inner loops of the micro-kernels, on llvm-mca's models of the CPUs that they are for.

    python bench/micro_kernels.py [--isa ISA] [--cpu MODEL] [--compiler gcc|clang] [--json]
    python bench/micro_kernels.py --native [--isa ISA] [--compiler gcc|clang] [--json]

One line per CPU model, compiler and register tile: what a round of the loop does, its cycles, and
the per cent of the multiply-adds per cycle that independent ones reach on the same model.  Exit
status 1 when a loop spills, moves an accumulator, or a first tile is below 95 %.

With --native the tiles run on this CPU instead, on operands in L1, for every ISA that it has:
GFLOP/s and the per cent of independent multiply-adds timed in turn.  Exit status 1 when a first
tile is below 90 %.
"""

from __future__ import annotations

import argparse
import json
import os
import sys
from collections.abc import Iterator
from dataclasses import asdict, dataclass

from innerloop import native
from innerloop.mca import VERSION, bound, cycles, find_mca
from innerloop.models import ENOUGH, MODELS, Model
from innerloop.program import find_compiler, inner_loops, kernels
from innerloop.syntax import SYNTAXES

from edgeconv.base.errors import EdgeconvError, Exit
from edgeconv.target.backends import TARGETS

COMPILERS = ("gcc", "clang")


@dataclass(frozen=True, slots=True)
class Row:
    """One loop on one model.  ``bound``: multiply-adds per cycle."""

    isa: str
    cpu: str
    compiler: str
    kernel: str
    first: bool
    multiply_adds: int
    loads: int
    others: int
    spills: int
    reloads: int
    cycles: float
    bound: float

    @property
    def share(self) -> float:
        """Of the bound."""
        return self.multiply_adds / self.cycles / self.bound

    @property
    def falls_short(self) -> bool:
        """Something spills, or this is a first tile that is too slow."""
        return bool(self.spills or self.reloads or (self.first and self.share < ENOUGH))

    @property
    def text(self) -> str:
        """A line of the table."""
        verdict = "yes" if self.share >= ENOUGH else "no"
        return (
            f"{self.isa:11}{self.cpu:15}{self.compiler:6}{self.kernel:14}"
            f"{self.multiply_adds:4}{self.loads:6}{self.others:6}{self.spills:7}{self.reloads:8}"
            f"{self.cycles:9.2f}{self.bound:7.2f}{100 * self.share:8.1f} {verdict:>5}"
        )


HEAD = (
    f"{'ISA':11}{'CPU':15}{'by':6}{'tile':14}{'fma':>4}{'loads':>6}{'other':>6}{'spills':>7}"
    f"{'reloads':>8}{'cycles':>9}{'bound':>7}{'%':>8} {'>=95':>5}"
)


def rows(mca: str, isa: str, model: Model, family: str) -> Iterator[Row]:
    """All tiles of ``isa`` on a model; none without the compiler."""
    target = TARGETS[isa]
    compiler = find_compiler(target, family)
    if compiler is None:
        return
    syntax = SYNTAXES[target.arch]
    found = inner_loops(target, compiler, model.flags_of(family))
    first = next(kernels(target))
    for kernel, (loop, *_) in found.items():
        yield Row(
            isa=isa,
            cpu=model.name,
            compiler=family,
            kernel=str(kernel),
            first=kernel == first,
            multiply_adds=loop.multiply_adds,
            loads=loop.loads,
            others=loop.others,
            spills=loop.spills,
            reloads=loop.reloads,
            cycles=cycles(mca, loop.body, syntax, model.name),
            bound=bound(mca, loop, syntax, model.name),
        )


def _parser() -> argparse.ArgumentParser:
    parser = argparse.ArgumentParser(description=(__doc__ or "").splitlines()[0])
    isas = dict.fromkeys([*MODELS, *native.runnable()])
    parser.add_argument("--isa", choices=list(isas), help="default: all")
    parser.add_argument("--cpu", help="one model, as llvm-mca calls it; default: all of the ISA")
    parser.add_argument("--compiler", choices=COMPILERS, help="default: both")
    parser.add_argument("--native", action="store_true", help="timed here, instead of modelled")
    parser.add_argument("--json", action="store_true", help="one JSON document instead of a table")
    return parser


def _all(mca: str, args: argparse.Namespace) -> Iterator[Row]:
    for isa, models in MODELS.items():
        for model in models:
            for family in COMPILERS:
                if (
                    args.isa in (None, isa)
                    and args.cpu in (None, model.name)
                    and args.compiler in (None, family)
                ):
                    yield from rows(mca, isa, model, family)


def _native_isas(wanted: str | None) -> tuple[str, ...]:
    """Raises EdgeconvError for an ISA that this CPU does not have."""
    found = native.runnable()
    if not found or wanted not in (None, *found):
        raise EdgeconvError(
            "--native",
            got=wanted or "",
            rule=f"vector ISAs of this CPU: {', '.join(found) or 'none'}",
            code=Exit.USAGE,
        )
    return (wanted,) if wanted else found


def _timed(isas: tuple[str, ...], compiler: str | None) -> Iterator[native.Timed]:
    """All tiles of ``isas``, on one core."""
    os.sched_setaffinity(0, {min(os.sched_getaffinity(0))})
    for isa in isas:
        for family in COMPILERS:
            if compiler in (None, family):
                yield from native.time_kernels(isa, family)


def _show(found: Iterator[Row] | Iterator[native.Timed], head: str, as_json: bool) -> int:
    """Print every row as it comes; the exit status."""
    shown: list[Row | native.Timed] = []
    if not as_json:
        print(head)
    for row in found:
        shown.append(row)
        if not as_json:
            print(row.text, flush=True)
    if as_json:
        print(json.dumps([asdict(row) | {"share": row.share} for row in shown], indent=2))
    return 1 if not shown or any(row.falls_short for row in shown) else 0


def main() -> int:
    parser = _parser()
    args = parser.parse_args()
    if args.native and args.cpu:
        parser.error("--native is on this CPU, --cpu on a model")
    mca = find_mca()
    try:
        if args.native:
            timed = _timed(_native_isas(args.isa), args.compiler)
            return _show(timed, native.HEAD, args.json)
        if mca is None:
            print(f"llvm-mca of LLVM {VERSION} is not installed", file=sys.stderr)
            return Exit.MISSING_TOOL
        return _show(_all(mca, args), HEAD, args.json)
    except EdgeconvError as error:
        print("\n".join([str(error), *error.details]), file=sys.stderr)
        return error.code


if __name__ == "__main__":
    sys.exit(main())
