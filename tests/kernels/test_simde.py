"""The stand-in for AVX-512 itself, on every machine: a few kernels, and against the processor."""

from __future__ import annotations

import subprocess
from pathlib import Path

import numpy as np
import pytest

from edgeconv.ir.activation import Activation
from edgeconv.kernels.headers import include_flags
from edgeconv.target.backends import TARGETS
from tests.kernels import builds
from tests.kernels.cases import Array, Build, Spec
from tests.kernels.harness import check

AVX512 = TARGETS["avx512"]
PROGRAM = Path(__file__).parent / "simde" / "print_ops.c"
rng = np.random.default_rng(5)


def numbers(*shape: int) -> Array:
    return rng.uniform(-2, 2, shape).astype(np.float32)


def conv(x: tuple[int, ...], out_c: int, kernel: int, groups: int) -> Spec:
    """A padded square convolution that keeps the size, with a residual."""
    pad = kernel // 2
    shape = (x[0], out_c, *x[2:])
    return Spec(
        "Conv",
        {
            "x": numbers(*x),
            "w": numbers(out_c, x[1] // groups, kernel, kernel),
            "b": numbers(out_c),
        },
        shape,
        {
            "kernel": (kernel, kernel),
            "strides": (1, 1),
            "dilations": (1, 1),
            "pads": (pad,) * 4,
            "groups": groups,
        },
        ("w", "b"),
        residual=numbers(*shape),
        after=Activation("relu"),
        tolerance=60,
        scale=8,
    )


SPECS = (
    conv((1, 5, 4, 16), 37, 3, 1),
    conv((1, 19, 4, 16), 19, 3, 19),
    Spec(
        "Dense", {"x": numbers(3, 21), "w": numbers(35, 21), "b": numbers(35)}, (3, 35),
        constants=("w", "b"), tolerance=30, scale=8,
    ),
    Spec(
        "Softmax", {"x": numbers(2, 37)}, (2, 37), {"axis": 1, "log": False}, tolerance=40
    ),
    Spec("Transpose", {"x": numbers(1, 21, 19)}, (1, 19, 21), {"perm": (0, 2, 1)}),
    Spec("Unary", {"x": numbers(70)}, (70,), before=Activation("tanh"), tolerance=4),
    Spec("Unary", {"x": numbers(70)}, (70,), before=Activation("round")),
)  # fmt: skip


def test_kernels(folder: Path) -> None:
    """Without the sanitizers, which take four times as long to compile: who has AVX-512 has the
    same kernels with them natively, and who has not everything that uses `builds.find`.  Nor
    optimised: what is asked is what SIMDe computes."""
    build = builds.with_simde(AVX512, "gcc", ("-O0",))
    check(build, [case for spec in SPECS for case in spec.cases(build.target)], folder)


def printed(build: Build, folder: Path) -> bytes:
    """What ``print_ops`` writes in this build."""
    binary = folder / build.name.replace(" ", "-")
    command = [*build.compiler, *build.target.flags, *include_flags(), str(PROGRAM)]
    command += ["-o", str(binary)]
    compiled = subprocess.run(command, capture_output=True, text=True, check=False)
    assert compiled.returncode == 0, compiled.stderr[:4000]
    return subprocess.run([binary], capture_output=True, check=True).stdout


@pytest.mark.parametrize("compiler", builds.COMPILERS)
def test_same_bits_as_the_processor(compiler: str, folder: Path) -> None:
    """Every vector function, special values included; which NaN comes out is not compared."""
    ours = np.frombuffer(printed(builds.with_simde(AVX512, compiler), folder), np.float32)
    real = np.frombuffer(printed(builds.native(AVX512, compiler), folder), np.float32)
    assert ours.size == real.size > 5000
    same = (ours.view(np.uint32) == real.view(np.uint32)) | (np.isnan(ours) & np.isnan(real))
    assert same.all(), f"first at {np.argmin(same)}: {ours[~same][:8]} for {real[~same][:8]}"
