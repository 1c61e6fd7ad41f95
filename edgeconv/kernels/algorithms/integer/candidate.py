"""When a convolution is computed in integers, with what room and in how many cycles."""

from __future__ import annotations

import math
from dataclasses import dataclass, replace

from edgeconv.ir.candidate import INTEGERS
from edgeconv.ir.work import Work
from edgeconv.kernels.algorithms.candidate import ConvCandidate
from edgeconv.kernels.algorithms.integer.adjacent_windows import is_column, taken
from edgeconv.kernels.algorithms.integer.cycles import (
    AROUND_1X4,
    AROUND_1X8,
    AROUND_3X3_1X8,
    BLOCK_1X4,
    COLUMN_1X8,
    EDGE_1X4,
    LAST_1X4,
    LAST_1X8,
    PIXEL_1X4,
    RESULTS_1X4,
    ROW_1X8,
    ROWS_1X4,
    SUMMED_1X4,
    TAP_1X8,
    TAPS_1X8,
    VECTOR_1X4,
    WINDOW_1X8,
    WINDOWS_1X4,
    cycles_of,
    helium_besides,
    plain_cycles_of,
)
from edgeconv.kernels.algorithms.integer.depthwise_2x2 import Depthwise2x2, depthwise_2x2
from edgeconv.kernels.algorithms.integer.helium_tiles import (
    TILE,
    call_cycles,
    is_copied,
    is_held,
    reads_of,
    sets_of,
    windows_together,
)
from edgeconv.kernels.algorithms.integer.joined import PANEL_BYTES_BEYOND, joins
from edgeconv.kernels.algorithms.integer.kernels import (
    CONVOLVE_1X4,
    DENSE,
    DENSE_1X4,
    DENSE_1X4_AROUND,
    DENSE_AROUND,
    DENSE_JOINED,
    DEPTHWISE,
    DEPTHWISE_1X8,
    DEPTHWISE_3X3,
    DEPTHWISE_3X3_1X8,
    DEPTHWISE_3X3_BORDER,
    IntegerKernel,
)
from edgeconv.kernels.algorithms.integer.packing import (
    CHANNELS_1X8,
    DEPTHWISE_CHANNELS,
    FOUR,
    K_BLOCK,
    SIXTEEN,
    padded,
    words_of,
)
from edgeconv.kernels.algorithms.integer.panels import (
    PIXELS,
    columns_inside,
    kernel_of,
    panel_k_blocks,
    panels_of,
    summing,
    tiles_cycles,
    within,
)
from edgeconv.kernels.algorithms.problem import ConvProblem
from edgeconv.target.targets import DSP, HELIUM, Target

ROWS = PIXELS  # that wait for a residual: no pixel is left over, whatever their width
_PANEL_BYTES = 2 * PIXELS * K_BLOCK  # of a k-block
NUMBERS_BYTES = 8  # of a pixel and four or eight channels of a depthwise layer


@dataclass(frozen=True, slots=True)
class IntegerPlan:
    """The plan of a convolution in integers.  ``two``: of a depthwise layer by pairs of rows."""

    kernel: IntegerKernel
    two: Depthwise2x2 | None = None

    def reads_again(self, problem: ConvProblem) -> bool:
        """Pixels are read where they lie, once for every four filters: no window is copied."""
        if not self.kernel.helium:
            return self.kernel.is_dense
        held = is_held(problem.in_c * math.prod(problem.kernel)) and not problem.asymmetric
        return not is_copied(problem) and (not held or problem.out_c % FOUR > 0)

    def pixels_again(self, problem: ConvProblem) -> int:
        """How many pixels are read together, once for every few filters."""
        together = self.kernel.helium and problem.out_c % FOUR == 0 and not problem.asymmetric
        return TILE if together and self.reads_again(problem) else 1


def is_image(problem: ConvProblem) -> bool:
    """Two dimensions at most."""
    return problem.in_size[0] == problem.out_size[0] == problem.kernel[0] == 1


def candidates(problem: ConvProblem, target: Target) -> tuple[ConvCandidate[IntegerPlan], ...]:
    """Where the layer is one of whole numbers and nothing is vectorised: one, the fastest first
    where of a depthwise layer another takes less memory."""
    images = image_candidates(problem, target)
    if len(images) != 1 or HELIUM in target.features or not are_rows(problem):
        return images
    return _fewer_bytes_later(images[0], _by_rows(problem, target))[:1]


def image_candidates(
    problem: ConvProblem, target: Target
) -> tuple[ConvCandidate[IntegerPlan], ...]:
    """The candidates without the kernel that goes row by row: filters are in panels."""
    if target.lanes > 1 or not problem.integers or not is_image(problem):
        return ()
    helium = HELIUM in target.features
    if problem.groups > 1 and problem.group_in_c == 1:
        if helium:
            return (_helium_depthwise(problem),)
        ways = _fewer_bytes_later(*_by_2x2(problem, target), _depthwise(problem, target))
        if not target.workspaces:
            return ways[-1:]
        return _fewer_bytes_later(*ways, _with_border(problem, target, ways[-1]))
    if problem.groups > 1 and problem.finish.residual_as is not None:
        return ()
    group = replace(
        problem,
        groups=1,
        in_c=problem.in_c // problem.groups,
        out_c=problem.out_c // problem.groups,
    )
    if helium:
        return (_one_by_one(helium_dense(group), problem),)
    return (_one_by_one(_dense(group, target, apart=problem.groups > 1), problem),)


def are_rows(problem: ConvProblem) -> bool:
    """Whether pixels are rows of numbers by each of which filters are multiplied, as those of a
    fully connected layer are."""
    apart = problem.groups > 1 or problem.in_ring or problem.out_ring
    return problem.is_pointwise and not apart and problem.finish.residual_as is None


def _one_by_one(
    group: ConvCandidate[IntegerPlan], problem: ConvProblem
) -> ConvCandidate[IntegerPlan]:
    """The groups of ``problem``, each of which is computed as ``group``."""
    every = group.work.times(problem.groups)
    return replace(group, problem=problem, work=every)


def helium_dense(problem: ConvProblem) -> ConvCandidate[IntegerPlan]:
    """Four filters at a time, of a window of one pixel."""
    window, around = problem.in_c * math.prod(problem.kernel), problem.asymmetric
    pixels = problem.batch * math.prod(problem.out_size)
    fours, blocks = -(-problem.out_c // FOUR), -(-window // SIXTEEN)
    added = problem.finish.residual_as is not None
    row = problem.out_size[2] * problem.out_c
    plan = IntegerPlan(CONVOLVE_1X4.with_residual(added=added))
    copied, copying = windows_copied(problem)
    together = windows_together(problem)
    more = helium_besides(problem.sum_facts.scaling)
    if around:
        each = fours * (BLOCK_1X4 * blocks + RESULTS_1X4 + more + AROUND_1X4) + PIXEL_1X4
        cycles = pixels * (each + summing(problem, SIXTEEN, SUMMED_1X4) + copying)
    else:
        cycles = _tiles_cycles(problem, together, more)
    cycles += pixels * LAST_1X4 if problem.out_c % FOUR else 0.0
    cycles += 6.0 * problem.batch * problem.out_size[1] * row if added else 0.0
    sets = pixels if around else sets_of(window, pixels)  # windows that read filters together
    passes = float(sets * fours * (FOUR * SIXTEEN * blocks + 32))
    read = pixels * window * (fours if around else reads_of(window, problem.out_c, pixels))
    data = pixels * (problem.out_c + (2 * window if copied else 0)) + read
    found = _found(
        problem,
        plan,
        {
            "window": padded(together * window, K_BLOCK) if copied or added else 0,
            "rows": row if added else 0,
        },
        (cycles, passes, float(data)),
    )
    own = float(pixels * window if copied else read)
    return replace(found, work=replace(found.work, input_bytes=own))


def _tiles_cycles(problem: ConvProblem, together: int, more: float) -> float:
    """All windows, copied so many ``together``, or where they lie."""
    numbers, filters = problem.in_c * math.prod(problem.kernel), problem.out_c
    rows = problem.batch * problem.out_size[1]
    if not is_copied(problem):
        runs = rows if problem.strides[1] > 1 else problem.batch
        return runs * call_cycles(numbers, rows_of(problem) // runs, filters, more)
    calls, rest = divmod(problem.out_size[2], together)
    each = calls * call_cycles(numbers, together, filters, more)
    each += call_cycles(numbers, rest, filters, more) if rest else 0.0
    return rows * (each + problem.out_size[2] * copied_cycles(problem))


def copied_cycles(problem: ConvProblem) -> float:
    """What it takes to copy a window, for Helium: ec_int8_copy_windows of ec_int8_1x4.h."""
    vectors = -(-problem.kernel[2] * problem.in_c // SIXTEEN)
    together, height = windows_together(problem), problem.kernel[1]
    each = height * (VECTOR_1X4 * vectors + ROWS_1X4 / together) + WINDOWS_1X4 / together
    return each + (1 - within(problem)) * height * EDGE_1X4


def windows_copied(problem: ConvProblem) -> tuple[bool, float]:
    """Whether windows are copied, for Helium, and the cycles of that for a pixel."""
    return is_copied(problem), copied_cycles(problem) if is_copied(problem) else 0.0


def _helium_depthwise(problem: ConvProblem) -> ConvCandidate[IntegerPlan]:
    """Eight channels at a time."""
    each = taken(problem, in_pairs=False)
    eights, taps = -(-problem.out_c // CHANNELS_1X8), math.prod(problem.kernel)
    windows = float(problem.batch * math.prod(problem.out_size) * eights)
    if _is_3x3(problem) and not problem.asymmetric:
        kernel, window, number = DEPTHWISE_3X3_1X8, WINDOW_1X8, COLUMN_1X8 / 3
        row = AROUND_3X3_1X8
    else:
        kernel, number, row = DEPTHWISE_1X8, ROW_1X8, AROUND_1X8
        window = TAPS_1X8 + TAP_1X8 * taps
    window += 2 * helium_besides(problem.sum_facts.scaling)
    batches = problem.batch * each.batches * eights
    cycles = windows * window + batches * (number * each.lone + row)
    cycles += LAST_1X8 * windows / eights if problem.out_c % CHANNELS_1X8 else 0.0
    constants = windows * _bytes_of_words(CHANNELS_1X8, taps)
    return _found_depthwise(problem, kernel, (cycles, constants, 8.0 * taps * windows))


def rows_added(problem: ConvProblem) -> int:
    """How many rows wait for a residual."""
    return 1 if problem.adds_apart else min(ROWS, problem.out_size[1])


def _dense(problem: ConvProblem, target: Target, *, apart: bool) -> ConvCandidate[IntegerPlan]:
    """``apart``: between the channels of two pixels lie others."""
    facts = problem.sum_facts
    core = cycles_of(target, facts.scaling, bounded=facts.bounded)
    k_blocks = panel_k_blocks(problem, problem.in_c * math.prod(problem.kernel))
    kernel = kernel_of(problem, target)
    cycles = tiles_cycles(problem, core, kernel, apart=apart)
    pixels, (panels, _) = (
        problem.batch * math.prod(problem.out_size),
        panels_of(problem, kernel.pixels),
    )
    window, filters = k_blocks * K_BLOCK, padded(problem.out_c, kernel.filters)
    passes = panels * filters * (window + 8)  # bytes of filters and their words
    added = problem.finish.residual_as is not None
    row = problem.out_size[2] * problem.out_c
    cycles += core.added * problem.batch * problem.out_size[1] * row if added else 0.0
    return _found(
        problem,
        IntegerPlan(kernel.with_residual(added=added)),
        {
            "panel": k_blocks * _PANEL_BYTES + PANEL_BYTES_BEYOND * kernel.reads_beyond,
            "rows": rows_added(problem) * row if added else 0,
        },
        (cycles, float(passes), 3.0 * pixels * window),
    )


def _fewer_bytes_later(
    *ways: ConvCandidate[IntegerPlan] | None,
) -> tuple[ConvCandidate[IntegerPlan], ...]:
    """The fastest of these, then those of less workspace, which keep less of the input away from
    the output, too."""
    found: list[ConvCandidate[IntegerPlan]] = []
    for each in sorted((each for each in ways if each), key=lambda each: each.work.moves):
        if all(each.workspace_bytes < other.workspace_bytes for other in found):
            found.append(each)
    return tuple(found)


def _depthwise(problem: ConvProblem, target: Target) -> ConvCandidate[IntegerPlan]:
    """Four channels at a time."""
    facts, each = problem.sum_facts, taken(problem, in_pairs=True)
    core = cycles_of(target, facts.scaling, bounded=facts.bounded)
    fours = -(-problem.out_c // DEPTHWISE_CHANNELS)
    (height, width), taps = problem.kernel[1:], math.prod(problem.kernel)
    windows = float(problem.batch * math.prod(problem.out_size) * fours)
    if _is_3x3(problem):
        kernel, window = DEPTHWISE_3X3, core.window
        packed, row = each.lone * core.column, core.row_of_four
    else:
        pairs, lone = divmod(height, 2)
        kernel = DEPTHWISE
        row = core.rows_of_taps if is_column(problem) else core.row_of_taps
        window = core.taps + width * (pairs * core.pair_tap + lone * core.lone_tap)
        packed = each.pairs * core.pair_column + each.lone * core.lone_column
    cycles = windows * window + problem.batch * each.batches * fours * (packed + row)
    if _is_3x3(problem) and DSP in target.features and (inside := columns_apart(problem)):
        edges = problem.out_size[2] - inside
        own = core.row_apart + inside * core.window_apart + edges * core.edge_apart
        cycles = problem.batch * problem.out_size[1] * fours * own
    if problem.finish.residual_as is not None:
        row, rows = problem.out_size[2] * problem.out_c, problem.batch * problem.out_size[1]
        cycles += rows * (row * core.summed_apart + fours * core.row_of_sums)
    constants = windows * _bytes_of_words(DEPTHWISE_CHANNELS, taps)
    return _found_depthwise(problem, kernel, (cycles, constants, 8.0 * taps * windows))


def _with_border(
    problem: ConvProblem, target: Target, other: ConvCandidate[IntegerPlan]
) -> ConvCandidate[IntegerPlan] | None:
    """Nine numbers with no row outside of the input in the workspace: rows of windows that reach
    there become padding in the panel, which comes on top of what the ``other`` takes at least.
    None where no window reaches there."""
    if not _is_3x3(problem) or not leaves(problem):
        return None
    facts, each = problem.sum_facts, taken(problem, in_pairs=True)
    core = cycles_of(target, facts.scaling, bounded=facts.bounded)
    fours = problem.batch * -(-problem.out_c // DEPTHWISE_CHANNELS)
    windows = float(fours * math.prod(problem.out_size))
    padded = _rows_outside(problem) * problem.in_size[2] * core.lone_column
    packed = each.batches * (each.lone * core.column + core.row_of_four)
    cycles = max(windows * core.window + fours * packed, other.work.moves) + fours * padded
    constants = windows * _bytes_of_words(DEPTHWISE_CHANNELS, math.prod(problem.kernel))
    counted = cycles, constants, 8.0 * math.prod(problem.kernel) * windows
    made = _found_depthwise(problem, DEPTHWISE_3X3_BORDER, counted)
    workspace = {"columns": made.workspace["columns"], "outside": 0, "rows": 0}
    return replace(made, workspace=workspace)


def _rows_outside(problem: ConvProblem) -> int:
    """How many rows of windows, of all rows of the output, lie above the input or below it."""
    firsts = (y * problem.strides[1] - problem.pads[1] for y in range(problem.out_size[1]))
    taps = [k * problem.dilations[1] for k in range(problem.kernel[1])]
    rows = range(problem.in_size[1])
    return sum(first + tap not in rows for first in firsts for tap in taps)


def columns_apart(problem: ConvProblem) -> int:
    """How many windows of a row of a 3x3 depthwise layer are multiplied where they lie, on cores
    with DSP: ec_int8_are_apart of ec_int8_depthwise_3x3.h.  0: all are packed."""
    width = problem.out_size[2]
    inside = columns_inside(problem)
    whole = problem.in_c % DEPTHWISE_CHANNELS == 0
    apart = whole and problem.strides[2] > 1 and problem.pads[2] < 2 and 2 * inside > width
    return inside if apart else 0


def _by_2x2(problem: ConvProblem, target: Target) -> tuple[ConvCandidate[IntegerPlan], ...]:
    """Two rows of the output at a time, where a core multiplies pairs."""
    if DSP not in target.features or problem.finish.residual_as is not None:
        return ()
    return tuple(_of_2x2(two, problem, target) for two in depthwise_2x2(problem))


def _of_2x2(two: Depthwise2x2, problem: ConvProblem, target: Target) -> ConvCandidate[IntegerPlan]:
    taps = math.prod(problem.kernel)
    outside = problem.in_c if two.kernel.is_transposed else problem.in_size[2] * problem.in_c
    workspace = {
        "columns": two.panel_bytes,
        "outside": outside if leaves(two.problem) else 0,
    }
    fours = problem.batch * -(-problem.out_c // DEPTHWISE_CHANNELS)
    constants = fours * two.reads_of_constants * _bytes_of_words(DEPTHWISE_CHANNELS, taps)
    windows = float(problem.batch * math.prod(problem.out_size) * problem.out_c)
    counted = problem.batch * two.cycles(target), constants, 2.0 * taps * windows
    return _found(problem, IntegerPlan(two.kernel, two=two), workspace, counted)


def _is_3x3(problem: ConvProblem) -> bool:
    """What the kernels of nine numbers do: one filter per channel, columns side by side."""
    plain = problem.is_depthwise and problem.finish.residual_as is None
    return plain and problem.kernel[1:] == (3, 3) and problem.dilations[2] == 1


def _bytes_of_words(channels: int, taps: int) -> int:
    """The bytes of the words of so many channels with their filters."""
    return 4 * words_of(channels, taps)


def _found_depthwise(
    problem: ConvProblem, kernel: IntegerKernel, counted: tuple[float, float, float]
) -> ConvCandidate[IntegerPlan]:
    added = problem.finish.residual_as is not None
    each = taken(problem, in_pairs=not kernel.helium)
    row = problem.in_size[2] * problem.in_c
    workspace = {
        "columns": (2 * each.pairs + each.lone) * NUMBERS_BYTES,
        "outside": row if added or leaves(problem) else 0,
        "rows": problem.out_size[2] * problem.out_c if added else 0,
    }
    plan = IntegerPlan(kernel.with_residual(added=added))
    return _found(problem, plan, workspace, counted)


def leaves(problem: ConvProblem) -> bool:
    """Some window reaches above the input or below it."""
    last = (problem.out_size[1] - 1) * problem.strides[1] - problem.pads[1]
    reach = (problem.kernel[1] - 1) * problem.dilations[1]
    return problem.pads[1] > 0 or last + reach >= problem.in_size[1]


def dense_candidate(problem: ConvProblem, target: Target) -> ConvCandidate[IntegerPlan]:
    """The candidate of a fully connected layer: row by row, which needs no panel, or as an image of
    as many pixels, whichever is faster."""
    if HELIUM in target.features:
        kernel = DENSE_1X4_AROUND if problem.asymmetric else DENSE_1X4
        return replace(helium_dense(problem), plan=IntegerPlan(kernel), workspace={})
    rows = _by_rows(problem, target)
    ways = _fewer_bytes_later(rows, _dense(problem, target, apart=False))
    return ways[0] if target.workspaces else rows


def _by_rows(problem: ConvProblem, target: Target) -> ConvCandidate[IntegerPlan]:
    """One pixel at a time, by four filters."""
    facts = problem.sum_facts
    if problem.asymmetric:
        return _dense_around(problem, target)
    whole = problem.in_c % K_BLOCK == 0
    core = cycles_of(target, facts.scaling, bounded=facts.bounded)
    core = core if whole else plain_cycles_of(target, facts.scaling)
    rows, fours = rows_of(problem), -(-problem.out_c // K_BLOCK)
    k_blocks = -(-problem.in_c // K_BLOCK)
    joined = whole and joins(problem, target)
    kernel = DENSE_JOINED if joined else DENSE
    dot = core.dot_joined if kernel.joined else core.dot
    results = core.dot_joined_results if kernel.joined else core.dot_results
    rest = 0.0 if whole else core.dot_rest
    cycles = rows * fours * (k_blocks * dot + rest + results)
    passes = float(rows * fours * K_BLOCK * (k_blocks * K_BLOCK + 8))
    return _found(problem, IntegerPlan(kernel), {}, (cycles, passes, passes / K_BLOCK))


def rows_of(problem: ConvProblem) -> int:
    """Pixels of all images."""
    return problem.batch * math.prod(problem.out_size)


def _dense_around(problem: ConvProblem, target: Target) -> ConvCandidate[IntegerPlan]:
    """The candidate of filters with zero points: sums are made in registers, results of them in
    C."""
    core = cycles_of(target)
    rows, fours = rows_of(problem), -(-problem.out_c // FOUR)
    k_blocks = -(-problem.in_c // K_BLOCK)
    rest = core.dot_rest if problem.in_c % K_BLOCK else 0.0
    cycles = rows * fours * (k_blocks * core.dot_sum + rest + core.dot_around)
    cycles += rows * summing(problem, K_BLOCK, core.summed)
    passes = float(rows * fours * FOUR * (k_blocks * K_BLOCK + 12))
    return _found(problem, IntegerPlan(DENSE_AROUND), {}, (cycles, passes, passes / FOUR))


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
        cache_traffic=tuple,  # what it moves is taken to be every operand once
        compute=INTEGERS,
    )
