"""Plan of the direct convolution: register tile, strips, and the order of the loops around them."""

from __future__ import annotations

import math
from collections.abc import Iterator
from dataclasses import replace
from itertools import product

from edgeconv.ir.encoding import FLOAT32, INT4
from edgeconv.ir.layout import Order
from edgeconv.kernels.algorithms.direct.band import (
    band_bytes,
    band_elements,
    band_pays,
    band_rows,
    may_decode_band,
    with_band,
)
from edgeconv.kernels.algorithms.direct.footprint import Input, brought_again
from edgeconv.kernels.algorithms.direct.tiles import (
    FILTERS_OF_L2,
    FLOAT_BYTES,
    INPUT_OF_L1,
    INPUT_OF_L2,
    KEEP_SLOTS,
    DirectPlan,
    TileKind,
    filters_are_far,
    may_decode,
    may_keep,
    near,
    neighbours,
    tile_kinds,
    visits,
)
from edgeconv.kernels.algorithms.problem import ConvProblem
from edgeconv.kernels.algorithms.strips import Segment, segments
from edgeconv.target.price.machine import caches_of, machine_of
from edgeconv.target.targets import STRIPS, Target

# Shares for the filters of one pass over the channels, which stay while every strip passes over
# them and the next ones are fetched: of L1, or of L2 where that keeps up with the multiply-adds.
# In L2 both are what counts as near.
FILTERS_OF_L1, CHUNK_OF_L2 = 5 / 12, FILTERS_OF_L2 / 2
# So much more room has a pass that cannot be split: without it nothing is fetched.  On Zen 5 layers
# from 1,152 channels on 7x7 take .90 of their time so (EfficientNet-B0, `edgeconv bench --layers`).
ROOM_OF_WHOLE = 2
# The share of a strip's multiply-adds in which L2 brings the filters for them at the latest.
BESIDE_MACS = 1 / 2
# Slots that one strip costs beside its multiply-adds: start, epilogue and store.
STRIP_OVERHEAD = 24
# Costs that differ by less are equal, and the first tile that has them is taken.
ROUNDING = 1e-9
# Bytes of code per sum that a strip holds, an estimate: what nm -S tells of functions for Cortex-M
# with epilogues of quantised networks, by GCC; and what one of them counts, in bytes of RAM.
SUM_CODE, FLASH_WORTH = 200, 1 / 4


def row_shapes(problem: ConvProblem) -> Iterator[tuple[int, int, int]]:
    """(planes, rows, row) ways to walk the output pixels.

    A pointwise convolution may take several rows as one, since its pixels follow each other in
    memory; others walk the image as it is, and so do those that compute some rows at a time.
    """
    d, h, w = problem.out_size
    yield d, h, w
    if problem.is_pointwise and not (problem.in_ring or problem.out_ring):
        for rows in (n for n in range(1, d * h) if d * h % n == 0):
            yield 1, rows, d * h * w // rows


def _strip_cost(
    rows: int,
    kind: TileKind,
    taps: int,
    decode: tuple[float, float],
    target: Target,
    together: bool,
) -> float:
    """Slots of one strip: per step its multiply-adds and what decodes for them (``decode`` for a
    vector of filters and for a pixel), its loads or the latency."""
    vectors, depth = kind.vectors, kind.channels * taps
    decoding = vectors * decode[0] + rows * decode[1]
    step = target.tile_slots(
        target.kernel(STRIPS), rows, vectors, decoding, together=together, halved=kind.halved
    )
    return depth * step + 2 * rows * vectors + STRIP_OVERHEAD


def _pixel_slots(problem: ConvProblem, plan: DirectPlan, target: Target) -> float:
    """Slots to decode one channel of one pixel.

    None where channels are neighbours: a vector of them is decoded at a time, for all vectors of
    filters, and not in the slots of multiply-adds.  (Counted, it would make for tiles of few pixels
    and many filters, which then come from far; measured on ResNet-50, AVX-512: 1.3 times the time.)
    """
    if plan.band or neighbours(problem, target):
        return 0.0
    return target.decoding(problem.in_as).element


def _decode_slots(
    cut: tuple[Segment, ...], problem: ConvProblem, plan: DirectPlan, target: Target, *, once: bool
) -> float:
    """Slots per strip to decode a vector of filters, in registers or ``once`` for all strips."""
    each = target.decoding(problem.filters_as).vector
    return (each + KEEP_SLOTS) / visits(plan, cut) if once else each


def _blocks_pay(problem: ConvProblem, plan: DirectPlan, target: Target) -> bool:
    """To decode a vector of filters in registers for every strip takes longer than once to memory
    (seeds/003, Section 8.4)."""
    each = target.decoding(problem.filters_as).vector
    return each * visits(plan, plan.segments or plan.tail_segments) > each + KEEP_SLOTS


def _chunk(problem: ConvProblem, rows: int, target: Target, *, in_blocks: bool) -> int:
    """Output rows per pass over the filters, so that filters or input are read from near memory.

    Blocks of filters are worth as many rows as filters that come from far.
    """
    l1, l2 = near(target)
    far = in_blocks or filters_are_far(problem, target)
    budget = INPUT_OF_L2 * l2 if far else INPUT_OF_L1 * l1
    in_bytes = problem.in_bytes * problem.in_c * math.prod(problem.in_size)
    fit = int(budget * rows * problem.out_size[0] / max(in_bytes, 1))
    passes = -(-rows // max(1, min(rows, fit)))
    return -(-rows // passes)  # even passes: 28 rows of which 27 fit are 14 and 14


def channels_per_chunk(problem: ConvProblem, plan: DirectPlan, target: Target) -> int:
    """Input channels that meet a tile of filters at a time; 0 where the next are not fetched.

    Filters that do not fit L2 come from far, and the first strip that needs them would wait.  In
    passes every strip helps to fetch those of the next pass instead, or of the next tile where one
    pass takes all channels.  Worth it only where several strips share the fetching, and possible
    where channels are blocked: there the filters of a pass follow each other; so do those of
    pointwise convolutions, whose channels may lie as they like where nothing is decoded to memory.
    Sums that cannot wait in the output need a workspace, which near filters are only worth where
    those of all channels do not fit L1 once decoded.
    """
    taps = math.prod(problem.kernel)
    last = Order.CHANNELS_LAST
    blocks = problem.in_layout.order is not last
    block = problem.in_layout.block if blocks else target.lanes
    # Sums that wait in an output with channels last lie apart, mostly in a few sets of the cache.
    splits = blocks and (sums_apart(problem) or problem.out_layout.order is not last)
    far = plan.in_blocks or filters_are_far(problem, target)
    waits = not sums_apart(problem) or may_keep(target)
    decoded = plan.in_blocks or problem.in_as != FLOAT32
    if not blocks and (decoded or not problem.is_pointwise):
        return 0
    if problem.groups > 1 or not waits or not far:
        return 0
    if visits(plan, plan.segments) < 2:
        return 0
    l1 = near(target)[0]
    element = FLOAT_BYTES if plan.in_blocks else problem.filter_bytes
    per_block = element * taps * plan.vectors * target.lanes * block
    stay = not filters_are_far(problem, target) and per_block * -(-problem.in_c // block) <= l1
    if stay and sums_apart(problem):
        return 0
    room = _room_of_chunk(problem, plan, target)
    room *= 1 if splits else ROOM_OF_WHOLE
    channels = max(1, int(room / per_block)) * block
    if channels < problem.in_c:
        return channels if splits else 0
    return 0 if target.in_order else problem.in_c  # there a distance fetches them


def _room_of_chunk(problem: ConvProblem, plan: DirectPlan, target: Target) -> float:
    """Bytes for the filters of one pass: more channels in one make for fewer sums that wait."""
    l1, l2 = near(target)
    apart = plan.in_blocks or sums_apart(problem)
    stated = len(target.caches) > 1 and caches_of(target)[1].bandwidth
    if apart or target.in_order or not stated:
        return FILTERS_OF_L1 * l1
    machine = machine_of(target)
    brought = problem.filter_bytes * target.lanes * machine.caches[0].byte  # a vector of filters
    beside = BESIDE_MACS * plan.largest_rows * machine.slot
    return CHUNK_OF_L2 * l2 if brought <= beside else FILTERS_OF_L1 * l1


def may_decode_blocks(problem: ConvProblem, target: Target) -> bool:
    """Filters that are not float32 may be decoded to memory, a block at a time.

    Not on a core without caches, where RAM is worth more than time; nor by single elements.
    """
    return may_decode(target) and problem.filters_as != FLOAT32


def sums_apart(problem: ConvProblem) -> bool:
    """Sums of one pass wait for the next in a workspace: the output cannot hold float32."""
    return problem.out_as != FLOAT32


def sums_bytes(problem: ConvProblem, plan: DirectPlan, target: Target, channels: int) -> int:
    """Workspace for float32 sums of one tile of filters and the rows that pass under it; 0 where
    the output holds them, or one pass has all channels."""
    if not 0 < channels < problem.in_c or not sums_apart(problem):
        return 0
    pixels = plan.planes * plan.chunk * plan.row
    return FLOAT_BYTES * pixels * plan.vectors * target.lanes


def decoded_bytes(problem: ConvProblem, plan: DirectPlan, target: Target, channels: int = 0) -> int:
    """Workspace for the filters of one tile and pass in float32; 0 where micro-kernels decode them.

    They fit L1.  ``channels``: those of a pass, where there are several.
    """
    if not plan.in_blocks:
        return 0
    depth = channels or max(kind.channels for kind in tile_kinds(problem, plan.vectors, target))
    vectors = plan.vectors if plan.segments else plan.tail_vectors
    size = FLOAT_BYTES * depth * math.prod(problem.kernel) * vectors * target.lanes
    return size if size <= near(target)[0] else 0


def make_plan(problem: ConvProblem, target: Target) -> DirectPlan:
    """The cheapest plan over the target's tiles and the ways to walk the pixels; where what is
    stored would be decoded element by element, one of little memory."""
    make = _minimum_workspace_plan if _wants_minimum_workspace(problem, target) else _fastest_plan
    plan = make(problem, target)
    # Where the output holds the sums, a residual comes in with the first pass, so that there are no
    # passes where an activation comes before it.  Costs count passes all the same: if they did not,
    # 1 of 40 quantised programs of the zoo would be another (ResNet-8 in flyte16 on 32-bit NEON).
    whole = problem.finish.late and not sums_apart(problem)
    channels = channels_per_chunk(problem, plan, target)
    return replace(plan, channels=0 if whole and channels < problem.in_c else channels)


def _fastest_plan(problem: ConvProblem, target: Target) -> DirectPlan:
    best: DirectPlan | None = None
    least = math.inf
    for walk in _walks(problem, target):
        made = _with_chunk(walk, problem, target)
        plan = replace(made, cost=_plan_cost(problem, made, target))
        waiting = plan.cost + _waiting(problem, plan, target)
        if best is None or waiting < least * (1 - ROUNDING):
            best, least = plan, waiting
    assert best is not None  # every target has a tile
    # Not counted above: it would make for tiles that the slots of decoding elsewhere do not.
    kept = KEEP_SLOTS * band_elements(problem, best) / target.lanes
    return replace(best, cost=best.cost + kept)


def _walks(problem: ConvProblem, target: Target) -> Iterator[DirectPlan]:
    """Every tile with every way to walk the pixels; all rows in one pass."""
    total, first = -(-problem.out_c // target.lanes), True
    for planes, rows, row in row_shapes(problem):
        for tile in target.tiles:
            vectors = min(tile.vectors, total)
            if vectors < tile.vectors and not first:
                continue  # another tile has exactly this many vectors
            if not first and problem.filters_as == INT4 and vectors * target.lanes % 2:
                continue  # rows of filters begin with a byte: half of the last one would be lost
            first, tail = False, total % vectors
            cut = segments(problem, row, tile.rows)
            tail_rows = max((t.rows for t in target.tiles if t.vectors >= tail), default=tile.rows)
            tail_cut = segments(problem, row, tail_rows) if tail else ()
            yield DirectPlan(vectors, tail, planes, rows, row, rows, cut, tail_cut, 0.0)


def walked_by(
    problem: ConvProblem, plan: DirectPlan, target: Target, workers: int
) -> DirectPlan | None:
    """``plan`` with its tiles, the pixels walked in rows that are a multiple of ``workers``, as
    cheaply as they can; None where they are such, or cannot be.  Passes over the channels stay as
    they are, since they say when a residual is added."""
    if plan.rows % workers == 0 or plan.in_blocks or plan.band:
        return None
    tail = max((segment.rows for segment in plan.tail_segments), default=0)
    found = []
    for planes, rows, row in row_shapes(problem):
        if planes > 1 or rows % workers:
            continue
        walk = replace(
            plan,
            planes=planes,
            rows=rows,
            row=row,
            segments=segments(problem, row, plan.largest_rows) if plan.segments else (),
            tail_segments=segments(problem, row, tail) if tail else (),
            chunk=_chunk(problem, rows, target, in_blocks=False),
        )
        found.append(replace(walk, cost=_plan_cost(problem, walk, target)))
    return min(found, key=lambda walk: walk.cost, default=None)


def _wants_minimum_workspace(problem: ConvProblem, target: Target) -> bool:
    """What is stored is decoded element by element, which a little RAM spares."""
    stored = problem.in_as != FLOAT32 or problem.filters_as != FLOAT32
    return target.workspaces and target.slack > 0.0 and stored


def _minimum_workspace_plan(problem: ConvProblem, target: Target) -> DirectPlan:
    """The plan of least memory, code included, of those that take little longer than the
    fastest."""
    made = []
    for walk in _walks(problem, target):
        loads = _tile_loads(problem, walk, target)
        for plan in _decoding_ways(walk, problem, target):
            band = band_elements(problem, plan)
            slots = band * (target.decoding(problem.in_as).element + KEEP_SLOTS)
            cost = _plan_cost(problem, plan, target) + slots
            made.append((cost + loads, cost, plan))
    enough = (1 + target.slack) * min(time for time, _, _ in made)
    good = [
        (_memory(problem, plan, target), time, cost, plan)
        for time, cost, plan in made
        if time <= enough
    ]
    _, _, cost, plan = min(good, key=lambda each: each[:2])
    return replace(plan, cost=cost)


def _memory(problem: ConvProblem, plan: DirectPlan, target: Target) -> float:
    """Bytes of workspace and code, the latter for what they are worth."""
    sums = sum(s.rows for s in plan.segments) * plan.vectors
    sums += sum(s.rows for s in plan.tail_segments) * plan.tail_vectors
    parts = workspace(problem, plan, target, channels_per_chunk(problem, plan, target))
    return sum(parts.values()) + FLASH_WORTH * SUM_CODE * sums


def _tile_loads(problem: ConvProblem, plan: DirectPlan, target: Target) -> float:
    """Elements that strips load, which takes time where nothing runs beside a multiply-add."""
    taps, total = math.prod(problem.kernel), 0
    for kind in tile_kinds(problem, plan.vectors, target):
        cut = plan.segments if kind.vectors == plan.vectors else plan.tail_segments
        loads = sum(s.count * (s.rows + kind.vectors) for s in cut)
        total += kind.count * kind.channels * taps * loads
    return float(problem.batch * plan.planes * plan.rows * total)


def _decoding_ways(walk: DirectPlan, problem: ConvProblem, target: Target) -> Iterator[DirectPlan]:
    """Rows in passes of every size; filters, input, both or neither decoded to memory for them."""
    # Blocks are decoded without the halves of bytes that end rows of an odd number of int4.
    whole = problem.filters_as != INT4 or not (walk.vectors % 2 or walk.tail_vectors % 2)
    filters = (False, True) if problem.filters_as != FLOAT32 and whole else (False,)
    rows = problem.in_as != FLOAT32 and not problem.in_ring
    inputs = (False, True) if rows else (False,)
    yield walk
    # Where neither is decoded and all channels meet in one pass, passes over the rows are the walk.
    plain = channels_per_chunk(problem, walk, target) == 0
    decoded = [each for each in product(filters, inputs) if any(each) or not plain]
    for chunk in sorted({-(-walk.rows // passes) for passes in range(1, walk.rows + 1)}):
        for in_blocks, band in decoded:
            plan = replace(walk, chunk=chunk, in_blocks=in_blocks)
            plan = replace(plan, band=band_rows(problem, plan)) if band else plan
            channels = channels_per_chunk(problem, plan, target)
            if not in_blocks or decoded_bytes(problem, plan, target, channels):
                yield plan


def workspace(
    problem: ConvProblem, plan: DirectPlan, target: Target, channels: int
) -> dict[str, int]:
    """Bytes of decoded filters, of sums and of decoded input rows, as they follow each other."""
    return {
        "decoded": decoded_bytes(problem, plan, target, channels),
        "sums": sums_bytes(problem, plan, target, channels),
        "band": band_bytes(problem, plan),
    }


def _with_chunk(plan: DirectPlan, problem: ConvProblem, target: Target) -> DirectPlan:
    """The plan with its rows per pass, and with what is decoded to memory for it."""
    plain = _with_blocks(plan, problem, target)
    if not may_decode_band(problem, target):
        return plain
    kept = _with_blocks(plan, replace(problem, in_as=FLOAT32), target)
    kept = with_band(kept, problem, target)
    return kept if band_pays(problem, kept, plain, target) else plain


def _with_blocks(plan: DirectPlan, problem: ConvProblem, target: Target) -> DirectPlan:
    """The plan with its rows per pass, and with blocks of filters where decoding them pays."""
    if may_decode_blocks(problem, target):
        chunk = _chunk(problem, plan.rows, target, in_blocks=True)
        blocks = replace(plan, chunk=chunk, in_blocks=True)
        if _blocks_pay(problem, blocks, target):
            return blocks
    return replace(plan, chunk=_chunk(problem, plan.rows, target, in_blocks=False))


def _waiting(problem: ConvProblem, plan: DirectPlan, target: Target) -> float:
    """Slots to wait for lines of the input that steps of a strip evict from the first cache in turn
    (`brought_again`), each from the second: nothing hides them, since every step has them."""
    machine = machine_of(target)
    if not machine.caches:
        return 0.0
    cache = caches_of(target)[0]
    source = Input.of(problem, plan, cache.line)
    if source.pixel_pitch * problem.strides[2] <= cache.line:
        return 0.0  # pixels side by side
    total = 0.0
    for kind in tile_kinds(problem, plan.vectors, target):
        cut = plan.segments if kind.vectors == plan.vectors else plan.tail_segments
        for s in cut:
            share = brought_again(source, s.rows, kind.vectors * target.lanes, cache, problem)
            total += kind.count * kind.channels * s.count * s.rows * share
    rows = problem.batch * plan.planes * plan.rows * math.prod(problem.kernel)
    return rows * total * cache.line * machine.caches[0].byte / machine.slot


def _plan_cost(problem: ConvProblem, plan: DirectPlan, target: Target) -> float:
    taps = math.prod(problem.kernel)
    total, pixel = 0.0, _pixel_slots(problem, plan, target)
    # Passes whose sums go to memory and come back; those of plain float32 are not counted.
    counted = plan.in_blocks or sums_apart(problem)
    channels = channels_per_chunk(problem, plan, target) if counted else 0
    again = -(-problem.in_c // channels) - 1 if channels else 0
    together = neighbours(problem, target)
    once = plan.in_blocks and decoded_bytes(problem, plan, target, channels) > 0
    for kind in tile_kinds(problem, plan.vectors, target):
        cut = plan.segments if kind.vectors == plan.vectors else plan.tail_segments
        decode = _decode_slots(cut, problem, plan, target, once=once), pixel
        total += kind.count * sum(
            s.count * _strip_cost(s.rows, kind, taps, decode, target, together)
            + s.count * again * (2 * s.rows * kind.vectors + STRIP_OVERHEAD)
            for s in cut
        )
    return problem.batch * plan.planes * plan.rows * total
