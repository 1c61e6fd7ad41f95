"""Filters in the order in which the loops of ec_gemm.h read them."""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass
from itertools import pairwise
from typing import Any, TypeVar

import numpy as np
import numpy.typing as npt

from edgeconv.ir.encoding import FLOAT32, Encoding
from edgeconv.kernels.algorithms.packing import joined, row_elements
from edgeconv.target.micro_kernel import Interleave

Floats = npt.NDArray[np.float32]
Ints = npt.NDArray[np.integer[Any]]
Element = TypeVar("Element", bound=np.generic)


@dataclass(frozen=True, slots=True)
class FilterOrder:
    """``groups`` of ``out_c`` filters of ``in_c`` channels and ``taps`` kernel positions each.

    ``widths``: filters of each tile of a group, padding included.  ``nc``: channels of a set,
    ``block``: of a block, multiples of the ``k`` that are multiplied at once; the last of each may
    have fewer, and zeros fill it up to a multiple of ``k_multiple`` such groups.  Each tile begins
    with a byte, stored in the format ``form``.  ``interleaves``: of a micro-kernel; ``run``: kernel
    positions whose steps follow each other, where a block is a group.
    """

    groups: int
    out_c: int
    in_c: int
    taps: int
    widths: tuple[int, ...]
    nc: int
    block: int
    k: int = 1
    k_multiple: int = 1
    form: Encoding = FLOAT32
    interleaves: tuple[Interleave, ...] = ()
    run: int = 1

    def tile_elements(self, width: int, channels: int) -> int:
        """Numbers of a tile of ``width`` filters, padding included."""
        padded = self._filled(channels)
        return row_elements(width * padded * self.taps, self.form)

    def _filled(self, channels: int) -> int:
        """As many channels, and zeros behind them."""
        step = self.k * self.k_multiple
        return -(-channels // step) * step

    @property
    def elements(self) -> int:
        """Numbers in all, padding included."""
        sets = [min(self.nc, self.in_c - c) for c in range(0, self.in_c, self.nc)]
        each = (self.tile_elements(width, n) for n in sets for width in self.widths)
        return self.groups * sum(each)

    def pack(self, weights: npt.NDArray[Element]) -> npt.NDArray[Element]:
        """Weights of shape (out_c, in_c / groups, kernel ...), zeros where there are none.

        Order: group; set of channels; tile; block of channels; kernel position; group of k; filter;
        element of the group.
        """
        return joined(self.tiles(weights), np.empty(self.elements, weights.dtype))

    def tiles(self, weights: npt.NDArray[Element]) -> Iterator[npt.NDArray[Element]]:
        """What `pack` gives, tile by tile."""
        shape = self.groups, self.out_c, self.in_c, self.taps
        for group in weights.reshape(shape):
            yield from self._tiles(group)

    def _tiles(self, group: npt.NDArray[Element]) -> Iterator[npt.NDArray[Element]]:
        """The tiles of a group's filters (filter, channel, kernel position), each padded."""
        edges = np.cumsum((0, *self.widths))
        nc = self._filled(self.nc)
        for c in range(0, self.in_c, nc):
            for first, end in pairwise(edges):
                held = group[first:end, c : c + nc]
                shape = end - first, self._filled(held.shape[1]), self.taps
                tile = np.zeros(shape, group.dtype)
                tile[: held.shape[0], : held.shape[1]] = held
                whole = tile.shape[1] // self.block * self.block
                parts = [(tile[:, :whole], self.block), (tile[:, whole:], tile.shape[1] - whole)]
                flat = np.concatenate([self._ordered(*part) for part in parts if part[1]])
                yield np.pad(flat, (0, row_elements(flat.size, self.form) - flat.size))

    def _ordered(self, tile: npt.NDArray[Element], block: int) -> npt.NDArray[Element]:
        """Blocks of ``block`` channels of a tile, in order."""
        split = tile.reshape(len(tile), -1, block // self.k, self.k, self.taps)
        ordered = split.transpose(1, 4, 2, 0, 3)
        if not self.interleaves:
            return ordered.reshape(-1)
        steps = self.run if block == self.k else block // self.k
        return self._interleaved(ordered.reshape(-1, steps, len(tile), self.k))

    def _interleaved(self, runs: npt.NDArray[Element]) -> npt.NDArray[Element]:
        """Runs of steps (run, step, filter, element), a word each, as the kernel takes them."""
        parts, done, (count, steps, filters, _) = [], 0, runs.shape
        for entry in self.interleaves:
            sets = (steps - done) // entry.words
            own = runs[:, done : done + sets * entry.words]
            # run, set of words, word, vector of filters, filter, element
            split = own.reshape(count, sets, entry.words, filters // 4, 4, self.k)
            size = entry.words * self.k
            whole = split.transpose(0, 1, 3, 4, 2, 5).reshape(count, sets, filters // 4, 4, size)
            of_filter, element = np.array(entry.elements).T
            taken = whole[:, :, :, of_filter, element]
            each = taken.reshape(count, sets, filters // 4, entry.words, 4 * self.k)
            parts.append(each.transpose(0, 1, 3, 2, 4).reshape(count, sets * filters * size))
            done += sets * entry.words
        left = runs[:, done:].reshape(count, (steps - done) * filters * self.k)
        return np.concatenate([*parts, left], axis=1).reshape(-1)
