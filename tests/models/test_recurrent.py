"""RNN, GRU and LSTM: the program against ONNX Runtime, every option of theirs."""

from __future__ import annotations

import json
from collections.abc import Sequence
from dataclasses import dataclass, replace
from pathlib import Path

import numpy as np
import onnx
import pytest

from edgeconv.base.errors import EdgeconvError
from edgeconv.ir.filters import RECURRENT
from edgeconv.kernels.lowering.cells import CELL_FUNCTIONS
from edgeconv.model.frontend import load
from edgeconv.model.frontend.saving import model_of
from edgeconv.model.passes import optimise
from tests.command import Command
from tests.onnx_suite.cases import Case
from tests.onnx_suite.outcomes import PASS
from tests.onnx_suite.programs import outcomes
from tests.recurrent_models import (
    GATES,
    Array,
    Recurrent,
    expected,
    keyword_spotter,
    side_by_side,
)
from tests.tools import available

pytestmark = pytest.mark.usefixtures("unoptimised")

BOTH = {"direction": "bidirectional"}
BACK = {"direction": "reverse"}
_EVERY = ("Y", "Y_h", "Y_c")
_BEGUN = ("B", "states", "lengths")
LAYERS = (
    Recurrent("RNN", (5, 2, 3, 20)),
    Recurrent("RNN", (4, 1, 3, 5), {**BOTH, "clip": 0.4}, ("B", "states")),
    Recurrent("RNN", (4, 3, 3, 16), BACK, ("lengths",), run_time=True),
    Recurrent("GRU", (6, 1, 8, 33), {"linear_before_reset": 1}, ("B", "states")),
    Recurrent("GRU", (6, 1, 8, 24), {}, results=("Y_h",)),
    Recurrent("GRU", (3, 7, 4, 20), BOTH, ("B", "states", "lengths")),
    Recurrent("GRU", (3, 2, 4, 6), {**BOTH, "linear_before_reset": 1}, ("B",), run_time=True),
    Recurrent("GRU", (3, 2, 4, 6), BACK, ("B",), run_time=True),
    Recurrent("GRU", (1, 1, 4, 64), {"linear_before_reset": 1}, ("B", "states")),
    Recurrent("GRU", (1, 2, 4, 6), {"clip": 0.3}, ("B", "lengths")),
    Recurrent("LSTM", (5, 1, 6, 32), BOTH, ("B", "states"), results=("Y",)),
    Recurrent("LSTM", (5, 9, 6, 17), {}, ("B", "states", "P"), results=_EVERY),
    Recurrent("LSTM", (5, 2, 6, 8), {**BOTH, "input_forget": 1}, ("P",), results=_EVERY),
    Recurrent("LSTM", (5, 3, 6, 8), {**BACK, "clip": 0.3}, _BEGUN, results=_EVERY),
    Recurrent("LSTM", (4, 2, 3, 5), {}, ("B", "states", "P"), True, ("Y_c",)),
)
STORED = (  # R is integers
    Recurrent("RNN", (4, 1, 3, 5), bits=8),
    Recurrent("GRU", (3, 1, 4, 33), {"linear_before_reset": 1}, bits=8),
    Recurrent("GRU", (3, 7, 4, 21), BOTH, bits=4),
    Recurrent("LSTM", (3, 9, 4, 17), BOTH, ("B", "P"), results=_EVERY, bits=8),
)


def _of_functions() -> list[Recurrent]:
    """Layers that together have every function, of every place."""
    names, found = list(CELL_FUNCTIONS), []
    for first in range(0, len(names), 3):
        used = [names[(first + i) % len(names)] for i in range(3)]
        rows = [CELL_FUNCTIONS[name] for name in used]
        attrs = {
            "activations": [name.upper() for name in used],
            "activation_alpha": [0.6 for row in rows if row.alpha is not None],
            "activation_beta": [0.7 for row in rows if row.beta is not None],
        }
        attrs = {name: value for name, value in attrs.items() if value}
        found.append(Recurrent("LSTM", (2, 1, 3, 6), attrs, ("B",), results=_EVERY))
    return found


@dataclass(frozen=True)
class _Answered:
    model: onnx.ModelProto
    inputs: Sequence[Array]
    outputs: Sequence[Array]


def _answered(layer: Recurrent) -> _Answered:
    model, feeds = layer.built()
    return _Answered(model, list(feeds.values()), expected(model, feeds))


def _batch_first(layer: Recurrent) -> _Answered:
    """With layout 1, which ONNX Runtime does not have: the same numbers in its order."""
    _, feeds = layer.built()
    inputs = [
        np.ascontiguousarray(value.swapaxes(0, 1)) if name in ("X", "h", "c") else value
        for name, value in feeds.items()
    ]
    outputs = [
        value.transpose(2, 0, 1, 3) if name == "Y" else value.swapaxes(0, 1)
        for name, value in zip(layer.results, expected(*layer.built()), strict=True)
    ]
    model, _ = replace(layer, attrs={**layer.attrs, "layout": 1}).built()
    return _Answered(model, inputs, outputs)


@pytest.mark.parametrize("board", ["host", "generic-c"])
def test_results_are_those_of_onnx_runtime(board: str, tmp_path: Path) -> None:
    answered = [_answered(layer) for layer in (*LAYERS, *STORED, *_of_functions())]
    answered += [_batch_first(layer) for layer in (LAYERS[5], LAYERS[11])]
    model = side_by_side([each.model for each in answered])
    inputs = [value for each in answered for value in each.inputs]
    outputs = [value for each in answered for value in each.outputs]
    case = Case("layers", model, [(inputs, outputs)], rtol=1e-5, atol=1e-6)
    (outcome,) = outcomes([case], tmp_path, board)
    assert outcome.kind == PASS, outcome.reasons


@pytest.mark.parametrize("layer", [LAYERS[i] for i in (2, 3, 5, 8, 11, 13)], ids=str)
def test_a_layer_is_written_as_onnx(layer: Recurrent, tmp_path: Path) -> None:
    model, feeds = layer.built()
    onnx.save(model, tmp_path / "net.onnx")
    written = model_of(optimise(load(tmp_path / "net.onnx")))
    onnx.checker.check_model(written, full_check=True)
    for got, want in zip(expected(written, feeds), expected(model, feeds), strict=True):
        np.testing.assert_allclose(got, want, rtol=1e-5, atol=1e-6)


@pytest.mark.parametrize("layer", STORED, ids=str)
def test_weights_in_integers_stay_so_and_are_written_so(layer: Recurrent, tmp_path: Path) -> None:
    model, feeds = layer.built()
    onnx.save(model, tmp_path / "net.onnx")
    graph = optimise(load(tmp_path / "net.onnx"))
    (node,) = (node for node in graph.nodes if node.op == RECURRENT)
    units = layer.sizes[-1] * GATES[layer.op] * len(node.attrs["directions"])
    assert (node.storage.bits, len(node.storage.scale), node.exact) == (layer.bits, units, True)
    onnx.save(model_of(graph), tmp_path / "written.onnx")
    again = optimise(load(tmp_path / "written.onnx"))
    (found,) = (node for node in again.nodes if node.op == RECURRENT)
    assert (found.storage, found.exact) == (replace(node.storage, bits=8), True)
    written = onnx.load(tmp_path / "written.onnx")
    for got, want in zip(expected(written, feeds), expected(model, feeds), strict=True):
        np.testing.assert_allclose(got, want, rtol=1e-5, atol=1e-6)


@pytest.mark.parametrize(
    ("attrs", "said"),
    [
        ({"activations": ["Sine", "Tanh"]}, "got activation 'Sine'; activations are Affine, Elu"),
        ({"activations": ["Tanh"]}, "got 1 activations; GRU has 2 of each direction"),
        ({"activations": ["Affine", "Tanh"]}, "got activation Affine without them"),
        ({"direction": "up"}, "got direction 'up'; direction is forward, reverse, bidirectional"),
        ({"clip": -1.0}, "got clip -1; clip is positive"),
        ({"hidden_size": 7}, "got hidden_size 7, R for 6"),
        ({"layout": 2}, "got layout 2, which is neither 0 nor 1"),
    ],
)
def test_refusals_say_why(attrs: dict[str, object], said: str, tmp_path: Path) -> None:
    model, _ = Recurrent("GRU", (2, 1, 3, 6), attrs).built()
    onnx.save(model, tmp_path / "net.onnx")
    with pytest.raises(EdgeconvError) as error:
        load(tmp_path / "net.onnx")
    assert said in str((error.value, error.value.details))


def test_a_keyword_spotter_carries_its_state_on_a_microcontroller(
    tmp_path: Path, edgeconv: Command
) -> None:
    available("mps2-an386")
    path, directory = tmp_path / "spotter.onnx", tmp_path / "out"
    onnx.save(keyword_spotter(), path)
    edgeconv.ok("compile", path, "--board", "mps2-an386", "-o", directory, "--build", "--verify")
    report = json.loads((directory / "report.json").read_text())
    assert report["accuracy"]["sqnr_db"] > 100
    assert [each["name"] for each in report["outputs"]] == ["Y_h", "probabilities"]
    assert report["ram"]["arena"] < 4 * (3 * 24 * 2 + 20 * 24)  # no copy of the weights
