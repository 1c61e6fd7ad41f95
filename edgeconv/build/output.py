"""What compilers, linkers and other tools print."""

from __future__ import annotations

import re
import subprocess
from collections.abc import Sequence
from dataclasses import dataclass

_ERROR_LINE = re.compile(r"(?:fatal )?error:|undefined reference|ld(?:\.\S+)?:|Error:")
_TIMEOUT_S = 60


@dataclass(frozen=True, slots=True)
class Completed:
    """How a program ended: its exit status and what it printed."""

    status: int
    stdout: str
    stderr: str


def output_of(command: Sequence[str], stdin: str = "") -> Completed:
    """Run a tool for at most a minute; ``status`` is -1 when it could not be started, or hung."""
    try:
        done = subprocess.run(
            command,
            input=stdin,
            capture_output=True,
            text=True,
            errors="replace",
            timeout=_TIMEOUT_S,
            check=False,
        )
    except OSError as error:
        return Completed(-1, "", str(error.strerror))
    except subprocess.TimeoutExpired:
        return Completed(-1, "", f"still running after {_TIMEOUT_S} s")
    return Completed(done.returncode, done.stdout, done.stderr)


def first_error(output: str) -> str:
    """The line that says what failed first, or else the last one; "" of nothing."""
    lines = [line.strip() for line in output.splitlines() if line.strip()]
    return next((line for line in lines if _ERROR_LINE.search(line)), lines[-1] if lines else "")
