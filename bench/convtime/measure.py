"""Time the candidates of a convolution in turn, after checking that they agree."""

from __future__ import annotations

import random
import statistics
from collections.abc import Mapping, Sequence
from dataclasses import dataclass

import numpy as np

from convtime.cases import Candidate, Convolution
from convtime.program import Arena, Floats, Library
from edgeconv.base.errors import EdgeconvError
from edgeconv.ir.choice import ArgKind
from edgeconv.ir.graph import Tensor

FLOAT_BYTES = 4
TOLERANCE = 1e-5  # of the largest output: sums of some thousand products in another order
MOST_CALLS = 10_000


@dataclass(frozen=True, slots=True)
class Effort:
    """``rounds`` turns of each candidate, of about ``turn_s`` seconds."""

    rounds: int
    turn_s: float


@dataclass(frozen=True, slots=True)
class Measured:
    """One convolution.  ``seconds``: the median over the rounds, by candidate.

    ``chosen``: the algorithm of the lowest predicted cost.  ``schedule``: what SConv's analysis
    chose.  ``peak``: GFLOP/s of the core, the better of right before and right after.
    """

    convolution: Convolution
    seconds: Mapping[str, float]
    chosen: str
    schedule: str
    workspace_bytes: int
    peak: float

    @property
    def flops(self) -> int:
        """Two per multiply-accumulate, those on padding included."""
        return 2 * self.convolution.problem.macs

    def gflops(self, name: str) -> float:
        """Rate of a candidate."""
        return 1e-9 * self.flops / self.seconds[name]


@dataclass(frozen=True, slots=True)
class _Call:
    candidate: Candidate
    function: str
    pointers: tuple[int, ...]
    output: Tensor
    values: Floats  # what is written to the output


def measure(
    convolution: Convolution,
    functions: Sequence[tuple[Candidate, str]],
    library: Library,
    align: int,
    effort: Effort,
    tolerance: float = TOLERANCE,
) -> dict[str, float]:
    """Median seconds of every candidate; ``functions`` names the C function of each.

    Raises EdgeconvError when the output of one is not that of the first, within ``tolerance`` of
    its largest magnitude.
    """
    calls = _prepare(functions, align)
    _require_agreement(convolution, calls, library, tolerance)
    samples: dict[str, list[float]] = {call.candidate.name: [] for call in calls}
    repeats = {}
    for call in calls:
        once = library.seconds(call.function, call.pointers, 1)
        repeats[call.candidate.name] = max(1, min(MOST_CALLS, round(effort.turn_s / once)))
    order = random.Random(1)
    for _ in range(effort.rounds):
        for call in order.sample(calls, len(calls)):  # nobody always follows the same neighbour
            name = call.candidate.name
            samples[name].append(library.seconds(call.function, call.pointers, repeats[name]))
    return {name: statistics.median(times) for name, times in samples.items()}


def _prepare(functions: Sequence[tuple[Candidate, str]], align: int) -> list[_Call]:
    """Operands in memory.

    Tensors of one layout, equal constants and workspaces are shared: where memory lies decides
    which cache lines collide, and would tell apart candidates that are the same.
    """
    rng = np.random.default_rng(1)
    first = functions[0][0].graph
    image = rng.standard_normal(first["x"].shape, np.float32)
    workspace = max(candidate.layer.workspace_bytes for candidate, _ in functions)
    sizes = [workspace]
    for candidate, _ in functions:
        sizes += [candidate.graph[name].elements * FLOAT_BYTES for name in ("x", "y")]
        sizes += [blob.bytes for blob in candidate.layer.blobs]
    arena = Arena(sizes, align)
    panels = arena.take(workspace)
    tensors: dict[Tensor, Floats] = {}
    constants: dict[bytes, Floats] = {}
    calls = []
    for candidate, function in functions:
        x, y, layer = candidate.graph["x"], candidate.graph["y"], candidate.layer
        for tensor in (x, y):
            if tensor not in tensors:
                tensors[tensor] = arena.take(tensor.elements * FLOAT_BYTES)
        tensors[x][:] = x.layout.pack(image).reshape(-1)
        weights = {}
        for blob in layer.blobs:
            value = np.ascontiguousarray(blob.pack()).reshape(-1)
            if value.tobytes() not in constants:
                constants[value.tobytes()] = arena.take(blob.bytes)
                constants[value.tobytes()][:] = value
            weights[blob.name] = constants[value.tobytes()]
        memory = {
            ArgKind.INPUT: {x.name: tensors[x]},
            ArgKind.WEIGHTS: weights,
            ArgKind.OUTPUT: {y.name: tensors[y]},
            ArgKind.WORKSPACE: {"": panels},
        }
        pointers = tuple(memory[arg.kind][arg.ref].ctypes.data for arg in layer.args)
        calls.append(_Call(candidate, function, pointers, y, tensors[y]))
    return calls


def _require_agreement(
    convolution: Convolution, calls: Sequence[_Call], library: Library, tolerance: float
) -> None:
    want: Floats | None = None
    for call in calls:
        call.values.fill(np.nan)
        library.seconds(call.function, call.pointers, 1)
        if not call.candidate.is_whole:
            continue
        got = call.output.layout.unpack(call.values, call.output.shape).astype(np.float32)
        if want is None:
            want = got
        error = float(np.max(np.abs(got - want)) / np.max(np.abs(want)))
        if not error <= tolerance:  # NaN is no agreement either
            raise EdgeconvError(
                "wrong result",
                where=f"{call.candidate.name}: {convolution.label}",
                got=f"a difference of {error:.2g} of the largest output",
                rule=f"from {calls[0].candidate.name} by at most {tolerance:g}",
            )
