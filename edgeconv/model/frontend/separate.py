"""A model taken apart at some of its tensors: every piece computes from values that are given.

What a compiled layer computed can then be told from what the layers before it had computed: each
piece of the original model reads the very numbers that the layer read.
"""

from __future__ import annotations

from collections.abc import Collection, Mapping

import numpy as np
import numpy.typing as npt
import onnx
from onnx import TensorProto, helper

Values = npt.NDArray[np.generic]
OWN = "//of its piece"  # behind the name of a tensor: what its own piece makes of it
_BY, _SHIFTED = "//by", "//shifted"
# Significant bits of types that engines round every result to, and how often on the way from one
# QuantizeLinear to the next: the integer's number, the filters, their product and its quotient.
_PRECISION: Mapping[int, int] = {TensorProto.FLOAT16: 11, TensorProto.BFLOAT16: 8}
_ROUNDINGS = 4


def take_apart(graph: onnx.GraphProto, values: Mapping[str, Values]) -> None:
    """Turns the tensors of ``values``, all of which nodes of ``graph`` write, into inputs; what the
    nodes write there becomes an output, its name with `OWN` behind it."""
    for node in graph.node:
        for i, name in enumerate(node.output):
            if name in values:
                node.output[i] = name + OWN
    for name, value in values.items():
        kind = helper.np_dtype_to_tensor_dtype(value.dtype)
        graph.input.append(helper.make_tensor_value_info(name, kind, value.shape))
    kept = [value for value in graph.output if value.name not in values]
    del graph.output[:]
    graph.output.extend([*kept, *(onnx.ValueInfoProto(name=name + OWN) for name in values)])


def shift_rounding(graph: onnx.GraphProto, shift: float, exact: Collection[str]) -> None:
    """Adds ``shift`` times its largest magnitude to every tensor that a QuantizeLinear rounds; to
    one of float16 or bfloat16 as many times as its own type's roundings reach, where that is more.

    Left alone is what is in ``exact``: inputs and constants, which nothing has computed.
    """
    nodes = list(graph.node)
    del graph.node[:]
    constants = {tensor.name: tensor.data_type for tensor in graph.initializer}
    shifted: set[str] = set()
    factors: dict[int, str] = {}
    for node in nodes:
        source = node.input[0] if node.input else ""
        if node.op_type == "QuantizeLinear" and source not in constants and source not in exact:
            # The scale has the type of what is rounded.
            kind = constants.get(node.input[1], TensorProto.FLOAT)
            if kind not in factors:
                factor = _factor(kind, shift)
                graph.initializer.append(factor)
                factors[kind] = factor.name
            if source not in shifted:
                graph.node.extend(_shift(source, factors[kind]))
                shifted.add(source)
            node.input[0] = source + _SHIFTED
        graph.node.append(node)


def _factor(kind: int, shift: float) -> onnx.TensorProto:
    """``shift`` as a scalar of the type ``kind``, or some roundings of that type."""
    reach = _ROUNDINGS * 2.0 ** -_PRECISION[kind] if kind in _PRECISION else 0.0
    kind = kind if kind in _PRECISION else TensorProto.FLOAT
    value = float(np.copysign(max(abs(shift), reach), shift))
    return helper.make_tensor(f"{_BY}{kind}", kind, [], [value])


def _shift(name: str, factor: str) -> list[onnx.NodeProto]:
    size, most, off = (f"{name}//{what}" for what in ("size", "most", "off"))
    return [
        helper.make_node("Abs", [name], [size]),
        helper.make_node("ReduceMax", [size], [most], keepdims=0),
        helper.make_node("Mul", [most, factor], [off]),
        helper.make_node("Add", [name, off], [name + _SHIFTED]),
    ]
