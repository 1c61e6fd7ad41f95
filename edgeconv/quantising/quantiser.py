"""A float32 network made int8: grids from samples, filters rounded to make up for them, measured.

Every other sample is looked at, and what the result loses is measured on those between.
"""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass

from edgeconv.calibration.engine import Engine
from edgeconv.calibration.in_turn import round_in_turn
from edgeconv.calibration.rounding import SAMPLES, Rounded, parameters_of
from edgeconv.calibration.samples import Samples
from edgeconv.calibration.sqnr import Accuracy, Baseline
from edgeconv.closing import Closing
from edgeconv.ir.activation import Activation
from edgeconv.ir.graph import Graph
from edgeconv.progress import Tell, nobody
from edgeconv.quantising.grids import places
from edgeconv.quantising.ranges import nearest, see, together
from edgeconv.quantising.rewrite import FORM, quantised
from edgeconv.quantising.unfused import unfused
from edgeconv.quantising.units import settled, whole_bias
from edgeconv.targets import Target


@dataclass(frozen=True, slots=True, eq=False)
class Quantised:
    """``graph``: with grids, residuals and activations not yet fused again.  ``grids``: of the
    tensors that are rounded, ``filters``: of the layers whose filters are."""

    graph: Graph
    grids: Mapping[str, Activation]
    filters: Mapping[str, Rounded]
    accuracy: Accuracy


class Quantiser(Closing):
    """A float32 network on this machine, to be made int8 for ``target``.

    ``graph``: as ``passes.optimise`` leaves it.  ``samples``: the user's, which rounding fits
    itself to; two at least.  Raises EdgeconvError: no compiler (exit status 3).
    """

    def __init__(self, graph: Graph, target: Target, samples: Samples, tell: Tell = nobody) -> None:
        self.graph, self.samples, self.tell = unfused(graph), samples, tell
        self.learning = samples.chosen(slice(0, None, 2))
        self.judging = samples.chosen(slice(1, None, 2)) if len(samples) > 1 else samples
        self.places = places(self.graph, target)
        self.engine = Engine(self.graph, tell)

    def close(self) -> None:
        """Let go of the network that was measured."""
        self.engine.close()

    def whole(self) -> Quantised:
        """Everything that can be is int8."""
        grids = self._grids()
        wanted = dict.fromkeys(self.engine.layers, FORM)
        found = round_in_turn(self.engine, self.learning, wanted, activations=grids, tell=self.tell)
        filters = self._in_integers(found, grids)
        baseline = Baseline(self.engine, self.judging)
        accuracy = baseline.accuracy(parameters_of(filters), grids, layers=True)
        graph = quantised(self.graph, grids, filters)
        return Quantised(graph, grids, filters, accuracy)

    def _grids(self) -> dict[str, Activation]:
        """The grid of every tensor that is rounded."""
        seen = see(self.engine, self.learning.at_most(SAMPLES), self.places.tensors, tell=self.tell)
        found: dict[str, Activation] = {}
        for group in self.places.groups:
            grid = nearest(together(seen[name] for name in group))
            found |= dict.fromkeys(group, grid)
        return found

    def _in_integers(
        self, filters: Mapping[str, Rounded], grids: Mapping[str, Activation]
    ) -> dict[str, Rounded]:
        """``filters`` in units and with biases that integer kernels can have."""
        like, found = self.places.grid_of(), dict(filters)
        for name, entry in filters.items():
            node = self.engine.layers[name]
            x, y = (grids.get(like.get(each, "")) for each in (node.inputs[0], node.output))
            if x and entry.units is not None:
                entry = settled(entry, x.alpha, y.alpha) if y else entry
                found[name] = whole_bias(entry, x.alpha)
        return found
