"""Networks that keep states, many steps one after the other, beside ONNX Runtime and LiteRT.

    python -m tests.state_steps [--board NAME ...] [--steps N]

A line for every network of `state_models.NETWORKS` and `tflite_streams.STREAMS` and every board: so
many steps of its program, which carries its own states, beside what ONNX Runtime computes with
states of its own, by the largest error over the largest output; or beside LiteRT's reference
kernels, whose bits are asked for.  The sequence runs twice with a reset between, from other garbage
in the rest of the arena, and has to have equal bits.  Programs of this machine run under the
address and undefined-behaviour sanitizers too.  Ends with 1 where a line is off.
"""

from __future__ import annotations

import argparse
import sys
import tempfile
from collections.abc import Callable, Iterator, Sequence
from dataclasses import dataclass
from pathlib import Path

import numpy as np

from edgeconv.app.pipeline import CompileOptions, compile_model, verify_project
from edgeconv.base.errors import EdgeconvError
from edgeconv.run.build.compile import Binary
from edgeconv.run.build.project import Project
from edgeconv.run.verify.program import run_sets
from edgeconv.target import board as boards
from tests import state_models, tflite_streams
from tests.compilers import sanitized
from tests.tflite_files import saved

STEPS = tflite_streams.STEPS
BOOTED = ("mps2-an386", "mps2-an500", "generic-riscv32")
BOARDS = ("host", *BOOTED)
MOST = 1e-5  # of the largest output: float32's rounding, carried from step to step
_DIFFERENT = 20  # numbers of a sequence at least, or nothing would be compared


@dataclass(frozen=True, slots=True)
class Stepped:
    """What a sequence of ``steps`` came to.  ``error``: of the outputs and states over the largest
    of them; 0: the same bits.  ``again``: whether the steps behind a reset have the bits of the
    first ones.  ``checked``: whether they ran under sanitizers as well."""

    steps: int
    error: float
    again: bool
    checked: bool = False

    def within(self, most: float) -> bool:
        return self.again and self.error <= most


def beside_onnxruntime(name: str, board: str, folder: Path, steps: int = STEPS) -> Stepped:
    """The network of that name in `state_models.NETWORKS`, in ``folder``."""
    network = state_models.NETWORKS[name]()
    model = network.saved(folder)
    asked = CompileOptions(model, board, name="net", states=network.states)
    project, _ = compile_model(asked, folder / "out")
    made = verify_project(project.directory, model=model, steps=steps)
    error = max(each.relative for each in made.carried)
    again = made.passed and not made.unwritten
    native = not project.is_firmware
    if native:  # the file of the steps is that of verify
        plain, checked = (
            run_sets(project, binary, steps, steps=steps)[0]
            for binary in _programs(project, folder)
        )
        again = again and all(
            before[port.name].tobytes() == after[port.name].tobytes()
            for before, after in zip(plain, checked, strict=True)
            for port in project.outputs
        )
    return Stepped(made.steps, error, again, native)


def beside_litert(name: str, board: str, folder: Path, steps: int = STEPS) -> Stepped:
    """The network of that name in `tflite_streams.STREAMS`, in ``folder``: bit for bit."""
    stream = tflite_streams.STREAMS[name]()
    asked = CompileOptions(saved(stream.bytes(), folder), board, name="net", requantise="tflite")
    project, _ = compile_model(asked, folder / "out")
    programs = [*_programs(project, folder)]
    sequence = tflite_streams.inputs(stream)[:steps]
    project.run_file.write_bytes(sequence.tobytes() * 2)
    with np.load(tflite_streams.EXPECTED) as expected:
        wanted = expected[name].reshape(-1)[:steps]
    assert len(np.unique(wanted)) > min(_DIFFERENT, steps // 2)
    native, error, again = not project.is_firmware, 0.0, True
    for binary in programs:
        count = len(sequence)
        ran, _ = run_sets(project, binary, 2 * count, steps=count, inputs=project.run_file)
        found = np.array([each["probability"].item() for each in ran]).reshape(2, count)
        error = max(error, float(np.abs(found - wanted).max()))
        again = again and bool((found[0] == found[1]).all())
    return Stepped(len(sequence), error, again, native)


def _programs(project: Project, folder: Path) -> Iterator[Binary]:
    """The program that runs here, and of this machine that with sanitizers."""
    yield project.build(run_here=True)
    if not project.is_firmware:
        yield sanitized(project, folder / "sanitized")


Beside = Callable[[str, str, Path, int], Stepped]
# Names of networks, what each is held to, the function that does, and the largest error.
SUBJECTS: Sequence[tuple[Sequence[str], str, Beside, float]] = (
    (sorted(tflite_streams.STREAMS), "LiteRT", beside_litert, 0.0),
    (sorted(state_models.NETWORKS), "ONNX Runtime", beside_onnxruntime, MOST),
)


def main() -> int:
    parser = argparse.ArgumentParser("python -m tests.state_steps", description=__doc__)
    parser.add_argument("--board", nargs="+", default=BOARDS, choices=boards.names())
    parser.add_argument("--steps", type=int, default=STEPS, help=f"at most {STEPS}")
    given = parser.parse_args()
    failed = 0
    print("| network | board | beside | steps | error | after a reset | sanitizers |")
    print("|---|---|---|--:|--:|---|---|")
    for names, engine, beside, most in SUBJECTS:
        for name in names:
            for board in given.board:
                with tempfile.TemporaryDirectory(prefix="edgeconv-steps-") as folder:
                    made = beside(name, board, Path(folder), min(given.steps, STEPS))
                failed += not made.within(most)
                error = f"{made.error:.1e}" if made.error else "equal bits"
                again = "equal bits" if made.again else "DIFFERENT"
                cells = (name, board, engine, str(made.steps), error, again)
                print(f"| {' | '.join(cells)} | {'clean' if made.checked else ''} |", flush=True)
    return int(failed > 0)


if __name__ == "__main__":
    try:
        sys.exit(main())
    except EdgeconvError as fault:
        sys.exit(f"state_steps: {fault.one_line()}")
