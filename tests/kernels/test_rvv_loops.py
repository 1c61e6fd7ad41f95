"""Inner loops of RVV's micro-kernels, as compiled: nothing is spilled, no register moves, and the
type of vectors is set once in a round at most."""

from __future__ import annotations

import re
import subprocess
from collections.abc import Iterator

import pytest
from innerloop.program import further, kernels, source

from edgeconv.kernels.headers import include_flags
from edgeconv.run.build.compile import BASE_FLAGS
from edgeconv.target.backends import TARGETS
from tests.kernels import builds

_FUNCTION = re.compile(r"^(\w+):\s+# @\w+\n(.*?)^\.Lfunc_end", re.MULTILINE | re.DOTALL)
_LABEL = re.compile(r"(\.LBB\w+):")
_BACK = re.compile(r"b\w+\s.*(\.LBB\w+)")


def loops(body: str) -> Iterator[list[str]]:
    """Instructions from a label to a branch back to it."""
    found: list[str] = []
    at: dict[str, int] = {}
    for line in map(str.strip, body.splitlines()):
        if label := _LABEL.match(line):
            at[label[1]] = len(found)
        elif line and not line.startswith((".", "#")):
            found.append(line)
            back = _BACK.fullmatch(line)
            if back and back[1] in at:
                yield found[at[back[1]] :]


def count(body: list[str], pattern: str) -> int:
    return sum(bool(re.match(pattern, line)) for line in body)


@pytest.mark.parametrize("name", ["rvv256"])
def test_loops_keep_everything_in_registers(name: str) -> None:
    target = TARGETS[name]
    every = (*kernels(target), *further(target))
    compiler = builds.emulated(target).compiler[:2]
    command = [*compiler, *BASE_FLAGS, *target.flags, *include_flags()]
    done = subprocess.run(
        [*command, "-S", "-x", "c", "-", "-o", "-"],
        input=source(target, every),
        text=True,
        capture_output=True,
        check=True,
    )
    bodies = dict(_FUNCTION.findall(done.stdout))
    for kernel in every:
        row = kernel.row(target)
        group = next(n for n in (8, 4, 2, 1) if kernel.tile.vectors % n == 0)
        group = min(group, 4) if row.sums == "int32" else group
        multiplying = [
            body for body in loops(bodies[kernel.function]) if count(body, r"vf?w?ma(cc|dd)")
        ]
        assert multiplying, str(kernel)
        for body in multiplying:
            products = kernel.tile.rows * kernel.tile.vectors // group * row.k
            assert count(body, r"vf?w?ma(cc|dd)") >= products, str(kernel)
            assert not [line for line in body if "(sp)" in line], str(kernel)
            assert not count(body, r"vmv|vs\d+r|vl\d+r"), str(kernel)
            assert count(body, r"vset") <= 1, str(kernel)
