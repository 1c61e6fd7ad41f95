"""The micro-kernels' inner loops, as compiled: no spill, no accumulator that moves, and as many
multiply-adds as llvm-mca's model of a CPU can do.  ``python bench/micro_kernels.py`` prints them.
"""

from __future__ import annotations

from dataclasses import replace

import pytest
from innerloop.assembly import functions, loops
from innerloop.mca import VERSION, bound, cycles, find_mca, independent
from innerloop.models import ENOUGH, MODELS, Model
from innerloop.program import find_compiler, further, inner_loops, kernels
from innerloop.syntax import SYNTAXES, Instruction

from edgeconv.search.choose.storage import weight_formats
from edgeconv.target.backends import TARGETS
from edgeconv.target.micro_kernel import Tile
from edgeconv.target.targets import ANY
from tests.compilers import is_earlier_clang
from tests.kernels.builds import FIXED

VECTOR_ISAS = [n for n in FIXED if TARGETS[n].lanes > 1 and TARGETS[n].arch != ANY]
STORED = [entry.enumerator for entry in weight_formats().values() if entry.name != "float32"]
# Spills and moves that are known: flyte24 takes registers for the places of its bytes, int4 for
# those of its bits and for a table.  On AVX-512 VBMI takes one less, and without it flyte24's tiles
# reach more than 90 % of float32's rate.  Where many strips meet the same filters these are decoded
# to memory, and the tiles are float32's.
SPILLS = {
    ("neon_armv7", "clang", "EC_F24", Tile(10, 1)): (2, 0),
    ("neon_armv7", "clang", "EC_I4", Tile(10, 1)): (2, 0),
    ("avx512", "gcc", "EC_F24", Tile(14, 2)): (1, 0),
    ("avx512", "gcc", "EC_F24", Tile(9, 3)): (2, 9),
    ("avx512", "gcc", "EC_F24", Tile(5, 5)): (2, 5),
    ("avx512", "gcc", "EC_F24", Tile(4, 6)): (2, 4),
    ("avx512", "gcc", "EC_I4", Tile(9, 3)): (2, 9),
    ("avx512", "gcc", "EC_I4", Tile(5, 5)): (2, 5),
    ("avx512", "gcc", "EC_I4", Tile(4, 6)): (2, 4),
    ("avx512", "clang", "EC_F24", Tile(9, 3)): (2, 54),
    ("avx512", "clang", "EC_F24", Tile(5, 5)): (2, 50),
    ("avx512", "clang", "EC_F24", Tile(4, 6)): (2, 48),
    ("avx512", "clang", "EC_I4", Tile(14, 2)): (5, 40),
    ("avx512", "clang", "EC_I4", Tile(9, 3)): (7, 14),
    ("avx512", "clang", "EC_I4", Tile(5, 5)): (4, 7),
    ("avx512", "clang", "EC_I4", Tile(4, 6)): (5, 48),
}
# What Clang before 19 has more of: as Debian 12's, 14.
EARLIER_CLANG = {("avx512", "EC_I4", Tile(9, 3)): (3, 54)}
# Of Clang those that leave sums the fewest registers stand for all.
WITH_BOTH = ("EC_F24", "EC_I4")
PAIRS = [(isa, model) for isa, models in MODELS.items() for model in models]


def compiler_for(isa: str, family: str) -> tuple[str, ...]:
    command = find_compiler(TARGETS[isa], family)
    if command is None:
        pytest.skip(f"no {family} for {TARGETS[isa].arch} is installed")
    return command


def test_every_vector_isa_has_a_model() -> None:
    assert sorted(MODELS) == sorted(VECTOR_ISAS)


@pytest.mark.parametrize("family", ["gcc", "clang"])
@pytest.mark.parametrize("isa", VECTOR_ISAS)
def test_inner_loops_neither_spill_nor_move_accumulators(isa: str, family: str) -> None:
    """Tuned for no CPU in particular, as emitted projects are unless their board says more."""
    target = TARGETS[isa]
    every = (*kernels(target), *further(target))
    found = inner_loops(target, compiler_for(isa, family), only=every)
    rows = {kernel.row(target) for kernel in every}
    assert rows == set(TARGETS[isa].kernels), "a row of the table is not looked at"
    for kernel, of_kernel in found.items():
        assert of_kernel, f"{kernel}: no loop multiplies and adds"
        assert of_kernel[0].multiply_adds >= kernel.products(target), str(kernel)
        for loop in of_kernel:
            assert not loop.spills, f"{kernel}: {loop.spills} spills"
            assert not loop.reloads, f"{kernel}: {loop.reloads} accumulators move"


@pytest.mark.parametrize("in_order", [False, True])
def test_integer_loops_of_neon_move_nothing_and_load_filters_together(in_order: bool) -> None:
    """Products and sums, pixels that turn, loads and the loop's own three are all that there is;
    cores in order load vectors one by one."""
    target = replace(TARGETS["neon"], in_order=in_order)
    without_dots = ("s16", "s8_pairs")
    every = tuple(kernel for kernel in further(target) if kernel.kind in without_dots)
    for kernel, of_kernel in inner_loops(target, compiler_for("neon", "gcc"), only=every).items():
        loop, rows, vectors = of_kernel[0], kernel.tile.rows, kernel.tile.vectors
        turned = 3 * rows if kernel.kind == "s8_pairs" else 0  # by a pair of channels, each time
        products = (2 if kernel.kind == "s16" else 3) * 4 * rows * vectors
        at_once = 4 if kernel.kind == "s16" else vectors
        loads = rows + 4 * vectors // (1 if in_order else at_once)
        assert loop.loads == loads, str(kernel)
        assert len(loop.body) == products + turned + loads + 3, str(kernel)


def test_float32_panels_of_neon_load_runs_of_vectors() -> None:
    """Four channels to a round, up to four vectors by a load; at most five more for pointers
    and the count."""
    target = TARGETS["neon"]
    panels = tuple(kernel for kernel in kernels(target) if kernel.kind == "outer")
    assert panels
    for kernel, of_kernel in inner_loops(target, compiler_for("neon", "gcc"), only=panels).items():
        rows, vectors = kernel.tile.rows, kernel.tile.vectors
        loads = -(-rows // target.lanes // 4) + -(-vectors // 4)
        assert len(of_kernel[0].body) <= 4 * (rows * vectors + loads) + 5, str(kernel)


def decoders() -> list[object]:
    """By compiler and format."""
    return [
        pytest.param(
            *(family, filters),
            marks=[pytest.mark.slow] if family == "clang" and filters not in WITH_BOTH else [],
        )
        for filters in STORED
        for family in ("gcc", "clang")
    ]


@pytest.mark.parametrize(("family", "filters"), decoders())
@pytest.mark.parametrize("isa", VECTOR_ISAS)
def test_decoding_filters_takes_no_register_from_sums(isa: str, family: str, filters: str) -> None:
    """Formats other than float32 take room to decode; the sums keep theirs."""
    target = TARGETS[isa]
    tiles = tuple(kernel for kernel in kernels(target) if kernel.kind == "direct")
    compiler = compiler_for(isa, family)
    earlier = EARLIER_CLANG if is_earlier_clang(compiler) else {}
    found = inner_loops(target, compiler, only=tiles, filters=filters)
    for kernel, of_kernel in found.items():
        assert of_kernel, f"{kernel}: no loop multiplies and adds"
        assert of_kernel[0].multiply_adds >= kernel.products(target), str(kernel)
        known = SPILLS.get((isa, family, filters, kernel.tile), (0, 0))
        spills, moves = earlier.get((isa, filters, kernel.tile), known)
        for loop in of_kernel:
            assert loop.spills <= spills, f"{kernel}: {loop.spills} spills"
            assert loop.reloads <= moves, f"{kernel}: {loop.reloads} accumulators move"


@pytest.mark.parametrize(("isa", "model"), PAIRS, ids=[f"{i}-{m.name}" for i, m in PAIRS])
def test_first_outer_tile_reaches_the_bound_of_the_model(isa: str, model: Model) -> None:
    mca = find_mca()
    if mca is None:
        pytest.skip(f"llvm-mca of LLVM {VERSION} is not installed")
    target = TARGETS[isa]
    first = next(kernels(target))
    found = inner_loops(target, compiler_for(isa, "gcc"), model.flags_of("gcc"), (first,))
    loop, syntax = found[first][0], SYNTAXES[target.arch]
    rate = loop.multiply_adds / cycles(mca, loop.body, syntax, model.name)
    assert rate >= ENOUGH * bound(mca, loop, syntax, model.name)
    assert rate <= 1.001 * bound(mca, loop, syntax, model.name)


SPILLING = {
    "x86_64": """
.L2:
    vmovups (%rsi), %zmm1
    vfmadd231ps (%rdi){1to16}, %zmm1, %zmm0
    vmovups %zmm0, -56(%rsp)
    vmovaps %zmm3, %zmm0
    jne .L2
""",
    "aarch64": """
.L2:
    ldp q1, q2, [x0], 32
    fmla v0.4s, v1.4s, v2.s[3]
    str q0, [sp, 16]
    mov v0.16b, v3.16b
    bne .L2
""",
    "armv7l": """
.L2:
    vld1.32 {d2-d3}, [r0]!
    vmla.f32 q0, q1, d4[1]
    vstr d0, [sp, #8]
    vmov q0, q3
    bne .L2
""",
    "ppc64le": """
.L2:
    lxv 33,0(3)
    xvf32gerpp 4,33,42
    stxv 40,32(1)
    xxlor 17,40,40
    bdnz .L2
""",
}


@pytest.mark.parametrize("arch", SYNTAXES)
def test_spills_and_moved_accumulators_are_seen(arch: str) -> None:
    """One of each in every architecture's writing."""
    (loop,) = loops(SPILLING[arch].splitlines(), SYNTAXES[arch])
    assert (loop.multiply_adds, loop.spills, loop.reloads) == (1, 1, 1)
    assert loop.loads == (2 if arch == "x86_64" else 1)
    assert loop.others == 1


def test_only_innermost_loops_count() -> None:
    text = """
    .type f, @function
f:
.L1:
    pushq %rbx
.L2:
    vfmadd231ps %ymm1, %ymm2, %ymm3
    jne .L2
    vmovups %ymm3, (%rdi)
    jne .L1
    ret
    .size f, .-f
"""
    (loop,) = loops(functions(text)["f"], SYNTAXES["x86_64"])
    assert (loop.multiply_adds, loop.spills) == (1, 0)


def test_code_behind_the_return_is_no_loop() -> None:
    text = """
    je .L3
.L2:
    vfmadd231ps %ymm1, %ymm2, %ymm3
    vmovups %ymm3, (%rdi)
    ret
.L3:
    vxorps %ymm3, %ymm3, %ymm3
    jmp .L2
"""
    assert not loops(text.splitlines(), SYNTAXES["x86_64"])


@pytest.mark.parametrize(
    ("arch", "text", "count"),
    [
        ("x86_64", "vfmadd231ps 4(%rax){1to16}, %zmm1, %zmm30", 15),
        ("aarch64", "fmla v5.4s, v2.4s, v0.s[3]", 30),
        ("armv7l", "vmla.f32 q5, q8, d6[0]", 14),
        ("ppc64le", "xvf32gerpp 4, 33, 42", 8),
        ("ppc64le", "xvmaddasp 4, 33, 42", 32),
    ],
)
def test_independent_multiply_adds_share_no_register(arch: str, text: str, count: int) -> None:
    mnemonic, _, rest = text.partition(" ")
    syntax = SYNTAXES[arch]
    block = independent(Instruction(mnemonic, tuple(rest.split(", "))), syntax)
    written = [syntax.written(instruction) for instruction in block]
    assert len(block) == count
    assert len(frozenset().union(*written)) == sum(map(len, written))
    assert not any(syntax.loads(instruction) for instruction in block)
