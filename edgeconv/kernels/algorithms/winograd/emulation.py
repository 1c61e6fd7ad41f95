"""A Winograd convolution of whole images in numpy: what a kernel's rounding makes of a layer.

Transformations are the kernels' own straight-line code in float32, and so are the products, but for
the order in which this machine's matrix product adds channels.  Errors of whole networks are
measured with it, without a compiler.
"""

from __future__ import annotations

from collections.abc import Iterator, Sequence

import numpy as np
import numpy.typing as npt

from edgeconv.ir.straight_line import Routine
from edgeconv.ir.winograd_form import Nested
from edgeconv.kernels.algorithms.winograd.phases import of_filters, of_images
from edgeconv.kernels.algorithms.winograd.plan import routine_of
from edgeconv.kernels.algorithms.winograd.toom_cook import doubles, matrices

Floats = npt.NDArray[np.float32]
_AT_ONCE = 1 << 21  # floats of transformed tiles, so that they stay in a cache


def convolved(
    form: Nested,
    x: Floats,
    weights: Floats,
    pads: Sequence[int],
    out_size: Sequence[int],
    strides: Sequence[int] = (1, 1),
    dilations: Sequence[int] = (1, 1),
) -> Floats:
    """The convolution of images ``x`` (n, in_c, h, w) with ``weights`` (out_c, in_c / groups, rows,
    columns), at a stride or dilation of 1: (n, out_c, *``out_size``).

    ``pads``: zeros before the first row and column; those behind the last follow from the sizes.
    """
    if tuple(strides) != (1, 1):
        x = of_images(x, weights.shape[2:], strides, pads, out_size)
        weights, pads = of_filters(weights, strides), (0, 0)
    groups = x.shape[1] // weights.shape[1]
    filters = [_transformed(form, part) for part in np.split(weights, groups)]
    if tuple(dilations) != (1, 1):
        return _dilated(form, x, filters, pads, out_size, dilations)
    return _grouped(form, x, filters, pads, out_size)


def _dilated(
    form: Nested,
    x: Floats,
    filters: Sequence[Floats],
    pads: Sequence[int],
    out_size: Sequence[int],
    dilations: Sequence[int],
) -> Floats:
    """Every image on its own that has pixels so far apart."""
    spans = zip(out_size, dilations, (form.down, form.across), strict=True)
    met = [size + step * (way.taps - 1) for size, step, way in spans]
    behind = [
        max(0, far - pad - side) for far, pad, side in zip(met, pads, x.shape[2:], strict=True)
    ]
    padded = np.pad(x, ((0, 0), (0, 0), *zip(pads, behind, strict=True)))
    out_channels = sum(part.shape[2] for part in filters)
    found = np.empty((len(x), out_channels, *out_size), np.float32)
    high, wide = dilations
    for i, j in np.ndindex(high, wide):
        result = found[:, :, i::high, j::wide]
        if result.size:
            own = padded[:, :, i::high, j::wide]
            result[:] = _grouped(form, own, filters, (0, 0), result.shape[2:])
    return found


def _grouped(
    form: Nested, x: Floats, filters: Sequence[Floats], pads: Sequence[int], out_size: Sequence[int]
) -> Floats:
    """Every group with its transformed filters."""
    parts = zip(np.split(x, len(filters), 1), filters, strict=True)
    found = [_convolved(form, *part, pads, out_size) for part in parts]
    return found[0] if len(found) == 1 else np.concatenate(found, 1)


def _convolved(
    form: Nested, x: Floats, filters: Floats, pads: Sequence[int], out_size: Sequence[int]
) -> Floats:
    """The convolution of one group."""
    down, across = form.down, form.across
    tiles = -(-out_size[0] // down.outputs), -(-out_size[1] // across.outputs)
    padded = _padded(form, x, pads, tiles)
    sides = tiles[0] * down.outputs, tiles[1] * across.outputs
    found = np.empty((len(x), filters.shape[2], *sides), np.float32)
    channels = max(filters.shape[2:])
    for image, result in zip(padded, found, strict=True):
        for first, rows in _strips(form, tiles, channels):
            top = first * down.outputs
            strip = image[:, top : top + rows * down.outputs + down.taps - 1]
            made = _strip(form, strip, filters, (rows, tiles[1]))
            result[:, top : top + rows * down.outputs] = made
    return found[:, :, : out_size[0], : out_size[1]]


def _transformed(form: Nested, weights: Floats) -> Floats:
    """Filters in the order (rows, columns, out_c, in_c) of a tile: a matrix product in float64,
    which takes a tenth of the time of `nested`, whose bits are the same everywhere."""
    both = np.kron(*(doubles(matrices(way).of_filter) for way in (form.down, form.across)))
    found = np.empty((len(both), *weights.shape[:2]), np.float32)
    at_once = max(1, _AT_ONCE // (len(both) * weights.shape[1]))
    for first in range(0, len(weights), at_once):
        some = weights[first : first + at_once]
        taps = some.reshape(-1, both.shape[1]).T.astype(np.float64)
        found[:, first : first + at_once] = (both @ taps).reshape(-1, *some.shape[:2])
    return found.reshape(form.down.products, form.across.products, *weights.shape[:2])


def _padded(form: Nested, x: Floats, pads: Sequence[int], tiles: Sequence[int]) -> Floats:
    """The pixels that the tiles read."""
    ways = zip((form.down, form.across), tiles, strict=True)
    sides = [count * way.outputs + way.taps - 1 for way, count in ways]
    found = np.zeros((*x.shape[:2], *sides), np.float32)
    inside = found[:, :, pads[0] : pads[0] + x.shape[2], pads[1] : pads[1] + x.shape[3]]
    inside[:] = x[:, :, : inside.shape[2], : inside.shape[3]]
    return found


def _strips(form: Nested, tiles: Sequence[int], channels: int) -> Iterator[tuple[int, int]]:
    """Rows of tiles to be transformed at once: the first, and how many."""
    most = max(1, _AT_ONCE // (form.products * tiles[1] * channels))
    for first in range(0, tiles[0], most):
        yield first, min(most, tiles[0] - first)


def _strip(form: Nested, pixels: Floats, filters: Floats, tiles: tuple[int, int]) -> Floats:
    """Outputs (out_c, rows, columns) of so many tiles down and across ``pixels``."""
    down, across = form.down, form.across
    rows, columns = tiles
    shape = down.products, across.products, len(pixels), rows * columns
    inputs = np.empty(shape, np.float32)
    for i, j in np.ndindex(*shape[:2]):
        every = pixels[:, i :: down.outputs, j :: across.outputs][:, :rows, :columns]
        inputs[i, j] = every.reshape(shape[2:])
    inputs = along(routine_of(down, "input"), along(routine_of(across, "input"), inputs, 1), 0)
    sums = np.matmul(filters, inputs)
    sums = along(routine_of(across, "output"), along(routine_of(down, "output"), sums, 0), 1)
    sums = sums.reshape(down.outputs, across.outputs, -1, rows, columns)
    return sums.transpose(2, 3, 0, 4, 1).reshape(-1, rows * down.outputs, columns * across.outputs)


def along(code: Routine, values: Floats, axis: int) -> Floats:
    """``code`` along an axis, every product and sum rounded."""
    known = {f"x{i}": np.take(values, i, axis) for i in range(code.inputs)}
    for each in code.sums:
        terms = ((np.float32(factor), known[name]) for factor, name in each.terms)
        factor, value = next(terms)
        total = value * factor
        for factor, value in terms:
            total += value if factor == 1 else value * factor
        known[each.name] = total
    return np.stack([known[name] for name in code.outputs], axis)
