"""Storage formats in C, every ISA: bits, memory touched, and that vectors stay in vectors."""

from __future__ import annotations

import subprocess
from collections.abc import Sequence
from dataclasses import replace
from pathlib import Path

import numpy as np
import pytest
from innerloop.program import find_compiler
from innerloop.stored import costs

from edgeconv.kernels.headers import include_flags
from edgeconv.kernels.storage import formats
from edgeconv.target import host
from edgeconv.target.backends import TARGETS
from tests import ROOT, stored_values
from tests.compilers import is_earlier_clang
from tests.kernels import builds
from tests.kernels.cases import Array, Build
from tests.stored_values import FLYTE_BITS

PROGRAM = Path(__file__).parent / "storage.c"
SUMS = Path(__file__).parent / "q8_sums.c"
AVX512 = TARGETS["avx512"]
# Instructions to read a vector of flyte24, flyte16, flyte8, int8, int4 and a grid, with the load.
READING = {
    "avx512": (4, 2, 2, 2, 5, 4),  # two loads, vpermd, vpshufb; vpmovzx, vpslld; with vcvt
    "avx2": (3, 2, 2, 2, 4, 4),  # vmovdqu, vinserti128, vpshufb; the rest as above
    "neon": (3, 2, 2, 3, 4, 5),  # ldr, ld1, tbl; ldr and shll; ldr and tbl; with scvtf
    "neon_armv7": (4, 2, 3, 4, 4, 6),  # two vld1 and vtbl; vld1 and vshll; two vshll; with vcvt
    "power10": (2, 2, 2, 3, 5, 5),  # lxvl, lxvdsx or lxvwsx, and vperm; with vcfsx
}
# What Clang before 19, as Debian 12's 14, takes more to read and to write.
EARLIER_CLANG = {("neon", "EC_F24"): (1, 0), ("avx512", "EC_F24"): (0, 1)}
# Scale and zero; the smallest and the largest scale there may be are among them.
GRIDS = ((0.0235294122, -128), (0.7, -3), (1 / 256, 0), (2.0**-100, 127), (2.0**100, 5))
FORMATS = ("float32", "flyte24", "flyte16", "flyte8", "int8", "int4")  # in the order of ec_stored.h
WHOLE_BITS = {"int8": 8, "int4": 4}


def compiled(build: Build, folder: Path, *, truncate: bool = False) -> Path:
    grids = ", ".join(f"{{{float(np.float32(scale))!r}f, {zero}.0f}}" for scale, zero in GRIDS)
    options = [f"-DEC_Q8_TABLE={grids}", *(["-DEC_TRUNCATE=1"] if truncate else [])]
    return program(build, PROGRAM, folder, options)


def program(build: Build, source: Path, folder: Path, options: Sequence[str] = ()) -> Path:
    """With the contraction that emitted projects are compiled with, which lets products reach sums
    unrounded."""
    binary = folder / source.stem
    header = build.target.header
    command = [*build.compiler, *build.target.flags, *include_flags(), *options]
    command += [f'-DEC_ISA_HEADER="{header}"', "-ffp-contract=fast"]
    command += [f'-DEC_STORED_HEADER="{header.replace("_isa_", "_stored_")}"']
    done = subprocess.run(
        [*command, str(source), "-o", str(binary)], capture_output=True, text=True, check=False
    )
    assert done.returncode == 0, done.stderr[:4000]
    return binary


def elements(name: str, pattern: Array) -> bytes:
    """As many stored elements as patterns: every code there is, the upper bits of them."""
    if name.startswith("int"):
        return (pattern >> 16).astype(np.uint8)[: pattern.size * WHOLE_BITS[name] // 8].tobytes()
    bits = FLYTE_BITS[name]
    return stored_values.as_bytes(pattern >> (32 - bits), bits // 8)


def read_as(name: str, pattern: Array) -> Array:
    """Bits of what ``elements`` must be read as."""
    if name == "int8":
        return (pattern >> 16).astype(np.uint8).view(np.int8).astype(np.float32).view(np.uint32)
    if name == "int4":
        byte = (pattern >> 16).astype(np.uint8)[: pattern.size // 2].astype(np.int64)
        four = np.stack([byte % 16, byte // 16], axis=1).reshape(-1)
        return np.where(four < 8, four, four - 16).astype(np.float32).view(np.uint32)
    bits = FLYTE_BITS[name]
    return stored_values.appended(pattern >> (32 - bits), bits)


def assert_same(got: Array, want: Array, pattern: Array, what: str) -> None:
    wrong = np.flatnonzero(got != want)
    if wrong.size:
        i = wrong[0]
        pytest.fail(
            f"{what}: {wrong.size} of {want.size} differ, first {pattern[i]:#010x}: "
            f"got {got[i]:#x}, expected {want[i]:#x}"
        )


def check(build: Build, folder: Path, *, truncate: bool = False) -> None:
    """All patterns through loads and stores; the program itself checks every place and n."""
    pattern = stored_values.patterns()
    pattern = np.concatenate([pattern, pattern[: -len(pattern) % 64]])
    data = np.uint32(len(pattern)).tobytes() + pattern.tobytes()
    data += b"".join(elements(name, pattern) for name in FORMATS)
    command = [*build.runner, str(compiled(build, folder, truncate=truncate))]
    done = subprocess.run(command, input=data, capture_output=True, check=False)
    assert done.returncode == 0, done.stderr.decode()[:4000]
    at = 0
    for name in FORMATS:
        got = np.frombuffer(done.stdout, np.uint32, len(pattern), at)
        assert_same(got, read_as(name, pattern), pattern, f"{build.name}, reading {name}")
        at += got.nbytes
    for name, bits in FLYTE_BITS.items():
        size = bits // 8
        raw = np.frombuffer(done.stdout, np.uint8, len(pattern) * size, at).reshape(-1, size)
        code = np.zeros((len(pattern), 4), np.uint8)
        code[:, :size] = raw
        got = code.view(np.uint32).reshape(-1)
        want = stored_values.stored(pattern, bits, truncate=truncate)
        assert_same(got, want, pattern, f"{build.name}, storing {name}")
        at += raw.size
    integers = np.arange(-128, 128, dtype=np.float32)
    for scale, zero in GRIDS:
        got = np.frombuffer(done.stdout, np.uint32, integers.size, at)
        want = (integers - np.float32(zero)) * np.float32(scale)
        what = f"{build.name}, reading the grid of {scale} around {zero}"
        assert_same(got, want.view(np.uint32), integers.astype(np.int8).view(np.uint8), what)
        at += got.nbytes
    assert at == len(done.stdout)


def test_bits_and_bounds(build: Build, folder: Path) -> None:
    check(build, folder)


@pytest.mark.parametrize("isa", ["portable", *READING])
def test_numbers_of_a_grid_are_rounded_before_they_are_added(isa: str, folder: Path) -> None:
    build = builds.find(TARGETS[isa], "gcc", ("-O3",))
    command = [*build.runner, str(program(build, SUMS, folder))]
    done = subprocess.run(command, capture_output=True, text=True, check=False)
    assert done.returncode == 0, done.stdout + done.stderr


@pytest.mark.parametrize("isa", ["portable", *READING])
def test_truncation(isa: str, folder: Path) -> None:
    """What a program has that was asked for it.  Bounds are the same code: no sanitizers but, of
    portable C, the one for undefined conversions, which other builds lack."""
    casts = ("-fsanitize=undefined,float-cast-overflow", "-fno-sanitize-recover=all")
    options = ("-O1", *(casts if isa == "portable" else ()))
    check(builds.find(TARGETS[isa], "gcc", options), folder, truncate=True)


@pytest.mark.parametrize("compiler", builds.COMPILERS)
def test_byte_permutes_of_vbmi(compiler: str, folder: Path) -> None:
    if not host.running().has(("avx512vbmi",)):
        pytest.skip("this CPU has no AVX512-VBMI")
    target = replace(AVX512, flags=(*AVX512.flags, "-mavx512vbmi"))
    check(builds.native(target, compiler), folder)


@pytest.mark.slow
def test_avx512_through_simde(folder: Path) -> None:
    """As the processor has them, who runs the same with sanitizers above."""
    check(builds.with_simde(AVX512, "gcc", ("-O0",)), folder)


@pytest.mark.parametrize("family", ["gcc", "clang"])
@pytest.mark.parametrize("isa", READING)
def test_instructions(isa: str, family: str) -> None:
    """Nothing is taken apart into scalars, and float32 is one load and one store."""
    compiler = find_compiler(TARGETS[isa], family)
    if compiler is None:
        pytest.skip(f"no {family} for {TARGETS[isa].arch} is installed")
    earlier = EARLIER_CLANG if is_earlier_clang(compiler) else {}
    found = costs(TARGETS[isa], compiler)
    plain = found.pop("EC_F32")
    assert (plain.read, plain.written, plain.scalar) == (1, 1, 0)
    # Clang loads four bytes for 32-bit NEON through a general register, and a scale in every round;
    # it copies POWER's zero.
    extra = 2 if family == "clang" and isa in ("neon_armv7", "power10") else 0
    for (name, cost), instructions in zip(found.items(), READING[isa], strict=True):
        again = 1 if name == "EC_Q8" and extra else 0
        read, write = earlier.get((isa, name), (0, 0))
        most = (7 if name == "EC_Q8" else 22) + write
        assert cost.read <= instructions + extra + again + read, name
        assert cost.written is None or cost.written <= most, name
        assert cost.scalar <= (1 if extra else 0), name


def test_every_vector_isa_is_counted() -> None:
    assert sorted(READING) == sorted(name for name in builds.FIXED if TARGETS[name].lanes > 1)


def test_formats_are_those_of_c() -> None:
    text = (ROOT / "runtime_c" / "storage" / "ec_stored.h").read_text()
    named = "EC_F32, EC_F24, EC_F16, EC_F8, EC_I8, EC_I4, EC_Q8 = 16, EC_Q16 = 65536"
    assert f"enum {{ {named} }};" in text
    assert [formats()[name].bits for name in FORMATS] == [32, 24, 16, 8, 8, 4]
