"""What compilers and linkers print."""

from __future__ import annotations

import re

_ERROR_LINE = re.compile(r"(?:fatal )?error:|undefined reference|ld(?:\.\S+)?:|Error:")


def first_error(output: str) -> str:
    """The line that says what failed first, or else the last one; "" of nothing."""
    lines = [line.strip() for line in output.splitlines() if line.strip()]
    return next((line for line in lines if _ERROR_LINE.search(line)), lines[-1] if lines else "")
