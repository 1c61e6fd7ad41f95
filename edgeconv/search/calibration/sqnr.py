"""What other weights and rounded activations change: signal to noise ratios and top-1.

The reference is the same engine with nothing replaced, so that only rounding is measured.  Sums
are taken in float64 over all elements of all samples.
"""

from __future__ import annotations

import math
from collections.abc import Iterable, Iterator, Mapping
from dataclasses import dataclass, field, replace

import numpy as np
import numpy.typing as npt

from edgeconv.base.decibels import sqnr_db
from edgeconv.base.errors import EdgeconvError, UsageError
from edgeconv.base.progress import Progress, Share, no_progress
from edgeconv.ir.filters import Filters
from edgeconv.ir.graph import Graph
from edgeconv.search.calibration.confidence import upper
from edgeconv.search.calibration.inference import Floats, InferenceEngine, Rounding
from edgeconv.search.calibration.metric import Metric
from edgeconv.search.calibration.samples import LABEL, Samples, images_of

# Samples that a network was tuned on are further from the borders of classes than others are: the
# share that is at risk may be half of what may be lost.
RESERVE = 2.0
_NO_RISK = 1e-12  # of an image: smaller ones say nothing, and may be no numbers of a report


@dataclass(slots=True)
class Power:
    """Sums of squares by sample: of the reference, and of what differs from it."""

    signals: list[float] = field(default_factory=list)
    noises: list[float] = field(default_factory=list)

    def add(self, got: Floats, reference: Floats) -> None:
        """Another sample.  Values that are not finite where the reference is count as infinite
        noise."""
        wanted = reference.astype(np.float64)
        with np.errstate(invalid="ignore", over="ignore"):
            noise = float(np.square(got - wanted).sum())
            self.signals.append(float(np.square(wanted).sum()))
        self.noises.append(noise if math.isfinite(noise) else math.inf)

    @property
    def signal(self) -> float:
        """The signal of all samples."""
        return sum(self.signals)

    @property
    def noise(self) -> float:
        """The noise of all samples."""
        return sum(self.noises)

    def bound(self, sequence: npt.NDArray[np.int64] | None = None) -> float | None:
        """What the ratio of other samples is below (`confidence.upper`); of runs of a ``sequence``,
        which are much alike, that of other sequences."""
        if sequence is None:
            return upper(self.signals, self.noises)
        _, at = np.unique(sequence, return_inverse=True)
        return upper(*(np.bincount(at, each).tolist() for each in (self.signals, self.noises)))

    @property
    def ratio(self) -> float:
        """Noise relative to the signal; infinite for noise on a signal of zeros."""
        if self.noise == 0.0:
            return 0.0
        return self.noise / self.signal if self.signal > 0.0 else math.inf

    @property
    def sqnr_db(self) -> float:
        return sqnr_db(self.signal, self.noise)


@dataclass(frozen=True, slots=True)
class Accuracy:
    """What rounding cost, against the same network in float32.

    ``outputs`` and ``per_layer``: SQNR in dB by tensor name, ``per_layer`` empty unless asked for.
    ``max_abs_error``: the largest difference at any output.  ``agreement``: share of images whose
    top class is that of float32; None where no output has classes (``class_output``).  ``top1``
    and ``top1_drop``: share of images that are right, and how much less that is than in float32;
    None without labels.  ``at_risk``: share of images to expect with another top class, were errors
    like these normally distributed around the scores in float32: a figure that few samples give
    already, where the other two are still zero.  ``promised``: measured on samples of the user's.
    ``at_least_db``: what the SQNR of many samples like these is no less than, at the worst output,
    by `confidence.CONFIDENCE`; None where nothing is promised, or there are too few to tell.
    ``metric`` and ``metric_drop``: of the user's own, called ``metric_name``, and how much less it
    is than in float32; None without.
    """

    outputs: Mapping[str, float]
    per_layer: Mapping[str, float]
    max_abs_error: float
    agreement: float | None
    top1: float | None
    top1_drop: float | None
    at_risk: float | None
    samples: int
    promised: bool
    at_least_db: float | None = None
    metric_name: str = ""
    metric: float | None = None
    metric_drop: float | None = None

    @property
    def sqnr_db(self) -> float:
        """The SQNR of the worst output."""
        return min(self.outputs.values(), default=math.inf)

    def keeps(self, least_db: float) -> bool:
        """Whether the SQNR is as high as that, of other samples too where these tell of others."""
        known = self.sqnr_db if self.at_least_db is None else self.at_least_db
        return known >= least_db

    def loses_at_most(self, share: float) -> bool:
        """Whether no more of the labels are lost, nor are to be expected to be; of a metric of the
        user's, whether it is no more below that of float32."""
        if self.metric_drop is not None:
            return self.metric_drop <= share
        return max(self.top1_drop or 0.0, RESERVE * (self.at_risk or 0.0)) <= share


@dataclass(slots=True)
class Baseline:
    """The float32 network's outputs on ``samples``, computed once: what variants are held to.

    ``progress`` is told of every sample.  ``real``: the float32 network, where that of ``engine``
    is rounded itself; tensors of both have the same names.  ``metric``: the user's own.
    """

    engine: InferenceEngine
    samples: Samples
    progress: Progress = no_progress
    real: InferenceEngine | None = None
    metric: Metric | None = None
    _outputs: list[dict[str, Floats]] = field(init=False)
    _real_metric: float | None = field(init=False, default=None)

    def __post_init__(self) -> None:
        check_labels(self.samples, self.engine.graph)
        self._outputs = []
        for number, found in enumerate(self._plain.run_each(self.samples)):
            text = f"running the model in float32: sample {number + 1} of {len(self.samples)}"
            self.progress(Share(text, number, len(self.samples)))
            self._outputs.append(found)
            for name, values in found.items():
                if not np.isfinite(values).all():
                    raise EdgeconvError(
                        "the network's outputs are not finite",
                        where=f"{name!r} of sample {number} ({self.samples.source})",
                        got=f"{int((~np.isfinite(values)).sum())} of {values.size} values",
                        rule="what rounding does to them cannot be measured",
                        hint="look at the model's weights and at the samples' scale",
                    )

    @property
    def _plain(self) -> InferenceEngine:
        """The network that variants are held to."""
        return self.real or self.engine

    def noise(
        self,
        parameters: Mapping[str, Filters] | None = None,
        activations: Mapping[str, Rounding] | None = None,
    ) -> float:
        """Noise over signal at the output where that is largest."""
        return self.noises(parameters, activations)[0]

    def noises(
        self,
        parameters: Mapping[str, Filters] | None = None,
        activations: Mapping[str, Rounding] | None = None,
    ) -> tuple[float, float]:
        """The noise on the samples, and what it is no more than on others, where the samples tell
        of others; else the same."""
        powers = self._powers(parameters, activations)
        noise, bound = max((power.ratio for power in powers), default=0.0), self._bound(powers)
        return noise, noise if bound is None else bound

    def _powers(
        self, parameters: Mapping[str, Filters] | None, activations: Mapping[str, Rounding] | None
    ) -> list[Power]:
        """The powers of every output."""
        powers = {name: Power() for name in self.engine.graph.outputs}
        runs = self.engine.run_each(self.samples, parameters=parameters, activations=activations)
        for got, wanted in zip(runs, self._outputs, strict=True):
            for name, power in powers.items():
                power.add(got[name], wanted[name])
        return [*powers.values()]

    def _bound(self, powers: Iterable[Power]) -> float | None:
        """The largest of outputs; None where samples tell nothing of others."""
        bounds = [power.bound(self.samples.sequence) for power in powers]
        if not self.samples.promised or self.samples.alike or None in bounds:
            return None
        return max((bound for bound in bounds if bound is not None), default=0.0)

    def accuracy(
        self,
        parameters: Mapping[str, Filters] | None = None,
        activations: Mapping[str, Rounding] | None = None,
        *,
        layers: bool = False,
    ) -> Accuracy:
        """Everything there is to say of a variant; ``layers``: at every tensor too."""
        engine = self.engine
        fixed = {*engine.graph.inputs, *engine.graph.outputs}
        known = {*engine.tensors} & {*self._plain.tensors} if layers else set()
        inner = {name: Power() for name in engine.tensors if name in known - fixed}

        def outputs() -> Iterator[dict[str, Floats]]:
            runs = engine.run_each(
                self.samples, parameters=parameters, activations=activations, capture=inner
            )
            beside = self._plain.run_each(self.samples, capture=inner) if inner else None
            for number, got in enumerate(runs):
                text = f"comparing with float32: sample {number + 1} of {len(self.samples)}"
                self.progress(Share(text, number, len(self.samples)))
                plain = next(beside) if beside else {}
                for name, power in inner.items():
                    power.add(got[name], plain[name])
                yield got

        found = self.judge(outputs())
        if not layers:
            return found
        ratios = {name: power.sqnr_db for name, power in inner.items()}
        return replace(found, per_layer={**ratios, **found.outputs})

    def judge(self, outputs: Iterable[Mapping[str, Floats]]) -> Accuracy:
        """What another program computed on the same samples, in their order."""
        powers = {name: Power() for name in self.engine.graph.outputs}
        found: list[dict[str, Floats]] = []
        worst = 0.0
        for got, wanted in zip(outputs, self._outputs, strict=True):
            found.append({name: got[name] for name in powers})
            worst = max(worst, *(_largest(got[name], wanted[name]) for name in wanted))
            for name, power in powers.items():
                power.add(got[name], wanted[name])
        agreement, top1, drop, risk = self._classes(found)
        bound = self._bound(powers.values())
        metric, metric_drop = self._metric(found)
        return Accuracy(
            outputs={name: power.sqnr_db for name, power in powers.items()},
            per_layer={},
            max_abs_error=worst,
            agreement=agreement,
            top1=top1,
            top1_drop=drop,
            at_risk=risk,
            samples=len(self.samples),
            promised=self.samples.promised,
            at_least_db=None if bound is None else sqnr_db(1.0, bound),
            metric_name=self.metric.name if self.metric else "",
            metric=metric,
            metric_drop=metric_drop,
        )

    def _metric(self, found: list[dict[str, Floats]]) -> tuple[float | None, float | None]:
        """The user's metric, and how much less it is than in float32."""
        if self.metric is None:
            return None, None
        mine, real = _stacked(found), _stacked(self._outputs)
        labels = dict(self.samples.truths)
        if self.samples.labels is not None:
            labels[LABEL] = self.samples.labels
        if self._real_metric is None:
            self._real_metric = self.metric.value(real, real, labels)
        value = self.metric.value(mine, real, labels)
        return value, self._real_metric - value

    def _classes(
        self, found: list[dict[str, Floats]]
    ) -> tuple[float | None, float | None, float | None, float | None]:
        """Agreement, top-1, its drop, and the share at risk."""
        name = class_output(self.engine.graph)
        if not name:
            return None, None, None, None
        mine, plain = _top(found, name), _top(self._outputs, name)
        agreement = float(np.mean(mine == plain))
        risk = _at_risk(found, self._outputs, name)
        if self.samples.labels is None:
            return agreement, None, None, risk
        right = float(np.mean(mine == self.samples.labels))
        return agreement, right, float(np.mean(plain == self.samples.labels)) - right, risk


def _stacked(outputs: list[dict[str, Floats]]) -> dict[str, Floats]:
    """By output, (S, *shape) of S samples."""
    return {name: np.stack([each[name] for each in outputs]) for name in outputs[0]}


def check_labels(samples: Samples, graph: Graph) -> None:
    """Raises EdgeconvError (exit status 2) where labels name classes that the network has not."""
    name = class_output(graph)
    if samples.labels is None or not samples.labels.size or not name:
        return
    classes = graph[name].shape[1]
    if samples.labels.max() >= classes:
        raise UsageError(
            "no such class",
            where=samples.source,
            got=f"label {int(samples.labels.max())}",
            rule=f"output {name!r} has scores of {classes} classes, which count from 0",
        )


def class_output(graph: Graph) -> str:
    """The first output that has a score per class: [images, classes], with further dimensions of
    one at most, two classes at least; "" where there is none."""
    for name in graph.outputs:
        shape = graph[name].shape
        per_image = len(shape) > 1 and shape[0] == images_of(graph)
        if per_image and shape[1] > 1 and math.prod(shape[2:]) == 1:
            return name
    return ""


def _top(outputs: list[dict[str, Floats]], name: str) -> npt.NDArray[np.int64]:
    """The best class of every image: (samples, images); of equal ones the first."""
    return np.stack([values[name].reshape(len(values[name]), -1).argmax(1) for values in outputs])


def _at_risk(found: list[dict[str, Floats]], plain: list[dict[str, Floats]], name: str) -> float:
    """The mean probability that the error overcomes the distance of the two best scores.

    The error of one score is as large as an image's are, root mean square around their mean; the
    difference of two is larger by the square root of two.
    """
    risks = []
    for got, wanted in zip(found, plain, strict=True):
        scores = wanted[name].reshape(len(wanted[name]), -1).astype(np.float64)
        spread = np.std(got[name].reshape(scores.shape) - scores, axis=1)
        best = np.partition(scores, -2, axis=1)
        margin = best[:, -1] - best[:, -2]
        with np.errstate(divide="ignore", invalid="ignore"):
            ratio = np.where(spread > 0, margin / (2 * spread), np.inf)
        usable = np.nan_to_num(ratio, nan=0.0, posinf=np.inf)
        risks.append(0.5 * np.array([math.erfc(each) for each in usable]))
    risk = float(np.mean(risks)) if risks else 0.0
    return risk if risk > _NO_RISK else 0.0


def _largest(got: Floats, wanted: Floats) -> float:
    """The largest absolute difference; infinite where one is no number."""
    if not got.size:
        return 0.0
    with np.errstate(invalid="ignore"):
        distance = np.abs(got.astype(np.float64) - wanted)
    return float(np.nan_to_num(distance, nan=np.inf, posinf=np.inf).max())
