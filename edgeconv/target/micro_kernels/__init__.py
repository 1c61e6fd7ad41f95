"""The table of micro-kernels: the modules of this folder hold its rows.

CMake reads them too, so that this package needs nothing but Python, not even `registry`.
"""

from __future__ import annotations

import importlib
import pkgutil
from collections.abc import Mapping
from functools import cache
from types import MappingProxyType

from edgeconv.target.micro_kernels.base import MicroKernel


@cache
def micro_kernels() -> Mapping[str, MicroKernel]:
    """Every row, by name.  ValueError where two have the same: a defect of the table."""
    found: dict[str, MicroKernel] = {}
    for module in sorted(entry.name for entry in pkgutil.iter_modules(__path__)):
        entries = importlib.import_module(f"{__name__}.{module}")
        for row in getattr(entries, "MICRO_KERNELS", ()):
            if found.setdefault(row.name, row) is not row:
                raise ValueError(f"two micro-kernels are called {row.name}")
    return MappingProxyType(found)


@cache
def of_isa(isa: str) -> tuple[MicroKernel, ...]:
    """The rows of an instruction set, whatever its cores may lack."""
    return tuple(row for row in micro_kernels().values() if row.isa == isa)
