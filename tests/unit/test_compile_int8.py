"""`compile --int8 X.npz`: quantised and compiled at once."""

from __future__ import annotations

import json
from pathlib import Path

import pytest

import edgeconv as api
from tests import ROOT
from tests.command import Command

DIGITS = ROOT / "examples" / "digits"
MODEL, SAMPLES = DIGITS / "digits-cnn.onnx", DIGITS / "digits-cnn-calibration.npz"
BOARD = ("--board", "mps2-an500")


@pytest.fixture(scope="module")
def made(tmp_path_factory: pytest.TempPathFactory) -> api.Program:
    folder = tmp_path_factory.mktemp("int8") / "c"
    return api.compile(MODEL, board=BOARD[1], directory=folder, int8=SAMPLES)


def test_all_of_it_is_computed_in_integers(made: api.Program) -> None:
    weighted = [layer for layer in made.layers() if layer.macs]
    assert [layer.weights for layer in weighted] == ["int8"] * 6
    assert made.report["accuracy"]["sqnr_db"] > 30
    assert (made.directory / made.report["model"]["int8"]["file"]).is_file()
    command = made.report["program"]["command"]
    assert f"--int8 {SAMPLES.name}" in command
    assert "--storage" not in command
    assert "--calibration" not in command


def test_every_layer_says_what_it_lost_and_gained(made: api.Program, edgeconv: Command) -> None:
    layers = made.report["model"]["int8"]["layers"]
    assert [layer["int8"] for layer in layers] == [True] * 6
    assert all(layer["sqnr_db"] > 25 for layer in layers)
    assert sum(layer["bytes"] for layer in layers) * 3 < sum(e["bytes_before"] for e in layers)
    shown = edgeconv.ok("report", made.directory).stdout
    assert "6 of 6 layers in int8" in shown
    assert layers[0]["name"] in shown


def test_layers_that_are_said_to_be_something_else_are(edgeconv: Command, tmp_path: Path) -> None:
    given = ("compile", MODEL, *BOARD, "--int8", SAMPLES, "-o", tmp_path / "c", "--json")
    report = edgeconv.ok(*given, "--storage", "/3/Conv=float32").json()
    kept = {layer["name"] for layer in report["model"]["int8"]["layers"] if not layer["int8"]}
    assert kept == {"/3/Conv"}


@pytest.mark.parametrize(
    ("more", "status", "words"),
    [
        (("--min-sqnr", "200"), 1, "no layer can be int8"),
        (("--calibration", SAMPLES), 2, "--int8 together with --calibration"),
        (("--rounding", "truncate"), 2, "--int8 together with --rounding truncate"),
        (("--metric", "nothing"), 2, "MODULE:FUNCTION"),
    ],
)
def test_what_cannot_be(
    more: tuple[str | Path, ...], status: int, words: str, edgeconv: Command, tmp_path: Path
) -> None:
    out = tmp_path / "c"
    done = edgeconv("compile", MODEL, *BOARD, "--int8", SAMPLES, "-o", out, *more)
    assert done.status == status
    assert words in done.stderr
    assert not out.exists()


def test_a_metric_is_of_an_int8_network(edgeconv: Command, tmp_path: Path) -> None:
    given = ("compile", MODEL, *BOARD, "-o", tmp_path / "c", "--metric", "edgeconv.metrics:top1")
    assert "--metric without --int8" in edgeconv(*given).stderr
    done = edgeconv.ok(*given, "--int8", SAMPLES, "--max-drop", "0.1")
    assert "edgeconv.metrics:top1 1 (float32: 1)" in done.stderr


def test_a_quantised_model_stays_as_it_is(
    made: api.Program, edgeconv: Command, tmp_path: Path
) -> None:
    model = made.directory / made.report["model"]["int8"]["file"]
    done = edgeconv("compile", model, *BOARD, "--int8", SAMPLES, "-o", tmp_path / "c")
    assert done.status == 1
    assert "it is quantised already" in done.stderr


def test_the_report_has_what_its_schema_says(made: api.Program) -> None:
    assert json.loads((made.directory / "report.json").read_text()) == made.report
