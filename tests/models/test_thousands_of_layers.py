"""Networks of very many layers: C that compilers finish, and the same results as ever."""

from __future__ import annotations

import resource
import subprocess
from pathlib import Path

import numpy as np
import pytest
from long_chains import chain, functions_of

from edgeconv.app import pipeline
from edgeconv.app.pipeline import CompileOptions, compile_model
from edgeconv.codegen.functions import MANY
from edgeconv.run.build import run_binary
from edgeconv.run.build.project import Project
from edgeconv.run.build.toolchain import probe
from tests import onnx_models
from tests.quantised_models import tiny

pytestmark = pytest.mark.usefixtures("unoptimised")

LAYERS = 600
MOST_SECONDS = 10  # of the compiler's time; GCC 12 took 32 with a function per convolution


def seconds_of_children() -> float:
    return resource.getrusage(resource.RUSAGE_CHILDREN).ru_utime


def test_a_chain_of_many_layers_compiles(tmp_path: Path) -> None:
    """Layers that differ in numbers alone share a function."""
    compilers = [found for found in map(probe, ("gcc", "clang")) if found]
    assert compilers
    path = onnx_models.save(chain(LAYERS), tmp_path / "net.onnx")
    project, _ = compile_model(CompileOptions(path, "generic-c"), tmp_path / "net")
    assert len(functions_of(project.directory)) <= 2
    for compiler in compilers:
        before = seconds_of_children()
        command = [*compiler.command, "-std=c11", "-O3", "-ffp-contract=fast", "-Wall", "-Werror"]
        subprocess.run(
            [*command, "-c", "net.c", "-o", tmp_path / "net.o"],
            cwd=project.directory,
            check=True,
            preexec_fn=limit_time,
        )
        assert seconds_of_children() - before < MOST_SECONDS
    assert pipeline.verify_project(project.directory, model=path).passed


def limit_time() -> None:
    resource.setrlimit(resource.RLIMIT_CPU, (MOST_SECONDS, MOST_SECONDS))


def outputs_of(project: Project) -> np.ndarray:
    path = project.build_directory / "result.bin"
    binary = project.build()
    done = run_binary(
        binary.path, binary.board, ["--output", str(path.resolve())], cwd=project.directory
    )
    assert done.status == 0, done.stderr
    return np.fromfile(path, np.uint8)


@pytest.mark.parametrize(
    ("network", "board"),
    [
        ("residual", "host"),
        ("quantised", "generic-c"),
        ("chain", "host"),
        *(
            pytest.param(network, board, marks=pytest.mark.slow)
            for network, board in (
                ("residual", "generic-c"),
                ("quantised", "host"),
                ("chain", "generic-c"),
            )
        ),
    ],
)
def test_shared_functions_compute_the_same_bits(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, network: str, board: str
) -> None:
    source = {"residual": onnx_models.residual, "quantised": lambda: tiny()[0]}.get(
        network, lambda: chain(40)
    )()
    path = onnx_models.save(source, tmp_path / "net.onnx")
    results = []
    for most in (MANY, 0):
        for name in ("ALIKE", "MANY"):
            monkeypatch.setattr(f"edgeconv.codegen.emit.{name}", most)
        directory = tmp_path / f"most-{most}"
        project, _ = compile_model(CompileOptions(path, board), directory)
        assert pipeline.verify_project(directory, model=path).passed
        assert ("EC_SHARED void net_" in (directory / "net.c").read_text()) == (most == 0)
        results.append(outputs_of(project))
    np.testing.assert_array_equal(results[0], results[1])
