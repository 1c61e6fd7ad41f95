"""Pages of mapped files: what was read of them, and is not for now, need not stay in memory."""

from __future__ import annotations

import mmap
from collections.abc import Iterable
from typing import Any

import numpy as np
import numpy.typing as npt


def maps_behind(arrays: Iterable[npt.NDArray[np.generic]]) -> tuple[mmap.mmap, ...]:
    """The mapped files that some of ``arrays`` are views of, each once."""
    found: dict[int, mmap.mmap] = {}
    for array in arrays:
        owner: Any = array
        while isinstance(owner, np.ndarray):
            owner = owner.base
        if isinstance(owner, memoryview):
            owner = owner.obj
        if isinstance(owner, mmap.mmap):
            found[id(owner)] = owner
    return tuple(found.values())


def release_pages(maps: Iterable[mmap.mmap]) -> None:
    """Take the pages of ``maps`` out of this process, where the system can: they come back from the
    file, or the system's cache of it, when they are read again."""
    advice: int | None = getattr(mmap, "MADV_DONTNEED", None)
    if advice is not None:
        for each in maps:
            each.madvise(advice)
