"""How much of its accuracy a network may lose to be quantised."""

from __future__ import annotations

from dataclasses import dataclass

from edgeconv.base.errors import EdgeconvError
from edgeconv.ir.filters import WEIGHTED
from edgeconv.ir.graph import Graph
from edgeconv.search.calibration.sqnr import Accuracy
from edgeconv.search.quantising.grids import quantisable

LEAST_DB = 10.0  # at which outputs are off by a third of their size


@dataclass(frozen=True, slots=True)
class Limits:
    """``min_sqnr`` in dB, ``max_drop`` a share of the labels.  Where neither is given, the SQNR on
    the samples is `LEAST_DB` at least."""

    min_sqnr: float | None = None
    max_drop: float | None = None

    def keep(self, measured: Accuracy) -> bool:
        """Whether what was ``measured`` is within them."""
        if self.min_sqnr is None and self.max_drop is None:
            return measured.sqnr_db >= LEAST_DB
        quiet = self.min_sqnr is None or measured.keeps(self.min_sqnr)
        return quiet and (self.max_drop is None or measured.loses_at_most(self.max_drop))

    def missed(self, where: str, source: str) -> EdgeconvError:
        """The error that no layer can be int8 within them.  ``source``: words for the samples."""
        given = self.min_sqnr is not None or self.max_drop is not None
        return EdgeconvError(
            "no layer can be int8 within these limits" if given else "no layer can be int8",
            where=where,
            rule=f"on {source}" if given else f"at an SQNR of {LEAST_DB:g} dB, on {source}",
            hint="allow more with --min-sqnr or --max-drop, or give samples as in training",
        )


def require_quantisable(graph: Graph, where: str) -> None:
    """Raises EdgeconvError where a network has nothing to quantise; ``where``: the model."""
    if quantisable(graph):
        return
    weighted = any(node.op in WEIGHTED for node in graph.nodes)
    raise EdgeconvError(
        "nothing to quantise",
        where=where,
        rule="it is quantised already" if weighted else "it has no convolution or dense layer",
        hint="compile it as it is",
    )
