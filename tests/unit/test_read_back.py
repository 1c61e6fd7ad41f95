"""What a weight image holds, read back from it."""

from __future__ import annotations

import io
from pathlib import Path

import numpy as np
import numpy.typing as npt
import pytest

from edgeconv.app.pipeline import CompileOptions, Decision, decide
from edgeconv.codegen.emit import weight_image
from edgeconv.codegen.read_back import ForeignImageError, read_back
from edgeconv.codegen.weights import write
from edgeconv.kernels.algorithms.packing import rounded
from edgeconv.kernels.storage import formats
from edgeconv.search.choose.storage import stored_formats

DIGITS = Path(__file__).resolve().parents[2] / "examples" / "digits" / "digits-cnn.onnx"
BOARDS = ("generic-c", "jetson-tx1", "microbit", "power10-s1024")


def image_of(decided: Decision) -> npt.NDArray[np.uint8]:
    stream = io.BytesIO()
    write(weight_image(decided.choice, decided.memory), stream)
    return np.frombuffer(stream.getvalue(), np.uint8)


def digits(board: str, form: str) -> Decision:
    no_limit = 1 << 40
    return decide(CompileOptions(DIGITS, board, storage={"*": form}, ram=no_limit, flash=no_limit))


@pytest.mark.parametrize("form", sorted(stored_formats()))
@pytest.mark.parametrize("board", BOARDS)
def test_filters_come_back_as_they_were_rounded(board: str, form: str) -> None:
    decided = digits(board, form)
    found = read_back(decided.choice, decided.memory.order, image_of(decided))
    graph = decided.choice.graph
    weighted = [node for node in graph.nodes if node.op in ("Conv", "Dense")]
    assert found.keys() == {node.name for node in weighted}
    for node in weighted:
        weights = graph[node.inputs[1]].constant().astype(np.float32)
        np.testing.assert_array_equal(found[node.name].weights, rounded(weights, formats()[form]))
        np.testing.assert_array_equal(found[node.name].bias, graph[node.inputs[2]].constant())


def test_nothing_is_read_of_float32() -> None:
    decided = digits("generic-c", "float32")
    assert read_back(decided.choice, decided.memory.order, image_of(decided)) == {}


def test_an_image_of_other_kernels() -> None:
    eight, four = digits("generic-c", "int8"), digits("generic-c", "int4")
    with pytest.raises(ForeignImageError):
        read_back(four.choice, four.memory.order, image_of(eight))
