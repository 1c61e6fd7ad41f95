"""Whole networks: planned to the lower bound, and equal to the reference on every kind of board.

The networks beside this file and those that the onnx package brings (real topologies, constant
weights) are always there; the folder that EDGECONV_ZOO names is searched for more float32 models.
"""

from __future__ import annotations

import os
import shutil
import time
from collections.abc import Iterator
from pathlib import Path

import onnx
import pytest

from edgeconv import board as boards
from edgeconv import memory, pipeline
from edgeconv.board import RunKind
from edgeconv.frontend.cut import Cut
from edgeconv.pipeline import CompileOptions
from tests.models.seeded import seeded
from tests.tools import available

LIGHT = Path(onnx.__file__).parent / "backend" / "test" / "data" / "light"
OWN = Path(__file__).parent / "networks"
# Tensors before which a network has all that it repeats later.  On other boards than this machine
# it is planned as a whole, and compiled up to there; its end is like those of our own networks.
BEGINNINGS = {"light_shufflenet": "r28", "light_squeezenet": "r17"}
PLANNING_SECONDS = 5
QUICK_BYTES = 2_000_000  # of a model file of the zoo
QUICK_WEIGHTS = 2_000_000  # elements, of a model whose weights are made from their shapes
# Bytes of RAM on generic-c with inputs and outputs in the arena; TensorFlow Lite Micro's recorded
# arenas for the same networks are 6,224, 203,376 and 324,800.
RAM_LIMITS = {
    "mlperf-tiny-ad": 5_400,
    "mlperf-tiny-resnet8": 140_000,
    "mlperf-tiny-vww": 230_000,
}


def one_board_per_isa() -> list[str]:
    """The running machine and, of every other instruction set, the board with most memory that can
    run: microcontrollers have too little for most networks."""
    found = {boards.load("host").isa: "host"}
    every = [boards.load(name) for name in boards.names()]
    runs = [board for board in every if board.run.kind is not RunKind.NONE]
    for board in sorted(
        runs, key=lambda board: (board.ram_bytes is not None, -(board.ram_bytes or 0), board.name)
    ):
        found.setdefault(board.isa, board.name)
    return sorted(found.values())


def zoo() -> list[Path]:
    """Our own networks, then those of EDGECONV_ZOO that we have not."""
    own = {path.name: path for path in sorted(OWN.glob("*.onnx"))}
    folder = os.environ.get("EDGECONV_ZOO")
    more = {path.name: path for path in sorted(Path(folder).glob("*.onnx"))} if folder else {}
    return list({**more, **own}.values())


def is_quick(path: Path) -> bool:
    if path.parent != LIGHT:
        return path.stat().st_size <= QUICK_BYTES
    model = onnx.load(path)
    made = {node.input[0] for node in model.graph.node if node.op_type == "ConstantOfShape"}
    shapes = (onnx.numpy_helper.to_array(t) for t in model.graph.initializer if t.name in made)
    return sum(int(shape.prod()) for shape in shapes) <= QUICK_WEIGHTS


def is_quantised(path: Path) -> bool:
    """Whether it rounds activations; DequantizeLinear alone is a way to store constants."""
    graph = onnx.load(path, load_external_data=False).graph
    return any(node.op_type == "QuantizeLinear" for node in graph.node)


def parameters() -> list[object]:
    """Every model on every board; those that take long are marked.

    So are quantised ones on other boards than this machine: held to the model layer by layer they
    take several runs each.  And those that repeat themselves, of which the beginning is compiled.
    """
    found: list[object] = []
    for path in [*zoo(), *sorted(LIGHT.glob("*.onnx"))]:
        quick, quantised = is_quick(path), is_quantised(path)
        for name in one_board_per_isa():
            once = name == "host" or not (quantised or path.stem in BEGINNINGS)
            marks = [] if quick and once else [pytest.mark.slow]
            found.append(pytest.param(path, name, marks=marks, id=f"{path.stem}-{name}"))
    return found


@pytest.fixture
def directory(tmp_path: Path) -> Iterator[Path]:
    """Where a project may go; removed at once, since pytest keeps what tests leave."""
    yield tmp_path / "out"
    shutil.rmtree(tmp_path, ignore_errors=True)


@pytest.mark.parametrize(("path", "board"), parameters())
def test_network(path: Path, board: str, directory: Path) -> None:
    available(board)
    options = CompileOptions(path, board)
    assert_planned(options)
    pipeline.compile_model(options, directory)
    result = pipeline.verify_project(directory, model=path)
    assert result.passed, result.one_line()


def assert_planned(options: CompileOptions) -> None:
    """In no time, and to the lower bound.  That is of the tensors of one layer: where each of a
    chain of results lies shifted over the one before, it needs more, which is proven."""
    decided = pipeline.decide(options)
    start = time.monotonic()
    planned = memory.plan(decided.choice)
    assert time.monotonic() - start <= PLANNING_SECONDS
    assert planned.optimal
    aliases = [alias for layer in decided.choice.layers for alias in layer.aliases]
    shifted = any(alias.offset and not alias.exact for alias in aliases)
    assert planned.arena_bytes == planned.lower_bound or shifted


@pytest.mark.parametrize("board", [name for name in one_board_per_isa() if name != "host"])
@pytest.mark.parametrize("network", BEGINNINGS)
def test_beginning_of_network(network: str, board: str, tmp_path: Path, directory: Path) -> None:
    """With seeded weights."""
    available(board)
    assert_planned(CompileOptions(LIGHT / f"{network}.onnx", board))
    model = seeded(LIGHT / f"{network}.onnx", tmp_path)
    options = CompileOptions(model, board, cut=Cut(outputs=(BEGINNINGS[network],)))
    pipeline.compile_model(options, directory)
    result = pipeline.verify_project(directory, model=model)
    assert result.passed, result.one_line()


@pytest.mark.parametrize(
    ("path", "board"),
    [
        pytest.param(path, name, marks=[] if is_quick(path) else [pytest.mark.slow])
        for path in sorted(LIGHT.glob("*.onnx"))
        for name in ("host", "generic-c")
    ],
    ids=lambda value: value.stem if isinstance(value, Path) else value,
)
def test_light_network_with_seeded_weights(path: Path, board: str, tmp_path: Path) -> None:
    """The constant weights of the light models hide a kernel that mixes up channels."""
    model = seeded(path, tmp_path)
    pipeline.compile_model(CompileOptions(model, board), tmp_path / "out")
    result = pipeline.verify_project(tmp_path / "out", model=model)
    shutil.rmtree(tmp_path / "out")
    assert result.passed, result.one_line()


@pytest.mark.parametrize(("name", "limit"), RAM_LIMITS.items())
def test_ram_is_below_the_recorded_arenas_of_others(name: str, limit: int) -> None:
    """Given the budget, which leaves no room for packed panels, none are used."""
    options = CompileOptions(OWN / f"{name}.onnx", "generic-c", io="arena", ram=limit)
    report = pipeline.decide(options).report
    assert report["ram"]["total"] <= limit
