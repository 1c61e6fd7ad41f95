"""What identifies a kernel call, and what it ran on, wherever it was measured."""

from __future__ import annotations

import hashlib
from collections.abc import Iterator, Mapping
from functools import cache
from importlib import resources
from importlib.resources.abc import Traversable

from edgeconv.ir.choice import Layer, Number, Param
from edgeconv.ir.graph import Tensor
from edgeconv.kernels import headers
from edgeconv.target.board import Board

_METHOD = b"inputs are written right before"
_TEMPLATES = ("templates/conv", "templates/ops")


def kernel_key(layer: Layer) -> str:
    """Equal for kernel calls that run the same code on operands of the same sizes; 32 hexadecimal
    digits.  Values of constants, of which no time depends, are not in it."""
    said = (
        layer.template,
        [(name, _shown(value)) for name, value in sorted(layer.params.items())],
        [(arg.kind.value, arg.c_type) for arg in layer.args],
        [(blob.elements, blob.dtype, str(blob.storage.element)) for blob in layer.blobs],
        [repr(routine) for routine in layer.routines],
        layer.workspace_bytes,
    )
    return hashlib.sha256(repr(said).encode()).hexdigest()[:32]


def _shown(value: Param) -> str:
    return "number" if isinstance(value, Number) else repr(value)


def described(layer: Layer, tensors: Mapping[str, Tensor]) -> tuple[str, str]:
    """For people: what is computed, and how."""
    node = layer.node
    shapes = " ".join(
        "x".join(map(str, tensors[name].shape)) or "1" for name in node.inputs if name
    )
    out = "x".join(map(str, tensors[node.output].shape)) or "1"
    attrs = {
        key: value for key, value in node.attrs.items() if key in ("strides", "groups", "pads")
    }
    workload = f"{node.op} {shapes} to {out}"
    workload += f" {attrs}" if attrs else ""
    workload += " with residual" if node.epilogue.residual else ""
    layouts = [str(tensors[name].layout) for name in (*node.reads(), *node.outputs) if name]
    layouts = [text for text in layouts if text]
    plan = ", ".join(f"{key} {value}" for key, value in layer.plan.items())
    return workload, f"{layer.algorithm} {'/'.join(layouts)}" + (f" ({plan})" if plan else "")


def board_key(board: Board) -> str:
    """The machine and how it is compiled for: two machines may both be called ``host``."""
    return f"{board.name}: {board.cpu}, {board.isa}, {' '.join(board.flags)}"


@cache
def kernel_version() -> str:
    """The version of all kernels, and of how they are timed, 16 hexadecimal digits: what was
    measured of another version says nothing."""
    digest = hashlib.sha256(_METHOD)
    templates = resources.files("edgeconv.codegen")
    for folder in (*headers.folders(), *(templates.joinpath(name) for name in _TEMPLATES)):
        for name, data in _files(folder):
            digest.update(name.encode() + b"\0" + data)
    return digest.hexdigest()[:16]


def _files(folder: Traversable) -> Iterator[tuple[str, bytes]]:
    for entry in sorted(folder.iterdir(), key=lambda each: each.name):
        if entry.name.endswith((".h", ".j2")):
            yield entry.name, entry.read_bytes()
