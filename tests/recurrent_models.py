"""Models of one recurrent layer, and what ONNX Runtime makes of them."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field
from typing import Any

import numpy as np
import numpy.typing as npt
import onnx
import onnx.compose
from onnx import TensorProto, helper, numpy_helper

Array = npt.NDArray[Any]
GATES = {"RNN": 1, "GRU": 3, "LSTM": 4}
_RESULTS = ("Y", "Y_h", "Y_c")


@dataclass(frozen=True)
class Recurrent:
    """A layer of ``op``: steps, sequences, channels and units; ``attrs``: those of the node.

    ``given``: optional inputs ("B", "lengths", "states", "P") that it has.  ``run_time``: W, R, B
    and P are inputs; ``lengths`` always are.  ``results``: the outputs that something reads.
    ``bits``: of the integers that R is, 8 or 4, behind DequantizeLinear; 32: it is float32.
    """

    op: str
    sizes: tuple[int, int, int, int]
    attrs: Mapping[str, Any] = field(default_factory=dict)
    given: tuple[str, ...] = ("B",)
    run_time: bool = False
    results: tuple[str, ...] = ("Y", "Y_h")
    bits: int = 32

    def __str__(self) -> str:
        words = (*self.given, *(f"{k}={v}" for k, v in self.attrs.items()), *self.results)
        words += ("run_time",) * self.run_time + (f"int{self.bits}",) * (self.bits < 32)
        return "-".join((self.op, *map(str, self.sizes), *words))

    def built(self) -> tuple[onnx.ModelProto, dict[str, Array]]:
        """The model, and values of its inputs."""
        return _Builder(self).model()


class _Builder:
    def __init__(self, layer: Recurrent) -> None:
        self.layer = layer
        self.constants: list[onnx.TensorProto] = []
        self.dequantised: list[onnx.NodeProto] = []
        self.feeds: dict[str, Array] = {}
        self.rng = np.random.default_rng(sum(layer.sizes))

    def model(self) -> tuple[onnx.ModelProto, dict[str, Array]]:
        layer = self.layer
        steps, batch, channels, units = layer.sizes
        count = 2 if layer.attrs.get("direction") == "bidirectional" else 1
        rows, layout = GATES[layer.op] * units, layer.attrs.get("layout", 0)
        state = (batch, count, units) if layout else (count, batch, units)
        whole = (batch, steps, count, units) if layout else (steps, count, batch, units)
        x = self._add("X", (batch, steps, channels) if layout else (steps, batch, channels), True)
        names = [x, self._add("W", (count, rows, channels)), self._add("R", (count, rows, units))]
        names.append(self._add("B", (count, 2 * rows)) if "B" in layer.given else "")
        names.append(self._lengths(steps, batch) if "lengths" in layer.given else "")
        names.append(self._add("h", state, True) if "states" in layer.given else "")
        if layer.op == "LSTM":
            names.append(self._add("c", state, True) if "states" in layer.given else "")
            names.append(self._add("P", (count, 3 * units)) if "P" in layer.given else "")
        outputs = [name if name in layer.results else "" for name in _RESULTS]
        node = helper.make_node(
            layer.op,
            names,
            outputs[: 3 if layer.op == "LSTM" else 2],
            layer.op.lower(),
            **{"hidden_size": units, **layer.attrs},
        )
        shapes = dict.fromkeys(_RESULTS, state) | {"Y": whole}
        results = [
            helper.make_tensor_value_info(name, TensorProto.FLOAT, shapes[name])
            for name in layer.results
        ]
        inputs = [
            helper.make_tensor_value_info(
                name, helper.np_dtype_to_tensor_dtype(value.dtype), value.shape
            )
            for name, value in self.feeds.items()
        ]
        nodes = [*self.dequantised, node]
        graph = helper.make_graph(nodes, "recurrent", inputs, results, self.constants)
        made = helper.make_model(graph, opset_imports=[helper.make_opsetid("", 22)])
        made.ir_version = 8
        return made, self.feeds

    def _add(self, name: str, shape: tuple[int, ...], at_run_time: bool = False) -> str:
        value = self.rng.uniform(-1, 1, shape).astype(np.float32)
        if name == "R":
            value /= np.float32(np.sqrt(shape[-1]))
        if at_run_time or self.layer.run_time:
            self.feeds[name] = value
        elif name == "R" and self.layer.bits < 32:
            self._add_integers(value)
        else:
            self.constants.append(numpy_helper.from_array(value, name))
        return name

    def _add_integers(self, value: Array) -> None:
        """R as integers with a scale for each row, which both directions share."""
        most = 2 ** (self.layer.bits - 1) - 1
        scale = np.abs(value).max(axis=(0, 2)) / np.float32(most)
        integers = np.rint(value / scale[:, None]).astype(np.int64)
        kind = {8: TensorProto.INT8, 4: TensorProto.INT4}[self.layer.bits]
        whole = helper.make_tensor("R_integers", kind, value.shape, integers.reshape(-1).tolist())
        self.constants += [whole, numpy_helper.from_array(scale, "R_scale")]
        names = ["R_integers", "R_scale"]
        self.dequantised.append(helper.make_node("DequantizeLinear", names, ["R"], axis=1))

    def _lengths(self, steps: int, batch: int) -> str:
        lengths = self.rng.integers(1, steps + 1, batch).astype(np.int32)
        lengths[0] = 0 if batch > 1 else steps
        self.feeds["lengths"] = lengths
        return "lengths"


def keyword_spotter() -> onnx.ModelProto:
    """A frame of features and a state to probabilities and the next state: a GRU as PyTorch
    exports it, and a classifier."""
    layer = Recurrent("GRU", (1, 1, 20, 24), {"linear_before_reset": 1}, ("B", "states"))
    model, _ = layer.built()
    graph, rng = model.graph, np.random.default_rng(1)
    values = {"classes": rng.uniform(-1, 1, (24, 6)).astype(np.float32), "axes": np.array([0, 1])}
    graph.initializer.extend(numpy_helper.from_array(v, name) for name, v in values.items())
    graph.node.extend(
        [
            helper.make_node("Squeeze", ["Y", "axes"], ["frame"]),
            helper.make_node("MatMul", ["frame", "classes"], ["scores"]),
            helper.make_node("Softmax", ["scores"], ["probabilities"]),
        ]
    )
    del graph.output[0]
    graph.output.append(helper.make_tensor_value_info("probabilities", TensorProto.FLOAT, (1, 6)))
    return model


def side_by_side(models: Sequence[onnx.ModelProto]) -> onnx.ModelProto:
    """One network of all, which takes a compiler less time than each; names get a number in
    front."""
    graph = onnx.GraphProto(name="layers")
    for number, model in enumerate(models):
        own = onnx.compose.add_prefix(model, prefix(number)).graph
        graph.node.extend(own.node)
        graph.input.extend(own.input)
        graph.output.extend(own.output)
        graph.initializer.extend(own.initializer)
    return helper.make_model(graph, opset_imports=models[0].opset_import, ir_version=8)


def prefix(number: int) -> str:
    """Of the names of a model."""
    return f"layer{number}_"


def expected(model: onnx.ModelProto, feeds: Mapping[str, Array]) -> list[Array]:
    """ONNX Runtime's results."""
    import onnxruntime  # noqa: PLC0415 - takes long

    options = onnxruntime.SessionOptions()
    options.log_severity_level = 3
    data = model.SerializeToString()
    session = onnxruntime.InferenceSession(data, options, providers=["CPUExecutionProvider"])
    return list(session.run(None, dict(feeds)))
