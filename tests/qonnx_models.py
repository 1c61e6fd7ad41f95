"""Networks and single operators as Brevitas writes them in QONNX, and what qonnx's executor says.

python -m tests.qonnx_models, where qonnx is installed, writes qonnx_expected.npz beside this file.
"""

from __future__ import annotations

import importlib
import itertools
from collections.abc import Callable, Mapping, Sequence
from pathlib import Path
from typing import Any

import numpy as np
import numpy.typing as npt
import onnx
from onnx import TensorProto, helper, numpy_helper

Values = npt.NDArray[Any]
EXPECTED = Path(__file__).with_name("qonnx_expected.npz")
GENERAL = "qonnx.custom_op.general"
_SHAPE = (1, 3, 8, 8)
_MODES = ("ROUND", "HALF_EVEN", "CEIL", "FLOOR", "UP", "DOWN", "HALF_UP", "HALF_DOWN", "half_up")


class Graph:
    """A model under construction."""

    def __init__(self, domain: str = GENERAL, version: int = 2, opset: int = 13) -> None:
        self.opsets = {"": opset, domain: version}
        self.domain = domain
        self.rng = np.random.default_rng(7)
        self.nodes: list[onnx.NodeProto] = []
        self.constants: dict[str, onnx.TensorProto] = {}

    def constant(self, value: Any) -> str:
        """A float32 constant; equal scalars are one, as shared bit widths are."""
        array = np.asarray(value, np.float32)
        name = f"c{float(array)!r}" if array.ndim == 0 else f"c{len(self.constants)}"
        self.constants[name] = numpy_helper.from_array(array, name)
        return name

    def add(self, op: str, inputs: Sequence[str], domain: str = "", **attrs: Any) -> str:
        name = str(attrs.pop("output", f"{op}_{len(self.nodes)}"))
        node = helper.make_node(op, inputs, [name], name, domain=domain, **attrs)
        self.nodes.append(node)
        return name

    def own(self, op: str, x: str, *params: Any, **attrs: Any) -> str:
        """An operator of QONNX."""
        return self.add(op, [x, *map(self.constant, params)], self.domain, **attrs)

    def quant(
        self, x: str, scale: Any, bits: float, *, signed: int = 1, narrow: int = 0, zero: Any = 0.0
    ) -> str:
        attrs = {"signed": signed, "narrow": narrow, "rounding_mode": "ROUND"}
        return self.own("Quant", x, scale, zero, bits, **attrs)

    def weights(self, *shape: int) -> Values:
        return np.asarray(self.rng.normal(0, 0.5, shape), np.float32)

    def model(
        self, inputs: Mapping[str, tuple[int, ...]], outputs: Mapping[str, Any]
    ) -> onnx.ModelProto:
        kind = TensorProto.FLOAT
        graph = helper.make_graph(
            self.nodes,
            "qonnx",
            [helper.make_tensor_value_info(name, kind, shape) for name, shape in inputs.items()],
            [helper.make_tensor_value_info(name, kind, shape) for name, shape in outputs.items()],
            [*self.constants.values()],
        )
        opsets = [helper.make_opsetid(*each) for each in self.opsets.items()]
        return helper.make_model(graph, opset_imports=opsets, ir_version=8)


def _filters(g: Graph, kind: str, shape: tuple[int, ...]) -> str:
    w = g.constant(g.weights(*shape))
    match kind:
        case "binary":
            return g.own("BipolarQuant", w, 0.25)
        case "ternary":
            return g.quant(w, 0.5, 2.0, narrow=1)
        case "per_channel":
            scale = g.rng.uniform(0.05, 0.2, (shape[0], *(1 for _ in shape[1:])))
            return g.quant(w, scale.astype(np.float32), 4.0, narrow=1)
        case "w2a2":
            return g.quant(w, 0.31, 2.0)
    return g.quant(w, 0.13, 4.0, narrow=1)


def _activated(g: Graph, kind: str, x: str) -> str:
    if kind == "binary":
        return g.own("BipolarQuant", x, 1.0)
    if kind == "asymmetric":
        return g.quant(x, 0.11, 4.0, signed=0, zero=6.0)
    bits = {"w2a2": 2.0, "ternary": 2.0, "trunc": 8.0}.get(kind, 4.0)
    return g.quant(g.add("Relu", [x]), 0.17, bits, signed=0)


KINDS = ("w4a4", "w2a2", "binary", "ternary", "per_channel", "asymmetric", "trunc")


def network(g: Graph, kind: str, x: str, c: int = 8) -> str:
    """Convolutions, a depthwise one among them, a residual, a pool, a dense layer."""
    x = g.quant(x, 0.03, 8.0)
    bias = g.quant(g.constant(g.weights(c)), np.full(1, 0.0039, np.float32), 16.0)
    x = _activated(g, kind, g.add("Conv", [x, _filters(g, kind, (c, 3, 3, 3)), bias], pads=[1] * 4))
    y = g.add("Conv", [x, _filters(g, kind, (c, 1, 3, 3))], group=c, pads=[1] * 4)
    y = _activated(g, kind, y)
    y = g.add("Conv", [y, _filters(g, kind, (c, c, 1, 1))])
    y = _activated(g, kind, g.add("Add", [y, x]))
    if kind == "trunc":
        y = g.add("AveragePool", [y], kernel_shape=[4, 4], strides=[4, 4])
        y = g.own(
            "Trunc", y, 0.17 / 16, 0.0, 12.0, 0.17, 8.0, signed=0, narrow=0, rounding_mode="FLOOR"
        )
    else:
        y = g.add("MaxPool", [y], kernel_shape=[4, 4], strides=[4, 4])
    flat, w = g.add("Flatten", [y]), _filters(g, kind, (5, 4 * c))
    return g.add("Gemm", [flat, w], transB=1, output=kind)


def networks(kinds: Sequence[str] = KINDS, channels: int = 8) -> onnx.ModelProto:
    """Networks of ``kinds`` on one input; an output of each, of that name."""
    g = Graph()
    for kind in kinds:
        g.rng = np.random.default_rng(KINDS.index(kind))
        network(g, kind, "x", channels)
    return g.model({"x": _SHAPE}, dict.fromkeys(kinds, (1, 5)))


_POINTS = 97


def operators(domain: str = GENERAL, version: int = 2, opset: int = 13) -> onnx.ModelProto:
    """Single operators on one input, with every way to round, bounds and zero points; an output of
    each."""
    g = Graph(domain, version, opset)
    outputs = []
    forms = ((0.0, 1.0), (0.0, 3.5), (0.0, 8.0), (3.0, 1.0), (3.0, 8.0), (0.5, 8.0))
    for signed, narrow in itertools.product((0, 1), (0, 1)):
        for zero, bits in forms:
            outputs.append(g.quant("x", 0.25, bits, signed=signed, narrow=narrow, zero=zero))
    for mode in _MODES:
        attrs = {"signed": 1, "narrow": 0, "rounding_mode": mode}
        outputs.append(g.own("IntQuant", "x", 0.5, 0.0, 4.0, **attrs))
    outputs.append(g.own("Quant", "x", 0.125, 0.0, 16.0, signed=1, narrow=0))
    outputs.append(g.own("Quant", "x", 0.125, 0.0, 24.0, signed=1, narrow=0))
    outputs.append(g.own("BipolarQuant", "x", 0.3))
    if version == 1:
        outputs += [g.own("Trunc", "x", 0.0625, 2.0, 8.0, 4.0, rounding_mode=m) for m in _MODES[:4]]
    else:
        for mode in _MODES[:4]:
            attrs = {"signed": 1, "narrow": 0, "rounding_mode": mode}
            outputs.append(g.own("Trunc", "x", 0.0625, 0.0, 8.0, 0.25, 6.0, **attrs))
        ways = {"rounding_mode": "ROUND", "has_inf": 0, "has_nan": 0, "has_subnormal": 1}
        for exponent, mantissa, bias, most in ((2, 1, 1, 6), (4, 3, 7, 448), (5, 2, 15, 57344)):
            params = (0.5, *map(float, (exponent, mantissa, bias, most)))
            outputs.append(g.own("FloatQuant", "x", *params, saturation=1, **ways))
        steps = np.sort(g.weights(1, 7) * 4)
        outputs.append(
            g.own("MultiThreshold", "x", steps, out_scale=0.5, out_bias=-1.0, out_dtype="UINT4")
        )
    return g.model({"x": (1, _POINTS)}, dict.fromkeys(outputs, (1, _POINTS)))


MODELS: Mapping[str, Callable[[], onnx.ModelProto]] = {
    "networks": networks,
    "operators": operators,
    "operators_1": lambda: operators("onnx.brevitas", 1, 9),
}


def given(name: str) -> Values:
    """What the model reads: of single operators halves and quarters of steps among others."""
    rng = np.random.default_rng(11)
    if name == "networks":
        return np.asarray(rng.normal(0, 1.5, _SHAPE), np.float32)
    ties = np.arange(-32, 33, dtype=np.float32) / 16
    rest = rng.normal(0, 20, _POINTS - ties.size)
    return np.concatenate([ties, rest]).astype(np.float32).reshape(1, -1)


def expected(name: str) -> dict[str, Values]:
    """What qonnx's executor computes, by output."""
    with np.load(EXPECTED) as found:
        keys = [key for key in found.files if key.partition("/")[0] == name]
        return {key.partition("/")[2]: found[key] for key in keys}


def _executed(model: onnx.ModelProto, x: Values) -> dict[str, Values]:
    within = importlib.import_module
    wrapped = within("qonnx.core.modelwrapper").ModelWrapper(model)
    wrapped = wrapped.transform(within("qonnx.transformation.infer_shapes").InferShapes())
    return dict(within("qonnx.core.onnx_exec").execute_onnx(wrapped, {"x": x}))


if __name__ == "__main__":
    found: dict[str, Any] = {
        f"{name}/{output}": value
        for name, make in MODELS.items()
        for output, value in _executed(make(), given(name)).items()
    }
    np.savez_compressed(EXPECTED, **found)
