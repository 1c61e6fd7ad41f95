"""A float32 network quantised to int8 by samples: as a model file, and as it is read back from
that."""

from __future__ import annotations

from collections.abc import Callable, Mapping
from dataclasses import dataclass, replace
from pathlib import Path

from edgeconv.app.deciding.planning import Decision
from edgeconv.base.errors import UsageError
from edgeconv.base.progress import Progress, no_progress
from edgeconv.ir.graph import Graph
from edgeconv.ir.states import with_integer_states
from edgeconv.model import frontend, passes
from edgeconv.model.frontend.fingerprint import sha256
from edgeconv.model.frontend.saving import save
from edgeconv.report import accuracy
from edgeconv.report.measured_accuracy import measured_notes
from edgeconv.search.budget.tables import Objective
from edgeconv.search.calibration import samples
from edgeconv.search.calibration.metric import metric_of
from edgeconv.search.calibration.samples import require_labels
from edgeconv.search.calibration.sqnr import Accuracy
from edgeconv.search.choose.storage import INT8, by_kind
from edgeconv.search.options import CompileOptions
from edgeconv.search.quantising import pretended
from edgeconv.search.quantising.accepted import require_quantisable
from edgeconv.search.quantising.effort import EFFORTS, FAST, THOROUGH
from edgeconv.search.quantising.gains import gains_note
from edgeconv.search.quantising.layers import QuantisedLayer, layers_of
from edgeconv.search.quantising.quantiser import Quantiser

ENDING = "_int8.onnx"  # of the file, behind the program's prefix


@dataclass(frozen=True, slots=True, eq=False)
class Int8Model:
    """A float32 network quantised to int8.  ``graph``: with the name and the hash of the float32
    model.  ``data``: the file of the network with QuantizeLinear and DequantizeLinear, of hash
    ``sha256``.  ``accuracy``: against float32.  ``source``: words for the samples.  ``gains``: a
    note of what made it so accurate.  ``layers``: what each lost and gained,
    where that is known.  ``held_back``: every so many samples ``accuracy`` is measured on."""

    graph: Graph
    data: bytes
    sha256: str
    accuracy: Accuracy
    source: str
    gains: tuple[str, ...] = ()
    layers: tuple[QuantisedLayer, ...] = ()
    held_back: int = EFFORTS[THOROUGH].held_back

    def into(
        self,
        decided: Decision,
        objective: str,
        given: CompileOptions | None = None,
        of: str = "the network that the program computes is in",
    ) -> Decision:
        """The decisions, saying which model its layers are held to, and what that costs.

        ``given``: what the user asks for, where the decisions are about less; ``of``: words for
        what the file has.
        """
        given = given or decided.options
        options = replace(given, objective=objective)
        name = f"{decided.options.prefix}{ENDING}"
        layers = [each.to_json() for each in self.layers]
        about = {"file": name, "sha256": self.sha256, "layers": layers}
        model = {**decided.report["model"], "int8": about}
        report = accuracy.with_measured(
            {**decided.report, "model": model}, self.accuracy, options, self.source
        )
        asked = given.samples_option
        made = f"quantised to int8 by samples: {of} {name}"
        notes = (
            *decided.notes,
            made,
            *self.gains,
            *measured_notes(self.accuracy, self.source, option=asked, held_back=self.held_back),
        )
        return replace(
            decided, report=report, notes=notes, files={**decided.files, name: self.data}
        )


def is_requested(options: CompileOptions, graph: Graph) -> bool:
    """Whether the user names results that are to be int8."""
    return INT8 in by_kind(graph, options.storage)[1].values()


def require_possible(graph: Graph, options: CompileOptions) -> None:
    """Raises EdgeconvError where the user asks for an int8 network, and there can be none."""
    require_quantisable(graph, options.model.name)
    if options.truncate:
        raise UsageError(
            "--int8 together with --rounding truncate",
            rule="what a network is quantised to is rounded to nearest",
            hint="leave --rounding out",
        )


def pretended_int8(
    graph: Graph,
    storage: Mapping[str, str],
    kept: frozenset[str] = frozenset(),
) -> Graph:
    """``graph`` with grids of no meaning: what it would take if it were int8 but for ``kept``."""
    return passes.optimise(pretended(graph, storage, kept))


def saved_by_layer(plain: Decision, pretended: Decision, objective: Objective) -> dict[str, float]:
    """What a layer is predicted to take less in integers: of time, or bytes of filters."""
    now, then = (by_layer(each, objective) for each in (plain, pretended))
    return {name: value - then[name] for name, value in now.items() if name in then}


def by_layer(decided: Decision, objective: Objective) -> dict[str, float]:
    """What every layer takes of what is to be small."""
    layers = [decided.choice.layers[index] for index in decided.memory.order]
    if objective is Objective.MEMORY:
        return {each.node.name: sum(blob.bytes for blob in each.blobs) for each in layers}
    pairs = zip(layers, decided.predicted.layers, strict=True)
    return {each.node.name: predicted.price for each, predicted in pairs}


def quantiser_of(
    graph: Graph,
    options: CompileOptions,
    progress: Progress = no_progress,
    kept: frozenset[str] = frozenset(),
) -> Quantiser:
    """What quantises ``graph`` but for the tensors ``kept``, by the samples of ``options``.  Raises
    EdgeconvError for samples or a metric that cannot be used."""
    assert options.calibration
    found = samples.load(options.calibration, graph)
    metric = metric_of(options.metric or None)
    if metric is None:
        require_labels(found, options.max_drop, options.samples_option)
    effort = EFFORTS[FAST if options.int8 else THOROUGH]
    return Quantiser(graph, found, options.storage, progress, kept, effort, metric)


def make(
    quantiser: Quantiser,
    graph: Graph,
    folder: Path,
    keeps: Callable[[Accuracy], bool],
    saved: Mapping[str, float],
) -> Int8Model | None:
    """``graph`` quantised to int8 as a file in ``folder``, which must stay while the result is in
    use; None where no layer can be.  ``keeps`` and ``saved``: as `Quantiser.within` takes them."""
    found = quantiser.within(keeps, saved)
    if found is None:
        return None
    source, gains = quantiser.samples.source, gains_note(quantiser.gains)
    made = as_file(found.graph, folder / "int8.onnx", graph, found.accuracy, source, gains)
    layers = layers_of(quantiser.graph, found, quantiser.macs())
    return replace(made, layers=layers, held_back=quantiser.effort.held_back)


def as_file(
    made: Graph,
    path: Path,
    graph: Graph,
    accuracy: Accuracy,
    source: str,
    gains: tuple[str, ...],
) -> Int8Model:
    """``made`` of the float32 network ``graph``, written to ``path`` and read back."""
    save(made, path)
    loaded = replace(frontend.load(path, loops=False), states=graph.states)
    read = passes.optimise(with_integer_states(loaded))
    named = replace(read, name=graph.name, sha256=graph.sha256, notes=graph.notes)
    return Int8Model(named, path.read_bytes(), sha256(path), accuracy, source, gains)
