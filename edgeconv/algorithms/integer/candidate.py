"""When a convolution is computed in integers, with what room and in how many cycles."""

from __future__ import annotations

import math
from dataclasses import dataclass, replace

from edgeconv.algorithms.candidate import ConvCandidate
from edgeconv.algorithms.integer.cycles import (
    EIGHTS_COLUMN,
    EIGHTS_WINDOW,
    FOURS_BLOCK,
    FOURS_RESULTS,
    cycles_of,
)
from edgeconv.algorithms.integer.packing import (
    DEPTHWISE_CHANNELS,
    DEPTHWISE_WORDS,
    EIGHTS_CHANNELS,
    EIGHTS_WORDS,
    FOUR,
    QUAD,
    SIXTEEN,
)
from edgeconv.algorithms.problem import ConvProblem
from edgeconv.ir.candidate import INTEGERS
from edgeconv.ir.work import Work
from edgeconv.targets import HELIUM, Target

PIXELS = 3  # of a panel
ROWS = PIXELS  # that wait for a residual: no pixel is left over, whatever their width
_PANEL_BYTES = 2 * PIXELS * QUAD  # of a quad
_COLUMN_BYTES = 24  # of three rows and four channels of a depthwise layer


@dataclass(frozen=True, slots=True)
class IntegerPlan:
    """``kernel``: what its function is called behind ec_int8_."""

    kernel: str
    helium: bool = False

    @property
    def is_depthwise(self) -> bool:
        return self.kernel.startswith("depthwise")

    def reads_again(self, problem: ConvProblem) -> bool:
        """Pixels are read where they lie, once for every four filters: no window is copied."""
        return self.helium and problem.kernel == (1, 1, 1) and not any(problem.pads)


def is_image(problem: ConvProblem) -> bool:
    """Two dimensions at most, of integers."""
    return problem.integers and problem.in_size[0] == problem.out_size[0] == problem.kernel[0] == 1


def candidates(problem: ConvProblem, target: Target) -> tuple[ConvCandidate[IntegerPlan], ...]:
    """One, where the layer is one of whole numbers and nothing is vectorised."""
    if target.lanes > 1 or not is_image(problem):
        return ()
    helium = HELIUM in target.features
    if problem.groups == 1:
        return (helium_dense(problem) if helium else _dense(problem, target),)
    whole = problem.kernel[1:] == (3, 3) and problem.dilations[2] == 1
    plain = problem.finish.residual_as is None
    if not (problem.is_depthwise and whole and plain):
        return ()
    return (helium_depthwise(problem) if helium else _depthwise(problem, target),)


def helium_dense(problem: ConvProblem) -> ConvCandidate[IntegerPlan]:
    """Four filters at a time, of a window of one pixel."""
    window = problem.in_c * math.prod(problem.kernel)
    pixels = problem.batch * math.prod(problem.out_size)
    fours, blocks = -(-problem.out_c // FOUR), -(-window // SIXTEEN)
    added = problem.finish.residual_as is not None
    row = problem.out_size[2] * problem.out_c
    plan = IntegerPlan("convolve_fours_add" if added else "convolve_fours", helium=True)
    copied = not plan.reads_again(problem)
    cycles = pixels * (
        fours * (FOURS_BLOCK * blocks + FOURS_RESULTS)
        + 60
        + (40.0 * problem.kernel[1] if copied else 0)
    )
    cycles += 6.0 * problem.batch * problem.out_size[1] * row if added else 0.0
    passes = float(pixels * fours * (FOUR * SIXTEEN * blocks + 32))
    return _found(
        problem,
        plan,
        {
            "window": -(-window // QUAD) * QUAD if copied or added else 0,
            "rows": row if added else 0,
        },
        (cycles, passes, float(pixels * fours * window)),
    )


def helium_depthwise(problem: ConvProblem) -> ConvCandidate[IntegerPlan]:
    """Eight channels at a time."""
    rows, width = problem.batch * problem.out_size[1], problem.out_size[2]
    read = (width - 1) * problem.strides[2] + 3
    eights = -(-problem.out_c // EIGHTS_CHANNELS)
    cycles = rows * eights * (EIGHTS_WINDOW * width + EIGHTS_COLUMN * read + 80)
    outside = problem.in_size[2] * problem.in_c
    return _found(
        problem,
        IntegerPlan("depthwise_eights", helium=True),
        {"columns": read * _COLUMN_BYTES, "outside": outside if _leaves(problem) else 0},
        (
            cycles,
            float(rows * width * eights * 4 * EIGHTS_WORDS),
            72.0 * rows * width * eights,
        ),
    )


def _dense(problem: ConvProblem, target: Target) -> ConvCandidate[IntegerPlan]:
    core = cycles_of(target)
    quads = -(-problem.in_c * math.prod(problem.kernel) // QUAD)
    pixels = problem.batch * math.prod(problem.out_size)
    panels, pairs = -(-pixels // PIXELS), -(-problem.out_c // 2)
    cycles = panels * pairs * (quads * core.tile + core.tile_results)
    cycles += pixels * quads * core.widened
    window = quads * QUAD
    passes = panels * 2 * pairs * (window + 8)  # bytes of filters and their words
    added = problem.finish.residual_as is not None
    row = problem.out_size[2] * problem.out_c
    cycles += core.added * problem.batch * problem.out_size[1] * row if added else 0.0
    return _found(
        problem,
        IntegerPlan("convolve_add" if added else "convolve"),
        {
            "panel": quads * _PANEL_BYTES,
            "rows": min(ROWS, problem.out_size[1]) * row if added else 0,
        },
        (cycles, float(passes), 3.0 * pixels * window),
    )


def _depthwise(problem: ConvProblem, target: Target) -> ConvCandidate[IntegerPlan]:
    core = cycles_of(target)
    rows, width = problem.batch * problem.out_size[1], problem.out_size[2]
    read = (width - 1) * problem.strides[2] + 3
    fours = -(-problem.out_c // DEPTHWISE_CHANNELS)
    pixels = rows * width * fours * DEPTHWISE_CHANNELS
    cycles = rows * fours * (width * core.window + read * core.column)
    outside = problem.in_size[2] * problem.in_c
    return _found(
        problem,
        IntegerPlan("depthwise_3x3"),
        {"columns": read * _COLUMN_BYTES, "outside": outside if _leaves(problem) else 0},
        (cycles, float(rows * width * fours * 4 * DEPTHWISE_WORDS), 18.0 * pixels),
    )


def _leaves(problem: ConvProblem) -> bool:
    """Some window reaches above the input or below it."""
    last = (problem.out_size[1] - 1) * problem.strides[1] - problem.pads[1]
    return problem.pads[1] > 0 or last + 2 * problem.dilations[1] >= problem.in_size[1]


def dense_candidate(problem: ConvProblem, target: Target) -> ConvCandidate[IntegerPlan]:
    """That of a fully connected layer, which needs no panel."""
    if HELIUM in target.features:
        return replace(
            helium_dense(problem), plan=IntegerPlan("dense_fours", helium=True), workspace={}
        )
    core = cycles_of(target)
    rows, fours = math.prod(problem.out_size), -(-problem.out_c // QUAD)
    quads = -(-problem.in_c // QUAD)
    cycles = rows * fours * (quads * core.dot + core.dot_results)
    passes = float(rows * fours * QUAD * (quads * QUAD + 8))
    return _found(problem, IntegerPlan("dense"), {}, (cycles, passes, passes / QUAD))


def _found(
    problem: ConvProblem,
    plan: IntegerPlan,
    workspace: dict[str, int],
    counted: tuple[float, float, float],
) -> ConvCandidate[IntegerPlan]:
    """``counted``: cycles, bytes of constants and of data that pass through registers."""
    cycles, constants, data = counted
    return ConvCandidate(
        algorithm="integer",
        problem=problem,
        plan=plan,
        workspace=workspace,
        # A move takes a cycle, and bytes are among what takes them.
        work=Work(slots=0.0, moves=cycles, weight_bytes=constants, data_bytes=data),
        crossings=tuple,  # what it moves is taken to be every operand once
        compute=INTEGERS,
    )
