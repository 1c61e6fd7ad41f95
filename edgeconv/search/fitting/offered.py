"""The storage formats on offer for a network, and what they would take: plans of one format
everywhere.  What they do to the outputs is measured elsewhere."""

from __future__ import annotations

from collections.abc import Callable, Collection, Mapping, Sequence
from dataclasses import dataclass

import numpy as np

from edgeconv.base.progress import Progress, no_progress
from edgeconv.ir.choice import Choice
from edgeconv.ir.filters import WEIGHTED, decodes
from edgeconv.ir.graph import Graph
from edgeconv.ir.memory import MemoryMap
from edgeconv.kernels.storage import formats
from edgeconv.kernels.storage.base import FLOAT32
from edgeconv.search.budget.derive import Noises, tables, uniform
from edgeconv.search.budget.tables import Tables
from edgeconv.search.choose.storage import OUTPUT, ROUNDED, by_kind, storable, tensor_formats
from edgeconv.search.choose.storage import weight_formats as of_weights
from edgeconv.target.board import Board

Offers = Mapping[str, Sequence[str]]  # by layer or tensor: names of formats


@dataclass(frozen=True, slots=True)
class FormatPlan:
    """A choice with its memory, in bytes.

    ``ram``: all that counts against the budget.  ``weights``: the image; ``code``: what else counts
    against the budget of flash, as far as that is known.  ``ram_missing``: what the board's regions
    lack.
    """

    choice: Choice
    memory: MemoryMap
    ram: int
    weights: int
    code: int
    ram_missing: int


Lower = Callable[[Graph, Mapping[str, str]], FormatPlan]


@dataclass(frozen=True, slots=True)
class Offered:
    """The storage formats on offer.  ``weights``: formats by layer with filters, ``results``: by
    tensor that can be stored.

    ``storable``: the tensors that may be in any format but ``kept``.
    """

    weights: Offers
    results: Offers
    storable: tuple[str, ...]

    @property
    def any(self) -> bool:
        """Whether something has formats to choose from."""
        every = (*self.weights.values(), *self.results.values())
        return any(len(forms) > 1 for forms in every)


def offered(
    graph: Graph,
    storage: Mapping[str, str],
    kept: Collection[str] = (),
    among: Collection[str] | None = None,
) -> Offered:
    """What there is to choose from where the user gives ``storage``; the results ``kept`` have
    formats that lose nothing.  ``among``: formats of filters, which alone are looked at."""
    filters, outputs = by_kind(graph, storage)
    able = tuple(name for name in storable(graph) if name not in kept)
    results = {} if among is not None else _results(graph, able, outputs)
    return Offered(_weights(graph, filters, among), results, able)


def _weights(
    graph: Graph, given: Mapping[str, str], among: Collection[str] | None
) -> dict[str, list[str]]:
    """By layer: the formats to choose from, the one that the user gives, or none where the model
    has its own.  Of recurrent layers these are the weights of the state, of which ``among`` has
    none: a model that is saved has those as it is quantised."""
    found: dict[str, list[str]] = {}
    known = [name for name in of_weights() if among is None or name in among]
    for node in graph.nodes:
        if not decodes(node, graph) or (among is not None and node.op not in WEIGHTED):
            continue
        named = given.get(node.name, given.get("*"))
        if named:
            found[node.name] = [named]
        elif "storage" not in node.attrs:
            finite = bool(np.isfinite(graph[node.inputs[1]].constant()).all())
            found[node.name] = [FLOAT32, *_coarser(known, units=finite)]
    return found


def _results(graph: Graph, able: Sequence[str], given: Mapping[str, str]) -> dict[str, list[str]]:
    writers = graph.producers()
    found = {}
    for name in able:
        named = given.get(writers[name].name, given.get("*"))
        coarser = [FLOAT32, *_coarser(tensor_formats(), units=True)]
        # Those that int8 is possible for are not among them.
        found[name] = [named] if named and named not in ROUNDED.values() else coarser
    return found


def _coarser(known: Collection[str], *, units: bool) -> list[str]:
    """The formats of fewer bits than float32, most bits first; ``units``: those with units too."""
    forms = [formats()[name] for name in known if name != FLOAT32]
    kept = [form for form in forms if units or form.units is None]
    return [form.name for form in sorted(kept, key=lambda form: (-form.bits, form.name))]


def silent(offers: Offers) -> Noises:
    """No noise, whatever the format: what is best then is a bound of what is best with it."""
    return {name: dict.fromkeys(forms, 0.0) for name, forms in offers.items()}


def tables_of(
    graph: Graph,
    board: Board,
    lower: Lower,
    weights: Noises,
    results: Noises,
    storable: Collection[str],
    progress: Progress = no_progress,
) -> Tables:
    """Everything that the integer program chooses from, ``lower`` being asked for a plan of each
    format; beside arena and weights nothing."""
    writers = graph.producers()
    keys = {name: writers[name].name + OUTPUT for name in results}
    by_format = {}
    named = {form for forms in weights.values() for form in forms} | {FLOAT32}
    for form in [FLOAT32, *sorted(named - {FLOAT32})]:
        progress(f"planning with filters in {form}")
        by_format[form] = uniform(lower(graph, dict.fromkeys(weights, form)).choice, board)
    by_tensor_format = {}
    for form in sorted({form for forms in results.values() for form in forms} - {FLOAT32}):
        progress(f"planning with results in {form}")
        plan = lower(graph, dict.fromkeys(keys.values(), form))
        by_tensor_format[form] = uniform(plan.choice, board)
    return tables(
        by_format,
        weights,
        activations=by_tensor_format,
        activation_noise=results,
        storable=storable,
    )
