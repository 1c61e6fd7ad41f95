"""The inner loops of the micro-kernels, on llvm-mca's models of the CPUs that they are for.

    python bench/micro_kernels.py [--isa ISA] [--cpu MODEL] [--compiler gcc|clang] [--json]

One line per CPU model, compiler and register tile: what a round of the loop does, its cycles, and
the per cent of the multiply-adds per cycle that independent ones reach on the same model.  Exit
status 1 when a loop spills, moves an accumulator, or a first tile is below 95 %.
"""

from __future__ import annotations

import argparse
import json
import sys
from collections.abc import Iterator
from dataclasses import asdict, dataclass

from innerloop.mca import VERSION, bound, cycles, find_mca
from innerloop.models import ENOUGH, MODELS, Model
from innerloop.program import find_compiler, inner_loops, kernels
from innerloop.syntax import SYNTAXES

from edgeconv.errors import EdgeconvError, Exit
from edgeconv.targets import TARGETS

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
    parser.add_argument("--isa", choices=list(MODELS), help="default: all")
    parser.add_argument("--cpu", help="one model, as llvm-mca calls it; default: all of the ISA")
    parser.add_argument("--compiler", choices=COMPILERS, help="default: both")
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


def main() -> int:
    args = _parser().parse_args()
    mca = find_mca()
    if mca is None:
        print(f"llvm-mca of LLVM {VERSION} is not installed", file=sys.stderr)
        return Exit.MISSING_TOOL
    found = []
    if not args.json:
        print(HEAD)
    try:
        for row in _all(mca, args):
            found.append(row)
            if not args.json:
                print(row.text, flush=True)
    except EdgeconvError as error:
        print("\n".join([str(error), *error.details]), file=sys.stderr)
        return error.code
    if args.json:
        print(json.dumps([asdict(row) | {"share": row.share} for row in found], indent=2))
    bad = [r for r in found if r.spills or r.reloads or (r.first and r.share < ENOUGH)]
    return 1 if bad or not found else 0


if __name__ == "__main__":
    sys.exit(main())
