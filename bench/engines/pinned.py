"""Commands on one core."""

from __future__ import annotations

import os
import subprocess
from collections.abc import Sequence


def pinned(command: Sequence[str], cpu: int) -> subprocess.CompletedProcess[str]:
    """What ``command`` printed and its status; it ran on the core ``cpu`` alone."""
    return subprocess.run(
        command,
        check=False,
        capture_output=True,
        text=True,
        preexec_fn=lambda: os.sched_setaffinity(0, {cpu}),
    )
