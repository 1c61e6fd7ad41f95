"""Float32 networks that are compiled to integers by samples."""

from __future__ import annotations

from pathlib import Path

import numpy as np
import pytest
from onnx import TensorProto, helper

from tests.command import Command, Done
from tests.onnx_models import model, save

ROOT = Path(__file__).resolve().parents[2]
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
    assert "made int8 is gone, or another one" in failed.stderr


def test_the_int8_network_is_as_right_as_the_model(edgeconv: Command, tmp_path: Path) -> None:
    """In another engine, on the test set."""
    runtime = pytest.importorskip("onnxruntime")
    options = ("--calibration", CALIBRATION, "--storage", "*:output=int8")
    done = compiled(edgeconv, tmp_path / "digits", *options)
    assert done.status == 0, done.stderr
    quantised = tmp_path / "digits" / done.json()["model"]["int8"]["file"]
    images, labels = (np.load(TESTSET)[name] for name in ("image", "label"))
    right = []
    for path in (MODEL, quantised):
        session = runtime.InferenceSession(str(path), providers=["CPUExecutionProvider"])
        scores = [session.run(None, {"image": image.reshape(1, 1, 8, 8)})[0] for image in images]
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


def test_a_network_with_operators_that_have_no_int8_form(edgeconv: Command, tmp_path: Path) -> None:
    rng = np.random.default_rng(2)
    nodes = [
        helper.make_node("Conv", ["x", "w"], ["c"], name="conv"),
        helper.make_node("TopK", ["c", "k"], ["values", "indices"], name="top"),
    ]
    constants = {"w": rng.standard_normal((4, 3, 3, 3), np.float32), "k": np.array([2])}
    outputs = {"values": None, "indices": None}
    net = model(nodes, {"x": (1, 3, 6, 6)}, outputs, constants)
    net.graph.output[1].type.tensor_type.elem_type = TensorProto.INT64
    path, samples = save(net, tmp_path / "top.onnx"), tmp_path / "samples.npz"
    np.savez(samples, x=rng.standard_normal((8, 3, 6, 6), np.float32))
    options = ("--board", "generic-c", "-o", tmp_path / "top", "--calibration", samples)
    refused = edgeconv("compile", path, *options, "--storage", "*:output=int8")
    assert refused.status == 2
    for word in ("node 'top/indices'", "Top", "--output c"):
        assert word in refused.stderr


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


def test_a_block_that_integers_would_spoil(edgeconv: Command, tmp_path: Path) -> None:
    """One channel of a tensor with two readers is hundreds of times as large as the others: what
    reads and writes it stays float32, all else is computed in integers."""
    rng = np.random.default_rng(2)
    channels, scale = 32, np.ones(32, np.float32)
    scale[0] = 400.0
    shape = (channels, channels, 1, 1)
    weights = {f"w{i}": rng.standard_normal(shape, dtype=np.float32) / 6 for i in range(6)}
    weights["w1"] *= scale.reshape(-1, 1, 1, 1)
    weights["w2"], weights["w3"] = (weights[n] / scale.reshape(1, -1, 1, 1) for n in ("w2", "w3"))
    reads = ("x", "r0", "r1", "r1", "sum", "r4")
    nodes = []
    for i, source in enumerate(reads):
        nodes.append(helper.make_node("Conv", [source, f"w{i}"], [f"c{i}"], f"conv{i}"))
        nodes.append(helper.make_node("Relu", [f"c{i}"], [f"r{i}"], f"relu{i}"))
    nodes.insert(8, helper.make_node("Add", ["r2", "r3"], ["sum"], "sum"))
    ports = {"x": (1, channels, 8, 8)}, {"r5": None}
    path = save(model(nodes, *ports, weights), tmp_path / "block.onnx")
    inputs = tmp_path / "inputs.npz"
    np.savez(inputs, x=rng.standard_normal((16, 1, channels, 8, 8), dtype=np.float32))
    command = ("compile", path, "--board", BOARD, "--calibration", inputs, "--json")
    done = edgeconv(*command, "--min-sqnr", "25", "-o", tmp_path / "made")
    assert done.status == 0, done.stderr
    report = done.json()
    assert report["accuracy"]["sqnr_db"] >= 25
    computing = {layer["name"]: layer.get("compute") for layer in report["layers"]}
    assert [computing[f"conv{i}"] for i in range(5)] == ["int8", None, None, None, "int8"]
    assert edgeconv("verify", tmp_path / "made").status == 0
