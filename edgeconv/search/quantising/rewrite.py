"""A float32 graph with grids and integer filters put in: a quantised network like any other."""

from __future__ import annotations

from collections.abc import Mapping

import numpy as np

from edgeconv.ir.activation import Activation, grid
from edgeconv.ir.edit import Editor
from edgeconv.ir.filters import Filters, filters_of, replace_filters
from edgeconv.ir.graph import Epilogue, Graph, Node
from edgeconv.kernels.storage import formats
from edgeconv.search.calibration.inputs import rows_of
from edgeconv.search.calibration.rounding import NEAREST, Rounded, round_layer
from edgeconv.search.quantising.grids import RequestedFormats, places
from edgeconv.search.quantising.unfused import unfused
from edgeconv.search.quantising.units import settled, whole_bias

FORM = "int8"  # of filters
SOME_GRID = grid(float(np.float32(0.0173)), -128.0, 127.0)


def quantised(
    graph: Graph, grids: Mapping[str, Activation], rounded: Mapping[str, Rounded]
) -> Graph:
    """``graph`` with every tensor of ``grids`` rounded as soon as it is written, and the filters of
    ``rounded`` as whole multiples of their units.

    Tensors keep their names; what they are before they are rounded has a new one, and of an input
    of the graph what it is afterwards.
    """
    layers = {
        name: Filters(
            entry.parameters.weights,
            entry.parameters.bias,
            formats()[entry.form].encoding.scaled(entry.units or ()),
        )
        for name, entry in rounded.items()
    }
    editor = Editor(replace_filters(graph, layers))
    for name, function in grids.items():
        _round(name, function, editor)
    return editor.finish()


def pretended(
    graph: Graph,
    storage: Mapping[str, str],
    kept: frozenset[str] = frozenset(),
) -> Graph:
    """``graph`` with grids and units of no meaning: what it takes as an int8 network does not
    depend on them.  ``storage``: formats that the user gives, as `search.choose.select` takes them;
    ``kept``: tensors that stay float32."""
    plain, wanted = unfused(graph), RequestedFormats.of(graph, storage, kept)
    found = places(plain, wanted)
    grids = dict.fromkeys(found.tensors, SOME_GRID)
    names = wanted.filters(plain, found)
    filters = {node.name: _in_units(node, plain) for node in plain.nodes if node.name in names}
    return quantised(plain, grids, filters)


def _in_units(node: Node, graph: Graph) -> Rounded:
    """The filters and the bias of a node rounded to the nearest."""
    own, rows = filters_of(node, graph), rows_of(node, graph)
    plain, scale = round_layer(own, rows, FORM, None, NEAREST), SOME_GRID.alpha
    return whole_bias(settled(plain, scale, scale), scale)


def _round(name: str, function: Activation, editor: Editor) -> None:
    tensor, writer = editor.tensors[name], editor.writer(name)
    if writer is None:  # an input of the graph
        source, target = name, editor.add_tensor(f"{name}/rounded", tensor.shape, tensor)
        near = editor.readers(name)[0]
        editor.rename_uses(name, target)
    else:
        source, target = editor.add_tensor(f"{name}/real", tensor.shape, tensor), name
        near, node = writer, editor.node(writer)
        editor.update(writer, outputs=tuple(source if n == name else n for n in node.outputs))
    unary = Node(
        editor.fresh_node(f"{name}/round"),
        "Unary",
        (source,),
        (target,),
        epilogue=Epilogue(before=function),
        origin=editor.node(near).origin,
    )
    editor.insert(near, unary)
