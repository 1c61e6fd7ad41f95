"""What is promised of other samples than those that were measured on."""

from __future__ import annotations

import math

import numpy as np
import pytest

from edgeconv.report.measured_accuracy import measured_notes
from edgeconv.search.calibration.confidence import CONFIDENCE, upper
from edgeconv.search.calibration.samples import Samples
from edgeconv.search.calibration.sqnr import Accuracy, Power


@pytest.mark.parametrize("count", [2, 4, 8, 32, 128])
@pytest.mark.parametrize("spread", [0.2, 0.8], ids=["alike", "apart"])
def test_the_bound_holds_as_often_as_it_says(count: int, spread: float) -> None:
    """Of samples whose noise is log-normal, as that of rounded networks is nearly; signals differ
    too, by a factor of their own."""
    rng = np.random.default_rng(count)
    true = math.exp(spread**2 / 2)  # the mean of the noise, over that of the signal
    held = 0
    for _ in range(400):
        noises = rng.lognormal(0.0, spread, count)
        signals = rng.uniform(0.5, 1.5, count)
        bound = upper(signals.tolist(), noises.tolist())
        assert bound is not None
        held += bound >= true
    assert held >= CONFIDENCE * 400


def test_the_bound_nears_the_ratio_with_more_samples() -> None:
    rng = np.random.default_rng(0)
    margins = []
    for count in (8, 64, 512):
        noises, signals = rng.lognormal(0.0, 0.6, count), np.ones(count)
        bound = upper(signals.tolist(), noises.tolist())
        assert bound is not None
        margins.append(10 * math.log10(bound / noises.mean()))
    assert margins == sorted(margins, reverse=True)
    assert 0 < margins[-1] < 0.5


def test_what_cannot_be_said_of_other_samples() -> None:
    assert upper([1.0], [0.1]) is None
    assert upper([], []) is None
    assert upper([1.0, 2.0], [0.0, 0.0]) == 0.0
    assert upper([1.0, 2.0], [0.5, math.inf]) == math.inf
    assert upper([0.0, 0.0], [0.5, 0.5]) == math.inf


def test_powers_are_kept_by_sample() -> None:
    power = Power()
    for noise in (0.1, 0.3):
        power.add(np.full(4, 1 + noise, np.float32), np.ones(4, np.float32))
    assert power.signals == [4.0, 4.0]
    assert power.noises == pytest.approx([4 * 0.01, 4 * 0.09], rel=1e-5)
    assert power.ratio == pytest.approx(0.05, rel=1e-5)
    bound = power.bound()
    assert bound
    assert bound > power.ratio


def test_runs_of_a_sequence_say_as_much_as_one_sample() -> None:
    once, often = Power([4.0, 5.0], [0.1, 0.3]), Power([4.0] * 4 + [5.0] * 4, [0.1] * 4 + [0.3] * 4)
    runs = np.repeat(np.arange(2), 4)
    assert often.bound(runs) == pytest.approx(once.bound())
    few = often.bound()
    assert few
    assert few < (once.bound() or 0)
    assert often.bound(np.zeros(8, np.int64)) is None  # one sequence says nothing of others


def test_whole_sequences_are_held_back_where_there_are_several() -> None:
    def held_back(sequences: int) -> list[int]:
        number = np.repeat(np.arange(sequences), 3)
        inputs = {"x": np.zeros((len(number), 1))}
        return Samples(inputs, None, "", True, sequence=number).held_back(4)

    assert held_back(8) == [9, 10, 11, 21, 22, 23]
    assert held_back(2) == [3]


def test_the_promise_names_its_confidence_and_its_samples() -> None:
    found = Accuracy({"y": 42.0}, {}, 0.1, None, None, None, None, 20, promised=True)
    known = Accuracy({"y": 42.0}, {}, 0.1, None, None, None, None, 20, True, at_least_db=40.25)
    assert found.keeps(41.0)
    assert not known.keeps(41.0)
    assert known.keeps(40.0)
    (line,) = (note for note in measured_notes(known, "my.npz") if "confidence" in note)
    assert "at least 40.2 dB" in line
    assert "95% confidence from 20" in line
    assert not any("confidence" in note for note in measured_notes(found, "my.npz"))
