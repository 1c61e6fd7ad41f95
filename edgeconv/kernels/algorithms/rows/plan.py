"""Plan of a convolution over packed rows: register tile, strips, and the rows of a panel."""

from __future__ import annotations

import math
from collections.abc import Callable, Sequence
from dataclasses import dataclass, replace
from itertools import product

from edgeconv.kernels.algorithms.cut import Cut
from edgeconv.kernels.algorithms.direct.plan import STRIP_OVERHEAD, row_shapes
from edgeconv.kernels.algorithms.filter_order import FilterOrder
from edgeconv.kernels.algorithms.problem import ConvProblem
from edgeconv.kernels.algorithms.waiting import NOTHING, Waiting, filled, room_for
from edgeconv.target.cache import ASSUMED
from edgeconv.target.micro_kernel import Lies, MicroKernel
from edgeconv.target.targets import Target

WORD_BYTES = 4
# The share of L2 that packed input rows may take: the filters of a tile stay beside them.
PANEL_OF_L2 = 3 / 8
SLACK = 16  # words that a tile may read beyond the last column
STORED_TOGETHER = 4  # vectors of sums: their bytes are one vector
_ROW_SLOTS = 2.0  # of a window's row that is copied, beside its loads and stores: places
# Groups of channels in a block of the panel, at most: a line of each pixel; of a step's neighbours.
BLOCK = {Lies.STRIDED: 16, Lies.PACKED: 64}


@dataclass(frozen=True, slots=True)
class Panel:
    """Packed input of ``rows`` rows: ``blocks`` of ``block`` groups of channels, every
    ``row_stride``-th row and ``column_stride``-th column, ``phases`` times ``wide`` columns.

    ``together``: the columns of a window, side by side, are one run of the micro-kernel.
    ``windows``: the channels of a pixel where whole windows are packed, each a block; ``bordered``
    bytes are then of the input's rows and their borders, behind the panel.  Else 0."""

    block: int
    blocks: int
    slices: int
    rows: int
    row_stride: int
    column_stride: int
    phases: int
    wide: int
    together: bool = False
    windows: int = 0
    bordered: int = 0

    @property
    def bytes(self) -> int:
        """Bytes of the workspace."""
        row = self.block * self.phases * self.wide
        bordered = -(-self.bordered // WORD_BYTES)
        return WORD_BYTES * (self.blocks * self.slices * self.rows * row + bordered + SLACK)


@dataclass(frozen=True, slots=True)
class RowsPlan:
    """``vectors`` of filters per tile, ``tail_vectors`` in the last one of a group (0: all full).

    ``planes`` of ``rows`` rows of ``row`` pixels, ``chunk`` rows to a panel, which pass under
    ``tiles_near`` tiles of filters before the next.  ``waiting``: sums, where the kernel's are
    memory; ``entered``: how often its mode is, for a group of an image.  ``cost`` in slots.
    """

    kernel: MicroKernel
    vectors: int
    tail_vectors: int
    planes: int
    rows: int
    row: int
    chunk: int
    strips: Cut
    tail_strips: Cut
    panel: Panel
    cost: float
    tiles_near: int = 1
    waiting: Waiting = NOTHING
    entered: int = 0

    @property
    def bytes(self) -> int:
        """The panel, and sums that wait behind it."""
        return self.panel.bytes + self.waiting.bytes

    @property
    def row_multiple(self) -> int:
        """Rows of tiles come in multiples of this.  `Cut.evenly` makes strips that differ by one;
        under the last tile of filters they may be several times as long."""
        wide = self.strips.wide
        longer = self.tail_strips.wide if self.tail_vectors else wide
        even = self.kernel.even_rows and longer % wide == 0
        return wide if even else self.kernel.row_multiple

    @property
    def largest_rows(self) -> int:
        """Output pixels of the largest strip."""
        return self.strips.wide

    def channels(self, problem: ConvProblem) -> int:
        """The channels of a group, as the loops see them: of whole windows the numbers of one."""
        return _channels(problem, bool(self.panel.windows))

    def taps(self, problem: ConvProblem) -> int:
        """Kernel positions, as the loops see them."""
        return 1 if self.panel.windows else math.prod(problem.kernel)

    def met_rows(self, problem: ConvProblem) -> int:
        """Rows of the input that a panel is packed from."""
        panel = self.panel
        if not panel.windows:
            return panel.rows
        return (panel.rows - 1) * problem.strides[1] + problem.kernel[1]

    def fetches(self, target: Target) -> bool:
        """Whether filters are fetched during products: between those of registers."""
        return target.prefetch and not self.kernel.memory_sums

    def order(self, problem: ConvProblem, lanes: int) -> FilterOrder:
        """The filters of ``problem`` as the kernel reads them."""
        full = -(-problem.group_out_c // lanes) - self.tail_vectors
        each = (self.vectors * lanes,) * (full // self.vectors)
        tail = (self.tail_vectors * lanes,) if self.tail_vectors else ()
        return FilterOrder(
            groups=problem.groups,
            out_c=problem.group_out_c,
            in_c=self.channels(problem),
            taps=self.taps(problem),
            widths=(*each, *tail),
            nc=self.channels(problem),
            block=self.kernel.k * self.panel.block,
            k=self.kernel.k,
            k_multiple=self.kernel.k_multiple,
            interleaves=self.kernel.interleaves,
            # As ec_gemm_sum_rows goes over a panel of words: side by side where not dilated.
            run=problem.kernel[2]
            if problem.dilations[2] == 1 and self.panel.phases == 1 and not self.panel.windows
            else 1,
        )


def _block(groups: int, kernel: MicroKernel) -> int:
    """Groups of a block: a line of each pixel, or as even parts as whole vectors of four make;
    as many as the kernel takes at once, at least."""
    multiple = kernel.k_multiple
    most = max(multiple, BLOCK[kernel.lies] // multiple * multiple)
    if kernel.lies is Lies.STRIDED or groups <= most:
        return min(most, groups)
    even = math.lcm(2, multiple)
    return even * -(-groups // (even * -(-groups // most)))


def _channels(problem: ConvProblem, windows: bool) -> int:
    return problem.group_in_c * (math.prod(problem.kernel) if windows else 1)


def _packs_windows(problem: ConvProblem, kernel: MicroKernel) -> bool:
    """Whole windows fill fewer words than the pixels of each do, and are of a plane, around which
    there is none of padding."""
    depths = {problem.in_size[0], problem.out_size[0], problem.kernel[0]}
    plane = depths == {1} == {problem.groups}
    simple = problem.dilations == (1, 1, 1) and not problem.asymmetric and not problem.in_ring
    words = -(-_channels(problem, windows=True) // kernel.k)
    fewer = words < math.prod(problem.kernel) * kernel.groups(problem.group_in_c)
    return kernel.whole_windows and plane and simple and fewer


def _windows(problem: ConvProblem, kernel: MicroKernel, row: int, chunk: int) -> Panel:
    """The panel of whole windows under ``chunk`` output rows of ``row`` pixels."""
    (_, kernel_h, kernel_w), (_, stride_h, stride_w) = problem.kernel, problem.strides
    rows, columns = (chunk - 1) * stride_h + kernel_h, (row - 1) * stride_w + kernel_w
    return Panel(
        block=-(-_channels(problem, windows=True) // kernel.k),
        blocks=1,
        slices=1,
        rows=chunk,
        row_stride=1,
        column_stride=1,
        phases=1,
        wide=row + kernel.row_multiple - 1,
        windows=problem.group_in_c,
        bordered=rows * columns * problem.group_in_c,
    )


def _slides(problem: ConvProblem, kernel: MicroKernel) -> bool:
    """The kernel takes windows that move by one column as rows of which each is the one before,
    shifted: whole loads of channels, and columns that are side by side."""
    groups = kernel.groups(problem.group_in_c)
    by_one = problem.strides[2] == problem.dilations[2] == 1 < problem.kernel[2]
    return by_one and bool(kernel.sliding_groups) and groups % kernel.sliding_groups == 0


def _panel(
    problem: ConvProblem, kernel: MicroKernel, row: int, chunk: int, *, windows: bool
) -> Panel:
    """The panel under ``chunk`` output rows of ``row`` pixels, of whole ``windows`` or not."""
    if windows:
        return _windows(problem, kernel, row, chunk)
    (depth, kernel_h, kernel_w), (_, stride_h, stride_w) = problem.kernel, problem.strides
    _, dilation_h, dilation_w = problem.dilations
    # What no window reads is not packed, as far as a kernel of one row or column tells.
    row_stride = stride_h if kernel_h == 1 else 1
    column_stride = stride_w if kernel_w == 1 else 1
    stride, reach = stride_w // column_stride, (kernel_w - 1) * dilation_w
    groups, together = kernel.groups(problem.group_in_c), _slides(problem, kernel)
    block = kernel.sliding_groups if together else _block(groups, kernel)
    apart = kernel.lies is Lies.PACKED  # the same group of neighbouring pixels lies side by side
    return Panel(
        block=block,
        blocks=-(-groups // block),
        slices=depth,
        rows=(chunk - 1) * stride_h // row_stride + (kernel_h - 1) * dilation_h + 1,
        row_stride=row_stride,
        column_stride=column_stride,
        phases=stride if apart else 1,
        # Where pixels lie side by side, every group's row begins with a vector; else a tile may
        # read rows beyond the last pixel.
        wide=-(-(row + reach // stride) // kernel.row_multiple) * kernel.row_multiple
        if apart
        else (row + kernel.row_multiple + kernel.even_rows - 2) * stride + reach + 1,
        together=together,
    )


def _chunk(
    problem: ConvProblem,
    target: Target,
    kernel: MicroKernel,
    rows: int,
    row: int,
    *,
    windows: bool,
) -> int:
    """Output rows of a panel: as even parts as fit their share of L2, a row at least."""
    caches = target.caches or ASSUMED
    most = PANEL_OF_L2 * caches[min(1, len(caches) - 1)].size
    if not target.workspaces:
        return 1

    def of(lines: int) -> int:
        return _panel(problem, kernel, row, lines, windows=windows).bytes

    parts = 1
    while parts < rows and of(-(-rows // parts)) > most:
        parts += 1
    return -(-rows // parts)


def _strip_cost(rows: int, vectors: int, depth: int, plan: RowsPlan, target: Target) -> float:
    """Slots of a strip of ``rows`` pixels: per step its products, its loads or the latency."""
    kernel = plan.kernel
    step = target.tile_slots(kernel, rows, vectors)
    far = WORD_BYTES * plan.waiting.lines * plan.waiting.line > kernel.waiting
    through = kernel.through + (kernel.through_far if far else 0.0)
    apart = kernel.apart if vectors % STORED_TOGETHER else 0.0
    return depth * step + (2 + through + apart) * rows * vectors + STRIP_OVERHEAD


def _packing_cost(problem: ConvProblem, plan: RowsPlan, target: Target, slots: float) -> float:
    """Slots to pack all panels of one group of one image, so many for a vector of channels."""
    panel, chunks = plan.panel, plan.planes * -(-plan.rows // plan.chunk)
    if panel.windows:
        each = -(-panel.windows * problem.kernel[2] // target.align)
        return plan.planes * plan.rows * plan.row * problem.kernel[1] * (2 * each + _ROW_SLOTS)
    columns = panel.rows * panel.phases * panel.wide * panel.slices
    return chunks * columns * -(-problem.group_in_c // target.lanes) * slots


def _depth(problem: ConvProblem, plan: RowsPlan) -> int:
    """Steps that a strip takes the time of, by runs as ec_gemm_sum_rows has them: the groups of a
    block, and the columns of the kernel where they lie side by side with those."""
    kernel, panel, taps = plan.kernel, plan.panel, plan.taps(problem)
    whole, rest = divmod(kernel.groups(plan.channels(problem)), panel.block)
    columns = 1 if panel.windows else problem.kernel[2]
    apart = kernel.lies is Lies.PACKED or problem.dilations[2] > 1
    joined = 1 if apart and panel.block > 1 else columns
    of_whole = taps // joined * kernel.depth_taken(joined * panel.block)
    return whole * of_whole + taps * kernel.depth_taken(rest)


def _cost(problem: ConvProblem, plan: RowsPlan, target: Target, pack_slots: float) -> float:
    depth = _depth(problem, plan)
    full = -(-problem.group_out_c // target.lanes) // plan.vectors
    total = 0.0
    for tiles, vectors, cut in (
        (full, plan.vectors, plan.strips),
        (int(plan.tail_vectors > 0), plan.tail_vectors, plan.tail_strips),
    ):
        for count, rows in ((cut.count, cut.wide), (cut.rest, cut.narrow)):
            total += tiles * count * _strip_cost(rows, vectors, depth, plan, target)
    once = plan.planes * plan.rows * total + _packing_cost(problem, plan, target, pack_slots)
    once += plan.kernel.enter * plan.entered
    return problem.batch * problem.groups * once


def _with_waiting(plan: RowsPlan, tiles: int, target: Target) -> RowsPlan:
    """``plan``, of so many tiles of filters, with room for sums that wait, if they do."""
    cuts = [(plan.strips, plan.vectors), (plan.tail_strips, plan.tail_vectors)]
    room = room_for(plan.kernel, cuts, target.lanes)
    waiting, near = filled(plan.kernel, room, plan.chunk, 1, tiles)
    entered = waiting.entered(Cut.into(plan.rows, plan.chunk), Cut.into(tiles, near))
    return replace(plan, tiles_near=near, waiting=waiting, entered=plan.planes * entered)


def make_plan(
    problem: ConvProblem,
    target: Target,
    kernels: Sequence[MicroKernel],
    pack_slots: Callable[[MicroKernel], float],
) -> RowsPlan:
    """The cheapest plan over these micro-kernels, their tiles and the ways to walk the pixels.

    ``pack_slots``: slots to bring a vector of channels of one pixel to the panel.
    """
    total, plans = -(-problem.group_out_c // target.lanes), []
    ways = ((k, w) for k in kernels for w in (False, True) if not w or _packs_windows(problem, k))
    for (kernel, windows), (planes, rows, row) in product(ways, row_shapes(problem)):
        chunk = _chunk(problem, target, kernel, rows, row, windows=windows)
        for tile in kernel.tiles:
            vectors = min(tile.vectors, total)
            tail = total % vectors
            tail_rows = max((t.rows for t in kernel.tiles if t.vectors >= tail), default=tile.rows)
            plan = RowsPlan(
                kernel=kernel,
                vectors=vectors,
                tail_vectors=tail,
                planes=planes,
                rows=rows,
                row=row,
                chunk=chunk,
                strips=Cut.evenly(row, tile.rows),
                tail_strips=Cut.evenly(row, tail_rows),
                panel=_panel(problem, kernel, row, chunk, windows=windows),
                cost=0.0,
            )
            plan = _with_waiting(plan, -(-total // vectors), target)
            plans.append(replace(plan, cost=_cost(problem, plan, target, pack_slots(kernel))))
    return min(plans, key=lambda plan: plan.cost)
