"""The storage formats that the user asks for, layer by layer."""

from __future__ import annotations

from collections.abc import Collection, Iterable, Mapping
from dataclasses import replace
from typing import Any

import numpy as np
import numpy.typing as npt

from edgeconv.base.errors import EdgeconvError, UsageError
from edgeconv.base.names import did_you_mean
from edgeconv.base.registry import lookup
from edgeconv.ir.encoding import Encoding
from edgeconv.ir.filters import DECODED, decodes
from edgeconv.ir.graph import Graph, Node, Tensor
from edgeconv.ir.grids import encodings_of
from edgeconv.kernels.algorithms import algorithms
from edgeconv.kernels.algorithms.widening import holds_integers_of
from edgeconv.kernels.lowering.options import Stored
from edgeconv.kernels.ops import operators
from edgeconv.kernels.storage import formats
from edgeconv.kernels.storage.base import FLOAT32, StorageFormat

EVERY_LAYER = "*"
OUTPUT = ":output"  # behind the name of a layer: its result
NO_RESULT: frozenset[str] = frozenset()  # of which layers results are stored as integers
EVERY_RESULT = frozenset({EVERY_LAYER})
INSERTED = frozenset({"Convert", "DynamicQuantise"})  # operators of no layer of the model
INT8 = "int8"  # of a result: the integers that a quantised model rounds it to, whatever their scale
ROUNDED = {8: INT8, 16: "int16"}  # by their bits


def has_storage(node: Node) -> bool:
    """Whether the model, or who asks, says what its filters are stored as."""
    return node.request.storage is not None or "storage" in node.attrs


def weight_formats() -> dict[str, StorageFormat]:
    """The formats that filters can be stored in, by name."""
    return {name: entry for name, entry in formats().items() if entry.enumerator and entry.offered}


def stored_formats() -> frozenset[str]:
    """Their names without float32's."""
    return frozenset(weight_formats()) - {FLOAT32}


def store_weights(graph: Graph, wanted: Mapping[str, str]) -> Graph:
    """Ask the formats that ``wanted`` names by layer of the nodes.

    ``*`` stands for every layer with filters that is not named itself.  Raises EdgeconvError (exit
    status 2): no such layer or format, a layer without filters, filters that are not finite in a
    format with units.
    """
    weighted = {node.name: node for node in graph.nodes if decodes(node, graph)}
    for layer, name in wanted.items():
        lookup("storage format", name, weight_formats())
        if layer != EVERY_LAYER and layer not in weighted:
            raise _no_filters(layer, graph, weighted)
    named = {name: wanted[name] if name in wanted else wanted.get(EVERY_LAYER) for name in weighted}
    nodes = []
    for node in graph.nodes:
        if asked := named.get(node.name):
            form = formats()[asked]
            _require_finite(node, graph, form)
            node = _in_format(node, form, graph)
        nodes.append(node)
    return replace(graph, nodes=tuple(nodes))


def _in_format(node: Node, form: StorageFormat, graph: Graph) -> Node:
    """``node`` with its filters in ``form``: no longer the multiples that the model has, where it
    has them in one that does not have these integers, nor its own numbers, unless the format has
    all of them."""
    known, exact = node.storage, node.exact
    if known.element == form.encoding:
        asked = known
    elif known.scale and holds_integers_of(form.encoding, known):
        asked = form.encoding.scaled(known.scale)
    else:
        asked = form.encoding
        exact = form.name != FLOAT32 and _holds(form, graph[node.inputs[1]].constant())
    return replace(node, request=replace(node.request, storage=asked, exact=exact))


def _holds(form: StorageFormat, values: npt.NDArray[Any]) -> bool:
    """Whether a format without units rounds none of ``values``."""
    return not form.scaled and np.array_equal(form.rounded(values), values, equal_nan=True)


def _no_filters(layer: str, graph: Graph, weighted: Mapping[str, Node]) -> EdgeconvError:
    found = next((node for node in graph.nodes if node.name == layer), None)
    if found:
        return UsageError(
            "--storage names a layer without filters",
            where=layer,
            got=found.op,
            rule=f"formats are for constant weights of {', '.join(DECODED)}",
        )
    return _no_layer(layer, weighted)


def _require_finite(node: Node, graph: Graph, form: StorageFormat) -> None:
    if form.scaled and not np.isfinite(graph[node.inputs[1]].constant()).all():
        raise UsageError(
            "filters are not finite",
            where=node.name,
            rule=f"{form.name} counts in units of a scale per output channel",
            hint="store this layer in another format",
        )


def tensor_formats() -> dict[str, StorageFormat]:
    """The formats that any run-time tensors can be stored in, by name: those that kernels write
    too."""
    return {name: entry for name, entry in weight_formats().items() if entry.written}


def by_kind(graph: Graph, wanted: Mapping[str, str]) -> tuple[dict[str, str], dict[str, str]]:
    """``wanted`` as formats of filters and formats of results, both by layer.

    What ends in ``:output`` is about a result, unless it is a layer's whole name.
    """
    layers = {node.name for node in graph.nodes}
    filters: dict[str, str] = {}
    outputs: dict[str, str] = {}
    for key, name in wanted.items():
        of_output = key.endswith(OUTPUT) and key not in layers
        (outputs if of_output else filters)[key.removesuffix(OUTPUT) if of_output else key] = name
    return filters, outputs


def storable(graph: Graph) -> tuple[str, ...]:
    """The tensors that may be in another format than float32, in the order they are written.

    The kernel that writes one must encode it, and those that read it must decode it; kernels of all
    targets do the same.  Inputs and outputs of the graph stay as the caller has them.
    """
    readers, fixed = graph.consumers(), {*graph.inputs, *graph.outputs}
    return tuple(
        name
        for name, node in graph.producers().items()
        if name not in fixed
        and graph[name].dtype == FLOAT32
        and Stored.WRITES in _stored(node)
        and all(Stored.READS in _stored(reader) for reader in readers[name])
    )


def store_tensors(graph: Graph, wanted: Mapping[str, str]) -> Graph:
    """Set the storage of the outputs of the layers that ``wanted`` names.

    ``*`` stands for every output that can be stored and whose layer is not named itself; ``int8``
    and ``int16`` for the integers that a quantised model has rounded an output to.  Raises
    EdgeconvError (exit status 2): no such layer or format, an output that must be float32, int8 or
    int16 for one that has not been rounded to it.
    """
    if not wanted:
        return graph
    layers, able = {node.name: node for node in graph.nodes}, frozenset(storable(graph))
    rounded = set(wanted.values()) & set(ROUNDED.values())
    encodings = encodings_of(graph) if rounded else {}
    known = {**tensor_formats(), **dict.fromkeys(ROUNDED.values(), weight_formats()[INT8])}
    for layer, name in wanted.items():
        lookup("storage format", name, known)
        if layer == EVERY_LAYER:
            continue
        if layer not in layers:
            raise _no_layer(layer, layers)
        outputs = tuple(filter(None, layers[layer].outputs))
        if name != FLOAT32 and not able.issuperset(outputs):
            raise _not_storable(layers[layer], graph)
        if name in rounded and any(_kept(encodings, output) != name for output in outputs):
            raise _not_rounded(layers[layer], name)
    found: dict[str, Tensor] = {}
    for node in graph.nodes:
        form = wanted.get(node.name, wanted.get(EVERY_LAYER, FLOAT32))
        for name in filter(able.__contains__, node.outputs):
            plain = formats()[form if form not in rounded else FLOAT32].encoding
            kept = form in rounded and _kept(encodings, name) == form
            found[name] = replace(graph[name], storage=encodings[name] if kept else plain)
    return graph.with_tensors(found)


def _kept(encodings: Mapping[str, Encoding], name: str) -> str | None:
    """The format that keeps a result as the integers that the model has rounded it to."""
    return ROUNDED[encodings[name].bits] if name in encodings else None


def lossless(graph: Graph) -> dict[str, str]:
    """By layer the format that keeps its results as the integers that the model has rounded them
    to: nothing for a model that is not quantised."""
    able, encodings = frozenset(storable(graph)), encodings_of(graph)
    found: dict[str, str] = {}
    for node in graph.nodes:
        forms = {_kept(encodings, name) for name in node.outputs}
        if able.issuperset(filter(None, node.outputs)) and None not in forms and len(forms) == 1:
            found[node.name] = str(*forms)
    return found


def encodings_for(graph: Graph, layers: Collection[str]) -> dict[str, Encoding]:
    """Result -> the integers that stand for it, of these layers."""
    found = encodings_of(graph) if layers else {}
    nodes = (node for node in graph.nodes if node.name in layers)
    return {name: found[name] for node in nodes for name in node.outputs}


def _stored(node: Node) -> Stored:
    """What the kernel of ``node`` does with stored tensors: that of the algorithm the user wants,
    or of one that there always is."""
    wanted, able = node.request.algorithm, operators()[node.op].stored
    return able & algorithms()[wanted].stored if wanted in algorithms() else able


def _not_storable(node: Node, graph: Graph) -> EdgeconvError:
    """Says which of the rules the output of ``node`` breaks."""
    readers = [reader for name in node.outputs if name for reader in graph.consumers()[name]]
    blind = next((r for r in readers if Stored.READS not in _stored(r)), None)
    if set(node.outputs) & set(graph.outputs):
        rule = "the model's outputs are float32"
    elif Stored.WRITES not in _stored(node):
        rule = f"{_kernel(node)} writes float32"
    else:
        rule = f"{blind.name!r} ({_kernel(blind)}) reads float32" if blind else "it is no float32"
    return UsageError(
        "--storage names an output that cannot be stored", where=node.name, got=node.op, rule=rule
    )


def _not_rounded(node: Node, name: str) -> EdgeconvError:
    bits = "eight" if name == INT8 else "16"
    return UsageError(
        f"--storage {name} names a result that the model does not round",
        where=node.name,
        got=node.op,
        rule=f"only results between QuantizeLinear and DequantizeLinear, of {bits} bits and with "
        f"one scale, are {name}",
        hint="--calibration X.npz makes a float32 network int8; or take flyte8, flyte16 or flyte24",
    )


def _kernel(node: Node) -> str:
    return node.request.algorithm or node.op


def _no_layer(layer: str, known: Iterable[str]) -> EdgeconvError:
    return UsageError("--storage names no layer", got=repr(layer), hint=did_you_mean(layer, known))
