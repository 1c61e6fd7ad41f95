"""Convolutions and pools in numpy: copies of what each position of the window meets, and products
of matrices.

Arrays are (B, C, spatial ...), B the images of all samples.  Where no stride is larger than one,
what a position of the window meets is one run of the padded image: windows of rows that begin in
one row and end in the next are computed too, and left out of the result.
"""

from __future__ import annotations

import itertools
import math
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass
from typing import Any

import numpy as np
import numpy.typing as npt

Floats = npt.NDArray[np.float32]
_BLOCK_BYTES = 1 << 18  # of an array that is gone over once per position: about what L2 holds


@dataclass(frozen=True, slots=True)
class Windows:
    """The views that the positions of a window have of ``padded``, (B, C, *places): ``places`` are
    those that are computed, of which `kept` has the result's."""

    padded: Floats
    kernel: tuple[int, ...]
    strides: tuple[int, ...]
    dilations: tuple[int, ...]
    out: tuple[int, ...]

    @classmethod
    def of(
        cls, x: Floats, attrs: Mapping[str, Any], out: Sequence[int], around: float = 0.0
    ) -> Windows:
        """The windows of a node's attributes, ``x`` padded with ``around``."""
        kernel, strides, dilations = (
            tuple(map(int, attrs[key])) for key in ("kernel", "strides", "dilations")
        )
        padded = _padded(x, attrs["pads"], kernel, strides, dilations, out, around)
        return cls(padded, kernel, strides, dilations, tuple(out))

    @property
    def is_flat(self) -> bool:
        """Whether the views are runs of the flattened image."""
        return all(stride == 1 for stride in self.strides)

    @property
    def _pitches(self) -> tuple[int, ...]:
        sizes = self.padded.shape[2:]
        return tuple(math.prod(sizes[axis + 1 :]) for axis in range(len(sizes)))

    @property
    def places(self) -> tuple[int, ...]:
        """The shape of a view behind images and channels."""
        if not self.is_flat:
            return self.out
        last = ((size - 1) * step for size, step in zip(self.out, self._pitches, strict=True))
        return (sum(last) + 1,)

    def views(self) -> Iterator[tuple[tuple[int, ...], Floats]]:
        """Positions of the window, in order, and what each meets."""
        flat, length = self.padded.reshape(*self.padded.shape[:2], -1), self.places[0]
        for position in itertools.product(*map(range, self.kernel)):
            starts = [p * d for p, d in zip(position, self.dilations, strict=True)]
            if self.is_flat:
                start = sum(s * step for s, step in zip(starts, self._pitches, strict=True))
                yield position, flat[:, :, start : start + length]
                continue
            cut = (
                slice(start, start + (size - 1) * stride + 1, stride)
                for start, size, stride in zip(starts, self.out, self.strides, strict=True)
            )
            yield position, self.padded[(slice(None), slice(None), *cut)]

    def kept(self, found: Floats) -> Floats:
        """The result (B, C, *out) of what was computed at all ``places``, (B, C, *places)."""
        if not self.is_flat or self.places == (math.prod(self.out),):
            return found.reshape(*found.shape[:2], *self.out)
        steps = tuple(4 * step for step in self._pitches)
        rows = np.lib.stride_tricks.as_strided(
            found, (*found.shape[:2], *self.out), (*found.strides[:2], *steps)
        )
        return np.ascontiguousarray(rows)


def convolved(x: Floats, weights: Floats, attrs: Mapping[str, Any], out: Sequence[int]) -> Floats:
    """(B, out_c, *out), without a bias.  ``weights``: (out_c, in_c / groups, *kernel)."""
    groups, out_c = int(attrs["groups"]), len(weights)
    if groups == x.shape[1] == out_c and groups > 1:
        return _depthwise(x, weights, attrs, out)
    kernel_size = math.prod(weights.shape[2:])
    if kernel_size == 1 and not any(attrs["pads"]):
        steps = (slice(None, None, int(stride)) for stride in attrs["strides"])
        images = x[(slice(None), slice(None), *steps)]
        return _product(images.reshape(*x.shape[:2], -1), weights, groups, tuple(out))
    results = []
    for start in range(len(x)):  # the columns of one image are many
        windows = Windows.of(x[start : start + 1], attrs, out)
        columns = np.empty((1, x.shape[1], kernel_size, *windows.places), np.float32)
        for number, (_, view) in enumerate(windows.views()):
            columns[:, :, number] = view
        product = _product(
            columns.reshape(1, x.shape[1] * kernel_size, -1), weights, groups, windows.places
        )
        results.append(windows.kept(product))
    return np.concatenate(results) if len(results) > 1 else results[0]


def _product(columns: Floats, weights: Floats, groups: int, places: tuple[int, ...]) -> Floats:
    """``columns``: (B, in_c * positions, places)."""
    own = weights.reshape(groups, len(weights) // groups, -1)
    if groups == 1:
        found: Floats = np.matmul(own[0], columns)
    else:
        found = np.matmul(own, columns.reshape(len(columns), groups, -1, columns.shape[-1]))
    return found.reshape(len(columns), len(weights), *places)


def _depthwise(x: Floats, weights: Floats, attrs: Mapping[str, Any], out: Sequence[int]) -> Floats:
    """One filter per channel: multiply-adds, of as many channels at once as a cache holds."""
    each = max(4 * math.prod(x.shape[2:]), 1)
    at_once = max(_BLOCK_BYTES // each, 1)
    result = np.empty((len(x), len(weights), *out), np.float32)
    images = max(at_once // x.shape[1], 1)
    for first in range(0, len(x), images):
        for channel in range(0, x.shape[1], at_once):
            own = slice(channel, channel + at_once)
            windows = Windows.of(x[first : first + images, own], attrs, out)
            factors = weights[own].reshape(-1, math.prod(weights.shape[2:]))
            shape = (-1, *(1 for _ in windows.places))
            total: Floats | None = None
            for number, (_, view) in enumerate(windows.views()):
                factor = factors[:, number].reshape(shape)
                if total is None:
                    total = view * factor
                    product = np.empty_like(total)
                else:
                    np.multiply(view, factor, out=product)
                    total += product
            assert total is not None
            result[first : first + images, own] = windows.kept(total)
    return result


def pooled(x: Floats, attrs: Mapping[str, Any], out: Sequence[int]) -> Floats:
    """The maximum or the average of each window."""
    if tuple(attrs["kernel"]) == x.shape[2:] and not any(attrs["pads"]) and set(out) == {1}:
        flat = x.reshape(*x.shape[:2], -1)  # of whole images, in one go
        found = flat.max(axis=2) if attrs["mode"] == "max" else flat.mean(axis=2)
        whole: Floats = found.reshape(*x.shape[:2], *out)
        return whole
    if attrs["mode"] == "max":
        windows = Windows.of(x, attrs, out, -np.inf)
        views = (view for _, view in windows.views())
        largest = next(views).copy()
        for view in views:
            np.maximum(largest, view, out=largest)
        return windows.kept(largest)
    total = _sum(Windows.of(x, attrs, out))
    ones = np.ones((1, 1, *x.shape[2:]), np.float32)
    if attrs["count_include_pad"]:  # but for what a last window has beyond the padding
        pads, rank = attrs["pads"], len(out)
        around = [(pads[axis], pads[rank + axis]) for axis in range(rank)]
        ones = np.ones((1, 1, *(n + sum(p) for n, p in zip(x.shape[2:], around, strict=True))))
        ones = ones.astype(np.float32)
        attrs = {**attrs, "pads": (0,) * (2 * rank)}
    return total / _sum(Windows.of(ones, attrs, out))


def _sum(windows: Windows) -> Floats:
    views = (view for _, view in windows.views())
    total = next(views).copy()
    for view in views:
        total += view
    return windows.kept(total)


def _padded(
    x: Floats,
    pads: Sequence[int],
    kernel: Sequence[int],
    strides: Sequence[int],
    dilations: Sequence[int],
    out: Sequence[int],
    around: float,
) -> Floats:
    """``x`` with its padding, and up to the end of the last window."""
    rank = len(out)
    sizes = []
    for axis, size in enumerate(x.shape[2:]):
        end = (out[axis] - 1) * strides[axis] + (kernel[axis] - 1) * dilations[axis] + 1
        sizes.append(max(size + pads[axis] + pads[rank + axis], end))
    if tuple(sizes) == x.shape[2:]:
        return np.ascontiguousarray(x)
    padded = np.full((*x.shape[:2], *sizes), around, np.float32)
    inner = (slice(pads[axis], pads[axis] + size) for axis, size in enumerate(x.shape[2:]))
    padded[(slice(None), slice(None), *inner)] = x
    return padded
