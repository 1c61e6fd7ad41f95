"""Run kernels through the real path: lower() -> template -> compiler -> process, against numpy.

A test describes operations and asks for one case per layout that the operator offers::

    spec = Spec("Pool", {"x": x}, shape, attrs={...}, after=Activation("relu"), tolerance=4)
    check(build, [case for spec in specs for case in spec.cases(build.target)], folder)

What they must compute comes from the float64 interpreter of the tests.

``build`` is the fixture of conftest.py: an instruction set, a compiler, how to run its programs.
All cases become one C program; bodies that render equal share one function, as in what edgeconv
emits.  Each case runs once with separate buffers, once per alias that its layer allows, and, when
all aliases are exact, once with all of them granted.  Every buffer is an allocation of its exact
size, so that the sanitizers of the native build see each byte read or written outside; outputs
start as NaN.

``tolerance`` is in units of 2^-23 of max(|expected|, scale): relative to each element with the
default scale of 0.  0 asks for equality.  Constants are named in ``constants``.

``storage`` names formats of run-time tensors ("out" is the output).  Inputs are then numbers that
their format has, and of the output it is asked what the format makes of a result within the
tolerance.
"""

from __future__ import annotations

import subprocess
from collections.abc import Sequence
from pathlib import Path

import numpy as np

from edgeconv.ir.choice import Alias
from edgeconv.kernels.storage import format_of
from tests.kernels.cases import Array, Build, Case
from tests.kernels.programs import Program, compile_program, values_of

ULP = 2.0**-23


def execute(build: Build, cases: Sequence[Case], folder: Path) -> list[tuple[Case, Array]]:
    """Compile all cases into one program, run it, and return every run's logical output."""
    program = Program(build.target)
    for case in cases:
        aliases = case.layer.aliases
        grants: list[tuple[Alias, ...]] = [(), *((alias,) for alias in aliases)]
        if len(aliases) > 1 and all(alias.exact for alias in aliases):
            grants.append(tuple(aliases))
        for granted in grants:
            program.add(case, granted)
    written = _play(build, program, folder)
    results, at = [], 0
    for played in program.runs:
        out = played.case.graph[played.case.layer.node.output]
        memory = format_of(out.storage).decode(written[at : at + played.out[2]])
        results.append((played.case, out.layout.unpack(memory, out.shape)))
        at += played.out[2]
    assert at == len(written)
    return results


def _play(build: Build, program: Program, folder: Path) -> bytes:
    """What the program writes."""
    data = b"".join(value for run in program.runs for value in values_of(run.case))

    def play(options: Sequence[str]) -> subprocess.CompletedProcess[bytes]:
        binary = compile_program(build, program, folder, options)
        command = [*build.runner, str(binary)]
        return subprocess.run(command, input=data, capture_output=True, check=False)

    done = play(build.trapping)
    if done.returncode:
        described = play(()) if build.trapping else done
        raise AssertionError(
            f"{build.name}: ended with {done.returncode}\n{described.stderr.decode()[:4000]}"
        )
    return done.stdout


def check(build: Build, cases: Sequence[Case], folder: Path) -> None:
    """Every run of every case that the build tries is within its case's tolerance."""
    assert cases, "no cases"
    cases = build.some(cases) if build.some else cases
    named = [str(case.layer.params.get("micro_kernel", build.chosen)) for case in cases]
    assert sum(name.endswith(build.chosen) for name in named) > len(named) / 2, set(named)
    failures = []
    for case, got in execute(build, cases, folder):
        want = case.expected.astype(np.float64)
        with np.errstate(invalid="ignore"):
            allowed = case.tolerance * ULP * np.maximum(np.abs(want), case.scale)
            low, high = want - allowed, want + allowed
            form = format_of(case.graph[case.layer.node.output].storage)
            if form.name != "float32":  # rounding keeps the order
                low, high = (form.rounded(edge).astype(np.float64) for edge in (low, high))
            bad = ~(
                ((low <= got) & (got <= high)) | (got == want) | (np.isnan(got) & np.isnan(want))
            )
        if bad.any():
            where = tuple(int(i) for i in np.argwhere(bad)[0])
            failures.append(
                f"{case.label}: {bad.sum()} of {bad.size} differ, first at {where}: "
                f"got {got[where]!r}, expected {want[where]!r}"
            )
    assert not failures, f"{build.name}, {len(failures)} failed:\n" + "\n".join(failures[:20])
