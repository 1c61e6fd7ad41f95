"""``edgeconv quantise``: a float32 model as int8, in the QDQ format that other tools read."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass
from pathlib import Path
from typing import Any

from edgeconv.base import whole_file
from edgeconv.base.errors import EdgeconvError, UsageError, refused
from edgeconv.base.progress import Progress, no_progress
from edgeconv.ir.filters import WEIGHTED, filters_of
from edgeconv.ir.graph import Graph
from edgeconv.kernels.ops import operators
from edgeconv.model import frontend, passes
from edgeconv.model.frontend.saving import model_of, saved_by_us
from edgeconv.report.numbers import finite
from edgeconv.search.calibration import samples as calibration_samples
from edgeconv.search.calibration.sqnr import Accuracy
from edgeconv.search.quantising.effort import EFFORTS, FAST
from edgeconv.search.quantising.gains import gains_note
from edgeconv.search.quantising.grids import quantisable
from edgeconv.search.quantising.quantiser import Quantised, Quantiser
from edgeconv.target import board as boards

ANY_BOARD = "mps2-an500"  # whose kernels read and write int8 wherever any do


@dataclass(frozen=True, slots=True)
class QuantisedLayer:
    """A layer with filters.  ``int8``: whether it is quantised.  ``sqnr_db``: of its result against
    float32, None where that was not measured.  ``bytes`` of its filters and bias now, in float32
    ``bytes_before``."""

    name: str
    op: str
    macs_share: float
    int8: bool
    sqnr_db: float | None
    bytes: int
    bytes_before: int


@dataclass(frozen=True, slots=True)
class QuantisedModel:
    """What `quantise_model` wrote to ``path``, and what it costs on samples that nothing was fitted
    to.  ``source``: words for the samples."""

    path: Path
    layers: tuple[QuantisedLayer, ...]
    accuracy: Accuracy
    source: str
    notes: tuple[str, ...]

    def to_json(self) -> dict[str, Any]:
        """The document of ``--json``."""
        of_layer = ("name", "op", "int8", "sqnr_db", "bytes", "bytes_before")
        measured = self.accuracy
        return {
            "model": str(self.path),
            "sqnr_db": finite(measured.sqnr_db),
            "outputs": {name: finite(db) for name, db in measured.outputs.items()},
            "agreement": measured.agreement,
            "top1": measured.top1,
            "top1_drop": measured.top1_drop,
            "samples": measured.samples,
            "source": self.source,
            "layers": [{key: getattr(each, key) for key in of_layer} for each in self.layers],
            "notes": list(self.notes),
        }


def quantise_model(
    model: Path,
    samples: Path,
    output: Path,
    *,
    board: str = ANY_BOARD,
    storage: Mapping[str, str] | None = None,
    min_sqnr: float | None = None,
    max_drop: float | None = None,
    effort: str = FAST,
    progress: Progress = no_progress,
) -> QuantisedModel:
    """Quantise the float32 ``model`` to int8 by ``samples`` and write it to ``output``.

    ``samples``: an .npz file, an array per input and optionally `label`.  ``board``: whose kernels
    decide which results can be int8.  ``storage``: layers that are to stay as they are
    (``{"conv1": "float32"}``), as ``--storage`` takes them.  ``min_sqnr`` in dB and ``max_drop``, a
    share of the labels: where all layers lose more, those with the most multiply-accumulates that
    keep it.  Raises EdgeconvError: a model or samples that cannot be used, a file in the way that
    edgeconv has not written (exit status 2), limits that no layer keeps (1), no C compiler (3).
    """
    whole_file.require_replaceable(output, saved_by_us)
    progress("reading the model")
    graph = passes.optimise(frontend.load(model))
    _require_real(graph, model)
    found = calibration_samples.load(samples, graph)
    calibration_samples.require_labels(found, max_drop, "--samples")

    def keeps(measured: Accuracy) -> bool:
        quiet = min_sqnr is None or measured.keeps(min_sqnr)
        return quiet and (max_drop is None or measured.loses_at_most(max_drop))

    target = boards.load(board).target
    given = dict(storage or {})
    with Quantiser(graph, target, found, given, progress, effort=EFFORTS[effort]) as quantiser:
        macs = {
            name: float(operators()[node.op].macs(node, quantiser.engine.graph))
            for name, node in quantiser.engine.layers.items()
        }
        made = quantiser.within(keeps, macs)
        if made is None:
            raise EdgeconvError(
                "no layer can be int8 within these limits",
                where=str(model),
                rule=f"on {found.source}",
                hint="allow more with --min-sqnr or --max-drop, or give samples as in training",
            )
        notes = gains_note(quantiser.gains)
    progress("writing the model")
    with refused("cannot write the model", output, kind=UsageError):
        whole_file.replace(output, model_of(made.graph).SerializeToString(deterministic=True))
    layers = _layers(graph, made, macs)
    return QuantisedModel(output, layers, made.accuracy, found.source, notes)


def _require_real(graph: Graph, model: Path) -> None:
    if quantisable(graph):
        return
    weighted = any(node.op in WEIGHTED for node in graph.nodes)
    raise EdgeconvError(
        "nothing to quantise",
        where=str(model),
        rule="it is quantised already" if weighted else "it has no convolution or dense layer",
        hint="compile it as it is",
    )


def _layers(graph: Graph, made: Quantised, macs: Mapping[str, float]) -> tuple[QuantisedLayer, ...]:
    total = max(sum(macs.values()), 1.0)
    found = []
    for node in graph.nodes:
        if node.op not in WEIGHTED:
            continue
        own = filters_of(node, graph)
        bias = 0 if own.bias is None else own.bias.size
        before = 4 * (own.weights.size + bias)
        int8 = node.name in made.filters
        units = len(made.filters[node.name].units or ()) if int8 else 0
        now = own.weights.size + 4 * (bias + units) if int8 else before
        sqnr = finite(made.accuracy.per_layer.get(node.output))
        share = macs.get(node.name, 0.0) / total
        found.append(QuantisedLayer(node.name, node.op, share, int8, sqnr, now, before))
    return tuple(found)
