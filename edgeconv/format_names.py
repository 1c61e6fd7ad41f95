"""What the name of a storage format says, told without what encodes and decodes: needs nothing but
Python, as ``targets`` does, which CMake reads."""

from __future__ import annotations

import re

GRID_KIND = "int8"  # what all grids of quantised results are called together
GRID_NAME = re.compile(rf"{GRID_KIND}\((?P<scale>[^,()]+), (?P<zero>-?\d+)\)")


def is_grid(form: str) -> bool:
    """Whether a format is one of ``storage.grid``."""
    return bool(GRID_NAME.fullmatch(form))


def kind_of(form: str) -> str:
    """The format without what distinguishes tensors: ``int8`` of every grid."""
    return GRID_KIND if is_grid(form) else form
