"""Samples that say little: few, all the same, or of no usable size."""

from __future__ import annotations

from pathlib import Path

import numpy as np
import numpy.typing as npt
import pytest

from edgeconv.app.pipeline import CompileOptions, compile_model, decide, try_project
from edgeconv.base.errors import EdgeconvError
from edgeconv.search.calibration.confidence import CONFIDENCE

pytestmark = pytest.mark.usefixtures("unoptimised")

DIGITS = Path(__file__).parents[2] / "examples" / "digits"
SAMPLES = np.load(DIGITS / "digits-cnn-calibration.npz")["image"]


def decided(images: npt.NDArray[np.float32], folder: Path) -> tuple[str, ...]:
    """The notes of a choice of formats that was measured on ``images``."""
    np.savez(folder / "x.npz", image=images)
    options = CompileOptions(
        DIGITS / "digits-cnn.onnx",
        "generic-c",
        calibration=folder / "x.npz",
        min_sqnr=30.0,
        objective="memory",
    )
    found = decide(options)
    assert found.found is not None
    assert found.found.accuracy.sqnr_db >= 30
    assert found.report["flash"]["weights"] < 60_000
    return found.notes


@pytest.mark.parametrize(
    ("images", "words"),
    [
        (SAMPLES[:2], "1 sample to measure on: that says little"),
        (SAMPLES[:1], "1 sample to measure on: that says little"),
        (np.zeros_like(SAMPLES[:2]), "all samples are the same"),
        (np.repeat(SAMPLES[:1], 9, axis=0), "all samples are the same"),
        (SAMPLES[:40], ""),
    ],
    ids=["two", "one", "black", "one nine times", "forty"],
)
def test_few_samples_do_and_it_is_said(
    images: npt.NDArray[np.float32], words: str, tmp_path: Path
) -> None:
    notes = "\n".join(decided(images, tmp_path))
    assert (words in notes) if words else "says little" not in notes
    assert ("with 95% confidence" in notes) == (not words)


def test_what_is_asked_for_holds_on_others(tmp_path: Path) -> None:
    """Eight samples, four of them to measure on: what measures 60.7 dB there has 55.3 on others."""
    np.savez(tmp_path / "x.npz", image=SAMPLES[8:16])
    options = CompileOptions(
        DIGITS / "digits-cnn.onnx",
        "host",
        calibration=tmp_path / "x.npz",
        min_sqnr=60.0,
        objective="memory",
    )
    project, notes = compile_model(options, tmp_path / "digits")
    promised = project.report["accuracy"]
    assert promised["at_least_db"] >= 60
    assert promised["confidence"] == CONFIDENCE
    assert f"at least {promised['at_least_db']:.1f} dB" in "\n".join(notes)
    found, _, _ = try_project(tmp_path / "digits", DIGITS / "digits-cnn-testset.npz")
    assert found.sqnr_db >= 60


def test_samples_of_no_usable_size_are_refused(tmp_path: Path) -> None:
    """Squares of 1e30 are beyond float32: no rounding by them, and no search without end."""
    with pytest.raises(EdgeconvError, match="cannot round by these samples") as caught:
        decided(SAMPLES[:20] * np.float32(1e30), tmp_path)
    assert "scale the samples" in str(caught.value)
