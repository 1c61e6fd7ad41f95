"""Operands of element-wise kernels: layouts that follow a result's, strides, packed constants."""

from __future__ import annotations

import math
from collections.abc import Sequence
from dataclasses import replace

import numpy as np

from edgeconv.ir.choice import Blob
from edgeconv.ir.element_types import element_type
from edgeconv.ir.graph import Graph, Node, Tensor
from edgeconv.ir.layout import ROW_MAJOR, Layout, Shape
from edgeconv.kernels.lowering.calls import constant_blob
from edgeconv.kernels.lowering.images import layouts_of, padding
from edgeconv.kernels.lowering.nest import broadcast_strides
from edgeconv.kernels.lowering.options import LayoutOption
from edgeconv.target.targets import Target


def operand_layout(tensor: Tensor, out: Shape, layout: Layout) -> Layout | None:
    """The layout in which the kernel reads ``tensor`` for a result in ``layout``, if there is one.

    Constants are packed by ``lower``, so they always fit.
    """
    if tensor.is_constant or layout == ROW_MAJOR:
        return ROW_MAJOR
    full = (1,) * (len(out) - len(tensor.shape)) + tensor.shape
    if full[1] == 1:
        return ROW_MAJOR
    if len(tensor.shape) == len(out):
        return layout
    beside = math.prod(full[2:]) == 1 and full[1] % layout.block == 0
    return ROW_MAJOR if beside else None


def operand_layouts(node: Node, graph: Graph, target: Target) -> list[LayoutOption]:
    """The layouts that the output's rank allows and that every operand can follow."""
    out = graph[node.output].shape
    options = []
    for layout in layouts_of(out, target):
        operands = [operand_layout(graph[name], out, layout) for name in node.inputs]
        known = [operand for operand in operands if operand is not None]
        if len(known) == len(operands):
            reads = (*known, *((layout,) if node.epilogue.residual else ()))
            options.append(LayoutOption(reads, (layout,), padding(out, layout)))
    return options


# Narrowest first; of 64 bits, since kernels read the numbers of both kinds as 64 bits.
_NARROWER = {"whole": ("int8", "int16", "int32"), "natural": ("uint8", "uint16", "uint32")}


def narrowed(tensor: Tensor) -> Tensor:
    """A constant of 64-bit integers in the narrowest type that holds them all, as element-wise
    kernels may read it instead; other tensors as they are."""
    if tensor.data is None or tensor.element_bytes < 8 or not tensor.data.size:
        return tensor
    for name in _NARROWER.get(element_type(tensor.dtype).numbers, ()):
        info = np.iinfo(name)
        if info.min <= int(tensor.data.min()) and int(tensor.data.max()) <= info.max:
            return replace(tensor, dtype=name, data=tensor.data.astype(name))
    return tensor


def operand(pointer: str, tensor: Tensor, out: Tensor) -> tuple[str | Blob, Sequence[int]]:
    """The operand and its strides; a constant is packed to the output's rank and layout."""
    if tensor.data is None:
        moves = broadcast_strides(tensor.shape, tensor.layout, out.shape, out.layout)
        return tensor.name, moves
    full = (1,) * (len(out.shape) - len(tensor.shape)) + tensor.shape
    layout = ROW_MAJOR if len(full) < 2 or full[1] == 1 else out.layout
    blob = constant_blob(pointer, tensor.data.reshape(full), layout, tensor.dtype)
    return blob, broadcast_strides(full, layout, out.shape, out.layout)
