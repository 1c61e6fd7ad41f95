"""The micro-kernels timed on the running CPU: every tile, no speed asked for."""

from __future__ import annotations

import json
import os
import subprocess
import sys

import pytest
from innerloop.native import ENOUGH, runnable
from innerloop.program import find_compiler, kernels

from edgeconv.base.errors import Exit
from edgeconv.target.backends import TARGETS
from tests import ROOT

pytestmark = pytest.mark.skipif(
    not hasattr(os, "sched_setaffinity"), reason="cores cannot be chosen here"
)


def run(*arguments: str) -> subprocess.CompletedProcess[str]:
    return subprocess.run(
        [sys.executable, str(ROOT / "bench" / "micro_kernels.py"), "--native", *arguments],
        env={**os.environ, "PYTHONPATH": str(ROOT)},
        capture_output=True,
        text=True,
        check=False,
    )


def test_every_tile_is_timed_once_its_sums_are_right() -> None:
    isa = next(iter(runnable()), "")
    if not isa or find_compiler(TARGETS[isa], "gcc") is None:
        pytest.skip("no vector ISA here, or no GCC for it")
    done = run("--isa", isa, "--compiler", "gcc", "--json")
    assert not done.stderr
    found = json.loads(done.stdout)
    assert [row["kernel"] for row in found] == [str(kernel) for kernel in kernels(TARGETS[isa])]
    assert [row["first"] for row in found] == [True] + [False] * (len(found) - 1)
    assert all(row["gflops"] > 0 and row["peak"] > 0 for row in found)
    assert done.returncode == (0 if found[0]["share"] >= ENOUGH else 1)


def test_an_isa_of_another_cpu_is_refused() -> None:
    other = "power10" if "power10" not in runnable() else "neon"
    done = run("--isa", other)
    assert done.returncode == Exit.USAGE
    assert other in done.stderr
    assert "vector ISAs of this CPU" in done.stderr
    assert not done.stdout
