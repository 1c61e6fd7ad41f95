"""Whole networks: planned to the lower bound, and equal to the reference on every kind of board.

The networks beside this file and those that the onnx package brings (real topologies, constant
weights) are always there; the folder that EDGECONV_ZOO names is searched for more float32 models.
Small ones are compiled with -O1, for what they compute, our own on every board by turns;
`make test-all` compiles all of them as they are emitted.
"""

from __future__ import annotations

import functools
import os
import shutil
import time
from collections.abc import Iterator
from pathlib import Path

import onnx
import pytest

from edgeconv.app import pipeline
from edgeconv.app.deciding import Decider, Decision
from edgeconv.app.pipeline import CompileOptions
from edgeconv.model.frontend.cut import Cut
from edgeconv.search import memory
from edgeconv.target import board as boards
from edgeconv.target.board import RunKind
from tests.compilers import lightly
from tests.kernels import builds, emulated
from tests.models.seeded import seeded
from tests.models.test_firmware import MACHINES
from tests.tools import available

LIGHT = Path(onnx.__file__).parent / "backend" / "test" / "data" / "light"
OWN = Path(__file__).parent / "networks"
SEEDED_BOARDS = ("host", "generic-c")  # that run the networks of the onnx package whole
# Tensors before which a network has all that it repeats later.  On boards that do not run it whole
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


@functools.cache
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


def is_its_turn(path: Path, board: str) -> bool:
    """Every board runs half of the networks, every network on half of the boards; on this machine
    all do."""
    if board == "host":
        return True
    among = sorted(path.parent.glob("*.onnx")).index(path)
    others = [name for name in one_board_per_isa() if name not in ("host", *MACHINES)]
    return (among + others.index(board)) % 2 == 0


def parameters(*, quick: bool) -> list[object]:
    """Every model on every board, or those that take little time.

    Not among those are quantised ones on other boards than this machine: held to the model layer by
    layer they take several runs each.  Nor those of the onnx package, which have seeded weights in
    other tests, and our own on machines that `test_firmware` boots with them, or out of turn.
    """
    found: list[object] = []
    for path in [*zoo(), *([] if quick else sorted(LIGHT.glob("*.onnx")))]:
        small = is_quick(path)
        for name in one_board_per_isa():
            elsewhere = path.parent == OWN and (name in MACHINES or not is_its_turn(path, name))
            scalable = boards.load(name).target.scalable  # a sample of those is in test_scalable.py
            able = small and not elsewhere and (name == "host" or not is_quantised(path))
            able = able and not scalable
            if able or not quick:
                found.append(pytest.param(path, name, id=f"{path.stem}-{name}"))
    return found


@pytest.fixture
def directory(tmp_path: Path) -> Iterator[Path]:
    """Where a project may go; removed at once, since pytest keeps what tests leave."""
    yield tmp_path / "out"
    shutil.rmtree(tmp_path, ignore_errors=True)


def verify(options: CompileOptions, directory: Path) -> None:
    """Planned well, compiled, and the program equal to the reference."""
    target = available(options.board).target
    if builds.unit_of(target) and is_quantised(options.model):
        emulated.must_multiply_int8(builds.find(target, "gcc"))
    with pytest.MonkeyPatch.context() as patch:
        found: list[Decision] = []
        decide = Decider.decide

        def noted(decider: Decider, streaming: bool = True) -> Decision:
            found.append(decide(decider, streaming))
            return found[-1]

        patch.setattr(Decider, "decide", noted)
        pipeline.compile_model(options, directory)
    assert_planned(found[-1])
    result = pipeline.verify_project(directory, model=options.model)
    assert result.passed, result.one_line()


def assert_planned(decided: Decision) -> None:
    """In no time, and to the lower bound.  That is of the tensors of one layer: where each of a
    chain of results lies shifted over the one before, it needs more, which is proven."""
    start = time.process_time()
    planned = memory.plan(decided.choice)
    assert time.process_time() - start <= PLANNING_SECONDS
    assert planned.optimal
    aliases = [alias for layer in decided.choice.layers for alias in layer.aliases]
    shifted = any(alias.offset and not alias.exact for alias in aliases)
    assert planned.arena_bytes == planned.lower_bound or shifted


@pytest.mark.parametrize(("path", "board"), parameters(quick=True))
def test_network(path: Path, board: str, directory: Path) -> None:
    with lightly():
        verify(CompileOptions(path, board), directory)


@pytest.mark.parametrize("board", [name for name in one_board_per_isa() if name in MACHINES])
@pytest.mark.parametrize("path", sorted(OWN.glob("*.onnx")), ids=lambda path: path.stem)
def test_plan_of_a_machine(path: Path, board: str) -> None:
    assert_planned(pipeline.decide(CompileOptions(path, board)))


@pytest.mark.slow
@pytest.mark.parametrize(("path", "board"), parameters(quick=False))
def test_network_as_it_is_emitted(path: Path, board: str, directory: Path) -> None:
    verify(CompileOptions(path, board), directory)


def beginnings() -> list[object]:
    """On each board one of them in every run."""
    others = [name for name in one_board_per_isa() if name not in SEEDED_BOARDS]
    return [
        pytest.param(network, board, marks=[] if (i + j) % 2 == 0 else [pytest.mark.slow])
        for i, network in enumerate(BEGINNINGS)
        for j, board in enumerate(others)
    ]


@pytest.mark.parametrize(("network", "board"), beginnings())
def test_beginning_of_network(network: str, board: str, tmp_path: Path, directory: Path) -> None:
    """With seeded weights."""
    assert_planned(pipeline.decide(CompileOptions(LIGHT / f"{network}.onnx", board)))
    model = seeded(LIGHT / f"{network}.onnx", tmp_path)
    with lightly():
        verify(CompileOptions(model, board, cut=Cut(outputs=(BEGINNINGS[network],))), directory)


@pytest.mark.parametrize(
    ("path", "board"),
    [
        pytest.param(path, name, marks=[] if i == 0 and is_quick(path) else [pytest.mark.slow])
        for path in sorted(LIGHT.glob("*.onnx"))
        for i, name in enumerate(SEEDED_BOARDS)
    ],
    ids=lambda value: value.stem if isinstance(value, Path) else value,
)
def test_light_network_with_seeded_weights(path: Path, board: str, tmp_path: Path) -> None:
    """The constant weights of the light models hide a kernel that mixes up channels."""
    with lightly():
        verify(CompileOptions(seeded(path, tmp_path), board), tmp_path / "out")
    shutil.rmtree(tmp_path / "out")


@pytest.mark.parametrize(("name", "limit"), RAM_LIMITS.items())
def test_ram_is_below_the_recorded_arenas_of_others(name: str, limit: int) -> None:
    """Given the budget, which leaves no room for packed panels, none are used."""
    options = CompileOptions(OWN / f"{name}.onnx", "generic-c", io="arena", ram=limit)
    report = pipeline.decide(options).report
    assert report["ram"]["total"] <= limit
