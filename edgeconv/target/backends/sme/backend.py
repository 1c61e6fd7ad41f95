"""SME of 64-bit Arm: NEON, and beside it a matrix unit of outer products.

Everything but products of panels is NEON's, outside of streaming mode.  How long the unit's vectors
are is the core's choice; there is an instruction set for each length.
"""

from __future__ import annotations

from dataclasses import replace

from edgeconv.target.backends.neon.backend import TARGET as NEON
from edgeconv.target.micro_kernel import Lies, MicroKernel, Outer, Tile
from edgeconv.target.targets import Target

_LENGTHS = (128, 256, 512, 1024, 2048)
_MOST_VECTORS = 16  # in a row of sums that NEON reads again (below EC_TILE_VECS)

# What follows is of Apple M4, the one core with published measurements; slots are quarters of a
# cycle, since NEON has four multiply-adds in one.
_ISSUED = 4.0  # slots from outer product to outer product: one in a cycle
# An outer product takes four cycles until the next one into its tile of ZA: 502 GFLOP/s into one
# tile (SConvTransform, Section 6), 2,009 into all four (Remke and Breuer, "Hello SME!", 2024).
_LATENCY = 16
# As many outer products of int8 as of float32, four GOP/s to two; of bfloat16 half (tzakharko's
# m4-sme-exploration, reports/02-sme-outer-product.md).
_BFLOAT16 = 0.5
# To memory as a quarter of a vector of the unit, whose two instructions take two cycles together,
# and from L2 into a vector of NEON.
_THROUGH = 3.0
# Taken, no figure is published: 100 cycles to begin and end a stretch, in which the unit and the
# core wait for each other's stores once.
_ENTER = 400.0
# An instruction on a vector in streaming mode takes 4.5 cycles until the next: 31.3 GFLOP/s of fmla
# (m4-sme-exploration, results/ssve-vector.json, one thread, two vectors in turn); in slots of
# NEON's vectors, of which the unit's has four.  Out of ZA to memory: the two of _THROUGH.
_OUTER = Outer("ec_outer_sme.h", result=2.0, function=4.5)
# The same in instructions, for a core of which nothing is known: a step of all four tiles is 37 of
# four (ec_f32_sme_play and ec_outer_run), a stretch the reading of its jobs.  A vector of sums in
# memory is moved, stored, and its share of the loop, for four vectors of NEON, which load it; a
# vector of results moved and stored; bounds and a residual are two instructions each.
_COUNTED_TILE = 37 / 4
_COUNTED_ENTER, _COUNTED_THROUGH = 60.0, 2.0
_COUNTED_OUTER = Outer("ec_outer_sme.h", result=0.75, function=0.5)
_WAITING = 65536  # bytes: half of L1


def _tiles(words: int) -> tuple[Tile, ...]:
    """All four tiles of ZA, whose vectors have so many words: two by two, or one by four."""
    shapes = ((2 * words, 2 * words // NEON.lanes), (words, 4 * words // NEON.lanes))
    return tuple(Tile(rows, min(vectors, _MOST_VECTORS)) for rows, vectors in shapes)


def _row(name: str, words: int, prefix: str, header: str) -> MicroKernel:
    return MicroKernel(
        *(name, prefix, Lies.PACKED, _tiles(words)),
        latency=_LATENCY,
        row_multiple=words,
        rate=words * words / NEON.lanes / _ISSUED,
        memory_sums=True,
        enter=_ENTER,
        through=_THROUGH,
        waiting=_WAITING,
        header=header,
    )


def _counted(row: MicroKernel) -> MicroKernel:
    """``row``, and what it takes in instructions."""
    step = 4 * row.row_multiple**2 / NEON.lanes  # rows by vectors of all four tiles
    counted = replace(
        row,
        latency=round(_COUNTED_TILE),  # what is masked off is added, too
        rate=step / _COUNTED_TILE,
        enter=_COUNTED_ENTER,
        through=_COUNTED_THROUGH,
        outer=_COUNTED_OUTER,
    )
    return replace(row, counted=counted)


def _target(bits: int) -> Target:
    name, words = f"sme{bits}", bits // 32
    float32 = _counted(replace(_row(name, words, "f32_sme", "ec_f32_sme.h"), outer=_OUTER))
    int8 = replace(
        _row(name, words, "s8_sme", "ec_int8_sme.h"),
        a="int8",
        b="int8",
        sums="int32",
        k=4,
        pack=1.5,  # sixteen words are transposed in 24 instructions
        feature="int8_dot",  # as NEON's that it is weighed against
        cpu_flags=("sme",),
    )
    bfloat16 = replace(
        _row(name, words, "bf16_sme", "ec_bfloat16_sme.h"),
        a="bfloat16",
        b="bfloat16",
        k=2,
        rate=float32.rate * _BFLOAT16,
        latency=int(_LATENCY / _BFLOAT16),
        feature="bfloat16",
        cpu_flags=("sme",),
    )
    return replace(
        NEON,
        name=name,
        in_order_runtime="",
        cpu_flags=("asimd", "sme"),
        mandatory="",
        emulated=("-cpu", f"max,sme_fa64=off,sme-default-vector-length={bits // 8}"),
        scalable=True,
        kernels=(*NEON.kernels, float32, int8, bfloat16),
    )


TARGET = tuple(map(_target, _LENGTHS))
