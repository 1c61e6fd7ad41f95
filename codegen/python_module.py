"""What the emitted Python module says of the network's inputs and outputs."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass

from edgeconv.codegen.ports import Port

# Element types that numpy has; others are bytes and pairs of them, as they lie in memory.
_NUMPY = frozenset(f"{kind}{bits}" for kind in ("int", "uint") for bits in (8, 16, 32, 64)) | {
    "bool",
    "float16",
    "float32",
    "float64",
}


@dataclass(frozen=True, slots=True)
class PythonModule:
    """``inputs`` and ``outputs`` are entries of dicts: name, and C identifier, element type and
    shape as they lie in memory.  Names are literals in ASCII: whatever a model calls a tensor, it
    is no program."""

    inputs: tuple[str, ...]
    outputs: tuple[str, ...]


def python_module(inputs: Sequence[Port], outputs: Sequence[Port]) -> PythonModule:
    """The words of the module for these inputs and outputs."""
    return PythonModule(tuple(map(_entry, inputs)), tuple(map(_entry, outputs)))


def _entry(port: Port) -> str:
    tensor = port.tensor
    element = tensor.dtype if tensor.dtype in _NUMPY else f"uint{8 * tensor.element_bytes}"
    shape = tuple(tensor.layout.physical_shape(tensor.shape))
    return f"{tensor.name!a}: ({port.ident!r}, {element!r}, {shape!r})"
