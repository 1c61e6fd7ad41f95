"""When a convolution is computed in integers, with what room and in how many instructions."""

from __future__ import annotations

import math
from dataclasses import dataclass

from edgeconv.algorithms.candidate import ConvCandidate
from edgeconv.algorithms.integer.packing import DEPTHWISE_CHANNELS, DEPTHWISE_WORDS, QUAD
from edgeconv.algorithms.problem import ConvProblem
from edgeconv.ir.candidate import INTEGERS
from edgeconv.ir.work import Work
from edgeconv.targets import DSP, Target

PIXELS = 3  # of a panel
_PANEL_BYTES = 2 * PIXELS * QUAD  # of a quad
_COLUMN_BYTES = 24  # of three rows and four channels of a depthwise layer
# Instructions, counted in what GCC makes of ec_int8_*.h: of a multiply-add, of a number packed, of
# a result beside its sum; with SMLAD and without.
_DSP_CORE, _PLAIN = (0.85, 1.3, 9.0), (4.0, 4.0, 14.0)


@dataclass(frozen=True, slots=True)
class IntegerPlan:
    """``kernel``: what its function is called behind ec_int8_."""

    kernel: str

    @property
    def is_depthwise(self) -> bool:
        return self.kernel == "depthwise_3x3"


def is_image(problem: ConvProblem) -> bool:
    """Two dimensions at most, of integers."""
    return problem.integers and problem.in_size[0] == problem.out_size[0] == problem.kernel[0] == 1


def candidates(problem: ConvProblem, target: Target) -> tuple[ConvCandidate[IntegerPlan], ...]:
    """One, where the layer is one of whole numbers and nothing is vectorised."""
    if target.lanes > 1 or not is_image(problem):
        return ()
    if problem.groups == 1:
        return (_dense(problem, target),)
    whole = problem.kernel[1:] == (3, 3) and problem.dilations[2] == 1
    return (_depthwise(problem, target),) if problem.is_depthwise and whole else ()


def _rates(target: Target) -> tuple[float, float, float]:
    return _DSP_CORE if DSP in target.features else _PLAIN


def _dense(problem: ConvProblem, target: Target) -> ConvCandidate[IntegerPlan]:
    mac, packed, result = _rates(target)
    window = -(-problem.in_c * math.prod(problem.kernel) // QUAD) * QUAD
    pixels = problem.batch * math.prod(problem.out_size)
    filters = -(-problem.out_c // 2) * 2
    instructions = pixels * (filters * (window * mac + result) + window * packed)
    passes = -(-pixels // PIXELS) * filters * (window + 8)  # bytes of filters and their words
    return _found(
        problem,
        IntegerPlan("convolve"),
        {"panel": window // QUAD * _PANEL_BYTES},
        (instructions, float(passes), 3.0 * pixels * window),
    )


def _depthwise(problem: ConvProblem, target: Target) -> ConvCandidate[IntegerPlan]:
    mac, packed, result = _rates(target)
    rows, width = problem.batch * problem.out_size[1], problem.out_size[2]
    read = (width - 1) * problem.strides[2] + 3
    fours = -(-problem.out_c // DEPTHWISE_CHANNELS)
    pixels = rows * width * fours * DEPTHWISE_CHANNELS
    # A window's pairs of rows are loaded for every multiplication: two more for each.
    instructions = (
        pixels * (9 * 1.6 * mac + result) + rows * fours * read * DEPTHWISE_CHANNELS * 3 * packed
    )
    outside = problem.in_size[2] * problem.in_c
    return _found(
        problem,
        IntegerPlan("depthwise_3x3"),
        {"columns": read * _COLUMN_BYTES, "outside": outside if _leaves(problem) else 0},
        (instructions, float(rows * width * fours * 4 * DEPTHWISE_WORDS), 18.0 * pixels),
    )


def _leaves(problem: ConvProblem) -> bool:
    """Some window reaches above the input or below it."""
    last = (problem.out_size[1] - 1) * problem.strides[1] - problem.pads[1]
    return problem.pads[1] > 0 or last + 2 * problem.dilations[1] >= problem.in_size[1]


def dense_candidate(problem: ConvProblem, target: Target) -> ConvCandidate[IntegerPlan]:
    """That of a fully connected layer, which needs no panel."""
    mac, _, result = _rates(target)
    rows, filters = math.prod(problem.out_size), -(-problem.out_c // QUAD) * QUAD
    numbers = -(-problem.in_c // QUAD) * QUAD
    instructions = rows * filters * (numbers * mac * 1.3 + result)
    passes = float(rows * filters * (numbers + 8))
    return _found(problem, IntegerPlan("dense"), {}, (instructions, passes, passes / QUAD))


def _found(
    problem: ConvProblem,
    plan: IntegerPlan,
    workspace: dict[str, int],
    counted: tuple[float, float, float],
) -> ConvCandidate[IntegerPlan]:
    """``counted``: instructions, bytes of constants and of data that pass through registers."""
    instructions, constants, data = counted
    return ConvCandidate(
        algorithm="integer",
        problem=problem,
        plan=plan,
        workspace=workspace,
        # No vectors: every instruction takes the place of a load.
        work=Work(slots=0.0, moves=instructions, weight_bytes=constants, data_bytes=data),
        crossings=tuple,  # what it moves is taken to be every operand once
        compute=INTEGERS,
    )
