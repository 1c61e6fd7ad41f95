"""What reading stored numbers costs on llvm-mca's models, beside what the backends say.

    python bench/decoding.py [--isa ISA] [--cpu MODEL] [--compiler gcc|clang]

Of every direct tile of the ISA the inner loop is compiled as emitted projects are, in float32, with
its filters in each storage format, and with its pixels.  A slot is the time that a multiply-add
takes in the loop in float32, which on most CPUs is that of one of many independent ones (on POWER10
it is twice as long).  What a format takes longer, in slots, is divided by the vectors of filters or
the single pixels that a round reads.  Printed are the middle of the tiles, the least and the most,
and ``Decoding.vector`` or ``Decoding.element`` of the ISA's row: one number for all of its CPUs,
and not of a model for every ISA, as the comment above the rows says.  Pixels that are decoded in
front of the inner loop are not in it, and not printed.  Left out are tiles with an instruction that
the model does not know (vswp of 32-bit Arm).
"""

from __future__ import annotations

import argparse
import contextlib
import statistics
import subprocess
import sys
from collections.abc import Iterator, Mapping
from dataclasses import dataclass
from types import MappingProxyType

from innerloop.assembly import Loop
from innerloop.mca import VERSION, cycles, find_mca
from innerloop.models import MODELS, Model
from innerloop.program import Kernel, find_compiler, inner_loops, kernels
from innerloop.syntax import SYNTAXES

from edgeconv.base.errors import EdgeconvError, Exit
from edgeconv.kernels.storage.float32 import FORMAT as FLOAT32
from edgeconv.search.choose.storage import tensor_formats, weight_formats
from edgeconv.target.backends import TARGETS
from edgeconv.target.targets import Target

# A board's CPU (Rocket Lake) that the micro-kernels are not held against.
_MORE: Mapping[str, tuple[Model, ...]] = MappingProxyType(
    {"avx512": (Model("icelake-server", ("-mtune=icelake-server",)),)}
)
HEAD = f"{'ISA':12}{'CPU':16}{'by':7}{'format':9}{'per':8}" + "".join(
    f"{title:>7}" for title in ("slots", "least", "most", "table")
)


@dataclass(frozen=True, slots=True)
class Row:
    """One format on one model: slots beyond float32 by tile, and what the table says, both of a
    ``unit``: a vector of filters, or an element of pixels."""

    isa: str
    cpu: str
    compiler: str
    storage: str
    unit: str
    slots: tuple[float, ...]
    table: float

    def __str__(self) -> str:
        numbers = (statistics.median(self.slots), min(self.slots), max(self.slots), self.table)
        return (
            f"{self.isa:12}{self.cpu:16}{self.compiler:7}{self.storage:9}{self.unit:8}"
            + "".join(f"{number:7.2f}" for number in numbers)
        )


@dataclass(frozen=True, slots=True)
class Machine:
    """A model of a CPU, and the compiler that code for it comes from."""

    mca: str
    target: Target
    model: Model
    family: str
    compiler: tuple[str, ...]

    def loops(self, **operand: str) -> dict[Kernel, Loop]:
        """The inner loop of every direct tile; ``operand``: the format of its ``filters`` or of its
        ``pixels``, as C names it."""
        tiles = tuple(kernel for kernel in kernels(self.target) if kernel.kind == "direct")
        flags = self.model.flags_of(self.family)
        found = inner_loops(self.target, self.compiler, flags, tiles, **operand)
        return {kernel: of_kernel[0] for kernel, of_kernel in found.items()}

    def step_cycles(self, kernel: Kernel, loop: Loop) -> float:
        """Of one step of a tile, which reads a vector of filters for each of its columns and a
        pixel for each of its rows."""
        steps = loop.multiply_adds / kernel.products(self.target)
        return cycles(self.mca, loop.body, SYNTAXES[self.target.arch], self.model.name) / steps

    def rows(self) -> Iterator[Row]:
        """Every format that filters can have, and every one that pixels can."""
        plain = {kernel: self.step_cycles(kernel, loop) for kernel, loop in self.loops().items()}

        def row(storage: str, unit: str, table: float, **operand: str) -> Row:
            longer = []
            for kernel, loop in self.loops(**operand).items():
                count = kernel.tile.vectors if unit == "vector" else kernel.tile.rows
                slot = plain[kernel] / kernel.products(self.target)
                with contextlib.suppress(subprocess.CalledProcessError):
                    taken = self.step_cycles(kernel, loop) - plain[kernel]
                    longer.append(round(taken / slot / count, 2))
            name = self.target.name
            return Row(name, self.model.name, self.family, storage, unit, tuple(longer), table)

        for name, entry in weight_formats().items():
            if entry is not FLOAT32:
                table = self.target.decoding(entry.encoding).vector
                yield row(name, "vector", table, filters=entry.enumerator)
        for name, entry in tensor_formats().items():
            if entry is not FLOAT32:
                table = self.target.decoding(entry.encoding).element
                found = row(name, "element", table, pixels=entry.enumerator)
                if any(found.slots):
                    yield found


def machines(mca: str, isa: str | None, cpu: str | None, family: str) -> Iterator[Machine]:
    """Those of an ISA (all without one) and a model's name that can be compiled for here."""
    for name, models in MODELS.items():
        for model in (*models, *_MORE.get(name, ())):
            compiler = find_compiler(TARGETS[name], family)
            if compiler and isa in (None, name) and cpu in (None, model.name):
                yield Machine(mca, TARGETS[name], model, family, compiler)


def main() -> int:
    parser = argparse.ArgumentParser(description=(__doc__ or "").splitlines()[0])
    parser.add_argument("--isa", choices=MODELS, help="default: all")
    parser.add_argument("--cpu", help="one model, as llvm-mca calls it; default: all of the ISA")
    parser.add_argument("--compiler", choices=("gcc", "clang"), default="gcc", help="(%(default)s)")
    args = parser.parse_args()
    mca = find_mca()
    if mca is None:
        print(f"llvm-mca of LLVM {VERSION} is not installed", file=sys.stderr)
        return Exit.MISSING_TOOL
    print(HEAD)
    shown = False
    try:
        for machine in machines(mca, args.isa, args.cpu, args.compiler):
            for row in machine.rows():
                print(row, flush=True)
                shown = True
    except EdgeconvError as error:
        print("\n".join([str(error), *error.details]), file=sys.stderr)
        return error.code
    return Exit.OK if shown else Exit.UNSATISFIED


if __name__ == "__main__":
    sys.exit(main())
