"""No predicted time lies below what a core needs for the instructions that QEMU counts."""

from __future__ import annotations

from collections.abc import Callable, Iterator
from dataclasses import dataclass
from pathlib import Path

import onnx
import pytest
from _pytest.mark.structures import ParameterSet
from counting.firmware import Counted, layers_counted

from edgeconv.app import pipeline
from edgeconv.app.pipeline import CompileOptions
from edgeconv.target import board as boards
from edgeconv.target.board import Board, RunKind
from edgeconv.target.price.duration import LAYER_CYCLES
from edgeconv.target.targets import DUAL_ISSUE, HELIUM, MAXIMA, RISCV, SOFT_FLOAT
from tests import onnx_models, quantised_models
from tests.models import test_int16_elementwise, test_integer_elementwise
from tests.tools import available, is_slow, representatives

BOOTING = [
    name
    for name in representatives(boards.names())
    if boards.load(name).run.kind is RunKind.QEMU_SYSTEM
]


@dataclass(frozen=True)
class Network:
    """``model``, results in a format, and the most that a prediction may be, in instructions."""

    model: Callable[[], onnx.ModelProto]
    stored: str
    most: float


# Measured over the boards, a call's cycles aside: 1.4 to 2.2, 1.9 to 2.7 and 1.3 to 1.7 times the
# instructions, of which a Cortex-M0 and M4 need 1.3 to 1.7 cycles each by their manuals.
NETWORKS = {
    "float32": Network(lambda: onnx_models.residual(4, 7), "float32", 2.2),
    "int8": Network(lambda: test_integer_elementwise.network(4), "int8", 2.8),
    "int16": Network(test_int16_elementwise.network, "int16", 1.8),
}


_OF_FLOAT32 = frozenset({MAXIMA, SOFT_FLOAT})
_SLOWEST_MULTIPLY = 32  # cycles of a core's multiplication, where its board states none


def cases() -> Iterator[ParameterSet]:
    """Boards and kinds: of cores with the same features, but for those of float32 where everything
    is whole, `make test` has that which is predicted to be the fastest, and so first lies below
    what is executed."""
    by_speed = sorted(
        map(boards.load, BOOTING), key=lambda b: b.multiply_cycles or _SLOWEST_MULTIPLY
    )
    for kind in NETWORKS:
        known: set[frozenset[str]] = set()
        for board in by_speed:
            features = board.target.features - (_OF_FLOAT32 if kind != "float32" else set())
            slow = is_slow(board.name) or features in known
            known.add(features)
            yield pytest.param(board.name, kind, marks=[pytest.mark.slow] if slow else [])


def least_cycles(board: Board, instructions: float) -> float:
    """A Cortex-M7 begins two instructions in a cycle at most.  The others of the catalogue begin
    one: so do the Cortex-M33 and M55, but for pairs of 16 bits, of which nothing is taken for
    granted here."""
    return instructions / 2 if DUAL_ISSUE in board.target.features else instructions


def counted(network: Network, name: str, folder: Path) -> tuple[Board, list[Counted]]:
    board = available(name)
    path = onnx_models.save(network.model(), folder / "net.onnx")
    stored = {} if network.stored == "float32" else {"*:output": network.stored}
    decided = pipeline.decide(CompileOptions(path, name, name="net", storage=stored))
    return board, layers_counted(decided.choice, decided.memory, board)


@pytest.mark.parametrize(("name", "kind"), [*cases()])
def test_no_prediction_lies_below_what_is_executed(name: str, kind: str, tmp_path: Path) -> None:
    network = NETWORKS[kind]
    board, layers = counted(network, name, tmp_path)
    executed = [layer for layer in layers if layer.predicted]
    assert len(executed) >= 8
    low = [
        f"{each.layer.algorithm} {each.layer.node.name}: {each.predicted:.0f} cycles predicted,"
        f" {each.instructions} instructions"
        for each in executed
        if each.predicted < least_cycles(board, each.instructions)
    ]
    assert not low
    predicted = sum(each.predicted for each in executed)
    total = sum(each.instructions for each in layers)  # those without code and the entry included
    assert least_cycles(board, total) <= predicted
    assert predicted < network.most * (total + LAYER_CYCLES * len(executed))
    if not board.target.features & {DUAL_ISSUE, HELIUM, RISCV}:  # of these no manual has timing
        in_integers = [each for each in executed if each.layer.algorithm == "integer"]
        assert all(0.9 < each.predicted / each.cycles < 1.7 for each in in_integers)


def test_residuals_of_depthwise_layers_are_predicted(tmp_path: Path) -> None:
    """They are added row by row behind a kernel that does not know their sizes when it is
    compiled."""
    board = available("mps2-an386")
    path = onnx_models.save(quantised_models.tiny()[0], tmp_path / "net.onnx")
    decided = pipeline.decide(CompileOptions(path, board.name, name="net"))
    layers = layers_counted(decided.choice, decided.memory, board)
    (found,) = [
        each for each in layers if each.layer.params.get("kernel_function") == "depthwise_add"
    ]
    assert 0.9 < found.predicted / found.cycles < 1.1
