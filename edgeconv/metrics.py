"""Accuracy of int8 models, for ``edgeconv.quantise(metric=...)`` and ``--metric``.

A metric is a function of three dicts of arrays, by name: the outputs of the model that is measured,
(S, *shape) of S samples; the same of the float32 model; and the arrays of the samples' file that
are no inputs: `label`, and what is called ``label:`` and a name there, under that name.  It returns
a number, the higher the better.

    edgeconv quantise detector.onnx --samples X.npz --metric edgeconv.metrics:detections

    edgeconv.quantise(model, samples, output, max_drop=0.02,
                      metric=edgeconv.metrics.detections_by("boxes", "scores", threshold=0.3))
"""

from __future__ import annotations

from collections.abc import Callable, Mapping
from dataclasses import dataclass
from typing import Any

import numpy as np
import numpy.typing as npt

__all__ = ["Detections", "detections", "detections_by", "matched", "overlaps", "top1"]

Array = npt.NDArray[Any]
Arrays = Mapping[str, Array]
THRESHOLD, OVERLAP = 0.5, 0.5
_MOST = 400  # detections of a sample, those of the highest scores
_CORNERS = 4


def top1(outputs: Arrays, real: Arrays, labels: Arrays) -> float:
    """The share of samples whose highest score, of the first output, is that of `label`, or of the
    float32 model where the samples have none."""
    name = next(iter(outputs))
    best = _best(outputs[name])
    wanted = labels["label"].reshape(-1) if "label" in labels else _best(real[name])
    return float(np.mean(best == wanted))


def _best(scores: Array) -> Array:
    """The class of each image."""
    return np.asarray(scores.reshape(-1, scores.shape[-1]).argmax(1))


@dataclass(frozen=True, slots=True)
class Detections:
    """What was found in a sample.  ``boxes``: (N, 4) corners x0, y0, x1, y1 (or y0, x0, y1, x1),
    ``classes`` and ``scores``: (N,)."""

    boxes: Array
    classes: Array
    scores: Array

    def __len__(self) -> int:
        return len(self.boxes)


def overlaps(one: Array, other: Array) -> Array:
    """(N, M): intersection over union of boxes (N, 4) and (M, 4), by corners."""
    low = np.maximum(one[:, None, :2], other[None, :, :2])
    high = np.minimum(one[:, None, 2:], other[None, :, 2:])
    both = np.clip(high - low, 0, None).prod(axis=2)
    sizes = [np.clip(each[:, 2:] - each[:, :2], 0, None).prod(axis=1) for each in (one, other)]
    union = sizes[0][:, None] + sizes[1][None] - both
    return np.where(union > 0, both / np.where(union > 0, union, 1), 0.0)


def matched(found: Detections, wanted: Detections, overlap: float = OVERLAP) -> int:
    """How many of ``found`` are one of ``wanted``: of the same class, with an intersection over
    union of ``overlap`` at least; each at most once, those of the highest scores first."""
    if not len(found) or not len(wanted):
        return 0
    near = overlaps(found.boxes, wanted.boxes)
    near = np.where(found.classes[:, None] == wanted.classes[None], near, -1.0)
    count = 0
    for row in np.argsort(-found.scores, kind="stable"):
        best = int(near[row].argmax())
        if near[row, best] >= overlap:
            near[:, best] = -1.0
            count += 1
    return count


def detections(outputs: Arrays, real: Arrays, labels: Arrays) -> float:
    """`detections_by` of the outputs that are boxes and scores by their names and shapes."""
    boxes = [name for name, array in outputs.items() if array.shape[-1] == _CORNERS]
    others = [name for name in outputs if name not in boxes]
    if len(boxes) > 1:
        boxes = [name for name in boxes if "box" in name.lower()]
        others = [name for name in outputs if name not in boxes]
    classes = [n for n in others if any(word in n.lower() for word in ("class", "label"))]
    scores = [n for n in others if "score" in n.lower() or "conf" in n.lower()]
    if len(others) == 1:
        classes, scores = [], others
    if len(boxes) != 1 or len(scores) != 1 or len(classes) > 1:
        shapes = ", ".join(f"{name} {list(array.shape[1:])}" for name, array in outputs.items())
        raise ValueError(f"cannot tell boxes from scores, name them to detections_by: {shapes}")
    return detections_by(boxes[0], scores[0], "".join(classes))(outputs, real, labels)


def detections_by(
    boxes: str,
    scores: str,
    classes: str = "",
    *,
    threshold: float = THRESHOLD,
    overlap: float = OVERLAP,
    background: int | None = None,
    centres: bool = False,
) -> Callable[[Arrays, Arrays, Arrays], float]:
    """A metric that compares what was found as sets: the F1 score, of all samples together.

    ``boxes``: the output (..., N, 4); ``scores``: (..., N) or, of every class, (..., N, classes);
    ``classes``: the output (..., N) where scores are not by class.  What has a score of
    ``threshold`` at least counts, one of several that overlap by more than ``overlap``; ones of
    both sets are the same by `matched`.  ``background``: a class that is none, the first where
    there are two.  ``centres``: boxes are centre and size.  What is wanted is what float32 finds;
    or, where the samples' file has ``label:boxes`` (S, M, 4), corners, and ``label:classes``
    (S, M), -1 for none, these.
    """

    def found_in(arrays: Arrays, sample: int) -> Detections:
        box = arrays[boxes][sample].reshape(-1, _CORNERS).astype(np.float64)
        if centres:
            box = np.concatenate([box[:, :2] - box[:, 2:] / 2, box[:, :2] + box[:, 2:] / 2], axis=1)
        score = arrays[scores][sample].astype(np.float64).reshape(len(box), -1)
        if score.shape[1] > 1:
            none = background if background is not None or score.shape[1] > 2 else 0
            if none is not None:
                score[:, none] = -np.inf
            kind = score.argmax(axis=1)
        else:
            kind = arrays[classes][sample].reshape(-1) if classes else np.zeros(len(box))
        return _kept(Detections(box, kind, score.max(axis=1)), threshold, overlap)

    def f1(outputs: Arrays, real: Arrays, labels: Arrays) -> float:
        same, of = 0, 0
        for sample in range(len(outputs[boxes])):
            mine = found_in(outputs, sample)
            truth = _truth(labels, sample)  # may be that there is nothing
            wanted = found_in(real, sample) if truth is None else truth
            same += matched(mine, wanted, overlap)
            of += len(mine) + len(wanted)
        return 2 * same / of if of else 1.0

    return f1


def _truth(labels: Arrays, sample: int) -> Detections | None:
    if "boxes" not in labels or "classes" not in labels:
        return None
    kinds = labels["classes"][sample].reshape(-1)
    boxes = labels["boxes"][sample].reshape(-1, _CORNERS)
    there = kinds >= 0
    return Detections(boxes[there], kinds[there], np.ones(int(there.sum())))


def _kept(found: Detections, threshold: float, overlap: float) -> Detections:
    """Detections of the highest scores, one of several of a class in a place."""
    order = np.argsort(-found.scores, kind="stable")
    order = order[found.scores[order] >= threshold][:_MOST]
    near = overlaps(found.boxes[order], found.boxes[order]) > overlap
    near &= found.classes[order][:, None] == found.classes[order][None]
    kept: list[int] = []
    for row in range(len(order)):
        if not near[row, kept].any():
            kept.append(row)
    chosen = order[kept]
    return Detections(found.boxes[chosen], found.classes[chosen], found.scores[chosen])
