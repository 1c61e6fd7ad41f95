"""Which layers may be computed by Winograd's algorithm: those with which the network's outputs stay
within ``--winograd-error``, as measured on samples when compiling."""

from __future__ import annotations

import math
from collections.abc import Callable, Iterable, Iterator, Sequence
from dataclasses import dataclass
from functools import partial

from edgeconv.app.deciding.output_error import OutputError, without_rounding
from edgeconv.base.arguments import DEFAULT_TOLERANCE
from edgeconv.base.errors import EdgeconvError
from edgeconv.base.progress import Progress, no_progress
from edgeconv.ir.candidate import HALF
from edgeconv.ir.choice import Choice
from edgeconv.ir.filters import WEIGHTED
from edgeconv.ir.graph import Graph, Node
from edgeconv.ir.winograd_form import Nested
from edgeconv.kernels.algorithms.packing import weights_of
from edgeconv.kernels.algorithms.winograd.forms import error_of
from edgeconv.kernels.algorithms.winograd.lower import promised_error
from edgeconv.report.document import Report
from edgeconv.report.numbers import finite
from edgeconv.search.budget.tables import Objective
from edgeconv.search.calibration import samples
from edgeconv.search.choose.winograd import (
    LAYER_ERROR,
    NAME,
    Forms,
    asked_for,
    convolutions,
    forms_within,
)
from edgeconv.search.options import CompileOptions

DEFAULT_ERROR = 1e-3  # of --winograd-error
# What is promised of other inputs, over what was measured.
MARGIN = 2.0
_MOST_SAMPLES = 2  # of the user's
_ATTEMPTS = 6
# Of the runs that tell which layers' errors are too large, in each attempt.
_MOST_MACS = 1e11


@dataclass(frozen=True, slots=True)
class Measured:
    """The measured error of Winograd's algorithm.  ``error``: of the outputs, in parts of the
    largest, with every layer in the least accurate form that it is allowed; on so many samples of
    ``source``."""

    error: float
    samples: int
    source: str

    @property
    def rounded(self) -> float:
        """``error`` to one digit, rounded up: the next ones are the machine's."""
        if not self.error or not math.isfinite(self.error):
            return self.error
        digit = 10.0 ** math.floor(math.log10(self.error))
        return float(f"{math.ceil(self.error / digit) * digit:.0e}")


class WinogradDecision:
    """The forms of a network's layers: measured once, when it is first computed so."""

    def __init__(
        self,
        options: CompileOptions,
        progress: Progress = no_progress,
        *,
        bare_metal: bool = False,
        measure: bool = True,
    ) -> None:
        """``measure``: the error at the outputs, else only those of layers count."""
        self.options, self.progress, self.bare_metal = options, progress, bare_metal
        self.measured: Measured | None = None
        self._settled = not measure
        self._unknown = ""  # why the error at the outputs is
        self._own: dict[str, float] = {}  # limits of layers for the sake of the outputs

    @property
    def limit(self) -> float:
        """The limit of the error at the outputs."""
        given = self.options.winograd_error
        return DEFAULT_ERROR if given is None else given

    def forms(self, graph: Graph, among: frozenset[str] | None = None) -> Forms:
        """The forms that layers may have: ``among`` these (None: all), and those that the user
        names.

        Where RAM and flash are to be small or there is no operating system, and of layers whose
        filters a quantised model has as integers, these alone, unless ``--winograd-error`` is
        given: filters take up to 64/9 of their flash.
        """
        layers = convolutions(graph)
        allowed = asked_for(graph, self.options.algorithms)
        if not self._unknown and not self.waits:
            free = {node.name for node in layers if self._is_free(node)}
            allowed |= free if among is None else free & among
        allowed &= {node.name for node in layers}
        most = min(LAYER_ERROR, self.limit)
        return forms_within(graph, {name: min(most, self._own.get(name, most)) for name in allowed})

    @property
    def waits(self) -> bool:
        """Whether layers that nobody names have forms only with ``--winograd-error``."""
        small = self.bare_metal or self.options.objective == Objective.MEMORY.value
        return small and self.options.winograd_error is None

    def _is_free(self, node: Node) -> bool:
        """Whether it has forms by default: its filters are float32 in the model."""
        return "storage" not in node.attrs or self.options.winograd_error is not None

    def settle(self, graph: Graph, choice: Choice) -> bool:
        """Hold the outputs of ``graph`` to the limit, if ``choice`` is the first one of it with
        such layers; whether other forms are allowed since.

        Raises EdgeconvError where ``--winograd-error`` is given and nothing here runs the network:
        as `NetworkRun`.
        """
        own = (layer for layer in choice.layers if layer.compute != HALF)
        if self._settled or not any(layer.algorithm == NAME for layer in own):
            return False
        self._settled, before = True, self.forms(graph)
        self.progress("measuring the error of Winograd's algorithm at the outputs")
        given = samples.load(self.options.calibration, graph)
        try:
            self._measure(graph, given)
        except EdgeconvError as error:
            if self.options.winograd_error is not None:
                raise
            self._unknown = str(error)
        return self.forms(graph) != before

    def _measure(self, graph: Graph, given: samples.Samples) -> None:
        """Limit layers until the outputs are within the limit, with ``MARGIN`` for other inputs.

        A number that is rounded to another step moves outputs further than any such error: what a
        quantised network computes is looked at without its roundings.
        """
        graph = without_rounding(graph)
        some = given.at_most(_MOST_SAMPLES if given.promised else 1)
        source = given.source if given.promised else "seeded inputs"
        nodes = {node.name: node for node in convolutions(graph)}

        def own_error(name: str, form: Nested) -> float:
            node = nodes[name]
            return error_of(form, weights_of(node, graph), node.attrs["strides"])

        with OutputError(graph, list(nodes.values()), [*some], self.progress) as outputs:
            self._limit_layers(graph, nodes, outputs, own_error, len(some), source)

    def _limit_layers(
        self,
        graph: Graph,
        nodes: Iterable[str],
        outputs: OutputError,
        own_error: Callable[[str, Nested], float],
        count: int,
        source: str,
    ) -> None:
        """As `_measure`, by what ``outputs`` measures on ``count`` samples of ``source``."""
        for attempt in range(_ATTEMPTS):
            forms = {
                name: max(allowed, key=partial(own_error, name))
                for name, allowed in self.forms(graph).items()
            }
            errors = outputs.errors(forms)
            error = outputs.with_errors(errors)
            self.measured = Measured(error, count, source)
            if MARGIN * self.measured.rounded <= self.limit:
                return
            share = self.limit / MARGIN / 2 ** (attempt + 1) / len(forms)
            for names in _groups(list(forms), count * macs_of(graph)):
                together = outputs.with_errors([{n: each[n] for n in names} for each in errors])
                if together > share * len(names):
                    for name in names:
                        own = own_error(name, forms[name])
                        self._own[name] = own * share * len(names) / together
        self._own = dict.fromkeys(nodes, 0.0)

    def into(self, report: Report, choice: Choice) -> Report:
        """``report``, with what is promised of the outputs, and the error of every layer of
        ``choice`` that is computed so."""
        errors = {
            layer.node.name: float(f"{promised_error(layer, choice.graph):.2g}")
            for layer in choice.layers
            if layer.algorithm == NAME and layer.compute != HALF
        }
        if not errors:
            return report
        found = self.measured
        whole = {
            "limit": self.limit,
            "promised": self.promised,
            "measured": found and finite(found.rounded),
            "samples": found.samples if found else 0,
            "source": found.source if found else None,
        }
        layers = [
            {**layer, "error": errors[layer["name"]]} if layer["name"] in errors else layer
            for layer in report["layers"]
        ]
        return {**report, "winograd": whole, "layers": layers}

    @property
    def notes(self) -> tuple[str, ...]:
        """What the user should know."""
        return (_UNKNOWN + self._unknown,) if self._unknown else ()

    @property
    def promised(self) -> float:
        """The promised error of the outputs of the program, in parts of their largest: what any
        project is held to, or more where that was measured; no more than the limit."""
        measured = MARGIN * self.measured.rounded if self.measured else 0.0
        return min(self.limit, max(DEFAULT_TOLERANCE, measured))


def macs_of(graph: Graph) -> int:
    """Multiply-adds of the convolutions and dense layers of ``graph``."""
    layers = (node for node in graph.nodes if node.op in WEIGHTED)
    shapes = ((graph[node.inputs[1]].shape, graph[node.output].size) for node in layers)
    return sum(made * math.prod(filters[1:]) for filters, made in shapes)


def _groups(names: Sequence[str], macs: int) -> Iterator[Sequence[str]]:
    """Neighbouring layers that are measured together: each alone, or as few as there is time for
    runs of ``macs`` multiply-adds."""
    most = max(1, int(_MOST_MACS // max(macs, 1)))
    size = -(-len(names) // most)
    return (names[at : at + size] for at in range(0, len(names), size))


_UNKNOWN = "Winograd convolution was left out: its error at the outputs could not be measured: "
