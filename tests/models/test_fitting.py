"""A network that must fit: budgets and limits of accuracy, and what is kept of them."""

from __future__ import annotations

import os
import re
from dataclasses import replace
from pathlib import Path
from typing import Any

import numpy as np
import pytest

from edgeconv.app import pipeline
from edgeconv.app.pipeline import CompileOptions
from tests import onnx_models
from tests.command import BOARD, Command, Done
from tests.recurrent_models import Recurrent

DIGITS = Path(__file__).resolve().parents[2] / "examples" / "digits"
MODEL = DIGITS / "digits-cnn.onnx"
CALIBRATION = DIGITS / "digits-cnn-calibration.npz"
TESTSET = DIGITS / "digits-cnn-testset.npz"
FLOAT32_FLASH = (
    179_328  # bytes of its weights on every board: `edgeconv compile MODEL --board host`
)
# Budgets are kept of programs as they come out, however they are compiled.
pytestmark = pytest.mark.usefixtures("compiled_lightly")


def compiled(edgeconv: Command, directory: Path, *options: str | Path, board: str = BOARD) -> Done:
    return edgeconv("compile", MODEL, "--board", board, "-o", directory, "--json", *options)


def filters(report: Any) -> set[str]:
    return {layer["storage"]["weights"] for layer in report["layers"]} - {None}


def test_labels_that_may_be_lost(edgeconv: Command, tmp_path: Path) -> None:
    """The limit holds on images that were not used to choose, counted by the emitted program."""
    options = ("--calibration", CALIBRATION, "--max-drop", "0.01", "--objective", "memory")
    done = compiled(edgeconv, tmp_path / "digits", *options, "--build")
    assert done.status == 0, done.stderr
    report = done.json()
    plain = compiled(edgeconv, tmp_path / "plain", "--build").json()
    assert report["flash"]["total"] <= 0.35 * plain["flash"]["total"]
    assert report["accuracy"]["promised"]
    assert report["accuracy"]["top1_drop"] <= 0.01
    tried = edgeconv("verify", tmp_path / "digits", "--samples", TESTSET, "--json")
    assert tried.status == 0, tried.stderr
    assert tried.json()["samples"] == 500
    assert tried.json()["top1_drop"] <= 0.01


def test_signal_to_noise_ratio(edgeconv: Command, tmp_path: Path) -> None:
    ratios, sizes = [], []
    for least in (50, 20):
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


@pytest.mark.parametrize(
    ("board", "budgets"),
    [
        pytest.param("host", (170_000, 60_000), marks=pytest.mark.slow),
        pytest.param("odroid-xu3", (100_000,), marks=pytest.mark.slow),
        ("mps2-an500", (60_000,)),
    ],
)
def test_budgets_of_the_built_program(
    board: str, budgets: tuple[int, ...], edgeconv: Command, tmp_path: Path
) -> None:
    """Every byte of the program that lies in flash counts, and the least is lost that must be."""
    lost = []
    for budget in budgets:
        where = tmp_path / f"{budget}"
        done = compiled(edgeconv, where, "--flash", str(budget), "--verify", board=board)
        assert done.status == 0, done.stderr
        report = done.json()
        assert report["flash"]["total"] <= budget
        flashed = list((where / "build").glob("*.bin"))
        assert bool(flashed) == (board == "mps2-an500")
        assert all(path.stat().st_size <= budget for path in flashed)
        lost.append(report["accuracy"]["sqnr_db"])
    assert lost == sorted(lost, reverse=True)


def test_without_calibration_nothing_is_promised(edgeconv: Command, tmp_path: Path) -> None:
    done = compiled(edgeconv, tmp_path / "digits", "--flash", "64K", "--verify")
    assert done.status == 0, done.stderr
    assert "nothing is promised" in done.stderr
    report = done.json()
    assert not report["accuracy"]["promised"]
    assert report["flash"]["total"] <= 64 << 10


def test_half_the_memory(edgeconv: Command, tmp_path: Path) -> None:
    direct = ("--winograd-error", "0")  # whose workspace would be let go first
    built = compiled(edgeconv, tmp_path / "plain", *direct, "--build", board="host")
    plain = built.json()["ram"]  # the stack included
    budget = plain["total"] - plain["arena"] // 2
    limit = ("--ram", str(budget), "--verify")
    done = compiled(edgeconv, tmp_path / "half", *direct, *limit, board="host")
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
    nearest = re.split(r"[;\n]", done.stderr.partition("nearest that fits: ")[2])[0].split()
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


def of_zoo(name: str) -> Path:
    path = Path(os.environ.get("EDGECONV_ZOO", "/nonexistent")) / name
    if not path.exists():
        pytest.skip(f"EDGECONV_ZOO has no {name}")
    return path


@pytest.mark.slow
def test_visual_wake_words_in_half_a_mebibyte(edgeconv: Command, tmp_path: Path) -> None:
    model, budgets = of_zoo("mlperf-tiny-vww.onnx"), ("--ram", "256K", "--flash", "512K")
    where = tmp_path / "vww"
    command = ("compile", model, "--board", "stm32h743", "-o", where, "--build", "--json")
    done = edgeconv(*command, *budgets)
    assert done.status == 0, done.stderr
    report = done.json()
    assert report["ram"]["total"] <= 256 << 10
    assert report["flash"]["total"] <= 512 << 10
    (image,) = (where / "build").glob("*.bin")
    assert image.stat().st_size <= 512 << 10


@pytest.mark.slow
def test_half_the_arena_of_mobilenet(edgeconv: Command, tmp_path: Path) -> None:
    command = ("compile", of_zoo("mobilenet_v2.onnx"), "--board", "host", "--json")
    plain = edgeconv(*command, "-o", tmp_path / "plain", "--build").json()["ram"]
    budget = plain["total"] - plain["arena"] // 2
    done = edgeconv(*command, "-o", tmp_path / "half", "--ram", str(budget), "--verify")
    assert done.status == 0, done.stderr
    assert done.json()["ram"]["arena"] <= plain["arena"] // 2
    assert done.json()["ram"]["total"] <= budget


@pytest.mark.slow
def test_a_quarter_of_the_flash_of_resnet18(edgeconv: Command, tmp_path: Path) -> None:
    command = ("compile", of_zoo("resnet18.onnx"), "--board", "host", "--json")
    plain = edgeconv(*command, "-o", tmp_path / "plain", "--build").json()["flash"]
    budget = plain["total"] // 4
    done = edgeconv(*command, "-o", tmp_path / "quarter", "--flash", str(budget), "--verify")
    assert done.status == 0, done.stderr
    assert done.json()["flash"]["total"] <= budget


@pytest.mark.slow
def test_faces_at_twenty_decibels(edgeconv: Command, tmp_path: Path) -> None:
    """Seeded inputs in place of photographs."""
    inputs = tmp_path / "inputs.npz"
    rng = np.random.default_rng(1)
    np.savez(inputs, input=rng.standard_normal((8, 1, 3, 240, 320), dtype=np.float32))
    model = DIGITS.parent / "face-detector" / "ultraface-rfb-320.onnx"
    limits = ("--calibration", inputs, "--min-sqnr", "20", "--objective", "memory", "--verify")
    plain = edgeconv("compile", model, "--board", "host", "-o", tmp_path / "plain", "--json")
    done = edgeconv(
        "compile", model, "--board", "host", "-o", tmp_path / "small", "--json", *limits
    )
    assert done.status == 0, done.stderr
    assert done.json()["accuracy"]["sqnr_db"] >= 20
    assert done.json()["flash"]["weights"] <= plain.json()["flash"]["weights"] / 3
    tried = edgeconv("verify", tmp_path / "small", "--samples", inputs, "--json")
    assert min(tried.json()["sqnr_db"].values()) >= 20


@pytest.mark.slow
def test_the_frontier_has_what_compile_finds() -> None:
    """With the kernels that save RAM too, rounded as compile rounds: docs/storage.md shows it."""
    options = CompileOptions(
        MODEL,
        "stm32f407",
        calibration=CALIBRATION,
        ram=7000,
        flash=26_000,
        io="arena",
    )
    points, _ = pipeline.frontier_of(options)
    wanted = replace(options, min_sqnr=31.0, objective="memory")
    found = pipeline.decide(wanted)
    ram, flash = found.report["ram"]["total"], found.report["flash"]["total"]
    assert found.found is not None
    assert (ram, flash) == (6152, 24448)
    least = found.found.accuracy.sqnr_db - 0.1
    assert any(p.ram <= ram and p.flash <= flash and p.sqnr_db >= least for p in points)


@pytest.mark.parametrize(("budget", "coarse"), [(16 << 10, False), (12 << 10, True)])
def test_weights_of_recurrent_states_are_among_what_is_chosen(
    budget: int, coarse: bool, edgeconv: Command, tmp_path: Path
) -> None:
    """R of a bidirectional LSTM takes more than half of the image; with formats of few bits layers
    are rounded in turn, but for recurrent ones."""
    model, _ = Recurrent("LSTM", (6, 1, 16, 24), {"direction": "bidirectional"}).built()
    path = onnx_models.save(model, tmp_path / "lstm.onnx")
    samples = np.random.default_rng(0).uniform(-1, 1, (16, 6, 1, 16)).astype(np.float32)
    np.savez(tmp_path / "x.npz", X=samples)
    options = ("--calibration", tmp_path / "x.npz", "--flash", str(budget), "--verify", "--json")
    done = edgeconv("compile", path, "--board", "mps2-an386", "-o", tmp_path / "lstm", *options)
    assert done.status == 0, done.stderr
    report = done.json()
    assert report["flash"]["total"] <= budget
    (state,) = [layer for layer in report["layers"] if layer["op"] == "Recurrent"]
    assert state["storage"]["weights"] != "float32"
    assert (not filters(report).isdisjoint({"int4", "flyte8"})) == coarse
    assert report["accuracy"]["sqnr_db"] > (10 if coarse else 35)
