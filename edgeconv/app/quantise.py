"""``edgeconv quantise``: a float32 model as int8, in the QDQ format that other tools read."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Any

from edgeconv.base import whole_file
from edgeconv.base.errors import UsageError, refused
from edgeconv.base.progress import Progress, Share, no_progress
from edgeconv.model import frontend, passes
from edgeconv.model.frontend.saving import model_of, saved_by_us
from edgeconv.report.numbers import finite
from edgeconv.search.calibration import samples as calibration_samples
from edgeconv.search.calibration.metric import MetricFunction, metric_of
from edgeconv.search.calibration.sqnr import Accuracy
from edgeconv.search.quantising.accepted import Limits, require_quantisable
from edgeconv.search.quantising.effort import EFFORTS, FAST
from edgeconv.search.quantising.gains import gains_note
from edgeconv.search.quantising.layers import QuantisedLayer, layers_of, left_notes
from edgeconv.search.quantising.quantiser import Quantiser


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
        measured = self.accuracy
        return {
            "model": str(self.path),
            "sqnr_db": finite(measured.sqnr_db),
            "outputs": {name: finite(db) for name, db in measured.outputs.items()},
            "agreement": measured.agreement,
            "top1": measured.top1,
            "top1_drop": measured.top1_drop,
            "metric": None
            if measured.metric is None
            else {
                "name": measured.metric_name,
                "value": measured.metric,
                "drop": measured.metric_drop,
            },
            "samples": measured.samples,
            "source": self.source,
            "layers": [each.to_json() for each in self.layers],
            "notes": list(self.notes),
        }


def quantise_model(
    model: Path,
    samples: Path,
    output: Path,
    *,
    storage: Mapping[str, str] | None = None,
    min_sqnr: float | None = None,
    max_drop: float | None = None,
    effort: str = FAST,
    states: Sequence[tuple[str, str]] = (),
    metric: str | MetricFunction | None = None,
    progress: Progress = no_progress,
) -> QuantisedModel:
    """Quantise the float32 ``model`` to int8 by ``samples`` and write it to ``output``.

    ``samples``: an .npz file, an array per input and optionally `label`.  ``storage``: layers that
    are to stay as they are (``{"conv1": "float32"}``), as ``--storage`` takes them.  ``min_sqnr``
    in dB and ``max_drop``, a share of the labels: where all layers lose more, those with the most
    multiply-accumulates that keep it (`Limits`, whose own holds where neither is given).
    ``states``: outputs, each with the input that it is in the next run; then samples may be
    sequences.  ``metric``: a function, or ``"module:function"``, whose number ``max_drop`` then is
    the drop of, in place of labels.

    Raises EdgeconvError: a model, samples or a metric that cannot be used, a file in the way that
    edgeconv has not written (exit status 2), limits that no layer keeps, a metric that fails (1),
    no C compiler where one is needed (3).
    """
    accuracy = metric_of(metric)
    whole_file.require_replaceable(output, saved_by_us)
    progress(Share("reading the model", 0))
    graph = passes.optimise(frontend.load(model, states=states, loops=False))
    require_quantisable(graph, str(model))
    found = calibration_samples.load(samples, graph)
    if accuracy is None:
        calibration_samples.require_labels(found, max_drop, "--samples")

    limits = Limits(min_sqnr, max_drop)
    given = dict(storage or {})
    with Quantiser(
        graph, found, given, progress, effort=EFFORTS[effort], metric=accuracy
    ) as quantiser:
        macs = quantiser.macs()
        made = quantiser.within(limits.keep, macs)
        if made is None:
            raise limits.missed(str(model), found.source)
        notes = (*gains_note(quantiser.gains), *left_notes(made.graph))
    progress(Share("writing the model", 1))
    with refused("cannot write the model", output, kind=UsageError):
        whole_file.replace(output, model_of(made.graph).SerializeToString(deterministic=True))
    layers = layers_of(graph, made, macs)
    return QuantisedModel(output, layers, made.accuracy, found.source, notes)
