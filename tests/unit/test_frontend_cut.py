"""A part of a model: what is compiled of it, what it is compared with, and what is refused."""

from __future__ import annotations

from pathlib import Path

import numpy as np
import onnx
import pytest
from onnx import TensorProto, helper
from onnx.reference import ReferenceEvaluator

from edgeconv.base.errors import EdgeconvError, Exit
from edgeconv.model.frontend import Cut, load, reference, reference_outputs
from tests import onnx_models
from tests.command import BOARD, Command
from tests.ir_interpreter import evaluate

pytestmark = pytest.mark.usefixtures("unoptimised")

make = helper.make_node


def detector() -> onnx.ModelProto:
    """Two heads, and a suppression that is somebody's own.

    ``image`` -> ``picked``.
    """
    rng = np.random.default_rng(3)
    constants = {
        "w": rng.standard_normal((8, 3, 3, 3), np.float32),
        "to_boxes": rng.standard_normal((4, 8, 1, 1), np.float32),
        "to_scores": rng.standard_normal((2, 8, 1, 1), np.float32),
        "rows": np.array([1, -1, 4]),
        "columns": np.array([1, 2, -1]),
        "most": np.array([10]),
    }
    nodes = [
        make("Conv", ["image", "w"], ["c"], name="stem", pads=[1, 1, 1, 1]),
        make("Relu", ["c"], ["features"], name="relu"),
        make("Conv", ["features", "to_boxes"], ["b"], name="box_head"),
        make("Conv", ["features", "to_scores"], ["s"], name="score_head"),
        make("Reshape", ["b", "rows"], ["boxes"], name="box_rows"),
        make("Reshape", ["s", "columns"], ["scores"], name="score_columns"),
        make("Suppress", ["boxes", "scores", "most"], ["indices"], "nms", domain="com.example"),
        make("Cast", ["indices"], ["picked"], name="cast", to=TensorProto.FLOAT),
    ]
    model = onnx_models.model(nodes, {"image": ("N", 3, 9, 9)}, {"picked": None}, constants)
    model.opset_import.append(helper.make_opsetid("com.example", 1))
    return model


@pytest.fixture
def path(tmp_path: Path) -> Path:
    return onnx_models.save(detector(), tmp_path / "net.onnx")


@pytest.fixture(scope="module")
def whole() -> dict[str, np.ndarray]:
    """Every value of the whole model on one image, but for its last two nodes."""
    rng = np.random.default_rng(5)
    model = detector()
    del model.graph.node[6:]
    model.graph.output[0].name = "boxes"
    feeds = {"image": rng.standard_normal((1, 3, 9, 9), dtype=np.float32)}
    return dict(ReferenceEvaluator(model).run(None, feeds, intermediate=True))


@pytest.mark.parametrize(
    "cut",
    [
        Cut(outputs=("boxes", "scores")),
        Cut(outputs=("features",)),
        Cut(outputs=("scores", "c")),
        Cut(inputs=("features",), outputs=("scores",)),
        Cut(inputs=("b", "s"), outputs=("scores", "boxes")),
        Cut(inputs=("features",), outputs=("features", "b")),
    ],
    ids=str,
)
@pytest.mark.parametrize("engine", ["ONNX Runtime", "onnx.reference"])
def test_part_computes_what_the_whole_does_there(
    path: Path,
    whole: dict[str, np.ndarray],
    cut: Cut,
    engine: str,
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    if engine == "ONNX Runtime":
        pytest.importorskip("onnxruntime")
    monkeypatch.setattr(reference, "has_runtime", lambda: engine == "ONNX Runtime")
    graph = load(path, cut_at=cut)
    assert graph.inputs == (cut.inputs or ("image",))
    feeds = {name: whole[name] for name in graph.inputs}
    run = reference_outputs(path, feeds, cut.outputs, cut_at=cut)
    assert run.engine.startswith(engine)
    found = run.values
    assert list(found) == list(cut.outputs)
    values = evaluate(graph, feeds)
    for name, ours in zip(cut.outputs, graph.outputs, strict=True):
        for got in (found[name], values[ours]):
            np.testing.assert_allclose(got, whole[name], rtol=1e-4, atol=1e-4)


def test_input_inside_has_the_shape_that_it_has_there(path: Path) -> None:
    graph = load(path, cut_at=Cut(("b",), ("boxes",)))
    assert graph["b"].shape == (1, 4, 9, 9)
    graph = load(path, cut_at=Cut(("b",), ("boxes",)), input_shapes={"b": (2, 4, 9, 9)})
    assert graph["boxes"].shape == (1, 162, 4)
    with pytest.raises(EdgeconvError, match="no such input"):
        load(path, cut_at=Cut(("b",), ("boxes",)), input_shapes={"image": (2, 3, 9, 9)})


def test_shape_behind_what_onnx_does_not_infer(tmp_path: Path) -> None:
    """The shape of a Reshape that is computed from another shape."""
    nodes = [
        make("Shape", ["x"], ["shape"]),
        make("Gather", ["shape", "first"], ["rows"]),
        make("Mul", ["rows", "two"], ["half"]),
        make("Concat", ["half", "rest"], ["wanted"], axis=0),
        make("Reshape", ["x", "wanted"], ["flat"]),
        make("Relu", ["flat"], ["y"]),
    ]
    constants = {"first": np.array([0]), "two": np.array([2]), "rest": np.array([-1])}
    model = onnx_models.model(nodes, {"x": ("N", 6, 4)}, {"y": None}, constants)
    path = onnx_models.save(model, tmp_path / "net.onnx")
    assert load(path, cut_at=Cut(("flat",), ("y",)))["flat"].shape == (2, 12)


def test_quantised_tensors_keep_their_type(tmp_path: Path) -> None:
    nodes = [
        make("QuantizeLinear", ["x", "step", "zero"], ["q"]),
        make("DequantizeLinear", ["q", "step", "zero"], ["d"]),
        make("Relu", ["d"], ["y"]),
    ]
    constants: dict[str, np.ndarray] = {
        "step": np.array(0.1, np.float32),
        "zero": np.array(3, np.int8),
    }
    model = onnx_models.model(nodes, {"x": (1, 4)}, {"y": None}, constants)
    path = onnx_models.save(model, tmp_path / "net.onnx")
    assert load(path, cut_at=Cut(outputs=("q",)))["q"].dtype == "int8"
    graph = load(path, cut_at=Cut(inputs=("q",)))
    assert graph["q"].dtype == "int8"
    feeds = {"q": np.array([[-128, 3, 5, 127]], np.int8)}
    got = reference_outputs(path, feeds, cut_at=Cut(inputs=("q",))).values["y"]
    np.testing.assert_allclose(got, [[0, 0, 0.2, 12.4]], rtol=1e-6)


def test_inputs_of_the_rest_go(tmp_path: Path) -> None:
    nodes = [make("Relu", ["a"], ["r"]), make("Add", ["r", "b"], ["y"])]
    model = onnx_models.model(nodes, {"a": (1, 4), "b": (1, 4)}, {"y": None})
    path = onnx_models.save(model, tmp_path / "net.onnx")
    assert load(path).inputs == ("a", "b")
    assert load(path, cut_at=Cut(outputs=("r",))).inputs == ("a",)


def test_constants_of_the_rest_go(path: Path, whole: dict[str, np.ndarray], tmp_path: Path) -> None:
    """Before IR version 4 they are inputs, too: engines refuse one that is a constant alone."""
    model, cut = onnx.load(path), Cut(outputs=("features",))
    model.ir_version, model.opset_import[0].version = 3, 8
    for tensor in model.graph.initializer:
        kind = helper.make_tensor_value_info(tensor.name, tensor.data_type, list(tensor.dims))
        model.graph.input.append(kind)
    del model.graph.node[6:], model.graph.output[:]
    model.graph.output.append(helper.make_tensor_value_info("boxes", TensorProto.FLOAT, None))
    old = onnx_models.save(model, tmp_path / "old.onnx")
    found = reference_outputs(old, {"image": whole["image"]}, cut.outputs, cut_at=cut).values
    np.testing.assert_allclose(found["features"], whole["features"], rtol=1e-4, atol=1e-4)


@pytest.mark.parametrize(
    ("cut", "words"),
    [
        (Cut(outputs=("bokses",)), ["--output", "'bokses'", "did you mean boxes", "-o is"]),
        (Cut(inputs=("featurs",)), ["--input", "did you mean features"]),
        (Cut(inputs=("w",), outputs=("boxes",)), ["'w'", "constant"]),
        (Cut(outputs=("boxes", "boxes")), ["'boxes'", "twice"]),
        (Cut(inputs=("s",), outputs=("boxes",)), ["'s'", "no output depends on it"]),
        (
            Cut(inputs=("s",), outputs=("boxes", "scores")),
            ["some of the inputs", "'image'", "'stem'", "--input image"],
        ),
    ],
    ids=str,
)
def test_cuts_that_do_not_fit(path: Path, cut: Cut, words: list[str]) -> None:
    with pytest.raises(EdgeconvError) as caught:
        load(path, cut_at=cut)
    assert caught.value.code is Exit.USAGE
    for word in words:
        assert word in str(caught.value)


def refusal(path: Path) -> EdgeconvError:
    with pytest.raises(EdgeconvError) as caught:
        load(path)
    return caught.value


def test_refusal_says_where_the_supported_part_ends(path: Path, edgeconv: Command) -> None:
    error = refusal(path)
    assert "6 of 8 nodes" in error.hint
    command = error.hint.partition("cut there with ")[2].split()
    assert command == ["--output", "boxes", "--output", "scores"]
    out = path.parent / "out"
    edgeconv.ok("compile", path, "--board", BOARD, "-o", out, "--verify", *command)


def test_refusal_says_where_the_supported_part_begins(tmp_path: Path) -> None:
    model = detector()
    model.graph.node[0].input[0] = "converted"
    nodes = [make("Cast", ["image"], ["converted"], name="to_float", to=TensorProto.FLOAT)]
    nodes += list(model.graph.node)[:6]
    del model.graph.node[:]
    model.graph.node.extend(nodes)
    model.graph.input[0].type.tensor_type.elem_type = TensorProto.STRING
    del model.graph.output[:]
    model.graph.output.extend(onnx.ValueInfoProto(name=n) for n in ("boxes", "scores"))
    path = onnx_models.save(model, tmp_path / "net.onnx")
    error = refusal(path)
    assert error.hint.endswith("cut there with --input converted")
    load(path, cut_at=Cut(inputs=("converted",)))


def test_refusal_with_nothing_to_cut(tmp_path: Path) -> None:
    node = make("Erf", ["x"], ["y"], name="e", domain="com.example")
    model = onnx_models.model([node], {"x": (1, 2)}, {"y": None})
    model.opset_import.append(helper.make_opsetid("com.example", 1))
    assert refusal(onnx_models.save(model, tmp_path / "net.onnx")).hint == ""


def test_refusal_names_the_way_out_of_a_kind(tmp_path: Path) -> None:
    nodes = [make("ReorderOutput", ["x"], ["y"], domain="com.microsoft")]
    model = onnx_models.model(nodes, {"x": (4, 4)}, {"y": None})
    (line,) = refusal(onnx_models.save(model, tmp_path / "fused.onnx")).details
    assert "ONNX Runtime's optimiser wrote it" in line


def test_project_remembers_its_part(edgeconv: Command, residual_model: Path) -> None:
    out = residual_model.parent / "out"
    cut = ("--input", "features", "--output", "right", "--output", "left")
    done = edgeconv.ok("compile", residual_model, "--board", BOARD, "-o", out, *cut, "--json")
    report = done.json()
    assert [port["name"] for port in report["outputs"]] == ["right", "left"]
    assert report["model"]["cut"] == {"inputs": ["features"], "outputs": ["right", "left"]}
    assert " ".join(cut) in (out / "net.c").read_text()
    document = edgeconv.ok("verify", out, "--layers", "--json").json()
    assert document["passed"]
    assert [output["name"] for output in document["outputs"]] == ["right", "left"]
    shape = tuple(report["inputs"][0]["shape"])
    np.savez(out / "samples.npz", features=np.ones((2, *shape[1:]), np.float32))
    edgeconv.ok("verify", out, "--samples", out / "samples.npz")
    explained = edgeconv.ok("explain", residual_model, "--board", BOARD, *cut, "--json").json()
    assert "stem" not in {layer["name"] for layer in explained["layers"]}


def test_rounded_part_is_judged_by_its_twin(edgeconv: Command, residual_model: Path) -> None:
    out = residual_model.parent / "out"
    cut = ("--input", "r0", "--output", "sum")
    edgeconv.ok("compile", residual_model, "--board", BOARD, "-o", out, *cut, "--storage", "*=int8")
    assert edgeconv.ok("verify", out, "--json").json()["passed"]
