"""Operators of a graph as ONNX nodes: one function for each."""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from types import MappingProxyType
from typing import Any

import numpy as np
import numpy.typing as npt
import onnx
from onnx import helper, numpy_helper

from edgeconv.base.names import untaken
from edgeconv.ir.encoding import Encoding
from edgeconv.ir.graph import Graph, Node
from edgeconv.ir.quantisation import integers_of

Values = npt.NDArray[Any]
Operand = str | Values | np.generic


class Written:
    """ONNX ``nodes`` and ``constants``, in their order."""

    def __init__(self, graph: Graph) -> None:
        self.graph = graph
        self.nodes: list[onnx.NodeProto] = []
        self.constants: list[onnx.TensorProto] = []
        self.calling = ""  # the graph's node that is being written
        self._taken = set(graph.tensors)
        self._nodes = {node.name for node in graph.nodes}  # and what else nodes are called
        self._unwritten = set(self._nodes)
        self._present = {*graph.outputs}  # of the graph's constants

    def fresh(self, hint: str) -> str:
        """A name that nothing has."""
        name = untaken(hint, self._taken)
        self._taken.add(name)
        return name

    def within(self, called: str, op_type: str, inputs: Sequence[Operand], output: str) -> None:
        """Add a node that is only a step of what the graph has as one: ``called`` stands behind
        the name."""
        whole, self.calling = self.calling, f"{self.calling}/{called}"
        self.node(op_type, inputs, output)
        self.calling = whole

    def node(self, op_type: str, inputs: Sequence[Operand], *outputs: str, **attrs: Any) -> None:
        """Add a node, which is called after the graph's; those that dequantise constants after
        their output.  Operands are names, or values that become constants."""
        hint = f"{outputs[0]}/constant"
        names = [each if isinstance(each, str) else self.constant(hint, each) for each in inputs]
        while names and not names[-1]:
            names.pop()
        constant = op_type == "DequantizeLinear" and "axis" in attrs
        name = outputs[0] if constant else self.calling
        if name in self._unwritten:
            self._unwritten.remove(name)
        else:
            name = untaken(name, self._nodes)
            self._nodes.add(name)
        self.nodes.append(helper.make_node(op_type, names, outputs, name=name, **attrs))

    def add(self, y: str, op_type: str, *inputs: Operand, **attrs: Any) -> str:
        """Add a node on the way to ``y``; returns the name of its result."""
        name = self.fresh(f"{y}/{op_type}")
        self.node(op_type, inputs, name, **attrs)
        return name

    def constant(self, hint: str, value: Any) -> str:
        """Add a constant under a name made from ``hint``."""
        name = self.fresh(hint)
        self.constants.append(numpy_helper.from_array(np.asarray(value), name))
        return name

    def tensor(self, name: str) -> str:
        """``name``, which is written where it is a constant of the graph."""
        value = self.graph[name].data
        if value is not None and name not in self._present:
            self._present.add(name)
            self.constants.append(numpy_helper.from_array(np.array(value, order="C"), name))
        return name

    def dequantised(
        self, hint: str, count: Values, units: npt.NDArray[np.float32], axis: int = 0
    ) -> str:
        """A constant of ``count`` times ``units``, one per index of ``axis``."""
        whole = self.constant(f"{hint}/quantised", count)
        scale, zero = self.constant(f"{hint}/scale", units), np.zeros(len(units), count.dtype)
        name = self.fresh(f"{hint}/dequantised")
        inputs = (whole, scale, self.constant(f"{hint}/zero_point", zero))
        self.node("DequantizeLinear", inputs, name, axis=axis)
        return name


Save = Callable[[Written, Node, tuple[str, ...], str], None]


def window(node: Node) -> dict[str, Any]:
    """Without what is ONNX's default, which some engines do not know otherwise."""
    attrs = node.attrs
    names = {"kernel": "kernel_shape", "strides": "strides", "dilations": "dilations"}
    found = {onnx_name: list(attrs[name]) for name, onnx_name in names.items()}
    if set(found["dilations"]) <= {1}:
        del found["dilations"]
    return {**found, "pads": list(attrs["pads"])}


def _conv(written: Written, node: Node, inputs: tuple[str, ...], y: str) -> None:
    written.node("Conv", inputs, y, group=int(node.attrs["groups"]), **window(node))


def _dense(written: Written, node: Node, inputs: tuple[str, ...], y: str) -> None:
    x, w, bias = (*inputs, "")[:3]
    if len(written.graph[node.inputs[0]].shape) == 2:
        written.node("Gemm", (x, w, bias), y, transB=1)
        return
    turned = written.add(w, "Transpose", w, perm=[1, 0])
    if bias:
        written.node("Add", (written.add(y, "MatMul", x, turned), bias), y)
    else:
        written.node("MatMul", (x, turned), y)


def _pool(written: Written, node: Node, inputs: tuple[str, ...], y: str) -> None:
    most = node.attrs["mode"] == "max"
    size, out = (written.graph[name].shape[2:] for name in (node.inputs[0], node.output))
    kernel, pads = node.attrs["kernel"], node.attrs["pads"]
    if tuple(kernel) == tuple(size) and not any(pads):
        written.node("GlobalMaxPool" if most else "GlobalAveragePool", inputs, y)
        return
    floor = [
        (size[i] + pads[i] + pads[len(size) + i] - (kernel[i] - 1) * dilation - 1) // stride + 1
        for i, (dilation, stride) in enumerate(
            zip(node.attrs["dilations"], node.attrs["strides"], strict=True)
        )
    ]
    counted = {} if most else {"count_include_pad": int(node.attrs["count_include_pad"])}
    attrs = {**window(node), **counted, "ceil_mode": int(list(out) != floor)}
    written.node("MaxPool" if most else "AveragePool", inputs, y, **attrs)


BINARY = MappingProxyType(
    {
        **{kind.lower(): kind for kind in ("Add", "Sub", "Mul", "Div", "Pow", "Min", "Max")},
        "prelu": "PRelu",
    }
)
_REDUCED = MappingProxyType(
    {
        **{kind.lower(): f"Reduce{kind}" for kind in ("Mean", "Sum", "Max", "Min", "Prod")},
        "l1": "ReduceL1",
        "l2": "ReduceL2",
        "sum_square": "ReduceSumSquare",
    }
)


def _binary(written: Written, node: Node, inputs: tuple[str, ...], y: str) -> None:
    kind = str(node.attrs["kind"])
    if kind == "squared_difference":
        difference = f"{y}/difference"
        written.node("Sub", inputs, difference)
        kind, inputs = "mul", (difference, difference)
    written.node(BINARY[kind], inputs, y)


def _reduce(written: Written, node: Node, inputs: tuple[str, ...], y: str) -> None:
    axes = np.array(node.attrs["axes"], np.int64)
    attrs = {"keepdims": int(node.attrs["keepdims"]), "noop_with_empty_axes": 1}
    written.node(_REDUCED[str(node.attrs["kind"])], (*inputs, axes), y, **attrs)


def _affine(written: Written, node: Node, inputs: tuple[str, ...], y: str) -> None:
    """x * scale + shift, per channel, each rounded as the kernels' multiply-add does not."""
    x, *names = node.inputs
    rank = len(written.graph[x].shape)
    per_channel = [written.graph[n].constant().reshape(-1, *(1,) * (rank - 2)) for n in names]
    scale, shift = per_channel
    written.node("Add", (written.add(y, "Mul", inputs[0], scale), shift), y)


def _shaped(op_type: str) -> Save:
    """An operator that takes the shape of its result as an input."""

    def save(written: Written, node: Node, inputs: tuple[str, ...], y: str) -> None:
        shape = np.array(written.graph[node.output].shape, np.int64)
        written.node(op_type, (inputs[0], shape), y)

    return save


def _slice(written: Written, node: Node, inputs: tuple[str, ...], y: str) -> None:
    starts, steps = (np.array(node.attrs[key], np.int64) for key in ("starts", "steps"))
    ends = starts + steps * np.array(written.graph[node.output].shape, np.int64)
    ends = np.where((steps < 0) & (ends < 0), np.iinfo(np.int64).min, ends)
    written.node("Slice", (*inputs, starts, ends, np.arange(len(starts)), steps), y)


def _pad(written: Written, node: Node, inputs: tuple[str, ...], y: str) -> None:
    pads = np.array(node.attrs["pads"], np.int64)
    value = np.asarray(node.attrs.get("value", 0.0), written.graph[node.output].dtype)
    written.node("Pad", (*inputs, pads, value), y, mode=str(node.attrs["mode"]))


def _resize(written: Written, node: Node, inputs: tuple[str, ...], y: str) -> None:
    """By sizes where they say all; positions by scales are those that single precision has."""
    attrs = dict(node.attrs)
    scales, exactly = attrs.pop("scales"), not attrs.pop("single", False)
    attrs["exclude_outside"] = int(attrs["exclude_outside"])
    shape, out = (written.graph[name].shape for name in (node.inputs[0], node.output))
    ratios = tuple(have / size for have, size in zip(out, shape, strict=True))
    by_sizes = exactly and scales == ratios
    given = np.array(out, np.int64) if by_sizes else np.array(scales, np.float32)
    written.node("Resize", (inputs[0], "", *([""] if by_sizes else []), given), y, **attrs)


def _softmax(written: Written, node: Node, inputs: tuple[str, ...], y: str) -> None:
    op_type = "LogSoftmax" if node.attrs.get("log") else "Softmax"
    written.node(op_type, inputs, y, axis=int(node.attrs["axis"]))


def _scaled(op_type: str) -> Save:
    def save(written: Written, node: Node, inputs: tuple[str, ...], y: str) -> None:
        encoding: Encoding = integers_of(node)
        whole = node.output if op_type == "QuantizeLinear" else node.inputs[0]
        if op_type == "QuantizeLinear" and written.graph[whole].dtype == "int32":
            _rounded_to_int32(written, encoding, inputs[0], y)
            return
        shape = () if encoding.is_per_tensor else (-1,)
        scale = np.array(encoding.scale, np.float32).reshape(shape)
        zero = np.array(encoding.zero, written.graph[whole].dtype).reshape(shape)
        axis = {} if encoding.is_per_tensor else {"axis": int(encoding.axis)}
        written.node(op_type, (*inputs[:1], scale, zero), y, **axis)

    return save


def _rounded_to_int32(written: Written, encoding: Encoding, x: str, y: str) -> None:
    """The rounding of whole sums, which are no more than float32 counts to; ONNX has no
    QuantizeLinear of it."""
    assert encoding.is_per_tensor, encoding
    steps = written.add(y, "Div", x, np.float32(encoding.scale[0]))
    whole = written.add(y, "Round", steps)
    moved = written.add(y, "Add", whole, np.float32(encoding.zero[0]))
    written.node("Cast", (moved,), y, to=onnx.TensorProto.INT32)


def _named(op_type: str, *attributes: str) -> Save:
    """An operator that ONNX has with the same attributes."""

    def save(written: Written, node: Node, inputs: tuple[str, ...], y: str) -> None:
        written.node(op_type, inputs, y, **{name: node.attrs[name] for name in attributes})

    return save


def _repeated(written: Written, node: Node, inputs: tuple[str, ...], y: str) -> None:
    written.node("Tile", (*inputs, np.array(node.attrs["repeats"], np.int64)), y)


SAVED: Mapping[str, Save] = MappingProxyType(
    {
        "Affine": _affine,
        "Binary": _binary,
        "Concat": _named("Concat", "axis"),
        "Conv": _conv,
        "Dense": _dense,
        "Dequantise": _scaled("DequantizeLinear"),
        "Expand": _shaped("Expand"),
        "Gather": _named("Gather", "axis"),
        "Check": _named("Identity"),
        "Identity": _named("Identity"),
        "LRN": _named("LRN", "size", "alpha", "beta", "bias"),
        "MatMul": _named("MatMul"),
        "Pad": _pad,
        "Pool": _pool,
        "Quantise": _scaled("QuantizeLinear"),
        "Reduce": _reduce,
        "Reshape": _shaped("Reshape"),
        "Resize": _resize,
        "Slice": _slice,
        "Softmax": _softmax,
        "Tile": _repeated,
        "Transpose": _named("Transpose", "perm"),
        "Unary": _named("Identity"),
    }
)
