"""From a plan over packed rows to the sizes, strides and loops of ec_gemm.h."""

from __future__ import annotations

from edgeconv.ir.choice import Param
from edgeconv.ir.layout import Order
from edgeconv.kernels.algorithms.cut import Cut
from edgeconv.kernels.algorithms.problem import ConvProblem, Geometry
from edgeconv.kernels.algorithms.rows.candidate import RowsCandidate
from edgeconv.kernels.algorithms.rows.plan import WORD_BYTES, RowsPlan
from edgeconv.target.micro_kernel import Lies

# What ec_gemm.h needs for packed rows, beside the micro-kernel's own header.
HEADERS = ("ec_decode.h", "ec_window.h", "ec_pack_rows.h", "ec_micro_kernel.h")


def displayed(candidate: RowsCandidate, lanes: int) -> dict[str, Param]:
    """The plan as report and explain show it."""
    plan = candidate.plan
    return {
        "mr": plan.largest_rows,
        "nr": plan.vectors * lanes,
        "rows_per_panel": plan.chunk,
        "compute": candidate.compute,
        "predicted_slots": round(plan.cost),
    }


def _geometry(problem: ConvProblem, plan: RowsPlan, lanes: int) -> dict[str, Param]:
    """Sizes and strides of input, output and panel, with the rows as the plan walks them."""
    source = Geometry.of(problem.in_layout, problem.in_c, problem.in_size)
    result = Geometry.of(problem.out_layout, problem.out_c, problem.out_size)
    in_last = problem.in_layout.order is Order.CHANNELS_LAST
    out_last = problem.out_layout.order is Order.CHANNELS_LAST
    in_size, in_rows = problem.in_size, (source.plane, source.row)
    out_rows = (result.plane, result.row)
    if problem.is_pointwise:  # the pixels follow each other: any regrouping has these strides
        in_size = (plan.planes, plan.rows, plan.row)
        in_rows = (plan.rows * plan.row * source.pixel, plan.row * source.pixel)
        out_rows = (plan.rows * plan.row * result.pixel, plan.row * result.pixel)
    blocks = problem.group_out_c // lanes
    in_vec = lanes if in_last else source.block_stride
    panel = plan.panel
    return {
        **problem.window,
        "in_size": in_size,
        "out_size": (0, 0, 0),
        "source": (source.block, source.block_stride, in_vec, *in_rows, source.pixel),
        "in_batch": source.batch,
        "panel": (panel.block, panel.rows, panel.row_stride, panel.column_stride)
        + (panel.phases, panel.wide, int(plan.kernel.lies is Lies.PACKED))
        + (plan.kernel.element_bytes, plan.kernel.shift)
        + (int(panel.together), panel.windows),
        "out_batch": result.batch,
        "out_group": problem.group_out_c if out_last else blocks * result.block_stride,
        "out_slice": out_rows[0],
        "out_line": out_rows[1],
        "out_row": result.pixel,
        "out_vec": lanes if out_last else result.block_stride,
    }


def _loops(problem: ConvProblem, plan: RowsPlan, lanes: int) -> dict[str, Param]:
    """Tiles, strips and the order of loops of ec_gemm.h: a line is an output row."""
    padded = problem.out_layout.order is Order.BLOCKED
    stored = -(-problem.group_out_c // lanes) * lanes if padded else problem.group_out_c
    filters = Cut.into(stored, plan.vectors * lanes)
    return {
        "micro_kernel": plan.kernel.enumerator,
        "row_multiple": plan.row_multiple,
        "packing": "EC_PACK_ROWS",
        "batch": problem.batch,
        "groups": problem.groups,
        "in_c": plan.channels(problem),
        "out_c": problem.group_out_c,
        "nc": plan.channels(problem),
        "k": plan.kernel.k,
        "k_multiple": plan.kernel.k_multiple,
        "waiting": plan.waiting.members(plan.panel.bytes // WORD_BYTES),
        "slices": plan.planes,
        "lines": plan.rows,
        "filters": filters.members,
        "pixels": plan.strips.members,
        "narrow_pixels": plan.tail_strips.members if plan.tail_vectors else (),
        "last_pixels": 0,
        "lines_far": plan.rows,
        "tiles_far": filters.pieces,
        "chunk": plan.chunk,
        "tiles_near": plan.tiles_near,
        "residual_first": False,
        "decoded_at": 0,
    }


def gemm_params(problem: ConvProblem, plan: RowsPlan, lanes: int) -> dict[str, Param]:
    """What conv/gemm.c.j2 must know of sizes, strides and loops."""
    return {**_geometry(problem, plan, lanes), **_loops(problem, plan, lanes)}
