"""How often QEMU executes each instruction of a firmware, beside its bound in cycles."""

from __future__ import annotations

import re
import subprocess
from collections import Counter
from collections.abc import Mapping
from pathlib import Path

from counting.program import build_plugin
from edgeconv.run.build import find_emulator
from edgeconv.run.build.compile import Binary
from edgeconv.run.build.run import QEMU_SYSTEM_ARGUMENTS

_EXECUTED = re.compile(r"^at ([0-9a-f]+) ([0-9]+)$", re.MULTILINE)
_SECONDS = 600.0


def executions(binary: Binary, folder: Path, cwd: Path) -> Mapping[int, int]:
    """Address -> how often it was executed in a run of ``binary``, which reads and writes files in
    ``cwd``.  Raises CalledProcessError where it fails."""
    plugin = build_plugin(folder, "blocks")
    command = [*find_emulator(binary.board), "-plugin", str(plugin)]
    command += [*QEMU_SYSTEM_ARGUMENTS, str(binary.path.resolve())]
    done = subprocess.run(
        command, cwd=cwd, capture_output=True, text=True, check=True, timeout=_SECONDS
    )
    found: Counter[int] = Counter()
    for address, count in _EXECUTED.findall(done.stderr):
        found[int(address, 16)] += int(count)
    return found
