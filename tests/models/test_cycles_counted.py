"""No predicted time lies below what a core needs for the instructions that QEMU counts."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass
from pathlib import Path

import onnx
import pytest
from counting.firmware import Counted, layers_counted

from edgeconv.app import pipeline
from edgeconv.app.pipeline import CompileOptions
from edgeconv.target import board as boards
from edgeconv.target.board import Board, RunKind
from edgeconv.target.price.duration import LAYER_CYCLES
from edgeconv.target.targets import DUAL_ISSUE, HELIUM, RISCV
from tests import onnx_models
from tests.models import test_int16_elementwise, test_integer_elementwise
from tests.tools import available, booting, representatives

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


@pytest.mark.parametrize("kind", NETWORKS)
@pytest.mark.parametrize("name", booting(BOOTING))
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
