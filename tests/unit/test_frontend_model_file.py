"""Files that are models, files that are not, and where the bytes of the weights lie."""

from __future__ import annotations

import contextlib
import hashlib
import mmap
import shutil
from pathlib import Path

import numpy as np
import onnx
import pytest
from hypothesis import HealthCheck, given, settings
from hypothesis import strategies as st
from onnx import helper, numpy_helper

from edgeconv.base.errors import EdgeconvError, Exit
from edgeconv.ir.graph import Array
from edgeconv.model.frontend import load
from tests.examples import examples
from tests.ir_interpreter import evaluate
from tests.onnx_models import convolution, model, residual, save


def saved_with_external_data(path: Path, source: onnx.ModelProto) -> Path:
    """``source`` in ``path`` with its weights in ``weights.bin`` beside it."""
    onnx.save(source, path, save_as_external_data=True, location="weights.bin", size_threshold=0)
    return path


def mapped(array: Array) -> bool:
    """Whether the elements of ``array`` lie in a mapped file."""
    base: object = array
    while isinstance(base, np.ndarray | memoryview):
        base = base.base if isinstance(base, np.ndarray) else base.obj
    return isinstance(base, mmap.mmap)


def test_missing_file_is_wrong_usage(tmp_path: Path) -> None:
    with pytest.raises(EdgeconvError, match="no such file") as caught:
        load(tmp_path / "absent.onnx")
    assert caught.value.code is Exit.USAGE


def test_directory_is_wrong_usage(tmp_path: Path) -> None:
    with pytest.raises(EdgeconvError, match="a directory") as caught:
        load(tmp_path)
    assert caught.value.code is Exit.USAGE


@pytest.mark.parametrize(
    ("content", "message"),
    [
        (b"", "an empty file"),
        (b"{'ir_version': 8}", "other data"),
        (b"\x89PNG\r\n\x1a\n" + bytes(100), "other data"),
        (b"\x08\x09", "without ir_version and graph"),
        (b"\x08\x09\x3a\x7f", "ends early"),
    ],
)
def test_no_model(content: bytes, message: str, tmp_path: Path) -> None:
    path = tmp_path / "model.onnx"
    path.write_bytes(content)
    with pytest.raises(EdgeconvError, match=message) as caught:
        load(path)
    assert caught.value.code is Exit.UNSATISFIED
    assert "\n" not in str(caught.value)


def test_truncated_weights(tmp_path: Path) -> None:
    path = save(convolution(in_c=64, out_c=64, dims=(1, 64, 8, 8)), tmp_path / "model.onnx")
    path.write_bytes(path.read_bytes()[:-2000])
    with pytest.raises(EdgeconvError, match="ends early"):
        load(path)


@settings(max_examples=examples(150), suppress_health_check=[HealthCheck.function_scoped_fixture])
@given(data=st.data())
def test_damaged_model_gives_a_message_or_a_graph(data: st.DataObject, tmp_path: Path) -> None:
    content = bytearray(residual(channels=2, size=5).SerializeToString())
    for _ in range(data.draw(st.integers(1, 4))):
        at = data.draw(st.integers(0, len(content) - 1))
        content[at : at + data.draw(st.integers(0, 2))] = data.draw(st.binary(max_size=3))
    path = tmp_path / f"{data.draw(st.uuids())}.onnx"
    path.write_bytes(content)
    with contextlib.suppress(EdgeconvError):
        assert load(path).outputs
    path.unlink()


def test_digest_is_of_the_file(tmp_path: Path) -> None:
    path = save(convolution(), tmp_path / "model.onnx")
    assert load(path).sha256 == hashlib.sha256(path.read_bytes()).hexdigest()


def test_digest_covers_external_data(tmp_path: Path) -> None:
    path = saved_with_external_data(tmp_path / "model.onnx", convolution())
    before = load(path).sha256
    data = bytearray((tmp_path / "weights.bin").read_bytes())
    data[0] ^= 1
    (tmp_path / "weights.bin").unlink()  # the graph loaded first still maps the old file
    (tmp_path / "weights.bin").write_bytes(data)
    assert load(path).sha256 != before


def test_large_weights_are_not_copied(tmp_path: Path) -> None:
    weights = np.arange(64 * 64 * 9, dtype=np.float32).reshape(64, 64, 3, 3)
    source = convolution(64, 64, (1, 64, 8, 8), weights)
    for path in (
        save(source, tmp_path / "inside.onnx"),
        saved_with_external_data(tmp_path / "outside.onnx", source),
    ):
        w = load(path)["w"].constant()
        assert mapped(w)
        assert not w.flags.writeable
        np.testing.assert_array_equal(w, weights)


def test_large_weights_that_say_where_they_are(tmp_path: Path) -> None:
    """ONNX Runtime states the default place of a tensor's data behind the data."""
    stated = convolution(out_c=400)
    plain = load(save(stated, tmp_path / "plain.onnx")).tensors
    for tensor in stated.graph.initializer:
        tensor.data_location = onnx.TensorProto.DEFAULT
    for name, found in load(save(stated, tmp_path / "stated.onnx")).tensors.items():
        if found.data is not None:
            np.testing.assert_array_equal(found.data, plain[name].constant())


def test_large_constant_nodes_are_not_copied(tmp_path: Path) -> None:
    value = np.arange(4096, dtype=np.float32).reshape(1, 4096)
    nodes = [
        helper.make_node("Constant", [], ["c"], value=numpy_helper.from_array(value)),
        helper.make_node("Add", ["x", "c"], ["y"]),
    ]
    path = save(model(nodes, {"x": (1, 4096)}, {"y": None}), tmp_path / "model.onnx")
    c = load(path)["c"].constant()
    assert mapped(c)
    np.testing.assert_array_equal(c, value)


def test_weights_not_in_raw_form(tmp_path: Path) -> None:
    source = convolution()
    w, b = (numpy_helper.to_array(t) for t in source.graph.initializer)
    del source.graph.initializer[:]
    for name, value in (("w", w), ("b", b)):
        tensor = helper.make_tensor(name, onnx.TensorProto.FLOAT, value.shape, value.ravel())
        source.graph.initializer.append(tensor)
    graph = load(save(source, tmp_path / "model.onnx"))
    np.testing.assert_array_equal(graph["w"].constant(), w)


def test_external_data_computes_the_same(tmp_path: Path) -> None:
    source = residual()
    inside = load(save(source, tmp_path / "inside.onnx"))
    outside = load(saved_with_external_data(tmp_path / "outside.onnx", source))
    x = np.random.default_rng(3).standard_normal(inside["image"].shape)
    for name in inside.outputs:
        want = evaluate(inside, {"image": x})[name]
        np.testing.assert_array_equal(evaluate(outside, {"image": x})[name], want)


def test_missing_external_data(tmp_path: Path) -> None:
    path = saved_with_external_data(tmp_path / "model.onnx", convolution())
    (tmp_path / "weights.bin").unlink()
    with pytest.raises(EdgeconvError, match=r"tensor 'w'.*weights\.bin: No such file"):
        load(path)


def test_short_external_data(tmp_path: Path) -> None:
    path = saved_with_external_data(tmp_path / "model.onnx", convolution())
    (tmp_path / "weights.bin").write_bytes(bytes(20))
    with pytest.raises(EdgeconvError, match="of a file of 20"):
        load(path)


def test_external_data_outside_of_the_folder(tmp_path: Path) -> None:
    (tmp_path / "model").mkdir()
    path = saved_with_external_data(tmp_path / "model" / "model.onnx", convolution())
    shutil.move(tmp_path / "model" / "weights.bin", tmp_path / "weights.bin")
    source = onnx.load(path, load_external_data=False)
    for tensor in source.graph.initializer:
        for entry in tensor.external_data:
            if entry.key == "location":
                entry.value = "../weights.bin"
    path.unlink()
    with pytest.raises(EdgeconvError, match="must lie beside the model"):
        load(save(source, path))
