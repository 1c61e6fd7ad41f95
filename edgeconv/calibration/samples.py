"""Samples that a network is measured on: the user's, or seeded ones that promise nothing.

An .npz file has one array per input of the model, by the input's name (or ``in:`` and its name, as
in files of `verify --inputs`; ``out:...`` is ignored).  With S samples, an input of shape
(N, C, H, W) is (S, N, C, H, W), (S * N, C, H, W), or (N, C, H, W) itself for one sample.  ``label``
may hold the right class of each image: S * N integers.
"""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass, replace
from pathlib import Path

import numpy as np
import numpy.typing as npt

from edgeconv.errors import EdgeconvError, Exit
from edgeconv.ir.graph import Graph
from edgeconv.names import did_you_mean
from edgeconv.verify.inputs import SEED, read_npz

Floats = npt.NDArray[np.float32]
Array = npt.NDArray[np.generic]
LABEL = "label"
SEEDED = 8  # samples where the user gives none


@dataclass(frozen=True, slots=True, eq=False)
class Samples:
    """``inputs``: by name, (S, *shape of the input).  ``labels``: (S, images of one run) or None.
    ``source``: words for the report.  ``promised``: they are the user's, so that what is measured
    on them may be promised."""

    inputs: Mapping[str, Floats]
    labels: npt.NDArray[np.int64] | None
    source: str
    promised: bool

    def __len__(self) -> int:
        return min((len(array) for array in self.inputs.values()), default=1)

    def __iter__(self) -> Iterator[dict[str, Floats]]:
        """One feed per sample."""
        return (self[i] for i in range(len(self)))

    def __getitem__(self, index: int) -> dict[str, Floats]:
        return {name: array[index] for name, array in self.inputs.items()}

    def at_most(self, count: int) -> Samples:
        """``count`` of them, evenly spread from the first on, or all where there are no more."""
        total = len(self)
        if total <= count:
            return self
        return self.part([i * total // count for i in range(count)])

    def part(self, chosen: slice | list[int]) -> Samples:
        """Those at ``chosen``."""
        return replace(
            self,
            inputs={name: array[chosen] for name, array in self.inputs.items()},
            labels=None if self.labels is None else self.labels[chosen],
        )


def seeded(graph: Graph, count: int = SEEDED) -> Samples:
    """N(0, 1) for every input, the same on every machine; the first is what `verify` runs."""
    rng = np.random.default_rng(SEED)
    shapes = {name: graph[name].shape for name in graph.inputs}
    drawn = [
        {name: rng.standard_normal(shape, dtype=np.float32) for name, shape in shapes.items()}
        for _ in range(count)
    ]
    inputs = {name: np.stack([sample[name] for sample in drawn]) for name in shapes}
    return Samples(inputs, None, f"{count} seeded inputs", promised=False)


def load(path: Path | None, graph: Graph) -> Samples:
    """The samples in ``path`` for the inputs of ``graph``; seeded ones without a path.

    Raises EdgeconvError (exit status 2): no .npz file, an array missing or unknown, another shape
    or element type than the input's, values that are not finite, inputs that disagree about the
    number of samples, labels of another number or type.
    """
    if path is None:
        return seeded(graph)
    arrays = {
        name.removeprefix("in:"): array
        for name, array in read_npz(path).items()
        if not name.startswith("out:")
    }
    for name in arrays:
        if name not in graph.inputs and name != LABEL:
            raise _invalid(path, "no such input", repr(name), hint=did_you_mean(name, graph.inputs))
    inputs = {name: _samples_of(path, name, graph[name].shape, arrays) for name in graph.inputs}
    counts = {name: len(array) for name, array in inputs.items()}
    if len(set(counts.values())) > 1:
        got = ", ".join(f"{count} of {name!r}" for name, count in counts.items())
        raise _invalid(path, "inputs have different numbers of samples", got)
    count = next(iter(counts.values()), 1)
    labels = None
    if LABEL in arrays and LABEL not in graph.inputs:
        labels = _labels(path, arrays[LABEL], count, graph)
    return Samples(inputs, labels, f"{count} samples in {path.name}", promised=True)


def _samples_of(
    path: Path, name: str, shape: tuple[int, ...], arrays: Mapping[str, Array]
) -> Floats:
    """(S, *shape)."""
    if name not in arrays:
        found = ", ".join(sorted(arrays)) or "nothing"
        raise _invalid(path, f"no array for input {name!r}", found)
    array = arrays[name]
    if array.dtype != np.float32:
        raise _invalid(
            path,
            f"element type of {name!r}",
            str(array.dtype),
            "the model reads float32",
            "convert it with .astype(numpy.float32), scaled as in training",
        )
    leading = array.shape[1:] == shape
    batched = bool(shape) and array.ndim > 0 and array.shape[1:] == shape[1:]
    if not leading and not (batched and shape[0] and array.shape[0] % shape[0] == 0):
        rule = f"the model takes {_dims(shape)}; samples lie along the first axis"
        raise _invalid(path, f"shape of {name!r}", _dims(array.shape), rule)
    samples = np.ascontiguousarray(array, np.float32).reshape(-1, *shape)
    if not len(samples):
        raise _invalid(path, f"no samples of {name!r}", _dims(array.shape))
    bad = ~np.isfinite(samples)
    if bad.any():
        first = int(np.argmax(bad.reshape(len(samples), -1).any(axis=1)))
        got = f"{int(bad.sum())} infinite values or NaN, the first in sample {first}"
        raise _invalid(path, f"values of {name!r}", got, "samples are finite")
    return samples


def _labels(path: Path, label: Array, count: int, graph: Graph) -> npt.NDArray[np.int64]:
    """(S, images of one run)."""
    if label.dtype.kind not in "iu":
        rule = "one whole number, the right class, per image"
        raise _invalid(path, f"element type of {LABEL!r}", str(label.dtype), rule)
    images = images_of(graph)
    if label.size != count * images:
        got, rule = f"{label.size} labels", f"the inputs hold {count * images} images"
        raise _invalid(path, f"number of {LABEL!r}", got, rule)
    if label.min() < 0:
        raise _invalid(path, f"value of {LABEL!r}", str(label.min()), "classes count from 0")
    return label.astype(np.int64).reshape(count, images)


def images_of(graph: Graph) -> int:
    """Images of one run: the first dimension of the first input, 1 of a vector."""
    shape: Sequence[int] = graph[graph.inputs[0]].shape if graph.inputs else ()
    return shape[0] if len(shape) > 1 else 1


def _dims(shape: Sequence[int]) -> str:
    return "x".join(map(str, shape)) or "scalar"


def _invalid(path: Path, what: str, got: str, rule: str = "", hint: str = "") -> EdgeconvError:
    return EdgeconvError(what, where=str(path), got=got, rule=rule, hint=hint, code=Exit.USAGE)
