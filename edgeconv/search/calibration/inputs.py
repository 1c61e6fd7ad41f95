"""What a layer's filters meet: second moments and means of its inputs, from samples.

A convolution is a product of its filters, one row per output channel, with columns of input values,
one per output pixel (im2col).  K values of a column meet a row: input channels of the group times
kernel positions, in the order of the filters.  For rounding only averages over columns matter.
"""

from __future__ import annotations

import math
from collections.abc import Iterable, Iterator, Mapping
from typing import Any

import numpy as np
import numpy.typing as npt

from edgeconv.base.progress import Progress, no_progress
from edgeconv.ir.filters import Filters
from edgeconv.ir.graph import Graph, Node
from edgeconv.search.calibration.inference import Floats, InferenceEngine, Rounding
from edgeconv.search.calibration.moments import Averages, Moments, Rows
from edgeconv.search.calibration.samples import Samples

# Of one second moment: beyond that, a row's weights are seen in pieces that do not know each other.
MOST_COLUMNS = 6144
LEAST_PIXELS = 4096  # that a layer's averages are taken over, where samples have as many
PIXELS_PER_WEIGHT = 2  # fewer than weights in a row would tell mostly chance
PIXELS_AT_ONCE = 2048  # columns that are multiplied together
GROUPED_BYTES = 1 << 29  # second moments that are collected in one pass over the samples


def rows_of(node: Node, graph: Graph) -> Rows:
    """The rows of a Conv or Dense node."""
    groups = int(node.attrs.get("groups", 1))
    length = math.prod(graph[node.inputs[1]].shape[1:])
    pieces = 1
    while length % pieces or length // pieces > MOST_COLUMNS:
        pieces += 1
    return Rows(groups, pieces, length // pieces)


def collect(
    engine: InferenceEngine,
    samples: Samples,
    layers: Iterable[str],
    *,
    parameters: Mapping[str, Filters] | None = None,
    activations: Mapping[str, Rounding] | None = None,
    together: bool = True,
    progress: Progress = no_progress,
) -> Iterator[tuple[str, Averages | Moments]]:
    """The moments of the inputs of ``layers``, in that order, as few passes over the samples as
    memory allows.  ``parameters`` and ``activations``: of the network that the inputs come from.
    ``together``: of every two inputs; else squares alone, which are far less work."""
    rows = {name: rows_of(engine.layers[name], engine.graph) for name in layers}
    sizes = ((name, _moment_bytes(cut, together)) for name, cut in rows.items())
    for names in batches(sizes, GROUPED_BYTES):
        progress(f"looking at the inputs of {names[0]} and {len(names) - 1} more")
        sums = {
            name: InputSums(engine.layers[name], engine.graph, len(samples), together)
            for name in names
        }
        wanted = {engine.layers[name].inputs[0] for name in names}
        runs = engine.run_each(
            samples, parameters=parameters, activations=activations, capture=wanted
        )
        for number, found in enumerate(runs):
            for entry in sums.values():
                entry.add(found[entry.node.inputs[0]], number)
        for name in names:
            moments = sums.pop(name).moments()
            moments.require_finite(name)
            yield name, moments


def _moment_bytes(rows: Rows, together: bool) -> int:
    own = rows.length**2 if together else rows.length
    return 8 * rows.groups * rows.pieces * own


def batches(sizes: Iterable[tuple[str, int]], most: int) -> Iterator[list[str]]:
    """Names in their order, as many at once as take ``most`` bytes together, and one at least."""
    names: list[str] = []
    held = 0
    for name, size in sizes:
        if names and held + size > most:
            yield names
            names, held = [], 0
        names.append(name)
        held += size
    if names:
        yield names


class InputSums:
    """Moments of the inputs of the layer ``node`` of ``graph`` being added up, over so many
    ``samples``.  ``together``: of every two inputs; else squares alone."""

    def __init__(self, node: Node, graph: Graph, samples: int, together: bool) -> None:
        self.node, self.rows, self.together = node, rows_of(node, graph), together
        length = self.rows.length
        self.most = pixels_per_sample(self.rows, samples)
        count = self.rows.groups * self.rows.pieces
        self.second = np.zeros((count, length, length) if together else (count, length))
        self.mean = np.zeros((count, length))
        self.pixels = 0
        self._waiting: list[Floats] = []

    def add(self, x: Floats, number: int) -> None:
        """The inputs of another sample, by whose ``number`` pixels are drawn."""
        self._waiting.append(columns_of(self.node, x, self.most, number))
        if sum(columns.shape[1] for columns in self._waiting) >= PIXELS_AT_ONCE:
            self._flush()

    def _flush(self) -> None:
        """One product of many columns: adding up large matrices would take longer than that."""
        if not self._waiting:
            return
        pieces = self.rows.cut(np.concatenate(self._waiting, axis=1))
        self._waiting.clear()
        for piece, second, mean in zip(pieces, self.second, self.mean, strict=True):
            with np.errstate(over="ignore", invalid="ignore"):  # `Moments.require_finite`
                if self.together:
                    second += piece.T @ piece
                else:
                    second += np.einsum("ik,ik->k", piece, piece)
            mean += piece.sum(axis=0, dtype=np.float64)
        self.pixels += pieces.shape[1]

    def moments(self) -> Averages | Moments:
        """The averages over all that was added."""
        self._flush()
        count = max(self.pixels, 1)
        self.second /= count
        self.mean /= count
        made = Moments if self.together else Averages
        return made(self.second, self.mean, self.pixels)


def pixels_per_sample(rows: Rows, samples: int) -> int:
    """Columns to take from each sample at most."""
    wanted = max(LEAST_PIXELS, PIXELS_PER_WEIGHT * rows.length)
    return -(-wanted // max(samples, 1))


def columns_of(node: Node, x: Floats, most: int, seed: int = 0) -> Floats:
    """(groups, pixels, K): the columns of at most ``most`` output pixels, drawn by ``seed``.

    ``x``: the layer's input, (N, C, spatial ...) of Conv, (..., K) of Dense.
    """
    rng = np.random.default_rng(seed)
    if node.op == "Dense":
        rows = x.reshape(-1, x.shape[-1])
        return rows[None, _drawn(len(rows), most, rng)]
    kernel, strides, dilations = (node.attrs[key] for key in ("kernel", "strides", "dilations"))
    pads, rank, groups = node.attrs["pads"], len(node.attrs["kernel"]), int(node.attrs["groups"])
    around = [(pads[i], pads[rank + i]) for i in range(rank)]
    padded = np.pad(x, [(0, 0), (0, 0), *around])
    spans = tuple((size - 1) * gap + 1 for size, gap in zip(kernel, dilations, strict=True))
    axes = tuple(range(2, 2 + rank))
    windows = np.lib.stride_tricks.sliding_window_view(padded, spans, axes)
    every = (slice(None), slice(None))
    steps = (*strides, *dilations)
    windows = windows[(*every, *(slice(None, None, each) for each in steps))]
    shape = (len(x), *windows.shape[2 : 2 + rank])
    drawn = np.unravel_index(_drawn(math.prod(shape), most, rng), shape)
    # The image first and its position behind the channels: numpy puts drawn pixels in front.
    index: tuple[Any, ...] = (drawn[0], slice(None), *drawn[1:])
    picked = windows[index]
    pixels = len(drawn[0])
    return np.ascontiguousarray(picked.reshape(pixels, groups, -1).transpose(1, 0, 2))


def _drawn(count: int, most: int, rng: np.random.Generator) -> npt.NDArray[np.int64]:
    """Numbers below ``count`` in order: all, or ``most`` of them."""
    if count <= most:
        return np.arange(count)
    return np.sort(rng.choice(count, most, replace=False))
