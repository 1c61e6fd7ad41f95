"""Float32 networks that are compiled to integers by samples."""

from __future__ import annotations

from pathlib import Path
from typing import Any

import numpy as np
import onnx
import pytest
from onnx import TensorProto, helper

from tests import ROOT
from tests.command import Command, Done
from tests.onnx_models import model, save
from tests.onnx_runtime import session
from tests.tools import available

DIGITS = ROOT / "examples" / "digits"
MODEL = DIGITS / "digits-cnn.onnx"
CALIBRATION = DIGITS / "digits-cnn-calibration.npz"
TESTSET = DIGITS / "digits-cnn-testset.npz"
BOARD = "mps2-an500"


def compiled(edgeconv: Command, directory: Path, *options: str | Path) -> Done:
    return edgeconv("compile", MODEL, "--board", BOARD, "-o", directory, "--json", *options)


def test_a_network_within_its_limit(edgeconv: Command, tmp_path: Path) -> None:
    """Layers are computed in integers, faster and smaller; the program is the int8 network that
    lies beside it, and that one loses no more labels than allowed on images it has not seen."""
    made = tmp_path / "digits"
    done = compiled(edgeconv, made, "--calibration", CALIBRATION, "--max-drop", "0.01")
    assert done.status == 0, done.stderr
    report, plain = done.json(), compiled(edgeconv, tmp_path / "plain").json()
    assert sum(layer.get("compute") == "int8" for layer in report["layers"]) >= 5
    assert report["time"]["predicted_ms"] < 0.9 * plain["time"]["predicted_ms"]
    assert report["ram"]["arena"] < 0.5 * plain["ram"]["arena"]
    assert report["flash"]["weights"] < 0.3 * plain["flash"]["weights"]
    assert report["model"]["sha256"] == plain["model"]["sha256"]
    assert report["accuracy"]["promised"]
    assert report["accuracy"]["top1_drop"] <= 0.01
    verified = edgeconv("verify", made, "--json")
    assert verified.status == 0, verified.stderr
    assert "layer by layer" in edgeconv("verify", made).stdout
    tampered = made / report["model"]["int8"]["file"]
    tampered.write_bytes(tampered.read_bytes()[:-1])
    failed = edgeconv("verify", made)
    assert failed.status == 1
    assert "quantised to int8 is gone, or another one" in failed.stderr


def test_the_int8_network_is_as_right_as_the_model(edgeconv: Command, tmp_path: Path) -> None:
    """In another engine, on the test set."""
    pytest.importorskip("onnxruntime")
    options = ("--calibration", CALIBRATION, "--storage", "*:output=int8")
    done = compiled(edgeconv, tmp_path / "digits", *options)
    assert done.status == 0, done.stderr
    quantised = tmp_path / "digits" / done.json()["model"]["int8"]["file"]
    images, labels = (np.load(TESTSET)[name] for name in ("image", "label"))
    right = []
    for path in (MODEL, quantised):
        running = session(path)
        scores = [running.run(None, {"image": image.reshape(1, 1, 8, 8)})[0] for image in images]
        right.append(np.mean(np.concatenate(scores).argmax(1) == labels))
    assert right[1] >= right[0] - 0.01


def test_layers_that_lose_too_much_stay_float32(edgeconv: Command, tmp_path: Path) -> None:
    options = ("--calibration", CALIBRATION, "--min-sqnr", "50")
    done = compiled(edgeconv, tmp_path / "digits", *options)
    assert done.status == 0, done.stderr
    report = done.json()
    assert report["accuracy"]["sqnr_db"] >= 50
    computing = [layer.get("compute") for layer in report["layers"] if layer["op"] == "Conv"]
    assert set(computing) == {"int8", None}
    assert edgeconv("verify", tmp_path / "digits").status == 0


def test_a_result_that_the_user_names(edgeconv: Command, tmp_path: Path) -> None:
    names = ("/0/Conv:output=int8", "/3/Conv:output=int8")
    options = [word for name in names for word in ("--storage", name)]
    refused = compiled(edgeconv, tmp_path / "digits", *options)
    assert refused.status == 2
    assert "--calibration X.npz makes a float32 network int8" in refused.stderr
    done = compiled(edgeconv, tmp_path / "digits", *options, "--calibration", CALIBRATION)
    assert done.status == 0, done.stderr
    layers = {layer["name"]: layer for layer in done.json()["layers"]}
    whole = [name for name in layers if layers[name].get("compute")]
    assert whole == ["/3/Conv", "/6/MaxPool"]  # a maximum has the grid of what it reads
    assert layers["/0/Conv"]["storage"]["output"].startswith("int8")
    assert edgeconv("verify", tmp_path / "digits").status == 0


def detector() -> onnx.ModelProto:
    """Convolutions, of which the best scores and their boxes are picked, as detectors end."""
    rng = np.random.default_rng(2)
    nodes: list[onnx.NodeProto] = []
    constants: dict[str, Any] = {}
    for i, (read, channels) in enumerate((("x", 3), ("r0", 32), ("r1", 32))):
        constants[f"w{i}"] = rng.standard_normal((32, channels, 3, 3), np.float32) / 12
        nodes.append(helper.make_node("Conv", [read, f"w{i}"], [f"c{i}"], f"conv{i}", pads=[1] * 4))
        nodes.append(helper.make_node("Relu", [f"c{i}"], [f"r{i}"], f"relu{i}"))
    constants |= {
        "w3": rng.standard_normal((5, 32, 1, 1), np.float32) / 4,
        "flat": np.array([5, 576], np.int64),
        "first": np.array([0], np.int64),
        "boxes": np.array([1, 2, 3, 4], np.int64),
        "k": np.array([6], np.int64),
        "nothing": np.float32(0),
        "places": np.array([[0], [2]], np.int64),
        "marks": rng.standard_normal((2, 6), np.float32),
    }
    nodes += [
        helper.make_node("Conv", ["r2", "w3"], ["head"], "head"),
        helper.make_node("Reshape", ["head", "flat"], ["rows"]),
        helper.make_node("Gather", ["rows", "first"], ["score"]),
        helper.make_node("Gather", ["rows", "boxes"], ["every"]),
        helper.make_node("TopK", ["score", "k"], ["best", "indices"], "top"),
        helper.make_node("Squeeze", ["indices", "first"], ["at"]),
        helper.make_node("Gather", ["every", "at"], ["picked"], axis=1),
        helper.make_node("Greater", ["best", "nothing"], ["sure"]),
        helper.make_node("Where", ["sure", "picked", "nothing"], ["kept"], "where"),
        helper.make_node("ScatterND", ["kept", "places", "marks"], ["result"], "scatter"),
    ]
    outputs = {"best": None, "result": None, "at": None}
    made = model(nodes, {"x": (1, 3, 24, 24)}, outputs, constants)
    made.graph.output[2].type.tensor_type.elem_type = TensorProto.INT64
    return made


def test_a_network_that_ends_in_what_has_no_int8_form(edgeconv: Command, tmp_path: Path) -> None:
    """Its convolutions have Winograd's algorithm in float32, and become int8."""
    path, samples = save(detector(), tmp_path / "detector.onnx"), tmp_path / "samples.npz"
    images = np.random.default_rng(3).standard_normal((8, 1, 3, 24, 24), np.float32)
    np.savez(samples, x=images)
    command = ("compile", path, "--board", "zen4", "--json")
    plain = edgeconv(*command, "-o", tmp_path / "plain")
    assert plain.status == 0, plain.stderr
    assert "left out" not in plain.stderr
    layers = plain.json()["layers"]
    assert sum(layer["algorithm"] == "winograd" for layer in layers) >= 2
    options = ("--calibration", samples, "--storage", "*:output=int8", "-o", tmp_path / "made")
    made = edgeconv(*command, *options)
    assert made.status == 0, made.stderr
    layers = made.json()["layers"]
    assert sum(layer.get("compute") == "int8" for layer in layers) >= 3
    available("zen4")
    assert edgeconv("verify", tmp_path / "made").status == 0


def test_a_limit_that_int8_does_not_keep(edgeconv: Command, tmp_path: Path) -> None:
    options = ("--calibration", CALIBRATION, "--min-sqnr", "70")
    done = compiled(edgeconv, tmp_path / "digits", *options)
    assert done.status == 0, done.stderr
    report = done.json()
    assert "int8" not in report["model"]
    assert report["accuracy"]["sqnr_db"] is None or report["accuracy"]["sqnr_db"] >= 70


def test_time_decides_on_a_board_that_predicts_none(
    edgeconv: Command, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    """Prices compare there too; with --objective memory bytes decide."""
    lines = (ROOT / "boards" / "zen4.toml").read_text().replace('"zen4"', '"untimed"').splitlines()
    kept = [line for line in lines if not line.startswith("macs_per_cycle")]
    (tmp_path / "untimed.toml").write_text("\n".join(kept))
    monkeypatch.setenv("EDGECONV_BOARDS", str(tmp_path))
    limits = ("--calibration", CALIBRATION, "--max-drop", "0.01")
    command = ("compile", MODEL, "--board", "untimed", "--json", *limits)
    done = edgeconv(*command, "-o", tmp_path / "made")
    assert done.status == 0, done.stderr
    report = done.json()
    assert report["time"]["predicted_ms"] is None
    assert sum(layer.get("compute") == "int8" for layer in report["layers"]) >= 4
    assert report["accuracy"]["top1_drop"] <= 0.01


def block(layers: int, size: int = 8, channels: int = 32, added: int = 1) -> onnx.ModelProto:
    """1x1 convolutions, one behind the other but for two that are ``added`` x ``added`` and are
    added up.  One channel of what these two read is hundreds of times as large as the others."""
    rng = np.random.default_rng(2)
    scale = np.ones(channels, np.float32)
    scale[0] = 400.0
    sides = [added if i in (2, 3) else 1 for i in range(layers)]
    weights = {
        f"w{i}": rng.standard_normal((channels, channels, k, k), np.float32) / np.float32(6 * k)
        for i, k in enumerate(sides)
    }
    weights["w1"] *= scale.reshape(-1, 1, 1, 1)
    weights["w2"], weights["w3"] = (weights[n] / scale.reshape(1, -1, 1, 1) for n in ("w2", "w3"))
    reads = ["x", "r0", "r1", "r1", "sum", *(f"r{i}" for i in range(4, layers - 1))]
    nodes = []
    for i, source in enumerate(reads):
        conv, pads = f"conv{i}", [sides[i] // 2] * 4
        nodes.append(helper.make_node("Conv", [source, f"w{i}"], [f"c{i}"], conv, pads=pads))
        nodes.append(helper.make_node("Relu", [f"c{i}"], [f"r{i}"], f"relu{i}"))
    nodes.insert(8, helper.make_node("Add", ["r2", "r3"], ["sum"], "sum"))
    return model(nodes, {"x": (1, channels, size, size)}, {f"r{layers - 1}": None}, weights)


@pytest.mark.parametrize(
    ("layers", "whole"),
    [(6, ()), pytest.param(10, (0, 4, 5, 6, 7, 8), marks=pytest.mark.slow)],
)
def test_a_block_that_integers_would_spoil(
    layers: int, whole: tuple[int, ...], edgeconv: Command, tmp_path: Path
) -> None:
    """What reads and writes the large channel stays float32; all behind it is computed in integers
    where that saves more than the conversions at the border take, else nothing is."""
    path, inputs = save(block(layers), tmp_path / "block.onnx"), tmp_path / "inputs.npz"
    rng = np.random.default_rng(3)
    np.savez(inputs, x=rng.standard_normal((16, 1, 32, 8, 8), dtype=np.float32))
    command = ("compile", path, "--board", BOARD, "--json")
    done = edgeconv(*command, "--calibration", inputs, "--min-sqnr", "25", "-o", tmp_path / "made")
    assert done.status == 0, done.stderr
    report = done.json()
    computing = {layer["name"]: layer.get("compute") for layer in report["layers"]}
    assert [i for i in range(layers) if computing[f"conv{i}"] == "int8"] == list(whole)
    assert not computing["conv2"]
    assert not computing["conv3"]
    plain = edgeconv(*command, "-o", tmp_path / "plain").json()
    if whole:
        assert report["accuracy"]["sqnr_db"] >= 25
        assert report["time"]["predicted_ms"] < plain["time"]["predicted_ms"]
        assert edgeconv("verify", tmp_path / "made").status == 0
        small = tmp_path / "small"
        limits = ("--calibration", inputs, "--min-sqnr", "25", "--flash", "15K")
        fewer = edgeconv(*command, *limits, "-o", small).json()
        assert fewer["flash"]["weights"] <= 15 * 1024 < report["flash"]["weights"]
        assert fewer["accuracy"]["sqnr_db"] >= 25
        found = {layer["name"]: layer for layer in fewer["layers"]}
        kept = [i for i in range(10) if found[f"conv{i}"].get("compute") == "int8"]
        assert kept == list(whole)
        assert {found[f"conv{i}"]["storage"]["weights"] for i in (0, 1)} <= {"flyte16", "int8"}
        assert edgeconv("verify", small).status == 0
    else:  # the kernels of the model as it is, which stream rows where accuracy has no limit
        kernels = [
            [(layer["name"], layer["algorithm"], layer["plan"]) for layer in each["layers"]]
            for each in (report, plain)
        ]
        assert kernels[0] == kernels[1]


@pytest.mark.slow
def test_filters_of_what_stays_float32(edgeconv: Command, tmp_path: Path) -> None:
    """Where flash is short, the layers that integers would spoil have filters of fewer bits, with
    vectors too."""
    path, inputs = tmp_path / "block.onnx", tmp_path / "inputs.npz"
    save(block(12, 24, 64, added=3), path)
    rng = np.random.default_rng(3)
    np.savez(inputs, x=rng.standard_normal((16, 1, 64, 24, 24), np.float32))
    limits = ("--calibration", inputs, "--min-sqnr", "25")
    weights: dict[str, int] = {}
    for flash in ("999K", "200K"):
        folder = tmp_path / flash
        command = ("compile", path, "--board", "zen4", "--json", *limits, "--flash", flash)
        done = edgeconv(*command, "-o", folder)
        assert done.status == 0, done.stderr
        report = done.json()
        weights[flash] = report["flash"]["weights"]
        layers = {layer["name"]: layer for layer in report["layers"]}
        assert sum(layer.get("compute") == "int8" for layer in layers.values()) >= 5
        assert report["accuracy"]["sqnr_db"] >= 25
        stored = [layers[f"conv{i}"]["storage"]["weights"] for i in (2, 3)]
        assert all((form == "float32") == (flash == "999K") for form in stored)
        assert edgeconv("verify", folder).status == 0
    assert weights["200K"] <= 200 * 1024 < weights["999K"]
