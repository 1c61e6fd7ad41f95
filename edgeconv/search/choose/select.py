"""From an optimised graph to kernel calls."""

from __future__ import annotations

from collections.abc import Callable, Collection, Mapping
from dataclasses import replace
from math import inf

from edgeconv.base.errors import UsageError
from edgeconv.base.names import did_you_mean
from edgeconv.base.registry import lookup
from edgeconv.ir.candidate import EXACTLY, FLOAT, OPERANDS
from edgeconv.ir.check import check
from edgeconv.ir.choice import Choice, Layer, Search
from edgeconv.ir.encoding import Encoding
from edgeconv.ir.filters import WEIGHTED
from edgeconv.ir.graph import Graph, Node
from edgeconv.ir.ports import free_ports
from edgeconv.ir.requantisation import EXACT
from edgeconv.ir.request import Described, Workspace
from edgeconv.ir.states import with_kept_states, with_own_layouts
from edgeconv.kernels.algorithms import algorithms as known
from edgeconv.kernels.algorithms import applicable
from edgeconv.kernels.algorithms.base import Algorithm
from edgeconv.kernels.algorithms.digits import with_input_roundings
from edgeconv.kernels.algorithms.product_sums import PRODUCT
from edgeconv.kernels.algorithms.scaling import common_scaling, with_shift
from edgeconv.kernels.algorithms.widening import widened
from edgeconv.kernels.ops.attention import ATTENTION
from edgeconv.kernels.ops.softmax import SOFTMAX
from edgeconv.search.choose.arena_limit import Room
from edgeconv.search.choose.bit_for_bit import require
from edgeconv.search.choose.channel_sums import with_channel_sums
from edgeconv.search.choose.float16 import with_float16
from edgeconv.search.choose.known_calls import KNOWN
from edgeconv.search.choose.layouts import assign
from edgeconv.search.choose.prices import Known
from edgeconv.search.choose.product_places import with_places
from edgeconv.search.choose.storage import (
    EVERY_LAYER,
    EVERY_RESULT,
    NO_RESULT,
    by_kind,
    encodings_for,
    has_storage,
    lossless,
    store_tensors,
    store_weights,
)
from edgeconv.search.choose.winograd import (
    LAYER_ERROR,
    Forms,
    asked_for,
    forms_within,
    with_winograd_forms,
)
from edgeconv.target.price import Machine
from edgeconv.target.targets import Target


def _force_algorithms(graph: Graph, wanted: Mapping[str, str], target: Target) -> Graph:
    """Note the algorithms that the user asked for by layer name on their Conv nodes, and formats of
    filters that these need where the node has none.

    ``*`` stands for every convolution that is not named itself and that its algorithm applies to.
    """
    convs = {node.name: node for node in graph.nodes if node.op == "Conv"}
    for layer, name in wanted.items():
        lookup("convolution algorithm", name, known())
        if layer not in convs and layer != EVERY_LAYER:
            raise UsageError(
                "--algorithm names no convolution", got=repr(layer), hint=did_you_mean(layer, convs)
            )
    forced = {
        name: _with(convs[name], graph, known()[wanted[name]]) for name in wanted if name in convs
    }
    if EVERY_LAYER in wanted:
        forced = _everywhere(graph, known()[wanted[EVERY_LAYER]], target) | forced
    return replace(graph, nodes=tuple(forced.get(node.name, node) for node in graph.nodes))


def _in_integers(wanted: Mapping[str, str]) -> dict[str, str]:
    """The algorithms of ``wanted`` that compute in integers: they apply where results are stored
    so."""
    what = "convolution algorithm"
    return {
        layer: name
        for layer, name in wanted.items()
        if lookup(what, name, known()).compute in EXACTLY
    }


def _with(node: Node, graph: Graph, entry: Algorithm) -> Node:
    """``node`` to be computed by ``entry``, its filters in what that needs."""
    if entry.compute in EXACTLY:
        node = widened(node, graph) or node
    asked = replace(node.request, algorithm=entry.name)
    if entry.compute not in (FLOAT, *EXACTLY) and not has_storage(node):
        asked = replace(asked, storage=OPERANDS[entry.compute])
    return replace(node, request=asked)


def _everywhere(graph: Graph, entry: Algorithm, target: Target) -> dict[str, Node]:
    """Every convolution that ``entry`` applies to and that has no other asked for, with it;
    EdgeconvError when there is none."""
    convs = [
        _with(node, graph, entry)
        for node in graph.nodes
        if node.op == "Conv" and not node.request.algorithm
    ]
    forced = {
        node.name: node
        for node in convs
        if any(found.algorithm == entry.name for found in applicable(node, graph, target))
    }
    if convs and not forced:
        raise UsageError(
            "--algorithm applies to no convolution",
            got=repr(f"{EVERY_LAYER}={entry.name}"),
            rule=entry.requires,
        )
    return forced


def select(
    graph: Graph,
    target: Target,
    *,
    io: str = "caller",
    algorithms: Mapping[str, str] | None = None,
    storage: Mapping[str, str] | None = None,
    truncate: bool = False,
    integers: frozenset[str] | None = NO_RESULT,
    workspace: Mapping[str, Workspace] | None = None,
    machine: Machine | None = None,
    winograd_forms: Forms | None = None,
    flash: float = inf,
    known: Known | None = None,
    room: Room | None = None,
    any_layout: bool = False,
    described: Mapping[str, Described] | None = None,
    float16: Collection[str] = (),
) -> Choice:
    """Choose layouts and kernels for ``target``.

    ``io`` says whether inputs and outputs lie in the arena ("arena") or in the caller's memory.
    ``algorithms`` maps layer names to convolution algorithms that must be used (results are stored
    in integers wherever they can be, if one of these computes in them), ``storage`` to the
    formats of their filters, and with ``:output`` behind a layer's name to that of its result; with
    ``truncate`` filters in other formats than float32 are truncated rather than rounded.
    ``integers`` names the layers whose results are stored as the int8 that a quantised model has
    rounded them to (``*``: all; None: those where that is cheaper), unless ``storage`` says
    otherwise.  ``workspace`` maps layer names (``*``: all others) to the workspace that their
    convolutions and products may take.  ``machine``:
    what prices are asked of, the target's unless given; where it states energies, these are made
    small instead of times.
    ``winograd_forms``: the forms of Winograd that layers may be computed in, by name; None: those
    alone that ``algorithms`` asks it of, in all forms that are accurate enough for a layer.
    ``flash``: bytes that the constants of all layers may take; more where nothing takes so few.
    ``room``: of the arena, what all that is chosen needs at most; the same.
    ``known``: prices that other choices for this target and machine share.
    ``any_layout``: inputs and outputs have whatever layout is best, of those that pad nothing.
    ``described``: what is known of the kernel calls of layers, by their names, from the report of a
    choice that is made again; where a layer cannot be that, it is chosen as ever.
    ``float16``: layers to compute on vectors of it, where they can be (``*``: all).
    Raises EdgeconvError for an operator without a kernel, for an algorithm that does not apply, and
    as `store_weights`, `store_tensors` and `bit_for_bit.require` do.
    """
    graph = with_input_roundings(with_kept_states(graph))
    if winograd_forms is None:
        asked = asked_for(graph, algorithms or {})
        winograd_forms = forms_within(graph, dict.fromkeys(asked, LAYER_ERROR))
    allowed = with_winograd_forms(graph, winograd_forms)
    wanted = algorithms or {}
    by_integers = _in_integers(wanted)
    others = {layer: name for layer, name in wanted.items() if layer not in by_integers}
    forced = _force_algorithms(allowed, others, target)
    filters, outputs = by_kind(forced, storage or {})
    stored = store_weights(forced, filters)
    if graph.requantise != EXACT or by_integers:
        integers = EVERY_RESULT
    able = {} if EVERY_LAYER in outputs else lossless(stored)
    free = encodings_for(stored, able.keys() - outputs.keys()) if integers is None else {}
    kept = {name: form for name, form in able.items() if {name, EVERY_LAYER} & (integers or set())}
    outputs = {**kept, **outputs}
    stored = _force_algorithms(store_tensors(stored, outputs), by_integers, target)
    stored = with_float16(stored, target, float16)
    limited = _requested(stored, workspace or {}, described or {}, truncate=truncate)
    ports = free_ports(limited) if any_layout else frozenset[str]()

    def assigned(graph: Graph) -> tuple[Graph, Search]:
        given = {name: each for name, each in free.items() if name in graph.tensors}
        return assign(graph, target, machine, given, flash, known, room, ports)

    decided, search = _without_copies(limited, target, free, assigned)
    decided = check(with_shift(with_own_layouts(decided), target), "choose")
    layers = tuple(lowered(node, decided, target) for node in decided.nodes)
    scaling = common_scaling(layers)
    if any(layer.scaling not in ("", scaling) for layer in layers) or (
        scaling and decided.scaling not in ("", scaling)
    ):
        decided = replace(decided, scaling=scaling)
        layers = tuple(lowered(node, decided, target) for node in decided.nodes)
    made = Choice(
        decided,
        layers,
        target.name,
        target.align,
        io,
        search=search,
        line_bytes=target.line_bytes,
        in_order=target.in_order,
    )
    require(made)
    return made


def _without_copies(
    graph: Graph,
    target: Target,
    free: Mapping[str, Encoding],
    assigned: Callable[[Graph], tuple[Graph, Search]],
) -> tuple[Graph, Search]:
    """What is cheapest: ``graph`` as it is, or with sums of int8 that are divided by channel as
    they are made, and with products in integers that do without copies around them, all that can
    or those alone that are in integers in any case."""
    able = with_channel_sums(with_places(graph, target, free), free)
    if able is graph:
        return assigned(graph)
    if any(node.request.described for node in graph.nodes):
        return assigned(able)
    plain, all_able = assigned(graph), assigned(able)
    if all_able[1].cost < plain[1].cost:
        return all_able
    whole = {node.name for node in plain[0].nodes if node.op == PRODUCT and node.request.integers}
    stored = {name: plain[0][name].storage for name in free if name in plain[0].tensors}
    some = with_places(graph, target, stored, lambda node: node.name in whole)
    return plain if some is graph else min(plain, assigned(some), key=lambda each: each[1].cost)


def _requested(
    graph: Graph,
    limits: Mapping[str, Workspace],
    described: Mapping[str, Described],
    *,
    truncate: bool,
) -> Graph:
    """Ask these workspaces of the nodes that have candidates of several sizes, and of all nodes
    what is known of their kernel calls and how filters are rounded."""
    nodes = []
    for node in graph.nodes:
        known = described.get(node.name)
        asked = replace(node.request, described=known, truncate=truncate)
        limit = limits.get(node.name, limits.get(EVERY_LAYER))
        if limit is not None and node.op in (*WEIGHTED, ATTENTION, SOFTMAX):
            asked = replace(asked, workspace=limit)
        nodes.append(replace(node, request=asked))
    return replace(graph, nodes=tuple(nodes))


def lowered(node: Node, graph: Graph, target: Target) -> Layer:
    """The kernel call of a node of an operator that has kernels (`assign` refuses all others)."""
    return KNOWN.call(node, graph, target)
