"""A graph as an ONNX file: what was made of a model, for other tools and to hold a program to.

Numbers that a grid has rounded are written as QuantizeLinear and DequantizeLinear, filters that are
whole multiples of units as int8 and a scale per output channel, and biases that are whole multiples
of the product of both scales as int32: the QDQ format, as ``onnxruntime.quantization`` has it.
"""

from __future__ import annotations

from collections.abc import Mapping
from pathlib import Path
from types import MappingProxyType

import numpy as np
import numpy.typing as npt
import onnx
from google.protobuf.message import DecodeError
from onnx import helper, numpy_helper

from edgeconv.base import regular_file
from edgeconv.ir.activation import NONE, ONTO_GRIDS, Activation
from edgeconv.ir.array_types import array_type
from edgeconv.ir.encoding import INT4, INT8
from edgeconv.ir.filters import RECURRENT, WEIGHTED
from edgeconv.ir.graph import Graph, Node, Tensor
from edgeconv.ir.grids import rounded_to
from edgeconv.ir.loop import LOOP, body_of
from edgeconv.ir.preprocessing import PREPROCESS
from edgeconv.kernels.ops.short_lstm import SHORT_LSTM
from edgeconv.model.frontend import layer_names, preprocess_metadata, recurrent_results, short_lstm
from edgeconv.model.frontend.saved_activations import activation, table
from edgeconv.model.frontend.saved_coupling import coupling
from edgeconv.model.frontend.saved_data_dependent import SAVED_DATA_DEPENDENT
from edgeconv.model.frontend.saved_elements import SAVED_ELEMENTS, opset_of
from edgeconv.model.frontend.saved_loops import loop
from edgeconv.model.frontend.saved_nodes import SAVED, Save, Written
from edgeconv.model.frontend.saved_preprocessing import preprocess
from edgeconv.model.frontend.saved_recurrent import recurrent
from edgeconv.model.frontend.saved_trees import trees, versions_of

OPSET = 20  # with Gelu; QuantizeLinear of int8 is as it was in 13
_OPSET_OF_INT16 = 21  # where QuantizeLinear makes that
WRITERS: Mapping[str, Save] = MappingProxyType(
    {
        **SAVED,
        **SAVED_ELEMENTS,
        **SAVED_DATA_DEPENDENT,
        "Coupling": coupling,
        PREPROCESS: preprocess,
        "Recurrent": recurrent,
        SHORT_LSTM: short_lstm.saved,
        "Table": table,
        "Trees": trees,
    }
)
PRODUCER = "edgeconv"
_MOST = 2**31 - 1  # of an int32 bias
_FUNCTIONS_ALONE = ("Unary", "Identity")  # nothing but an epilogue


def save(graph: Graph, path: Path) -> None:
    """Write ``graph`` to ``path``; tensors keep their names.

    Raises as `model_of`, and OSError.
    """
    path.write_bytes(model_of(graph).SerializeToString(deterministic=True))


def saved_by_us(path: Path) -> bool:
    """Whether the file at ``path`` is a model that `save` wrote."""
    try:
        with regular_file.opened(path) as stream:
            return bool(onnx.ModelProto.FromString(stream.read()).producer_name == PRODUCER)
    except (OSError, DecodeError):
        return False


def model_of(graph: Graph) -> onnx.ModelProto:
    """``graph`` as a model; tensors keep their names.

    Raises KeyError for an operator, ValueError for an activation that has no ONNX form: a defect
    of the tool.
    """
    writer, wide = _written(graph), _is_wide(graph)
    versions = {"": opset_of(graph, _OPSET_OF_INT16 if wide else OPSET), **versions_of(graph)}
    opsets = [helper.make_opsetid(*version) for version in versions.items()]
    model = helper.make_model(writer.graph_proto(), opset_imports=opsets, producer_name=PRODUCER)
    model.ir_version = helper.find_min_ir_version_for(opsets)
    preprocess_metadata.note(model, graph.nodes)
    layer_names.note(model, writer.names)
    recurrent_results.note(model, graph)
    return model


def _is_wide(graph: Graph) -> bool:
    """Whether it rounds to more numbers than int8 has."""
    inner = (body_of(node).graph for node in graph.nodes if node.op == LOOP)
    own = (to.gamma - to.beta > INT8.high - INT8.low for to in rounded_to(graph).values())
    return any(own) or any(map(_is_wide, inner))


def _written(graph: Graph) -> _Writer:
    """The writer of ``graph``, all of its nodes written."""
    writer = _Writer(graph)
    for node in graph.nodes:
        writer.add(node)
    return writer


def _body(graph: Graph) -> onnx.GraphProto:
    """The body of a loop."""
    return _written(graph).graph_proto()


def _value(tensor: Tensor) -> onnx.ValueInfoProto:
    kind = helper.np_dtype_to_tensor_dtype(array_type(tensor.dtype))
    return helper.make_tensor_value_info(tensor.name, kind, tensor.shape)


class _Writer:
    """Writes the nodes of a graph.  ``written``: ONNX nodes and constants so far.  ``names``: of
    the layers that are several nodes of ONNX, by a tensor that each writes."""

    def __init__(self, graph: Graph) -> None:
        self.graph, self.written = graph, Written(graph)
        self.grids = rounded_to(graph)
        self.names: dict[str, str] = {}
        outputs = {*graph.outputs}
        for tensor in graph.tensors.values():
            if tensor.data is not None and tensor.name in outputs:
                self.written.constants.append(numpy_helper.from_array(tensor.data, tensor.name))

    def graph_proto(self) -> onnx.GraphProto:
        """What was written so far, with the graph's inputs and outputs."""
        return helper.make_graph(
            self.written.nodes,
            self.graph.name or "graph",
            [_value(self.graph[name]) for name in self.graph.inputs],
            [_value(self.graph[name]) for name in self.graph.outputs],
            self.written.constants,
        )

    def add(self, node: Node) -> None:
        """The node's operator, then its epilogue, step by step."""
        before = len(self.written.nodes)
        self._add(node)
        # A rounding that stands alone may go into the layer in front of it, which has a name.
        own = node.epilogue
        alone = node.op in _FUNCTIONS_ALONE and own.is_only_before
        rounding = alone and own.before.kind in ONTO_GRIDS
        if len(self.written.nodes) > before + 1 and not rounding:
            self.names[next(filter(None, node.outputs))] = node.name

    def _add(self, node: Node) -> None:
        epilogue, self.written.calling = node.epilogue, node.name
        steps: list[Activation | str] = [epilogue.before] if epilogue.before != NONE else []
        steps += [epilogue.residual] if epilogue.residual else []
        steps += [epilogue.after] if epilogue.after != NONE else []
        alone = node.op in _FUNCTIONS_ALONE and bool(steps)  # nothing but the epilogue
        names = [self.written.fresh(f"{node.output}/{i}") for i in range(len(steps) - alone)]
        names.append(node.output)
        last = node.inputs[0] if alone else names.pop(0)
        if node.op == LOOP:
            loop(self.written, node, self._operands(node), _body, _value)
            return
        if not alone:
            inputs = self._filters(node) if node.op in WEIGHTED else self._operands(node)
            WRITERS[node.op](self.written, node, inputs, last)
        for step, name in zip(steps, names, strict=True):
            # Steps that stand alone are one node when they are read, of the name of the last.
            self.written.calling = name if alone and name != node.output else node.name
            if isinstance(step, str):
                self.written.node("Add", (last, self.written.tensor(step)), name)
            else:
                activation(self.written, step, last, name)
            last = name

    def _operands(self, node: Node) -> tuple[str, ...]:
        """The operands of another node, constants among them; weights of a recurrent state are left
        to what writes the layer."""
        late = {"", node.inputs[1]} if node.op == RECURRENT else {""}
        return tuple(name if name in late else self.written.tensor(name) for name in node.inputs)

    def _filters(self, node: Node) -> tuple[str, ...]:
        """The operands of a Conv or Dense node, its constants as integers where they are some."""
        x, weights, bias = (*node.inputs, "")[:3]
        stored = node.storage
        if stored.element not in (INT4, INT8) or not stored.scale:
            return self._operands(node)
        units = np.asarray(stored.scale, np.float32)
        given = [x, self._multiples(weights, units, np.int8), ""]
        if bias:
            grid = self.grids.get(x)
            unit = units * np.float32(grid.alpha if grid else 0.0)
            whole = self._is_whole(bias, unit)
            given[2] = self._multiples(bias, unit, np.int32) if whole else self.written.tensor(bias)
        return tuple(given)

    def _is_whole(self, name: str, unit: npt.NDArray[np.float32]) -> bool:
        """Whether a bias is so many units that float32 cannot tell the difference."""
        value = self.graph[name].constant().astype(np.float64)
        with np.errstate(all="ignore"):
            count = np.rint(value / unit)
        if not (np.abs(count) <= _MOST).all():  # nor is NaN, of a unit of 0
            return False
        return np.array_equal((count * unit).astype(np.float32), value.astype(np.float32))

    def _multiples(
        self, name: str, units: npt.NDArray[np.float32], dtype: type[np.signedinteger]
    ) -> str:
        """A constant as integers times a unit per index of its first axis."""
        value = self.graph[name].constant().astype(np.float64)
        count = np.rint(value / units.reshape(-1, *(1,) * (value.ndim - 1))).astype(dtype)
        return self.written.dequantised(name, count, units)
