"""What a table of networks says of one."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass
from typing import Any

# A module of torch in evaluation mode, and what it is called with.
Built = tuple[Any, tuple[Any, ...]]


@dataclass(frozen=True)
class Network:
    """``build`` makes the module and its inputs; torch's generator is seeded before.

    ``write``, in its place, writes the file that it is given the name of, by an exporter of its
    own.  ``exporters``: "torchscript" and "dynamo", which are both torch.onnx's.  ``options`` are
    passed to torch.onnx.export.  ``needs``: packages besides torch.
    """

    build: Callable[[], Built] | None = None
    write: Callable[[str], None] | None = None
    exporters: tuple[str, ...] = ("torchscript", "dynamo")
    options: tuple[tuple[str, Any], ...] = ()
    needs: tuple[str, ...] = ()
    settle: bool = True  # statistics of batch normalisation from a run on random inputs
    opset: int | None = None
