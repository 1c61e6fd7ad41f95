"""When layers of int8 whose results are real numbers are computed, on cores without vectors, with
what room and in how many cycles."""

from __future__ import annotations

import math
from dataclasses import dataclass, replace

from edgeconv.ir.candidate import REAL
from edgeconv.ir.filters import DYNAMIC
from edgeconv.ir.graph import Graph, Node
from edgeconv.ir.work import Work
from edgeconv.kernels.algorithms.candidate import ConvCandidate
from edgeconv.kernels.algorithms.integer import kernels as integer_kernels
from edgeconv.kernels.algorithms.integer.adjacent_windows import ROWS_TOGETHER, is_column, taken
from edgeconv.kernels.algorithms.integer.candidate import (
    NUMBERS_BYTES,
    are_rows,
    is_image,
    leaves,
    rows_of,
    windows_copied,
)
from edgeconv.kernels.algorithms.integer.cycles import BLOCK_1X4, SUMMED_1X4, cycles_of
from edgeconv.kernels.algorithms.integer.cycles_2x2 import cycles_2x2_of
from edgeconv.kernels.algorithms.integer.depthwise_2x2 import two_rows_of_sums
from edgeconv.kernels.algorithms.integer.packing import (
    DEPTHWISE_CHANNELS,
    FOUR,
    K_BLOCK,
    SIXTEEN,
    padded,
)
from edgeconv.kernels.algorithms.integer.panels import (
    PIXELS,
    packing_cycles,
    panel_k_blocks,
    panels_of,
    summing,
)
from edgeconv.kernels.algorithms.integer.real_cycles import real_cycles_of
from edgeconv.kernels.algorithms.problem import ConvProblem
from edgeconv.kernels.algorithms.real_sums import largest_reach
from edgeconv.target.targets import DSP, HELIUM, Target

WORD = 4  # bytes
_LARGEST = 2**31 - 1


@dataclass(frozen=True, slots=True)
class RealPlan:
    """The plan of a layer in integers with real results.  ``kernel``: what its function is called
    behind ec_int8_real_.  ``sixteens``: filters in these for Helium.  ``in_columns``: of a
    depthwise layer, whose inputs and filters are taken apart as int16."""

    kernel: str
    sixteens: bool = False
    is_depthwise: bool = False
    in_columns: bool = False


CONVOLVE, CONVOLVE_1X4 = RealPlan("convolve"), RealPlan("convolve_1x4", sixteens=True)
DENSE, DENSE_SIXTEENS = RealPlan("dense"), RealPlan("dense", sixteens=True)
DEPTHWISE = RealPlan("depthwise", is_depthwise=True)
DEPTHWISE_3X3 = RealPlan("depthwise_3x3", is_depthwise=True, in_columns=True)
DEPTHWISE_TAPS = RealPlan("depthwise_taps", is_depthwise=True, in_columns=True)
DEPTHWISE_2X2 = RealPlan("depthwise_2x2", is_depthwise=True, in_columns=True)


def real_candidates(problem: ConvProblem, target: Target) -> tuple[ConvCandidate[RealPlan], ...]:
    """One, where sums of integers make the real numbers of the result and nothing is vectorised;
    what makes these of sums is the work of the call alone."""
    return () if target.lanes > 1 or problem.integers else _images(problem, target)


def dense_real_candidates(
    problem: ConvProblem, target: Target
) -> tuple[ConvCandidate[RealPlan], ...]:
    """The candidate of a fully connected layer, which needs no panel."""
    return () if target.lanes > 1 or problem.integers else _rows(problem, target)


def product_candidate(problem: ConvProblem, target: Target) -> tuple[ConvCandidate[RealPlan], ...]:
    """The candidate of a product of two tensors, one of which is packed as filters of an image
    are."""
    return (_dense(problem, target),)


def _images(problem: ConvProblem, target: Target) -> tuple[ConvCandidate[RealPlan], ...]:
    if not problem.real_sums or not is_image(problem):
        return ()
    if problem.groups > 1 and problem.group_in_c == 1:
        in_columns = DSP in target.features and HELIUM not in target.features
        if not in_columns:
            return (_depthwise(problem, target),)
        return _fastest(*_by_two_rows(problem, target), _by_columns(problem, target))
    images = _dense(problem, target)
    if HELIUM in target.features or not are_rows(problem):
        return (images,)
    return _fastest(images, _by_rows(problem, target))


def _fastest(*ways: ConvCandidate[RealPlan]) -> tuple[ConvCandidate[RealPlan], ...]:
    return (min(ways, key=lambda each: each.work.moves),)


def _rows(problem: ConvProblem, target: Target) -> tuple[ConvCandidate[RealPlan], ...]:
    """Row by row or, of cores that share what they take apart among pixels, as an image."""
    if not problem.real_sums:
        return ()
    rows = _by_rows(problem, target)
    if HELIUM in target.features or not target.workspaces:
        return (rows,)
    return _fastest(rows, _dense(problem, target))


def _by_rows(problem: ConvProblem, target: Target) -> ConvCandidate[RealPlan]:
    sixteens = HELIUM in target.features
    core, real = cycles_of(target), real_cycles_of(target)
    rows, fours = rows_of(problem), -(-problem.out_c // FOUR)
    block, step = (SIXTEEN, BLOCK_1X4) if sixteens else (K_BLOCK, core.dot)
    rest = core.dot_rest if problem.in_c % block and not sixteens else 0.0
    cycles = rows * fours * (-(-problem.in_c // block) * step + rest + real.four)
    if problem.asymmetric:
        summed = SUMMED_1X4 if sixteens else core.summed
        cycles += rows * (summing(problem, block, summed) + fours * real.around)
    return _found(problem, DENSE_SIXTEENS if sixteens else DENSE, {}, cycles)


def run_time_candidates(
    problem: ConvProblem, node: Node, graph: Graph, target: Target
) -> tuple[ConvCandidate[RealPlan], ...]:
    """The candidates of a DynamicDense or DynamicConv, where no part of a sum is beyond int32; on
    cores with vectors, too, on which they are as right and no faster."""
    if int(largest_reach(node, graph, 2 * 255).max(initial=0)) > _LARGEST:
        return ()
    whole = replace(problem, real_sums=True)
    dense = node.op == DYNAMIC["Dense"]
    made = _rows(whole, target) if dense else _images(whole, target)
    channels = 3 * WORD * words_of_channels(problem.out_c)
    room = {"channels": channels}
    return tuple(replace(each, workspace={**room, **each.workspace}) for each in made)


def _dense(problem: ConvProblem, target: Target) -> ConvCandidate[RealPlan]:
    group_c = problem.group_out_c
    group = replace(problem, groups=1, in_c=problem.group_in_c, out_c=group_c)
    core, real = cycles_of(target), real_cycles_of(target)
    numbers = group.in_c * math.prod(group.kernel)
    pixels = group.batch * math.prod(group.out_size)
    if HELIUM in target.features:
        fours, blocks = -(-group_c // FOUR), -(-numbers // SIXTEEN)
        copied, copying = windows_copied(group)
        cycles = pixels * (fours * (BLOCK_1X4 * blocks + real.four) + copying)
        if group.asymmetric:
            cycles += pixels * (summing(group, SIXTEEN, SUMMED_1X4) + fours * real.around)
        room = {"window": padded(numbers, K_BLOCK)} if copied else {}
        plan = CONVOLVE_1X4
    else:
        k_blocks, (panels, _) = panel_k_blocks(group, numbers), panels_of(group)
        cycles = panels * -(-group_c // 2) * (k_blocks * core.tile + real.tile)
        cycles += packing_cycles(group, core, integer_kernels.CONVOLVE, apart=problem.groups > 1)
        room, plan = {"panel": 2 * PIXELS * K_BLOCK * k_blocks}, CONVOLVE
    return _found(problem, plan, room, problem.groups * cycles)


def _depthwise(problem: ConvProblem, target: Target) -> ConvCandidate[RealPlan]:
    real, taps = real_cycles_of(target), math.prod(problem.kernel)
    windows = float(problem.batch * math.prod(problem.out_size))
    fours, lone = divmod(problem.out_c, DEPTHWISE_CHANNELS)
    if not problem.is_depthwise:
        fours, lone = 0, problem.out_c
    cycles = fours * (real.window + taps * real.tap) + lone * (real.lone + taps * real.lone_tap)
    cycles *= 2 if problem.asymmetric else 1  # inputs are summed as products are
    return _found(problem, DEPTHWISE, {}, windows * cycles)


def _by_columns(problem: ConvProblem, target: Target) -> ConvCandidate[RealPlan]:
    """Four channels at a time, as those of int8 results."""
    core, real, each = cycles_of(target), real_cycles_of(target), taken(problem, in_pairs=True)
    fours = -(-problem.out_c // DEPTHWISE_CHANNELS)
    height, width = problem.kernel[1:]
    plain = problem.is_depthwise and (height, width) == (3, 3) and problem.dilations[2] == 1
    if plain:
        window, packed, row = real.nine, each.lone * core.column, core.row_of_four
    else:
        pairs, lone = divmod(height, 2)
        window = real.taps + width * (pairs * core.pair_tap + lone * core.lone_tap)
        packed = each.pairs * core.pair_column + each.lone * core.lone_column
        row = core.rows_of_taps if is_column(problem) else core.row_of_taps
    windows = float(problem.batch * math.prod(problem.out_size))
    cycles = fours * (windows * window + problem.batch * each.batches * (packed + row))
    along = min(problem.out_size[1], ROWS_TOGETHER) if is_column(problem) else problem.out_size[2]
    room = {
        "sums": WORD * DEPTHWISE_CHANNELS * along,
        "columns": (2 * each.pairs + each.lone) * NUMBERS_BYTES,
        "outside": _outside(problem),
    }
    return _found(problem, DEPTHWISE_3X3 if plain else DEPTHWISE_TAPS, room, cycles)


def _by_two_rows(problem: ConvProblem, target: Target) -> tuple[ConvCandidate[RealPlan], ...]:
    """Four channels of two rows of the output at a time, where windows share pairs of rows."""
    two = two_rows_of_sums(problem)
    if two is None:
        return ()
    core = replace(cycles_2x2_of(target, ""), half=real_cycles_of(target).half)
    along = -(-problem.out_size[2] // two.across.every)
    room = {
        "sums": 2 * WORD * DEPTHWISE_CHANNELS * along,
        "panel": two.panel_bytes,
        "outside": _outside(problem),
    }
    return (_found(problem, DEPTHWISE_2X2, room, problem.batch * two.cycles_by(core)),)


def _outside(problem: ConvProblem) -> int:
    """Bytes of a row of the input that lies outside of it, where windows reach there."""
    return padded(problem.in_size[2] * problem.in_c, WORD) if leaves(problem) else 0


def _found(
    problem: ConvProblem, plan: RealPlan, room: dict[str, int], cycles: float
) -> ConvCandidate[RealPlan]:
    pixels = problem.batch * math.prod(problem.out_size)
    passes = float(problem.macs) if plan.is_depthwise else problem.macs / PIXELS
    data = float(problem.macs) / (1 if plan.is_depthwise else 2)
    return ConvCandidate(
        algorithm="integer",
        problem=problem,
        plan=plan,
        workspace=room,
        work=Work(0.0, cycles, passes + 3.0 * WORD * problem.out_c * pixels, data),
        cache_traffic=tuple,  # what it moves is taken to be every operand once
        compute=REAL,
    )


def words_of_channels(channels: int) -> int:
    """Words of all channels, whole tiles of any kernel."""
    return padded(channels, FOUR)
