"""Mutants of models that know what a model is: parameters, edges, types, functions, files."""

from __future__ import annotations

import random
from collections.abc import Callable
from pathlib import Path
from typing import Any

import numpy as np
import onnx
from onnx import TensorProto, helper, numpy_helper

from edgeconv.kernels.ops import importers
from tests.fuzz.model_corpus import chosen
from tests.fuzz.mutate_message import INTEGERS, mutate

Mutator = Callable[[random.Random, onnx.ModelProto, Path], None]


def parameter(source: random.Random, model: onnx.ModelProto, _: Path) -> None:
    """One number of a small constant: an axis, a shape, a pad, a bound."""
    small = [t for t in model.graph.initializer if 0 < len(_array(t).reshape(-1)) <= 16]
    if not small:
        return mutate(source, model)
    tensor = source.choice(small)
    array = _array(tensor).copy()
    flat = array.reshape(-1)
    if array.dtype.kind in "iu":
        info = np.iinfo(array.dtype)
        value = source.choice((*INTEGERS, int(flat[0]) + 1, -int(flat[0])))
        flat[source.randrange(flat.size)] = min(max(value, int(info.min)), int(info.max))
    elif array.dtype.kind == "f":
        flat[source.randrange(flat.size)] = source.choice((0, -1, 1e9, 0.5, np.nan, np.inf, 3))
    shaped = source.choice((array, array, array, flat[:-1], np.concatenate([flat, flat]), flat[:1]))
    tensor.CopyFrom(numpy_helper.from_array(np.ascontiguousarray(shaped), tensor.name))
    return None


def _array(tensor: onnx.TensorProto) -> Any:
    try:
        return numpy_helper.to_array(tensor)
    except Exception:  # an earlier mutation broke it
        return np.zeros(0, np.float32)


def attribute(source: random.Random, model: onnx.ModelProto, _: Path) -> None:
    """An attribute that the operator knows, of a value of any kind."""
    node = _node(source, model)
    if node is None:
        return
    try:
        schema = onnx.defs.get_schema(node.op_type)
        names = [*schema.attributes, "axis", "nonsense"]
    except onnx.defs.SchemaError:
        names = ["axis", "value"]
    number = source.choice(INTEGERS)
    values: tuple[Any, ...] = (
        number,
        number,
        [number] * source.randrange(1, 5),
        [source.choice(INTEGERS[:10]) for _ in range(source.randrange(1, 9))],
        float(number),
        source.choice(("", "SAME_UPPER", "VALID", "linear", "reflect", "nonsense")),
    )
    made = helper.make_attribute(source.choice(names), source.choice(values))
    kept = [a for a in node.attribute if a.name != made.name or source.random() < 0.1]
    del node.attribute[:]
    node.attribute.extend([*kept, made])
    if source.random() < 0.1:
        made = node.attribute[-1]
        made.ClearField("i")
        made.ref_attr_name = source.choice(("axis", "alpha", ""))


def edge(source: random.Random, model: onnx.ModelProto, _: Path) -> None:
    """A node reads or writes another value."""
    node, names = _node(source, model), _names(model)
    if node is None or not names:
        return
    ends = node.input if source.random() < 0.8 else node.output
    if ends and source.random() < 0.8:
        ends[source.randrange(len(ends))] = source.choice((*names, ""))
    else:
        ends.append(source.choice(names))


def operator(source: random.Random, model: onnx.ModelProto, _: Path) -> None:
    """Another operator with the same inputs."""
    node = _node(source, model)
    if node is not None:
        node.op_type = source.choice(sorted(importers()))


def opset(source: random.Random, model: onnx.ModelProto, _: Path) -> None:
    """The same in another version of ONNX."""
    for entry in model.opset_import:
        entry.version = source.randrange(6, 28)


def input_type(source: random.Random, model: onnx.ModelProto, _: Path) -> None:
    """An input of another type or shape."""
    if not model.graph.input:
        return
    kind = source.choice(model.graph.input).type.tensor_type
    if source.random() < 0.3:
        kind.elem_type = source.randrange(0, 25)
        return
    dims = [d.dim_value for d in kind.shape.dim]
    way = source.randrange(3)
    if way == 0 or not dims:
        dims.insert(source.randrange(len(dims) + 1), source.choice((1, 2, 0, -1)))
    elif way == 1:
        del dims[source.randrange(len(dims))]
    else:
        dims[source.randrange(len(dims))] = source.choice(INTEGERS)
    del kind.shape.dim[:]
    kind.shape.dim.extend(onnx.TensorShapeProto.Dimension(dim_value=d) for d in dims)


def ends(source: random.Random, model: onnx.ModelProto, _: Path) -> None:
    """Another value as an output, an input listed twice, a constant that is an input too."""
    graph, names = model.graph, _names(model)
    pools = (graph.input, graph.output)
    if source.random() < 0.5 and names:
        kind = source.choice((TensorProto.FLOAT, TensorProto.INT64, 0))
        value = helper.make_tensor_value_info(source.choice(names), kind, None)
        source.choice(pools).append(value)
    else:
        pool = source.choice(pools)
        if pool:
            pool.append(source.choice(pool))


def constant(source: random.Random, model: onnx.ModelProto, _: Path) -> None:
    """An input becomes a constant of some type."""
    if not model.graph.input:
        return
    value = source.choice(model.graph.input)
    shape = [min(abs(d.dim_value), 8) for d in value.type.tensor_type.shape.dim]
    dtype = source.choice((np.float32, np.float32, np.int64, np.float16, np.bool_, np.int8))
    made = numpy_helper.from_array(np.ones(shape, dtype), value.name)
    model.graph.initializer.append(made)
    if source.random() < 0.8:
        model.graph.input.remove(value)


def external(source: random.Random, model: onnx.ModelProto, folder: Path) -> None:
    """Weights in a file beside the model, not quite where it says."""
    if not model.graph.initializer:
        return
    tensor = source.choice(model.graph.initializer)
    data = _array(tensor).tobytes()
    (folder / "data.bin").write_bytes(data + b"\1\2\3\4" * 8)
    for name in ("raw_data", "float_data", "int64_data", "int32_data"):
        tensor.ClearField(name)
    tensor.data_location = TensorProto.EXTERNAL
    places = ("data.bin", "data.bin", "data.bin", "", ".", "../data.bin", "x\0y", "/dev/zero")
    fields = {
        "location": source.choice(places),
        "offset": str(source.choice((0, 0, 4, 16, -4, 1 << 62, "x", "٣"))),
        "length": str(source.choice((len(data), len(data), 0, -1, 4, 1 << 62, ""))),
    }
    for key, value in fields.items():
        if source.random() < 0.9:
            tensor.external_data.add(key=key, value=value)
    if tensor.dims and source.random() < 0.5:
        tensor.dims[source.randrange(len(tensor.dims))] = source.choice((-1, 0, 2, 1 << 40))


def wrapped(source: random.Random, model: onnx.ModelProto, _: Path) -> None:
    """The nodes within a function, or within the branch of an If."""
    graph = model.graph
    inputs, outputs = [v.name for v in graph.input], [v.name for v in graph.output]
    opsets = list(model.opset_import)
    if source.random() < 0.5:
        known = [*inputs, *(t.name for t in graph.initializer)]
        domain = source.choice(("own", "", "ai.onnx.ml"))
        name = source.choice(("body", "Relu", "If", "Conv"))
        body = helper.make_function(domain, name, known, outputs, list(graph.node), opsets)
        if source.random() < 0.2:
            body.attribute.append("axis")
        model.functions.append(body)
        nodes = [helper.make_node(name, known, outputs, domain=domain)]
        if domain:
            model.opset_import.append(helper.make_opsetid(domain, 1))
    else:
        inner = helper.make_graph(list(graph.node), "branch", [], list(graph.output))
        condition = numpy_helper.from_array(np.array([True][: source.randrange(4)]), "cond")
        graph.initializer.append(condition)
        nodes = [helper.make_node("If", ["cond"], outputs, then_branch=inner, else_branch=inner)]
    del graph.node[:]
    graph.node.extend(nodes)


def joined(source: random.Random, model: onnx.ModelProto, _: Path) -> None:
    """The nodes of another model behind these."""
    other = chosen(source)
    for value in other.graph.input:
        if source.random() < 0.5:
            model.graph.input.append(value)
    model.graph.initializer.extend(other.graph.initializer)
    names = _names(model)
    for node in other.graph.node:
        if node.input and names and source.random() < 0.5:
            node.input[0] = source.choice(names)
        model.graph.node.append(node)
    model.graph.output.extend(other.graph.output)


def field(source: random.Random, model: onnx.ModelProto, _: Path) -> None:
    """Any field of the file."""
    mutate(source, model)


MUTATORS: tuple[Mutator, ...] = (
    *(field, field, field, parameter, parameter, attribute, attribute),
    *(edge, operator, opset, input_type, ends, constant, external, wrapped, joined),
)


def _node(source: random.Random, model: onnx.ModelProto) -> onnx.NodeProto | None:
    bodies: list[Any] = [model.graph, *model.functions]
    nodes = [node for body in bodies for node in body.node]
    return source.choice(nodes) if nodes else None


def _names(model: onnx.ModelProto) -> list[str]:
    graph = model.graph
    names = {name for node in graph.node for name in (*node.input, *node.output)}
    names.update(value.name for value in graph.input)
    names.update(value.name for value in graph.initializer)
    return sorted(names)
