"""A network that must fit: budgets and limits of accuracy, and what is kept of them."""

from __future__ import annotations

from pathlib import Path
from typing import Any

import numpy as np
import pytest

from tests.command import Command, Done

DIGITS = Path(__file__).resolve().parents[2] / "examples" / "digits"
MODEL = DIGITS / "digits-cnn.onnx"
CALIBRATION = DIGITS / "digits-cnn-calibration.npz"
TESTSET = DIGITS / "digits-cnn-testset.npz"
FLOAT32_FLASH = (
    179_328  # bytes of its weights on every board: `edgeconv compile MODEL --board host`
)


def compiled(edgeconv: Command, directory: Path, *options: str | Path, board: str = "host") -> Done:
    return edgeconv("compile", MODEL, "--board", board, "-o", directory, "--json", *options)


def filters(report: Any) -> set[str]:
    return {layer["storage"]["weights"] for layer in report["layers"]} - {None}


def test_labels_that_may_be_lost(edgeconv: Command, tmp_path: Path) -> None:
    """The limit holds on images that were not used to choose, counted by the emitted program."""
    options = ("--calibration", CALIBRATION, "--max-drop", "0.01", "--objective", "memory")
    done = compiled(edgeconv, tmp_path / "digits", *options, "--build")
    assert done.status == 0, done.stderr
    report = done.json()
    assert report["flash"]["total"] <= 0.35 * FLOAT32_FLASH
    assert report["accuracy"]["promised"]
    assert report["accuracy"]["top1_drop"] <= 0.01
    tried = edgeconv("verify", tmp_path / "digits", "--samples", TESTSET, "--json")
    assert tried.status == 0, tried.stderr
    assert tried.json()["samples"] == 500
    assert tried.json()["top1_drop"] <= 0.01


def test_signal_to_noise_ratio(edgeconv: Command, tmp_path: Path) -> None:
    ratios, sizes = [], []
    for least in (60, 40, 20):
        options = ("--calibration", CALIBRATION, "--min-sqnr", str(least), "--objective", "memory")
        done = compiled(edgeconv, tmp_path / f"at{least}", *options)
        assert done.status == 0, done.stderr
        report = done.json()
        assert report["accuracy"]["sqnr_db"] >= least
        assert report["choice"]["min_sqnr"] == least
        ratios.append(report["accuracy"]["sqnr_db"])
        sizes.append(report["flash"]["weights"])
    assert sizes == sorted(sizes, reverse=True)
    assert ratios == sorted(ratios, reverse=True)


@pytest.mark.parametrize("board", ["host", "odroid-xu3", "mps2-an500"])
def test_budgets_of_the_built_program(board: str, edgeconv: Command, tmp_path: Path) -> None:
    """Every byte of the ELF that lies in flash counts, and the least is lost that must be."""
    lost = []
    for budget in (170_000, 110_000, 60_000):
        where = tmp_path / f"{budget}"
        done = compiled(edgeconv, where, "--flash", str(budget), "--build", board=board)
        assert done.status == 0, done.stderr
        report = done.json()
        assert report["flash"]["total"] <= budget
        flashed = list((where / "build").glob("*.bin"))
        assert bool(flashed) == (board == "mps2-an500")
        assert all(path.stat().st_size <= budget for path in flashed)
        lost.append(report["accuracy"]["sqnr_db"])
        verified = edgeconv("verify", where)
        assert verified.status == 0, verified.stdout + verified.stderr
    assert lost == sorted(lost, reverse=True)


def test_without_calibration_nothing_is_promised(edgeconv: Command, tmp_path: Path) -> None:
    done = compiled(edgeconv, tmp_path / "digits", "--flash", "64K", "--verify")
    assert done.status == 0, done.stderr
    assert "nothing is promised" in done.stderr
    report = done.json()
    assert not report["accuracy"]["promised"]
    assert report["flash"]["total"] <= 64 << 10


def test_half_the_memory(edgeconv: Command, tmp_path: Path) -> None:
    plain = compiled(edgeconv, tmp_path / "plain").json()["ram"]
    budget = plain["total"] - plain["arena"] // 2
    done = compiled(edgeconv, tmp_path / "half", "--ram", str(budget), "--verify")
    assert done.status == 0, done.stderr
    report = done.json()
    assert report["ram"]["total"] <= budget
    assert "flyte16" in {layer["storage"]["output"] for layer in report["layers"]}


def test_budgets_that_cannot_be_kept(edgeconv: Command, tmp_path: Path) -> None:
    done = compiled(edgeconv, tmp_path / "digits", "--flash", "16K", "--ram", "2K")
    assert done.status == 1
    assert "no choice of storage formats fits" in done.stderr
    assert "/11/Conv" in done.stderr  # its filters are two thirds of the flash
    assert "the nearest that fits: --ram" in done.stderr
    assert not (tmp_path / "digits").exists()
    nearest = done.stderr.partition("nearest that fits: ")[2].splitlines()[0].split()
    again = compiled(edgeconv, tmp_path / "digits", *nearest)
    assert again.status == 0, again.stderr


def test_labels_are_needed(edgeconv: Command, tmp_path: Path) -> None:
    unlabelled = tmp_path / "images.npz"
    np.savez(unlabelled, image=np.load(CALIBRATION)["image"][:4])
    options = ("--calibration", unlabelled, "--max-drop", "0.1")
    done = compiled(edgeconv, tmp_path / "digits", *options)
    assert done.status == 2
    assert "--max-drop needs labels" in done.stderr


def test_formats_that_the_user_gives_are_kept(edgeconv: Command, tmp_path: Path) -> None:
    """Calibration then only rounds better."""
    given = ("--storage", "*=int4")
    nearest = compiled(edgeconv, tmp_path / "nearest", *given, "--verify").json()
    done = compiled(edgeconv, tmp_path / "best", *given, "--calibration", CALIBRATION, "--verify")
    assert done.status == 0, done.stderr
    assert filters(done.json()) == filters(nearest) == {"int4"}
    tried = [
        edgeconv("verify", tmp_path / name, "--samples", TESTSET, "--json").json()["sqnr_db"]
        for name in ("nearest", "best")
    ]
    assert tried[1]["logits"] > tried[0]["logits"] + 3


def test_frontier(edgeconv: Command, tmp_path: Path) -> None:
    options = ("--board", "odroid-xu3", "--calibration", CALIBRATION, "--pareto")
    page = tmp_path / "frontier.html"
    done = edgeconv("explain", MODEL, *options, "--json", "--html", page)
    assert done.status == 0, done.stderr
    points = done.json()
    assert len(points) > 3
    measures = [(p["ram"], p["flash"], p["predicted_ms"], -(p["sqnr_db"] or 1e9)) for p in points]
    for one in measures:
        for other in measures:
            better = all(a <= b for a, b in zip(other, one, strict=True))
            assert other == one or not better
    assert "plotly" in page.read_text()
