"""Samples that a network is measured on: the user's, or seeded ones that promise nothing.

An .npz file has one array per input of the model, by the input's name (or ``in:`` and its name, as
in files of `verify --inputs`; ``out:...`` is ignored).  With S samples, an input of shape
(N, C, H, W) is (S, N, C, H, W), (S * N, C, H, W), or (N, C, H, W) itself for one sample.  ``label``
may hold the right class of each image: S * N integers.  Arrays called ``label:`` and a name, with
a row for each sample, are for metrics of the user's (`calibration.metric`).  Of a network that
keeps states the file has those of every sample too, or S sequences of T runs, (S, T, N, C, H, W) or
(T, N, C, H, W) of one, which are S * T samples.
"""

from __future__ import annotations

import math
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass, field, replace
from pathlib import Path
from typing import Any

import numpy as np
import numpy.typing as npt

from edgeconv.base import array_file
from edgeconv.base.array_file import Arrays, Stated
from edgeconv.base.errors import UsageError
from edgeconv.base.names import did_you_mean
from edgeconv.ir.graph import Graph, Tensor
from edgeconv.run.input_arrays import SEED, inputs_of, random
from edgeconv.search.calibration.confidence import FEWEST
from edgeconv.search.calibration.sequences import are_sequences, require_sequences, with_states

Array = npt.NDArray[Any]
LABEL = "label"
TRUTH = f"{LABEL}:"  # what the names of arrays begin with that only a metric looks at
SEEDED = 8  # samples where the user gives none


@dataclass(frozen=True, slots=True, eq=False)
class Samples:
    """Samples for a network.  ``inputs``: by name, (S, *shape of the input).  ``labels``: (S,
    images of one run) or None.  ``source``: words for the report.  ``promised``: they are the
    user's, so that what is measured on them may be promised.  ``truths``: what a metric compares
    with, by name, a row for each sample.  ``sequence``: the number of the sequence that each is a
    run of; None where they have nothing to do with each other."""

    inputs: Mapping[str, Array]
    labels: npt.NDArray[np.int64] | None
    source: str
    promised: bool
    truths: Mapping[str, Array] = field(default_factory=dict)
    sequence: npt.NDArray[np.int64] | None = None

    def __len__(self) -> int:
        return min((len(array) for array in self.inputs.values()), default=1)

    def __iter__(self) -> Iterator[dict[str, Array]]:
        """One feed per sample."""
        return (self[i] for i in range(len(self)))

    def __getitem__(self, index: int) -> dict[str, Array]:
        return {name: array[index] for name, array in self.inputs.items()}

    @property
    def alike(self) -> bool:
        """Whether there are several, and all are the same."""
        arrays = self.inputs.values()
        return len(self) > 1 and all(bool((array == array[:1]).all()) for array in arrays)

    def at_most(self, count: int) -> Samples:
        """``count`` of them, evenly spread from the first on, or all where there are no more."""
        total = len(self)
        if total <= count:
            return self
        return self.chosen([i * total // count for i in range(count)])

    def chosen(self, at: slice | list[int]) -> Samples:
        """The samples ``at`` some places."""
        return replace(
            self,
            inputs={name: array[at] for name, array in self.inputs.items()},
            labels=None if self.labels is None else self.labels[at],
            truths={name: array[at] for name, array in self.truths.items()},
            sequence=None if self.sequence is None else self.sequence[at],
        )

    def held_back(self, period: int) -> list[int]:
        """The samples of every so many, to measure on: of sequences whole ones, where that leaves
        several, since the runs of one are much alike."""
        count = len(self)
        number = np.arange(count)
        if self.sequence is not None and int(self.sequence.max()) + 1 >= FEWEST * period:
            number = self.sequence
        found = np.flatnonzero(number % period == period - 1)
        return [int(i) for i in found] or [count - 1]


def seeded(graph: Graph, count: int = SEEDED) -> Samples:
    """What `verify` runs, and more of the kind: N(0, 1) for every input, any integer for one of
    integers; the same on every machine."""
    rng = np.random.default_rng(SEED)
    ports = {name: (graph[name].shape, graph[name].dtype) for name in graph.inputs}
    drawn = [{name: random(*port, rng) for name, port in ports.items()} for _ in range(count)]
    inputs = {name: np.stack([sample[name] for sample in drawn]) for name in ports}
    return Samples(inputs, None, f"{count} seeded inputs", promised=False)


def load(path: Path | None, graph: Graph) -> Samples:
    """The samples in ``path`` for the inputs of ``graph``; seeded ones without a path.

    Raises EdgeconvError (exit status 2): no .npz file, an array missing or unknown, another shape
    or element type than the input's, values that are not finite, inputs that disagree about the
    number of samples, labels of another number or type.
    """
    if path is None:
        return seeded(graph)
    with array_file.opened(path) as archive:
        stated = inputs_of(archive)
        for name in stated:
            if name not in graph.inputs and name != LABEL and not name.startswith(TRUTH):
                hint = did_you_mean(name, graph.inputs)
                raise array_file.invalid(path, "no such input", repr(name), hint=hint)
        in_time = are_sequences(graph, stated)
        names = graph.input_ports if in_time else graph.inputs
        for name in names:
            _check(path, name, graph[name], stated, sequences=in_time)
        if in_time:
            require_sequences(archive, stated, graph)
        inputs = {name: _read(archive, name, graph[name], stated) for name in names}
        sequence = None
        if in_time:
            shapes = {name: stated[name].shape for name in names}
            apart = {n: _in_time(inputs[n], graph[n], shapes[n]) for n in names}
            inputs = with_states(graph, apart)
            number, steps = next(iter(apart.values())).shape[:2]
            sequence = np.repeat(np.arange(number), steps)
        labels = None
        if LABEL in stated and LABEL not in graph.inputs:
            count = len(next(iter(inputs.values()), ()))
            labels = _labels(archive, stated[LABEL], count, graph)
        count = len(next(iter(inputs.values()), ()))
        truths = {
            name.removeprefix(TRUTH): _truth(archive, each, count)
            for name, each in stated.items()
            if name.startswith(TRUTH) and name not in graph.inputs
        }
    counts = {name: len(array) for name, array in inputs.items()}
    if len(set(counts.values())) > 1:
        got = ", ".join(f"{count} of {name!r}" for name, count in counts.items())
        raise array_file.invalid(path, "inputs have different numbers of samples", got)
    count = next(iter(counts.values()), 1)
    return Samples(inputs, labels, f"{count} samples in {path.name}", True, truths, sequence)


def _in_time(samples: Array, tensor: Tensor, given: Sequence[int]) -> Array:
    """Sequences (S, T, *shape) of which the file has the shape ``given``."""
    return samples.reshape(-1, given[-1 - len(tensor.shape)], *tensor.shape)


def _check(
    path: Path, name: str, tensor: Tensor, stated: Mapping[str, Stated], *, sequences: bool
) -> None:
    """Before anything is unpacked.  ``sequences``: shapes are `require_sequences`'s."""
    if name not in stated:
        found = ", ".join(sorted(stated)) or "nothing"
        raise array_file.invalid(path, f"no array for input {name!r}", found)
    array, shape = stated[name], tensor.shape
    if array.dtype != np.dtype(tensor.dtype):
        hint = f"convert it with .astype(numpy.{tensor.dtype}), scaled as in training"
        rule = f"the model reads {tensor.dtype}"
        raise array_file.invalid(path, f"element type of {name!r}", str(array.dtype), rule, hint)
    if sequences:
        return
    leading = len(array.shape) > 0 and array.shape[1:] == shape
    batched = bool(shape) and bool(array.shape) and array.shape[1:] == shape[1:]
    whole = array.shape == shape
    if not (leading or whole or (batched and shape[0] and array.shape[0] % shape[0] == 0)):
        rule = f"the model takes {_dims(shape)}; samples lie along the first axis"
        raise array_file.invalid(path, f"shape of {name!r}", _dims(array.shape), rule)
    if 0 in array.shape:
        raise array_file.invalid(path, f"no samples of {name!r}", _dims(array.shape))


def _read(archive: Arrays, name: str, tensor: Tensor, stated: Mapping[str, Stated]) -> Array:
    """(S, *shape)."""
    samples = archive.read(stated[name].name).reshape(-1, *tensor.shape)
    bad = ~np.isfinite(samples)
    if bad.any():
        first = int(np.argmax(bad.reshape(len(samples), -1).any(axis=1)))
        got = f"{int(bad.sum())} infinite values or NaN, the first in sample {first}"
        raise array_file.invalid(archive.path, f"values of {name!r}", got, "samples are finite")
    return samples


def _truth(archive: Arrays, stated: Stated, count: int) -> Array:
    """An array with a row for each sample."""
    if not stated.shape or stated.shape[0] != count:
        got = f"{stated.shape[0] if stated.shape else 'one number'}"
        rule = f"a row for each of {count} samples, along the first axis"
        raise array_file.invalid(archive.path, f"rows of {stated.name!r}", got, rule)
    found: Array = archive.read(stated.name)
    return found


def _labels(archive: Arrays, stated: Stated, count: int, graph: Graph) -> npt.NDArray[np.int64]:
    """(S, images of one run)."""
    path = archive.path
    if stated.dtype.kind not in "iu":
        rule = "one whole number, the right class, per image"
        raise array_file.invalid(path, f"element type of {LABEL!r}", str(stated.dtype), rule)
    images, size = images_of(graph), math.prod(stated.shape)
    if size != count * images:
        got, rule = f"{size} labels", f"the inputs hold {count * images} images"
        raise array_file.invalid(path, f"number of {LABEL!r}", got, rule)
    label = archive.read(stated.name)
    if label.min() < 0:
        raise array_file.invalid(
            path, f"value of {LABEL!r}", str(label.min()), "classes count from 0"
        )
    if int(label.max()) > np.iinfo(np.int64).max:
        raise array_file.invalid(path, f"value of {LABEL!r}", str(label.max()), "no such class")
    return label.astype(np.int64).reshape(count, images)


def images_of(graph: Graph) -> int:
    """Images of one run: the first dimension of the first input, 1 of a vector."""
    shape: Sequence[int] = graph[graph.inputs[0]].shape if graph.inputs else ()
    return shape[0] if len(shape) > 1 else 1


def _dims(shape: Sequence[int]) -> str:
    return "x".join(map(str, shape)) or "scalar"


def require_labels(samples: Samples, max_drop: float | None, option: str = "--calibration") -> None:
    """Raises EdgeconvError (exit status 2) where a share of labels is to be kept, and there are
    none.  ``option``: by which samples are given."""
    if max_drop is not None and samples.labels is None:
        raise UsageError(
            "--max-drop needs labels",
            got=samples.source,
            rule="the share of right answers is measured on labelled samples",
            hint=f"{option} X.npz with an array `{LABEL}`",
        )
