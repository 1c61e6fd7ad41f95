"""Layers rounded one after the other, each making up for what those before it did.

A layer that is rounded meets inputs that earlier layers have changed.  It is held to what the
float32 network computes there: filters V and bias for which V x' comes nearest to w x, x' being the
changed inputs and x those of float32, are the least-squares solution

    V = (w C + l w) (C' + l)^-1,    C = cov(x, x'),  C' = cov(x', x'),

kept near w by l where samples say little; V is then rounded with the moments of x', and the bias
takes back the difference of the means.  To round from the changed inputs alone, and hold layers to
w x', gained nothing where it was tried.  `python bench/rounding_steps.py` prints what this gains.
"""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence
from contextlib import suppress
from types import MappingProxyType

import numpy as np
import numpy.typing as npt

from edgeconv.base.progress import Progress, Share, no_progress
from edgeconv.ir.filters import WEIGHTED, Filters
from edgeconv.search.calibration.inference import Floats, InferenceEngine, Rounding
from edgeconv.search.calibration.inputs import batches, columns_of, pixels_per_sample, rows_of
from edgeconv.search.calibration.moments import Doubles, Moments, Rows
from edgeconv.search.calibration.rounding import BEST, SAMPLES, Rounded, round_layer
from edgeconv.search.calibration.samples import Samples

TRUST = 1.0  # l, of the mean variance of an input: measured, 0.3 to 3 serve alike and 0.01 overfits
VARIES = 1e-6  # of the mean square of an input: a smaller variance may be what float32 rounds off
BUDGET_MACS = 6e12  # of all inferences: minutes of one core
LEAST_SAMPLES = 8
HELD_BYTES = 1 << 29  # inputs of the float32 network that are kept from one pass over the samples


def round_sequentially(
    engine: InferenceEngine,
    samples: Samples,
    wanted: Mapping[str, str],
    *,
    activations: Mapping[str, Rounding] | None = None,
    alone: Mapping[str, Rounded] = MappingProxyType({}),
    progress: Progress = no_progress,
) -> dict[str, Rounded]:
    """Layers in the formats that ``wanted`` names (float32 ones stay), in execution order.

    ``activations``: tensors that are stored in other formats, whose errors are made up for as well.
    ``alone``: layers as they were rounded each by itself, of which recurrent ones stay so.
    Runs the network once per layer and sample: on as many samples as the budget allows.
    """
    asked = [name for name in engine.layers if wanted.get(name, "float32") != "float32"]
    names = [name for name in asked if engine.layers[name].op in WEIGHTED]
    affordable = int(BUDGET_MACS / max(engine.macs, 1) / max(len(names), 1))
    used = samples.at_most(min(SAMPLES, max(LEAST_SAMPLES, affordable)))
    done = {name: alone[name] for name in asked if name not in names}
    for name, plain in _plain_columns(engine, used, names):
        progress(Share(f"rounding {name}, given all before it", len(done), len(names)))
        parameters = {layer: entry.parameters for layer, entry in done.items()}
        changed = _columns(engine, used, [name], parameters, activations)[name]
        rows = rows_of(engine.layers[name], engine.graph)
        target, moments = _target(name, engine.parameters(name), rows, plain, changed)
        done[name] = round_layer(target, rows, wanted[name], moments, BEST)
    return done


def _target(
    name: str, own: Filters, rows: Rows, plain: Floats, changed: Floats
) -> tuple[Filters, Moments]:
    """What to round in place of ``own``, and the moments of the inputs that it will have."""
    here, there = rows.cut(plain), rows.cut(changed)
    pixels = here.shape[1]
    mean = there.mean(axis=1, dtype=np.float64)
    moments = Moments(_product(there, there) / pixels, mean, pixels)
    moments.require_finite(name)
    wanted_mean = here.mean(axis=1, dtype=np.float64)
    cross = _product(here, there) / pixels - wanted_mean[:, :, None] * mean[:, None, :]
    weights = rows.split(own.weights)
    target = _nearest_outputs(weights, cross, moments)
    # round_layer keeps the mean of target x' + bias; what is wanted is that of w x + bias.
    shift = np.einsum("pok,pk->po", weights, wanted_mean)
    shift -= np.einsum("pok,pk->po", target, mean)
    assert own.bias is not None
    bias = (own.bias + rows.sum_per_row(shift)).astype(np.float32)
    return Filters(rows.join(target, own.weights.shape).astype(np.float32), bias), moments


def _nearest_outputs(weights: Doubles, cross: Doubles, moments: Moments) -> Doubles:
    """The least-squares solution V of the module's text; the weights themselves where samples do
    not vary by more than float32 rounds: few of them, or all the same."""
    from scipy.linalg import cho_factor, cho_solve  # noqa: PLC0415 - as in milp

    found = np.empty_like(weights)
    covariance = moments.centred()
    size = covariance.shape[-1]
    for p, (own, both, one) in enumerate(zip(weights, cross, covariance, strict=True)):
        found[p] = own
        trust = TRUST * np.trace(one) / size
        if trust <= TRUST * VARIES * np.trace(moments.second[p]) / size:
            continue
        with suppress(np.linalg.LinAlgError):  # what is left of rounding is larger than the trust
            factor = cho_factor(one + trust * np.eye(size), overwrite_a=True, check_finite=False)
            found[p] = cho_solve(factor, (own @ both + trust * own).T, check_finite=False).T
    return found


def _product(one: Floats, other: Floats) -> Doubles:
    with np.errstate(over="ignore", invalid="ignore"):  # `Moments.require_finite`
        product: Floats = np.matmul(one.transpose(0, 2, 1), other)
    return product.astype(np.float64)


def _plain_columns(
    engine: InferenceEngine, samples: Samples, layers: Sequence[str]
) -> Iterator[tuple[str, Floats]]:
    """The inputs of each layer in the float32 network, in few passes over the samples."""
    sizes = ((name, _column_bytes(engine, name, len(samples))) for name in layers)
    for names in batches(sizes, HELD_BYTES):
        yield from _columns(engine, samples, names, {}, None).items()


def _column_bytes(engine: InferenceEngine, name: str, samples: int) -> int:
    node, graph = engine.layers[name], engine.graph
    rows = rows_of(node, graph)
    pixels = graph[node.output].size // max(graph[node.inputs[1]].shape[0], 1)
    per_sample = min(pixels, pixels_per_sample(rows, samples))
    return 4 * samples * per_sample * rows.groups * rows.pieces * rows.length


def _columns(
    engine: InferenceEngine,
    samples: Samples,
    layers: Sequence[str],
    parameters: Mapping[str, Filters],
    activations: Mapping[str, Rounding] | None,
) -> dict[str, Floats]:
    """The columns of each layer (groups, pixels of all samples, K); the same pixels in every
    network."""
    nodes = {name: engine.layers[name] for name in layers}
    most = {
        name: pixels_per_sample(rows_of(node, engine.graph), len(samples))
        for name, node in nodes.items()
    }
    wanted = {node.inputs[0] for node in nodes.values()}
    parts: dict[str, list[npt.NDArray[np.float32]]] = {name: [] for name in layers}
    for number, sample in enumerate(samples):
        found = engine.run(sample, parameters=parameters, activations=activations, capture=wanted)
        for name, node in nodes.items():
            columns = columns_of(node, found[node.inputs[0]], most[name], number)
            parts[name].append(columns)
    return {name: np.concatenate(columns, axis=1) for name, columns in parts.items()}
