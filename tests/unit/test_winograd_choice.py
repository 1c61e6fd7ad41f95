"""Winograd's algorithm is a choice like any other while the outputs stay within an error."""

from __future__ import annotations

import json
from collections.abc import Callable, Sequence
from pathlib import Path
from typing import Any

import numpy as np
import onnx
import pytest
from onnx import helper, numpy_helper

from edgeconv.app.deciding import Decision, decide, network_run, output_error, winograd
from edgeconv.app.deciding.output_error import OutputError
from edgeconv.app.deciding.winograd import Measured
from edgeconv.base.errors import EdgeconvError, Exit
from edgeconv.ir.winograd_form import Nested, winograd_form
from edgeconv.kernels.algorithms.winograd.emulation import convolved
from edgeconv.kernels.algorithms.winograd.forms import forms_for
from edgeconv.kernels.algorithms.winograd.toom_cook import matrices
from edgeconv.model import frontend, passes
from edgeconv.model.frontend.running import EngineRefusesError
from edgeconv.run.build.project import Project
from edgeconv.search.choose.winograd import convolutions, forms_described, forms_within
from edgeconv.search.options import CompileOptions
from tests import onnx_models
from tests.command import Command

pytestmark = pytest.mark.usefixtures("unoptimised")

CHANNELS, SIZE = 32, 24
# Points so far apart that errors stand out of all other rounding.
COARSE = Nested(*(winograd_form(4, 3, (0, 1, -1, 16, -16)),) * 2)


@pytest.fixture(scope="module")
def model(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """Three convolutions of 3x3 with biases, the last with a residual, between them a ReLU."""
    random = np.random.default_rng(5)
    weights, nodes, source = {}, [], "x"
    for number in range(3):
        shape = CHANNELS, CHANNELS, 3, 3
        weights[f"w{number}"] = (random.standard_normal(shape) / 17).astype(np.float32)
        weights[f"b{number}"] = random.standard_normal(CHANNELS).astype(np.float32)
        operands = [source, f"w{number}", f"b{number}"]
        nodes.append(helper.make_node("Conv", operands, [f"c{number}"], f"c{number}", pads=[1] * 4))
        source = f"c{number}"
        if number == 1:
            nodes.append(helper.make_node("Relu", [source], ["r"], "relu"))
            source = "r"
    nodes.append(helper.make_node("Add", [source, "c0"], ["y"], "sum"))
    shape = 1, CHANNELS, SIZE, SIZE
    made = onnx_models.model(nodes, {"x": shape}, {"y": shape}, weights)
    return onnx_models.save(made, tmp_path_factory.mktemp("filtering") / "net.onnx")


def decided(model: Path, board: str = "raspberry-pi-4", **options: Any) -> Decision:
    return decide(CompileOptions(model, board, **options))


def minimal(found: Decision) -> list[str]:
    """The layers that are computed so."""
    return [each.node.name for each in found.choice.layers if each.algorithm == "winograd"]


@pytest.mark.parametrize("pads", [(0, 0), (1, 2)])
def test_the_emulation_is_a_convolution(pads: tuple[int, int]) -> None:
    random = np.random.default_rng(2)
    x = random.standard_normal((2, 5, 13, 9), np.float32)
    for rows, columns in ((3, 3), (3, 5)):
        weights = random.standard_normal((4, 5, rows, columns), np.float32)
        size = 13 + 2 * pads[0] - rows + 1, 9 + 2 * pads[1] - columns + 1
        wide = np.pad(x.astype(np.float64), ((0, 0), (0, 0), (pads[0],) * 2, (pads[1],) * 2))
        windows = np.lib.stride_tricks.sliding_window_view(wide, (rows, columns), axis=(2, 3))
        exact = np.einsum("ncyxij,ocij->noyx", windows, weights.astype(np.float64))
        for form, *_ in forms_for(rows, columns):
            found = convolved(form, x, weights, pads, size)
            assert np.abs(found - exact).max() < 1e-4 * np.abs(exact).max()


@pytest.mark.parametrize(
    ("kernel", "strides", "dilations", "pads"),
    [
        ((7, 7), (2, 2), (1, 1), (3, 3)),
        ((3, 5), (2, 3), (1, 1), (1, 0)),
        ((3, 3), (1, 1), (2, 3), (2, 0)),
    ],
)
def test_the_emulation_has_strides_and_dilations(
    kernel: tuple[int, int],
    strides: tuple[int, int],
    dilations: tuple[int, int],
    pads: tuple[int, int],
) -> None:
    random = np.random.default_rng(2)
    x = random.standard_normal((1, 3, 19, 16), np.float32)
    weights = random.standard_normal((4, 3, *kernel), np.float32)
    spread = np.zeros((4, 3, *((n - 1) * d + 1 for n, d in zip(kernel, dilations, strict=True))))
    spread[:, :, :: dilations[0], :: dilations[1]] = weights
    wide = np.pad(x.astype(np.float64), ((0, 0), (0, 0), (pads[0],) * 2, (pads[1],) * 2))
    windows = np.lib.stride_tricks.sliding_window_view(wide, spread.shape[2:], axis=(2, 3))
    every = windows[:, :, :: strides[0], :: strides[1]]
    exact = np.einsum("ncyxij,ocij->noyx", every, spread)
    for form, *_ in forms_for(*kernel, strides=strides):
        found = convolved(form, x, weights, pads, exact.shape[2:], strides, dilations)
        assert np.abs(found - exact).max() < 1e-4 * np.abs(exact).max()


def test_the_error_at_the_outputs_is_that_of_layers_after_each_other(model: Path) -> None:
    """Whose errors are each small enough to be added to what the layer computes without."""
    graph = passes.optimise(frontend.load(model))
    random = np.random.default_rng(7)
    x = random.standard_normal((1, CHANNELS, SIZE, SIZE), np.float32)
    layers = convolutions(graph)
    found = OutputError(graph, layers, [{"x": x}])
    forms = {node.name: COARSE for node in layers}

    def network(form: Nested | None) -> Any:
        values = {"x": x}
        for number, (source, to) in enumerate((("x", "c0"), ("c0", "c1"), ("r", "c2"))):
            weights, bias = (graph[f"{n}{number}"].constant().astype(np.float32) for n in "wb")
            made = convolved(form or FINE, values[source], weights, (1, 1), (SIZE, SIZE))
            values[to] = made + bias.reshape(-1, 1, 1)
            values["r"] = np.maximum(values[to], 0)
        return values["c2"] + values["c0"]

    plain, off = network(None), network(COARSE)
    wanted = np.abs(off - plain).max() / np.abs(plain).max()
    assert wanted > 1e-4
    # Rounding falls otherwise where a layer reads numbers that are off already.
    assert found.of(forms) == pytest.approx(wanted, rel=0.35)
    assert max(found.of({name: COARSE}) for name in forms) < wanted
    assert found.of({}) == 0.0


def test_of_an_output_that_is_decided_what_decides_counts(model: Path, tmp_path: Path) -> None:
    """A floor is off by whole numbers, or by nothing, whatever its input is off by."""
    deciding = onnx.load(model)
    output = deciding.graph.output[0]
    deciding.graph.node.append(helper.make_node("Floor", [output.name], ["floor"]))
    output.name = "floor"
    off = []
    for path in (model, onnx_models.save(deciding, tmp_path / "deciding.onnx")):
        graph = passes.optimise(frontend.load(path))
        layers = convolutions(graph)
        x = np.random.default_rng(7).standard_normal((1, CHANNELS, SIZE, SIZE), np.float32)
        forms = {node.name: COARSE for node in layers}
        off.append(OutputError(graph, layers, [{"x": x}]).of(forms))
    # Of the sums alone, which are smaller than with the residual.
    assert off[0] < off[1] < 4 * off[0]


FINE = next(forms_for(3, 3))[0]


@pytest.mark.parametrize("board", ["zen4", "raspberry-pi-4", "generic-c"])
def test_it_is_allowed_unless_forbidden(model: Path, board: str) -> None:
    assert len(minimal(decided(model, board))) == 3
    for options in (
        {"winograd_error": 0.0},
        {"algorithms": {"*": "direct"}},
        {"objective": "memory"},
    ):
        assert not minimal(decided(model, board, **options))


def test_a_microcontroller_has_it_when_asked(model: Path) -> None:
    """Flash and RAM are not spent unasked where other code needs them, but what that would save is
    said, unless it does not fit or is not wanted."""
    plain, asked = (decided(model, "mps2-an500", winograd_error=e) for e in (None, 1e-3))
    assert not minimal(plain)
    assert len(minimal(asked)) == 3
    (note,) = (note for note in plain.notes if note.startswith("faster: "))
    ram = asked.sizes.ram.total - plain.sizes.ram.total
    flash = asked.sizes.flash.total - plain.sizes.flash.total
    assert "--winograd-error 0.001 lets 3 convolution(s)" in note
    assert f"{asked.predicted.ms:.3g} ms predicted instead of {plain.predicted.ms:.3g}" in note
    assert f"for {ram:,} bytes more of RAM and {flash:,} of flash" in note
    room = plain.sizes.flash.total + flash // 4
    for options in ({"objective": "memory"}, {"winograd_error": 0.0}, {"flash": room}):
        others = decided(model, "mps2-an500", **options).notes
        assert not any(note.startswith("faster: ") for note in others)


def test_the_report_has_what_was_promised_and_measured(model: Path) -> None:
    found = decided(model).report
    said = found["winograd"]
    assert said["limit"] == 1e-3
    assert said["promised"] == 1e-4  # what any project is held to
    assert 0 < said["measured"] < 1e-5
    assert (said["samples"], said["source"]) == (1, "seeded inputs")
    errors = [layer["error"] for layer in found["layers"] if layer["algorithm"] == "winograd"]
    assert len(errors) == 3
    assert max(errors) < 1e-4
    assert "winograd" not in decided(model, winograd_error=0.0).report


def test_layers_are_held_to_what_keeps_the_outputs_within_the_limit(model: Path) -> None:
    free = decided(model)
    assert free.report["winograd"]["measured"] > 1e-6
    for limit in (3e-6, 1e-6):
        found = decided(model, winograd_error=limit)
        assert found.report["winograd"]["promised"] == limit
        assert 2 * found.report["winograd"]["measured"] <= limit
        for each in found.choice.layers:
            if each.algorithm == "winograd":
                assert each.plan["form"] != "F(6x6, 3x3)"
    assert not minimal(decided(model, winograd_error=1e-8))


def test_layers_of_a_large_network_are_measured_in_groups(
    model: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    """As many as there is time for; what is found keeps the limit all the same."""
    runs: list[list[str]] = []
    measure = OutputError.with_errors

    def counted(self: OutputError, errors: Sequence[dict[str, Any]]) -> float:
        runs.append(sorted(errors[0]))
        return measure(self, errors)

    monkeypatch.setattr(OutputError, "with_errors", counted)
    macs = 3 * CHANNELS**2 * 9 * SIZE**2
    for most, groups in (
        (2 * macs, [["c0", "c1"], ["c2"]]),
        (macs - 1, [["c0", "c1", "c2"]]),
        (3 * macs, [["c0"], ["c1"], ["c2"]]),
    ):
        runs.clear()
        monkeypatch.setattr(winograd, "_MOST_MACS", most)
        found = decided(model, winograd_error=3e-6)
        assert 2 * found.report["winograd"]["measured"] <= 3e-6
        assert minimal(found)
        assert runs[1 : 1 + len(groups)] == groups


@pytest.mark.parametrize("held", [1, 1 << 30])
def test_errors_do_not_depend_on_how_many_tensors_are_held(
    model: Path, monkeypatch: pytest.MonkeyPatch, held: int
) -> None:
    graph = passes.optimise(frontend.load(model))
    x = np.random.default_rng(7).standard_normal((1, CHANNELS, SIZE, SIZE), np.float32)
    outputs = OutputError(graph, convolutions(graph), [{"x": x}])
    forms = {node.name: COARSE for node in convolutions(graph)}
    (wanted,) = outputs.errors(forms)
    monkeypatch.setattr(output_error, "_HELD", held)
    (found,) = outputs.errors(forms)
    for name, error in wanted.items():
        np.testing.assert_array_equal(found[name], error)


def test_numbers_of_the_users_samples_count(model: Path, tmp_path: Path) -> None:
    path = tmp_path / "samples.npz"
    np.savez(
        path, x=np.random.default_rng(1).standard_normal((5, CHANNELS, SIZE, SIZE), np.float32)
    )
    said = decided(model, calibration=path).report["winograd"]
    assert (said["samples"], said["source"]) == (2, "5 samples in samples.npz")


@pytest.fixture
def without_runtime(monkeypatch: pytest.MonkeyPatch) -> None:
    """ONNX Runtime is not installed."""
    for module in (network_run, frontend.running):
        monkeypatch.setattr(module, "has_runtime", lambda: False)


def same_but_for_the_measurement(one: Decision, other: Decision) -> bool:
    """What is noted of the error may differ by a digit, the program does not."""
    assert minimal(one)
    noted, expected = ({**each.report["winograd"]} for each in (one, other))
    assert noted.pop("measured") == pytest.approx(expected.pop("measured"), rel=0.5)
    return one.report["layers"] == other.report["layers"] and noted == expected


def test_the_program_is_the_same_without_onnx_runtime(
    model: Path, request: pytest.FixtureRequest
) -> None:
    """The error at the outputs is then measured by the network compiled for this machine."""
    expected = decided(model)
    request.getfixturevalue("without_runtime")
    assert same_but_for_the_measurement(decided(model), expected)


def test_a_network_that_onnx_runtime_refuses_is_run_without_it(
    model: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    """One of more than 2 GB, for instance."""

    def refuse(*_: object) -> None:
        raise EngineRefusesError("ONNX Runtime refuses the network")

    expected = decided(model)
    monkeypatch.setattr(network_run, "prepared", refuse)
    assert same_but_for_the_measurement(decided(model), expected)


@pytest.mark.usefixtures("without_runtime")
def test_what_cannot_be_measured_is_left_out_and_said(
    model: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    def refuse(*_: object) -> None:
        raise EdgeconvError("no compiler", hint="install one", code=Exit.MISSING_TOOL)

    monkeypatch.setattr(network_run, "Engine", refuse)
    found = decided(model)
    assert not minimal(found)
    assert any("could not be measured: no compiler" in note for note in found.notes)
    named = decided(model, algorithms={"c1": "winograd"})
    assert minimal(named) == ["c1"]
    assert named.report["winograd"]["measured"] is None
    with pytest.raises(EdgeconvError, match="no compiler") as refused:
        decided(model, winograd_error=1e-3)
    assert refused.value.code is Exit.MISSING_TOOL


def test_where_flash_is_short_the_layers_that_fit_are_computed_so(model: Path) -> None:
    """Rather than numbers rounded."""
    small, large = (decided(model, winograd_error=error).sizes.flash.total for error in (0.0, 1e-3))
    assert large > small * 2
    fewer = decided(model, flash=small + (large - small) * 2 // 3)
    assert 0 < len(minimal(fewer)) < 3
    none = decided(model, flash=small + 16)
    assert not minimal(none)
    least = fewer.sizes.flash.total
    assert len(minimal(decided(model, flash=least))) == len(minimal(fewer))
    slower, faster = decided(model, flash=least - 1).predicted.ms, fewer.predicted.ms
    assert slower is not None
    assert faster is not None
    assert slower > faster
    for found in (fewer, none):
        assert found.found is None
        assert found.report["budget"]["fits"]


@pytest.mark.parametrize(
    ("error", "shown"), [(8.6e-7, 9e-7), (1e-6, 1e-6), (9.5e-6, 1e-5), (0.0, 0.0), (2.01e-3, 3e-3)]
)
def test_what_is_measured_is_rounded_up(error: float, shown: float) -> None:
    assert Measured(error, 1, "").rounded == pytest.approx(shown, rel=1e-12)


def test_forms_are_known_by_what_the_report_says(model: Path) -> None:
    graph = passes.optimise(frontend.load(model))
    found = decided(model)
    plans = {layer["name"]: layer["plan"] for layer in found.report["layers"]}
    forms = forms_described(graph, plans)
    chosen = {e.node.name: e.candidate.plan.form for e in found.choice.layers if e.candidate}  # type: ignore[attr-defined]
    assert {name: forms[name] for name in chosen} == {n: (form,) for n, form in chosen.items()}
    every = forms_within(graph, dict.fromkeys(chosen, 1.0))
    assert all(matrices(form.down) for form in every["c0"])


def test_verify_holds_the_program_to_the_promise(
    model: Path, tmp_path: Path, edgeconv: Command
) -> None:
    project = tmp_path / "net"
    edgeconv.ok("compile", model, "--board", "generic-c", "-o", project)
    done = edgeconv.ok("verify", project)
    assert "promised: no output off by more than 0.0001 of its largest; found: " in done.stdout
    opened = Project.open(project)
    said = {**opened.report["winograd"], "promised": 1e-9}
    opened.write_report({**opened.report, "winograd": said})
    done = edgeconv("verify", project)
    assert done.status == Exit.UNSATISFIED
    assert "DIFFERENT" in done.stdout


def test_a_program_that_rounds_is_held_to_its_twin_in_the_same_forms(
    model: Path, tmp_path: Path, edgeconv: Command
) -> None:
    """Whatever forms are allowed since."""
    project = tmp_path / "net"
    asked = ("--board", "generic-c", "--storage", "c1=flyte16", "--winograd-error", "3e-6")
    edgeconv.ok("compile", model, *asked, "-o", project)
    layers = json.loads((project / "report.json").read_text())["layers"]
    assert [layer["algorithm"] == "winograd" for layer in layers if layer["op"] == "Conv"] == [
        *(True, False, True)
    ]
    edgeconv.ok("verify", project)


def test_update_weights_measures_again(model: Path, tmp_path: Path, edgeconv: Command) -> None:
    project, new = tmp_path / "net", tmp_path / "net.onnx"
    edgeconv.ok("compile", model, "--board", "generic-c", "-o", project)
    trained_anew(model, new, lambda name, value: value * 1.5)
    edgeconv.ok("update-weights", project, new)
    edgeconv.ok("verify", project)
    same = np.zeros((CHANNELS, CHANNELS, 3, 3))
    same[:, :, 1, 1] = np.eye(CHANNELS)
    # Large sums that cancel at the output, but for what Winograd's algorithm is off.
    others = {"w1": same, "w2": -same, "b0": np.full(CHANNELS, 1e5), "b1": np.zeros(CHANNELS)}
    trained_anew(model, new, others.get)
    done = edgeconv("update-weights", project, new)
    assert done.status == Exit.UNSATISFIED
    assert "the program would be another one" in done.stderr
    assert "was winograd" in done.stderr


def trained_anew(model: Path, path: Path, change: Callable[[str, Any], Any]) -> None:
    made = onnx.load(model)
    for tensor in made.graph.initializer:
        old = numpy_helper.to_array(tensor)
        value = change(tensor.name, old)
        value = np.asarray(old if value is None else value, np.float32)
        tensor.CopyFrom(numpy_helper.from_array(value, tensor.name))
    onnx.save(made, path)
