"""AMX of x86-64: AVX-512, and beside it a matrix unit that multiplies tiles of int8 and bfloat16.

Everything but products of panels is AVX-512's, and all of float32.
"""

from __future__ import annotations

import ctypes
from dataclasses import replace

from edgeconv.target.backends.avx512.backend import TARGET as AVX512
from edgeconv.target.micro_kernel import Lies, MicroKernel, tiles

_NAME = "amx"

# What follows was measured on one core of Emerald Rapids, cycles by its timestamp counter and a
# chain of multiplications.  Slots are half cycles, since AVX-512 has two multiply-adds in one.
#
# Sixteen rows by sixteen words are multiplied with sixteen of them in 16 cycles, fewer rows in
# proportion, fewer groups of a row as long as all sixteen.
_RATE = 8.0
_LATENCY = 7  # 52 cycles until a sum can be added to, for the sixteen groups of a product
_GROUPS = 16  # of a row of a tile
_GROUPS_PER_LOAD = 8  # such a row is a load, from L2, where panels lie, at half the rate
# A vector of sums in memory takes 2.7 cycles of a 1x1 convolution of 16 by 64 channels, two more
# where those that wait leave L1 (the first layer of SqueezeNet, by how many do).
_THROUGH, _THROUGH_FAR = 5.4, 4.0
_ENTER = 400.0  # 180 cycles to configure tiles, and 20 to release them
_WAITING = 24576  # bytes: half of L1

# Four tiles of sums
_TILES = tiles((32, 2), (16, 4), (16, 3), (64, 1))


def _row(prefix: str, header: str, elements: str, k: int) -> MicroKernel:
    own = next(row for row in AVX512.kernels if row.a == row.b == elements)
    return replace(
        own,
        isa=_NAME,
        prefix=prefix,
        lies=Lies.STRIDED,
        tiles=_TILES,
        latency=_LATENCY,
        rate=_RATE,
        unsigned=False,
        groups_per_load=_GROUPS_PER_LOAD,
        at_once=_GROUPS,
        even_rows=True,
        memory_sums=True,
        enter=_ENTER,
        through=_THROUGH,
        through_far=_THROUGH_FAR,
        waiting=_WAITING,
        permission=True,
        header=header,
        flags=(*own.flags, "-mamx-tile", f"-mamx-{'bf16' if k == 2 else 'int8'}"),
        cpu_flags=(*own.cpu_flags, "amx_tile", f"amx_{'bf16' if k == 2 else 'int8'}"),
    )


# arch_prctl(ARCH_REQ_XCOMP_PERM, XFEATURE_XTILE_DATA), as ec_amx_permission.h asks.
_ARCH_PRCTL, _REQUEST, _TILE_DATA = 158, 0x1023, 18


def _granted() -> bool:
    """Whether the system lets this process have tiles: a container may refuse the call."""
    try:
        found: int = ctypes.CDLL(None).syscall(_ARCH_PRCTL, _REQUEST, _TILE_DATA)
        return found == 0
    except (OSError, AttributeError):  # no library of C is loaded, or none with syscall
        return False


TARGET = replace(
    AVX512,
    name=_NAME,
    runtime=AVX512.name,
    flags=(*AVX512.flags, "-mamx-tile"),
    cpu_flags=(*AVX512.cpu_flags, "amx_tile"),
    granted=_granted,
    kernels=(
        *AVX512.kernels,
        _row("s8_amx", "ec_int8_amx.h", "int8", 4),
        _row("bf16_amx", "ec_bfloat16_amx.h", "bfloat16", 2),
    ),
)
