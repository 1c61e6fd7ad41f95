"""What a kernel call does on registers."""

from __future__ import annotations

from dataclasses import dataclass


@dataclass(frozen=True, slots=True)
class Work:
    """``slots``: vector instructions that compute, ``decoding`` those of them that bring numbers
    from storage formats and back.  ``moves``: loads and stores that take issue slots of their own.
    ``weight_bytes`` and ``data_bytes`` pass between registers and the nearest memory: those of
    constants, and those of tensors and workspaces."""

    slots: float
    moves: float
    weight_bytes: float
    data_bytes: float
    decoding: float = 0.0
