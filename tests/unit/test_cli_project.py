"""The commands on a project: verify, bench, report, and explain, boards, doctor."""

from __future__ import annotations

from pathlib import Path

import numpy as np
import pytest

from edgeconv.run.verify import Difference
from edgeconv.run.verify.second_opinion import Opinion
from edgeconv.target import board as boards
from tests import onnx_models
from tests.command import BOARD, Command

pytestmark = pytest.mark.usefixtures("compiled_lightly")


@pytest.fixture
def project(built_project: Path) -> Path:
    return built_project


def damage(project: Path, before: str, after: str) -> None:
    """Change the emitted C in one place."""
    source = project / "net.c"
    text = source.read_text()
    assert before in text
    source.write_text(text.replace(before, after, 1))


def test_verify_says_against_what_and_how(edgeconv: Command, project: Path) -> None:
    done = edgeconv.ok("verify", project)
    assert "reference: ONNX Runtime" in done.stdout or "onnx.reference" in done.stdout
    assert "program ran natively" in done.stdout
    assert "equal within tolerance 0.0001" in done.stdout
    document = edgeconv.ok("verify", project, "--json").json()
    assert document["passed"] is True
    assert [output["name"] for output in document["outputs"]] == ["features", "p"]
    assert all(0 <= output["relative"] <= 1e-5 for output in document["outputs"])
    report = edgeconv.ok("report", project, "--json").json()
    assert report["accuracy"]["sqnr_db"] > 100
    assert report["flash"]["code"] > 0


def test_verify_leaves_the_files_that_main_reads(edgeconv: Command, project: Path) -> None:
    edgeconv.ok("verify", project)
    image = np.fromfile(project / "net_input.bin", "<f4")
    rng = np.random.default_rng(0)
    assert np.array_equal(image, rng.standard_normal((1, 3, 9, 9), dtype=np.float32).ravel())
    assert (project / "net_expected.bin").stat().st_size == 4 * (8 * 4 * 4 + 6)


def test_verify_finds_the_first_layer_that_differs(edgeconv: Command, project: Path) -> None:
    done = edgeconv.ok("verify", project, "--layers", "--json").json()
    compared = [layer for layer in done["layers"] if layer["difference"]]
    assert len(compared) >= 5
    assert done["first_difference"] is None
    damage(project, ".before_alpha = 0.166", ".before_alpha = 0.168")
    done = edgeconv("verify", project, "--layers", "--json")
    assert done.status == 1
    assert done.json()["passed"] is False
    assert done.json()["first_difference"] == "depthwise"
    text = edgeconv("verify", project, "--layers").stdout
    assert "DIFFERENT" in text
    assert "first layer that differs: depthwise (Conv)" in text


def test_verify_fails_beyond_the_tolerance(edgeconv: Command, project: Path) -> None:
    assert edgeconv("verify", project, "--tolerance", "1e-12").status == 1
    damage(project, ".before_alpha = 0.166", ".before_alpha = 0.168")
    assert edgeconv("verify", project).status == 1
    edgeconv.ok("verify", project, "--tolerance", "0.5")


def test_verify_takes_inputs_of_the_user(edgeconv: Command, project: Path, tmp_path: Path) -> None:
    image = np.full((1, 3, 9, 9), 7, np.float32)
    np.savez(tmp_path / "mine.npz", image=image)
    edgeconv.ok("verify", project, "--inputs", tmp_path / "mine.npz")
    assert np.array_equal(np.fromfile(project / "net_input.bin", "<f4"), image.ravel())
    np.savez(tmp_path / "other.npz", image=image[:, :2])
    done = edgeconv("verify", project, "--inputs", tmp_path / "other.npz")
    assert done.status == 2
    assert "1x2x9x9" in done.stderr


def test_outputs_that_are_no_numbers_must_be_so_on_both_sides(
    edgeconv: Command, project: Path, tmp_path: Path
) -> None:
    image = np.zeros((1, 3, 9, 9), np.float32)
    image[0, 0, 4, 4] = np.nan
    np.savez(tmp_path / "nan.npz", image=image)
    done = edgeconv("verify", project, "--inputs", tmp_path / "nan.npz", "--json")
    passed = [output["relative"] == 0 for output in done.json()["outputs"]]
    assert done.status == (0 if all(passed) else 1)


def test_verify_asks_for_a_model_that_has_moved(edgeconv: Command, tmp_path: Path) -> None:
    model = onnx_models.convolution()
    model.doc_string = "of this test"
    path = onnx_models.save(model, tmp_path / "conv.onnx")
    edgeconv.ok("compile", path, "--board", BOARD, "-o", tmp_path / "out")
    moved = path.rename(tmp_path / "moved.onnx")
    done = edgeconv("verify", tmp_path / "out")
    assert done.status == 1
    assert "--model" in done.stderr
    edgeconv.ok("verify", tmp_path / "out", "--model", moved)


@pytest.mark.parametrize("options", [["--io", "arena"], ["--weights", "c"]])
def test_variants_verify(
    edgeconv: Command, residual_model: Path, tmp_path: Path, options: list[str]
) -> None:
    out = tmp_path / "variant"
    edgeconv.ok("compile", residual_model, "--board", BOARD, "-o", out, "--verify", *options)
    edgeconv.ok("verify", out, "--layers")


def test_compile_with_verify_fails_as_verify_does(
    edgeconv: Command, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    path = onnx_models.save(onnx_models.convolution(), tmp_path / "conv.onnx")
    out = tmp_path / "out"
    command = ("compile", path, "--board", BOARD, "-o", out, "--verify")
    edgeconv.ok(*command)
    monkeypatch.setattr(Difference, "within", lambda *_: False)
    monkeypatch.setattr(Opinion, "same_order", lambda *_: False)
    done = edgeconv(*command)
    assert done.status == 1
    assert "differs from the model" in done.stderr
    assert "'y': relative error" in done.stderr
    assert (out / "conv.c").is_file(), "it stays, to be looked at"


def test_bench_times_the_whole_and_the_layers(edgeconv: Command, project: Path) -> None:
    whole = edgeconv.ok("bench", project, "--runs", "5", "--json").json()
    assert 0 < whole["min_ms"] <= whole["median_ms"]
    assert whole["runs"] == 5
    assert "layers" not in whole
    layers = edgeconv.ok("bench", project, "--runs", "5", "--layers", "--json").json()["layers"]
    report = edgeconv.ok("report", project, "--json").json()
    assert [layer["name"] for layer in layers] == [layer["name"] for layer in report["layers"]]
    assert all(layer["median_ms"] >= 0 for layer in layers)
    stem = next(layer for layer in layers if layer["name"] == "stem")
    assert stem["gflops"] == pytest.approx(2e-6 * 3456 / stem["median_ms"], rel=1e-6)
    assert report["time"]["measured_ms"] > 0
    assert report["layers"][0]["measured_ms"] == layers[0]["median_ms"]
    text = edgeconv.ok("bench", project, "--runs", "3", "--layers").stdout
    assert "median" in text
    assert "stem" in text


def test_bench_refuses_emulated_boards(
    edgeconv: Command, residual_model: Path, tmp_path: Path
) -> None:
    foreign = [b for name in boards.names() if (b := boards.load(name)).run.command]
    if not foreign:
        pytest.skip("every board is native here")
    out = tmp_path / "out"
    edgeconv.ok("compile", residual_model, "--board", foreign[0].name, "-o", out)
    done = edgeconv("bench", out)
    assert done.status == 2
    assert "emulator" in done.stderr


def test_report_prints_every_layer(edgeconv: Command, project: Path) -> None:
    text = edgeconv.ok("report", project).stdout
    report = edgeconv.ok("report", project, "--json").json()
    assert all(layer["name"] in text for layer in report["layers"])
    assert max(map(len, text.splitlines())) <= 100


def test_explain_tells_choices_and_what_fills_the_memory(
    edgeconv: Command, residual_model: Path
) -> None:
    command = ("explain", residual_model, "--board", BOARD)
    document = edgeconv.ok(*command, "--json").json()
    by_name = {layer["name"]: layer for layer in document["layers"]}
    depthwise = by_name["depthwise"]
    assert {c["algorithm"] for c in depthwise["candidates"]} >= {"direct", "depthwise"}
    costs = [c["price_us"] for c in depthwise["candidates"]]
    assert costs == sorted(costs)
    assert depthwise["candidates"][0]["algorithm"] == depthwise["algorithm"]
    assert depthwise["epilogue"]["before"].startswith("hard_swish")
    assert by_name["pointwise"]["epilogue"]["residual"] is not None
    peak = document["arena"]["peak"]
    assert peak["bytes"] == document["arena"]["lower_bound"]
    assert sum(tensor["bytes"] for tensor in peak["live"]) > 0
    assert any(alias["granted"] for layer in document["layers"] for alias in layer["aliases"])
    text = edgeconv.ok(*command).stdout
    assert all(name in text for name in by_name)
    assert max(map(len, text.splitlines())) <= 100
    for layer in ("stem", str(by_name["stem"]["step"])):
        (only,) = edgeconv.ok(*command, "--layer", layer, "--json").json()["layers"]
        assert only["name"] == "stem"


def test_explain_writes_nothing(
    edgeconv: Command, residual_model: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.chdir(residual_model.parent)
    edgeconv.ok("explain", residual_model, "--board", BOARD, "--ram", "1")
    assert [path.name for path in residual_model.parent.iterdir()] == ["net.onnx"]


def test_boards_are_listed_shown_and_checked(edgeconv: Command) -> None:
    listed = edgeconv.ok("boards", "list", "--json").json()
    assert [board["name"] for board in listed] == list(boards.names())
    assert edgeconv.ok("boards", "--json", "list").json() == listed
    assert edgeconv.ok("boards").stdout == edgeconv.ok("boards", "list").stdout
    shown = edgeconv.ok("boards", "show", "jetson-tx1", "--json").json()
    assert shown in listed
    assert "Cortex-A57" in edgeconv.ok("boards", "show", "jetson-tx1").stdout
    path = boards.load("jetson-tx1").path
    checked = edgeconv.ok("boards", "check", path, "--json").json()
    left_out = {each["key"] for each in checked.pop("left_out")}
    assert checked == shown
    assert "loads_per_cycle" in left_out
    assert "macs_per_cycle" not in left_out


def test_doctor_reports_tools_and_boards(edgeconv: Command) -> None:
    document = edgeconv.ok("doctor", "--json").json()
    assert {board["name"] for board in document["boards"]} == set(boards.names())
    assert "Boards" in edgeconv.ok("doctor").stdout
