"""A float32 network quantised to int8: grids from samples, filters rounded to make up for them,
measured.

Some samples are looked at, and what the result loses is measured on those between (`Effort`).
Every step is taken as the network's outputs say: channels are equalised pair by pair where that
disturbs them less, ranges chosen grid by grid.  What was chosen among so many may be good on the
samples that it was chosen by alone; so each step stands only if the outputs gain by it on samples
that neither fitted nor chose anything.
"""

from __future__ import annotations

from collections.abc import Callable, Iterable, Mapping
from dataclasses import dataclass
from functools import cache

from edgeconv.base.closing import Closing
from edgeconv.base.progress import Progress, Share, no_progress
from edgeconv.ir.activation import Activation
from edgeconv.ir.filters import replace_filters
from edgeconv.ir.graph import Graph
from edgeconv.kernels.ops import operators
from edgeconv.search.calibration.inference import InferenceEngine
from edgeconv.search.calibration.interpreter import Interpreter, interprets
from edgeconv.search.calibration.metric import Metric
from edgeconv.search.calibration.rounding import RECIPES, Rounded, parameters_of
from edgeconv.search.calibration.samples import Samples
from edgeconv.search.calibration.sensitivity import affordable
from edgeconv.search.calibration.sqnr import Accuracy, Baseline
from edgeconv.search.quantising.effort import EFFORTS, THOROUGH, Effort
from edgeconv.search.quantising.equalise import equalised
from edgeconv.search.quantising.gains import Gain, of_way
from edgeconv.search.quantising.grids import RequestedFormats, places
from edgeconv.search.quantising.observed import Observed, alike_grids, observe
from edgeconv.search.quantising.ranges import RANGES, ObservedRange, Range, see, together
from edgeconv.search.quantising.recipes import LEAST_SAMPLES, SURE, TRIED, WAYS
from edgeconv.search.quantising.rewrite import FORM, quantised
from edgeconv.search.quantising.selection import Noises, select
from edgeconv.search.quantising.state_weights import state_weights
from edgeconv.search.quantising.unfused import unfused
from edgeconv.search.quantising.units import settled, whole_bias

# The SQNR at which few enough layers are int8 is sought so far above that of all, to so many dB.
_SOUGHT_DB, _CLOSE_DB = 40.0, 2.0
_VARIANTS = 16  # of the network, among which the time to measure is divided
_WORTH = 0.95  # of the noise without a step, or with the range to the largest number
_TELLING_SAMPLES = 32  # samples by which ways to round filters are compared
_ALIKE_SAMPLES = 8  # by which ranges of all tensors are compared
_LOTS = 4  # of samples: two to fit to, one to choose by, one to accept by
# Samples that ranges are taken from: to choose, to accept what was chosen, and in the end.
FITTED, CHOSEN, EVERY = "fitted", "chosen", "every"


@dataclass(frozen=True, slots=True, eq=False)
class Quantised:
    """A quantised network.  ``graph``: with grids, residuals and activations not yet fused again.
    ``grids``: of the tensors that are rounded, ``filters``: of the layers whose filters are."""

    graph: Graph
    grids: Mapping[str, Activation]
    filters: Mapping[str, Rounded]
    accuracy: Accuracy


class Quantiser(Closing):
    """A float32 network on this machine, to be quantised to int8: where kernels read and write
    it is the same on every target.

    ``graph``: as ``model.passes.optimise`` leaves it.  ``samples``: the user's, which rounding fits
    itself to; two at least.  ``storage``: formats that the user gives, by the keys of
    ``search.choose.select``; what is to be something else than int8 is left alone, and so are the
    tensors ``kept``.  ``effort``: a row of `EFFORTS`.  ``metric``: accuracy of the user's own.

    Raises EdgeconvError: outputs that are not finite, no compiler (exit status 3) where it compiles
    the network.
    """

    def __init__(
        self,
        graph: Graph,
        samples: Samples,
        storage: Mapping[str, str],
        progress: Progress = no_progress,
        kept: frozenset[str] = frozenset(),
        effort: Effort = EFFORTS[THOROUGH],
        metric: Metric | None = None,
    ) -> None:
        self.graph, self.samples, self.progress = unfused(graph), samples, progress
        self.effort = effort
        self.engine = _engine(self.graph, effort, progress)
        self._observed: Observed | None = None
        most = effort.most(self.engine.macs)
        back = samples.held_back(effort.held_back)
        left = sorted({*range(len(samples))} - {*back}) or back
        self.learning = samples.chosen(left).at_most(most)
        several = len(self.learning) >= LEAST_SAMPLES

        def lots(*numbers: int) -> Samples:
            count = len(self.learning)
            return self.learning.chosen(
                [i for i in range(count) if not several or i % _LOTS in numbers]
            )

        self._fitted, self._telling, self._accepting = lots(0, 2), lots(1), lots(3)
        self._uses = {FITTED: self._fitted, CHOSEN: lots(0, 1, 2), EVERY: self.learning}
        asked = RequestedFormats.of(graph, storage, kept)
        self.places = places(self.graph, asked)
        self.wanted = asked.filters(self.graph, self.places)
        self._of_states = state_weights(self.graph, asked.layers)
        most = min(most, affordable(self.engine, _VARIANTS))
        self.judging = samples.chosen(back).at_most(most)
        self._judging = Baseline(self.engine, self.judging, progress, metric=metric)
        self.way = ""
        self.gains: list[Gain] = []

    def close(self) -> None:
        """Let go of the network that was measured."""
        self.engine.close()

    def macs(self) -> dict[str, float]:
        """The multiply-accumulates of each layer with filters."""
        known, graph = operators(), self.engine.graph
        return {
            name: float(known[node.op].macs(node, graph))
            for name, node in self.engine.layers.items()
        }

    def within(
        self, keeps: Callable[[Accuracy], bool], saved: Mapping[str, float]
    ) -> Quantised | None:
        """As much as ``keeps`` allows of what it makes of the accuracy; None where no layer is
        left.  ``saved``: by layer what integers save there, where that is known.

        Where everything loses too much, the SQNR is sought at which few enough layers are int8.
        Weights of recurrent states are, unless that alone loses too much.
        """
        self._round_states(keeps)
        if self.effort.searches:
            self.equalise()
            grids = self.grids()
            self.way = self.best_way(grids)
        else:
            grids, self.way = self._alike_grids(), SURE
        whole = self._made(grids, self.wanted)
        if keeps(whole.accuracy):
            return whole
        best = self._of_some(whole, keeps, saved)
        if best is not None:
            before, after = (10 ** (-each.accuracy.sqnr_db / 10) for each in (whole, best))
            some = f"{len(whole.filters) - len(best.filters)} layers left in float32"
            self.gains.append(Gain(some, before, after, taken=True))
        return best

    def _round_states(self, keeps: Callable[[Accuracy], bool]) -> None:
        """Compute with weights of recurrent states in int8 from now on, if ``keeps`` allows it."""
        given, self._of_states = self._of_states, {}
        if not given:
            return
        own = {name: self.engine.parameters(name) for name in given}
        self.engine.adopt(given)
        if keeps(self._judging.accuracy()):
            self.graph = replace_filters(self.graph, given)
        else:
            self.engine.adopt(own)

    def _of_some(
        self, whole: Quantised, keeps: Callable[[Accuracy], bool], saved: Mapping[str, float]
    ) -> Quantised | None:
        """The layers of ``whole`` that save the most within the largest allowance of noise with
        which ``keeps`` holds."""
        noises = self._noises(whole)
        places = self.places.grid_of()
        reads = {n: found for n in whole.filters if (found := self._groups_of(n, places))}
        best: Quantised | None = None
        low, high = whole.accuracy.sqnr_db, whole.accuracy.sqnr_db + _SOUGHT_DB
        while high - low > _CLOSE_DB:
            asked = (low + high) / 2
            chosen = select(noises, reads, saved, 10 ** (-asked / 10))
            if not chosen.saved:
                high = asked
                continue
            groups = [self.places.groups[number] for number in sorted(chosen.groups)]
            grids = {name: whole.grids[name] for group in groups for name in group}
            made = self._made(grids, [name for name in self.wanted if name in chosen.filters])
            if keeps(made.accuracy):
                best, high = made, asked
            else:
                low = asked
        return best

    def _noises(self, whole: Quantised) -> Noises:
        """The noise of each layer's filters and each group's grid, alone."""
        count = len(whole.filters) + len(self.places.groups)
        baseline = Baseline(self.engine, self.judging.at_most(affordable(self.engine, count)))
        filters: dict[str, float] = {}
        for name, entry in whole.filters.items():
            self.progress(Share(f"measuring what int8 does to {name}", len(filters), count))
            filters[name] = baseline.noise({name: entry.parameters})
        groups: list[float] = []
        for group in self.places.groups:
            number = len(filters) + len(groups)
            self.progress(Share(f"measuring what int8 does to {group[0]}", number, count))
            groups.append(baseline.noise(activations={name: whole.grids[name] for name in group}))
        return Noises(filters, groups)

    def _groups_of(self, layer: str, like: Mapping[str, str]) -> tuple[int, ...]:
        """The groups of what a layer reads and writes; none where one of both stays float32."""
        node = self.engine.layers[layer]
        number = {group[0]: i for i, group in enumerate(self.places.groups)}
        names = (node.inputs[0], node.output)
        return tuple(number[like[n]] for n in names) if like.keys() >= set(names) else ()

    def _made(self, grids: Mapping[str, Activation], layers: Iterable[str]) -> Quantised:
        """The network with these grids, and the filters of ``layers`` in int8."""
        wanted = dict.fromkeys(layers, FORM)
        if self._observed is None:
            found = WAYS[self.way](self.engine, self.learning, wanted, grids, self.progress)
        else:  # by what layers are given in float32, whatever the grids
            found = {name: self._observed.rounded[name] for name in wanted}
        filters = self.in_integers(found, grids)
        accuracy = self._judging.accuracy(parameters_of(filters), grids, layers=True)
        self.progress(Share(f"int8 in {len(filters)} layers: {accuracy.sqnr_db:.1f} dB", 1))
        graph = quantised(self.graph, grids, filters)
        return Quantised(graph, grids, filters, accuracy)

    def _alike_grids(self) -> dict[str, Activation]:
        """One kind of range for all tensors, after one pass over the samples."""
        recipe, kept = RECIPES[SURE], self.effort.values
        names = self.places.tensors
        self._observed = observe(
            self.engine, self.learning, names, self.wanted, recipe, kept, self.progress
        )
        telling = Baseline(self.engine, self._telling.at_most(_ALIKE_SAMPLES))
        return alike_grids(self._observed.ranges, self.places, telling, self.progress)

    def equalise(self) -> None:
        """Bring channels to like ranges where the outputs gain by it, of every pair of layers and
        of all of them together."""
        baseline = Baseline(self.engine, self._at_most(self._telling, 4 * len(self.wanted)))
        given = equalised(
            self.engine,
            self._at_most(self._fitted, 1),
            baseline,
            self.wanted,
            self.places.tensors,
            self.progress,
        )
        if not given:
            return
        own = {name: self.engine.parameters(name) for name in given}
        before = self._plainly()
        self.engine.adopt(given)
        after = self._plainly()
        taken = after < _WORTH * before
        self.gains.append(Gain("channels equalised", before, after, taken))
        if taken:
            self.graph = replace_filters(self.graph, given)
        else:
            self.engine.adopt(own)

    def _plainly(self) -> float:
        """The noise of filters rounded to the nearest and results with widest ranges, on samples
        that nothing was chosen by: enough to compare networks that compute the same."""
        widest = next(iter(RANGES.values()))
        seen = self._seen(self._fitted)
        grids: dict[str, Activation] = {}
        for group in self.places.groups:
            grids |= dict.fromkeys(group, widest(together(seen[name] for name in group)))
        return self._noise_of(TRIED[0], grids, self._accepted_on())

    def _accepted_on(self) -> Baseline:
        return Baseline(
            self.engine, self._at_most(self._accepting.at_most(_TELLING_SAMPLES), _VARIANTS)
        )

    def _noise_of(self, way: str, grids: Mapping[str, Activation], baseline: Baseline) -> float:
        """The noise of filters rounded in this way, to the samples that fit, and results on
        ``grids``."""
        wanted, fitted = dict.fromkeys(self.wanted, FORM), self._fitted.at_most(_TELLING_SAMPLES)
        found = WAYS[way](self.engine, fitted, wanted, grids, self.progress)
        return baseline.noise(parameters_of(self.in_integers(found, grids)), grids)

    def grids(self) -> dict[str, Activation]:
        """The grid of every tensor that is rounded: of RANGES the first, unless another disturbs
        the outputs less, on others than the samples that ranges are taken from.

        All other tensors are rounded meanwhile: what is cut off adds up, where what is rounded does
        not, so that ranges that are better alone can be worse together.  All of it stands only if
        samples that chose nothing gain by it.
        """
        groups = self.places.groups
        seen = {name: self._seen(each) for name, each in self._uses.items()}
        telling = self._at_most(self._telling, len(RANGES) * len(groups))
        baseline = Baseline(self.engine, telling)
        widest, *others = RANGES.values()

        @cache
        def range_of(use: str, number: int, choose: Range) -> Activation:
            return choose(together(seen[use][name] for name in groups[number]))

        def ranges(use: str, chosen: Mapping[int, Range]) -> dict[str, Activation]:
            """The range of every group by the samples of a use; the widest of those not chosen
            for."""
            found: dict[str, Activation] = {}
            for number, group in enumerate(groups):
                own = range_of(use, number, chosen.get(number, widest))
                found |= dict.fromkeys(group, own)
            return found

        chosen: dict[int, Range] = {}
        least = baseline.noise(activations=ranges(FITTED, chosen))
        for number, group in enumerate(groups):
            self.progress(Share(f"choosing the range of {group[0]}", number, len(groups)))
            for choose in others:
                noise = baseline.noise(activations=ranges(FITTED, {**chosen, number: choose}))
                if noise < _WORTH * least:
                    least, chosen[number] = noise, choose
        if chosen:
            unseen = self._accepted_on()
            before, after = (
                unseen.noise(activations=ranges(CHOSEN, each)) for each in ({}, chosen)
            )
            taken = after < _WORTH * before
            self.gains.append(Gain("ranges chosen, filters aside,", before, after, taken))
            chosen = chosen if taken else {}
        return ranges(EVERY, chosen)

    def best_way(self, grids: Mapping[str, Activation]) -> str:
        """How filters are rounded: of TRIED the first, unless one behind it has less noise on
        samples that chose nothing; in turn where samples are too few to tell."""
        if len(self.learning) < LEAST_SAMPLES:
            return TRIED[-1]
        baseline = self._accepted_on()
        best, *others = TRIED
        least = self._noise_of(best, grids, baseline)
        for name in others:
            noise = self._noise_of(name, grids, baseline)
            taken = noise < _WORTH * least
            self.gains.append(of_way(name, least, noise, taken=taken))
            if taken:
                best, least = name, noise
        return best

    def _seen(self, samples: Samples) -> dict[str, ObservedRange]:
        chosen = self._at_most(samples, 1)
        return see(self.engine, chosen, self.places.tensors, progress=self.progress)

    def _at_most(self, samples: Samples, variants: int) -> Samples:
        """As many as so many variants of the network can be run on."""
        return samples.at_most(affordable(self.engine, variants))

    def in_integers(
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


def _engine(graph: Graph, effort: Effort, progress: Progress) -> InferenceEngine:
    """What runs ``graph``: a program where there are many runs, or operators that are not
    interpreted."""
    if not effort.searches and interprets(graph):
        return Interpreter(graph)
    # Imported late, with all that compiles networks.
    from edgeconv.search.calibration.engine import Engine  # noqa: PLC0415

    return Engine(graph, progress)
