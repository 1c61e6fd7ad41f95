"""Accuracy by functions of the user's, and the metrics that come along."""

from __future__ import annotations

from collections.abc import Callable, Mapping
from pathlib import Path
from typing import Any

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as some

import edgeconv as api
from edgeconv import metrics
from edgeconv.base.errors import EdgeconvError
from edgeconv.metrics import Detections
from edgeconv.search.calibration.metric import metric_of
from tests import ROOT
from tests.command import Command

DIGITS = ROOT / "examples" / "digits"
MODEL, SAMPLES = DIGITS / "digits-cnn.onnx", DIGITS / "digits-cnn-calibration.npz"


def test_a_function_decides_what_may_be_lost(tmp_path: Path) -> None:
    seen: list[tuple[dict[str, Any], ...]] = []

    def closeness(outputs: Any, real: Any, labels: Any) -> float:
        seen.append((outputs, real, labels))
        return -float(np.abs(outputs["logits"] - real["logits"]).max())

    out = tmp_path / "m.onnx"
    made = api.quantise(MODEL, SAMPLES, out, max_drop=0.3, metric=closeness)
    drop = made.accuracy.metric_drop
    assert drop is not None
    assert 0 < drop <= 0.3
    assert made.accuracy.metric == -drop
    assert not all(layer.int8 for layer in made.layers)
    assert made.to_json()["metric"]["name"] == "closeness"
    outputs, real, labels = seen[-1]
    assert outputs["logits"].shape == real["logits"].shape == (50, 1, 10)
    assert labels["label"].shape == (50, 1)


def test_a_module_of_the_working_directory(
    edgeconv: Command, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.chdir(tmp_path)
    with np.load(SAMPLES) as given:
        rows = {"image": given["image"], "label:weight": np.arange(200.0)}
    np.savez(tmp_path / "x.npz", **rows)
    (tmp_path / "scores.py").write_text(
        "def mean(outputs, real, labels):\n    return labels['weight'].mean()\n"
    )
    given_to = ("quantise", MODEL, "--samples", tmp_path / "x.npz", "-o", tmp_path / "m.onnx")
    done = edgeconv.ok(*given_to, "--metric", "scores:mean", "--json")
    assert done.json()["metric"] == {"name": "scores:mean", "value": 101.0, "drop": 0.0}
    assert "scores:mean 101 (float32: 101)" in done.stderr


def test_what_a_function_writes_to_is_its_own() -> None:
    def greedy(*given: Mapping[str, np.ndarray[Any, Any]]) -> float:
        for arrays in given:
            arrays["y"] -= 1
        return float(given[0]["y"].sum())

    metric, real = metric_of(greedy), {"y": np.ones(3)}
    assert metric
    assert [metric.value(real, real, real) for _ in range(2)] == [0.0, 0.0]


def _raises(*_: object) -> float:
    raise KeyError("boxes")


def _exits(*_: object) -> float:
    raise SystemExit(0)


@pytest.mark.parametrize(
    ("function", "words"),
    [
        (_raises, "KeyError: 'boxes'"),
        (_exits, "SystemExit: 0"),
        (lambda *_: "0.5", "returned no number"),
        (lambda *_: None, "returned no number"),
        (lambda *_: np.zeros(2), "returned no number"),
        (lambda *_: float("nan"), "returned no number"),
        (lambda *_: 1j, "returned no number"),
    ],
)
def test_what_is_no_number(function: Callable[..., Any], words: str, tmp_path: Path) -> None:
    metric = metric_of(function)
    assert metric
    with pytest.raises(EdgeconvError) as caught:
        metric.value({}, {}, {})
    assert words in caught.value.one_line()


def test_the_line_that_failed_is_named() -> None:
    metric = metric_of(_raises)
    assert metric
    with pytest.raises(EdgeconvError, match=r"test_metrics\.py:\d+"):
        metric.value({}, {}, {})


@pytest.mark.parametrize(
    "given", ["nothing", "no_such_module:f", "math:no_such_function", "math:pi", ":f", 3]
)
def test_what_names_no_function(given: Any) -> None:
    with pytest.raises(EdgeconvError) as caught:
        metric_of(given)
    assert caught.value.code == 2


@pytest.mark.parametrize("kind", [float, int, np.float32, np.array, bool])
def test_numbers_of_every_kind(kind: Callable[[Any], Any]) -> None:
    metric = metric_of(lambda *_: kind(1))
    assert metric
    assert metric.value({}, {}, {}) == 1.0


def test_rows_of_labels_are_as_many_as_samples(edgeconv: Command, tmp_path: Path) -> None:
    with np.load(SAMPLES) as given:
        np.savez(tmp_path / "x.npz", **{"image": given["image"], "label:boxes": np.zeros((3, 4))})
    done = edgeconv("quantise", MODEL, "--samples", tmp_path / "x.npz", "-o", tmp_path / "m.onnx")
    assert done.status == 2
    assert "200 samples" in done.stderr


BOX = np.array([[0, 0, 2, 2], [10, 10, 12, 12], [1, 0, 3, 2]], float)


def of(*rows: int, classes: tuple[int, ...] = (), scores: tuple[float, ...] = ()) -> Detections:
    """The boxes ``rows``, of class 0 and score 1 but where others are given."""
    count = len(rows)
    return Detections(
        BOX[list(rows)],
        np.array(classes or (0,) * count),
        np.array(scores or (1.0,) * count),
    )


def test_overlaps() -> None:
    found = metrics.overlaps(BOX, BOX)
    np.testing.assert_allclose(found, np.array([[1, 0, 1 / 3], [0, 1, 0], [1 / 3, 0, 1]]))
    none = np.zeros((1, 4))
    assert metrics.overlaps(none, none) == 0  # not a NaN of boxes without a size


def test_sets_are_matched_whatever_their_order() -> None:
    assert metrics.matched(of(0, 1), of(1, 0)) == 2
    assert metrics.matched(of(0, 1), of(1)) == 1
    assert metrics.matched(of(0, 0), of(0)) == 1  # each once
    assert metrics.matched(of(2), of(0)) == 0  # too far
    assert metrics.matched(of(2), of(0), 0.3) == 1
    assert metrics.matched(of(0, classes=(1,)), of(0)) == 0
    assert metrics.matched(of(), of(0)) == 0


@given(some.permutations(range(4)), some.integers(0, 3))
def test_detections_as_a_set(order: list[int], lost: int) -> None:
    rng = np.random.default_rng(0)
    low = 10 * np.arange(4)[:, None] + rng.random((4, 2))
    boxes = np.concatenate([low, low + 3], axis=1)[None, None]
    scores = np.array([[[0.1, 0.9], [0.2, 0.8], [0.3, 0.7], [0.4, 0.6]]])[None]
    real = {"boxes": boxes, "scores": scores}
    moved = {name: array[:, :, order] for name, array in real.items()}
    assert metrics.detections(moved, real, {}) == 1.0
    fewer = scores.copy()
    fewer[0, 0, :lost, 1] = 0.4
    measured = metrics.detections({"boxes": boxes, "scores": fewer}, real, {})
    assert measured == pytest.approx(2 * (4 - lost) / (8 - lost))


def test_detections_that_labels_want() -> None:
    boxes = BOX[None, :2]
    outputs = {"where": boxes, "how_sure": np.array([[0.9, 0.8]]), "what": np.array([[3, 1]])}
    metric = metrics.detections_by("where", "how_sure", "what")
    labels = {"boxes": BOX[None], "classes": np.array([[3, 2, -1]])}
    assert metric(outputs, outputs, labels) == pytest.approx(2 * 1 / 4)
    assert metric(outputs, outputs, {}) == 1.0
    nothing = {"boxes": BOX[None], "classes": np.full((1, 3), -1)}
    assert metric(outputs, outputs, nothing) == 0.0  # not what float32 finds
    centred = np.concatenate([(boxes[..., :2] + boxes[..., 2:]) / 2, np.full((1, 2, 2), 2.0)], -1)
    other = metrics.detections_by("where", "how_sure", "what", centres=True)
    assert other({**outputs, "where": centred}, {}, labels) == pytest.approx(2 * 1 / 4)


def test_several_of_one_thing_are_one() -> None:
    near = np.array([[[0, 0, 10, 10], [0, 0, 10, 9], [20, 20, 30, 30]]], float)
    outputs = {"boxes": near, "scores": np.array([[0.9, 0.8, 0.7]])}
    labels = {"boxes": near[:, [0, 2]], "classes": np.zeros((1, 2), int)}
    assert metrics.detections(outputs, outputs, labels) == 1.0


def test_outputs_that_are_no_detections() -> None:
    outputs = {"a": np.zeros((1, 3)), "b": np.zeros((1, 5))}
    with pytest.raises(ValueError, match="name them to detections_by"):
        metrics.detections(outputs, outputs, {})


def test_top1() -> None:
    real, outputs = ({"y": np.eye(3)[None, each]} for each in ([0, 1, 2], [0, 2, 1]))
    assert metrics.top1(outputs, real, {}) == pytest.approx(1 / 3)
    assert metrics.top1(outputs, real, {"label": np.array([[0, 2, 2]])}) == pytest.approx(2 / 3)
