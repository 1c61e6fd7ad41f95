"""What the vector functions of every ISA do with lanes, against numpy.

Kernels use some of them with some counts only: not every width shifts by seven.
"""

from __future__ import annotations

import subprocess
from collections.abc import Iterator
from pathlib import Path

import numpy as np
import pytest

from edgeconv.kernels.headers import include_flags
from edgeconv.target.backends import TARGETS
from tests.kernels import builds
from tests.kernels.cases import Array

PROGRAM = Path(__file__).parent / "vector_ops.c"


def expected(lanes: int) -> Iterator[Array]:
    """What the program writes, in order."""
    p = (np.arange(4 * lanes) * 37 % 83 - 41.5).astype(np.float32)
    a, b, at = p[:lanes], p[lanes : 2 * lanes], np.arange(lanes)
    both = np.concatenate([a, b])
    yield a * b + np.float32(0.5)
    yield np.exp2(np.rint(a))
    yield np.array([a.sum(), a.max(), a.min()])
    yield np.stack([p[3 * i : 3 * i + lanes] for i in range(lanes)]).T
    yield both[0::2]
    yield both[1::2]
    for n in range(lanes):
        yield both[n : n + lanes]
    for n in range(-2, lanes + 3):
        yield np.where((at >= n) & (at < n + (lanes + 1) // 2), a, 0)
    for n in range(lanes + 1):
        for values in (a, p[3 * at], p[3 * lanes - 2 * at], p[(7 * at + 3) % (4 * lanes)], a):
            yield np.where(at < n, values, 0)


@pytest.mark.parametrize("name", builds.isas())
def test_lanes(name: str, folder: Path) -> None:
    target = TARGETS[name]
    if target.runtime:
        pytest.skip(f"the header of {target.runtime}")
    build = builds.find(target, "gcc", builds.SHIPPED)
    binary = folder / "vector_ops"
    command = [*build.compiler, *build.target.flags, *include_flags()]
    command += [f'-DISA="{target.header}"', str(PROGRAM), "-o", str(binary)]
    subprocess.run(command, check=True)
    done = subprocess.run([*build.runner, binary], capture_output=True, check=True)
    found = np.frombuffer(done.stdout, np.float32)
    want = np.concatenate([part.ravel() for part in expected(target.lanes)]).astype(np.float32)
    assert found.size == want.size
    differing = np.flatnonzero(found != want)
    assert not differing.size, (
        f"number {differing[0]}: {found[differing[0]]} for {want[differing[0]]}"
    )


def test_sums_with_offsets_of_their_lanes_are_narrowed(folder: Path) -> None:
    """By every shift, of words and offsets as large as there are."""
    build = builds.find(TARGETS["neon"], "gcc", builds.SHIPPED)
    binary = folder / "narrow_ops"
    command = [*build.compiler, *build.target.flags, *include_flags()]
    headers = {"EC_ISA": build.target.header, "ISA": build.target.integers}
    command += [f'-D{name}="{header}"' for name, header in headers.items()]
    command.append(str(PROGRAM.with_name("narrow_ops.c")))
    subprocess.run([*command, "-o", str(binary)], check=True)
    done = subprocess.run([*build.runner, binary], capture_output=True, check=True, text=True)
    assert not done.stdout
