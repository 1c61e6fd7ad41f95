"""Convolutions of int8 through the macro-kernel against their definition in int64.

Sums are integers: they are equal, and so is what becomes int8 of them.  Shapes follow the tiles of
each row of the table; numbers are random, or the largest there are.  Sizes are known at run time,
and on one ISA constants, as in what is emitted, each shape then by one tile.
"""

from __future__ import annotations

import math
import re
import subprocess
from collections.abc import Iterator, Mapping
from dataclasses import dataclass, replace
from pathlib import Path
from typing import Any

import numpy as np
import pytest

from edgeconv.codegen.amalgamate import micro_kernel_list
from edgeconv.kernels.algorithms.cut import Cut
from edgeconv.kernels.algorithms.filter_order import FilterOrder
from edgeconv.kernels.headers import include_flags
from edgeconv.target import host
from edgeconv.target.backends import TARGETS, micro_kernels
from edgeconv.target.micro_kernel import Lies, MicroKernel, Tile
from tests.kernels import builds, once
from tests.kernels.cases import Array, Build
from tests.kernels.int8_convolutions import Conv, convs, drawn, int8_of, sums_of

PROGRAM = Path(__file__).parent / "int8_gemm.c"
_LANES = 8  # of the one length
ROWS = {row.name: row for row in micro_kernels() if row.sums == "int32" and not row.memory_sums}
HERE = Path(__file__).parent


@dataclass(frozen=True)
class Case:
    """A convolution, what becomes of its sums ("sums", "bytes", "residual"), its operands."""

    conv: Conv
    tile: Tile
    kind: str
    arrays: tuple[Array, ...]
    expected: Array
    text: str
    panel: int


# Flags for an instruction that this CPU may have in another encoding, and what it is then to have.
OTHER_ENCODING = {"-mavxvnni": (("-mavx512vnni", "-mavx512vl"), ("avx512_vnni", "avx512vl"))}


def struct(values: Mapping[str, Any]) -> str:
    """An initialiser, in parentheses' place: commas would end a macro's argument."""
    parts = (
        f".{name} = {struct(value) if isinstance(value, dict) else value}"
        for name, value in values.items()
    )
    return "{" + ", ".join(parts) + "}"


def members(cut: Cut) -> dict[str, int]:
    return dict(zip(("wide", "count", "narrow", "rest"), cut.members, strict=True))


def case_of(row: MicroKernel, tile: Tile, conv: Conv, kind: str, rng: np.random.Generator) -> Case:
    """The convolution as ec_gemm.h takes it, by lines of output rows."""
    lanes, made = TARGETS[row.isa].lanes, drawn(conv, row, rng)
    height, width = conv.out
    per_in, per_out = conv.in_c // conv.groups, conv.out_c // conv.groups
    groups_of_k = -(-per_in // row.k)
    block = min(groups_of_k, conv.block // row.k or groups_of_k)
    apart = row.lies is Lies.PACKED
    phases = conv.stride[1] if apart else 1
    reach = (conv.kernel[1] - 1) * conv.dilation[1]
    strips = Cut.evenly(width, tile.rows)
    whole = -(-width // row.row_multiple) * row.row_multiple + row.row_multiple
    beyond = row.row_multiple - 1  # rows that a tile may read behind the last one
    wide = (
        whole + reach // phases + 1 if apart else (width - 1 + beyond) * conv.stride[1] + reach + 1
    )
    chunk = min(conv.chunk or height, height)
    rows = (chunk - 1) * conv.stride[0] + (conv.kernel[0] - 1) * conv.dilation[0] + 1
    blocks = -(-groups_of_k // block)
    cut = Cut.into(per_out, tile.vectors * lanes)
    padded = -(-cut.narrow // lanes) * lanes
    order = FilterOrder(
        groups=conv.groups,
        out_c=per_out,
        in_c=per_in,
        taps=math.prod(conv.kernel),
        widths=(cut.wide,) * cut.count + (padded,) * cut.rest,
        nc=per_in,
        block=block * row.k,
        k=row.k,
        interleaves=row.interleaves,
        run=conv.kernel[1] if conv.dilation[1] == 1 and phases == 1 else 1,
    )
    right = int(made["right"])
    asked = {
        "asked": int(kind != "sums"),
        "offset": (int(rng.integers(-128, 128)) << right) + (1 << (right - 1)),
        "right": right,
        "low": int(rng.choice([-128, -7])),
        "high": int(rng.choice([127, 50])),
        "has_residual": int(kind == "residual"),
        "by_sum": int(rng.integers(1, 1 << 21)),
        "by_residual": int(rng.integers(1, 1 << 21)),
        "sum_offset": int(rng.integers(-(1 << 28), 1 << 28)),
        "sum_right": 21 if kind == "residual" else int(rng.choice([0, 21])),
        "sum_low": int(rng.choice([-128, -3])),
        "sum_high": int(rng.choice([127, 90])),
    }
    room = conv.out_c + lanes  # whole vectors from each group's first channel on
    multiplier, start = np.zeros(room, np.int32), np.zeros(room, np.int32)
    if kind != "sums":  # else they are a bias of float32
        multiplier[: conv.out_c] = made["multiplier"]
    # Less what the input's zero point adds, and the 128 by which unsigned rows are shifted.
    added = (conv.zero + row.shift) * made["w"].reshape(conv.out_c, -1).astype(np.int64).sum(axis=1)
    start[: conv.out_c] = (made["bias"] - added).astype(np.int32)
    window = {
        **dict(zip(("in_d", "in_h", "in_w"), (1, *conv.size), strict=True)),
        **dict(zip(("out_d", "out_h", "out_w"), (1, *conv.out), strict=True)),
        **dict(zip(("kernel_d", "kernel_h", "kernel_w"), (1, *conv.kernel), strict=True)),
        **dict(zip(("stride_d", "stride_h", "stride_w"), (1, *conv.stride), strict=True)),
        **dict(zip(("dilation_d", "dilation_h", "dilation_w"), (1, *conv.dilation), strict=True)),
        **dict(zip(("pad_h", "pad_w"), conv.pads[:2], strict=True)),
    }
    spec = {
        "micro_kernel": row.enumerator,
        "row_multiple": row.row_multiple,
        "packing": "EC_PACK_ROWS",
        "batch": conv.images,
        "groups": conv.groups,
        "in_c": per_in,
        "out_c": per_out,
        "nc": per_in,
        "k": row.k,
        "slices": 1,
        "lines": height,
        "filters": members(cut),
        "pixels": members(strips),
        "lines_far": height,
        "tiles_far": cut.pieces,
        "chunk": chunk,
        "tiles_near": 1,
        "filters_as": "EC_F32",
        "requantise": asked,
        "in": {
            "as": "EC_I8",
            "block": conv.in_c,
            "zero": conv.zero,
            "vec": lanes,
            "plane": math.prod(conv.size) * conv.in_c,
            "row": conv.size[1] * conv.in_c,
            "pixel": conv.in_c,
        },
        "panel": {
            "block": block,
            "rows": rows,
            "row_stride": 1,
            "column_stride": 1,
            "phases": phases,
            "wide": wide,
            "apart": int(apart),
            "element": row.element_bytes,
            "shift": row.shift,
        },
        "in_batch": math.prod(conv.size) * conv.in_c,
        "out_batch": height * width * conv.out_c,
        "out_group": per_out,
        "out_line": width * conv.out_c,
        "out_row": conv.out_c,
        "out_vec": lanes,
    }
    sums = sums_of(conv, made["x"], made["w"], made["bias"])
    expected = sums.astype(np.float32) if kind == "sums" else int8_of(sums, made, asked)
    filters = order.pack(made["w"].astype(np.dtype(row.b)))
    slack = 64  # bytes that a tile may read beyond the last column
    return Case(
        conv=conv,
        tile=tile,
        kind=kind,
        arrays=(made["x"], filters, multiplier, start, made["r"]),
        expected=expected,
        text=f"#define WINDOW {struct(window)}\n#define SPEC {struct(spec)}\n",
        panel=4 * blocks * block * rows * phases * wide + slack,
    )


def ways() -> Iterator[object]:
    """Every row, and whether sizes are constants: of `make test` in a row for each way operands
    lie, and of vectors of many lengths those of one."""
    seen: set[tuple[str, Lies]] = set()
    for name, row in sorted(ROWS.items()):
        target = TARGETS[row.isa]
        other = pytest.mark.slow if target.scalable and target.lanes != _LANES else ()
        yield pytest.param((row, False), id=name, marks=other)
        kind = (row.a, row.lies)
        marks = () if row.isa == "avx2" and kind not in seen else pytest.mark.slow
        seen |= {kind} if row.isa == "avx2" else set()
        yield pytest.param((row, True), id=f"{name} constants", marks=marks)


@pytest.fixture(params=ways())
def way(request: pytest.FixtureRequest) -> tuple[MicroKernel, bool]:
    found: tuple[MicroKernel, bool] = request.param
    return found


@pytest.fixture
def row(way: tuple[MicroKernel, bool]) -> MicroKernel:
    return way[0]


@pytest.fixture
def build(way: tuple[MicroKernel, bool]) -> Build:
    """Runs the row; skipped, by name, where nothing here does."""
    row, constants = way
    # Without optimisation, as programs of shared kernels are compiled, GCC 12 ends at SVE's stores.
    by_gcc = TARGETS[row.isa].arch not in builds.OTHER_COMPILERS
    shared = not constants and not (TARGETS[row.isa].scalable and by_gcc)
    return replace(_build(row), compiled_once=shared)


def _build(row: MicroKernel) -> Build:
    target, flags = TARGETS[row.isa], row.flags
    has = host.running().has
    for flag, (instead, words) in OTHER_ENCODING.items():
        if flag in flags and not has(row.cpu_flags) and has(words):
            row, flags = replace(row, cpu_flags=words), instead
    target = replace(target, flags=(*target.flags, *flags))
    if not builds.is_native(target):
        return builds.find(target, "gcc", builds.SHIPPED)
    if not has((*target.cpu_flags, *row.cpu_flags)):
        pytest.skip(f"this CPU has no {' '.join(row.cpu_flags) or target.name}")
    # Where a vector is one element, sanitizers see each that is read beyond a buffer's end.
    return builds.native(target, "gcc", () if row.isa == "portable" else builds.SHIPPED)


def compiled(build: Build, row: MicroKernel, cases: str, runs: str, folder: Path) -> list[str]:
    """The command that runs a program of these cases."""
    command, listed = [*build.compiler, *build.target.flags], micro_kernel_list([row.header])
    # Where nothing is packed ec_gemm_pack has no use for what it is given.
    command += ["-Wno-unused-parameter", "-Wno-unused-function"]
    objects = []
    if build.compiled_once:
        command += once.options(build.compiler[0])
        included = re.findall(r'^#include "(ec_.*)"', PROGRAM.read_text(), re.MULTILINE)[1:]
        names = (row.header, *included)
        calling = once.calling(command)
        kernels = once.compiled_kernels(command, build.target, names, calling=calling)
        command = [*calling, "-include", str(kernels.header)]
        objects, listed, cases = [str(kernels.object)], "", once.OWN_TABLE + cases
    (folder / "cases.h").write_text(cases)
    (folder / "runs.h").write_text(f"{listed}#define RUNS {runs}\n")
    command += ["-include", str(folder / "runs.h")]
    command += [*include_flags(), f'-DISA="{build.target.header}"']
    command += [f'-DINT8="{row.header}"', f'-DCASES="{folder}/cases.h"']
    binary = folder / "int8"
    subprocess.run([*command, str(PROGRAM), *objects, "-o", str(binary)], check=True)
    return [*build.runner, str(binary)]


def test_against_int64(row: MicroKernel, build: Build, folder: Path) -> None:
    if row.a == "int16" and row.lies is Lies.PACKED:
        pytest.skip("only transformations write such panels: test_int8_winograd.py")
    rng = np.random.default_rng(7)
    lanes = TARGETS[row.isa].lanes
    found = []
    for number, tile in enumerate(row.tiles[:3]):
        for i, conv in enumerate(convs(row, tile, lanes)):
            if not build.compiled_once and i % len(row.tiles[:3]) != number:
                continue
            kind = ("bytes", "residual", "sums")[(i + number) % 3]
            found.append(case_of(row, tile, conv, kind, rng))
    texts, runs = [], []
    for number, case in enumerate(found):
        function = f"#undef WINDOW\n#undef SPEC\n{case.text}CASE(case_{number}, WINDOW, SPEC)\n"
        texts.append(function)
        sizes = [array.nbytes for array in case.arrays] + [case.expected.nbytes, case.panel]
        runs.append(f"run(case_{number}, (const size_t[]){{{', '.join(map(str, sizes))}}});")
    command = compiled(build, row, "".join(texts), " ".join(runs), folder)
    given = b"".join(
        np.ascontiguousarray(array).tobytes() for case in found for array in case.arrays
    )
    output = subprocess.run(command, input=given, capture_output=True, check=True).stdout
    assert len(output) == sum(case.expected.nbytes for case in found)
    failed, at = [], 0
    for case in found:
        got = np.frombuffer(output, case.expected.dtype, case.expected.size, at)
        at += case.expected.nbytes
        wrong = int((got.reshape(case.expected.shape) != case.expected).sum())
        if wrong:
            failed.append(f"{case.conv} {case.tile} {case.kind}: {wrong} of {got.size}")
    assert not failed, "\n".join(failed)


def test_sums_start_wait_and_are_read(row: MicroKernel, build: Build, folder: Path) -> None:
    lanes = TARGETS[row.isa].lanes
    runs = [
        f"keep({row.enumerator}, words, {by_rows}, {tile.rows}, {tile.vectors});"
        for tile in row.tiles
        for by_rows in (0, 1)
    ]
    command = compiled(build, row, "", " ".join(runs), folder)
    output = subprocess.run(command, capture_output=True, check=True).stdout
    words = (np.arange(4 * 32 * lanes, dtype=np.uint64) * 2654435761 % 2**32).astype(np.uint32)
    starts = words.view(np.int32) >> 8
    at = 0
    for tile in row.tiles:
        shape = (tile.rows, tile.vectors * lanes)
        for by_rows in (0, 1):
            own = starts[: shape[0], None] if by_rows else starts[None, : shape[1]]
            want = np.broadcast_to(own, shape)
            for kind in (np.int32, np.float32):
                got = np.frombuffer(output, kind, want.size, at).reshape(shape)
                at += got.nbytes
                assert (got == want).all(), f"{tile}, by_rows {by_rows}, {kind}"
    assert at == len(output)
