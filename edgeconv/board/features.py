"""What a core has beyond its instruction set's row: stated by the board's file, or detected."""

from __future__ import annotations

from collections.abc import Mapping
from pathlib import Path
from typing import Any

from edgeconv.board.file import invalid
from edgeconv.host import Host
from edgeconv.targets import Target


def multiplies_bfloat16(
    path: Path, data: Mapping[str, Any], row: Target, host: Host | None
) -> bool:
    """What the file ``path`` says, else what ``host`` has, the machine that the board stands for.

    Raises EdgeconvError (exit status 2) where the file says so of an instruction set for which
    there are no such kernels.
    """
    if "bfloat16" not in data:
        able = row.bfloat16_flags is not None
        return able and host is not None and host.has(row.bfloat16_cpu_flags)
    if data["bfloat16"] and row.bfloat16_flags is None:
        raise invalid(path, "bfloat16", "true", f"no kernel for {row.name} multiplies bfloat16")
    return bool(data["bfloat16"])
