"""Detections are a set, each of which keeps its box, class and score."""

from __future__ import annotations

import numpy as np
import pytest

from edgeconv.run.build.project import Port
from edgeconv.run.verify.compare import compare
from edgeconv.run.verify.detections import in_order_of
from tests.onnx_models import Values

TOLERANCE = 1e-4
BOXES, SCORES, CLASSES = "boxes", "scores", "classes"
PORTS = (
    Port(BOXES, (1, 4, 4), data_dependent=(1, "count")),
    Port(SCORES, (4,), data_dependent=(0, "count")),
    Port(CLASSES, (4,), "int64", data_dependent=(0, "count")),
    Port("count", (1,), "int64"),
    Port("features", (4,)),
)


def found() -> dict[str, Values]:
    """Three detections, two of which have all but the same score; room for four."""
    boxes = np.zeros((1, 4, 4), np.float32)
    boxes[0, :3] = [[0, 0, 10, 10], [20, 20, 30, 30], [0, 0, 640, 640]]
    return {
        BOXES: boxes,
        SCORES: np.array([0.9, 0.5, 0.5000001, 0], np.float32),
        CLASSES: np.array([7, 2, 3, 0]),
        "count": np.array([3]),
        "features": np.array([1, 2, 3, 4], np.float32),
    }


def moved(order: list[int]) -> dict[str, Values]:
    values = found()
    values[BOXES] = values[BOXES][:, order]
    return values | {name: values[name][order] for name in (SCORES, CLASSES)}


def differing(got: dict[str, Values]) -> tuple[set[str], tuple[str, ...]]:
    ordered, changed = in_order_of(found(), got, PORTS, TOLERANCE)
    far = {n for n, v in found().items() if not compare(n, ordered[n], v).within(TOLERANCE)}
    return far, changed


def test_another_order_is_no_difference() -> None:
    assert differing(found()) == (set(), ())
    assert differing(moved([0, 2, 1, 3])) == (set(), (BOXES, SCORES, CLASSES))
    assert differing(moved([2, 0, 1, 3])) == (set(), (BOXES, SCORES, CLASSES))


def test_what_is_no_detection_keeps_its_order() -> None:
    got = found() | {"features": np.array([2, 1, 3, 4], np.float32)}
    assert differing(got)[0] == {"features"}


@pytest.mark.parametrize(
    ("name", "wrong"), [(BOXES, 21.0), (SCORES, 0.6), (CLASSES, 4), (SCORES, np.nan)]
)
def test_another_box_class_or_score_is_one(name: str, wrong: float) -> None:
    got = moved([0, 2, 1, 3])
    got[name].reshape(got[name].shape[-2:] if name == BOXES else -1)[2] = wrong
    assert name in differing(got)[0]


def test_parts_of_detections_are_not_exchanged() -> None:
    """All boxes and all classes are there, each with another's."""
    got = found()
    got[CLASSES] = got[CLASSES][[1, 0, 2, 3]]
    assert differing(got)[0] == {CLASSES}
