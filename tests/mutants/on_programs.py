"""What ``edgeconv verify`` notices of faults made in emitted C.

    python -m tests.mutants.on_programs MODEL.onnx [--board generic-c] [--only KIND] [--every N]
                                        [--inputs X.npz] [--verbose] [-- OPTIONS OF compile]

Every N-th fault of ``faults`` is made in the emitted program, which is then verified.  What does
not compile counts for nothing.  What verify does not notice is told apart by runs on other inputs:
``no effect`` where the outputs are the same bits there too, else ``missed``.
"""

from __future__ import annotations

import argparse
import shutil
import sys
import tempfile
from collections import Counter
from collections.abc import Iterable, Iterator, Mapping, Sequence
from pathlib import Path

import numpy as np
import numpy.typing as npt

from edgeconv.app.cli import main as edgeconv
from edgeconv.app.pipeline import verify_project
from edgeconv.base.errors import EdgeconvError
from edgeconv.run.build.project import Project
from edgeconv.run.input_arrays import random
from edgeconv.run.verify.inputs import tensor_bytes
from edgeconv.run.verify.program import run_sets
from tests import compilers
from tests.mutants.faults import KINDS, Fault, faults

NOTICED, MISSED, NO_EFFECT, INVALID = OUTCOMES = ("noticed", "missed", "no effect", "invalid")
_SIZES = (1.0, 16.0, 1 / 16)  # of numbers, against those that verify draws


class Trial:
    """The project of ``folder``, in which faults are made and taken back.

    ``inputs``: those that verify takes, None for its own.
    """

    def __init__(self, folder: Path, inputs: Path | None = None) -> None:
        self.project, self.inputs = Project.open(folder), inputs
        self.source = folder / f"{self.project.name}.c"
        self.program = self.source.read_text()
        self.right = self._outputs()

    def faults(self) -> list[Fault]:
        return list(faults(self.program, self.project.name))

    def outcome(self, fault: Fault) -> str:
        """One of `OUTCOMES`."""
        self.source.write_text(fault.text)
        try:
            try:
                self.project.build()
            except EdgeconvError:
                return INVALID
            if not self.verified():
                return NOTICED
            return NO_EFFECT if self._outputs() == self.right else MISSED
        finally:
            self.source.write_text(self.program)

    def verified(self) -> bool:
        """Whether verify calls the program right; one that fails or hangs it does not."""
        try:
            return verify_project(self.project.directory, inputs=self.inputs).passed
        except EdgeconvError:
            return False

    def _outputs(self) -> list[Mapping[str, bytes]]:
        """On other inputs, of several sizes, from garbage."""
        rng = np.random.default_rng(1)
        sets = [self._drawn(size, rng) for size in _SIZES]
        path = self.project.directory / "build" / "others.bin"
        binary = self.project.build()
        path.write_bytes(b"".join(tensor_bytes(each, self.project.inputs) for each in sets))
        try:
            found, _ = run_sets(self.project, binary, len(sets), inputs=path)
        except EdgeconvError:
            return []
        return [{name: value.tobytes() for name, value in each.items()} for each in found]

    def _drawn(self, size: float, rng: np.random.Generator) -> dict[str, npt.NDArray[np.generic]]:
        found: dict[str, npt.NDArray[np.generic]] = {}
        for port in self.project.inputs:
            drawn = random(port.shape, port.dtype, rng)
            real = drawn.dtype.kind == "f"
            found[port.name] = np.multiply(drawn, size, dtype=drawn.dtype) if real else drawn
        return found


def tried(trial: Trial, chosen: Iterable[Fault]) -> Iterator[tuple[Fault, str]]:
    """Each fault with its outcome."""
    for fault in chosen:
        yield fault, trial.outcome(fault)


def summary(counts: Mapping[str, int]) -> str:
    """In words, with the share of those noticed of all that have an effect."""
    of = counts.get(NOTICED, 0) + counts.get(MISSED, 0)
    said = ", ".join(f"{counts.get(outcome, 0)} {outcome}" for outcome in OUTCOMES)
    return f"{said}; {counts.get(NOTICED, 0) / max(of, 1):.1%} of those with an effect noticed"


def main(arguments: Sequence[str] | None = None) -> int:
    parser = argparse.ArgumentParser(
        prog="python -m tests.mutants.on_programs", description=__doc__
    )
    parser.add_argument("model", type=Path)
    parser.add_argument("--board", default="generic-c")
    parser.add_argument("--every", type=int, default=1)
    parser.add_argument("--only", default="", metavar="KIND", help="of faults: words of its name")
    parser.add_argument("--inputs", type=Path)
    parser.add_argument("--verbose", action="store_true", help="every fault, as it is judged")
    parser.add_argument("options", nargs="*", help="of edgeconv compile, after --")
    given = parser.parse_args(arguments)
    with tempfile.TemporaryDirectory() as temporary, compilers.lightly("-O0"):
        folder = Path(temporary) / "net"
        compiled = ["compile", str(given.model), "--board", given.board, "--name", "net"]
        if status := edgeconv([*compiled, "-o", str(folder), *given.options]):
            return status
        trial = Trial(folder, given.inputs)
        if not trial.verified():
            sys.exit("the program is not right without a fault")
        chosen = [fault for fault in trial.faults() if given.only in fault.kind]
        counts: dict[str, Counter[str]] = {kind: Counter() for kind in KINDS}
        for fault, outcome in tried(trial, chosen[:: given.every]):
            counts[fault.kind][outcome] += 1
            if given.verbose or outcome == MISSED:
                print(f"{outcome}: {fault}", flush=True)
        shutil.rmtree(folder)
    for kind, each in counts.items():
        print(f"{kind}: {summary(each)}")
    print(summary(sum(counts.values(), Counter())))
    return 0


if __name__ == "__main__":
    sys.exit(main())
