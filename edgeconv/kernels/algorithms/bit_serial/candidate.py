"""When a convolution is computed bit by bit, with what room and in how many cycles."""

from __future__ import annotations

import math
from collections.abc import Mapping
from dataclasses import dataclass

from edgeconv.ir.candidate import INTEGERS
from edgeconv.ir.work import Work
from edgeconv.kernels.algorithms.candidate import ConvCandidate
from edgeconv.kernels.algorithms.integer.candidate import is_image, leaves
from edgeconv.kernels.algorithms.integer.cycles import of_core
from edgeconv.kernels.algorithms.problem import ConvProblem
from edgeconv.target.targets import DSP, DUAL_ISSUE, HELIUM, RISCV, THUMB_1, Target

WORD = 32  # channels
WORD_BYTES = 4
_BLOCK = 8  # words: EC_BIT_SERIAL_BLOCK


@dataclass(frozen=True, slots=True)
class BitSerialPlan:
    """Bits of the input from ``border`` on, from ``first`` on where windows lie in the image, up to
    ``bits``; those of filters' ``magnitudes``, 0 where all are 1, and the ``shift`` of sums."""

    bits: int
    first: int
    border: int
    magnitudes: int
    shift: int

    @property
    def borders(self) -> bool:
        """Whether windows that reach over an edge have bits of their own."""
        return self.border < self.first


@dataclass(frozen=True, slots=True)
class BitCycles:
    """Cycles of the loops of ec_bit_serial.h: of a ``block`` of eight words of products, what a sum
    with any takes besides (``loop``), a word of the ``rest``, what magnitudes add to either word
    (``masked``), the ``count`` of one sum of bits, and what makes a ``result`` of all; of a bit of
    a word that is ``packed``, and a ``tap`` of a column."""

    block: float
    loop: float
    rest: float
    masked: float
    count: float
    result: float
    packed: float
    tap: float


# What GCC makes of them, counted under QEMU with the cycles that `integer.cycles` names, and fitted
# to 18 layers each of one and two bits, none of which is off by more than 5 %, 8 % on a Cortex-M0;
# of a Cortex-M7 its instructions, of which llvm-mca -mcpu=cortex-m7 has three begin in two cycles.
_CORTEX_M4 = BitCycles(70.6, 34.0, 13.2, 3.7, 5.7, 21.9, 187.4, 0.0)
_CORES: Mapping[str, BitCycles] = {
    DUAL_ISSUE: BitCycles(41.3, 23.3, 8.4, 1.7, 4.3, 11.1, 105.9, 0.0),
    DSP: _CORTEX_M4,
    THUMB_1: BitCycles(116.7, 38.1, 22.3, 6.1, 0.0, 49.6, 306.0, 280.0),
    RISCV: BitCycles(60.2, 42.6, 13.8, 2.7, 4.4, 16.0, 211.4, 0.0),
}


def window_words(problem: ConvProblem) -> int:
    """Words of a bit of a window, each kernel position beginning with one."""
    return math.prod(problem.kernel) * -(-problem.in_c // WORD)


def strip_columns(problem: ConvProblem) -> int:
    """Columns that the windows of a row of the output have."""
    return (problem.out_size[2] - 1) * problem.strides[2] + problem.kernel[2]


def _reaches_over(problem: ConvProblem) -> bool:
    """Some window reaches over an edge of the image."""
    last = (problem.out_size[2] - 1) * problem.strides[2] - problem.pads[2]
    beyond = last + problem.kernel[2] > problem.in_size[2]
    return leaves(problem) or problem.pads[2] > 0 or beyond


def plan_of(problem: ConvProblem) -> BitSerialPlan | None:
    """The plan; None where the layer is none of few bits."""
    few, digits = problem.few, problem.sum_facts.digits
    if few is None or digits is None:
        return None
    first = 1 if few.signs else 0
    border = 0 if few.signs and _reaches_over(problem) else first
    return BitSerialPlan(few.bits, first, border, digits.magnitudes, digits.shift)


def candidates(problem: ConvProblem, target: Target) -> tuple[ConvCandidate[BitSerialPlan], ...]:
    """One, where input and filters have few bits and nothing is vectorised."""
    plan = plan_of(problem)
    if plan is None or target.lanes > 1 or HELIUM in target.features or not target.workspaces:
        return ()
    if not problem.integers or problem.groups > 1 or not is_image(problem):
        return ()
    if problem.finish.residual_as is not None or problem.finish.twice:
        return ()
    if problem.dilations[2] > 1 or problem.in_pitch or problem.asymmetric:
        return ()
    strip = strip_columns(problem) * problem.kernel[1] * -(-problem.in_c // WORD)
    found = ConvCandidate(
        algorithm="bit_serial",
        compute=INTEGERS,
        problem=problem,
        plan=plan,
        workspace={"strip": strip * (plan.bits - plan.border) * WORD_BYTES},
        work=_work(problem, plan, of_core(target, _CORES, _CORTEX_M4)),
        cache_traffic=tuple,  # what it moves is taken to be every operand once
    )
    return (found,)


def _work(problem: ConvProblem, plan: BitSerialPlan, core: BitCycles) -> Work:
    words, magnitudes = window_words(problem), max(plan.magnitudes, 1)
    rows = problem.batch * problem.out_size[1]
    pixels = rows * problem.out_size[2]
    inside = _inside(problem) if plan.borders else 1.0
    bits = plan.bits - plan.first * inside - plan.border * (1 - inside)
    masked = core.masked if plan.magnitudes else 0.0
    blocks, rest = divmod(words, _BLOCK)
    one = blocks * core.block + bool(blocks) * core.loop + rest * core.rest
    one += words * masked + core.count
    taps = rows * strip_columns(problem) * problem.kernel[1]
    packed = taps * (plan.bits - plan.border) * problem.in_c / WORD
    products = pixels * problem.out_c * bits * magnitudes
    cycles = products * one + pixels * problem.out_c * core.result
    cycles += packed * core.packed + taps * core.tap
    filters = pixels * problem.out_c * words * (1 + plan.magnitudes) * WORD_BYTES
    return Work(
        slots=0.0,
        moves=cycles,
        weight_bytes=float(filters),
        data_bytes=float(products * words * WORD_BYTES),
    )


def _inside(problem: ConvProblem) -> float:
    """The share of windows that lie in the image."""
    shares = []
    for axis in (1, 2):
        firsts = [
            at * problem.strides[axis] - problem.pads[axis] for at in range(problem.out_size[axis])
        ]
        reach = (problem.kernel[axis] - 1) * problem.dilations[axis]
        lie = [at >= 0 and at + reach < problem.in_size[axis] for at in firsts]
        shares.append(sum(lie) / len(lie))
    return shares[0] * shares[1]
