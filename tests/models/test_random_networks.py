"""Random networks: rewritten and compiled they compute what ONNX Runtime computes."""

from __future__ import annotations

import shutil
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path

import numpy as np
import onnx
import pytest

from edgeconv.app import pipeline
from edgeconv.app.pipeline import CompileOptions
from edgeconv.model import frontend, passes
from edgeconv.run.build.project import Port
from edgeconv.run.verify.compare import compare
from edgeconv.run.verify.inputs import seeded
from edgeconv.search import choose, memory
from edgeconv.target.backends import TARGETS
from tests.ir_interpreter import evaluate
from tests.tools import available

pytest.importorskip("onnxruntime", reason="random networks are made with it")
from tests.models.random_blocks import random_network

pytestmark = pytest.mark.usefixtures("unoptimised")

TOLERANCE = 1e-4
SEEDS = range(30)
MORE_SEEDS = range(30, 1000)
NODES = 30  # of networks that are compiled: a large one takes hardly longer to build than a small
COMPILED = range(5)
MORE_COMPILED = range(5, 60)
QUICK_BOARDS = ("host", "generic-c")
MORE_BOARDS = (*QUICK_BOARDS, "x86-64-v3", "jetson-tx1", "power10-s1024")


@contextmanager
def random_model(folder: Path, seed: int, nodes: int = 0) -> Iterator[Path]:
    """The network as a file; what fails inside is told how to get it again."""
    path = folder / f"random{seed}.onnx"
    try:
        onnx.save(random_network(seed, nodes), path)
        yield path
    except Exception as error:  # of whatever kind
        command = f"python -m tests.models.random_blocks {seed} {nodes} {path.name}"
        error.add_note(f"the network again, from the project's root: {command}")
        raise
    finally:
        shutil.rmtree(folder)  # since pytest keeps what tests leave


@pytest.mark.parametrize(
    "seed", [*SEEDS, *(pytest.param(seed, marks=pytest.mark.slow) for seed in MORE_SEEDS)]
)
def test_rewritten(seed: int, tmp_path: Path) -> None:
    """Imported and optimised, in float64; every target then has kernels and a plan."""
    with random_model(tmp_path, seed) as path:
        imported = frontend.load(path)
        optimised = passes.optimise(imported)
        inputs = seeded([Port(name, imported[name].shape) for name in imported.inputs])
        names = [output.name for output in onnx.load(path).graph.output]
        reference = frontend.reference_outputs(path, inputs, names).values
        for graph in (imported, optimised):
            values = evaluate(graph, inputs)
            for name, output in zip(names, graph.outputs, strict=True):
                difference = compare(name, np.asarray(values[output], np.float32), reference[name])
                assert difference.within(TOLERANCE), difference
        for target in TARGETS.values():
            memory.plan(choose.select(optimised, target))  # which checks its own map


def compilations() -> list[object]:
    """Seeds on boards; all but a few of them are marked.  Those take turns: inputs and weights lie
    in each of their places on one board."""
    found: list[object] = []
    for board in MORE_BOARDS:
        for seed in (*COMPILED, *MORE_COMPILED):
            quick = seed in COMPILED and board == QUICK_BOARDS[seed // 2 % 2]
            found.append(pytest.param(seed, board, marks=[] if quick else [pytest.mark.slow]))
    return found


@pytest.mark.parametrize(("seed", "board"), compilations())
def test_compiled(seed: int, board: str, tmp_path: Path) -> None:
    """Built and run, with inputs and weights in all of their places."""
    available(board)
    io, as_c = ("caller", "arena")[seed % 2], seed % 4 > 1
    with random_model(tmp_path, seed, NODES) as path:
        options = CompileOptions(path, board, io=io, weights_as_c=as_c)
        pipeline.compile_model(options, tmp_path / "out")
        result = pipeline.verify_project(tmp_path / "out", model=path, tolerance=TOLERANCE)
        assert result.passed, result.one_line()


def test_data_that_turns_out_to_be_constant(tmp_path: Path) -> None:
    """A convolution of nothing but another's padding, which passes find out."""
    available("generic-c")
    with random_model(tmp_path, 30) as path:
        graph = passes.optimise(frontend.load(path))
        assert any(node.op == "Conv" and graph[node.inputs[0]].is_constant for node in graph.nodes)
        pipeline.compile_model(CompileOptions(path, "generic-c"), tmp_path / "out")
        result = pipeline.verify_project(tmp_path / "out", model=path, tolerance=TOLERANCE)
        assert result.passed, result.one_line()
