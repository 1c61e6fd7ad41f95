"""Random graphs of which dimensions are data-dependent compute what ONNX Runtime computes."""

from __future__ import annotations

from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path

import onnx
import pytest

from edgeconv.base.errors import EdgeconvError

pytest.importorskip("onnxruntime", reason="random graphs are made with it")
from tests.models.data_dependent_graph import SEEDS_OF_AN_OPSET, SHARES, Feeds, expected
from tests.models.data_dependent_programs import check_in_c, check_rewritten, merged, rewritten
from tests.models.random_data_dependent import random_data_dependent

pytestmark = pytest.mark.usefixtures("unoptimised")

SEEDS = range(20)
MORE_SEEDS = range(20, 4020)
BLOCK = 40  # seeds of one test
REFUSED = 0.25  # of a block, at most: what is refused, not equal
SAMPLE = range(75, 79)  # in one program
MORE_SAMPLES = [
    range(first, first + SEEDS_OF_AN_OPSET)
    for first in range(SEEDS_OF_AN_OPSET, 41 * SEEDS_OF_AN_OPSET, SEEDS_OF_AN_OPSET)
]


@contextmanager
def told(seed: int) -> Iterator[None]:
    """How to get a graph that fails again."""
    try:
        yield
    except Exception as error:
        command = f"python -m tests.models.random_data_dependent {seed} graph.onnx"
        error.add_note(f"the graph again, from the project's root: {command}")
        raise


def blocks() -> list[object]:
    """The first of them is quick."""
    more = range(MORE_SEEDS.start, MORE_SEEDS.stop, BLOCK)
    slow = [pytest.param(range(i, i + BLOCK), marks=pytest.mark.slow) for i in more]
    return [pytest.param(SEEDS), *slow]


@pytest.mark.parametrize("seeds", blocks(), ids=lambda seeds: str(seeds.start))
def test_rewritten(seeds: range, tmp_path: Path) -> None:
    """Before code is generated; what is refused is refused with a reason."""
    path, refused, inputs, reasons = tmp_path / "net.onnx", 0, 0, list[str]()
    for seed in seeds:
        with told(seed):
            model, feeds = random_data_dependent(seed)
            onnx.save(model, path)
            try:
                graph = rewritten(path)
            except EdgeconvError as error:
                refused += 1
                reasons += error.details
                continue
            inputs += check_rewritten(graph, feeds, [expected(model, given) for given in feeds])
    assert len(reasons) >= refused
    assert refused <= REFUSED * len(seeds)
    assert inputs <= REFUSED * len(seeds) * len(SHARES)


def samples() -> list[object]:
    """Of seeds and boards: two quick ones."""
    found: list[object] = []
    for board in ("host", "generic-c"):
        found += [pytest.param(SAMPLE, board)]
        found += [pytest.param(s, board, marks=pytest.mark.slow) for s in MORE_SAMPLES]
    return found


@pytest.mark.parametrize(
    ("seeds", "board"), samples(), ids=lambda value: str(getattr(value, "start", value))
)
def test_in_c(seeds: range, board: str, tmp_path: Path) -> None:
    """Many graphs in one program, with address and undefined-behaviour sanitizers."""
    models: list[onnx.ModelProto] = []
    every: list[list[Feeds]] = []
    path = tmp_path / "net.onnx"
    for seed in seeds:
        model, feeds = random_data_dependent(seed)
        onnx.save(model, path)
        try:
            rewritten(path)
        except EdgeconvError:
            continue
        models.append(model)
        every.append(feeds)
    assert models
    onnx.save(merged(models), path)
    rounds = range(len(SHARES))
    both = [
        {name: array for each in every for name, array in each[i % len(each)].items()}
        for i in rounds
    ]
    wanted = [
        {
            name: array
            for model, each in zip(models, every, strict=True)
            for name, array in expected(model, each[i % len(each)]).items()
        }
        for i in rounds
    ]
    check_in_c(path, board, both, wanted)
