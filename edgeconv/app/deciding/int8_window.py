"""A window that slides, quantised to int8 before the network of its new rows is made."""

from __future__ import annotations

from dataclasses import replace
from pathlib import Path
from tempfile import TemporaryDirectory

from edgeconv.app.deciding import int8_model
from edgeconv.app.deciding.int8_model import Int8Model
from edgeconv.app.deciding.planning import Decision
from edgeconv.base.closing import Closing
from edgeconv.base.progress import Progress, no_progress
from edgeconv.ir.graph import Graph
from edgeconv.search.budget.tables import Objective
from edgeconv.search.choose.storage import INT8
from edgeconv.search.options import CompileOptions
from edgeconv.search.quantising.accepted import Limits


class Int8Window(Closing):
    """The network ``graph`` of the whole window, quantised to int8 by the samples of ``options``,
    which are of whole windows.

    ``model``: the quantised network, whose graph may read from a file until `close`.
    ``options``: what is left to decide for the network of new rows.  Raises EdgeconvError: nothing
    to quantise, samples that cannot be used, limits that no layer keeps.
    """

    def __init__(
        self,
        graph: Graph,
        options: CompileOptions,
        progress: Progress = no_progress,
    ) -> None:
        int8_model.require_possible(graph, options)
        self._given = options
        self._folder = TemporaryDirectory(prefix="edgeconv-window-")
        limits = Limits(options.min_sqnr, options.max_drop)
        try:
            with int8_model.quantiser_of(graph, options, progress) as quantiser:
                folder, macs = Path(self._folder.name), quantiser.macs()
                made = int8_model.make(quantiser, graph, folder, limits.keep, macs)
                if made is None:
                    raise limits.missed(options.model.name, quantiser.samples.source)
        except BaseException:
            self.close()
            raise
        self.model: Int8Model = made
        self.options = _decided_of(options)

    def close(self) -> None:
        """Let go of the file."""
        self._folder.cleanup()

    def into(self, decided: Decision) -> Decision:
        """The decisions about the network of new rows, saying what int8 costs the window."""
        objective = decided.options.objective or Objective.LATENCY.value
        return self.model.into(decided, objective, self._given, of="a whole window is in")


def _decided_of(options: CompileOptions) -> CompileOptions:
    """``options`` without what the quantised window has settled; the user's command is quoted."""
    return replace(
        options,
        calibration=None,
        int8=False,
        metric="",
        min_sqnr=None,
        max_drop=None,
        storage={key: form for key, form in options.storage.items() if form != INT8},
        quoted=options.command(),
    )
