"""What onnx rejects and edgeconv reads nevertheless: it is said, since other tools refuse it.

ONNX Runtime and most converters run that checker, or rules of their own that are much like it.
"""

from __future__ import annotations

from collections.abc import Iterator, Sequence

import onnx

from edgeconv.base.errors import EdgeconvError
from edgeconv.model.frontend.names import function_key
from edgeconv.model.frontend.schedule import ordered, subgraphs

_MOST_BYTES = 64 << 20  # of a model without its large weights; the checker wants a copy of it


def notes(model: onnx.ModelProto) -> tuple[str, ...]:
    """What other tools take differently, and what the checker says of ``model``.

    What is a matter of spelling does not count, and no engine minds: the order of nodes, and
    inputs and outputs without a shape.
    """
    return (*_own_operators(model), *_of_checker(model))


def _own_operators(model: onnx.ModelProto) -> tuple[str, ...]:
    """Functions under names of ONNX's operators: edgeconv compiles the function."""
    keys = (function_key(function) for function in model.functions)
    own = [name for domain, name, _ in keys if not domain and onnx.defs.has(name)]
    return tuple(
        f"the model defines {name} itself: its definition is compiled, where ONNX Runtime uses the "
        "operator of ONNX"
        for name in own
    )


def _of_checker(model: onnx.ModelProto) -> tuple[str, ...]:
    if model.ByteSize() > _MOST_BYTES:
        return ()
    try:
        onnx.checker.check_model(_plain(model))
    except onnx.checker.ValidationError as error:
        reason = " ".join(str(error).split()).partition(" ==> Context")[0].rstrip(".")
        return (f"other tools may refuse the model: onnx's checker says: {reason}",)
    except EdgeconvError:  # nodes without an order, which the walk tells
        return ()
    return ()


def _plain(model: onnx.ModelProto) -> onnx.ModelProto:
    """A copy without weights, its nodes in order."""
    copy = onnx.ModelProto()
    copy.CopyFrom(model)
    graph = copy.graph
    del graph.value_info[:]
    for value in (*graph.input, *graph.output):
        if value.type.HasField("tensor_type"):
            value.type.tensor_type.shape.SetInParent()
    for tensor in _tensors(graph, [node for f in copy.functions for node in f.node]):
        if tensor.data_location == onnx.TensorProto.EXTERNAL:
            tensor.ClearField("external_data")
            tensor.ClearField("data_location")
            tensor.dims[:] = [0]
    known = {value.name for value in graph.input}
    known |= {tensor.name for tensor in graph.initializer}
    known |= {sparse.values.name for sparse in graph.sparse_initializer}
    nodes = ordered(graph.node, known)
    if [id(node) for node in nodes] != [id(node) for node in graph.node]:
        kept = [onnx.NodeProto.FromString(node.SerializeToString()) for node in nodes]
        del graph.node[:]
        graph.node.extend(kept)
    return copy


def _tensors(graph: onnx.GraphProto, nodes: Sequence[onnx.NodeProto]) -> Iterator[onnx.TensorProto]:
    """The tensors of ``graph``, of ``nodes`` and of all graphs in them."""
    waiting, left = [graph], list(nodes)
    while waiting or left:
        if waiting:
            inner = waiting.pop()
            yield from inner.initializer
            left += inner.node
            continue
        node = left.pop()
        yield from (a.t for a in node.attribute if a.HasField("t"))
        waiting += subgraphs(node)
