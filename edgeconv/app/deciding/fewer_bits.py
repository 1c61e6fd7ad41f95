"""Storage formats for the layers of a network quantised to int8 that compute in float32: int8 or
flyte for filters whose layer integers would spoil, or cost more than they save."""

from __future__ import annotations

from collections.abc import Mapping
from contextlib import closing
from pathlib import Path
from typing import NamedTuple

from edgeconv.app.choice_notes import integers_of
from edgeconv.app.deciding.int8_model import Int8Model, as_file
from edgeconv.app.deciding.objective import predictable
from edgeconv.app.deciding.planning import NetworkPlan, Planner
from edgeconv.base.progress import Progress
from edgeconv.ir.filters import WEIGHTED
from edgeconv.ir.graph import Graph
from edgeconv.kernels.storage import formats
from edgeconv.report import accuracy
from edgeconv.search.calibration.inference import InferenceEngine
from edgeconv.search.calibration.samples import Samples
from edgeconv.search.fitting import AtBest, FormatChoice, FormatOptions, Search, UnfitError, offered

# Formats of filters whose numbers the file of the network can say: integers, and those that are
# float32 as they are.
FORMATS = ("flyte24", "flyte16", "int8")
_WORTH = 0.99  # of the objective, below which formats are measured where everything fits


class InFewerBits(NamedTuple):
    """A quantised network with float32 filters in fewer bits.  ``storage``: formats by layer, as
    `search.choose.select` takes them, beside those in the file."""

    model: Int8Model
    storage: Mapping[str, str]


def in_fewer_bits(
    planner: Planner,
    model: Int8Model,
    draft: NetworkPlan,
    real: InferenceEngine,
    samples: Samples,
    folder: Path,
    progress: Progress,
) -> InFewerBits | None:
    """``model`` with its float32 filters in the formats that are best by the objective, within
    budgets and limits of accuracy; None where no format is better, or none keeps them.

    ``draft``: what is decided about it.  ``real``: the network in float32, on this machine.
    ``folder``: for a file, which must stay while the result is in use.
    """
    options, board = planner.options, planner.board
    graph, kept = model.graph, integers_of(draft.choice)
    offers = offered(graph, options.storage, kept, FORMATS)
    if not any(len(forms) > 1 for forms in offers.weights.values()):
        return None
    objective, lower = predictable(options, board), planner.lower(draft.settled)
    best = AtBest(graph, board, lower, offers, progress)
    least = best.least(objective, planner.budgets.ram, planner.budgets.flash)
    if least is None:
        return None
    if not planner.exceeded(draft) and least > _WORTH * best.plain(objective):
        return None
    format_options = FormatOptions(options.storage, options.min_sqnr, options.max_drop, objective)
    search = Search(
        graph, board, samples, format_options, lower, progress, kept=kept, real=real, among=FORMATS
    )
    with closing(search):
        try:
            found = search.find(planner.budgets.ram, planner.budgets.flash)
        except UnfitError:
            return None
    return _saved(model, found, folder / "fewer_bits.onnx", samples.source)


def _saved(model: Int8Model, found: FormatChoice, path: Path, source: str) -> InFewerBits:
    """What was found as a file, and as it is read back from that."""
    gains = (*model.gains, *accuracy.notes(found, source)[:1])
    made = as_file(found.graph, path, model.graph, found.accuracy, source, gains)
    plain = {name: form for name, form in found.storage.items() if not formats()[form].scaled}
    return InFewerBits(made, plain)


def filters_in(graph: Graph, form: str) -> dict[str, str]:
    """The storage: that format for all filters that no model has rounded."""
    weighted = (node for node in graph.nodes if node.op in WEIGHTED)
    return {node.name: form for node in weighted if "storage" not in node.attrs}
