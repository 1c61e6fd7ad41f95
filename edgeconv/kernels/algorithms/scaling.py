"""How the sums of a network's layers are scaled: all alike, since kernels have but one scaling."""

from __future__ import annotations

from collections.abc import Callable, Hashable, Iterable, Iterator, Mapping

from edgeconv.ir.choice import Layer
from edgeconv.ir.graph import Graph, Node
from edgeconv.ir.requantisation import TFLITE, Form
from edgeconv.ir.requantisation.scalings import TIES, TWICE, WORDS, scaled_as, scaling_for, widest
from edgeconv.kernels.algorithms.product_sums import PRODUCT, form_of_product
from edgeconv.kernels.algorithms.sums import form_of, pair_of

FORMS: Mapping[str, Callable[[Node, Graph], Form | None]] = {
    "Conv": form_of,
    "Dense": form_of,
    PRODUCT: form_of_product,
}
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
        found = TIES if tied else scaling_for(forms.values())
        found = widest(each for each in (found, graph.scaling) if each)
        _known[key] = read, found
    return _known[key][1]


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
    return WORDS[scaling_of(graph)]


def scaled_form(node: Node, graph: Graph) -> Form:
    """The form of a node that has one, in the words of the network's scaling."""
    form = FORMS[node.op](node, graph)
    assert form is not None, node.name
    return scaled_as(form, scaling_of(graph))
