"""Boards whose cores choose how long vectors are: a sample; `make test-all` runs more."""

from __future__ import annotations

import subprocess
from pathlib import Path

import numpy as np
import pytest

from edgeconv.run.build.project import Project
from edgeconv.run.verify.program import Outputs, run_program
from edgeconv.target import board as boards
from tests import onnx_models
from tests.command import Command
from tests.compilers import lightly
from tests.kernels import builds, emulated
from tests.tools import available
from tests.unit.test_added_backend import model_in
from tests.unit.test_matrix_unit import in_integers

# The CPU of QEMU whose vectors have some length, in a unit of its own, and the board's.  Of SME it
# is the length in streaming mode.
LENGTHS = {
    "generic-sme": ("max,sme-default-vector-length={}", 64),
    "generic-sve": ("max,sve-default-vector-length={}", 64),
    "generic-rvv": ("rv64,v=true,vext_spec=v1.0,vlen={}", 256),
}


@pytest.mark.parametrize("name", LENGTHS)
def test_vectors_of_another_length_are_refused(
    name: str, edgeconv: Command, tmp_path: Path
) -> None:
    """Kernels of a fixed length would compute something else, or nothing."""
    board, (cpu, own) = available(name), LENGTHS[name]
    with lightly():
        edgeconv.ok(
            "compile", model_in(tmp_path), "--board", name, "-o", tmp_path / "out", "--build"
        )
    program, ran = tmp_path / "out" / "build" / "net", {}
    for length in (own // 2, own, 2 * own):
        emulator = [board.run.command[0], "-cpu", cpu.format(length)]
        done = subprocess.run(
            [*emulator, str(program)], capture_output=True, text=True, check=False
        )
        ran[length] = (done.returncode, "vectors have another length" in done.stderr)
    assert ran == {own // 2: (2, True), own: (0, False), 2 * own: (2, True)}


@pytest.mark.slow
@pytest.mark.parametrize("name", LENGTHS)
def test_a_network_of_int8_has_the_bits_of_another_backend(
    name: str, edgeconv: Command, tmp_path: Path
) -> None:
    """Filters with zero points, a product, real results."""
    target = boards.load(name).target
    if builds.unit_of(target):
        emulated.must_multiply_int8(builds.find(target, "gcc"))
    path = onnx_models.save(in_integers(), tmp_path / "net.onnx")
    given = tmp_path / "given.bin"
    given.write_bytes(np.random.default_rng(5).normal(0, 2, (1, 10, 7, 10)).astype("f4").tobytes())

    def results(board: str) -> Outputs:
        asked = ("--board", board, "--algorithm", "real=int8_packed")
        edgeconv.ok("compile", path, *asked, "-o", tmp_path / board)
        project = Project.open(tmp_path / board)
        return run_program(project, project.build(), inputs=given)[0]

    usual, found = results("raspberry-pi-5"), results(name)
    for output, values in usual.items():
        assert np.array_equal(found[output], values), output
