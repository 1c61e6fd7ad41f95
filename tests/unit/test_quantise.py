"""`edgeconv quantise`: a float32 model as QDQ ONNX."""

from __future__ import annotations

from pathlib import Path

import numpy as np
import onnx
import pytest

import edgeconv as api
from edgeconv.ir.grids import rounded_to
from edgeconv.model import frontend
from edgeconv.search.quantising.effort import EFFORTS, FAST, LEAST_SAMPLES
from tests import ROOT
from tests.command import Command
from tests.onnx_runtime import results
from tests.recurrent_models import Recurrent

DIGITS = ROOT / "examples" / "digits"
MODEL, SAMPLES = DIGITS / "digits-cnn.onnx", DIGITS / "digits-cnn-calibration.npz"


@pytest.fixture(scope="module")
def made(tmp_path_factory: pytest.TempPathFactory) -> api.QuantisedModel:
    return api.quantise(MODEL, SAMPLES, tmp_path_factory.mktemp("made") / "int8.onnx")


def test_other_tools_run_it_and_digits_are_told_apart(made: api.QuantisedModel) -> None:
    with np.load(DIGITS / "digits-cnn-testset.npz") as tests:
        images, labels = tests["image"][:100], tests["label"][:100]
    right, noise, signal = 0, 0.0, 0.0
    for image, label in zip(images, labels, strict=True):
        feeds = {"image": image[None]}
        (found,), (real,) = (results(m, feeds).values() for m in (made.path, MODEL))
        right += int(found.argmax() == label)
        noise, signal = noise + np.square(found - real).sum(), signal + np.square(real).sum()
    assert right >= 97
    assert 10 * np.log10(signal / noise) > 30
    kinds = {node.op_type for node in onnx.load(made.path).graph.node}
    assert {"QuantizeLinear", "DequantizeLinear", "Conv"} <= kinds


def test_all_of_it_is_computed_in_integers(
    made: api.QuantisedModel, edgeconv: Command, tmp_path: Path
) -> None:
    edgeconv.ok(
        "compile", made.path, "--board", "mps2-an500", "--require-int8", "-o", tmp_path / "c"
    )
    assert rounded_to(frontend.load(made.path))


def test_every_layer_says_what_it_lost_and_gained(made: api.QuantisedModel) -> None:
    assert len(made.layers) == 6
    assert all(each.int8 and 3 * each.bytes < each.bytes_before for each in made.layers[1:2])
    assert all(each.sqnr_db and each.sqnr_db > 25 for each in made.layers)
    assert sum(each.macs_share for each in made.layers) == pytest.approx(1)
    document = made.to_json()
    assert document["sqnr_db"] == made.accuracy.sqnr_db
    assert document["layers"][0].keys() == {
        "name",
        "op",
        "macs_share",
        "int8",
        "sqnr_db",
        "bytes",
        "bytes_before",
    }


def test_a_limit_leaves_layers_in_float32(edgeconv: Command, tmp_path: Path) -> None:
    out = tmp_path / "int8.onnx"
    given = ("quantise", MODEL, "--samples", SAMPLES, "-o", out)
    document = edgeconv.ok(*given, "--min-sqnr", "45", "--json").json()
    kept = [layer["int8"] for layer in document["layers"]]
    assert any(kept)
    assert not all(kept)
    assert document["sqnr_db"] >= 45
    again = edgeconv.ok(*given)  # over what was written by ourselves
    assert "6 of 6 layers in int8" in again.stdout
    done = edgeconv(*given, "--min-sqnr", "200")
    assert done.status == 1
    assert "no layer can be int8 within these limits" in done.stderr


def test_weights_of_recurrent_states_are_int8(edgeconv: Command, tmp_path: Path) -> None:
    """Both directions of R share scales in the file, and the program reads R as int8."""
    layer = Recurrent("LSTM", (4, 1, 6, 16), {"direction": "bidirectional"})
    onnx.save(layer.built()[0], tmp_path / "lstm.onnx")
    x = np.random.default_rng(1).normal(size=(8, 4, 1, 6)).astype(np.float32)
    np.savez(tmp_path / "x.npz", X=x)
    found = api.quantise(tmp_path / "lstm.onnx", tmp_path / "x.npz", tmp_path / "int8.onnx")
    assert not [note for note in found.notes if "stay float32" in note]
    (recurrent,) = (each for each in found.layers if each.op == "Recurrent")
    assert recurrent.int8
    weights = 2 * 4 * 16 * 16
    assert (recurrent.bytes_before, recurrent.bytes) == (4 * weights, weights + 4 * 2 * 4 * 16)
    (y, _), (real, _) = (
        list(results(m, {"X": x[0]}).values()) for m in (found.path, tmp_path / "lstm.onnx")
    )
    assert 20 * np.log10(np.linalg.norm(real) / np.linalg.norm(y - real)) > 25
    nodes = frontend.load(found.path).nodes
    assert [node.storage.bits for node in nodes if node.op == "Recurrent"] == [8]


def test_nobodys_file_is_replaced(edgeconv: Command, tmp_path: Path) -> None:
    for path, data in ((tmp_path / "a.onnx", MODEL.read_bytes()), (tmp_path / "b", b"mine")):
        path.write_bytes(data)
        done = edgeconv("quantise", MODEL, "--samples", SAMPLES, "-o", path)
        assert done.status == 2
        assert "it was not written by edgeconv" in done.stderr
        assert path.read_bytes() == data


def test_what_is_quantised_already(
    made: api.QuantisedModel, edgeconv: Command, tmp_path: Path
) -> None:
    done = edgeconv("quantise", made.path, "--samples", SAMPLES, "-o", tmp_path / "x.onnx")
    assert done.status == 1
    assert "it is quantised already" in done.stderr
    assert not (tmp_path / "x.onnx").exists()


def test_samples_by_effort() -> None:
    assert EFFORTS[FAST].most(10**12) == LEAST_SAMPLES
    assert EFFORTS[FAST].most(10**6) > 1000
    assert EFFORTS["thorough"].most(10**12) > 10**9
