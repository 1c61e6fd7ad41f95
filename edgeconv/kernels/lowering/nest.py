"""Tensors as nests of loops: strides of layouts, and loops merged where memory is contiguous."""

from __future__ import annotations

import math
from collections.abc import Sequence
from dataclasses import dataclass

from edgeconv.base.errors import EdgeconvError
from edgeconv.ir.graph import Node
from edgeconv.ir.layout import Layout, Order, Shape

MOST_LOOPS = 8  # EC_DIMS of ec_nest.h


def dense_strides(sizes: Sequence[int]) -> tuple[int, ...]:
    """Strides, in elements, of a dense array with these dimensions."""
    return tuple(math.prod(sizes[d + 1 :]) for d in range(len(sizes)))


def logical_strides(shape: Shape, layout: Layout) -> tuple[int, ...]:
    """Strides per logical dimension; ValueError for BLOCKED, whose channels have two."""
    if layout.order is Order.ROW_MAJOR:
        return dense_strides(shape)
    if layout.order is Order.CHANNELS_LAST:
        n, *spatial, c = dense_strides(layout.physical_shape(shape))
        return (n, c, *spatial)
    raise ValueError(f"{layout} has no single channel stride")


def require_loops(node: Node, count: int) -> None:
    """Raise EdgeconvError when a nest of ``count`` loops is deeper than the kernels take."""
    if count > MOST_LOOPS:
        raise EdgeconvError(
            f"unsupported {node.op}",
            where=node.name,
            got=f"{count} dimensions that do not merge",
            rule=f"kernels take {MOST_LOOPS} beyond the innermost two",
            hint="reshape to fewer dimensions around the node",
        )


def is_blocked(layout: Layout) -> bool:
    """Whether channels are cut in blocks."""
    return layout.order is Order.BLOCKED


@dataclass(frozen=True, slots=True)
class Nest:
    """Loops, outermost first, over several tensors that move by ``strides[tensor][loop]``."""

    sizes: tuple[int, ...]
    strides: tuple[tuple[int, ...], ...]

    def outer(self, count: int) -> Nest:
        """The first ``count`` loops, one of a single round when that is none."""
        if count == 0:
            return Nest((1,), tuple((0,) for _ in self.strides))
        return Nest(self.sizes[:count], tuple(s[:count] for s in self.strides))


def collapse(sizes: Sequence[int], *strides: Sequence[int]) -> Nest:
    """The loops with those of one round left out and neighbours merged.

    Two loops merge where, in every tensor, the outer one moves by a whole inner loop.  At least
    one loop remains.
    """
    kept = [d for d, size in enumerate(sizes) if size != 1]
    merged: list[tuple[int, list[int]]] = []
    for d in kept:
        steps = [s[d] for s in strides]
        if merged:
            size, outer = merged[-1]
            if all(o == sizes[d] * i for o, i in zip(outer, steps, strict=True)):
                merged[-1] = (size * sizes[d], steps)
                continue
        merged.append((sizes[d], steps))
    if not merged:
        return Nest((1,), tuple((0,) for _ in strides))
    return Nest(
        tuple(size for size, _ in merged),
        tuple(tuple(steps[t] for _, steps in merged) for t in range(len(strides))),
    )


def broadcast_strides(shape: Shape, layout: Layout, out: Shape, out_layout: Layout) -> Shape:
    """How an operand moves with each physical dimension of the output; 0 where it is broadcast.

    ``shape`` aligns with ``out`` at the right, as in numpy.  The operand has ``out_layout``, or is
    row-major and either has one channel, or stores the output's channels side by side (no pixels)
    in a dense or padded vector.
    """
    full = (1,) * (len(out) - len(shape)) + tuple(shape)
    if layout != out_layout and is_blocked(layout):
        raise ValueError(f"{layout} operand of a {out_layout} result")
    if is_blocked(layout):
        n, blocks, *spatial, lane = dense_strides(layout.physical_shape(full))
        by_dim, channel = (n, blocks, *spatial), (blocks, lane)
    else:
        by_dim = logical_strides(full, layout)
        channel = (by_dim[1] * out_layout.block, by_dim[1]) if is_blocked(out_layout) else (0, 0)
    moves = [0 if have == 1 else step for have, step in zip(full, by_dim, strict=True)]
    if out_layout.order is Order.ROW_MAJOR:
        return tuple(moves)
    n, c, *spatial = moves
    if out_layout.order is Order.CHANNELS_LAST:
        return (n, *spatial, c)
    blocks, lane = (0, 0) if full[1] == 1 else channel
    return (n, blocks, *spatial, lane)
