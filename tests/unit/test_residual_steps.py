"""Layers that stream rows past a residual, which waits in a ring for the other branch."""

from __future__ import annotations

from dataclasses import replace
from pathlib import Path
from typing import Any

import numpy as np
import onnx
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from edgeconv.app.deciding import Decider, decide
from edgeconv.app.pipeline import compile_model, verify_project
from edgeconv.ir.step import ROW_BY_ROW, Divides, calls, is_path, least_rings, reads
from edgeconv.run.build import compile_project
from edgeconv.run.build.project import Project
from edgeconv.run.verify.inputs import ensure
from edgeconv.run.verify.program import run_program
from edgeconv.search.options import CompileOptions
from tests import onnx_models
from tests.int8_chains import chain
from tests.row_streaming import convolutions, one_by_one, stream

pytestmark = pytest.mark.usefixtures("unoptimised")

SANITIZERS = ("-fsanitize=address,undefined", "-fno-sanitize-recover=all")
STEM = {"out": 8, "kernel": 3, "pad": 1, "stride": 2}
POINT, DEPTHWISE = {"out": 12, "kernel": 1}, {"kernel": 3, "pad": 1}
SAME = {"out": 8, "kernel": 3, "pad": 1}
INVERTED = ({**POINT, "reads": 0}, DEPTHWISE, {"out": 8, "kernel": 1, "added": 0})
PROJECTED = (
    {"out": 10, "kernel": 1, "stride": 2},
    {"out": 10, "kernel": 3, "pad": 1, "stride": 2, "reads": 0},
    {"out": 10, "kernel": 3, "pad": 1, "added": 1},
)
NETWORKS = {
    "inverted": (STEM, *INVERTED, POINT),
    "projected": (STEM, *PROJECTED, SAME),
    "twice": (
        STEM,
        SAME,
        {**SAME, "added": 0},
        SAME,
        {**SAME, "added": 2},
        {"out": 5, "kernel": 1},
    ),
    "depthwise": (STEM, POINT, {"out": 8, "kernel": 1}, {**DEPTHWISE, "added": 0}, POINT),
}


@st.composite
def residual_chains(draw: st.DrawFn, *, adds_apart: bool) -> list[Divides]:
    """Layers of a step: plain ones, and blocks that a residual goes past, as it is or by way of a
    layer of its own; the last one adds nothing."""
    found = [Divides(draw(st.integers(4, 14)))]

    def append(reach: int, stride: int, source: int = 1, **more: Any) -> None:
        rows = (found[len(found) - source].rows - 1) // stride + 1
        found.append(Divides(rows, reach, stride, reach // 2, source=source, **more))

    for _ in range(draw(st.integers(1, 3))):
        stride, inner = draw(st.integers(1, 2)), draw(st.integers(0, 2))
        projected = draw(st.booleans()) or stride > 1
        if projected:
            append(1, stride)
        append(draw(st.sampled_from([1, 3, 5])), stride, 1 + projected)
        for _ in range(inner):
            append(draw(st.sampled_from([1, 3, 5])), 1)
        append(draw(st.sampled_from([1, 3])), 1, adds_apart=adds_apart, added=inner + 2)
        if draw(st.booleans()):
            append(3, draw(st.integers(1, 3)))
    append(draw(st.sampled_from([1, 3])), 1)
    return found


def is_enough(layers: list[Divides], rings: tuple[int, ...], stream_rows: int) -> bool:
    """Whether every call finds the rows that it reads in rings of so many rows."""
    held: list[dict[int, int]] = [{} for _ in layers]
    for number, row0, row1 in calls(layers, rings, stream_rows):
        for maker, window in reads(layers, number):
            rows = range(window.first_read(row0), min(layers[maker].rows, window.end_read(row1)))
            if any(held[maker].get(row % rings[maker]) != row for row in rows):
                return False
        size = rings[number] if number < len(rings) else layers[number].rows
        held[number].update((row % size, row) for row in range(row0, row1))
    return len(held[-1]) == layers[-1].rows


@given(residual_chains(adds_apart=True))
def test_row_by_row_no_ring_can_be_smaller(layers: list[Divides]) -> None:
    rings = least_rings(layers, ROW_BY_ROW)
    assert not is_path(layers)
    assert is_enough(layers, rings, ROW_BY_ROW)
    for number, rows in enumerate(rings):
        if rows > 1:
            fewer = (*rings[:number], rows - 1, *rings[number + 1 :])
            assert not is_enough(layers, fewer, ROW_BY_ROW)


@given(residual_chains(adds_apart=False), st.integers(1, 4))
def test_rings_of_what_is_added_are_equal(layers: list[Divides], stream_rows: int) -> None:
    """Where a kernel reads a residual as it writes: both have the rows that the larger needs."""
    stream_rows = min(stream_rows, layers[-1].rows)
    rings = least_rings(layers, stream_rows)
    assert is_enough(layers, rings, stream_rows)
    adding = [number for number, own in enumerate(layers) if own.added]
    assert all(rings[number] == rings[number - layers[number].added] for number in adding)
    apart = [replace(own, adds_apart=True) for own in layers]
    assert max(rings) == max(least_rings(apart, stream_rows))


def results(folder: Path, flags: tuple[str, ...] = ()) -> bytes:
    """What the program in ``folder`` computes, compiled with ``flags`` besides."""
    project = Project.open(folder)
    ensure(project)
    project.build_directory.mkdir(exist_ok=True)
    binary = compile_project(
        project.directory,
        project.board(),
        sources=project.sources,
        out=folder / "program",
        extra_flags=flags,
    )
    (found,) = run_program(project, binary)[0].values()
    return np.ascontiguousarray(found).tobytes()


def both(
    model: onnx.ModelProto,
    count: int,
    tmp_path: Path,
    stream_rows: int,
    patches: int = 1,
    **own: Any,
) -> None:
    """Layer by layer and streaming rows, ``count`` layers from ``l0`` on compute the same bytes."""
    path = onnx_models.save(model, tmp_path / "net.onnx")
    options = CompileOptions(path, "generic-c", name="net", **own)
    with pytest.MonkeyPatch.context() as patch:
        one_by_one(patch)
        patch.setattr("edgeconv.app.deciding.formats.with_faster", lambda _, __, decided: decided)
        compile_model(options, tmp_path / "whole")
        stream(patch, {first_of(model): count}, stream_rows, patches=patches)
        compile_model(options, tmp_path / "rows")
    (step,) = Project.open(tmp_path / "rows").report["steps"]
    assert any(layer.get("added") for layer in step["layers"])
    assert results(tmp_path / "rows", SANITIZERS) == results(tmp_path / "whole")


def first_of(model: onnx.ModelProto) -> str:
    names = [node.name for node in model.graph.node]
    return "l0" if "l0" in names else "l0_node"


@pytest.mark.parametrize(
    ("name", "stream_rows", "patches"),
    [("twice", 1, 1), ("depthwise", 1, 2), ("projected", 3, 1), ("projected", 1, 3)],
)
def test_the_same_bytes_of_int8(name: str, stream_rows: int, patches: int, tmp_path: Path) -> None:
    kinds = NETWORKS[name]
    integer = {"*": "integer"}
    model = chain(kinds, (17, 13))
    both(model, len(kinds), tmp_path, stream_rows, patches, algorithms=integer)


@pytest.mark.parametrize("stream_rows", [1, 3])
def test_the_same_bytes_of_float32(stream_rows: int, tmp_path: Path) -> None:
    """Rings of residual and result have as many rows."""
    kinds = (SAME, {**SAME, "out": 12, "relu": True}, {**SAME, "added": 0}, POINT)
    direct = {f"l{i}": "direct" for i in range(len(kinds))}
    model = convolutions(kinds, 3, (17, 13))
    both(model, len(kinds), tmp_path, stream_rows, algorithms=direct)


@pytest.mark.parametrize(("board", "patches"), [("mps2-an386", 1), ("mps3-an547", 2)])
def test_layers_are_those_of_exact_arithmetic(board: str, patches: int, tmp_path: Path) -> None:
    """In an emulator, where DSP and vector instructions add what lies in rings of other rows; what
    `verify --layers` sees of each is put together from its rows."""
    kinds = NETWORKS["inverted"]
    path = onnx_models.save(chain(kinds, (17, 13)), tmp_path / "net.onnx")
    with pytest.MonkeyPatch.context() as patch:
        one_by_one(patch)
        stream(patch, {"l0_node": len(kinds)}, 1, patches=patches)
        options = CompileOptions(path, board, name="net", algorithms={"*": "integer"})
        compile_model(options, tmp_path / "rows")
    verified = verify_project(tmp_path / "rows", layers=True)
    assert verified.passed
    assert len(verified.layers) >= len(kinds)


def test_the_least_ram_is_a_budget_that_fits(tmp_path: Path) -> None:
    """Nothing is refused for a bound that takes a residual for a tensor in memory as a whole; the
    network is one step, in less than half of the RAM that its layers take one after the other."""
    path = onnx_models.save(chain(NETWORKS["twice"], (64, 64)), tmp_path / "net.onnx")
    options = CompileOptions(path, "mps2-an386", io="caller", objective="memory")
    least = decide(options)
    (step,) = (step for step in least.choice.steps if step.stream_rows)
    assert len(step.layers) >= len(NETWORKS["twice"])
    with Decider(options) as decider:
        one_after_the_other = decider.decide(streaming=False)
    assert 2 * least.memory.arena_bytes < one_after_the_other.memory.arena_bytes
    fitting = decide(replace(options, objective="latency", ram=least.sizes.ram.total))
    assert fitting.memory.arena_bytes <= least.memory.arena_bytes


def blocks() -> st.SearchStrategy[list[dict[str, Any]]]:
    """Blocks with a residual, then a layer that adds nothing."""

    @st.composite
    def drawn(draw: st.DrawFn) -> list[dict[str, Any]]:
        found: list[dict[str, Any]] = [{**STEM, "stride": draw(st.integers(1, 2))}]
        for _ in range(draw(st.integers(1, 2))):
            start, stride = len(found) - 1, draw(st.integers(1, 2))
            added = start
            if stride > 1 or draw(st.booleans()):
                added = len(found)
                found.append({"out": 8, "kernel": 1, "stride": stride, "reads": start})
            kernel = draw(st.sampled_from([1, 3, 5]))
            wide = {"out": 9, "kernel": kernel, "pad": kernel // 2, "stride": stride}
            found.append({**wide, "reads": start})
            found += [DEPTHWISE] * draw(st.integers(0, 1))
            found.append({**SAME, "added": added})
        return [*found, {"out": 4, "kernel": 3, "stride": draw(st.integers(1, 2))}]

    return drawn()


@settings(max_examples=2, deadline=None)
@given(
    kinds=blocks(),
    size=st.tuples(st.integers(13, 24), st.integers(16, 30)),
    patches=st.integers(1, 2),
)
def test_random_residual_chains(
    kinds: list[dict[str, Any]],
    size: tuple[int, int],
    patches: int,
    tmp_path_factory: pytest.TempPathFactory,
) -> None:
    folder = tmp_path_factory.mktemp("random")
    both(chain(kinds, size), len(kinds), folder, 1, patches, algorithms={"*": "integer"})
