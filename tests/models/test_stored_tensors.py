"""Networks whose activations lie in memory in fewer bytes: equal, bit by bit, to a float32 program
that rounds the same tensors after their layers; and what that saves."""

from __future__ import annotations

import shutil
from collections.abc import Mapping, Sequence
from itertools import pairwise
from pathlib import Path

import numpy as np
import pytest

from edgeconv.app.pipeline import CompileOptions, compile_model, decide
from edgeconv.kernels.storage import formats
from edgeconv.run.build import compile_project, run_binary
from edgeconv.run.build.project import Project
from edgeconv.run.verify.layers import original_name
from edgeconv.target import board as boards
from edgeconv.target.board import RunKind
from tests import onnx_models, row_streaming
from tests.compilers import SANITIZERS
from tests.models.drivers import ROUNDING

pytestmark = pytest.mark.usefixtures("unoptimised")

BOARDS = ("host", "generic-c", "odroid-xu3", "jetson-tx1", "power10-s1024")
NETWORK = onnx_models.residual(20, 17)
IMAGE = np.random.default_rng(7).standard_normal((1, 3, 17, 17)).astype(np.float32)
# Formats that meet in one layer, beside those that all tensors have.
MIXED = {"*:output": "flyte16", "stem:output": "flyte24", "depthwise:output": "flyte8"}


@pytest.fixture(scope="module")
def model(tmp_path_factory: pytest.TempPathFactory) -> Path:
    return onnx_models.save(NETWORK, tmp_path_factory.mktemp("model") / "net.onnx")


def emitted(model: Path, board: str, folder: Path, storage: Mapping[str, str]) -> Project:
    """Kernels as they are where everything is stored, so that sums have one order."""
    stored = decide(CompileOptions(model, board, storage={"*:output": "flyte16"})).choice
    algorithms = {
        layer.node.name: layer.algorithm for layer in stored.layers if layer.node.op == "Conv"
    }
    options = CompileOptions(model, board, storage=storage, algorithms=algorithms)
    return compile_model(options, folder)[0]


def outputs(
    project: Project, rounded: Mapping[str, str] | None = None, flags: Sequence[str] = ()
) -> bytes:
    """What the program writes; ``rounded``: formats of tensors that it rounds after their layer."""
    board, folder = project.board(), project.directory
    layers = project.report["layers"]
    kept = [
        formats()[(rounded or {}).get(original_name(layer), "float32")].bits for layer in layers
    ]
    driver = ROUNDING.replace("@KEPT@", ", ".join(map(str, kept)))
    (folder / "driver.c").write_text(driver)
    (folder / "image.bin").write_bytes(IMAGE.tobytes())
    trace = ["-DNET_TRACE"] if rounded else []
    sources = [name for name in project.sources if name != "main.c"]
    binary = compile_project(
        folder, board, sources=[*sources, "driver.c"], out=folder / "program",
        extra_flags=[*trace, *flags], warnings_as_errors=True,
    )  # fmt: skip
    paths = [str(folder / "image.bin"), str(folder / "out.bin")]
    done = run_binary(binary.path, board, paths, cwd=folder)
    assert done.status == 0, done.stderr
    return (folder / "out.bin").read_bytes()


def storages(project: Project) -> dict[str, str]:
    """Tensor -> format, of those that are not float32."""
    return {
        original_name(layer): layer["storage"]["output"]
        for layer in project.report["layers"]
        if layer["storage"]["output"] != "float32"
    }


def require_runs(board: str) -> None:
    run = boards.load(board).run
    if run.kind is not RunKind.NATIVE and not shutil.which(run.command[0]):
        pytest.skip(f"{run.command[0]} is not installed")


@pytest.mark.parametrize("board", BOARDS)
def test_equals_float32_with_rounded_tensors(board: str, model: Path, tmp_path: Path) -> None:
    require_runs(board)
    stored = emitted(model, board, tmp_path / "stored", MIXED)
    formats_of = storages(stored)
    assert {"flyte8", "flyte16", "flyte24"} <= set(formats_of.values())
    plain = emitted(model, board, tmp_path / "plain", {})
    assert not storages(plain)
    got = outputs(stored)
    assert got == outputs(plain, formats_of)
    if board == "host":  # and rounding changes something
        assert got != outputs(plain)


@pytest.mark.parametrize("name", ["flyte24", "flyte16", "flyte8"])
def test_every_format_alone(name: str, model: Path, tmp_path: Path) -> None:
    stored = emitted(model, "host", tmp_path / "stored", {"*:output": name})
    plain = emitted(model, "host", tmp_path / "plain", {})
    assert set(storages(stored).values()) == {name}
    assert outputs(stored) == outputs(plain, storages(stored))


def test_every_format_saves_its_share(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    row_streaming.one_by_one(monkeypatch)
    classifier = onnx_models.save(onnx_models.classifier(), tmp_path / "net.onnx")

    def arena(name: str) -> int:
        options = CompileOptions(classifier, "host", storage={"*:output": name})
        return decide(options).memory.arena_bytes

    arenas = [arena(name) for name in ("float32", "flyte24", "flyte16", "flyte8")]
    assert all(larger > smaller for larger, smaller in pairwise(arenas))


@pytest.mark.slow
def test_sanitizers_find_nothing(model: Path, tmp_path: Path) -> None:
    """The arena has its exact size; packed elements end where the next tensor begins."""
    stored = emitted(model, "generic-c", tmp_path / "stored", MIXED | {"*:output": "flyte24"})
    assert outputs(stored, flags=SANITIZERS) == outputs(stored)
