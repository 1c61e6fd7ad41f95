"""When a convolution is computed with int16, with what room and in what time."""

from __future__ import annotations

import math
from dataclasses import dataclass, replace

from edgeconv.ir.candidate import INT16, WIDE_REAL
from edgeconv.ir.encoding import FLOAT32
from edgeconv.ir.work import Work
from edgeconv.kernels.algorithms.axis import axes_of
from edgeconv.kernels.algorithms.candidate import ConvCandidate
from edgeconv.kernels.algorithms.integer.cycles import BLOCK_1X4, of_core
from edgeconv.kernels.algorithms.integer.packing import padded
from edgeconv.kernels.algorithms.integer.real_cycles import real_cycles_of
from edgeconv.kernels.algorithms.problem import ConvProblem
from edgeconv.target.micro_kernel import Lies, MicroKernel
from edgeconv.target.targets import DSP, DUAL_ISSUE, HELIUM, THUMB_1, Target

PIXELS, FILTERS, K_BLOCK = 3, 2, 4  # of a tile without vectors, and numbers that lie side by side
FOUR, EIGHT = 4, 8  # filters of a tile with Helium, and numbers
_BYTES = 2
# Slots of a result: products of 64 bits, offset, shift and bounds, one by one with vectors too;
# what a residual takes besides.
_RESULT_SLOTS, _RESIDUAL_SLOTS = 9.0, 8.0
_SUM_SLOTS = 3.0  # of a sum that is kept as float32
_SUM_BYTES = 4
_TAP_SLOTS = 3.0


@dataclass(frozen=True, slots=True)
class _Loops:
    """Cycles of a core without vectors.  ``block``: of the products of a tile of filters by the
    pixels of a panel, of as many numbers as lie side by side; ``tile``: what such a tile of sums
    takes besides, its results included.  Of a ``window`` that is gathered, of each ``piece`` of it
    that lies together, of every ``k_block`` that is copied at once and of every other ``number``.
    Of a depthwise layer a ``product``, and ``result`` for what is around.  ``residual``: of a
    result that one is added to.  Of filters with zero points ``summed``, of four numbers that are
    added up, and ``around``, of a sum that this counts in.  ``beside``: of a product of a depthwise
    layer's int16, four channels of which are computed together; 0 where that takes as long."""

    block: float
    tile: float
    window: float
    piece: float
    k_block: float
    number: float
    product: float
    result: float
    residual: float
    summed: float = 8.0
    around: float = 12.0
    beside: float = 0.0


# Counted as those of `kernels.algorithms.integer.cycles` are, in functions that layers of different
# numbers of filters share; where all have as many, GCC makes them take a third less.  Of a
# Cortex-M7 as `lowering.loops.PerCore` counts instructions, of an M55 but for its products one a
# cycle.
_NARROW = _Loops(208, 1720, 400, 66, 145, 42, 14.5, 240, 150)
_THUMB_2 = _Loops(81, 470, 175, 83, 21, 23, 6, 27, 24)
_SINGLE = _Loops(31, 320, 180, 84, 20, 22, 9.5, 36, 42, beside=3.5)
_DUAL = _Loops(18, 220, 95, 63, 14, 16, 6.5, 24, 38, beside=2.5)
_HELIUM = _Loops(BLOCK_1X4, 228, 60, 85, 2, 8, 3, 47, 38)
_PORTABLE = _Loops(96, 162, 0, 0, 12, 3, 6, 36, 24)


def _loops_of(target: Target) -> _Loops:
    rows = {THUMB_1: _NARROW, HELIUM: _HELIUM, DUAL_ISSUE: _DUAL, DSP: _SINGLE}
    return of_core(target, rows, _THUMB_2) if target.is_scalar else _PORTABLE


@dataclass(frozen=True, slots=True)
class Int16Plan:
    """The plan of a convolution with int16.  ``kernel``: what its function is called behind
    ec_int16_.  ``numbers``: of a window, with zeros behind; ``chunk`` of them are summed in int32,
    0 for all.  With vectors ``row``, by tiles of so many ``pixels`` and ``vectors`` of filters, of
    which the last has ``last`` (0: as many)."""

    kernel: str
    numbers: int
    chunk: int
    row: MicroKernel | None = None
    pixels: int = 1
    vectors: int = 0
    last: int = 0


def candidates(problem: ConvProblem, target: Target) -> tuple[ConvCandidate[Int16Plan], ...]:
    """One, where the layer is one of whole numbers, images at most."""
    image = problem.in_size[0] == problem.out_size[0] == problem.kernel[0] == 1
    if not (problem.wide or problem.wide_real) or not image:
        return ()
    if problem.groups > 1 and problem.group_in_c == 1:
        return () if problem.chunk else (_depthwise(problem, target),)
    if target.lanes == 1:
        return (_plain(problem, target),)
    # The kernel reads sums in registers.
    rows = (row for row in target.micro_kernels if row.any_int16 and not row.memory_sums)
    row = next(rows, None)
    return (_vectors(problem, target, row),) if row else ()


def sums_apart(problem: ConvProblem) -> bool:
    """Float32 is made of sums, for which the result has no room."""
    return problem.wide_real and problem.out_as != FLOAT32


def numbers_of(problem: ConvProblem) -> int:
    """The numbers of a window of one group."""
    return problem.group_in_c * math.prod(problem.kernel)


def _results(problem: ConvProblem) -> float:
    return float(problem.batch * problem.out_c * math.prod(problem.out_size))


def _plain(problem: ConvProblem, target: Target) -> ConvCandidate[Int16Plan]:
    helium, pixels = HELIUM in target.features, math.prod(problem.out_size)
    block, together = (EIGHT, FOUR) if helium else (K_BLOCK, FILTERS)
    numbers = padded(numbers_of(problem), block)
    alone = helium or pixels < PIXELS
    plan = Int16Plan("dense" if alone else "convolve", numbers, problem.chunk // block * block)
    tiles = -(-problem.group_out_c // together) * problem.groups * problem.batch
    loops = _loops(problem, target)
    strips = pixels if alone else -(-pixels // PIXELS)
    cycles = strips * tiles * (numbers / block * loops.block + loops.tile)
    if alone and not helium:  # a pixel's products, which load as many filters, and its results
        cycles = strips * tiles * (numbers / block * loops.block / 2 + loops.tile / PIXELS)
    if problem.asymmetric:
        results = strips * tiles * together * (1 if alone else PIXELS)
        cycles += pixels * problem.groups * problem.batch * (numbers / K_BLOCK * loops.summed)
        cycles += results * loops.around
    if alone and is_plain(problem, numbers):
        room = 0
    else:
        gathered = _gathered(problem, block, loops)
        cycles += gathered * pixels * problem.groups * problem.batch
        room = _BYTES * numbers * (1 if alone else PIXELS)
    return _found(problem, plan, room, Work(0.0, cycles + _added(problem, loops), 0.0, 0.0))


def _gathered(problem: ConvProblem, block: int, loops: _Loops) -> float:
    """Cycles of a window, the mean over those whose columns lie in the input, of which each row is
    a piece, and others, of which each pixel is."""
    channels, width = problem.group_in_c, problem.kernel[2]
    beside = problem.groups > 1 or problem.dilations[2] > 1
    within = 0.0 if beside else axes_of(problem)[2].within
    rows = _pieces(problem.kernel[1], width * channels, block, loops)
    return within * rows + (1 - within) * _pieces(problem.kernel[1] * width, channels, block, loops)


def _pieces(count: int, length: int, block: int, loops: _Loops) -> float:
    """The cycles of a window in so many pieces: k-blocks where one begins with a k-block, else
    numbers."""
    numbers, k_blocks = -(count * length) % block, 0
    for piece in range(count):
        whole = length // K_BLOCK if piece * length % K_BLOCK == 0 else 0
        k_blocks, numbers = k_blocks + whole, numbers + length - K_BLOCK * whole
    return loops.window + count * loops.piece + k_blocks * loops.k_block + numbers * loops.number


def is_plain(problem: ConvProblem, numbers: int) -> bool:
    """Windows are read where they lie: a pixel's own channels."""
    own = problem.reads_pixels and not problem.in_ring
    return own and numbers == numbers_of(problem) and problem.in_bytes == _BYTES


def _loops(problem: ConvProblem, target: Target) -> _Loops:
    """The cycles of the core; of sums that become float32 without what makes integers of them."""
    loops, real = _loops_of(target), real_cycles_of(target)
    if not problem.wide_real:
        return loops
    return replace(loops, tile=real.tile or real.four, residual=0.0)


def _added(problem: ConvProblem, loops: _Loops) -> float:
    """Cycles of adding the residual."""
    return loops.residual * _results(problem) if problem.finish.residual_as is not None else 0.0


def _depthwise(problem: ConvProblem, target: Target) -> ConvCandidate[Int16Plan]:
    taps, results = math.prod(problem.kernel), _results(problem)
    plan = Int16Plan("depthwise", taps, 0)
    if target.lanes == 1:
        loops = _loops(problem, target)
        fours = problem.is_depthwise and problem.in_bytes == _BYTES and loops.beside
        beside = problem.out_c // FOUR * FOUR / problem.out_c if fours else 0.0
        product = beside * loops.beside + (1 - beside) * loops.product
        cycles = results * (loops.result + taps * product) + _added(problem, loops)
        return _found(problem, plan, 0, Work(0.0, cycles, 0.0, 0.0))
    slots = results / target.lanes * taps * _TAP_SLOTS + _slots(problem)
    return _found(problem, plan, 0, Work(slots, 0.0, 0.0, 0.0))


def _slots(problem: ConvProblem) -> float:
    """From sums to results, one by one."""
    if problem.wide_real:
        return _results(problem) * _SUM_SLOTS
    added = problem.finish.residual_as is not None
    return _results(problem) * (_RESULT_SLOTS + (_RESIDUAL_SLOTS if added else 0.0))


def _vectors(problem: ConvProblem, target: Target, row: MicroKernel) -> ConvCandidate[Int16Plan]:
    numbers, pixels = padded(numbers_of(problem), row.k), math.prod(problem.out_size)
    total = -(-problem.group_out_c // target.lanes)
    chunk = problem.chunk // row.k * row.k
    plans = []
    for tile in row.tiles:
        rows = min(tile.rows, padded(pixels, row.row_multiple))
        vectors = min(tile.vectors, total)
        last = total % vectors
        step = target.tile_slots(row, rows, vectors)
        tiles = total // vectors + (last > 0)
        cost = -(-pixels // rows) * tiles * (numbers / row.k * step + 40)
        plans.append((cost, Int16Plan("convolve_rows", numbers, chunk, row, rows, vectors, last)))
    cost, plan = min(plans, key=lambda each: each[0])
    packed = 0.0 if is_plain(problem, numbers) else pixels * numbers / target.lanes
    slots = problem.groups * problem.batch * (cost + packed) + _slots(problem)
    held = plan.pixels + (row.lies is Lies.PACKED)
    return _found(problem, plan, _BYTES * numbers * held, Work(slots, 0.0, 0.0, 0.0))


def _found(
    problem: ConvProblem, plan: Int16Plan, room: int, work: Work
) -> ConvCandidate[Int16Plan]:
    weights = float(problem.out_c * plan.numbers * (1 if plan.row is None else _BYTES))
    pixels = problem.batch * math.prod(problem.out_size)
    data = _BYTES * problem.macs / max(1, problem.group_out_c) + problem.out_bytes * _results(
        problem
    )
    return ConvCandidate(
        algorithm="int16",
        problem=problem,
        plan=plan,
        workspace={
            **({"sums": int(_SUM_BYTES * _results(problem))} if sums_apart(problem) else {}),
            **({"panel": room} if room else {}),
        },
        work=Work(work.slots, work.moves, weights * -(-pixels // plan.pixels), data),
        cache_traffic=tuple,  # what it moves is taken to be every operand once
        compute=WIDE_REAL if problem.wide_real else INT16,
    )
