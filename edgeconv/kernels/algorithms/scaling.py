"""How the sums of a network's layers are scaled: all alike, since kernels have but one scaling."""

from __future__ import annotations

import math
from collections import Counter
from collections.abc import Callable, Hashable, Iterable, Iterator, Mapping
from dataclasses import replace

from edgeconv.ir.choice import Layer
from edgeconv.ir.graph import Graph, Node
from edgeconv.ir.requantisation import EXACT, TFLITE, Form
from edgeconv.ir.requantisation.forms import Fixed
from edgeconv.ir.requantisation.scalings import (
    OWN_SHIFT,
    TIES,
    TWICE,
    right_of,
    scaled_as,
    scaling_for,
    shifted,
    widest,
    words_of,
)
from edgeconv.kernels.algorithms.product_sums import PRODUCT, form_of_product
from edgeconv.kernels.algorithms.sums import facts_of, form_of, is_depthwise, larger_of, pair_of
from edgeconv.kernels.algorithms.widening import is_asymmetric
from edgeconv.target.targets import DSP, HELIUM, Target

FORMS: Mapping[str, Callable[[Node, Graph], Form | None]] = {
    "Conv": form_of,
    "Dense": form_of,
    PRODUCT: form_of_product,
}
_BITS_JOINED = 8  # by which the sum of the second filter of a pair is larger
_MOST = 64  # graphs whose scalings are kept, with what they depend on
_known: dict[Hashable, tuple[object, str]] = {}


def scaling_of(graph: Graph) -> str:
    """The one that has the words of all layers of ``graph`` that can be computed in integers,
    whether they are or not, and of the one that is stated."""
    if graph.requantise == TFLITE:
        return TWICE
    read = tuple(_read(graph))
    key = (*map(id, read), graph.scaling, graph.requantise)
    if key not in _known:
        if len(_known) >= _MOST:
            _known.pop(next(iter(_known)))
        forms = {
            id(node): form
            for node in graph.nodes
            if node.op in FORMS and (form := FORMS[node.op](node, graph))
        }
        summed = [node for node in graph.nodes if id(node) in forms]
        pairs = (pair_of(node, graph) for node in summed if not node.epilogue.is_only_before)
        tied = any(pair and pair.ties for pair in pairs)
        right = right_of(graph.scaling)
        if right and not tied and all(_shifts(n, graph, forms[id(n)], right) for n in summed):
            found = graph.scaling
        else:
            found = TIES if tied else scaling_for(forms.values())
            found = widest(each for each in (found, graph.scaling) if each)
        _known[key] = read, found
    return _known[key][1]


def with_shift(graph: Graph, target: Target) -> Graph:
    """``graph``, which states that all sums are shifted by as much (`scalings.shifted`) where loops
    of ``target`` gain by that, and it can be.

    Depthwise layers follow the others: their filters have bits to spare (`sums.Larger`).
    """
    gains = target.is_scalar and DSP in target.features and HELIUM not in target.features
    if not gains or graph.requantise != EXACT or graph.scaling:
        return graph
    forms = {
        id(node): form
        for node in graph.nodes
        if node.op in FORMS and (form := FORMS[node.op](node, graph))
    }
    if not all(isinstance(form, Fixed) for form in forms.values()):
        return graph
    counts = Counter[int]()
    for node in graph.nodes:
        if id(node) in forms and not is_depthwise(node, graph):
            counts[forms[id(node)].right] += math.prod(graph[node.output].shape)
    # A layer that could be shifted by a bit more can mostly do without it.
    for right in sorted(counts, key=lambda bits: -counts[bits] - counts[bits + 1]):
        stated = shifted(right)
        if scaling_of(replace(graph, scaling=stated)) == stated:
            return replace(graph, scaling=stated)
    return graph


def scaling_of_layer(node: Node, graph: Graph) -> str:
    """The scaling of one layer: as of the whole ``graph``, or `OWN_SHIFT`."""
    found = scaling_of(graph)
    right = right_of(found)
    if not right or node.op not in FORMS or is_depthwise(node, graph):
        return found
    form = FORMS[node.op](node, graph)
    return found if form is None or form.right == right else OWN_SHIFT


def _shifts(node: Node, graph: Graph, form: Form, right: int) -> bool:
    """Whether kernels compute ``form`` where words of others are shifted by ``right`` bits: with
    filters that are joined, whose sums are 256 times as large, each by its own as well."""
    if not isinstance(form, Fixed) or node.op == PRODUCT:
        return isinstance(form, Fixed) and form.right == right
    if is_depthwise(node, graph):
        return larger_of(node, graph) is not None
    facts = facts_of(node, graph)
    joins = facts.joins and not is_asymmetric(node.storage)
    return facts.spare_bits >= _BITS_JOINED if joins else form.right == right


def _read(graph: Graph) -> Iterator[object]:
    """What scalings depend on: the nodes, and what elements of their tensors are, not where they
    lie, in which graphs differ that a search for layouts or rings of rows makes of one."""
    for node in graph.nodes:
        if node.op in FORMS:
            yield node
            for name in (*node.reads(), *node.outputs):
                tensor = graph.tensors[name]
                yield tensor.storage if tensor.data is None else tensor.data


def common_scaling(layers: Iterable[Layer]) -> str:
    """The one that has the words of all ``layers``; "" where none is computed in integers."""
    return widest(layer.scaling for layer in layers if layer.scaling)


def scaling_words(graph: Graph) -> int:
    """How many words kernels read of every channel."""
    return words_of(scaling_of(graph))


def scaled_form(node: Node, graph: Graph) -> Form:
    """The form of a node that has one, in the words of the network's scaling."""
    form = FORMS[node.op](node, graph)
    assert form is not None, node.name
    return scaled_as(form, scaling_of(graph))
