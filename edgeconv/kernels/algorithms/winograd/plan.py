"""Plan of a Winograd convolution: its form, the register tile, and the tiles of a strip."""

from __future__ import annotations

import math
from collections.abc import Iterator, Sequence
from dataclasses import dataclass, replace
from functools import lru_cache
from itertools import product
from typing import NamedTuple

from edgeconv.ir.straight_line import Routine
from edgeconv.ir.winograd_form import Nested, WinogradForm
from edgeconv.kernels.algorithms.problem import ConvProblem
from edgeconv.kernels.algorithms.winograd.equations import routine
from edgeconv.kernels.algorithms.winograd.phases import PLAIN, Both
from edgeconv.kernels.algorithms.winograd.toom_cook import matrices
from edgeconv.target.cache import ASSUMED
from edgeconv.target.micro_kernel import Lies, MicroKernel
from edgeconv.target.price.duration import EXPOSED
from edgeconv.target.price.machine import machine_of
from edgeconv.target.targets import Target

FLOAT_BYTES = 4
# The share of L2 that a strip may take: the filters that it meets pass beside it.  And of all the
# filters.
STRIP_OF_L2, STRIP_OF_FILTERS = 3 / 4, 1 / 4
# How much longer than a stream from the same cache a panel takes, of which positions far from each
# other are read in turn, too short for what prefetches.  Fitted on Zen 4: with 256 and 512
# channels on 28x28, panels of 1.6 and 3.3 MB, and with 288 on 35x35 at stride 2, of 2 MB, times are
# those of 30 to 60 GB/s, where a stream from L3 has 100.
SHORT_RUNS = 2.0
# Strips of which half at least meet filters that come from memory and not from the last cache.
FAR_STRIPS = 2
STRIP_SLACK = 0.02  # the part of its time that a layer may take longer for a shorter strip
LINE_FLOATS = 16
# Slots of one more load or store where transformations wait for memory, and of what else a tile
# takes: its place, and a call of the micro-kernel.  Estimates, with which times predicted for Zen 4
# come near those measured.
MOVE_SLOTS = 0.75
TILE_SLOTS = 24


@lru_cache(maxsize=1024)
def routine_of(form: WinogradForm, side: str) -> Routine:
    """The transformation of the ``side`` "input" or "output" of ``form``."""
    found = matrices(form)
    points = ", ".join(map(str, form.points))
    does = f"{form} at {points} and infinity: "
    if side == "input":
        return routine(f"input_{form.name}", does + "of an input.", found.of_input)
    return routine(f"output_{form.name}", does + "from products to outputs.", found.of_products)


@dataclass(frozen=True, slots=True)
class WinogradPlan:
    """``rows`` tiles by ``vectors`` of filters go through the micro-kernel at a time.

    ``tiles`` of an image, down and across; ``strip`` of them are computed at a time, a multiple of
    ``rows``.  ``line``: words of a tile at each position of the panel.  ``phases``: those whose
    channels follow each other, of rows and of columns.  ``slots``: those of computing, and of
    waiting that nothing hides; ``cost``: with all waiting.  Channels are words of what ``kernel``
    multiplies at once: a float32, or two int16.
    """

    kernel: MicroKernel
    form: Nested
    rows: int
    vectors: int
    tiles: tuple[int, int]
    strip: int
    line: int
    phases: Both = PLAIN
    slots: float = 0.0
    cost: float = 0.0

    @property
    def strips(self) -> int:
        """The strips of an image."""
        return -(-math.prod(self.tiles) // self.strip)

    @property
    def positions(self) -> int:
        """The positions of a tile."""
        return math.prod(self.form.taken)

    @property
    def held(self) -> int:
        """Tiles of the input that a strip meets: where rows are summed, those below, too."""
        return self.strip + (self.form.summed - 1) * self.tiles[1]

    @property
    def panel_floats(self) -> int:
        """Transformed tiles of a strip."""
        return self.positions * self.held * self.line

    @property
    def met(self) -> tuple[tuple[int, int], ...]:
        """Phases of rows and of columns that have products, at each position of a tile.

        At infinity, the last row and column, a filter has its last tap alone, which some phases
        lack.
        """
        rows, columns = (
            (each.count,) * (taken - 1) + (each.whole if taken > 1 else each.count,)
            for each, taken in zip(self.phases, self.form.taken, strict=True)
        )
        return tuple(product(rows, columns))

    def depth(self, in_c: int) -> int:
        """Products of a filter in all positions of a tile, with ``in_c`` channels."""
        phases = self.phases[0].count * self.phases[1].count
        met = sum(rows * columns for rows, columns in self.met)
        return self.form.summed * met * (in_c // phases)

    def filter_floats(self, problem: ConvProblem, lanes: int) -> int:
        """Transformed filters."""
        return self.depth(problem.in_c) * -(-problem.out_c // lanes) * lanes

    def filter_tile_bytes(self, problem: ConvProblem, lanes: int) -> int:
        """Filters that a micro-kernel call meets."""
        return FLOAT_BYTES * self.form.summed * problem.in_c * self.vectors * lanes

    def filter_tiles(self, problem: ConvProblem, lanes: int) -> int:
        """Register tiles that the filters make."""
        return -(-problem.out_c // (self.vectors * lanes))

    def sums_floats(self, lanes: int) -> int:
        """Products of a strip with the filters of a register tile."""
        return self.positions * self.strip * self.vectors * lanes

    def workspace_floats(self, lanes: int) -> int:
        """A panel and the sums behind it."""
        return self.panel_floats + self.sums_floats(lanes)

    def fetches(self, problem: ConvProblem, target: Target) -> bool:
        """Whether filters are prefetched: on a core that wants it, where they come from behind
        the second cache, in no more time than they are multiplied.  Where they take longer nothing
        hides them, and what fetches them costs time of its own: that only cores do who gain by it
        all the same, where filters come from memory for most strips; from the second strip on the
        last cache may have them."""
        machine = machine_of(target)
        filters = FLOAT_BYTES * self.filter_floats(problem, target.lanes)
        if not target.prefetch or self.kernel.memory_sums or filters <= _second_cache(target):
            return False
        if target.prefetch_far and problem.batch * self.strips <= FAR_STRIPS:
            return True
        brought = machine.constant(max(filters, problem.run_constants))
        return FLOAT_BYTES * target.lanes * brought <= self.rows * machine.slot

    @property
    def packed(self) -> bool:
        """Tiles lie side by side in the panel, else the channels of each."""
        return _packed(self.kernel)


def _packed(kernel: MicroKernel) -> bool:
    """Compilers make vectors of scalars where these lie side by side alone."""
    return kernel.lies is Lies.PACKED or (kernel.lies is Lies.EITHER and kernel.vectorised != 1)


def row_multiple_of(kernel: MicroKernel, lanes: int) -> int:
    """The rows of a register tile come in multiples of this: tiles of the image are brought side by
    side a vector of them at a time."""
    return math.lcm(kernel.row_multiple, lanes) if _packed(kernel) else kernel.row_multiple


def each_group(problem: ConvProblem) -> ConvProblem:
    """``problem`` with a group of an image as an image."""
    batch, groups = problem.batch * problem.groups, 1
    in_c, out_c = problem.group_in_c, problem.group_out_c
    return replace(problem, batch=batch, groups=groups, in_c=in_c, out_c=out_c)


def make_plans(
    problem: ConvProblem,
    target: Target,
    phases: Both = PLAIN,
    kernels: Sequence[MicroKernel] = (),
) -> Iterator[WinogradPlan]:
    """Over the forms that ``problem`` names, register tiles and lengths of strips: of those that
    hardly take longer than the cheapest, that of the least workspace; then the cheapest of at most
    half of that, and so on.

    ``problem`` has a stride of 1 and one group; ``phases``: those that its channels are made of.
    ``kernels``: those of float32, if nothing else is said.
    """
    rows = kernels or target.float_rows
    priced = []
    for form, row in product(problem.winograd_forms, rows):
        transforms = Transforms.of(form)
        for plan in _plans(problem, target, row, form, phases):
            priced.append(with_cost(problem, plan, target, transforms))
    priced.sort(key=lambda plan: plan.cost)
    enough = (1 + STRIP_SLACK) * priced[0].cost
    room = min(p.workspace_floats(target.lanes) for p in priced if p.cost <= enough)
    for plan in priced:
        if plan.workspace_floats(target.lanes) <= room:
            yield plan
            room = plan.workspace_floats(target.lanes) // 2


def _plans(
    problem: ConvProblem, target: Target, kernel: MicroKernel, form: Nested, phases: Both
) -> Iterator[WinogradPlan]:
    lanes = target.lanes
    _, out_h, out_w = problem.out_size
    tiles = -(-out_h // form.down.outputs), -(-out_w // form.across.outputs)
    channels = -(-problem.in_c // lanes) * lanes
    # Where each tile's channels lie together, a power of two of them would bring all tiles to one
    # set of the cache.
    line = channels if _packed(kernel) else channels + LINE_FLOATS
    step = row_multiple_of(kernel, lanes)
    for tile in kernel.tiles:
        if tile.rows % step:
            continue
        vectors = min(tile.vectors, -(-problem.out_c // lanes))
        pieces = -(-math.prod(tiles) // tile.rows)
        each = -(-math.prod(tiles) // pieces)
        for rows in {tile.rows, -(-each // step) * step}:
            plan = WinogradPlan(kernel, form, rows, vectors, tiles, rows, line, phases)
            if plan.packed and form.summed > 1:  # rows of tiles begin with a register tile
                plan = replace(plan, tiles=(tiles[0], -(-tiles[1] // rows) * rows))
            for count in _strip_pieces(-(-math.prod(plan.tiles) // rows)):
                longer = replace(plan, strip=rows * count)
                if _fits(problem, longer, target):
                    yield longer


def _strip_pieces(pieces: int) -> Iterator[int]:
    """Numbers of register tiles of a strip that cut an image as evenly as they can."""
    strips = 1
    while strips <= pieces:
        each = -(-pieces // strips)
        yield each
        strips = (pieces - 1) // (each - 1) + 1 if each > 1 else pieces + 1


def _fits(problem: ConvProblem, plan: WinogradPlan, target: Target) -> bool:
    """Whether a strip is one register tile, or its workspace has its share of the second cache; or
    of the filters, where these are so many that every strip brings them from further away."""
    lanes, room = target.lanes, STRIP_OF_L2 * _second_cache(target)
    room = max(room, STRIP_OF_FILTERS * FLOAT_BYTES * plan.filter_floats(problem, lanes))
    held = FLOAT_BYTES * plan.workspace_floats(lanes)
    return plan.strip == plan.rows or held <= room


def _second_cache(target: Target) -> int:
    """Its bytes; those of the first where it is the only one."""
    caches = target.caches or ASSUMED
    return caches[min(1, len(caches) - 1)].size


def transform_slots(form: Nested, side: str) -> float:
    """Slots of a vector of channels of one tile: both directions, from memory to memory."""
    rows, columns = form.taken
    made = rows if side == "input" else form.down.outputs
    operations, between = 0, made * columns if min(form.taken) > 1 else 0
    if columns > 1:
        operations += made * routine_of(form.across, side).operations
    if rows > 1:
        operations += columns * routine_of(form.down, side).operations
    ends = rows * columns + (rows * columns if side == "input" else form.outputs)
    return operations + MOVE_SLOTS * (2 * between + ends) + TILE_SLOTS


class Transforms(NamedTuple):
    """Slots of a vector of channels of a tile of the input, and of the output."""

    input: float
    output: float

    @staticmethod
    @lru_cache(maxsize=256)
    def of(form: Nested) -> Transforms:
        """The transforms of a form: found once for its thousands of plans."""
        return Transforms(transform_slots(form, "input"), transform_slots(form, "output"))


def with_cost(
    problem: ConvProblem, plan: WinogradPlan, target: Target, transforms: Transforms
) -> WinogradPlan:
    """``plan`` with the slots that it takes for all images; ``transforms``: of its form."""
    waiting = _waiting(problem, plan, target)
    slots = _computed(problem, plan, target, transforms) + waiting.apart
    longer, shorter = max(slots, waiting.hidden), min(slots, waiting.hidden)
    cost = longer + EXPOSED * shorter
    return replace(plan, slots=problem.batch * slots, cost=problem.batch * cost)


def _computed(
    problem: ConvProblem, plan: WinogradPlan, target: Target, transforms: Transforms
) -> float:
    """Slots of the instructions for an image."""
    lanes, kernel, form = target.lanes, plan.kernel, plan.form
    total = -(-problem.out_c // lanes)
    step = {
        vectors: target.tile_slots(kernel, plan.rows, vectors)
        for vectors in (plan.vectors, total % plan.vectors)
    }
    strips, pieces = plan.strips, plan.strip // plan.rows
    depth, positions = plan.depth(problem.in_c), plan.positions
    moved = MOVE_SLOTS + kernel.through
    products = sum(
        count
        * (
            depth * step[vectors]
            + positions * (form.summed * TILE_SLOTS + moved * plan.rows * vectors)
        )
        for vectors, count in ((plan.vectors, total // plan.vectors), (total % plan.vectors, 1))
        if vectors
    )
    multiplied = strips * pieces * products * kernel.vectorised
    multiplied += strips * plan.filter_tiles(problem, lanes) * kernel.enter
    tiles = math.prod(plan.tiles)
    blocks = -(-problem.in_c // lanes)
    transposed = 3 * plan.positions if plan.packed else 0
    taken = tiles + strips * (plan.held - plan.strip)
    transformed = taken * blocks * (transforms.input + transposed)
    finished = tiles * total * transforms.output
    return multiplied + transformed + finished


class _Waiting(NamedTuple):
    """Slots that operands take to come: those that other work hides for the most part, and those
    that come on top of it."""

    hidden: float
    apart: float


def _waiting(problem: ConvProblem, plan: WinogradPlan, target: Target) -> _Waiting:
    """The waiting of an image.

    Filters: for the first strip from where a run of the network has left them, for every other from
    the cache that holds them and it, and for every row of tiles from the second where those of a
    position do not stay in the first.  The panel: for the filters of each register tile from the
    cache that holds the workspace.  Where that is not the second, nothing hides it.
    """
    machine, lanes = machine_of(target), target.lanes
    if not machine.caches:
        return _Waiting(0.0, 0.0)
    filters = FLOAT_BYTES * plan.filter_floats(problem, lanes)
    panel, workspace = FLOAT_BYTES * plan.panel_floats, FLOAT_BYTES * plan.workspace_floats(lanes)
    many, pieces = plan.filter_tiles(problem, lanes), plan.strip // plan.rows
    first = machine.constant(max(filters, problem.run_constants))
    others = machine.held(filters + workspace)
    stays = plan.filter_tile_bytes(problem, lanes) <= machine.sizes[0] / 2
    near = 0 if stays else plan.strips * (pieces - 1) * filters
    second, whence = machine.caches[0].byte, machine.held(workspace)
    read = plan.strips * many * panel
    hidden = filters * (first + (plan.strips - 1) * others) + near * second
    apart = 0.0
    if whence > second:
        apart = read * whence * SHORT_RUNS
    else:
        hidden += read * second
    return _Waiting(hidden / machine.slot, apart / machine.slot)
