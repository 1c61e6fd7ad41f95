"""`--rounding truncate`: filters and results lose their lower bits, where they are measured as well
as in what is emitted."""

from __future__ import annotations

import json
from collections.abc import Mapping
from dataclasses import replace
from pathlib import Path

import numpy as np
import pytest

from edgeconv.app import pipeline
from edgeconv.app.pipeline import CompileOptions, compile_model, decide
from edgeconv.codegen.equal_constants import encoded
from edgeconv.ir.filters import Filters
from edgeconv.ir.graph import Graph, Node
from edgeconv.kernels.algorithms.packing import filters_blob, units_of, weights_of
from edgeconv.kernels.storage import formats
from edgeconv.model import frontend, passes
from edgeconv.run.verify.stored import Array, compare_beside
from edgeconv.search.calibration.codebook import Codebook
from edgeconv.search.calibration.engine import Engine
from edgeconv.search.calibration.library import rounding_formats
from edgeconv.search.calibration.moments import Rows
from edgeconv.search.calibration.rounding import Recipe, round_layer
from edgeconv.search.calibration.samples import seeded
from edgeconv.search.choose.storage import store_weights, stored_formats
from tests import onnx_models
from tests.command import BOARD, Command

pytestmark = pytest.mark.usefixtures("unoptimised")

DIGITS = Path(__file__).resolve().parents[2] / "examples" / "digits"
FORMATS = sorted(stored_formats())
MIXED = {
    "*": "flyte16",
    "stem": "int8",
    "left": "flyte8",
    "*:output": "flyte16",
    "stem:output": "flyte24",
}


@pytest.fixture(scope="module")
def model(tmp_path_factory: pytest.TempPathFactory) -> Path:
    folder = tmp_path_factory.mktemp("truncation")
    return onnx_models.save(onnx_models.residual(), folder / "net.onnx")


@pytest.fixture(scope="module")
def graph(model: Path) -> Graph:
    return passes.optimise(frontend.load(model))


def dense_filters(options: CompileOptions) -> bytes:
    """As they lie in the image."""
    layers = decide(options).choice.layers
    return encoded(next(layer for layer in layers if layer.node.name == "dense").blobs[0])


@pytest.mark.parametrize("name", FORMATS)
def test_filters_in_the_image(name: str, model: Path, graph: Graph) -> None:
    options = CompileOptions(model, BOARD, storage={"dense": name}, rounding="truncate")
    nearest = dense_filters(replace(options, rounding="nearest"))
    node = next(n for n in store_weights(graph, {"dense": name}).nodes if n.name == "dense")
    weights, form = weights_of(node, graph), formats()[name]
    units = units_of(node, weights)
    counts = weights if units is None else weights / units.astype(np.float64)[:, None]
    assert form.truncate is not None
    # Lanes order the values; the same ones are there, and the zeros that fill up vectors.
    stored, got = (form.decode(data) for data in (form.truncate(counts), dense_filters(options)))
    np.testing.assert_array_equal(np.sort(stored[stored != 0]), np.sort(got[got != 0]))
    assert dense_filters(options) != nearest


def test_multiples_of_units_stay(graph: Graph) -> None:
    """A quotient just below a whole number would lose one."""
    nodes = {n.name: n for n in store_weights(graph, {"stem": "int8", "dense": "int8"}).nodes}

    def stored(node: Node, *, truncate: bool) -> list[float]:
        asked = replace(node, request=replace(node.request, truncate=truncate))
        blob = filters_blob(asked, graph, 0, lambda weights: weights.reshape(-1))
        return [float(each) for each in blob.pack()]

    own = nodes["stem"]
    multiples = replace(own, request=replace(own.request, storage=own.storage.scaled((0.01,))))
    assert stored(multiples, truncate=True) == stored(multiples, truncate=False)
    assert stored(nodes["dense"], truncate=True) != stored(nodes["dense"], truncate=False)


@pytest.mark.parametrize("name", FORMATS)
def test_calibration_truncates(name: str) -> None:
    rng = np.random.default_rng(2)
    weights = rng.standard_normal((6, 40)).astype(np.float32)
    recipe = Recipe(bias=False, compensated=False, truncate=True)
    own = Filters(weights)
    found = round_layer(own, Rows(1, 1, 40), name, None, recipe)
    units = np.ones(6) if found.units is None else np.array(found.units)
    counts = weights / units[:, None]
    got = found.parameters.weights / units[:, None]
    wanted = Codebook(formats()[name], truncate=True).nearest(counts)
    np.testing.assert_allclose(got, wanted, rtol=1e-6)
    assert (np.abs(got) <= np.abs(counts) * (1 + 1e-6)).all()
    nearest = round_layer(own, Rows(1, 1, 40), name, None, replace(recipe, truncate=False))
    assert np.square(found.parameters.weights - weights).sum() > 1.5 * (
        np.square(nearest.parameters.weights - weights).sum()
    )


def test_the_engine_truncates_results(graph: Graph) -> None:
    with Engine(graph, truncate=True) as engine:
        sample = seeded(engine.graph)[0]
        plain = engine.run(sample, capture=["r1"])["r1"]
        for form in rounding_formats():
            got = engine.run(sample, activations={"r1": form}, capture=["r1"])["r1"]
            np.testing.assert_array_equal(got, formats()[form].rounded(plain, truncate=True))
            assert not np.array_equal(got, formats()[form].rounded(plain))


def test_emitted_and_verified(model: Path, tmp_path: Path) -> None:
    options = CompileOptions(model, "generic-c", storage=MIXED, rounding="truncate")
    project, _ = compile_model(options, tmp_path / "net")
    assert project.report["program"]["rounding"] == "truncate"
    source = (tmp_path / "net" / "net_runtime.h").read_text()
    assert source.index("#define EC_TRUNCATE 1") < source.index("#ifndef EC_TRUNCATE")
    assert "--rounding truncate" in (tmp_path / "net" / "net.c").read_text()
    result = pipeline.verify_project(tmp_path / "net", model=model)
    assert result.passed
    assert max(difference.relative for difference in result.rounded) <= 1e-5


class FakeRoundedReference:
    """One layer called y, whose float32 result is ``exact``."""

    results_stored = True

    def __init__(self, exact: Array) -> None:
        self.exact = exact

    def outputs(self, feeds: Mapping[str, Array]) -> Mapping[str, Array]:
        return {"y": self.exact}

    def beside(
        self, feeds: Mapping[str, Array], results: Mapping[str, Array]
    ) -> Mapping[str, Array]:
        return {"y": self.exact}


@pytest.mark.parametrize("name", rounding_formats())
def test_verify_tells_the_two_apart(name: str, tmp_path: Path) -> None:
    """Each is within its own allowance, and exceeds the other's."""
    form, trace = formats()[name], tmp_path / "layers.bin"
    exact = np.random.default_rng(4).standard_normal((1, 400)).astype(np.float32)
    for stored_truncated in (False, True):
        encode = form.truncate if stored_truncated else form.encode
        assert encode is not None
        trace.write_bytes(encode(exact))
        layer = {
            "output": "y",
            "output_shape": [1, 400],
            "output_bytes": form.encoding.bytes_of(400),
            "layout_out": "NCHW",
            "storage": {"output": name},
        }
        for truncate in (False, True):
            (found,) = compare_beside(
                [layer], trace, FakeRoundedReference(exact), {}, truncate=truncate
            )
            assert (found.relative == 0) == (truncate is stored_truncated)


@pytest.mark.slow
def test_what_is_promised_is_measured(edgeconv: Command, tmp_path: Path) -> None:
    samples = DIGITS / "digits-cnn-calibration.npz"
    limits = ("--calibration", samples, "--min-sqnr", "30", "--objective", "memory")
    options = ("--board", "host", "--rounding", "truncate", *limits)
    out = tmp_path / "net"
    edgeconv.ok("compile", DIGITS / "digits-cnn.onnx", *options, "-o", out)
    promised = json.loads((out / "report.json").read_text())["accuracy"]["sqnr_db"]
    done = edgeconv.ok("verify", out, "--samples", samples, "--json")
    measured = min(json.loads(done.stdout)["sqnr_db"].values())
    assert measured >= 30
    assert measured == pytest.approx(promised, abs=0.1)
