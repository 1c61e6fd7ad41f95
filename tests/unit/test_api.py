"""The Python interface, `edgeconv run` and the emitted Python module."""

from __future__ import annotations

import doctest
import importlib.util
import subprocess
from collections.abc import Mapping
from pathlib import Path
from typing import Any, assert_type

import numpy as np
import numpy.typing as npt
import onnx
import pytest

import edgeconv
from edgeconv.app import api, pipeline
from edgeconv.app.cli.model_options import model_options
from edgeconv.app.cli.program import COMPILE
from edgeconv.run.inference import stacked
from tests.command import BOARD, Command
from tests.loop_models import MODELS
from tests.onnx_models import save
from tests.onnx_runtime import results
from tests.state_models import NETWORKS

# Of what is built results are asked.
pytestmark = pytest.mark.usefixtures("compiled_lightly")
IMAGE = (1, 3, 9, 9)
DIMS = {"s0": (1, 1, 12), "s1": (1, 1, 9), "s2": (1, 1, 9)}
HOSTILE = '"""+__import__("os").abort()+"""\\\n'


def noise(shape: tuple[int, ...], seed: int = 1) -> np.ndarray:
    return np.random.default_rng(seed).standard_normal(shape, np.float32)


def close(found: Mapping[str, np.ndarray], wanted: Mapping[str, np.ndarray]) -> None:
    assert found.keys() == wanted.keys()
    for name, values in wanted.items():
        np.testing.assert_allclose(found[name], values, rtol=1e-4, atol=1e-5)


@pytest.fixture
def program(residual_model: Path, tmp_path: Path) -> api.Program:
    return edgeconv.compile(residual_model, BOARD, tmp_path / "net")


def test_names_are_those_of_the_interface() -> None:
    public = set(dir(edgeconv)) - {"__version__"}
    assert public == set(api.__all__)
    stub = Path(edgeconv.__file__).with_suffix(".pyi").read_text()
    assert all(f"import {name} as {name}" in stub for name in public)
    with pytest.raises(AttributeError, match="no attribute 'comple'"):
        edgeconv.comple  # type: ignore[attr-defined]  # noqa: B018


def test_every_option_of_compile_is_there() -> None:
    words = {option.opts[0].removeprefix("--") for option in COMPILE.params}
    others = {"json", "limit", "model", "board", "-o", "directory", "build", "verify", "report"}
    assert {name.replace("_", "-") for name in api.Options.__annotations__} == words - others
    assert len(model_options()) > 20


def test_runs_and_equals_the_model(program: api.Program, residual_model: Path) -> None:
    (port,) = program.inputs
    samples = [noise(port.shape, seed) for seed in range(3)]
    model = onnx.load(residual_model)
    wanted = [results(model, {port.name: x}) for x in samples]
    for found, want in zip(program.run_all(samples), wanted, strict=True):
        close(found, want)
    as_doubles = {port.name: samples[0].astype(np.float64)}
    close(edgeconv.load(program.directory).run(as_doubles), wanted[0])
    assert program.run_all([]) == []
    assert sum(layer.macs for layer in program.layers()) == program.report["model"]["macs"]
    assert program.verify(model=residual_model).passed


@pytest.mark.parametrize(
    ("inputs", "words"),
    [
        ({"imgae": 0}, "no such input: got 'imgae'; did you mean image?"),
        ({}, "no array for input 'image': got nothing"),
        (np.zeros((2, 2)), "another shape than the program takes: input 'image': got 2x2"),
        (np.full(IMAGE, "a"), "another element type than the program reads"),
        (np.full(IMAGE, 1e39), "numbers that the program's element type does not hold"),
        (np.full(IMAGE, (1 << 24) + 1), "numbers that the program's element type does not hold"),
        ([[1.0], [1.0, 2.0]], "no array: input 'image': got setting an array element"),
    ],
)
def test_inputs_that_do_not_fit(program: api.Program, inputs: object, words: str) -> None:
    with pytest.raises(edgeconv.EdgeconvError) as caught:
        program.run(inputs)  # type: ignore[arg-type]
    assert words in caught.value.one_line()
    assert caught.value.code == 2


def test_a_program_runs_where_it_was_loaded_for(
    program: api.Program, monkeypatch: pytest.MonkeyPatch
) -> None:
    asked = []

    def noted(*given: object, ssh: str, **more: object) -> tuple[list[object], str]:
        asked.append(ssh)
        return [None], ""

    for name in ("run_project", "bench_project", "verify_project"):
        monkeypatch.setattr(pipeline, name, noted)
    there = edgeconv.load(program.directory, ssh="pi@board")
    there.run(noise(IMAGE))
    there.bench()
    there.verify(ssh="pi@other")
    program.verify()
    assert asked == ["pi@board", "pi@board", "pi@other", ""]


@pytest.mark.parametrize(
    ("options", "words"),
    [
        ({"rom": 1}, "no such option of edgeconv.compile: got 'rom'; did you mean ram?"),
        ({"objective": "tiny"}, "'tiny' is not one of 'latency', 'memory', 'energy'"),
        ({"ram": "9X"}, "--ram"),
        ({"input_shape": {"nobody": (1, 2)}}, "nobody"),
        ({"board": "odroid"}, "odroid"),
    ],
)
def test_options_are_checked_as_on_the_command_line(
    residual_model: Path, tmp_path: Path, options: dict[str, object], words: str
) -> None:
    given = {"board": BOARD, **options}
    with pytest.raises(edgeconv.EdgeconvError) as caught:
        edgeconv.compile(residual_model, directory=tmp_path / "out", **given)  # type: ignore[arg-type]
    assert words in caught.value.one_line()
    assert not (tmp_path / "out").exists()


def test_options_become_those_of_the_command(residual_model: Path, tmp_path: Path) -> None:
    program = edgeconv.compile(
        residual_model,
        BOARD,
        tmp_path / "out",
        name="eyes",
        storage={"*": "int8"},
        ram="64K",
        objective="memory",
        selftest=True,
        require_int8=False,
    )
    command = program.report["program"]["command"]
    assert "--name eyes --storage '*=int8' --ram 65536 --objective memory --selftest" in command
    assert program.name == "eyes"


def saved(path: Path, **arrays: np.ndarray) -> Path:
    np.savez(path, **arrays)  # type: ignore[arg-type]
    return path


def test_run_writes_outputs_of_all_sets(
    edgeconv: Command, program: api.Program, tmp_path: Path
) -> None:
    several = noise((4, *IMAGE))
    wanted = stacked(program.run_all(list(several)))
    out = tmp_path / "out.npz"
    for shape, label in ((several.shape, {}), (several.shape[1:], {"label": np.arange(4)})):
        merged = several.reshape(-1, *shape[1:]) if label else several
        inputs = saved(tmp_path / "in.npz", image=merged, **label)
        edgeconv.ok("run", program.directory, "--inputs", inputs, "-o", out)
        with np.load(out) as found:
            close(found, wanted)
    one = edgeconv.ok(
        "run", program.directory, "--inputs", saved(tmp_path / "1.npz", image=several[0])
    )
    assert "1 set of inputs" in one.stdout
    document = edgeconv.ok("run", program.directory, "--inputs", inputs, "--json").json()
    assert np.shape(document["outputs"]["p"]) == wanted["p"].shape


def test_run_replaces_nobodys_file(edgeconv: Command, program: api.Program, tmp_path: Path) -> None:
    inputs = saved(tmp_path / "in.npz", image=noise(IMAGE))
    before = inputs.read_bytes()
    done = edgeconv("run", program.directory, "--inputs", inputs, "-o", inputs)
    assert done.status == 2
    assert "it was not written by edgeconv" in done.stderr
    assert inputs.read_bytes() == before


def test_run_refuses_arrays_that_do_not_fit(
    edgeconv: Command, program: api.Program, tmp_path: Path
) -> None:
    x = noise((3, *IMAGE))
    for arrays, words in (
        ({"image": x, "y": x}, "no such input"),
        ({"image": x[:0]}, "numbers of sets that differ"),
        ({"image": x[..., :2]}, "another shape"),
    ):
        done = edgeconv("run", program.directory, "--inputs", saved(tmp_path / "x.npz", **arrays))
        assert done.status == 2
        assert words in done.stderr


def loaded(folder: Path) -> Any:
    """The Python module of the project ``eyes``, its library built."""
    (folder / "build").mkdir(exist_ok=True)
    shared = "gcc -std=c11 -O1 -shared -fPIC -I. eyes.c eyes_weights.S -o build/libeyes.so"
    subprocess.run(shared.split(), check=True, cwd=folder)
    spec = importlib.util.spec_from_file_location("eyes", folder / "eyes.py")
    assert spec is not None
    assert spec.loader is not None
    module = importlib.util.module_from_spec(spec)
    spec.loader.exec_module(module)
    return module


@pytest.mark.parametrize("io", ["caller", "arena"])
def test_module_beside_the_project(io: str, residual_model: Path, tmp_path: Path) -> None:
    """Whatever a model calls its tensors, the module is a program of ours."""
    model = onnx.load(residual_model)
    for node in model.graph.node:
        node.input[:] = [HOSTILE if name == "image" else name for name in node.input]
    model.graph.input[0].name = HOSTILE
    path = save(model, tmp_path / "hostile.onnx")
    program = edgeconv.compile(path, BOARD, tmp_path / "eyes", name="eyes", io=io)
    module = loaded(program.directory)
    x = noise(IMAGE)
    close(module.Model().run({HOSTILE: x}), program.run(x))
    with pytest.raises(ValueError, match="is float32"):
        module.Model().run(x.astype(np.float64))
    with pytest.raises(RuntimeError, match="wrong size"):
        module.Model(weights=b"1234")


def test_module_takes_scalars(tmp_path: Path) -> None:
    path = save(MODELS["nested"], tmp_path / "net.onnx")
    program = edgeconv.compile(path, BOARD, tmp_path / "eyes", name="eyes")
    feeds = {"trips": np.array(5, np.int64), "x": noise((6, 4)), "x0": noise((4,), 1)}
    close(loaded(program.directory).Model().run(feeds), program.run(feeds))


def test_doctests_of_the_guide(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    root = Path(__file__).parents[2]
    monkeypatch.chdir(tmp_path)
    (tmp_path / "digits").symlink_to(root / "examples" / "digits")
    found = doctest.testfile(str(root / "docs" / "python.md"), module_relative=False)
    assert found.attempted > 5
    assert found.failed == 0


def test_module_and_run_all_keep_states(tmp_path: Path) -> None:
    network = NETWORKS["recurrent"]()
    path = save(network.model, tmp_path / "net.onnx")
    states = [f"{made}={given}" for made, given in network.states]
    folder = tmp_path / "net"
    program = edgeconv.compile(path, BOARD, folder, state=states, resumable=True, name="eyes")
    frames = [noise((1, 1, 6), seed) for seed in range(4)]
    feeds = {given: np.zeros(DIMS[given], np.float32) for _, given in network.states}
    wanted = []
    for frame in frames:
        found = results(network.model, {"x": frame, **feeds})
        feeds = {given: found[made] for made, given in network.states}
        wanted.append(found["y"])
    for found, want in zip(program.run_all([{"x": x} for x in frames]), wanted, strict=True):
        close({"y": found["y"]}, {"y": want})
    assert program.verify(model=path, steps=2).steps == 2
    model = loaded(folder).Model()
    for _ in range(2):
        for frame, want in zip(frames, wanted, strict=True):
            close(model.run(frame), {"y": want})
        model.reset()


def uses(program: edgeconv.Program) -> None:
    """Not run: `make lint` holds the types that users see to these, and the mistakes to errors."""
    assert_type(edgeconv.compile("m", "host", ram=1, storage={"*": "int8"}), edgeconv.Program)
    assert_type(program.run({}), dict[str, npt.NDArray[np.generic]])
    assert_type(program.bench(runs=3).median_ms, float)
    assert_type(program.layers()[0].macs, int)
    edgeconv.compile("m.onnx", "host", rom=1)  # type: ignore[call-arg]
    edgeconv.load(1)  # type: ignore[arg-type]
