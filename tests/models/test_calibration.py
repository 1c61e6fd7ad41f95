"""Networks measured on this machine: the engine runs what is emitted, with what is replaced."""

from __future__ import annotations

from collections.abc import Iterator
from pathlib import Path

import numpy as np
import onnx
import pytest
from onnx import numpy_helper

from edgeconv.app.pipeline import CompileOptions, compile_model
from edgeconv.base.errors import EdgeconvError, Exit
from edgeconv.ir.filters import Filters
from edgeconv.kernels.storage import formats
from edgeconv.model import frontend, passes
from edgeconv.model.frontend import reference_outputs
from edgeconv.run.build import run_binary
from edgeconv.run.verify.inputs import write_tensors
from edgeconv.search import choose
from edgeconv.search.calibration.engine import Engine
from edgeconv.search.calibration.library import Library, rounding_formats
from edgeconv.search.calibration.rounding import RECIPES, parameters_of, round_layers, stored
from edgeconv.search.calibration.samples import Samples, load, seeded
from edgeconv.search.calibration.sensitivity import sensitivities
from edgeconv.search.calibration.sequential import round_sequentially
from edgeconv.search.calibration.sqnr import Baseline, class_output
from edgeconv.search.calibration.unshared_arena import own_places
from edgeconv.target import board as boards
from tests import onnx_models

pytestmark = pytest.mark.usefixtures("unoptimised")

DIGITS = Path(__file__).resolve().parents[2] / "examples" / "digits"
LAYERS = ["stem", "depthwise", "pointwise", "left", "dense"]


@pytest.fixture(scope="module")
def model(tmp_path_factory: pytest.TempPathFactory) -> Path:
    folder = tmp_path_factory.mktemp("calibration")
    return onnx_models.save(onnx_models.residual(), folder / "net.onnx")


@pytest.fixture(scope="module")
def engine(model: Path) -> Iterator[Engine]:
    with Engine(passes.optimise(frontend.load(model))) as built:
        yield built


@pytest.fixture(scope="module")
def digits() -> Iterator[Engine]:
    with Engine(passes.optimise(frontend.load(DIGITS / "digits-cnn.onnx"))) as built:
        yield built


@pytest.fixture(scope="module")
def digit_images(digits: Engine) -> tuple[Samples, Samples]:
    """To round with, and to measure on."""
    images = load(DIGITS / "digits-cnn-testset.npz", digits.graph)
    return images.chosen(slice(0, 40)), images.chosen(slice(200, 500))


def test_runs_what_is_emitted(model: Path, engine: Engine, tmp_path: Path) -> None:
    sample = seeded(engine.graph)[0]
    got = engine.run(sample)
    project, _ = compile_model(CompileOptions(model, "host"), tmp_path / "net")
    write_tensors(project.input_file, sample, project.inputs)
    output = tmp_path / "output.bin"
    arguments = ["--input", str(project.input_file), "--output", str(output)]
    run_binary(project.build().path, project.board(), arguments, cwd=project.directory)
    emitted = np.fromfile(output, "<f4")
    mine = np.concatenate([got[name].reshape(-1) for name in engine.graph.outputs])
    assert np.array_equal(mine, emitted)


def test_elements_of_eight_bytes_have_their_place(tmp_path: Path) -> None:
    """The indices between the nodes of a Hardmax."""
    make = onnx.helper.make_node
    nodes = [make("Hardmax", ["x"], ["y"]), make("ArgMax", ["x"], ["at"], axis=1)]
    path = onnx_models.save(
        onnx_models.model(nodes, {"x": (40, 3)}, {"y": None, "at": None}), tmp_path / "hard.onnx"
    )
    x = np.random.default_rng(5).standard_normal((40, 3), dtype=np.float32)
    with Engine(passes.optimise(frontend.load(path))) as built:
        got = built.run({"x": x})
    np.testing.assert_array_equal(got["y"], np.eye(3, dtype=np.float32)[x.argmax(axis=1)])


def test_every_tensor_can_be_looked_at(model: Path, engine: Engine) -> None:
    sample = seeded(engine.graph)[0]
    got = engine.run(sample, capture=engine.tensors)
    assert {"image", "r0", "features", "both", "p"} <= set(got)
    wanted = reference_outputs(model, sample, list(got)).values
    assert len(wanted) >= 6
    for name, value in wanted.items():
        np.testing.assert_allclose(got[name], value, atol=1e-5, err_msg=name)


def test_layers_compute_with_what_they_are_given(
    model: Path, engine: Engine, tmp_path: Path
) -> None:
    """Filters as in a model file that has them so, biases added where there are none; and nothing
    of it is left afterwards."""
    sample = seeded(engine.graph)[0]
    before = engine.run(sample)
    changed = onnx.load(model)
    names = {node.name: node.input[1] for node in changed.graph.node if node.name in LAYERS}
    given = {}
    rng = np.random.default_rng(9)
    for tensor in changed.graph.initializer:
        layer = next((n for n, w in names.items() if w == tensor.name), "")
        if layer in LAYERS:
            value = numpy_helper.to_array(tensor)
            value = value + 0.3 * rng.standard_normal(value.shape, dtype=np.float32)
            tensor.CopyFrom(numpy_helper.from_array(value, tensor.name))
            given[layer] = Filters(value)
    other = onnx_models.save(changed, tmp_path / "changed.onnx")
    wanted = reference_outputs(other, sample).values
    got = engine.run(sample, parameters=given)
    for name, value in wanted.items():
        np.testing.assert_allclose(got[name], value, atol=1e-5)
    shift = np.arange(8, dtype=np.float32)
    own = engine.parameters("pointwise")
    assert own.bias is not None
    assert not own.bias.any()
    moved = engine.run(
        sample, parameters={"pointwise": Filters(own.weights, shift)}, capture=["features"]
    )
    difference = moved["features"] - before["features"]
    assert (difference[:, 7] <= 7.00001).all()
    assert difference[:, 7].max() == pytest.approx(7, abs=1e-5)
    after = engine.run(sample)
    assert all(np.array_equal(before[name], after[name]) for name in before)


@pytest.mark.parametrize("form", rounding_formats())
def test_results_are_rounded_as_if_they_had_been_stored(engine: Engine, form: str) -> None:
    sample = seeded(engine.graph)[0]
    plain = engine.run(sample, capture=["r1", "r0"])
    got = engine.run(sample, activations={"r1": form}, capture=["r1", "r0"])
    assert np.array_equal(got["r1"], formats()[form].rounded(plain["r1"]))
    assert np.array_equal(got["r0"], plain["r0"])
    assert not np.array_equal(got["p"], plain["p"])
    assert set(rounding_formats()) == {"flyte24", "flyte16", "flyte8"}


@pytest.mark.parametrize(
    ("arguments", "words"),
    [
        ({"parameters": {"lefd": Filters(np.zeros(1, np.float32))}}, ["layer", "mean left?"]),
        ({"activations": {"r9": "flyte16"}}, ["no such tensor", "did you mean"]),
        ({"activations": {"r1": "int8"}}, ["format of activations", "int8"]),
        ({"activations": {"image": "flyte16"}}, ["are float32", "image"]),
        ({"activations": {"features": "flyte16"}}, ["are float32", "features"]),
    ],
)
def test_what_is_unknown_is_refused(
    engine: Engine, arguments: dict[str, dict[str, object]], words: list[str]
) -> None:
    with pytest.raises(EdgeconvError) as caught:
        engine.run(seeded(engine.graph)[0], **arguments)  # type: ignore[arg-type]
    assert caught.value.code is Exit.USAGE
    assert all(word in str(caught.value) for word in words)


def test_without_a_compiler_it_says_so(engine: Engine, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("PATH", "")
    monkeypatch.delenv("CC", raising=False)
    with pytest.raises(EdgeconvError) as caught:
        Engine(engine.graph)
    assert caught.value.code is Exit.MISSING_TOOL


def test_what_is_stored_is_what_was_measured(engine: Engine) -> None:
    """The graph with formats and units, compiled with kernels that decode them, computes what the
    engine computes with the rounded values in float32."""
    samples = seeded(engine.graph, 2)
    kinds = ["int8", "int4", "flyte8", "flyte16", "flyte24"]
    wanted = dict(zip(LAYERS, kinds, strict=True))
    rounded = round_layers(engine, samples, wanted)
    graph = stored(engine.graph, rounded)
    for node in graph.nodes:
        if node.name in wanted:
            assert str(node.attrs["storage"].element) == wanted[node.name]
            assert bool(node.attrs["storage"].scale) == formats()[wanted[node.name]].scaled
    board = boards.load("host")
    choice = choose.select(graph, board.target)
    library = Library(choice, own_places(choice), board)
    outputs = [np.zeros(graph[name].shape, np.float32) for name in graph.outputs]
    library.run([samples[0][name] for name in graph.inputs], outputs)
    library.close()
    measured = engine.run(samples[0], parameters=parameters_of(rounded))
    plain = engine.run(samples[0])
    for name, got in zip(graph.outputs, outputs, strict=True):
        np.testing.assert_allclose(got, measured[name], atol=1e-5)
        assert np.abs(got - plain[name]).max() > 1e-3


# dB at the output of digits-cnn by step; measured 38, 40, 48, 53, 57 (int8), 17, 21, 20, 27, 32
# (int4), 3, 6, 8, 14, 20 (flyte8): `python bench/rounding_steps.py`.
LEAST = {
    "int8": (35, 38, 45, 50, 53),
    "int4": (13, 18, 18, 24, 28),
    "flyte8": (1, 4, 6, 11, 17),
}


@pytest.mark.parametrize(
    "form", ["flyte8", *(pytest.param(form, marks=pytest.mark.slow) for form in ("int4", "int8"))]
)
def test_every_step_helps(form: str, digits: Engine, digit_images: tuple[Samples, Samples]) -> None:
    rounding, testing = digit_images
    baseline = Baseline(digits, testing)
    wanted = dict.fromkeys(digits.layers, form)
    found = [round_layers(digits, rounding, wanted, recipe) for recipe in RECIPES.values()]
    found.append(round_sequentially(digits, rounding, wanted))
    measured = [baseline.accuracy(parameters_of(rounded)) for rounded in found]
    sqnr = [accuracy.sqnr_db for accuracy in measured]
    assert all(got > least for got, least in zip(sqnr, LEAST[form], strict=True)), sqnr
    assert sqnr[-1] > sqnr[-2] > sqnr[1]
    best = measured[-1]
    assert best.top1 is not None
    assert best.top1_drop is not None
    assert best.top1_drop <= 0.01
    assert best.promised
    assert best.samples == 300


def test_accuracy_by_layer(digits: Engine, digit_images: tuple[Samples, Samples]) -> None:
    told: list[str] = []
    baseline = Baseline(digits, digit_images[1].at_most(10), told.append)
    assert len(told) == 10
    assert told[-1].endswith("sample 10 of 10")
    same = baseline.accuracy(layers=True)
    assert same.sqnr_db == np.inf
    assert (same.agreement, same.top1_drop, same.max_abs_error) == (1.0, 0.0, 0.0)
    first = next(iter(digits.layers))
    rounded = round_layers(digits, digit_images[0], {first: "int4"})
    found = baseline.accuracy(parameters_of(rounded), layers=True)
    assert set(found.per_layer) == set(digits.tensors) - set(digits.graph.inputs)
    assert all(np.isfinite(db) for db in found.per_layer.values())
    assert found.sqnr_db == min(found.per_layer[name] for name in digits.graph.outputs)
    assert class_output(digits.graph) == digits.graph.outputs[0]


def test_noise_of_single_tensors_adds_up(
    digits: Engine, digit_images: tuple[Samples, Samples]
) -> None:
    samples = digit_images[0]
    weights = {name: ["float32", "int8", "int4"] for name in digits.layers}
    inner = [name for name in digits.tensors[1:] if name not in digits.graph.outputs]
    activations = {name: ["flyte16", "flyte8"] for name in inner[:3]}
    told: list[str] = []
    found = sensitivities(digits, samples, weights, activations, progress=told.append)
    assert found.samples == 40
    assert any("measuring" in text for text in told)
    for name in digits.layers:
        assert found.weights[name, "float32"] == 0
        assert 0 < found.weights[name, "int8"] < found.weights[name, "int4"] < 0.1
    for name in activations:
        assert 0 < found.activations[name, "flyte16"] < found.activations[name, "flyte8"]
    choice = {name: found.rounded[name, "int4"] for name in digits.layers}
    together = Baseline(digits, samples).noise(parameters_of(choice))
    total = sum(found.weights[name, "int4"] for name in digits.layers)
    assert total / 3 < together < 3 * total
